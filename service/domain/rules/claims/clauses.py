"""What one clause asserts, from what its test declares of the field it asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from service.domain.rules.claims.about import effect_of
from service.domain.rules.claims.assertion import Facts, Limit, Shown, States, states
from service.domain.rules.claims.claim import Target
from service.domain.rules.claims.margins import explicit_margin, own_margin
from service.domain.rules.feeding import fields_of_reference, parameter
from service.domain.rules.rule import Clause, Comparison, Excludes, Is, Not, Within
from service.domain.rules.settings import Setting, Use
from service.stats.shared.declaring.shows import (
    Bounded,
    Bounds,
    Covers,
    Estimate,
    Finding,
    Meaning,
    PValue,
    Share,
    Side,
    Signed,
    meaning_at,
)

LEAST_ERROR = 0.5
"""A test that errs at least this often shows nothing."""

FIXES = 0.25
"""Up to this one-sided error a test or resampled interval also fixes the sign of the observed difference."""

CLUSTER_WEIGHTED = "cluster_weighted"
NOTHING: States = (Facts(),)
ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads clauses of one hypothesis; `sesoi` is the margin of tests that the plan gives none."""

    uses: Mapping[str, Use]
    sesoi: Fraction | None
    reference: Fraction | None = None
    """Of one arm: the number from which its facts are counted."""
    filled: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By test: parameters that other parts of the plan fill."""

    @classmethod
    def of(cls, setting: Setting) -> Reader:
        """Return the reader of a hypothesis' rule."""
        sesoi = None if setting.sesoi is None else setting.sesoi.exact()
        reference, endpoint = setting.reference, setting.endpoint
        if reference is None or endpoint is None:
            return cls(setting.uses, sesoi)
        filled = {
            name: fields_of_reference(use.test, endpoint, reference) for name, use in setting.uses.items()
        }
        return cls(setting.uses, sesoi, reference, filled)

    def __call__(self, clause: Clause) -> States:
        """The states in which the clause holds; a single empty one where it asserts nothing."""
        if clause.field.test is None:
            return _estimate(_limits(clause))
        use = self.uses.get(clause.field.test)
        if use is None or use.beside:
            return NOTHING
        meaning, end = meaning_of(use, clause.field.path)
        filled = self.filled.get(clause.field.test, {})
        return _Clause(clause, use, self.sesoi, end, meaning, self.reference or ZERO, filled).states()


def meaning_of(use: Use, path: tuple[str, ...]) -> tuple[Meaning | None, str | None]:
    """Return the declared meaning of a field, and which end of an interval the path names."""
    shows = {} if use.test.plan is None else use.test.plan.shows
    if path[-1] in ("low", "high") and len(path) > 1:
        whole = meaning_at(shows, path[:-1])
        return (whole, path[-1]) if isinstance(whole, Covers) else (None, None)
    return meaning_at(shows, path), None


@dataclass(frozen=True, slots=True)
class _Clause:
    clause: Clause
    use: Use
    sesoi: Fraction | None
    end: str | None
    meaning: Meaning | None
    reference: Fraction
    """What numbers on the scale of one arm are counted from; 0 of a difference."""
    filled: Mapping[str, Any]

    def states(self) -> States:
        match meaning := self.meaning:
            case Estimate():
                return _estimate(self._from_reference())
            case Bounded():
                return self._bound(meaning)
            case Signed():
                return self._limit_effect(meaning.origin)
            case Covers():
                return self._exclude(meaning)
            case PValue():
                return self._limit_p(meaning)
            case Share():
                return self._share(meaning)
            case Finding():
                value = isinstance(self.clause, Is) and self.clause.value
                return self._ways(meaning.ways, meaning.error(self._parameter)) if value else NOTHING
            case _:
                return NOTHING

    def _parameter(self, name: str) -> Any:
        return self.filled[name] if name in self.filled else parameter(self.use.use, name)

    def _from_reference(self) -> tuple[Limit | None, Limit | None]:
        """Return the limits that the clause sets, from below and from above, counted from the reference."""
        low, high = _limits(self.clause)
        return self._move(low), self._move(high)

    def _move(self, limit: Limit | None) -> Limit | None:
        return None if limit is None else replace(limit, at=limit.at - self.reference)

    def _bound(self, meaning: Bounded) -> States:
        """Return what a bound beyond a limit asserts: that what it bounds lies there as well."""
        limit, error = self._from_reference()[0 if meaning.side == 1 else 1], meaning.error(self._parameter)
        if limit is None or error >= LEAST_ERROR:
            return NOTHING
        bound = self._bound_at(meaning.side, limit.at, error)
        return (Facts(shown=frozenset([bound]), asks=frozenset([meaning.side])),)

    def _limit_effect(self, origin: int) -> States:
        """Return what a clause on an effect asserts, whose zero is `origin`: on which side of a value it lies."""
        above, below = _limits(self.clause)
        return (
            Facts(
                low=_from_origin(above, origin, 1),
                high=_from_origin(below, origin, -1),
                asks=_asks(above, below),
            ),
        )

    def _exclude(self, meaning: Covers) -> States:
        """Return what a clause on an interval asserts: that its value, or an end's limit, lies outside.

        One that excludes a value may lie on either side.
        """
        moves = meaning.origin is None
        if isinstance(self.clause, Excludes):
            value = Limit(self.clause.value.exact() - (self.reference if moves else ZERO), strict=True)
            return self._beyond(meaning, 1, value) + self._beyond(meaning, -1, value)
        above, below = self._from_reference() if moves else _limits(self.clause)
        states = NOTHING
        if above is not None and self.end in (None, "low"):
            states = _met(states, self._beyond(meaning, 1, above, asks=self.end is not None))
        if below is not None and self.end in (None, "high"):
            states = _met(states, self._beyond(meaning, -1, below, asks=self.end is not None))
        return states

    def _beyond(self, meaning: Covers, side: Side, limit: Limit, *, asks: bool = False) -> States:
        """Return an end of an interval on this side of a limit."""
        if meaning.origin is not None:
            own = _from_origin(limit, meaning.origin, side)
            if own is None:
                return NOTHING
            limit = own
        error = meaning.error(self._parameter)
        around = limit if meaning.around and error <= FIXES else None
        return (
            Facts(
                low=around if side == 1 else None,
                high=around if side == -1 else None,
                shown=frozenset([self._bound_at(side, limit.at, error)])
                if error < LEAST_ERROR
                else frozenset(),
                asks=frozenset([side]) if asks else frozenset(),
            ),
        )

    def _limit_p(self, meaning: PValue) -> States:
        """Return what a limit on a p-value asserts.

        An alpha of `LEAST_ERROR` or more, shared among the ways to show something, asserts nothing.
        """
        above, below = _limits(self.clause)
        ways = meaning.ways(self._parameter)
        if below is None:
            one_sided = above is not None and self._of is not None and len(ways) == 1
            return self._turn_away(ways) if one_sided else NOTHING
        error = float(below.at) / len(ways)
        if error >= LEAST_ERROR:
            return NOTHING if self._of is None else self._may(ways, error)
        ways_ = self._ways(ways, error, fixes=meaning.fixes(self._parameter))
        return tuple(map(_along, ways_)) if len(ways) > 1 and self._of is None else ways_

    def _share(self, meaning: Share) -> States:
        """Make the state that a bound on a share of resamples shows: a side of 0, if the bound is tight enough."""
        above, below = _limits(self.clause)
        small = below is not None
        error = float(below.at) if below else float(1 - above.at) if above else 1.0
        if error >= LEAST_ERROR:
            return NOTHING
        up = (meaning.side == 1) != small
        side: Side = 1 if up else -1
        limit = Limit(ZERO, strict=meaning.with_zero == small) if error <= FIXES else None
        return (
            Facts(
                low=limit if up else None,
                high=None if up else limit,
                shown=frozenset([self._bound_at(side, ZERO, error)]),
                asks=frozenset([side]),
            ),
        )

    def _ways(self, ways: Iterable[Bounds], error: float, *, fixes: bool = True) -> States:
        """Make a state of every way to show bounds; where there is one bound alone, the state asks for it."""
        ways = tuple(ways)
        margin = explicit_margin(self.use.use) or self.sesoi
        states = []
        for bounds in ways:
            known = {side: k * (margin or ZERO) for side, k in bounds if k == 0 or margin is not None}
            limits = {side: Limit(at, strict=True) for side, at in known.items() if fixes and error <= FIXES}
            single = len(ways) == 1 and len(bounds) == 1
            states.append(
                Facts(
                    low=limits.get(1),
                    high=limits.get(-1),
                    shown=frozenset(self._bound_at(side, at, error) for side, at in known.items()),
                    asks=frozenset(known) if single else frozenset(),
                )
            )
        return tuple(states)

    def _may(self, ways: Iterable[Bounds], error: float) -> States:
        """Of a threshold so large that it shows nothing: what the test may show all the same, with a smaller p.

        Of the means the observed difference tells; of ranks and quantiles nothing else in a rule need do so.
        """
        return tuple(Facts(may=way.shown) for way in self._ways(ways, error, fixes=False))

    def _turn_away(self, ways: Iterable[Bounds]) -> States:
        """Of a large one-sided p: the test may show the other side, where p is near 1."""
        sides: dict[Side, Side] = {1: -1, -1: 1}
        return tuple(
            Facts(may=frozenset(replace(fact, side=sides[fact.side]) for fact in way.shown))
            for way in self._ways(ways, LEAST_ERROR, fixes=False)
        )

    @property
    def _of(self) -> str | None:
        if isinstance(self.meaning, Covers | Bounded | PValue) and self.meaning.effect is not None:
            return f"{self.use.use.id}.{'.'.join(self.clause.field.path[: -1 if self.end else None])}"
        return None if effect_of(self.use).of_means else self.use.use.id

    def _bound_at(self, side: Side, at: Fraction, error: float) -> Shown:
        return Shown(side, at, error, own_margin(self.use.use, self.sesoi), self._of)


def _along(way: Facts) -> Facts:
    """Return a way of a two-sided test of the means with the side of 0 on which the observed difference lies.

    The verdict sees to the odd plan whose rows went on past the look that ended the test.
    """
    sides = {fact.side for fact in way.shown if fact.at == 0}
    low, high = (Limit(ZERO, strict=False) if sides == {side} else None for side in (1, -1))
    return way.meet(Facts(low=low, high=high))


def _estimate(limits: tuple[Limit | None, Limit | None]) -> States:
    above, below = limits
    return (Facts(low=above, high=below, asks=_asks(above, below)),)


def _limits(clause: Clause) -> tuple[Limit | None, Limit | None]:
    """Return the limits that the clause sets its own field, from below and from above."""
    match clause:
        case Within():
            low, high = (Limit(end.exact(), not clause.closed) for end in (clause.low, clause.high))
            return low, high
        case Comparison():
            limit = Limit(clause.value.exact(), clause.operator in (">", "<"))
            above = limit if clause.operator in (">", ">=", "==") else None
            return above, limit if clause.operator in ("<", "<=", "==") else None
        case _:
            return None, None


def _asks(above: Limit | None, below: Limit | None) -> frozenset[Side]:
    """Return the side that a single limit asks for: above (1) or below (-1); none of two limits or of none."""
    if (above is None) == (below is None):
        return frozenset()
    return frozenset([1 if below is None else -1])


def _from_origin(limit: Limit | None, origin: int, side: Side) -> Limit | None:
    """Return what a limit on another scale says of the sign."""
    if limit is None or side * (limit.at - origin) < 0:
        return None
    return Limit(ZERO, strict=limit.strict or limit.at != origin)


def _met(left: States, right: States) -> States:
    return tuple(a.meet(b) for a in left for b in right)


def weighs_clusters(use: Use, clause: Clause) -> bool:
    """Tell whether the field is about the mean of the clusters' means."""
    if clause.field.path[0] == "estimates":
        return clause.field.path[-1] == CLUSTER_WEIGHTED
    declared = parameter(use.use, "estimand")
    if declared is not None:
        return declared == CLUSTER_WEIGHTED
    return parameter(use.use, "method") == "durkalski"


def denying(setting: Setting, target: Target, reader: Reader) -> list[Clause]:
    """Return the clauses that can show the opposite of the claim, as they stand or under a `not`."""
    return [
        clause
        for clause in setting.clauses
        if any(
            target.denied_by(state) for rule in (clause, Not(part=clause)) for state in states(rule, reader)
        )
    ]
