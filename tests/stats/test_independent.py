"""Numbers computed a second time in another way: stage-wise order, games with a fair mean, strict agreement."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from service.kernels.sequential import confidence_sequence as cs
from service.kernels.sequential.group_sequential import boundaries, stagewise_tail
from tests.kernels.drawn import draw_means
from tests.stats.oracle import analyse
from tests.stats.shapes import columns

FEW = settings(deadline=None, max_examples=25)
INFORMATION = [0.3, 0.6, 1.0]


def limits():
    high = boundaries("pocock_spending", INFORMATION, 0.025, both=True)
    return [-x for x in high], high


@pytest.mark.parametrize("drift", [-1.0, 0.0, 2.5])
def test_stagewise_tails_are_shares_of_simulated_paths(drift):
    """Order 60,000 simulated outcomes by hand (first exit above, then late, then exits below) and count."""
    low, high = limits()
    rng = np.random.default_rng(7)
    steps = np.diff([0, *INFORMATION])
    s = np.cumsum(rng.normal(drift * steps, np.sqrt(steps), (60_000, 3)), axis=1)
    z = s / np.sqrt(INFORMATION)
    out = (z >= high) | (z <= low)
    out[:, -1] = True
    stage = out.argmax(axis=1)
    last = z[np.arange(len(z)), stage]
    # leaving above: the earlier the higher; below: the earlier the lower; at the end z itself
    up = (last >= np.array(high)[stage]) & (stage < 2)
    down = (last <= np.array(low)[stage]) & (stage < 2)
    rank = np.where(up, 1000 * (3 - stage), np.where(down, -1000 * (3 - stage), 0)) + last
    for k, value in ((0, 2.9), (1, 2.6), (2, 1.1), (2, -0.4), (1, -2.7)):
        at = (1000 * (3 - k) if k < 2 and value > 0 else -1000 * (3 - k) if k < 2 else 0) + value
        above, below = stagewise_tail(INFORMATION[: k + 1], low, high, value, drift)
        assert above == pytest.approx(float(np.mean(rank >= at)), abs=5 * math.sqrt(0.25 / 60_000))
        assert above + below == pytest.approx(1, abs=1e-10)


def test_stagewise_p_at_the_second_look_against_the_bivariate_normal():
    low, high = limits()
    z, rho = 2.45, math.sqrt(0.3 / 0.6)
    joint = stats.multivariate_normal(cov=[[1, rho], [rho, 1]])
    first = stats.norm.sf(high[0])
    inside = (stats.norm.cdf(high[0]) - stats.norm.cdf(low[0])) - (
        joint.cdf([high[0], z]) - joint.cdf([low[0], z])
    )
    above, _ = stagewise_tail(INFORMATION[:2], low, high, z, 0.0)
    assert above == pytest.approx(first + inside, abs=1e-6)


@pytest.mark.parametrize("drift", [0.0, 1.5])
def test_stagewise_interval_covers_as_often_as_it_says(drift):
    """The interval holds the drift exactly when its tail is between 2.5 and 97.5 %: how often is that so?"""
    low, high = limits()
    grids = [np.linspace(-6, 8, 281) for _ in INFORMATION]
    tails = [
        np.array([stagewise_tail(INFORMATION[: k + 1], low, high, z, drift)[0] for z in grid])
        for k, grid in enumerate(grids)
    ]
    rng = np.random.default_rng(11)
    steps = np.diff([0, *INFORMATION])
    z = np.cumsum(rng.normal(drift * steps, np.sqrt(steps), (60_000, 3)), axis=1) / np.sqrt(INFORMATION)
    out = (z >= high) | (z <= low)
    out[:, -1] = True
    stage = out.argmax(axis=1)
    found = np.empty(len(z))
    for k in range(3):
        found[stage == k] = np.interp(z[stage == k, k], grids[k], tails[k])
    covered = float(np.mean((found > 0.025) & (found < 0.975)))
    assert covered == pytest.approx(0.95, abs=5 * math.sqrt(0.05 * 0.95 / 60_000))


# --- games with a fair mean ---


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_clustered_e_process_has_mean_one_on_skewed_unequal_clusters(alternative):
    """Every sequence of seven clusters: four items won (chance 1/3), or two of three lost; the mean sum is 0."""
    total = 0.0
    for picks in itertools.product([0, 1], repeat=7):
        rows, labels = [], []
        for place, pick in enumerate(picks):
            items = [(1, 0), (1, 0), (1, 1)] if pick else [(0, 1)] * 4
            rows += items
            labels += [place] * len(items)
        found = analyse(
            "sequential", {**columns(rows), "clusters": labels}, method="e_process", size_cap=4,
            alternative=alternative, order="locked_seed",
        )  # fmt: skip
        total += math.prod((1 / 3, 2 / 3)[pick] for pick in picks) * found.e_process.e_value
    assert total == pytest.approx(1, rel=1e-10)


def test_hedged_capital_is_fair_at_the_true_difference_of_unequal_clusters():
    """E[sum - D size] = 0 is the game; no bet on it gains on average, whatever the sizes."""
    outcomes = [((0.75, 1.0), 0.5), ((-0.25, 0.5), 0.25), ((0.0, 0.25), 0.25)]
    truth = sum(p * s for (s, _), p in outcomes) / sum(p * n for (_, n), p in outcomes)
    for steps in (1, 3, 5):
        total = 0.0
        for path in itertools.product(outcomes, repeat=steps):
            sums, sizes = (np.array(part) for part in zip(*(pair for pair, _ in path), strict=True))
            chance = math.prod(p for _, p in path)
            bets = cs.plug_in_bets(sums, 0.05)
            total += chance * math.exp(cs._log_capital(sums, sizes, bets, np.array([truth]))[-1, 0])
        assert total == pytest.approx(1, rel=1e-12)


def test_seven_discordant_items_on_one_side_are_the_fewest_an_e_process_rejects_on():
    for m, decision in ((6, "continue"), (7, "reject")):
        body = columns([(0, 1)] * m)
        assert analyse("sequential", body, method="e_process", order="locked_seed").decision == decision


# --- strict agreement, prefixes, draws ---


@FEW
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.floats(-6, 6)), min_size=1, max_size=12
    )
)
def test_strict_scores_by_definition(rows):
    studies, findings, z = (list(column) for column in zip(*rows, strict=True))
    found = analyse("ecs", {"z_diff": z, "study": studies, "finding": findings}).strict
    for each, value in zip(found.ecs_test, z, strict=True):
        assert each == pytest.approx(2 * stats.norm.sf(abs(value)), rel=1e-9)
    for each in found.findings:
        mine = [v for s, f, v in rows if (s, f) == (each.study, each.finding)]
        squares = sum(v * v for v in mine)
        assert each.n == len(mine)
        assert each.z == pytest.approx(math.sqrt(squares / len(mine)), rel=1e-9, abs=1e-12)
        assert each.chi_square == pytest.approx(stats.chi2.sf(squares, len(mine)), rel=1e-9)
        assert each.normal == pytest.approx(2 * stats.norm.sf(each.z), rel=1e-9)
    for study in found.studies:
        normals = [f.normal for f in found.findings if f.study == study.study]
        assert study.normal == pytest.approx(sum(normals) / len(normals))


@FEW
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=8, max_size=30), st.integers(0, 99))
def test_every_point_of_clusters_is_the_test_of_its_clusters(rows, seed):
    labels = [k % 4 + k // 8 for k in range(len(rows))]
    body = {**columns(rows), "clusters": labels}
    found = analyse("cumulative-effect", body, order_seed=seed)
    permuted = np.random.Generator(np.random.PCG64(seed)).permutation(len(set(labels)))
    first_seen = list(dict.fromkeys(labels))
    for place, count in enumerate(found.points.n_clusters):
        chosen = {first_seen[k] for k in permuted[:count]}
        part = [(row, label) for row, label in zip(rows, labels, strict=True) if label in chosen]
        there = {**columns([row for row, _ in part]), "clusters": [label for _, label in part]}
        alone = analyse("clustered-mcnemar", there, method="cr2_t")
        assert found.points.n[place] == alone.n
        assert found.points.delta[place] == pytest.approx(alone.delta, abs=1e-12)
        low, high = found.points.band_low[place], found.points.band_high[place]
        if alone.ci.low is not None:
            assert (low, high) == pytest.approx((alone.ci.low, alone.ci.high), abs=1e-9)


@pytest.mark.parametrize("n", [2, 9, 300])
def test_more_draws_begin_with_the_same_draws(n):
    values = np.random.default_rng(n).normal(size=n)
    few, many = (set(draw_means(values, b, 5).estimates.tolist()) for b in (300, 1300))
    assert few <= many
