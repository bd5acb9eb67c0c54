"""What rules assert: the facts of the states in which they hold, and no more."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.domain.rules.claims.assertion import MOST_STATES, Facts, Limit, Shown, observe_states, states
from service.domain.rules.claims.clauses import Reader
from service.domain.rules.grammar import parse
from service.domain.rules.rule import clauses
from service.domain.rules.settings import resolve
from service.domain.rules.truth import combine
from service.domain.rules.truth import holds as clause_holds
from tests.domain import sample

TESTS = [
    {"id": "m", "test": "mcnemar", "version": 1},
    {"id": "g", "test": "mcnemar", "version": 1, "parameters": {"alternative": "greater"}},
    {"id": "l", "test": "mcnemar", "version": 1, "parameters": {"alternative": "less"}},
    {"id": "b", "test": "paired-bootstrap", "version": 1},
    {"id": "s", "test": "paired-bootstrap", "version": 1, "parameters": {"comparison": "strict"}},
    {"id": "e", "test": "equivalence", "version": 1},
    {
        "id": "e5",
        "test": "equivalence",
        "version": 1,
        "parameters": {"margin": {"value": 5, "unit": "pp"}},
        "margin_reason": "as in the pilot",
    },
    {"id": "e9", "test": "equivalence", "version": 1, "parameters": {"margin": {"value": 9, "unit": "pp"}}},
    {"id": "t", "test": "t-test", "version": 1},
    {"id": "w", "test": "wilcoxon", "version": 1},
]


def read(rule):
    plan = sample.plan({"hypotheses.0.rule": rule, "tests": TESTS})
    (setting,) = resolve(plan).settings
    assert setting.rule is not None, setting.rule_fault
    return states(setting.rule, Reader.of(setting))


def limit(at, strict=True):
    return Limit(Fraction(at), strict)


@pytest.mark.parametrize(
    ("rule", "lows"),
    [
        ("delta > 0", [limit(0)]),
        ("delta >= 2 pp", [limit("0.02", False)]),
        ("not delta < 2 pp", [limit("0.02", False)]),
        ("not (delta <= 0 or m.p_value > 0.05)", [limit(0)]),
        ("not not delta > 0", [limit(0)]),
        ("delta within [1 pp, 3 pp]", [limit("0.01", False)]),
        ("not delta within [-3 pp, 3 pp] and delta > 0", [limit("0.03")]),
        ("delta == 1 pp", [limit("0.01", False)]),
        ("delta != 1 pp", [None]),
        ("g.p_value < 0.05", [limit(0)]),
        ("not g.p_value >= 0.05", [limit(0)]),
        ("not g.p_value < 0.05", [None]),
        ("g.p_value > 0.05", [None]),
        ("g.p_value < 0.6", [None]),
        ("l.p_value < 0.05", [None]),
        ("m.p_value < 0.05", [limit(0), None]),
        ("m.p_value < 0.05 and delta > -1 pp", [limit(0), limit("-0.01")]),
        ("m.p_value < 0.05 and delta >= 0", [limit(0)]),
        ("m.p_value < 0.9 and delta >= 0", [limit(0, False)]),
        ("b.ci excludes 0", [limit(0), None]),
        ("b.ci excludes 0 and not delta < 0", [limit(0)]),
        ("not b.ci excludes 0", [None]),
        ("b.ci.low > 1 pp", [limit("0.01")]),
        ("b.ci.high > 1 pp", [None]),
        ("b.ci.level > 0.9", [None]),
        ("b.p_better < 0.05 and delta > 0", [limit(0)]),
        ("s.p_value < 0.05", [None]),
        ("b.fraction_le_0 < 0.05", [limit(0)]),
        ("b.fraction_gt_0 > 0.95", [limit(0)]),
        ("b.fraction_lt_0 < 0.05", [limit(0, False)]),
        ("b.fraction_ge_0 > 0.95", [limit(0, False)]),
        ("b.fraction_ge_0 < 0.05", [None]),
        ("e.superior is true", [limit(0)]),
        ("e.superior is false", [None]),
        ("not e.superior is false", [limit(0)]),
        ("e.noninferior is true", [limit("-0.02")]),
        ("e5.p_lower < 0.05", [limit("-0.05")]),
        ("m.odds_ratio.estimate > 1", [limit(0)]),
        ("m.odds_ratio.ci.low >= 1", [limit(0, False)]),
        ("m.cohens_g > 0", [limit(0)]),
        ("t.cohens_d > 0.2", [limit(0)]),
        ("w.delta > 0 and w.p_value < 0.01", [None]),
        ("m.n_discordant > 10", [None]),
        ("unknown.p_value < 0.05", [None]),
        ("delta > 0 or m.p_value < 0.05", [limit(0), None]),
        ("delta > 0 and delta < 0", []),
    ],
)
def test_what_is_known_of_the_observed_difference_from_below(rule, lows):
    assert {each.low for each in read(rule)} == set(lows)


@pytest.mark.parametrize(
    ("rule", "shown"),
    [
        ("g.p_value < 0.05", {(1, "0", 0.05, None)}),
        ("m.p_value < 0.05 and delta > 0", {(1, "0", 0.025, None)}),
        ("m.p_value < 0.05 and delta < 0", {(-1, "0", 0.025, None)}),
        ("b.ci.low > -2 pp", {(1, "-0.02", 0.025, None)}),
        ("b.ci within (-2 pp, 3 pp)", {(1, "-0.02", 0.025, None), (-1, "0.03", 0.025, None)}),
        ("e.p_value < 0.04", {(1, "-0.02", 0.04, None), (-1, "0.02", 0.04, None)}),
        ("e.equivalent is true", {(1, "-0.02", 0.05, None), (-1, "0.02", 0.05, None)}),
        ("e5.equivalent is true", {(1, "-0.05", 0.05, "0.05"), (-1, "0.05", 0.05, "0.05")}),
        ("e9.equivalent is true", {(1, "-0.09", 0.05, None), (-1, "0.09", 0.05, None)}),
        ("e5.ci.low > -5 pp", {(1, "-0.05", 0.05, "0.05")}),
        ("e.minimum_effect is true", {(1, "0.02", 0.05, None)}),
        ("e.equivalent is false", set()),
        ("not e.p_value < 0.05", set()),
        ("delta >= 2 pp", set()),
        ("m.odds_ratio.ci.low > 1.5", {(1, "0", 0.025, None)}),
    ],
)
def test_what_is_shown_of_the_true_effect(rule, shown):
    (found,) = read(rule)
    assert {(each.side, each.at, round(each.error, 12), each.margin) for each in found.shown} == {
        (side, Fraction(at), error, None if margin is None else Fraction(margin))
        for side, at, error, margin in shown
    }


def test_cost_is_bounded_and_what_is_joined_says_less():
    rule = " and ".join(
        f"(delta > {k} pp or m.ci.low > {k + 1} pp or delta > {k + 2} pp)" for k in range(1, 12)
    )
    found = read(rule)
    assert len(found) <= MOST_STATES
    assert all(each.low is not None and each.low.at >= Fraction(11, 100) for each in found)


shown_bounds = st.builds(
    Shown, st.sampled_from([1, -1]), st.sampled_from([Fraction(0), Fraction(1)]), st.just(0.05)
)
limits = st.builds(Limit, st.fractions(-1, 1, max_denominator=20), st.booleans())
facts = st.builds(
    Facts,
    low=st.none() | limits,
    high=st.none() | limits,
    shown=st.frozensets(shown_bounds),
)


def holds(known, delta):
    low, high = known.low, known.high
    above = low is None or delta > low.at or (delta == low.at and not low.strict)
    return above and (high is None or delta < high.at or (delta == high.at and not high.strict))


@given(facts, facts, st.fractions(-1, 1, max_denominator=20))
def test_meet_is_both_and_join_holds_wherever_one_does(one, other, delta):
    assert holds(one.meet(other), delta) == (holds(one, delta) and holds(other, delta))
    assert holds(one.join(other), delta) or not (holds(one, delta) or holds(other, delta))
    assert one.join(other).shown == one.shown & other.shown
    assert one.turn().turn() == one
    assert holds(one.turn(), -delta) == holds(one, delta)
    assert not one.impossible or not holds(one, delta)


parts = st.recursive(
    st.builds(
        lambda operator, value: f"delta {operator} {value} pp",
        st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), st.integers(-3, 3),
    ) | st.builds(lambda low, more: f"delta within [{low} pp, {low + more} pp]", st.integers(-3, 2), st.integers(1, 3)),
    lambda inner: st.builds(lambda a, b: f"({a} and {b})", inner, inner)
    | st.builds(lambda a, b: f"({a} or {b})", inner, inner)
    | st.builds(lambda a: f"not ({a})", inner),
    max_leaves=12,
)  # fmt: skip


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(parts, st.integers(-8, 8))
def test_a_rule_never_asserts_more_than_holds_in_every_state(text, halves):
    """By brute force over the observed difference: whatever makes the rule true lies within one of its states."""
    rule, delta = parse(text), Fraction(halves, 200)
    truths = {clause: clause_holds(clause, delta) for clause in clauses(rule)}
    reader = Reader({}, None)
    if combine(rule, truths):
        assert any(holds(each, delta) for each in states(rule, reader))
        assert any(holds(each, delta) for each in observe_states(rule, reader, truths))
