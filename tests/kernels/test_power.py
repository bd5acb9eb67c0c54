from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import TTestIndPower, TTestPower

from service.kernels.numeric.streams import block_count
from service.kernels.pairs import tango
from service.kernels.pairs.mcnemar import p_value, p_values
from service.kernels.planning import cluster_power, power
from service.kernels.planning.equivalence_power import tango_power
from service.kernels.randomization.sign_flip import sign_flip
from tests.drawing import draws, mostly_slow
from tests.stats.oracle import analyse

PATIENT = settings(deadline=None, max_examples=draws(60))


def tables(n, p_b, p_c):
    """Every (b, c) of n items with its probability; b: candidate only."""
    for b in range(n + 1):
        for c in range(n + 1 - b):
            yield b, c, stats.multinomial.pmf([b, c, n - b - c], n, [p_c, p_b, 1 - p_b - p_c])


@pytest.mark.parametrize("method", ["exact", "midp", "asymptotic", "corrected"])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize(("n", "p_b", "p_c"), [(25, 0.1, 0.4), (12, 0.0, 0.5), (15, 0.5, 0.5), (3, 0.2, 0.8)])
def test_mcnemar_power_by_enumeration(method, alternative, n, p_b, p_c):
    expected = sum(p for b, c, p in tables(n, p_b, p_c) if p_value(b, c, method, alternative) < 0.05)
    assert power.mcnemar_power(n, p_b, p_c, 0.05, method, alternative) == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize(
    ("n", "p_b", "p_c", "margin"),
    mostly_slow(
        [
            (40, 0.2, 0.1, 0.3),
            (14, 0.0, 0.0, 0.2),
            (7, 0.1, 0.0, 0.4),
            (60, 0.05, 0.1, 0.15),
            (70, 0.02, 0.02, 0.08),
        ],
        quick=3,
    ),
)
def test_tango_power_by_enumeration(n, p_b, p_c, margin):
    expected = sum(p for b, c, p in tables(n, p_b, p_c) if shows_equivalence(b, c, n, margin))
    assert tango_power(n, p_b, p_c, 0.05, margin) == pytest.approx(expected, abs=1e-11)


def shows_equivalence(b, c, n, margin):
    """Whether the test, as it is called, finds equivalence at .05."""
    body = {"both_correct": 0, "only_baseline": c, "only_candidate": b, "both_wrong": n - b - c}
    return analyse("equivalence", {**body, "margin": {"value": margin, "unit": "proportion"}}).equivalent


def test_equivalence_power_counts_the_exact_p_below_ten_discordant_items():
    # without it .766 for a power of 0: 200 items need a margin above 1.49 pp even without a discordant one
    assert tango_power(148, 0.0, 0.0, 0.05, 0.02) == 0
    assert tango_power(149, 0.0, 0.0, 0.05, 0.02) == 1


@PATIENT
@given(st.integers(1, 400), st.sampled_from([0.03, 0.08, 0.2]), st.floats(0, 0.1), st.floats(0, 0.1))
def test_bounds_of_the_equivalence_power_lie_on_its_side(n, margin, p_b, p_c):
    exact = tango_power(n, p_b, p_c, 0.05, margin)
    for target in (0.1, 0.8):
        assert (tango_power(n, p_b, p_c, 0.05, margin, target=target) >= target) == (exact >= target)


@PATIENT
@example(5, 0, 0, -1.4e-204)
@example(5, 0, 0, 5e-324)
@example(60, 0, 60, 1e-200)
@given(st.integers(1, 60), st.integers(0, 60), st.integers(0, 60), st.floats(-0.99, 0.99))
def test_tango_scores_agree_with_the_single_score(n, b, c, difference):
    assume(b + c <= n)
    found = float(tango.scores(np.array([b]), np.array([c]), n, difference)[0])
    assert math.isfinite(found)
    assert found == pytest.approx(tango.score(b, c, n, difference), rel=1e-9, abs=1e-9)


@PATIENT
@given(
    st.floats(0.1, 2.0),
    st.integers(3, 80),
    st.sampled_from([0.01, 0.05]),
    st.sampled_from(["two-sided", "larger"]),
)
def test_t_power_agrees_with_statsmodels(d, n, alpha, side):
    ours = "two-sided" if side == "two-sided" else "greater"
    # statsmodels answers nan where its lower tail underflows, at power near 1
    for theirs, nc, df in (
        (TTestIndPower().power(d, n, alpha, alternative=side), d * math.sqrt(n / 2), 2 * n - 2),
        (TTestPower().power(d, n, alpha, alternative=side), d * math.sqrt(n), n - 1),
    ):
        found = power.t_power(nc, df, alpha, ours)
        assert found == pytest.approx(theirs, abs=1e-6) or (math.isnan(theirs) and found > 0.99)


def test_power_without_a_difference_is_alpha():
    for alternative in ("two-sided", "greater", "less"):
        assert power.t_power(0.0, 7, 0.05, alternative) == pytest.approx(0.05, abs=1e-10)


def test_detectable_noncentrality_has_the_target_power():
    nc = power.detectable_nc(18, 0.05, "two-sided", 0.8)
    assert power.t_power(nc, 18, 0.05, "two-sided") == pytest.approx(0.8, abs=1e-9)
    assert power.detectable_nc(18, 0.05, "greater", 0.8) < nc


@pytest.mark.parametrize(("p_b", "p_c"), [(0.05, 0.15), (0.1, 0.2), (0.0, 0.2)])
def test_smallest_n_holds_for_every_larger_n(p_b, p_c):
    def at(n):
        return power.mcnemar_power(n, p_b, p_c, 0.05, "exact", "two-sided")

    n, searched = power.smallest_n(at, 0.8, 1, 10_000, lambda n: 30 + int(3 * math.sqrt(n / (p_b + p_c))))
    failing = [k for k in range(1, 700) if at(k) < 0.8]
    assert n == failing[-1] + 1
    assert searched > n


def test_saw_tooth_is_not_taken_for_the_answer():
    bumpy = {5: 0.81, 6: 0.7, 7: 0.82, 8: 0.79}
    n, searched = power.smallest_n(lambda n: bumpy.get(n, 0.9 if n > 8 else 0.1), 0.8, 1, 1_000, lambda _: 10)
    assert n == 9
    assert searched >= 15


def test_smallest_n_says_when_the_end_is_reached():
    assert power.smallest_n(lambda _: 0.5, 0.8, 1, 100, lambda _: 5) == (None, 100)
    assert power.smallest_n(lambda _: 0.9, 0.8, 3, 100, lambda _: 5)[0] == 3


@PATIENT
@given(st.lists(st.lists(st.integers(-4, 4), min_size=5, max_size=5), min_size=1, max_size=6))
def test_batched_flip_p_values_agree_with_the_single_test(rows):
    sums = np.array(rows)
    for alternative in ("two-sided", "greater", "less"):
        found = cluster_power.flip_p_values(sums, alternative)
        for row, p in zip(sums, found, strict=True):
            tails = sign_flip(row.astype(np.float64))
            expected = {"two-sided": tails.two_sided, "greater": tails.at_least, "less": tails.at_most}
            assert p == pytest.approx(expected[alternative], abs=1e-12)


def simulated(design, n_simulations):
    """Power and its standard error from that many simulated data sets."""
    blocks = range(block_count(n_simulations))
    return cluster_power.simulated_power(cluster_power.ClusterFlips(*design).rejects(blocks)[:n_simulations])


def test_sums_too_large_for_a_table_have_the_same_p(monkeypatch):
    sums = np.random.default_rng(3).integers(-30, 50, (12, 9))
    for alternative in ("two-sided", "greater", "less"):
        table = cluster_power.flip_p_values(sums, alternative)
        with monkeypatch.context() as patch:
            patch.setattr(cluster_power, "MOST_COSINES", 1)
            assert cluster_power.flip_p_values(sums, alternative) == pytest.approx(table, abs=1e-12)


def test_cluster_power_without_icc_is_near_the_item_level_test():
    # clusters of one item without correlation: sign-flip is exact McNemar
    found, se = simulated((60, 1, 0.05, 0.25, 0.0, 0.05, "two-sided", 1), 4_000)
    exact = power.mcnemar_power(60, 0.05, 0.25, 0.05, "exact", "two-sided")
    assert abs(found - exact) < 4 * se


def test_cluster_power_falls_with_icc_and_follows_its_seed():
    def at(icc, seed=0):
        return simulated((20, 15, 0.05, 0.12, icc, 0.05, "two-sided", seed), 1_000)[0]

    assert at(0.0) > at(0.2) > at(0.9)
    assert at(0.2) == at(0.2)
    assert at(0.2) != at(0.2, seed=1)


@pytest.mark.parametrize("icc", [1 - 1e-9, 1 - 1e-13])
def test_clusters_whose_items_are_all_alike_fall_by_their_shares(icc):
    # every gamma of a cluster underflows there; the limit is one draw a cluster: all of its items tell the same
    sums = cluster_power.ClusterFlips(6, 5, 0.2, 0.5, icc, 0.05, "two-sided", 0)._sums(
        np.random.default_rng(1), 2_000
    )
    assert set(np.unique(sums)) == {-5, 0, 5}
    for value, share in ((-5, 0.2), (5, 0.5)):
        assert np.mean(sums == value) == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / 12_000))


def test_five_clusters_can_never_reject():
    assert simulated((5, 20, 0.0, 0.9, 0.0, 0.05, "two-sided", 0), 200)[0] == 0.0


def test_upper_sd_is_a_confidence_bound():
    rng = np.random.default_rng(0)
    sds = rng.normal(size=(4_000, 5)).std(axis=1, ddof=1)
    covered = np.mean([power.upper_sd(sd, 5, 0.8) >= 1 for sd in sds])
    assert covered == pytest.approx(0.8, abs=0.025)


@pytest.mark.parametrize("method", ["exact", "midp", "asymptotic", "corrected"])
@pytest.mark.parametrize("two_sided", [True, False])
@pytest.mark.parametrize("alpha", [1e-12, 1e-3, 0.05, 0.5, 0.99])
def test_critical_counts_by_trying_every_count(alpha, two_sided, method):
    """Also where the normal law is far off: a tiny alpha, few discordant items."""
    side = "two-sided" if two_sided else "greater"
    for m, found in enumerate(power.critical_counts(np.arange(150), alpha, method, two_sided=two_sided)):
        k = np.arange((m // 2 if two_sided else m) + 1)
        rejecting = k[p_values(m - k, k, method, side) < alpha]
        assert found == max(rejecting, default=-1), m


@pytest.fixture
def tried(monkeypatch):
    """Of every call that works out critical counts, how many."""
    sizes, counts = [], power.critical_counts
    monkeypatch.setattr(
        power, "critical_counts", lambda m, *rest, **more: (sizes.append(len(m)), counts(m, *rest, **more))[1]
    )
    return sizes


UNLIKE_OTHERS = 0.0499  # nothing of it is kept from another test


def test_sizes_nearby_share_what_was_worked_out(tried):
    power.mcnemar_power(500, 0.05, 0.07, UNLIKE_OTHERS, "exact", "two-sided")
    first = len(tried)
    for n in range(480, 520):
        power.mcnemar_power(n, 0.05, 0.07, UNLIKE_OTHERS, "exact", "two-sided")
    assert len(tried) == first


def test_power_at_a_million_items_works_out_what_is_likely_alone(tried):
    assert power.mcnemar_power(1_000_000, 0.45, 0.451, UNLIKE_OTHERS, "exact", "two-sided") < 0.5
    assert sum(tried) < 10_000
