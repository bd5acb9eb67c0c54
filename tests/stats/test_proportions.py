"""Two independent shares against published values and SciPy, by listing all tables, and by their properties."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from service.errors import InvalidData
from service.kernels.unpaired import score
from service.kernels.unpaired.unconditional import boschloo_p, fisher_p, margin_p
from tests.drawing import draws, mostly_slow
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes
from tests.stats.soundness import sound

NAME = "proportions"
SMALL = st.tuples(st.integers(1, 9), st.integers(1, 9)).flatmap(
    lambda n: st.tuples(st.integers(0, n[0]), st.just(n[0]), st.integers(0, n[1]), st.just(n[1]))
)
"""Right and items of the candidate, and of the baseline."""
Z = stats.norm.ppf(0.975)


def counts(right1, n1, right0, n0):
    return {"candidate_right": right1, "candidate_n": n1, "baseline_right": right0, "baseline_n": n0}


def chances_of_tables(n1, n0, share0, difference=0.0):
    return np.outer(
        stats.binom.pmf(np.arange(n1 + 1), n1, share0 + difference),
        stats.binom.pmf(np.arange(n0 + 1), n0, share0),
    )


@pytest.mark.parametrize(
    ("table", "newcombe", "miettinen_nurminen"),
    [
        # Newcombe (1998), Stat Med 17:873, table II: methods 10, and 6 with the factor N / (N - 1)
        ((56, 70, 48, 80), (0.0524, 0.3339), (0.0528, 0.3382)),
        ((9, 10, 3, 10), (0.1705, 0.8090), (0.1700, 0.8406)),
        ((5, 56, 0, 29), (-0.0381, 0.1926), (-0.0326, 0.1933)),
    ],
)
def test_against_published_intervals(table, newcombe, miettinen_nurminen):
    found = analyse(NAME, counts(*table))
    for name, ends in (("newcombe", newcombe), ("miettinen-nurminen", miettinen_nurminen)):
        interval = found.intervals[name]
        assert (interval.low, interval.high) == pytest.approx(ends, abs=1.1e-4)
    assert found.ci == found.intervals["miettinen-nurminen"]


def test_by_definition_of_all_against_none():
    # the most likely shares are (1 + D) / 2 and (1 - D) / 2, so that z^2 = 19 (1 - D) / (1 + D)
    found = analyse(NAME, counts(10, 10, 0, 10))
    assert (found.ci.low, found.ci.high) == pytest.approx(((19 - Z**2) / (19 + Z**2), 1.0), abs=1e-9)


@pytest.mark.parametrize(
    ("table", "alternative"),
    [((7, 12, 1, 12), "two-sided"), ((3, 20, 5, 25), "less"), ((12, 18, 0, 18), "greater")],
)
def test_agrees_with_scipy(table, alternative):
    right1, n1, right0, n0 = table
    square = [[right1, right0], [n1 - right1, n0 - right0]]
    found = analyse(NAME, counts(*table), alternative=alternative)
    theirs = stats.boschloo_exact(square, alternative=alternative, n=64).pvalue
    assert found.p_value == pytest.approx(theirs, rel=1e-4, abs=1e-9)
    if alternative != "two-sided":
        exact = stats.fisher_exact(square, alternative=alternative).pvalue
        assert found.p_fisher == pytest.approx(exact, rel=1e-9)


def test_against_a_published_p():
    # workers who are satisfied with their jobs, from SciPy's page of boschloo_exact, which cuts the last digits
    found = analyse(NAME, counts(74, 117, 31, 63), alternative="greater")
    assert found.p_fisher == pytest.approx(0.0483, abs=5e-5)
    assert found.p_value == pytest.approx(0.0355, abs=1e-4)


@given(SMALL)
@settings(deadline=None, max_examples=draws(12))
def test_by_listing_all_tables_boschloo_is_the_largest_chance(table):
    right1, n1, right0, n0 = table
    far = np.array([[fisher_p(i, n1, j, n0) for j in range(n0 + 1)] for i in range(n1 + 1)])
    far = far <= far[right1, right0] * (1 + 1e-9)
    shares = np.linspace(0, 1, 401)
    largest = max(float(chances_of_tables(n1, n0, share)[far].sum()) for share in shares)
    p = boschloo_p(*table)
    assert largest - 1e-9 <= p <= largest + 2e-3
    assert p <= fisher_p(*table) + 1e-12


@given(SMALL, st.sampled_from([0.02, 0.1, 0.35]))
@settings(deadline=None, max_examples=draws(12))
def test_by_listing_all_tables_the_margin_s_p_is_the_largest_chance(table, margin):
    right1, n1, right0, n0 = table
    i, j = np.meshgrid(np.arange(n1 + 1), np.arange(n0 + 1), indexing="ij")
    statistic = score.scores(i, n1, j, n0, -margin)
    far = statistic >= statistic[right1, right0] - 1e-9
    shares = np.linspace(margin, 1, 401)
    largest = max(float(chances_of_tables(n1, n0, share, -margin)[far].sum()) for share in shares)
    assert largest - 1e-9 <= margin_p(*table, -margin) <= largest + 2e-3


@pytest.mark.parametrize(("n1", "n0"), mostly_slow([(5, 5), (12, 7)]))
def test_by_listing_all_tables_the_level_holds_at_every_share(n1, n0):
    p = np.array([[boschloo_p(i, n1, j, n0) for j in range(n0 + 1)] for i in range(n1 + 1)])
    lost = np.array([[margin_p(i, n1, j, n0, -0.1) for j in range(n0 + 1)] for i in range(n1 + 1)])
    for share in np.linspace(0, 1, 101):
        assert chances_of_tables(n1, n0, share)[p <= 0.05].sum() <= 0.05 + 1e-9
        if share >= 0.1:
            assert chances_of_tables(n1, n0, share, -0.1)[lost <= 0.05].sum() <= 0.05 + 1e-9


@given(SMALL, st.floats(-0.9, 0.9))
@settings(deadline=None, max_examples=draws(20))
def test_by_definition_the_restricted_shares_are_the_most_likely(table, difference):
    right1, n1, right0, n0 = table
    least, most = max(0.0, -difference), min(1.0, 1.0 - difference)
    found = float(score.restricted_shares(np.array([right1]), n1, np.array([right0]), n0, difference)[0])

    def likelihood(share):
        return stats.binom.pmf(right1, n1, np.clip(share + difference, 0, 1)) * stats.binom.pmf(
            right0, n0, share
        )

    assert likelihood(found) >= likelihood(np.linspace(least, most, 501)).max() * (1 - 1e-6)


@given(SMALL)
@settings(deadline=None, max_examples=draws(12))
def test_by_definition_an_end_put_back_is_rejected_by_a_hair(table):
    right1, n1, right0, n0 = table
    low, high = score.interval(*table, Z)
    one, other = np.array([right1]), np.array([right0])
    assert -1 <= low <= right1 / n1 - right0 / n0 <= high <= 1
    for end, side in ((low, 1), (high, -1)):
        if abs(end) < 1:
            inside = side * float(score.scores(one, n1, other, n0, end + side * 1e-6)[0])
            outside = side * float(score.scores(one, n1, other, n0, end - side * 1e-6)[0])
            assert inside <= Z + 1e-3
            assert outside >= Z - 1e-3


def test_no_loss_that_was_seen_is_not_no_loss_at_all():
    # 0 of 20 lost against 0 of 20: a loss of 10 points came with no failure in .9^20 = .12 of such samples
    found = analyse(NAME, counts(20, 20, 20, 20), margin={"value": 10, "unit": "pp"})
    assert found.noninferiority.p_value == pytest.approx(0.9**20, rel=1e-6)
    assert not found.noninferiority.noninferior
    enough = analyse(NAME, counts(40, 40, 40, 40), margin={"value": 10, "unit": "pp"})
    assert enough.noninferiority.noninferior
    assert 0.9**40 <= enough.noninferiority.p_value < 0.025


@pytest.mark.parametrize(("method", "least"), [("boschloo", 2 * 0.5**8), ("fisher", 2 / math.comb(8, 4))])
def test_the_least_p_is_that_of_all_against_none(method, least):
    found = analyse(NAME, counts(4, 4, 0, 4), method=method)
    assert found.p_value == pytest.approx(least)
    assert found.min_attainable_p == pytest.approx(least)


def test_columns_and_counts_are_one():
    columns = {"baseline": [1, 0, 0, 1, 0], "candidate": [1, 1, 1, 0, 1, 1, 1]}
    assert analyse(NAME, columns) == analyse(NAME, counts(6, 7, 2, 5))


def test_warnings():
    assert codes(ask(NAME, counts(6, 70, 2, 50))) == set()
    assert codes(ask(NAME, counts(6, 50, 2, 50))) == {"UNPAIRED_ARMS"}
    assert "FISHER_CONSERVATIVE" in codes(ask(NAME, counts(6, 7, 2, 5), method="fisher"))
    assert "FLOOR_ABOVE_ALPHA" in codes(ask(NAME, counts(2, 2, 0, 2)))


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (counts(3, 2, 0, 5), "candidate_right: is more than the 2 items"),
        (counts(0, 0, 0, 5), "candidate_n: holds no item"),
        ({"baseline": [], "candidate": [1]}, "baseline: holds no item"),
        ({"baseline": [0.5], "candidate": [1]}, "values other than 0 and 1"),
        ({"baseline": [1], "candidate_right": 1}, "two columns or all four counts"),
        ({**counts(1, 2, 1, 2), "margin": {"value": 1, "unit": "score"}}, "no score unit"),
    ],
)
def test_refusals_name_the_field(body, told):
    with pytest.raises(InvalidData, match=told):
        analyse(NAME, body)


@pytest.mark.parametrize(
    "table", [(0, 1, 0, 1), (1, 1, 0, 1), (0, 5, 0, 900), (900, 900, 5, 5), (1, 1_000, 999, 1_000)]
)
def test_answers_are_sound_where_nothing_or_everything_varies(table):
    sound(ask(NAME, counts(*table), margin={"value": 2, "unit": "pp"}))


def degenerate():
    for right1, n1, right0, n0 in ((0, 0, 0, 0), (0, 1, 0, 1), (5, 5, 5, 5), (0, 9, 9, 9), (3, 2, 1, 2)):
        yield counts(right1, n1, right0, n0)
    yield {"baseline": [0, 1], "candidate": [1]}
    yield {"baseline": ["a"], "candidate": [None]}


CASES = Cases(
    degenerate=degenerate,
    growing=[lambda k: counts(30 * k, 50 * k, 20 * k, 40 * k)],
    mirrored={"binary": [{}, {"method": "fisher"}]},
    swapped=[
        ("baseline_share", "candidate_share"),
        ("baseline_right", "candidate_right"),
        ("baseline_n", "candidate_n"),
    ],
    unsimulated="its level is listed over all tables: test_by_listing_all_tables_the_level_holds_at_every_share",
)
