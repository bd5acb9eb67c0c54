"""Whether a rule that holds bears out its claim with the difference that was observed.

Lint sees to that before the lock; plans locked by earlier versions are seen to here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Literal, cast

from service.domain.plans.plan import Hypothesis, Plan
from service.domain.rules.claims.assertion import Facts, Limit, States, states_seen
from service.domain.rules.claims.claim import TIE, Gap, Target
from service.domain.rules.claims.clauses import Reader, meaning_of, weighs_clusters
from service.domain.rules.claims.words import claimed, in_unit
from service.domain.rules.fields import observe
from service.domain.rules.grammar import parse
from service.domain.rules.rule import Clause, Comparison, Excludes, Rule
from service.domain.rules.settings import Setting, settings
from service.domain.rules.truth import Ends, Truth
from service.domain.verdicts.analyses import JsonObject
from service.domain.verdicts.records import HypothesisVerdict
from service.stats.shared.declaring.shows import PValue
from service.words import say


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Why a rule holds and its claim does not follow."""

    outcome: Literal["not_supported", "inconclusive"]
    reason: str


def shortfall(
    plan: Plan,
    hypothesis: Hypothesis,
    truths: Mapping[Clause, Truth],
    delta: Fraction | None,
    answers: Mapping[str, JsonObject],
) -> Shortfall | None:
    """Of a rule that holds; None where the claim follows from it and the observed difference."""
    setting = next((setting for setting in settings(plan) if setting.hypothesis.id == hypothesis.id), None)
    if setting is None or setting.rule is None or setting.endpoint is None or delta is None:
        return None
    target, endpoint = Target.of(plan, hypothesis), setting.endpoint
    observed = _own_estimate(setting, delta, answers)
    sides = _sides(setting, answers)
    missed = lacking(target, setting.rule, Reader.of(plan, setting), truths, observed, sides)
    if missed == "opposite":
        return Shortfall("not_supported", say("reasons.opposite"))
    if missed == "size":
        size = in_unit("reasons.size", endpoint, size=target.good * (target.size or Fraction(0)))
        return Shortfall("not_supported", size)
    if missed == "direction":
        return Shortfall("not_supported", say("reasons.wrong_direction"))
    if missed == "bound":
        return Shortfall(
            "inconclusive", say("reasons.nothing_shows", claimed=claimed(target, hypothesis, endpoint))
        )
    return None


def size_unshown(plan: Plan, found: HypothesisVerdict) -> float | None:
    """The size that the statement of a supported hypothesis names, where what holds does not show it; with its sign."""
    hypothesis = plan.hypothesis(found.id)
    setting = next((setting for setting in settings(plan) if setting.hypothesis.id == found.id), None)
    if hypothesis is None or setting is None or setting.rule is None or found.delta_exact is None:
        return None
    target = Target.of(plan, hypothesis)
    if found.outcome != "supported" or target.size is None:
        return None
    truths: dict[Clause, Truth] = {
        cast("Clause", parse(clause.text)): clause.holds for clause in found.clauses
    }
    sides = _sides(setting, found.analyses)
    observed = _own_estimate(setting, Fraction(found.delta_exact), found.analyses)
    facts = _known(setting.rule, Reader.of(plan, setting), truths, observed, sides)
    return None if target.shows_size(facts) else float(target.good * target.size)


def lacking(
    target: Target,
    rule: Rule,
    reader: Reader,
    truths: Mapping[Clause, Truth],
    observed: Fraction,
    sides: Mapping[Clause, int | None],
) -> Gap | None:
    """What a rule that holds lacks for its claim, from the truths of its clauses and the observed difference.

    `sides` tells of intervals that exclude a value, and of two-sided tests, whether they lie above (1) or below (-1);
    0 of a test that speaks for both, and so for neither.
    """
    facts = _known(rule, reader, truths, observed, sides)
    missed = target.missed(observed, facts)
    if missed is not None:
        return missed
    if target.claim == "superiority":
        return None if facts.says_something else "bound"
    gap = target.gap(facts.meet(Facts(Limit(observed, False), Limit(observed, False))))
    return gap if gap == "bound" else None


def _known(
    rule: Rule,
    reader: Reader,
    truths: Mapping[Clause, Truth],
    observed: Fraction,
    sides: Mapping[Clause, int | None],
) -> Facts:
    """What all clauses that hold show together; a way that the observed values rule out is dropped."""

    # by field: under a `not` it is the turned clause that is looked at
    leans = {clause.field: side for clause, side in sides.items() if not isinstance(clause, Excludes)}

    def seen(clause: Clause) -> States:
        ways = reader(clause)
        side = sides.get(clause) if isinstance(clause, Excludes) else leans.get(clause.field)
        if len(ways) > 1 and side is not None:
            kept = [way for way in ways if side == 0 or all(each.side == side for each in way.shown)]
            if not isinstance(clause, Excludes):
                # its own side counts, not that of the observed difference, and of neither side both do
                return (Facts(shown=frozenset(each for way in kept for each in way.shown)),)
            ways = tuple(kept)
        near = [way for way in ways if not _far(way, observed)]
        return tuple(near) or ways

    ways = states_seen(rule, seen, truths)
    return reduce(Facts.join, ways) if ways else Facts()


def _far(facts: Facts, observed: Fraction) -> bool:
    """True when the observed difference lies clearly outside the limits of a state."""
    below = facts.low is not None and observed < facts.low.at - TIE
    above = facts.high is not None and observed > facts.high.at + TIE
    return below or above


def _sides(setting: Setting, answers: Mapping[str, JsonObject]) -> dict[Clause, int | None]:
    intervals = {
        clause: _side_of(clause, answers) for clause in setting.clauses if isinstance(clause, Excludes)
    }
    return intervals | dict(_leans(setting, answers))


def _leans(setting: Setting, answers: Mapping[str, JsonObject]) -> Iterator[tuple[Clause, int | None]]:
    """On which side of 0 a two-sided p-value is small, where the observed difference does not tell."""
    for clause in setting.clauses:
        use = setting.use_of(clause)
        if use is None or not isinstance(clause, Comparison):
            continue
        meaning = meaning_of(use, clause.field.path)[0]
        if isinstance(meaning, PValue) and meaning.lean is not None:
            value = observe(answers.get(use.use.id, {}), meaning.lean).value
            yield clause, (value > 0) - (value < 0) if isinstance(value, int | float) else None


def _side_of(clause: Excludes, answers: Mapping[str, JsonObject]) -> int | None:
    """Whether an interval that excludes a value lies above (1) or below it (-1)."""
    ends = observe(answers.get(clause.field.test or "", {}), clause.field.path).value
    if not isinstance(ends, Ends):
        return None
    value = float(clause.value.exact())
    return 1 if ends.low is not None and ends.low > value else -1


def _own_estimate(setting: Setting, delta: Fraction, answers: Mapping[str, JsonObject]) -> Fraction:
    """The difference that the rule speaks of: where it weighs clusters alike, that of its test."""
    for clause in setting.clauses:
        use = setting.uses.get(clause.field.test or "")
        if use is not None and weighs_clusters(use, clause):  # as `power.procedure.claim` draws it
            for path in (("estimates", "cluster_weighted"), ("delta",)):
                found = observe(answers.get(use.use.id, {}), path).value
                if isinstance(found, float):
                    return Fraction(found)
    return delta
