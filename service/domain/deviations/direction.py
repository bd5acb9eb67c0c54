"""Which way a deviation pushes a claim: computed from what changed, never taken from the author.

A change is `conservative` for a claim when it makes the claim harder to reach and never easier to
reach where it is false; `aggressive` when it can make a false claim easier to reach; `neutral` when
it does neither; `unknown` when that depends on something nobody has said. Beside the four claims a
plan can make stands `null`: the sentence that no difference was found, which authors are tempted to
write when a rule fails. What is conservative for a superiority claim is often aggressive for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Literal, get_args

from service.domain.deviations import changes
from service.domain.plans.plan import Plan
from service.domain.plans.sections.hypothesis import Claim
from service.domain.rules.grammar import parse
from service.domain.rules.rule import All, Rule

Direction = Literal["conservative", "aggressive", "neutral", "unknown"]
Reported = Claim | Literal["null"]
Effect = Literal[
    "fewer_items",
    "more_items",
    "lower_delta",
    "higher_delta",
    "unknown_delta",
    "harder",
    "easier",
    "more_chances",
    "selective",
    "wider_margin",
    "narrower_margin",
    "chosen_apart",
    "chosen_on_outcomes",
    "reportable",
    "not_reportable",
    "not_known",
]

REPORTED: tuple[Reported, ...] = (*get_args(Claim), "null")
"""What may be reported of a hypothesis: its claim, or that no difference was found."""

C: Direction = "conservative"
A: Direction = "aggressive"
N: Direction = "neutral"
U: Direction = "unknown"
# superiority, non_inferiority, equivalence, minimum_effect, at_least, null
_ROWS: Mapping[Effect, tuple[Direction, ...]] = {
    "fewer_items": (C, C, C, C, C, A),
    "more_items": (N, N, N, N, N, C),
    "lower_delta": (C, C, U, C, C, A),
    "higher_delta": (A, A, U, A, A, C),
    "unknown_delta": (U, U, U, U, U, U),
    "harder": (C, C, C, C, C, A),
    "easier": (A, A, A, A, A, C),
    "more_chances": (A, A, A, A, A, C),
    "selective": (A, A, A, A, A, A),
    "wider_margin": (N, A, A, C, N, A),
    "narrower_margin": (N, C, C, A, N, C),
    "chosen_apart": (N, N, N, N, N, N),
    "chosen_on_outcomes": (A, A, A, A, A, A),
    "reportable": (A, A, A, A, A, A),
    "not_reportable": (C, C, C, C, C, C),
    "not_known": (U, U, U, U, U, U),
}
MATRIX: Mapping[Effect, Mapping[Reported, Direction]] = MappingProxyType(
    {effect: MappingProxyType(dict(zip(REPORTED, row, strict=True))) for effect, row in _ROWS.items()}
)
"""What each effect of a change does to each claim."""

_WORST: tuple[Direction, ...] = (A, U, C, N)
"""Of several effects the one that stands earliest here is the direction of the whole."""


def directions(effects: Iterable[Effect]) -> dict[Reported, Direction]:
    """Return the direction of a change with these effects, for every claim and for `null`."""
    listed = tuple(effects)
    return {
        claim: min((MATRIX[effect][claim] for effect in listed), key=_WORST.index, default=N)
        for claim in REPORTED
    }


def measure_direction(before: Fraction | None, after: Fraction | None) -> dict[Reported, Direction]:
    """Return the direction that the rows show: what leaving items out did to the candidate's gain."""
    if before is None or after is None:
        return directions(["fewer_items", "unknown_delta"])
    shift: tuple[Effect, ...] = (
        () if after == before else ("lower_delta" if after < before else "higher_delta",)
    )
    direction = directions(["fewer_items", *shift])
    nearer: Direction = A if abs(after) < abs(before) else C
    return direction | {"equivalence": nearer}


def effects(change: changes.Change, plan: Plan) -> tuple[Effect, ...]:
    """Return what a change does, as far as the change and the plan tell."""
    match change:
        case changes.SampleSize():
            population = plan.population(change.population)
            if population is not None and change.n > population.n:
                return ("more_items",)
            return ("fewer_items", *_shift(change.dropped_favour))
        case changes.ExcludedItems() | changes.ExcludedClusters():
            return ("fewer_items", *_shift(change.dropped_favour))
        case changes.MissingPolicyChange():
            return _missing(plan.missing, change.missing)
        case changes.ThresholdChange():
            return ("chosen_apart",) if change.chosen_on == "separate_split" else ("chosen_on_outcomes",)
        case changes.ArmRemoved():
            return ("selective",)
        case changes.HypothesisChange():
            return _hypothesis(change.how)
        case changes.RuleChange():
            return _rule(change, plan)
        case changes.SesoiChange():
            return _sesoi(change, plan)
        case changes.MultiplicityChange():
            return _multiplicity(
                None if plan.multiplicity is None else plan.multiplicity.policy, change.policy
            )
        case changes.StoppingChange():
            return ("more_chances",)
        case (
            changes.DisputedItems()
            | changes.EndpointChange()
            | changes.TestChange()
            | changes.JudgeChange()
            | changes.OtherChange()
        ):
            return ("not_known",)


def _shift(dropped_favour: changes.Favours | None) -> Iterator[Effect]:
    match dropped_favour:
        case "candidate":
            yield "lower_delta"
        case "baseline":
            yield "higher_delta"
        case None:
            yield "unknown_delta"


def _missing(planned: str | None, actual: str) -> tuple[Effect, ...]:
    """Under `fail` nothing can be reported; `worst_case` counts against the claim what `exclude_pair` leaves out."""
    if planned is None:
        return ("not_known",)
    if "fail" in (planned, actual):
        return ("reportable",) if planned == "fail" else ("not_reportable",)
    return ("harder",) if actual == "worst_case" else ("easier",)


def _hypothesis(how: str) -> tuple[Effect, ...]:
    if how in ("split", "added"):
        return ("more_chances",)
    return ("selective",) if how == "dropped" else ("not_known",)


def _rule(change: changes.RuleChange, plan: Plan) -> tuple[Effect, ...]:
    """A rule that asks for more clauses is harder to pass, one that asks for fewer easier."""
    hypothesis = plan.hypothesis(change.hypothesis)
    if hypothesis is None:
        return ("not_known",)
    planned, actual = _asks(parse(hypothesis.rule)), _asks(parse(change.rule))
    if planned < actual:
        return ("harder",)
    return ("easier",) if actual < planned else ("not_known",)


def _asks(rule: Rule) -> frozenset[Rule]:
    return frozenset(rule.parts) if isinstance(rule, All) else frozenset({rule})


def _sesoi(change: changes.SesoiChange, plan: Plan) -> tuple[Effect, ...]:
    planned = (plan.sesoi or {}).get(change.endpoint)
    if planned is None:
        return ("not_known",)
    return ("wider_margin",) if change.margin.exact() > planned.exact() else ("narrower_margin",)


def _multiplicity(planned: str | None, actual: str) -> tuple[Effect, ...]:
    if planned == "none":
        return ("harder",)
    return ("easier",) if actual == "none" and planned is not None else ("not_known",)
