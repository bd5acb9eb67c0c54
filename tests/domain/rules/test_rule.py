"""What rules mean: exact thresholds, ties, three truth values."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.domain.rules.grammar import parse
from service.domain.rules.rule import (
    All,
    AnyOf,
    Not,
    clauses,
)
from service.domain.rules.truth import (
    TIE,
    Ends,
    combine,
    holds,
)
from tests.domain.rules.evaluated import evaluate
from tests.strategies import observed, rules

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
TRUTHS = (True, False, None)


def truth(text, **fields):
    return evaluate(parse(text), {name.replace("__", "."): value for name, value in fields.items()})


@pytest.mark.parametrize("a", TRUTHS)
@pytest.mark.parametrize("b", TRUTHS)
def test_against_kleenes_tables(a, b):
    fields = {True: 1, False: 0, None: None}
    order = {False: 0, None: 1, True: 2}
    values = {"m.a": fields[a], "m.b": fields[b]}
    assert evaluate(parse("m.a == 1 and m.b == 1"), values) is min(a, b, key=order.__getitem__)
    assert evaluate(parse("m.a == 1 or m.b == 1"), values) is max(a, b, key=order.__getitem__)
    assert evaluate(parse("not m.a == 1"), values) is {True: False, False: True, None: None}[a]


@PATIENT
@given(rules(), st.data())
def test_unknown_is_only_said_where_the_clauses_leave_it_open(rule, data):
    """If the rule is decided, every way of settling its unknown clauses decides it the same way."""
    atoms = list(dict.fromkeys(clauses(rule)))[:6]
    known = {clause: data.draw(st.sampled_from(TRUTHS)) for clause in atoms}
    decided = combine(rule, known)
    if decided is None:
        return
    unknown = [clause for clause in atoms if known[clause] is None]
    for settled in itertools.product((True, False), repeat=len(unknown)):
        assert combine(rule, {**known, **dict(zip(unknown, settled, strict=True))}) is decided


@PATIENT
@given(rules(), st.data())
def test_any_observation_gives_a_truth_value(rule, data):
    fields = {str(clause.field): data.draw(observed()) for clause in clauses(rule)}
    assert evaluate(rule, fields) in TRUTHS
    assert evaluate(rule, {}) is None


@pytest.mark.parametrize(
    ("operator", "below", "equal", "above"),
    [
        (">=", False, True, True),
        (">", False, False, True),
        ("<=", True, True, False),
        ("<", True, False, False),
        ("==", False, True, False),
        ("!=", True, False, True),
    ],
)
def test_operators(operator, below, equal, above):
    text = f"delta {operator} 2 pp"
    cent = Fraction(1, 50)
    tiny = Fraction(1, 10**15)
    assert truth(text, delta=cent - tiny) is below
    assert truth(text, delta=cent) is equal
    assert truth(text, delta=cent + tiny) is above


def test_thresholds_are_exact_decimals():
    assert parse("delta >= 2.0 pp").value.exact() == Fraction(1, 50)
    assert parse("delta >= 0.1").value.exact() == Fraction(1, 10)
    assert truth("delta == 0.1", delta=Fraction(1, 10)) is True
    assert truth("delta == 0.1", delta=Fraction(0.1)) is False


def test_p_values_compare_plainly():
    assert truth("m.p < 0.05", m__p_value=0.05) is False
    assert truth("m.p <= 0.05", m__p_value=0.05) is True
    assert truth("m.p < 0.05", m__p_value=math.nextafter(0.05, 0)) is True
    assert truth("m.p < 0.05", m__p_value=0.05 - 1e-12) is True


def test_differences_and_interval_ends_of_analyses_tie():
    for field in ("delta", "ci.low", "ci.high"):
        value = {f"m.{field}": 0.02 - 4e-10}
        assert evaluate(parse(f"m.{field} >= 2 pp"), value) is True
        assert evaluate(parse(f"m.{field} < 2 pp"), value) is False
        assert evaluate(parse(f"m.{field} >= 2 pp"), {f"m.{field}": 0.02 - 2e-9}) is False


@pytest.mark.parametrize(
    ("low", "high", "excluded"),
    [
        (0.01, 0.03, True),
        (-0.03, -0.01, True),
        (-0.01, 0.03, False),
        (0.0, 0.03, False),
        (-0.03, 0.0, False),
        (TIE / 2, 0.03, False),
        (-0.03, -TIE / 2, False),
        (2 * TIE, 0.03, True),
        (None, None, None),
        (None, -0.01, True),
        (0.01, None, True),
        (None, 0.03, None),
        (-0.01, None, None),
        (-math.inf, 0.03, False),
        (0.01, math.inf, True),
    ],
)
def test_excludes_is_strict_and_ties_do_not_exclude(low, high, excluded):
    assert truth("b.ci excludes 0", b__ci=Ends(low, high)) is excluded


def test_excludes_a_value_other_than_zero():
    assert truth("b.ci excludes 2 pp", b__ci=Ends(0.0201, 0.03)) is True
    assert truth("b.ci excludes 2 pp", b__ci=Ends(0.01, 0.03)) is False


@pytest.mark.parametrize(
    ("low", "high", "closed", "opened"),
    [
        (-0.01, 0.01, True, True),
        (-0.02, 0.01, True, False),
        (-0.01, 0.02, True, False),
        (-0.02 - TIE / 2, 0.01, True, False),
        (-0.02 + TIE / 2, 0.01, True, False),
        (-0.03, 0.01, False, False),
        (-0.01, 0.03, False, False),
        (None, 0.01, None, None),
        (None, 0.03, False, False),
        (-math.inf, 0.01, False, False),
    ],
)
def test_within_with_and_without_its_ends(low, high, closed, opened):
    assert truth("b.ci within [-2 pp, 2 pp]", b__ci=Ends(low, high)) is closed
    assert truth("b.ci within (-2 pp, 2 pp)", b__ci=Ends(low, high)) is opened


def test_within_of_a_number():
    assert truth("delta within [-2 pp, 2 pp]", delta=Fraction(1, 50)) is True
    assert truth("delta within (-2 pp, 2 pp)", delta=Fraction(1, 50)) is False
    assert truth("m.p within [0.01, 0.05]", m__p_value=0.03) is True


def test_a_field_of_the_wrong_shape_is_unknown():
    assert truth("m.ci > 0", m__ci=Ends(1, 2)) is None
    assert truth("m.p excludes 0", m__p_value=0.5) is None
    assert truth("m.equivalent == 1", m__equivalent=True) is None


@pytest.mark.parametrize(
    ("seen", "is_true", "is_false"),
    [(True, True, False), (False, False, True), (None, None, None), (1, None, None), (0.0, None, None)],
)
def test_what_is_true_or_false_is_asked_for_by_its_word(seen, is_true, is_false):
    assert truth("e.equivalent is true", e__equivalent=seen) is is_true
    assert truth("e.equivalent is false", e__equivalent=seen) is is_false
    assert truth("not e.equivalent is true", e__equivalent=seen) is is_false


def test_an_interval_is_neither_true_nor_false():
    assert truth("m.ci is true", m__ci=Ends(1, 2)) is None


def test_clauses_come_in_the_order_of_the_sentence():
    rule = parse("not (a.x > 1 or b.x > 2) and (c.x within 3 or delta > 4 pp)")
    assert [str(clause) for clause in clauses(rule)] == [
        "a.x > 1",
        "b.x > 2",
        "c.x within [-3, 3]",
        "delta > 4 pp",
    ]
    assert isinstance(rule, All)
    assert isinstance(rule.parts[0], Not)
    assert isinstance(rule.parts[1], AnyOf)


def test_one_clause_alone():
    assert holds(parse("delta > 0"), Fraction(1, 3)) is True
    assert holds(parse("delta > 0"), None) is None
