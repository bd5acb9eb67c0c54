"""A locked rule read as bounds on the difference, each at its own level."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scipy import special

from service.domain.decision.members import asks_small_p
from service.domain.rules.answers import Analysis, Answer
from service.domain.rules.fields import EFFECT_FIELDS
from service.domain.rules.grammar import parse
from service.domain.rules.rule import All, Clause, Comparison, Excludes, Is, Within
from service.domain.verdicts.records import ClauseVerdict, HypothesisVerdict
from service.domain.verdicts.words.headline import EVERY


@dataclass(frozen=True, slots=True)
class Bound:
    """The difference is to lie above (1) or below (-1) `at` by `z` standard errors."""

    side: int
    at: float
    z: float


def bounds_of(verdict: HypothesisVerdict, truth: float) -> tuple[Bound, ...] | None:
    """Read the rule as bounds on the difference; None where a clause is of another kind, or in `or` or `not`.

    What asks for either side is asked on that of the true difference.
    """
    if verdict.others:
        return None  # other endpoints' numbers are no bounds on this difference
    rule = parse(verdict.rule)
    parts = rule.parts if isinstance(rule, All) else (rule,)
    judged = {clause.text: clause for clause in verdict.clauses}
    bounds: list[Bound] = []
    for part in parts:
        if not isinstance(part, Comparison | Excludes | Within | Is) or str(part) not in judged:
            return None
        own = list(_list_bounds(part, judged[str(part)], verdict, truth))
        if not own:
            return None
        bounds += own
    return tuple(bounds)


def within(margin: float, alpha: float) -> tuple[Bound, ...]:
    """Return what two one-sided tests ask of a difference for it to lie within the margin."""
    z = -float(special.ndtri(alpha))
    return Bound(1, -margin, z), Bound(-1, margin, z)


def _list_bounds(
    clause: Clause, judged: ClauseVerdict, verdict: HypothesisVerdict, truth: float
) -> Iterator[Bound]:
    """List the bounds that a clause sets the estimate, as a side, a value, and standard errors from it."""
    analysis = Answer.of(verdict.analyses, clause.field.test).analysis
    path, up = clause.field.path, 1 if truth >= 0 else -1
    if isinstance(clause, Comparison):
        at = float(clause.value.exact())
        side = 1 if clause.operator in (">", ">=") else -1 if clause.operator in ("<", "<=") else 0
        if path[-1] == "delta" and path[0] in EFFECT_FIELDS and side:
            yield Bound(side, at, 0.0)
        elif path[0] in EFFECT_FIELDS and path[0] != EVERY and path[-1] in ("low", "high") and side:
            z = errors_to_end(analysis, path[:-1])
            if z is not None:  # the low end above a value asks for the difference above it by z errors
                yield Bound(side, at, z if (path[-1] == "low") == (side > 0) else -z)
        elif asks_small_p(clause) and 0 < at < 1:
            yield from _bounds_of_test(analysis, at * _share(judged), path, up)
    elif (
        isinstance(clause, Excludes) and path[0] != EVERY and (z := errors_to_end(analysis, path)) is not None
    ):
        at = float(clause.value.exact())
        yield Bound(1 if truth >= at else -1, at, z)
    elif isinstance(clause, Within) and path[0] in EFFECT_FIELDS and path[0] != EVERY:
        z = 0.0 if path[-1] == "delta" else errors_to_end(analysis, path)
        if z is not None:
            yield Bound(1, float(clause.low.exact()), z)
            yield Bound(-1, float(clause.high.exact()), z)
    elif isinstance(clause, Is) and clause.value:
        yield from _bounds_of_truth(analysis, path)


def _bounds_of_test(analysis: Analysis, alpha: float, path: tuple[str, ...], up: int) -> Iterator[Bound]:
    alternative, margin = analysis.text("alternative"), analysis.number("margin")
    if "p_lower" in analysis and margin is not None:
        if path == ("p_value",):
            yield from within(margin, alpha)
    elif path == ("p_value",) and alternative in ("two-sided", "greater", "less"):
        side = {"two-sided": up, "greater": 1, "less": -1}[alternative]
        yield Bound(side, 0.0, -float(special.ndtri(alpha / 2 if alternative == "two-sided" else alpha)))


def _bounds_of_truth(analysis: Analysis, path: tuple[str, ...]) -> Iterator[Bound]:
    """Yield what a test of equivalence says is true."""
    margin, z = analysis.number("margin"), errors_to_end(analysis, ("ci",))
    if z is None or margin is None:
        return
    bounds: dict[tuple[str, ...], tuple[Bound, ...]] = {
        ("equivalent",): (Bound(1, -margin, z), Bound(-1, margin, z)),
        ("noninferior",): (Bound(1, -margin, z),),
        ("superior",): (Bound(1, 0.0, z),),
        ("minimum_effect",): (Bound(1, margin, z),),
    }
    yield from bounds.get(path, ())


def _share(judged: ClauseVerdict) -> float:
    """Return what a policy leaves of a clause's level, judged by what it made of the observed p."""
    adjusted = judged.observed
    if (
        judged.unadjusted is None
        or not isinstance(adjusted, float)
        or adjusted <= 0
        or judged.unadjusted <= 0
    ):
        return 1.0
    return min(1.0, judged.unadjusted / adjusted)


def errors_to_end(analysis: Analysis, path: tuple[str, ...]) -> float | None:
    """Return how many errors lie from the estimate to an end of a two-sided normal interval; None without one."""
    interval = analysis.interval(*path)
    level = None if interval is None else interval.level
    return float(special.ndtri(0.5 + level / 2)) if level is not None and 0 < level < 1 else None
