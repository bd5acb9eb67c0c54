"""docs/ranking.md says how often a ranking over a suite errs in its worlds, and that it holds its level there."""

from __future__ import annotations

from pathlib import Path

import pytest
from scipy import stats

from tests.simulation.suite_boards import ALPHA, RUNS, World, row, worlds

PAGE = Path(__file__).resolve().parents[2] / "docs" / "ranking.md"
BEGINS = "| 3 |", "| 10 |", "| 50 |"


def lines():
    return [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith(BEGINS)]


def test_the_page_has_every_world():
    told = [line.rsplit("|", 2)[0] for line in lines()]
    assert told == [row(world, 0).rsplit("|", 2)[0] for world in worlds()]
    assert f"{RUNS} boards a row" in PAGE.read_text("utf-8")


def test_a_ranking_over_a_suite_holds_its_level():
    most = stats.binom.ppf(0.999, RUNS, ALPHA) / RUNS
    assert max(float(line.split("|")[-2]) for line in lines()) <= most


@pytest.mark.slow
@pytest.mark.parametrize("world", [World(3, 0, gaps=True), World(3, 8, gaps=False)])
def test_a_world_is_what_is_measured(world):
    assert row(world, RUNS) in lines()
