"""The family's p-values under `max_t`: step-down max-T over one random sign for every item, or cluster of items.

All members are mean differences on the same items, and a sign turns all of an item's differences around at once, so
what the endpoints share is kept: alike endpoints cost little more than one. A member's own p-value is that of its
sign-flip test. Where the members share no signs (results that break the plan, a change after the lock), Holm's
method takes their place, which holds under any dependence; lint refuses a plan whose members never could.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, JsonValue

from service.domain.decision.evidence import Floats
from service.domain.decision.members import members, p_clauses
from service.domain.plans.plan import Plan
from service.domain.rules.feeding import parameter, takes_clusters
from service.domain.rules.rule import Comparison
from service.domain.rules.settings import Setting, Use
from service.domain.verdicts.outcomes import PlanViolatedError, Rows
from service.domain.verdicts.pairs import Paired, pair_up
from service.kernels.numeric.clusters import codes_of
from service.kernels.numeric.streams import block_count
from service.kernels.randomization.joint_flips import joint_of, step_down
from service.records import Record
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.certainty import of_share
from service.stats.shared.declaring.registry import StatTest
from service.stats.shared.methods.resampling import DEFAULT_DRAWS, DEFAULT_SEED, MOST_DRAWS
from service.words import say

MOST_SIGNS = 4 * 10**9
"""Signs drawn at most, units times draws, for more than the usual number of draws."""

SIDES = {"two-sided": 0, "greater": 1, "less": -1}


class SharedSigns(Record):
    """How `max_t` came to its p-values."""

    units: Literal["items", "clusters"] | None = Field(description="What has one sign; null: nothing shared.")
    exact: bool = Field(description="Every pattern of signs was weighed; false: drawn, or not shared.")
    draws: int | None = Field(None, description="Patterns drawn; null: none.")
    reason: str | None = Field(
        None, description="Why the members share no signs; Holm's method adjusted instead."
    )


@dataclass(frozen=True, slots=True, eq=False)
class JointFamily:
    """The members' p-values by their shared signs."""

    shared: SharedSigns
    adjusted: Floats | None = None
    """Shape (3, 1, m) in the order of the family: the p-values, the least and the most that drawn ones may be; None
    where the members share no signs."""


def flips(use: Use, setting: Setting) -> bool:
    """True for a test whose p-value is by one sign for every item, or every cluster where the population has them."""
    plan = use.test.plan
    if use.beside:  # signs of another endpoint's differences
        return False
    if plan is None or setting.population is None or not plan.flips_signs(partial(parameter, use.use)):
        return False
    return takes_clusters(use.test, setting.population) or setting.population.clusters is None


def side_of(use: Use) -> str:
    """Return the alternative of a test."""
    return str(parameter(use.use, "alternative") or "two-sided")


def member_uses(setting: Setting) -> Iterator[tuple[str, Use | None]]:
    """Yield the tests whose small p-values a member's rule asks for, by id; None for one that is not registered."""
    for clause in p_clauses(setting):
        name = clause.field.test or ""
        yield name, setting.uses.get(name)


def joint_family(rows: Rows) -> JointFamily:
    """Return the family of a plan whose policy is `max_t`."""
    plan = rows.plan
    family = [setting for name in members(plan) if (setting := rows.resolved.of(name)) is not None]
    reason = _why_apart(plan, family)
    if reason is not None:
        return _apart(reason)
    paired: list[Paired] = []
    for setting in family:
        try:
            paired.append(pair_up(setting, rows))
        except PlanViolatedError:
            return _apart(say("multiplicity.results_break_plan", hypothesis=setting.hypothesis.id))
    return _flip_together(family, paired)


def seconds(plan: Plan, n: int) -> float:
    """About how long the shared signs of n items take."""
    policy = None if plan.multiplicity is None else plan.multiplicity.policy
    many = len(members(plan))
    return 0.05 + 3e-9 * DEFAULT_DRAWS * n * many / 3 if policy == "max_t" and many > 1 else 0.0


def _why_apart(plan: Plan, family: list[Setting]) -> str | None:
    """Say why the members share no signs; None where they do."""
    if len(family) < len(members(plan)) or not family:
        return say("multiplicity.unknown_member")
    if plan.stopping is not None and plan.stopping.kind != "fixed_n":
        return say("multiplicity.looks_before_end")
    if len({setting.hypothesis.population for setting in family}) > 1:
        return say("multiplicity.different_items")
    uses_by_member = [list(member_uses(setting)) for setting in family]
    if not all(uses_by_member) or any(setting.hypothesis.claim == "equivalence" for setting in family):
        return say("multiplicity.no_p_value")
    for setting, uses in zip(family, uses_by_member, strict=True):
        if any(use is None or not flips(use, setting) for _, use in uses):
            return say(f"multiplicity.not_signs_of_{_units(setting)}", hypothesis=setting.hypothesis.id)
    sides = {side_of(use) == "two-sided" for uses in uses_by_member for _, use in uses if use is not None}
    return say("multiplicity.different_sides") if len(sides) > 1 else None


def _units(setting: Setting) -> Literal["items", "clusters"]:
    return "clusters" if setting.clustered else "items"


def _apart(reason: str) -> JointFamily:
    return JointFamily(SharedSigns(units=None, exact=False, reason=reason))


def _flip_together(family: list[Setting], paired: list[Paired]) -> JointFamily:
    """Adjust the family's p by step-down max-T, with `MOST_DRAWS` of signs where fewer leave a decision open."""
    sides = np.array([SIDES[side_of(_first(setting))] for setting in family], dtype=np.int64)
    joint = joint_of(_sums(paired))
    units = _units(family[0])
    if joint.exact or len(family) == 1:
        # one member's p is its own test's, which needs no draws
        exact = step_down(joint, sides) if len(family) > 1 else np.zeros(1)
        return JointFamily(SharedSigns(units=units, exact=True), np.array([[exact]] * 3))
    draws = DEFAULT_DRAWS
    ranges = _ranges(adjusted := step_down(joint, sides, DEFAULT_SEED, range(block_count(draws))), draws)
    # The seed stays, so the larger number begins with the draws that were made.
    if _open(family, ranges) and int(joint.copies.sum()) * MOST_DRAWS <= MOST_SIGNS:
        draws = MOST_DRAWS
        adjusted = step_down(joint, sides, DEFAULT_SEED, range(block_count(draws)))
        ranges = _ranges(adjusted, draws)
    shared = SharedSigns(units=units, exact=False, draws=draws)
    return JointFamily(shared, np.array([[adjusted], *([column] for column in zip(*ranges, strict=True))]))


def _first(setting: Setting) -> Use:
    return next(use for _, use in member_uses(setting) if use is not None)


def _sums(paired: list[Paired]) -> NDArray[np.float64]:
    """Differences summed by item or cluster, (G, m); 0 where a member leaves the item out."""
    population, manifest = paired[0].population, paired[0].manifest
    differences = np.zeros((manifest.n, len(paired)))
    for at, pair in enumerate(paired):
        differences[pair.kept, at] = pair.candidate - pair.baseline
    if population.clusters is None or manifest.clusters is None:
        return differences
    codes = codes_of(manifest.clusters)
    return np.stack([np.bincount(codes, weights=column) for column in differences.T], axis=1)


def _ranges(adjusted: NDArray[np.float64], draws: int) -> list[tuple[float, float]]:
    return [of_share(float(p), draws) for p in adjusted]


def _open(family: list[Setting], ranges: list[tuple[float, float]]) -> bool:
    """Tell whether a clause hangs on the draws."""
    for setting, (least, most) in zip(family, ranges, strict=True):
        for clause in p_clauses(setting):
            if isinstance(clause, Comparison) and least <= float(clause.value.exact()) <= most:
                return True
    return False


def sign_tests() -> tuple[str, ...]:
    """Tests that may be members, by their default settings, as a sentence names them."""
    return tuple(name for name, test in registry.latest().items() if _flips_by_default(test))


def _flips_by_default(test: StatTest[Any, Any]) -> bool:
    def default(name: str) -> JsonValue:
        info = test.request.model_fields.get(name)
        return None if info is None or info.is_required() else info.get_default(call_default_factory=False)

    return test.plan is not None and test.plan.flips_signs(default)
