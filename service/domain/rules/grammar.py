"""Reads a decision rule from its sentence. `rule.sentence` is the way back.

    delta >= 2.0 pp and mcnemar.p_value < 0.05 and bootstrap.ci excludes 0
    score.ci.low >= 95%

`not` binds tighter than `and`, `and` tighter than `or`. `[a, b]` includes its ends, `(a, b)` does
not, and `within 2 pp` is short for `within [-2 pp, 2 pp]`. `p` is short for `p_value`. What a test
says as true or false is asked for as `equivalence.equivalent is true`.
"""

from __future__ import annotations

from functools import cache
from typing import TypeVar

from lark import Lark, Token, Transformer, v_args
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, VisitError

from service.domain.plans.sections.hypothesis import MAX_RULE_LENGTH
from service.domain.plans.strings import RESERVED
from service.domain.recent import Recent
from service.domain.rules.rule import (
    All,
    AnyOf,
    Comparison,
    Excludes,
    FieldName,
    Is,
    Not,
    Operator,
    Quantity,
    Rule,
    Within,
    decimal_text,
    depth,
    sentence,
)
from service.errors import InvalidData
from service.stats.shared.declaring.shows import EXAMPLE_FIELD

EXAMPLE = f"write for instance `delta >= 2 pp and {EXAMPLE_FIELD} < 0.05`"
MAX_DEPTH = 16
MAX_DIGITS = 30

GRAMMAR = r"""
?start: any
?any: all
    | all (OR all)+                       -> any_of
?all: inverse
    | inverse (AND inverse)+              -> all_of
?inverse: NOT inverse                     -> negation
        | "(" any ")"
        | clause
?clause: field COMPARISON quantity        -> comparison
       | field EXCLUDES quantity          -> excludes
       | field WITHIN "[" quantity "," quantity "]"   -> within_closed
       | field WITHIN "(" quantity "," quantity ")"   -> within_open
       | field WITHIN quantity            -> within_symmetric
       | field IS (TRUE | FALSE)          -> truth
field: FIELD
quantity: NUMBER (PP | PERCENT)?

COMPARISON: ">=" | "<=" | "==" | "!=" | ">" | "<" | "≥" | "≤"
AND.2: /and(?![A-Za-z0-9_.])/i
OR.2: /or(?![A-Za-z0-9_.])/i
NOT.2: /not(?![A-Za-z0-9_.])/i
EXCLUDES.2: /excludes(?![A-Za-z0-9_.])/i
WITHIN.2: /within(?![A-Za-z0-9_.])/i
IS.2: /is(?![A-Za-z0-9_.])/i
TRUE.2: /true(?![A-Za-z0-9_.])/i
FALSE.2: /false(?![A-Za-z0-9_.])/i
PP.2: /pp(?![A-Za-z0-9_])/
PERCENT: /[%％]/
FIELD: /[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)*/
NUMBER: /[-+−]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?/
%ignore /[ \t\r\n]+/
"""

EXPECTED = {
    "FIELD": f"a field such as `delta` or `{EXAMPLE_FIELD}`",
    "NOT": "`not`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "COMMA": "`,`",
    "COMPARISON": "a comparison (`>=`, `>`, `<=`, `<`, `==`, `!=`)",
    "EXCLUDES": "`excludes`",
    "WITHIN": "`within`",
    "IS": "`is`",
    "TRUE": "`true`",
    "FALSE": "`false`",
    "NUMBER": "a number",
    "PP": "`pp`",
    "PERCENT": "`%`",
    "AND": "`and`",
    "OR": "`or`",
    "$END": "the end of the rule",
}
OPERATORS: dict[str, Operator] = {
    ">=": ">=", "≥": ">=", ">": ">", "<=": "<=", "≤": "<=", "<": "<", "==": "==", "!=": "!="
}  # fmt: skip

_FIELDS_OF_TESTS = frozenset({"p", "p_value", "p_better", "ci", "statistic", "equivalent"})
"""Fields so common that they are not taken for the id of a test that lacks its field."""
N = TypeVar("N", All, AnyOf)


CACHED_CHARACTERS = 200_000
"""Of the sentences whose rules are kept: a rule takes some hundred times the memory of its sentence."""

_rules: Recent[str, Rule] = Recent(CACHED_CHARACTERS)


def parse(text: str) -> Rule:
    """Return the rule that a sentence means.

    Raises:
        InvalidData: the text is no rule; the message names the column (from 1) and what was expected.
    """
    rule = _rules.get(text)
    if rule is None:
        rule = _parse(text)
        _rules.add(text, rule, len(text))
    return rule


def _parse(text: str) -> Rule:
    """Parse a rule; InvalidData names the column where it is none, and what may stand there."""
    if len(text) > MAX_RULE_LENGTH:
        raise InvalidData.field("rule", f"is longer than {MAX_RULE_LENGTH} characters", "name fewer clauses")
    try:
        rule: Rule = _parser().parse(text)  # type: ignore[assignment]
    except UnexpectedInput as unexpected:
        raise _at(_column(unexpected, text), _describe_expected(unexpected)) from None
    except VisitError as wrapped:
        raise wrapped.orig_exc from None
    if len(sentence(rule)) > MAX_RULE_LENGTH:
        raise InvalidData.field(
            "rule", f"spelt out, is longer than {MAX_RULE_LENGTH} characters", "shorten it"
        )
    return rule


@cache
def _parser() -> Lark:
    return Lark(GRAMMAR, parser="lalr", transformer=_Build())


def _column(unexpected: UnexpectedInput, text: str) -> int:
    ended = not isinstance(unexpected, UnexpectedCharacters) and unexpected.token.type == "$END"  # type: ignore[attr-defined]
    return len(text.rstrip()) + 1 if ended else (unexpected.pos_in_stream or 0) + 1


def _describe_expected(unexpected: UnexpectedInput) -> str:
    names = unexpected.interactive_parser.accepts()  # type: ignore[no-untyped-call]
    wanted = [words for name, words in EXPECTED.items() if name in names]
    *most, last = wanted or ["something else"]
    return f"expected {', '.join(most)} or {last}" if most else f"expected {last}"


def _at(column: int, message: str, fix: str = "") -> InvalidData:
    return InvalidData.field("rule", f"column {column}: {message}", fix or EXAMPLE)


@v_args(inline=True)
class _Build(Transformer[Token, Rule]):
    """Turns what the parser recognises into the tree, while it parses."""

    def field(self, name: Token) -> FieldName:
        head, *path = str(name).split(".")
        column = (name.start_pos or 0) + 1
        if head == "delta" and not path:
            return FieldName(path=("delta",))
        if head.lower() in RESERVED:
            raise _at(column, f"`{head}` is a word of the rule language", "`delta` stands alone")
        if head in _FIELDS_OF_TESTS and not path:
            fix = f"write the test's id before it, as in `{EXAMPLE_FIELD}`"
            raise _at(column, f"`{head}` does not say of which test", fix)
        if not path:
            raise _at(
                column, f"`{head}` names no field", f"write a field of the test, such as `{head}.p_value`"
            )
        return FieldName(test=head, path=(*path[:-1], "p_value" if path[-1] == "p" else path[-1]))

    def quantity(self, number: Token, unit: Token | None = None) -> Quantity:
        digits, _, exponent = str(number).lower().replace("−", "-").partition("e")
        if len(digits) > MAX_DIGITS or len(exponent) > 3 or abs(int(exponent or 0)) > MAX_DIGITS:
            raise _at(
                (number.start_pos or 0) + 1, "the number is too long", f"use at most {MAX_DIGITS} digits"
            )
        text = decimal_text(f"{digits}e{exponent}" if exponent else digits)
        return Quantity(text=text, unit=None if unit is None else "pp" if unit.type == "PP" else "%")

    def comparison(self, field: FieldName, operator: Token, value: Quantity) -> Comparison:
        return Comparison(field=field, operator=OPERATORS[operator], value=value)

    def excludes(self, field: FieldName, _word: Token, value: Quantity) -> Excludes:
        return Excludes(field=field, value=value)

    def truth(self, field: FieldName, _word: Token, value: Token) -> Is:
        return Is(field=field, value=value.type == "TRUE")

    def within_closed(self, field: FieldName, word: Token, low: Quantity, high: Quantity) -> Within:
        return _within(word, field, low, high, closed=True)

    def within_open(self, field: FieldName, word: Token, low: Quantity, high: Quantity) -> Within:
        return _within(word, field, low, high, closed=False)

    def within_symmetric(self, field: FieldName, word: Token, high: Quantity) -> Within:
        low = Quantity(text=decimal_text(f"-{high.text.removeprefix('-')}"), unit=high.unit)
        return _within(word, field, low, high, closed=True)

    def negation(self, word: Token, part: Rule) -> Not:
        return _bound(Not(part=part), word)

    def any_of(self, *parts: Rule | Token) -> Rule:
        return _join(AnyOf, parts)

    def all_of(self, *parts: Rule | Token) -> Rule:
        return _join(All, parts)


def _within(word: Token, field: FieldName, low: Quantity, high: Quantity, *, closed: bool) -> Within:
    if low.exact() >= high.exact():
        raise _at((word.start_pos or 0) + 1, "the lower bound must be below the upper one", "swap the bounds")
    return Within(field=field, low=low, high=high, closed=closed)


def _join(node: type[N], parts: tuple[Rule | Token, ...]) -> Rule:
    """Return the parts under one node, those of the same kind written out flat."""
    word = next(part for part in parts if isinstance(part, Token))
    flat: list[Rule] = []
    for part in parts:
        if not isinstance(part, Token):
            flat.extend(part.parts if isinstance(part, node) else (part,))
    return _bound(node(parts=tuple(flat)), word)


R = TypeVar("R", All, AnyOf, Not)


def _bound(rule: R, word: Token) -> R:
    if depth(rule) > MAX_DEPTH:
        raise _at(
            (word.start_pos or 0) + 1, f"the rule is nested deeper than {MAX_DEPTH} levels", "flatten it"
        )
    return rule
