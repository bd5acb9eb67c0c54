"""The ranges that drawn numbers are known to lie in hold what more draws would give."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from service.kernels.bootstrap.metric_bootstrap import bca_ends
from service.kernels.bootstrap.ratio_bootstrap import enumerate_resamples
from service.kernels.numeric.metrics import ratio_units
from service.stats.shared.declaring import certainty
from tests.kernels.drawn import draw_ratios
from tests.stats.oracle import analyse

RNG = np.random.default_rng(2)
SUMS, SIZES = np.round(RNG.normal(1, 3, 11)), RNG.integers(3, 9, 11).astype(float)
DELTA = float(SUMS.sum() / SIZES.sum())
TAIL = 0.025


@pytest.mark.parametrize("share", [0, 1, 40, 500, 999, 1000])
def test_shares_by_the_score_test(share):
    """The ends are the probabilities from which the share lies four standard errors off."""
    low, high = certainty.of_share(share / 1000, 1000)
    wilson = stats.binomtest(share, 1000).proportion_ci(2 * stats.norm.cdf(certainty.SURE) - 1, "wilson")
    assert (low, high) == pytest.approx((wilson.low, wilson.high), abs=1e-12)


@pytest.mark.parametrize("method", ["percentile", "basic", "bca"])
def test_ranges_of_drawn_ends_hold_the_exact_ones(method):
    exact = enumerate_resamples(SUMS, SIZES)
    a = ratio_units(SUMS, SIZES).acceleration()
    low, high = exact.quantile(TAIL), exact.quantile(1 - TAIL)
    ends = {
        "percentile": (low, high),
        "basic": (2 * DELTA - high, 2 * DELTA - low),
        "bca": bca_ends(exact, DELTA, a, TAIL),
    }[method]
    spread = exact.moments()[1]
    for seed in range(40):
        drawn = draw_ratios(SUMS, SIZES, 10_000, seed)
        ranges = certainty.of_ends(drawn, DELTA, method, TAIL, a, None)
        for end, (least, most) in zip(ends, ranges, strict=True):
            assert least - 1e-9 <= end <= most + 1e-9
            assert most - least < spread


def test_a_studentized_end_lies_in_its_range():
    body = {
        "baseline": np.zeros(40).tolist(),
        "candidate": RNG.gamma(1, 1, 40).tolist(),
        "method": "studentized",
    }
    far = analyse("paired-bootstrap", body, n_resamples=200_000, seed=99).ci
    for seed in range(15):
        found = analyse("paired-bootstrap", body, n_resamples=2000, seed=seed)
        for end, exact in (("low", far.low), ("high", far.high)):
            least, most = found.within[f"ci.{end}"]
            assert least < getattr(found.ci, end) < most
            assert least < exact < most


@pytest.mark.parametrize("method", ["percentile", "basic", "bca"])
@pytest.mark.parametrize("alternative", ["two-sided", "less"])
def test_ranges_of_two_arms_hold_what_many_draws_give(method, alternative):
    body = {
        "baseline": RNG.normal(0.5, 1, 14).tolist(),
        "candidate": RNG.gamma(1, 1, 13).tolist(),
        "method": method,
        "alternative": alternative,
    }
    far = analyse("bootstrap-difference", body, n_resamples=300_000, seed=99)
    for seed in range(8):
        found = analyse("bootstrap-difference", body, n_resamples=10_000, seed=seed)
        for path, number in (("ci.low", far.ci.low), ("ci.high", far.ci.high), ("p_value", far.p_value)):
            least, most = found.within[path]
            assert least < number < most
            assert least <= (found.p_value if path == "p_value" else getattr(found.ci, path[3:])) + 1e-3
        assert least > 0 or most < 0.2


def test_too_few_draws_tell_no_end():
    body = {"baseline": [0.0] * 40, "candidate": RNG.normal(0.2, 1, 40).tolist(), "method": "studentized"}
    found = analyse("paired-bootstrap", body, n_resamples=500)
    assert found.undecided["ci.low"] == found.undecided["ci.high"] == certainty.DRAWN
    assert "ci.low" not in found.within


def test_computed_answers_have_no_ranges():
    for name, body in (
        # Some lose: where none does, p counts for no less than the chance of such signs.
        ("paired-bootstrap", {"baseline": [0, 1, 0, 0] * 9, "candidate": [1, 0, 0, 1] * 9}),
        ("bootstrap-difference", {"baseline": [1.0, 2.0, 3.0], "candidate": [2.0, 3.0, 5.0]}),
    ):
        found = analyse(name, body)
        assert (found.within, found.undecided) == ({}, {})


def test_equivalence_leaves_open_what_a_drawn_end_may_turn():
    # one cluster far larger than the others, all of different sizes: drawn
    sizes, sums = [10_000, *range(1, 15)], [0, *[1, -1] * 7]
    candidate = np.concatenate([np.eye(1, n).ravel() * (d > 0) for n, d in zip(sizes, sums, strict=True)])
    baseline = np.concatenate([np.eye(1, n).ravel() * (d < 0) for n, d in zip(sizes, sums, strict=True)])
    labels = np.repeat(np.arange(15), sizes)
    arms = {"baseline": baseline.tolist(), "candidate": candidate.tolist(), "clusters": labels.tolist()}
    body = {**arms, "method": "bootstrap_ci"}

    def asked(margin):
        return analyse("equivalence", body, margin={"value": margin, "unit": "pp"})

    found = asked(50)
    assert found.within
    assert found.undecided == {}
    high, low = found.ci.high, -found.ci.low
    near = asked(round(100 * max(high, low), 6))
    assert near.undecided["equivalent"] == certainty.DRAWN
    assert "superior" not in near.undecided
