"""docs/score-coverage.md says what its worlds give, and that the interval holds its level where it says so."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import stats

from tests.simulation import score_coverage
from tests.simulation.score_coverage import CLUSTERS, ICCS, LEVEL, PAGE, RUNS, SHARES, SHOWN, SIZES


def rows():
    """Rates of every method by sizes, ICC, clusters and share."""
    found = {}
    for line in PAGE.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if len(cells) == 3 + len(SHARES) and cells[0] in SIZES:
            for share, cell in zip(SHARES, cells[3:], strict=True):
                key = cells[0], float(cells[1]), int(cells[2]), share
                found[key] = [float(each.strip("*")) for each in cell.split(" / ")]
    return found


def test_the_page_has_every_world():
    page = rows()
    assert len(page) == len(SIZES) * len(ICCS) * len(CLUSTERS) * len(SHARES)
    assert {len(each) for each in page.values()} == {len(SHOWN)}
    assert f"{RUNS} data sets a cell" in PAGE.read_text("utf-8")


def test_a_score_holds_its_level_or_the_page_names_the_world():
    text = PAGE.read_text("utf-8")
    named = set(
        re.findall(r"^- (.+), ICC ([\d.]+), (\d+) clusters, share ([\d.]+): [\d.]+$", text, re.MULTILINE)
    )
    for (kind, icc, g, share), rates in rows().items():
        if (kind, f"{icc:g}", str(g), f"{share:g}") not in named:
            assert rates[-1] >= 0.94
        # away from the ends, and where clusters are alike in size or independent, chance alone is allowed
        if share <= 0.8:
            assert rates[-1] >= stats.binom.ppf(0.001, RUNS, LEVEL) / RUNS, (kind, icc, g, share)


def test_one_side_alone_holds_where_items_of_a_cluster_are_little_alike():
    """CR2 alone held both sides together, and let the lower end lie beyond the truth .044 of the time here."""
    above, below = score_coverage.beyond(40, 0.05, 0.9, 700)
    assert max(above, below) < 0.036
    told = [
        line for line in PAGE.read_text("utf-8").splitlines() if re.match(r"\| 0\.05 \| \d+ \| .* / ", line)
    ]
    assert len(told) == len(score_coverage.SIDE_CLUSTERS)
    rates = [float(rate) for line in told for rate in re.findall(r"0\.\d{3}", line)]
    assert max(rates) <= stats.binom.ppf(0.999, RUNS, score_coverage.TAIL) / RUNS


def test_what_others_print_misses_far_more_often():
    page = rows()
    assert min(each[-1] for each in page.values()) > max(
        min(each[at] for each in page.values()) + 0.5 for at in range(3)
    )


@pytest.mark.parametrize("kind", SIZES)
def test_worlds_have_the_share_and_the_correlation_they_say(kind):
    rng = np.random.default_rng(5)
    values, codes = score_coverage.draw(kind, 20_000, 0.3, 0.8, rng)
    first = np.flatnonzero(np.diff(codes, prepend=-1))
    one, other = values[first[:-1]], values[np.minimum(first[1:] - 1, first[:-1] + 1)]
    pairs = np.diff(first) > 1
    assert one.mean() == pytest.approx(0.8, abs=0.015)
    assert np.corrcoef(one[pairs], other[pairs])[0, 1] == pytest.approx(0.3, abs=0.03)


@pytest.mark.slow
def test_the_page_is_what_is_measured():
    rates, _ = score_coverage.coverage("equal", 5, 0.05, 0.8, RUNS)
    shown = [score_coverage.METHODS.index(name) for name in SHOWN]
    assert [round(float(rates[at]), 3) for at in shown] == rows()["equal", 0.05, 5, 0.8]
