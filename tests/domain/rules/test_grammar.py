"""The sentence and the tree say the same."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from service.domain.plans.sections.hypothesis import MAX_RULE_LENGTH
from service.domain.rules.grammar import MAX_DEPTH, parse
from service.domain.rules.rule import (
    All,
    AnyOf,
    Comparison,
    FieldName,
    Is,
    Not,
    Quantity,
    Rule,
    Within,
    clauses,
    sentence,
)
from service.errors import InvalidData
from tests.strategies import rules, spaced_out

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
RULES = TypeAdapter(Rule)


@PATIENT
@given(rules())
def test_sentence_parses_to_the_same_tree(rule):
    assert parse(sentence(rule)) == rule


@PATIENT
@given(rules(), st.lists(st.sampled_from([" ", "  ", "\n", "\t "]), min_size=1, max_size=4))
def test_white_space_and_capital_words_mean_the_same(rule, pads):
    text = spaced_out(sentence(rule), pads)
    assert sentence(parse(text)) == sentence(rule)


@PATIENT
@given(rules())
def test_tree_survives_json(rule):
    assert RULES.validate_json(RULES.dump_json(rule)) == rule


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (
            "delta >= 2.0 pp and mcnemar.p_value < 0.05 and bootstrap.ci excludes 0",
            "delta >= 2.0 pp and mcnemar.p_value < 0.05 and bootstrap.ci excludes 0",
        ),
        ("m.p<.05", "m.p_value < 0.05"),
        ("m.p_better<.05", "m.p_better < 0.05"),
        ("delta>=+2.pp", "delta >= 2 pp"),
        ("delta ≥ −2pp", "delta >= -2 pp"),
        ("delta ≤ 1e-2", "delta <= 0.01"),
        ("delta == -0.0", "delta == 0.0"),
        ("delta > 007", "delta > 7"),
        ("b.ci within 2 pp", "b.ci within [-2 pp, 2 pp]"),
        ("b.ci within(-2pp,2pp)", "b.ci within (-2 pp, 2 pp)"),
        ("b.ci within [-0.5,1e0]", "b.ci within [-0.5, 1]"),
        ("((delta > 0))", "delta > 0"),
        ("(delta > 0 and a.p < 1) and b.p < 1", "delta > 0 and a.p_value < 1 and b.p_value < 1"),
        ("delta > 0 or (a.p < 1 or b.p < 1)", "delta > 0 or a.p_value < 1 or b.p_value < 1"),
        ("delta > 0 or a.p < 1 and b.p < 1", "delta > 0 or (a.p_value < 1 and b.p_value < 1)"),
        ("(delta > 0 or a.p < 1) and b.p < 1", "(delta > 0 or a.p_value < 1) and b.p_value < 1"),
        ("not delta > 0 and a.p < 1", "not delta > 0 and a.p_value < 1"),
        ("not (delta > 0 and a.p < 1)", "not (delta > 0 and a.p_value < 1)"),
        ("NOT NOT delta > 0", "not not delta > 0"),
        ("order.p < 1 Or nothing.andy < 1", "order.p_value < 1 or nothing.andy < 1"),
        ("m.intervals.tango excludes 0", "m.intervals.tango excludes 0"),
        ("e.equivalent IS True", "e.equivalent is true"),
        ("not e.equivalent is false", "not e.equivalent is false"),
        ("island.truest is true or e.is_it is false", "island.truest is true or e.is_it is false"),
    ],
)
def test_sentence_is_canonical(text, canonical):
    rule = parse(text)
    assert sentence(rule) == canonical
    assert parse(canonical) == rule


def test_precedence_is_not_then_and_then_or():
    a, b, c = (parse(f"{name}.x > 0") for name in "abc")
    assert parse("a.x > 0 or not b.x > 0 and c.x > 0") == AnyOf(parts=(a, All(parts=(Not(part=b), c))))


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, "expected a field"),
        ("   ", 1, "expected a field"),
        ("delta", 6, "expected a comparison"),
        ("delta >", 8, "expected a number"),
        ("delta > \n", 8, "expected a number"),
        ("delta >= 2 and", 15, "expected a field"),
        ("delta >= 2 pp pp", 15, "`and`, `or` or the end"),
        ("delta = 2", 7, "`==`"),
        ("delta => 2", 7, "`>=`"),
        ("2 < delta", 1, "expected a field"),
        ("(delta > 2", 11, "`)`"),
        ("delta > 2)", 10, "the end of the rule"),
        ("delta > 0 and delta excludes", 29, "a number"),
        ("mcnemar > 2", 1, "names no field"),
        ("p_value < 0.05", 1, "does not say of which test"),
        ("delta > 0 and p < 0.05", 15, "does not say of which test"),
        ("delta > 1 and delta.p > 2", 15, "word of the rule language"),
        ("or.x > 2", 1, "word of the rule language"),
        ("a.ci within [2, 1]", 6, "below the upper one"),
        ("a.ci within [1, 1.0]", 6, "below the upper one"),
        ("a.ci within [-2, 2)", 19, "`]`"),
        ("e.equivalent is 1", 17, "`true` or `false`"),
        ("e.equivalent is not true", 17, "`true` or `false`"),
        ("e.equivalent", 13, "`is`"),
        ("true is true", 1, "word of the rule language"),
        ("is.x is true", 1, "word of the rule language"),
        ("a.ci within 0", 6, "below the upper one"),
        ("a.ci within -2 pp", 6, "below the upper one"),
        ("a.b > 1e31", 7, "too long"),
        ("a.b > 1e99999999999999999999", 7, "too long"),
        (f"a.b > {'9' * 31}", 7, "too long"),
        ("a..b > 1", 2, "expected a comparison"),
        ("a.b > 1; drop", 8, "the end of the rule"),
        ("__import__('os')", 1, "expected a field"),
        ("ａ.p < 1", 1, "expected a field"),
    ],
)
def test_faults_name_the_column_and_what_was_expected(text, column, message):
    with pytest.raises(InvalidData) as refused:
        parse(text)
    fault = refused.value.faults[0]
    assert fault.path == "rule"
    assert fault.message.startswith(f"column {column}: ")
    assert message in fault.message


@PATIENT
@given(st.text(alphabet="delta. mcp<>=()[],0123456789 andornotwithexcludespp-+e", max_size=60))
def test_any_text_is_a_rule_or_a_named_fault(text):
    try:
        rule = parse(text)
    except InvalidData as invalid:
        refused = invalid
    else:
        assert parse(sentence(rule)) == rule
        return
    assert refused.faults[0].path == "rule"


def test_depth_and_length_are_capped():
    assert parse("not " * MAX_DEPTH + "delta > 0")
    with pytest.raises(InvalidData, match="nested deeper"):
        parse("not " * (MAX_DEPTH + 1) + "delta > 0")
    assert sentence(parse("(" * 900 + "delta > 0" + ")" * 900)) == "delta > 0"
    with pytest.raises(InvalidData, match="longer than"):
        parse("delta > 0" + " " * MAX_RULE_LENGTH)
    with pytest.raises(InvalidData, match="spelt out"):
        parse(" or ".join(["a.b>1e30"] * 160))


def test_a_long_rule_fits():
    text = " and ".join(["a.b < 1"] * 160)
    assert len(clauses(parse(text))) == 160


@pytest.mark.parametrize(
    "build",
    [
        lambda: Quantity(text="1e3"),
        lambda: Quantity(text="+1"),
        lambda: Quantity(text="nan"),
        lambda: Quantity(text="-0"),
        lambda: FieldName(test=None, path=("p_value",)),
        lambda: FieldName(test="m", path=("p",)),
        lambda: Is(field=FieldName(test="m", path=("x",)), value="true"),
        lambda: Is(field=FieldName(test="m", path=("x",)), value=1),
        lambda: Within(field=FieldName(path=("delta",)), low=Quantity(text="1"), high=Quantity(text="1")),
        lambda: All(parts=(parse("delta > 0"),)),
        lambda: All(parts=(parse("delta > 0 and delta > 1"), parse("delta > 2"))),
        lambda: Comparison(field=FieldName(path=("delta",)), operator="~", value=Quantity(text="1")),
    ],
)
def test_a_tree_that_no_sentence_gives_cannot_be_built(build):
    with pytest.raises((ValidationError, ArithmeticError)):
        build()
