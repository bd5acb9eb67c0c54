"""The paired difference of proportions: against published numbers, statsmodels and its own symmetries."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

from service.errors import InvalidData
from service.kernels.pairs import tango
from service.kernels.pairs.paired_intervals import newcombe_interval, wald_interval
from tests.simulation.reads import BINARY, MEMOISED, coverage, errors
from tests.simulation.rows import Batch
from tests.simulation.worlds import WORLDS
from tests.stats.bodies import bodies_of_pairs, bodies_of_tables, pairs
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, cases, close, codes, columns, fourfold, tolerance
from tests.stats.shapes import ends, table_of
from tests.stats.soundness import sound

NAME = "paired-difference"
METHODS = ("tango", "newcombe", "wald")
tables = st.tuples(*[st.integers(0, 80)] * 4).filter(any)


def test_against_tango():
    found = analyse(NAME, table_of(43, 20, 40, 57))
    assert ends(found.ci) == pytest.approx((0.030865, 0.218064), abs=1e-6)
    assert found.delta == 0.125


@pytest.mark.parametrize("case", cases("mcnemar"))
def test_intervals_against_other_software(case):
    data, expected = case["input"], case["expected"]
    sent = columns(data, clusters=False) if "file" in data else fourfold(data)
    for level in (0.95, 0.90):
        for method, field in (("wald", "wald"), ("tango", "tango_score")):
            found = analyse(NAME, sent, method=method, level=level)
            name = f"ci{round(100 * level)}_{field}"
            assert close(list(ends(found.ci)), expected[name], **tolerance(case, name))
    assert found.delta == pytest.approx(expected["diff_B_minus_A"], abs=1e-15)


@given(tables, st.sampled_from(METHODS), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_each_method_is_its_kernel_and_all_are_reported(cells, method, level):
    both, c, b, neither = cells
    found = analyse(NAME, table_of(*cells), method=method, level=level)
    z, n = stats.norm.ppf(0.5 + level / 2), sum(cells)
    expected = {
        "tango": tango.interval(b, c, n, z),
        "newcombe": newcombe_interval(both, c, b, neither, z),
        "wald": wald_interval(b, c, n, z),
    }
    for name in METHODS:
        assert ends(found.intervals[name]) == pytest.approx(expected[name], abs=1e-9)
    assert found.ci == found.intervals[method]
    assert (found.ci.method, found.ci.level) == (method, level)


@given(tables)
def test_p_is_the_score_test_and_mcnemars_chi_square(cells):
    both, c, b, neither = cells
    found = analyse(NAME, table_of(*cells))
    if b + c == 0:
        assert (found.p_value, found.z) == (1, 0)
        return
    theirs = mcnemar([[both, c], [b, neither]], exact=False, correction=False).pvalue
    assert found.p_value == pytest.approx(theirs, rel=1e-9)
    assert found.z == pytest.approx(tango.score(b, c, sum(cells), 0.0), rel=1e-12)
    greater = analyse(NAME, table_of(*cells), alternative="greater").p_value
    less = analyse(NAME, table_of(*cells), alternative="less").p_value
    assert greater + less == pytest.approx(1)
    assert 2 * min(greater, less) == pytest.approx(found.p_value, rel=1e-9)


@given(tables, st.sampled_from([0.9, 0.95]))
def test_tango_interval_and_p_agree(cells, level):
    found = analyse(NAME, table_of(*cells), level=level)
    assume(abs(found.p_value - (1 - level)) > 1e-9)
    if found.n_discordant:
        assert (found.p_value < 1 - level) == (not found.ci.low <= 0 <= found.ci.high)


@given(tables, st.sampled_from(METHODS))
def test_swapping_the_arms_mirrors(cells, method):
    both, c, b, neither = cells
    one = analyse(NAME, table_of(both, c, b, neither), method=method, alternative="greater")
    other = analyse(NAME, table_of(both, b, c, neither), method=method, alternative="less")
    assert other.delta == -one.delta
    assert other.p_value == pytest.approx(one.p_value, rel=1e-12)
    assert ends(other.ci) == pytest.approx((-one.ci.high, -one.ci.low), abs=1e-11)
    assert (other.baseline_rate, other.candidate_rate) == (one.candidate_rate, one.baseline_rate)


@given(tables)
def test_intervals_stay_within_bounds_around_the_estimate(cells):
    found = analyse(NAME, table_of(*cells))
    for interval in found.intervals.values():
        assert -1 <= interval.low <= found.delta + 1e-12
        assert found.delta - 1e-12 <= interval.high <= 1
    assert found.min_attainable_p <= found.p_value + 1e-15


def test_columns_and_counts_agree():
    rows = [(1, 1)] * 3 + [(1, 0)] * 4 + [(0, 1)] * 2 + [(0, 0)]
    sent = {"baseline": [a for a, _ in rows], "candidate": [b for _, b in rows]}
    assert analyse(NAME, sent) == analyse(NAME, table_of(3, 4, 2, 1))


@pytest.mark.parametrize(
    ("table", "method", "expected"),
    [
        (table_of(b=0, c=0), "tango", {"NO_DISCORDANT"}),
        (table_of(b=5, c=4), "tango", {"FEW_FOR_SCORE"}),
        (table_of(b=5, c=5), "tango", set()),
        (table_of(b=10, c=9), "wald", {"WALD_TOO_SHORT"}),
        (table_of(b=10, c=10), "wald", set()),
        (table_of(b=10, c=9), "newcombe", set()),
        (table_of(b=0, c=0), "wald", {"NO_DISCORDANT", "WALD_TOO_SHORT"}),
    ],
)
def test_warnings_fire_where_they_should(table, method, expected):
    assert codes(ask(NAME, table, method=method)) == expected


@pytest.mark.parametrize("cells", [
    (0, 0, 0, 1), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 5, 0), (0, 5, 0, 0), (10**9, 0, 0, 0),
    (0, 10**9, 0, 0), (10**9, 3, 5, 10**9), (0, 0, 10**6, 0),
])  # fmt: skip
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_hostile_tables_stay_sound(cells, alternative):
    for method in METHODS:
        sound(ask(NAME, table_of(*cells), method=method, alternative=alternative))


def test_a_tail_below_the_floats_is_a_bound():
    found = analyse(NAME, table_of(0, 0, 10**6, 0))
    assert found.bounds.keys() == {"p_value", "min_attainable_p"}
    assert found.p_value == 1e-300


def test_the_level_and_alpha_of_the_sentence():
    rejected = analyse(NAME, table_of(43, 20, 40, 57))
    assert "is rejected at alpha 0.05" in rejected.sentence
    assert "not rejected" in analyse(NAME, table_of(43, 20, 40, 57), alpha=0.001).sentence


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ({"baseline": [0.5], "candidate": [1]}, "other than 0 and 1"),
        ({"baseline": [1, 0], "candidate": [1]}, "has 1 values"),
        ({"baseline": [], "candidate": []}, "no items"),
        ({"baseline": [[1, 0]], "candidate": [[1, 1]]}, "several values per item"),
        (table_of(0, 0, 0, 0), "all four counts are 0"),
        ({"baseline": [1]}, "either"),
    ],
)
def test_data_that_cannot_be_used_are_refused(sent, message):
    with pytest.raises(InvalidData, match=message):
        ask(NAME, sent)


def test_mcnemar_refuses_replicates():
    with pytest.raises(InvalidData, match="several values per item"):
        ask("mcnemar", {"baseline": [[1, 0], [1, 1]], "candidate": [[1, 1], [0, 1]]})


def test_coverage_of_the_tango_interval_by_enumeration():
    n, win, lose = 30, 0.15, 0.08
    covered = 0.0
    for b in range(n + 1):
        for c in range(n + 1 - b):
            low, high = tango.interval(b, c, n, 1.959963984540054)
            if low <= win - lose <= high:
                covered += (
                    math.comb(n, b) * math.comb(n - b, c) * win**b * lose**c * (1 - win - lose) ** (n - b - c)
                )
    assert 0.94 < covered < 0.97


def simulated() -> Iterator[Batch]:
    """What is drawn where the truth is known."""
    for world in BINARY:
        yield Batch(world, "paired-difference", (errors(),), simulations=MEMOISED)
        for method in ("tango", "newcombe", "wald"):
            options = {"method": method}
            yield Batch(world, "paired-difference", (coverage(),), options, WORLDS[world].effect, MEMOISED)


CASES = Cases(
    degenerate=lambda: [*bodies_of_tables(), *bodies_of_pairs()],
    growing=[lambda k: pairs(2000 * k)],
    mirrored={"binary": [{"method": each} for each in ("tango", "newcombe", "wald")]},
    simulated=simulated,
    varied={"method": ["tango", "newcombe", "wald"]},
)
