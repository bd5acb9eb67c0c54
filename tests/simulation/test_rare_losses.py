"""docs/rare-losses.md says what its worlds give, and that the gate holds its level where it says so."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import stats

from tests.simulation import rare_losses
from tests.simulation.rare_losses import CLUSTERED, CLUSTERS, PAGE, RUNS, SIZES, TAIL, UNEVEN, WORLDS


def rows():
    """Cells of the page's tables by the name of their row."""
    told = {}
    measured, _ = PAGE.read_text("utf-8").split("## The part of a cluster that was not seen")
    for line in measured.splitlines():
        if not line.startswith("| ") or " / " not in line:
            continue
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        numbers = [
            [float(each.strip("*")) for each in cell.split(" / ")]
            for cell in cells
            if re.match(r"[\d*]", cell)
        ]
        if numbers and all(len(each) > 1 for each in numbers):
            told[" | ".join(cell for cell in cells if not re.match(r"[\d*]", cell))] = numbers
    return told


def names(uneven):
    return f"log-normal {uneven:g}" if uneven else "equal"


def test_the_gate_holds_its_level_in_every_world_it_covers():
    page = rows()
    covered = [(world, SIZES, 4, SIZES.index(1000)) for world in WORLDS]
    covered += [
        (f"{world} | {names(uneven)}", CLUSTERS, 2, CLUSTERS.index(100))
        for world in CLUSTERED
        if world != "whole clusters lost"
        for uneven in UNEVEN
    ]
    for name, sizes, ours, halved in covered:
        assert len(page[name]) == len(sizes)
        for at, rates in enumerate(page[name]):
            runs = RUNS // 2 if at == halved else RUNS
            assert rates[ours] <= stats.binom.ppf(0.999, runs, TAIL) / runs, (name, sizes[at])
    for uneven in UNEVEN:
        assert all(each[3] <= TAIL for each in page[f"whole clusters lost | {names(uneven)}"])


def test_every_world_loses_the_margin():
    rng = np.random.default_rng(1)
    for name, draw in WORLDS.items():
        values = draw(rng, 200_000)
        assert abs(values.mean() + 0.05) < 4 * values.std() / np.sqrt(200_000), name
        assert np.abs(values).max() <= 1
    for name in CLUSTERED:
        values, codes = rare_losses.in_clusters(name, np.full(20_000, 5), rng)
        means = np.bincount(codes, values) / 5
        assert abs(means.mean() + 0.05) < 4 * means.std() / np.sqrt(20_000), name
        assert np.abs(values).max() <= 1


@pytest.mark.slow
@pytest.mark.parametrize("world", list(WORLDS)[:2])
def test_the_page_is_what_is_measured(world):
    measured = rare_losses.of_items(world, 30, RUNS)
    assert [round(each, 3) for each in measured] == rows()[world][SIZES.index(30)]
