"""Stopping rules: the locked order of items, what is in along it, and where a rule ends the collection.

Units are items, or whole clusters where the population has them. A seed that is locked with the plan
permutes a population's units. `group_sequential` looks at equal steps along that order: a look sees the
first units alone, however many others are in. `anytime_valid` may be read after every unit, and reads
as many as are in without a gap.

Where a plan was stopped follows from its rows alone, so a verdict can be computed again from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from service.domain.decision.members import holding_up
from service.domain.decision.stopping import Ints, end_of_hypothesis, end_of_test
from service.domain.plans.items.unit_order import look_units, ranks
from service.domain.plans.manifest import Manifest
from service.domain.plans.plan import GroupSequential, Plan
from service.domain.plans.sections.population import Population
from service.domain.rules.answers import Answer, JsonObject
from service.domain.rules.feeding import is_ordered
from service.domain.verdicts.analyses import analyse
from service.domain.verdicts.observed_evidence import ObservedEvidence
from service.domain.verdicts.outcomes import NOT_RECEIVED, Outcomes, Rows
from service.domain.verdicts.parts import Stopped

Mask = NDArray[np.bool_]
Units = dict[str, int]
"""Units along the order, by population."""


def is_sequential(plan: Plan) -> bool:
    """Tell whether the plan may end before its n."""
    return plan.stopping is not None and plan.stopping.kind != "fixed_n"


def looks_of(plan: Plan, population: Population) -> tuple[int, ...]:
    """Units at each planned look; none without planned looks."""
    rule = plan.stopping
    if not isinstance(rule, GroupSequential) or rule.looks is None:
        return ()
    return look_units(population, rule.looks)


def units_in(plan: Plan, manifests: Mapping[str, Manifest], cells: Mapping[str, Mask]) -> Units:
    """Return how many units are in without a gap; `cells` tells which items of a population are in everywhere."""
    units_by_population = {}
    for population in plan.populations or ():
        if not plan.arms(population.id):
            continue
        manifest = manifests[population.id]
        # The first gap along the locked order ends what counts: units after it came in before their turn.
        missing = ranks(population, manifest)[~cells[population.id]]
        units = manifest.n_clusters if population.clusters is not None else manifest.n
        units_by_population[population.id] = int(missing.min()) if len(missing) else units or manifest.n
    return units_by_population


def everywhere(outcomes: Outcomes) -> dict[str, Mask]:
    """Say which items of each population have a row in every planned cell."""
    masks: dict[str, Mask] = {}
    for (population, _, _), cell in outcomes.cells.items():
        received = np.all(cell.statuses != NOT_RECEIVED, axis=1)
        masks[population] = masks.get(population, np.ones_like(received)) & received
    return masks


def look_due(plan: Plan, units: Mapping[str, int]) -> int:
    """Return the last planned look before the end whose items are in; 0 when none is."""
    rule = plan.stopping
    if not isinstance(rule, GroupSequential) or rule.looks is None:
        return 0
    planned = [looks_of(plan, population) for population in plan.populations or () if population.id in units]
    ids = [population.id for population in plan.populations or () if population.id in units]
    # Without the last look, which is the end itself.
    reached = (sum(at <= units[name] for at in looks[:-1]) for name, looks in zip(ids, planned, strict=True))
    return min(reached, default=0)


def at_look(plan: Plan, look: int) -> Units:
    """Units that a planned look sees."""
    return {
        population.id: looks_of(plan, population)[look - 1]
        for population in plan.populations or ()
        if plan.arms(population.id)
    }


def first(rows: Rows, units: Mapping[str, int]) -> Rows:
    """Return the rows as if the collection had ended with these units."""
    judged = {
        population.id: ranks(population, rows.manifests[population.id]) < units[population.id]
        for population in rows.plan.populations or ()
        if population.id in units
    }
    return replace(rows, outcomes=replace(rows.outcomes, judged=judged))


@dataclass(frozen=True, slots=True)
class Reading:
    """What the sequential tests of a plan say of the first units."""

    units: Mapping[str, int]
    answers: Mapping[str, Mapping[str, JsonObject]]
    decided: Mapping[str, bool]
    """By hypothesis: its sequential tests have ended."""
    stop: bool
    """Every hypothesis on a primary endpoint has ended."""
    equivalent: Mapping[str, bool] = field(default_factory=dict)
    """By hypothesis that names an equivalence test: what it finds, whichever way missing results are taken."""


def read(rows: Rows, units: Mapping[str, int]) -> Reading:
    """Run the tests of a plan on the first units along its order."""
    observed = analyse(first(rows, units)).evidence
    decided = {name: bool(_end(evidence) < NEVER) for name, evidence in observed.items()}
    return Reading(
        units,
        {name: evidence.by_policy for name, evidence in observed.items()},
        decided,
        all(decided[name] for name in holding_up(rows.plan)),
        {
            name: bool(fallback.holds[0])
            for name, evidence in observed.items()
            if (fallback := evidence.fallback) is not None
        },
    )


def up_to_stop(rows: Rows) -> tuple[Rows, Stopped | None]:
    """Return the rows that count, and how the collection ended; None where the plan has one look alone.

    Raises:
        PlanViolatedError: a result is lacking that the stopping rule does not spare.
    """
    plan, outcomes, rule = rows.plan, rows.outcomes, rows.plan.stopping
    if rule is None or rule.kind == "fixed_n":
        outcomes.require_complete()
        return rows, None
    received = everywhere(outcomes)
    units = units_in(plan, rows.manifests, received)
    if isinstance(rule, GroupSequential):
        # From the first look on, whenever the verdict is computed: where a look stops, what came in after it does not
        # count.
        for look in range(1, look_due(plan, units) + 1):
            seen = at_look(plan, look)
            if read(rows, seen).stop:
                early = Stopped(kind=rule.kind, early=True, look=look, looks=rule.looks, units=seen)
                return first(rows, seen), early
        outcomes.require_complete()
        return rows, Stopped(kind=rule.kind, early=False, look=rule.looks, looks=rule.looks, units=units)
    whole = all(mask.all() for mask in received.values())
    if not whole and not read(rows, units).stop:
        outcomes.require_complete()
    ended = Stopped(kind=rule.kind, early=not whole, look=None, looks=None, units=units)
    return (rows if whole else first(rows, units)), ended


NEVER = 1
"""One reading is looked at, number 0: what has not ended there ends past it."""


def _end(evidence: ObservedEvidence) -> Ints:
    """Return the end of a hypothesis, (1,): that of every sequential test that it names, however it is filled in."""
    setting = evidence.setting
    ordered_tests = [use.id for name in setting.tests if (use := setting.plan.test(name)) and is_ordered(use)]
    return end_of_hypothesis([_test_end(evidence, name) for name in ordered_tests], _at([False])[0])


def _test_end(evidence: ObservedEvidence, test: str) -> Ints:
    answers = [Answer.of(filling.answers, test).analysis for filling in evidence.fillings]
    inside = [answer.truth("equivalent") is True for answer in answers]
    if test == evidence.setting.hypothesis.equivalence and evidence.fallback is not None:
        inside = [bool(evidence.fallback.holds[0])]
    return end_of_test(_at([answer.text("decision") == "reject" for answer in answers]), _at(inside))


def _at(ended: Sequence[bool]) -> list[Ints]:
    """Return the reading at which each of these has ended, where only the first is looked at."""
    return [np.array([0 if done else NEVER], dtype=np.int64) for done in ended]
