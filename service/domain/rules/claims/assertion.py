"""What a rule asserts: the states in which it holds, and what is known of the difference in each.

Negation is pushed down to the clauses; a rule is then a list of states, one per way in which it can
hold, each the meet of its clauses' facts. States that contradict themselves are dropped. Past
`MOST_STATES` they are joined into what they have in common, so cost is bounded and no state is ever
said to assert more than it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce

from service.domain.rules.rule import All, AnyOf, Clause, Comparison, Is, Not, Operator, Rule, Within
from service.domain.rules.truth import Truth, combine
from service.stats.shared.declaring.shows import Side

MOST_STATES = 64

OPPOSITE: dict[Operator, Operator] = {">=": "<", ">": "<=", "<=": ">", "<": ">=", "==": "!=", "!=": "=="}


@dataclass(frozen=True, slots=True)
class Limit:
    """A bound of the observed difference; `strict`: the bound itself is not reached."""

    at: Fraction
    strict: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """The true effect is shown to lie above (1) or below (-1) a value, with this one-sided error."""

    side: Side
    at: Fraction
    error: float
    margin: Fraction | None = None
    """The margin that the plan gives the test which shows it, where that counts instead of the SESOI."""
    of: str | None = None
    """The test, where its effect is not the difference of means; None: the difference of means."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known in one state: limits of the observed difference, what is shown, and which way it asks."""

    low: Limit | None = None
    high: Limit | None = None
    shown: frozenset[Shown] = frozenset()
    asks: frozenset[Side] = frozenset()
    may: frozenset[Shown] = frozenset()
    """What one of several joined states shows, and not all of them."""

    @property
    def impossible(self) -> bool:
        """True when no difference lies within the limits, or one test of another effect shows it on both sides."""
        if any(self._is_denied(fact) for fact in self.shown if fact.of is not None):
            return True
        if self.low is None or self.high is None:
            return False
        gap = self.high.at - self.low.at
        return gap < 0 or (gap == 0 and (self.low.strict or self.high.strict))

    def _is_denied(self, one: Shown) -> bool:
        """Tell whether the same test shows the opposite."""
        return any(
            other.of == one.of and other.side == -one.side and one.side * (one.at - other.at) >= 0
            for other in self.shown
        )

    @property
    def says_something(self) -> bool:
        """False when nothing is known of the difference."""
        return replace(self, may=frozenset()) != Facts()

    def meet(self, other: Facts) -> Facts:
        """Return what is known where both parts hold."""
        return Facts(
            low=_tightest(self.low, other.low, 1),
            high=_tightest(self.high, other.high, -1),
            shown=self.shown | other.shown,
            asks=self.asks | other.asks,
            may=self.may | other.may,
        )

    def join(self, other: Facts) -> Facts:
        """Join what both know: one of them holds."""
        return Facts(
            low=_loosest(self.low, other.low, 1),
            high=_loosest(self.high, other.high, -1),
            shown=self.shown & other.shown,
            asks=self.asks | other.asks if self.asks and other.asks else frozenset(),
            may=self.may | other.may | (self.shown ^ other.shown),
        )

    def turn(self) -> Facts:
        """Return the same of baseline minus candidate."""
        sides: dict[Side, Side] = {1: -1, -1: 1}
        both_shown, may = (
            frozenset(replace(fact, side=sides[fact.side], at=-fact.at) for fact in known)
            for known in (self.shown, self.may)
        )
        return Facts(
            low=None if self.high is None else replace(self.high, at=-self.high.at),
            high=None if self.low is None else replace(self.low, at=-self.low.at),
            shown=both_shown,
            asks=frozenset(sides[ask] for ask in self.asks),
            may=may,
        )


States = tuple[Facts, ...]
"""The ways in which a rule can hold; none: it never can."""

FactsOf = Callable[[Clause], States]


def states(rule: Rule, facts_of: FactsOf) -> States:
    """Return the states in which the rule holds."""
    match rule:
        case All():
            return _every([states(part, facts_of) for part in rule.parts])
        case AnyOf():
            return _some([states(part, facts_of) for part in rule.parts])
        case Not():
            return _deny(rule.part, facts_of)
        case _:
            return facts_of(rule)


def observe_states(rule: Rule, facts_of: FactsOf, truths: Mapping[Clause, Truth]) -> States:
    """Return the same where the truth of the clauses is observed: all ways that hold, hold together."""
    match rule:
        case All() | AnyOf():
            holding = [part for part in rule.parts if combine(part, truths)]
            return _every([observe_states(part, facts_of, truths) for part in holding])
        case Not():
            return observe_states(_push_negation(rule.part), facts_of, truths) if _compound(rule.part) else _deny(
                rule.part, facts_of
            )  # fmt: skip
        case _:
            return facts_of(rule)


def _compound(rule: Rule) -> bool:
    return isinstance(rule, (All, AnyOf, Not))


def _push_negation(rule: Rule) -> Rule:
    """`not` of a compound rule, with the negation on its parts."""
    # De Morgan's laws, which hold of three truths in Kleene's strong logic as they do of two.
    match rule:
        case All():
            return _build(AnyOf, [Not(part=part) for part in rule.parts])
        case AnyOf():
            return _build(All, [Not(part=part) for part in rule.parts])
        case Not():
            return rule.part
        case _:
            return Not(part=rule)


def _build(kind: type[All] | type[AnyOf], parts: list[Rule]) -> Rule:
    return kind(parts=tuple(parts))


def _deny(rule: Rule, facts_of: FactsOf) -> States:
    """Return the states in which the rule is false, which is more than not true."""
    if _compound(rule):
        return states(_push_negation(rule), facts_of)
    match rule:
        case Comparison():
            return facts_of(rule.model_copy(update={"operator": OPPOSITE[rule.operator]}))
        case Is():
            return facts_of(rule.model_copy(update={"value": not rule.value}))
        case Within() if rule.field.path[-1] in ("delta", "low", "high"):
            below, above = ("<", ">") if rule.closed else ("<=", ">=")
            outside = ((below, rule.low), (above, rule.high))
            return _some([facts_of(_compare(rule, operator, limit)) for operator, limit in outside])
        case _:
            # An interval that does not exclude a value, or lies not within bounds, shows nothing of its own: it may be
            # wide, or lie on either side.
            return (Facts(),)


def _compare(clause: Within, operator: str, value: object) -> Comparison:
    return Comparison.model_validate({"field": clause.field, "operator": operator, "value": value})


def _every(parts: Iterable[States]) -> States:
    # `and` over `or` multiplies out, one state for every choice of a part from each: kept few after every step.
    return reduce(lambda left, right: _bound(a.meet(b) for a in left for b in right), parts, (Facts(),))


def _some(parts: Iterable[States]) -> States:
    return _bound(state for part in parts for state in part)


def _bound(facts: Iterable[Facts]) -> States:
    possible = tuple(dict.fromkeys(fact for fact in facts if not fact.impossible))
    # What all of too many states have in common is still true in each: less is known, nothing wrong.
    return possible if len(possible) <= MOST_STATES else (reduce(Facts.join, possible),)


def _tightest(one: Limit | None, other: Limit | None, side: Side) -> Limit | None:
    if one is None or other is None:
        return one or other
    # The further in; of two at one place the strict one, which leaves that place out.
    return max((one, other), key=lambda limit: (side * limit.at, limit.strict))


def _loosest(one: Limit | None, other: Limit | None, side: Side) -> Limit | None:
    if one is None or other is None:
        return None
    return min((one, other), key=lambda limit: (side * limit.at, limit.strict))
