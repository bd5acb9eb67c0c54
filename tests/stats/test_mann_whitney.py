"""Mann-Whitney against scipy, enumeration and published intervals, with ties, few runs and full separation."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from service.errors import InvalidData
from service.stats.shared.declaring import registry
from tests.simulation.reads import RUNS, coverage, errors
from tests.simulation.rows import Batch
from tests.stats.bodies import bodies_of_pairs, scores
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes

PATIENT = settings(deadline=None, max_examples=50)
untied = st.lists(st.integers(0, 10**6), min_size=2, max_size=14, unique=True)
tied = st.lists(st.integers(0, 4).map(float), min_size=1, max_size=5)
sides = st.sampled_from(["two-sided", "greater", "less"])


@PATIENT
@given(untied, sides, st.data())
def test_exact_agrees_with_scipy_without_ties(values, alternative, data):
    split = data.draw(st.integers(1, len(values) - 1))
    baseline, candidate = [float(v) for v in values[:split]], [float(v) for v in values[split:]]
    found = analyse("mann-whitney", {"baseline": baseline, "candidate": candidate}, alternative=alternative)
    theirs = stats.mannwhitneyu(candidate, baseline, alternative=alternative, method="exact")
    assert found.u == theirs.statistic
    assert found.p_value == pytest.approx(theirs.pvalue, rel=1e-10)


@PATIENT
@given(tied, tied, sides)
def test_exact_with_ties_by_enumeration(baseline, candidate, alternative):
    found = analyse("mann-whitney", {"baseline": baseline, "candidate": candidate}, alternative=alternative)
    rank = stats.rankdata(baseline + candidate)
    observed = rank[len(baseline) :].sum()
    sums = np.array([sum(pick) for pick in combinations(rank, len(candidate))])
    high, low = np.mean(sums >= observed - 1e-9), np.mean(sums <= observed + 1e-9)
    expected = {"greater": high, "less": low, "two-sided": min(1.0, 2 * min(high, low))}[alternative]
    assert found.p_value == pytest.approx(expected, rel=1e-10)


@PATIENT
@given(tied, tied, sides, st.booleans())
def test_normal_forms_agree_with_scipy(baseline, candidate, alternative, corrected):
    if len(set(baseline + candidate)) == 1:
        return
    method = "corrected" if corrected else "asymptotic"
    body = {"baseline": baseline, "candidate": candidate}
    found = analyse("mann-whitney", body, alternative=alternative, method=method)
    theirs = stats.mannwhitneyu(
        candidate, baseline, alternative=alternative, method="asymptotic", use_continuity=corrected
    )
    assert found.p_value == pytest.approx(theirs.pvalue, rel=1e-8)


@PATIENT
@given(tied, tied)
def test_win_chance_and_shift_by_definition(baseline, candidate):
    found = analyse("mann-whitney", {"baseline": baseline, "candidate": candidate})
    difference = np.subtract.outer(candidate, baseline).ravel()
    assert found.common_language == pytest.approx(np.mean(difference > 0) + np.mean(difference == 0) / 2)
    assert found.rank_biserial == pytest.approx(2 * found.common_language - 1)
    assert found.delta == pytest.approx(np.median(difference))
    assert found.u + found.u_baseline == len(difference)
    if found.ci.low is not None:
        assert found.ci.low <= found.delta <= found.ci.high


@PATIENT
@given(tied, tied)
def test_swapping_arms_mirrors_the_test(baseline, candidate):
    found = analyse("mann-whitney", {"baseline": baseline, "candidate": candidate}, alternative="less")
    mirrored = analyse("mann-whitney", {"baseline": candidate, "candidate": baseline}, alternative="greater")
    assert mirrored.p_value == pytest.approx(found.p_value, rel=1e-12)
    assert mirrored.delta == pytest.approx(-found.delta)


def test_shift_interval_against_hollander_and_wolfe():
    # R: wilcox.test(x, y, conf.int = TRUE), permeability of the chorioamnion
    x = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
    y = [1.15, 0.88, 0.90, 0.74, 1.21]
    found = analyse("mann-whitney", {"baseline": y, "candidate": x}, alternative="greater")
    assert found.u == 35
    assert found.p_value == pytest.approx(0.1272, abs=5e-5)
    assert found.delta == pytest.approx(0.305)
    assert [found.ci.low, found.ci.high] == pytest.approx([-0.15, 0.76])


def test_interval_holds_zero_exactly_when_the_exact_test_keeps_it():
    rng = np.random.default_rng(4)
    for shift in np.linspace(0, 2, 15):
        body = {"baseline": list(rng.normal(size=9)), "candidate": list(rng.normal(shift, 1, size=8))}
        found = analyse("mann-whitney", body)
        assert (found.ci.low > 0 or found.ci.high < 0) == (found.p_value <= 0.05)


def test_too_few_runs_have_an_unbounded_interval():
    found = analyse("mann-whitney", {"baseline": [1.0, 2.0], "candidate": [3.0, 4.0]})
    assert (found.ci.low, found.ci.high) == (None, None)
    assert found.reasons["ci.low"].startswith("unbounded")
    assert found.p_value == found.min_attainable_p == pytest.approx(1 / 3)


def test_all_equal_is_p_one_with_a_warning():
    for method in ("exact", "asymptotic", "corrected"):
        answer = ask("mann-whitney", {"baseline": [2.0] * 4, "candidate": [2.0] * 3}, method=method)
        assert answer.analysis.p_value == 1.0
        assert answer.analysis.common_language == 0.5
        assert "ALL_TIED" in codes(answer)
    assert "ALL_TIED" not in codes(ask("mann-whitney", {"baseline": [2.0, 2.0], "candidate": [2.0, 3.0]}))


def test_method_follows_the_number_of_runs():
    rng = np.random.default_rng(0)
    body = {"baseline": list(rng.normal(size=60)), "candidate": list(rng.normal(size=60))}
    assert analyse("mann-whitney", body).method == "asymptotic"
    exact = analyse("mann-whitney", body, method="exact")
    assert exact.method == "exact"
    assert exact.p_value == pytest.approx(analyse("mann-whitney", body).p_value, rel=0.02)
    with pytest.raises(InvalidData, match="200 runs"):
        analyse("mann-whitney", {"baseline": [1.0] * 150, "candidate": [2.0] * 150}, method="exact")


def test_complete_separation_never_gives_p_zero():
    body = {"baseline": [float(k) for k in range(3000)], "candidate": [float(k) for k in range(5000, 8000)]}
    found = analyse("mann-whitney", body)
    assert found.p_value == 1e-300
    assert found.bounds["p_value"] == "< 1e-300"


def test_seed5_kolmogorov_smirnov_shows_no_order_and_is_not_offered():
    assert not [name for name in registry.latest() if "kolmogorov" in name or name.startswith("ks")]


@pytest.mark.parametrize(
    ("n", "options", "fires"),
    [
        (3, {}, True),
        (4, {}, False),
        (3, {"alternative": "greater"}, True),
        (3, {"alternative": "greater", "alpha": 0.051}, False),
        (3, {"alpha": 0.11}, False),
        (2, {"method": "asymptotic"}, True),
        (4, {"method": "asymptotic"}, False),
    ],
)
def test_too_few_runs_for_alpha_are_told(n, options, fires):
    body = {"baseline": [float(k) for k in range(n)], "candidate": [10.0 + k for k in range(n)]}
    answer = ask("mann-whitney", body, **options)
    assert ("FLOOR_ABOVE_ALPHA" in codes(answer)) is fires
    assert (answer.analysis.p_value < options.get("alpha", 0.05)) is not fires


def simulated() -> Iterator[Batch]:
    """What is drawn where the truth is known."""
    for world in RUNS:
        yield Batch(world, "mann-whitney", (errors(), coverage()))
        for method in ("asymptotic", "corrected"):
            yield Batch(world, "mann-whitney", (errors(),), {"method": method})


CASES = Cases(
    degenerate=bodies_of_pairs,
    growing=[lambda k: scores(500 * k)],
    mirrored={"runs": [{"method": "exact"}, {"method": "corrected"}]},
    simulated=simulated,
    varied={"method": ["auto", "asymptotic", "corrected"]},
)
