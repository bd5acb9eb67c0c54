"""Wilcoxon's test against scipy, enumeration and published intervals, with ties, zeros and few items."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from service.errors import InvalidData
from tests.simulation.reads import SCORES, coverage, errors
from tests.simulation.rows import Batch
from tests.stats.bodies import bodies_of_pairs, scores
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes

PATIENT = settings(deadline=None, max_examples=50)
sides = st.sampled_from(["two-sided", "greater", "less"])
zeros = st.sampled_from(["wilcox", "pratt", "zsplit"])
tied = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=9)


def body_of(differences):
    return {"baseline": [0.0] * len(differences), "candidate": list(differences)}


@PATIENT
@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=14, unique=True), sides, st.data())
def test_exact_agrees_with_scipy_without_ties(sizes, alternative, data):
    signs = data.draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=len(sizes), max_size=len(sizes)))
    differences = [s * v for s, v in zip(signs, sizes, strict=True)]
    found = analyse("wilcoxon", body_of(differences), alternative=alternative)
    theirs = stats.wilcoxon(differences, alternative=alternative, method="exact")
    assert found.p_value == pytest.approx(theirs.pvalue, rel=1e-10)


@PATIENT
@given(tied, sides, zeros)
def test_exact_with_ties_and_zeros_by_enumeration(differences, alternative, zero_method):
    found = analyse("wilcoxon", body_of(differences), alternative=alternative, zero_method=zero_method)
    x = np.array(differences)
    if zero_method == "wilcox":
        x = x[x != 0]
    rank = stats.rankdata(np.abs(x)) if x.size else np.empty(0)
    rank, x = rank[x != 0], x[x != 0]
    observed = rank[x > 0].sum()
    sums = np.array([np.dot(signs, rank) for signs in product((0, 1), repeat=len(rank))])
    high, low = np.mean(sums >= observed - 1e-9), np.mean(sums <= observed + 1e-9)
    expected = {"greater": high, "less": low, "two-sided": min(1.0, 2 * min(high, low))}[alternative]
    assert found.p_value == pytest.approx(expected, rel=1e-10)


@PATIENT
@given(tied, sides, st.sampled_from(["wilcox", "pratt"]), st.booleans())
def test_normal_forms_agree_with_scipy(differences, alternative, zero_method, corrected):
    if not any(differences):
        return
    method = "corrected" if corrected else "asymptotic"
    found = analyse(
        "wilcoxon", body_of(differences), alternative=alternative, method=method, zero_method=zero_method
    )
    theirs = stats.wilcoxon(
        differences,
        alternative=alternative,
        method="asymptotic",
        correction=corrected,
        zero_method=zero_method,
    )
    assert found.p_value == pytest.approx(theirs.pvalue, rel=1e-8)


@PATIENT
@given(tied)
def test_pseudo_median_by_definition_and_sums_of_ranks(differences):
    found = analyse("wilcoxon", body_of(differences), zero_method="zsplit")
    i, j = np.triu_indices(len(differences))
    x = np.array(differences)
    assert found.delta == pytest.approx(np.median((x[i] + x[j]) / 2))
    assert found.w_plus + found.w_minus == pytest.approx(len(x) * (len(x) + 1) / 2)
    if found.ci.low is not None:
        assert found.ci.low <= found.delta <= found.ci.high


@PATIENT
@given(tied, zeros)
def test_swapping_arms_mirrors_the_test(differences, zero_method):
    found = analyse("wilcoxon", body_of(differences), alternative="greater", zero_method=zero_method)
    negated = [-d for d in differences]
    mirrored = analyse("wilcoxon", body_of(negated), alternative="less", zero_method=zero_method)
    assert mirrored.p_value == pytest.approx(found.p_value, rel=1e-12)
    assert mirrored.delta == pytest.approx(-found.delta)


def test_against_hollander_and_wolfe():
    # R: wilcox.test(x, y, paired = TRUE, conf.int = TRUE), depression scores
    x = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
    y = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
    found = analyse("wilcoxon", {"baseline": y, "candidate": x})
    assert found.w_plus == 40
    assert found.p_value == pytest.approx(0.0390625)
    assert found.delta == pytest.approx(0.46)
    assert [found.ci.low, found.ci.high] == pytest.approx([0.010, 0.786])


def test_ties_by_rounding_are_told_and_can_be_ranked_as_ties():
    body = {"baseline": [0.1, 0.2, 0.7, 1.1], "candidate": [0.3, 0.4, 0.5, 2.1]}
    apart = ask("wilcoxon", body)
    assert "ROUNDING_TIES" in codes(apart)
    assert apart.analysis.n_ties < 3
    together = ask("wilcoxon", body, ties="rounded")
    assert together.analysis.n_ties == 3
    assert (together.analysis.w_plus, together.analysis.w_minus) == (8.0, 2.0)
    clean = ask("wilcoxon", body_of([1.0, 2.0, 2.0]))
    assert "ROUNDING_TIES" not in codes(clean)


def test_identical_arms_are_p_one_with_a_warning():
    for method in ("exact", "asymptotic"):
        answer = ask("wilcoxon", {"baseline": [1.0, 2.0], "candidate": [1.0, 2.0]}, method=method)
        assert answer.analysis.p_value == 1.0
        assert answer.analysis.rank_biserial is None
        assert "NO_DIFFERENCES" in codes(answer)
    assert "NO_DIFFERENCES" not in codes(ask("wilcoxon", body_of([1.0, 0.0])))


def test_many_zeros_are_told():
    assert "MANY_ZEROS" in codes(ask("wilcoxon", body_of([0.0] + [1.0] * 9)))
    assert "MANY_ZEROS" not in codes(ask("wilcoxon", body_of([0.0] + [1.0] * 10)))


def test_five_items_can_not_reach_five_percent():
    found = analyse("wilcoxon", body_of([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert found.p_value == found.min_attainable_p == 0.0625
    assert found.ci.low is None


def test_exact_is_refused_where_it_would_not_end():
    with pytest.raises(InvalidData, match="500"):
        analyse("wilcoxon", body_of([float(k) for k in range(1, 600)]), method="exact")


def test_exact_and_normal_meet_at_two_hundred_items():
    differences = list(np.random.default_rng(2).normal(0.1, 1, size=200))
    exact = analyse("wilcoxon", body_of(differences), method="exact").p_value
    assert analyse("wilcoxon", body_of(differences)).p_value == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize(
    ("differences", "options", "fires"),
    [
        ([1.0, 2.0, 3.0, 4.0, 5.0], {}, True),
        ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], {}, False),
        ([1.0, 2.0, 3.0, 4.0, 5.0, 0.0], {}, True),
        ([1.0, 2.0, 3.0, 4.0, 5.0], {"alternative": "greater"}, False),
        ([1.0, 2.0, 3.0, 4.0, 5.0], {"alpha": 0.1}, False),
        ([1.0, 2.0, 3.0], {"method": "asymptotic"}, True),
        ([0.0, 0.0], {}, False),
    ],
)
def test_too_few_differences_for_alpha_are_told(differences, options, fires):
    answer = ask("wilcoxon", body_of(differences), **options)
    assert ("FLOOR_ABOVE_ALPHA" in codes(answer)) is fires
    if fires:
        assert answer.analysis.p_value >= options.get("alpha", 0.05)


@pytest.mark.parametrize(("alternative", "p"), [("greater", 0.5), ("less", 1.0), ("two-sided", 1.0)])
@pytest.mark.parametrize("differences", [[2.0], [0.0, 2.0, 0.0]])
def test_one_item_that_differs_is_one_toss_of_a_coin(differences, alternative, p):
    assert analyse("wilcoxon", body_of(differences), alternative=alternative).p_value == p


def test_zeros_split_to_both_sides_add_no_variance_as_they_do_in_scipy():
    differences = [0.0] * 6 + [1.0, -2.0, 3.0, 4.0, -5.0, 6.0, 7.0, 8.0, 9.0, -10.0, 11.0, 12.0]
    ours = analyse("wilcoxon", body_of(differences), zero_method="zsplit", method="asymptotic")
    theirs = stats.wilcoxon(differences, zero_method="zsplit", method="asymptotic", correction=False)
    assert min(ours.w_plus, ours.w_minus) == theirs.statistic
    assert ours.p_value < theirs.pvalue
    ranks = stats.rankdata(np.abs(differences))
    signs = np.random.default_rng(2).choice([-1, 1], size=(40_000, 12))
    spread = (signs @ ranks[6:]).std()
    assert ours.z == pytest.approx((ours.w_plus - ours.w_minus) / spread, rel=0.02), "no zero has a sign"
    assert abs(theirs.zstatistic) < 0.985 * ours.z


def simulated() -> Iterator[Batch]:
    """What is drawn where the truth is known."""
    for world in SCORES:
        if world != "lopsided":  # its differences are not symmetric, which is what wilcoxon tests
            yield Batch(world, "wilcoxon", (errors(), coverage()))
            for method in ("asymptotic", "corrected"):
                yield Batch(world, "wilcoxon", (errors(),), {"method": method})


CASES = Cases(
    degenerate=bodies_of_pairs,
    growing=[lambda k: scores(500 * k)],
    mirrored={"paired scores": [{}, {"method": "corrected", "zero_method": "pratt"}]},
    simulated=simulated,
    varied={"zero_method": ["wilcox", "pratt", "zsplit"]},
)
