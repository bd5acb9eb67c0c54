"""McNemar's test against published tables, other packages, its definition and its own symmetries."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlxtend.evaluate import mcnemar as mlxtend_mcnemar
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

from service.errors import InvalidData
from service.kernels.pairs.mcnemar import p_value
from service.stats.mcnemar import min_attainable_p
from tests.simulation.reads import BINARY, MEMOISED, coverage, errors, predicted
from tests.simulation.rows import Batch
from tests.simulation.worlds import WORLDS
from tests.stats.bodies import bodies_of_pairs, bodies_of_tables, pairs
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes, own
from tests.stats.shapes import table_of
from tests.stats.soundness import sound

METHODS = ("exact", "midp", "asymptotic", "corrected")
counts = st.tuples(*[st.integers(0, 80)] * 4).filter(any)


@pytest.mark.parametrize("case", own("mcnemar")["by_hand"]["cases"], ids=str)
def test_against_fagerland(case):
    table = table_of(c=case["only_baseline"], b=case["only_candidate"])
    for method in ("exact", "midp"):
        assert analyse("mcnemar", table, method=method).p_value == pytest.approx(case[method], abs=5e-7)


@settings(deadline=None, max_examples=60)
@given(counts)
def test_agrees_with_statsmodels_and_mlxtend(cells):
    table = np.array(cells).reshape(2, 2)
    request = table_of(*cells)
    exact = analyse("mcnemar", request).p_value
    assert exact == pytest.approx(statsmodels_mcnemar(table, exact=True).pvalue, rel=1e-9)
    if cells[1] + cells[2]:
        assert exact == pytest.approx(min(mlxtend_mcnemar(table, exact=True)[1], 1.0), rel=1e-9)
        plain = analyse("mcnemar", request, method="asymptotic")
        theirs = statsmodels_mcnemar(table, exact=False, correction=False)
        assert (plain.statistic, plain.p_value) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-9)
        if cells[1] != cells[2]:  # with correction, statsmodels' (|b - c| - 1)^2 is 1/m on a tie
            corrected = analyse("mcnemar", request, method="corrected")
            theirs = statsmodels_mcnemar(table, exact=False, correction=True)
            assert (corrected.statistic, corrected.p_value) == pytest.approx(
                (theirs.statistic, theirs.pvalue), rel=1e-9
            )


@pytest.mark.parametrize("b", range(13))
def test_one_sided_by_definition(b):
    m = 12
    for alternative, k in (("greater", b), ("less", m - b)):
        exact = sum(math.comb(m, i) for i in range(k, m + 1)) / 2**m
        assert p_value(b, m - b, "exact", alternative) == pytest.approx(exact, rel=1e-12)
        half = math.comb(m, k) / 2 ** (m + 1)
        assert p_value(b, m - b, "midp", alternative) == pytest.approx(exact - half, rel=1e-12)
        z = (k - (m - k)) / math.sqrt(m)
        assert p_value(b, m - b, "asymptotic", alternative) == pytest.approx(stats.norm.sf(z), rel=1e-9)


@given(counts, st.sampled_from(METHODS))
def test_swapping_the_arms_mirrors_everything(cells, method):
    both, c, b, neither = cells
    one = analyse("mcnemar", table_of(both, c, b, neither), method=method, alternative="greater")
    other = analyse("mcnemar", table_of(both, b, c, neither), method=method, alternative="less")
    assert other.p_value == one.p_value
    assert other.delta == -one.delta
    assert (other.ci.low, other.ci.high) == pytest.approx((-one.ci.high, -one.ci.low), abs=1e-11)


@given(st.integers(1, 60), st.integers(0, 60), st.sampled_from(METHODS))
def test_p_falls_as_the_counts_part(b, c, method):
    if b > c:
        assert p_value(b + 1, c, method, "greater") <= p_value(b, c, method, "greater") + 1e-15
        assert p_value(b, c, method, "two-sided") <= 1


@given(st.integers(0, 200), st.sampled_from(METHODS), st.sampled_from(["two-sided", "greater", "less"]))
def test_no_split_goes_below_the_least_p(m, method, alternative):
    least = min(p_value(b, m - b, method, alternative) for b in range(m + 1))
    assert min_attainable_p(m, method, alternative) == pytest.approx(least, rel=1e-12)


def test_exact_needs_six_discordant_pairs_for_five_percent():
    assert min_attainable_p(5, "exact", "two-sided") > 0.05 > min_attainable_p(6, "exact", "two-sided")


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_columns_and_counts_agree_in_any_order(pairs):
    columns = {"baseline": [int(a) for a, _ in pairs], "candidate": [int(b) for _, b in pairs]}
    cells = [sum(pair == cell for pair in pairs) for cell in ((1, 1), (1, 0), (0, 1), (0, 0))]
    turned = {name: column[::-1] for name, column in columns.items()}
    found = analyse("mcnemar", columns)
    assert found == analyse("mcnemar", table_of(*cells)) == analyse("mcnemar", turned)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_no_discordant_item_gives_one(method, alternative):
    answer = sound(ask("mcnemar", table_of(), method=method, alternative=alternative))
    assert answer.analysis.p_value == 1
    assert codes(answer) == {"NO_DISCORDANT"}
    assert answer.analysis.odds_ratio.ci.low is None
    assert answer.analysis.cohens_g is None


def test_discordant_items_do_not_warn():
    assert codes(ask("mcnemar", table_of(c=3, b=4))) == set()


@pytest.mark.parametrize(("b", "c"), [(5, 0), (0, 5), (1, 0), (0, 1)])
def test_one_empty_cell_has_an_infinite_odds_end(b, c):
    answer = sound(ask("mcnemar", table_of(c=c, b=b)))
    odds, reasons = answer.analysis.odds_ratio, answer.analysis.reasons
    if c == 0:
        assert odds.ci.high is None
        assert reasons["odds_ratio.ci.high"] == "infinite"
    else:
        assert odds.estimate == odds.ci.low == 0


def test_odds_interval_by_definition():
    odds = analyse("mcnemar", table_of(c=20, b=33), level=0.9).odds_ratio
    low, high = (end / (1 + end) for end in (odds.ci.low, odds.ci.high))
    assert stats.binom.sf(32, 53, low) == pytest.approx(0.05, rel=1e-9)
    assert stats.binom.cdf(33, 53, high) == pytest.approx(0.05, rel=1e-9)


@pytest.mark.parametrize(("b", "c"), [(1_000_000_000, 0), (600_000_000, 400_000_000), (50_000, 0)])
def test_huge_counts_never_give_zero(b, c):
    for method in METHODS:
        answer = sound(ask("mcnemar", table_of(c=c, b=b), method=method))
        assert answer.analysis.p_value > 0
        assert answer.analysis.bounds["p_value"].startswith("< ")


def test_tiny_p_keeps_its_digits():
    assert analyse("mcnemar", table_of(c=0, b=900)).p_value == pytest.approx(2.0**-899, rel=1e-9)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.999])
def test_single_item(level):
    for table in (table_of(1, 0, 0, 0), table_of(0, 1, 0, 0), table_of(0, 0, 1, 0), table_of(0, 0, 0, 1)):
        found = sound(ask("mcnemar", table, level=level)).analysis
        assert found.n == 1
        assert -1 <= found.ci.low <= found.delta <= found.ci.high <= 1


@pytest.mark.parametrize(
    ("request_body", "says"),
    [
        ({}, "columns or all four counts"),
        ({"baseline": [1], "candidate": [1], **table_of()}, "columns or all four counts"),
        ({"baseline": [1, 0], "candidate": [1]}, "candidate"),
        ({"baseline": [], "candidate": []}, "no items"),
        ({"baseline": [0.5], "candidate": [1]}, "other than 0 and 1"),
        ({"baseline": [1], "candidate": [2]}, "other than 0 and 1"),
        ({"baseline": [1], "candidate": [1e300]}, "beyond 1e"),
        (table_of(0, 0, 0, 0), "all four counts are 0"),
        ({"both_correct": 3, "only_baseline": 1}, "columns or all four counts"),
    ],
)
def test_unusable_data_is_refused_with_a_way_out(request_body, says):
    with pytest.raises(InvalidData, match=says) as caught:
        ask("mcnemar", request_body)
    assert all(fault.fix for fault in caught.value.faults)


@pytest.mark.parametrize("value", [True, "1", None, float("nan")])
def test_values_are_strict_numbers(value):
    with pytest.raises(ValueError, match="validation error"):
        ask("mcnemar", {"baseline": [value], "candidate": [1]})


@pytest.mark.parametrize(
    ("m", "options", "fires"),
    [
        (5, {}, True),
        (6, {}, False),
        (5, {"alternative": "less"}, False),
        (4, {"alternative": "less"}, True),
        (5, {"method": "midp"}, False),
        (4, {"method": "midp"}, True),
        (3, {"method": "asymptotic"}, True),
        (4, {"method": "asymptotic"}, False),
        (6, {"alpha": 0.01}, True),
        (5, {"alpha": 0.1}, False),
        (0, {}, False),
    ],
)
def test_too_few_discordant_items_for_alpha_are_told(m, options, fires):
    body = {"both_correct": 9, "only_baseline": m, "only_candidate": 0, "both_wrong": 9}
    answer = ask("mcnemar", body, **options)
    assert ("FLOOR_ABOVE_ALPHA" in codes(answer)) is fires
    if fires:
        assert answer.analysis.p_value >= options.get("alpha", 0.05)


def simulated() -> Iterator[Batch]:
    """What is drawn where the truth is known."""
    for world, discordant in BINARY.items():
        effect = WORLDS[world].effect
        for method in ("exact", "midp", "asymptotic", "corrected"):
            yield Batch(world, "mcnemar", (errors(),), {"method": method}, simulations=MEMOISED)
        odds = (discordant + effect) / (discordant - effect)
        ratio = coverage("odds_ratio.ci", "of the odds ratio", odds)
        yield Batch(world, "mcnemar", (ratio,), {}, effect, MEMOISED)
    many = {"test": "mcnemar", "p_only_baseline": 0.125, "p_only_candidate": 0.175, "n": 500}
    yield predicted("binary-high", "mcnemar", 0.05, many)


CASES = Cases(
    degenerate=lambda: [*bodies_of_tables(), *bodies_of_pairs()],
    growing=[lambda k: pairs(2000 * k)],
    mirrored={"binary": [{"method": each} for each in ("exact", "midp", "asymptotic", "corrected")]},
    simulated=simulated,
    varied={"method": ["exact", "midp", "asymptotic", "corrected"]},
)
