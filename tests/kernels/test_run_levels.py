"""Levels of runs that may swing: against dense normal densities, and what evidence is worth without a drop."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import integrate, special, stats

from service.kernels.sequential import run_levels
from service.kernels.sequential.run_levels import (
    DROPS,
    KEPT,
    LARGEST_SWING,
    STEADY,
    SWINGS,
    Levels,
    Watcher,
    count_runs_until_shown,
    follow,
    levels_of,
    likeliest_swing,
    noise_to_come,
)

RNG = np.random.default_rng(28)
VARIANCE = RNG.uniform(0.5, 2.0, 9) * 0.02**2
LEVEL = RNG.normal(0, 0.025, 9) - 0.06 * (np.arange(9) >= 6)


RUNS = np.arange(len(LEVEL))
CONTRASTS = np.linalg.svd(np.ones((1, len(LEVEL))))[2][1:]
"""An orthonormal basis (T - 1, T) of what differs between runs."""


@cache
def differences(swing: float, kept: float) -> Any:
    """The distribution of differences between runs around their means, by their whole covariance matrix."""
    covariance = np.diag(VARIANCE) + swing**2 * float(kept) ** np.abs(np.subtract.outer(RUNS, RUNS))
    return stats.multivariate_normal(cov=CONTRASTS @ covariance @ CONTRASTS.T)


def density(swing: float, kept: float, drop: float, start: int) -> float:
    """ln of the density of differences between runs whose mean drops from `start` on."""
    return float(differences(swing, kept).logpdf(CONTRASTS @ np.where(start <= RUNS, LEVEL + drop, LEVEL)))


def grid(scale: float) -> list[tuple[float, float, float]]:
    """Swings, shares that are kept, and weights."""
    largest = max(LARGEST_SWING / scale, 1.0)
    swings = [*(swing for swing in run_levels.SWINGS if swing < largest), largest]
    weight = (1 - STEADY) / len(swings) / len(KEPT)
    return [(0.0, 0.0, STEADY), *((scale * swing, kept, weight) for kept in KEPT for swing in swings)]


@pytest.mark.parametrize("margin", [0.0, 0.015])
def test_evidence_is_that_of_whole_normal_densities(margin, monkeypatch):
    monkeypatch.setattr(run_levels, "SWINGS", SWINGS[[3]])
    levels, first = Levels(LEVEL, VARIANCE, 1.0), 3
    scale = math.sqrt(VARIANCE[: first + 1].mean())
    tried = grid(scale)
    dropped = []
    for start in range(first, 9):
        for swing, kept, weight in tried:
            for size in DROPS * scale:
                peak = density(swing, kept, 0.06, start)
                mean = integrate.quad(
                    lambda x, s=swing, k=kept, at=start, top=peak, size=size: (
                        math.exp(density(s, k, margin + x, at) - top) * 2 * stats.norm.pdf(x, scale=size)
                    ),
                    0,
                    8 * size,
                )[0]
                dropped.append((start, peak + math.log(mean * weight / len(DROPS))))
    accepted = np.linspace(0, margin, 31)
    none = max(
        density(swing, kept, drop, start)
        for swing, kept, _ in tried
        for start in range(first, 9)
        for drop in accepted
    )
    evidence = follow(levels, first, margin)[0]
    total = special.logsumexp([log for _, log in dropped]) - none - math.log(2)
    assert evidence.change[-1] == pytest.approx(total, abs=2e-4)
    yet = special.logsumexp([density(s, k, 0.0, 0) + math.log(w) for s, k, w in tried]) - math.log(7)
    staked = [log - math.log((start - first + 1) * (start - first + 2)) for start, log in dropped]
    assert evidence.series[-1] == pytest.approx(special.logsumexp([*staked, yet]) - none, abs=2e-4)


def test_the_filter_has_the_likelihood_of_the_whole_covariance_matrix():
    watcher = Watcher(0.02, 1.0, 0.0)
    for level, variance in zip(LEVEL, VARIANCE, strict=True):
        watcher.add(level, variance, watched=False)
    whole = [density(0.02 * s, k, 0.0, 0) for s, k in zip(watcher.swing, watcher.kept, strict=True)]
    apart = watcher.likelihoods() - np.array(whole)
    assert apart == pytest.approx(apart[0], abs=1e-9)  # constants that all densities share


def test_neither_where_levels_lie_nor_their_unit_matters():
    one = follow(Levels(LEVEL, VARIANCE, 1.0), 3, 0.01)[0]
    other = follow(Levels(50 + 10 * LEVEL, 100 * VARIANCE, 10.0), 3, 0.1)[0]
    assert one.change == pytest.approx(other.change)
    assert one.series == pytest.approx(other.series)


def test_levels_are_means_and_variances_those_of_independent_blocks():
    values = RNG.normal(RNG.normal(0, 1, 4000), np.array([1.0, 1.0, 2.0, 0.9])[:, None], (4, 4000))
    levels = levels_of(values, None)
    assert levels.level * levels.unit == pytest.approx(values.mean(axis=1) - values[0].mean())
    assert levels.variance * levels.unit**2 * 4000 == pytest.approx([1, 1, 4, 0.81], rel=0.25)
    doubled = levels_of(np.repeat(values, 2, axis=1), np.repeat(np.arange(4000), 2))
    assert doubled.level == pytest.approx(levels.level)
    assert doubled.variance == pytest.approx(levels.variance)


def test_an_item_that_comes_or_goes_moves_no_level():
    base = RNG.normal(0, 1, 30)
    values = base + np.array([0.0, 0.5, 0.25, -0.5])[:, None]
    values[1, :10] = values[2, 5:20] = values[0, 25:] = np.nan
    levels = levels_of(values, None)
    assert levels.level * levels.unit == pytest.approx([0.0, 0.5, 0.25, -0.5])


def test_a_run_without_values_leaves_evidence_as_it_was():
    values = RNG.integers(0, 2, (6, 40)).astype(float)
    gap = np.insert(values, 4, np.nan, axis=0)
    one, other = (follow(levels_of(each, None), 2)[0] for each in (values, gap))
    assert np.delete(other.change, 2) == pytest.approx(one.change)
    assert other.change[2] == other.change[1]


def test_what_never_varied_has_the_least_variance_that_there_is():
    levels = levels_of(np.ones((5, 10)), None)
    assert levels.variance == pytest.approx([0.01 / 12] * 5)
    assert np.isfinite(follow(levels, 1)[0].change[1:]).all()


def test_how_soon_a_drop_would_show_is_the_median_of_runs_of_usual_luck():
    levels = Levels(np.tile([0.01, -0.01], 6), np.full(12, 0.02**2), 1.0)
    watcher = follow(levels, 4)[1]
    after = count_runs_until_shown(watcher, levels, 0.1, 1000)
    assert after is not None
    shown = []
    for luck in noise_to_come():
        longer = Levels(np.append(levels.level, 0.02 * luck - 0.1), np.full(12 + len(luck), 0.02**2), 1.0)
        shown.append(int(np.argmax(follow(longer, 4)[0].change[8:] >= math.log(1000))) + 1)
    assert after == np.median(shown)
    assert count_runs_until_shown(watcher, levels, 0.1, 1000) == after, "looking ahead changes nothing"
    assert count_runs_until_shown(watcher, levels, 0.001, 1000) is None


def test_only_the_newest_starts_are_followed(monkeypatch):
    levels = Levels(RNG.normal(0, 0.02, 30), np.full(30, 0.02**2), 1.0)
    whole = follow(levels, 2)[0]
    monkeypatch.setattr(run_levels, "WINDOW", 8)
    few = follow(levels, 2)[0]
    assert few.change[:8] == pytest.approx(whole.change[:8])
    assert np.all(few.change[8:] < whole.change[8:])


def test_swings_that_last_are_seen_and_those_that_do_not_are_covered():
    noise = np.full(300, 0.01**2)
    fresh, lasting = RNG.normal(0, 0.02, (2, 300))
    for run in range(1, 300):
        lasting[run] = 0.9 * lasting[run - 1] + math.sqrt(1 - 0.81) * lasting[run]
    luck = RNG.normal(0, 0.01, 300)
    assert likeliest_swing(Levels(fresh + luck, noise, 1.0)).gain < 3
    swing = likeliest_swing(Levels(lasting + luck, noise, 1.0))
    assert (swing.gain > 3, swing.kept) == (True, 0.9)
    assert swing.deviation == pytest.approx(0.02, rel=0.5)


@pytest.mark.slow
@pytest.mark.parametrize(("swing", "kept"), [(0.0, 0.0), (0.5, 0.0), (2.0, 0.0), (1.1, 0.4), (2.5, 0.5)])
def test_the_mean_of_evidence_is_no_more_than_it_says(swing, kept):
    rng, runs, many = np.random.default_rng([28, int(10 * swing), int(10 * kept)]), 16, 400
    sums, series = np.empty(many), np.empty(many)
    for one in range(many):
        swings = rng.normal(0, swing, runs)
        for run in range(1, runs):
            swings[run] = kept * swings[run - 1] + math.sqrt(1 - kept**2) * swings[run]
        variance = rng.uniform(0.25, 4.0, runs)
        level = 0.02 * (swings + rng.normal(0, np.sqrt(variance)))
        evidence = follow(Levels(level, 0.02**2 * variance, 1.0), 2)[0]
        sums[one], series[one] = math.exp(evidence.change[-1]), math.exp(evidence.series[-1])
    assert sums.mean() - 4 * sums.std() / math.sqrt(many) <= (runs - 2) / 2
    assert series.mean() - 4 * series.std() / math.sqrt(many) <= 1
