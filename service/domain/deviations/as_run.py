"""The verdict as run: what the locked rules say once a deviation's effect is applied to the stored rows.

The verdict as planned is never altered. Some changes can be applied to rows that were stored under
the plan: items or clusters left out, another missing or multiplicity policy, endpoint, rule or margin.
Of the others the rows are already the result, and there is nothing to recompute.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import compress

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from service.domain.decision.members import members
from service.domain.deviations.changes import (
    Change,
    EndpointChange,
    ExcludedClusters,
    ExcludedItems,
    MissingPolicyChange,
    MultiplicityChange,
    RuleChange,
    SesoiChange,
)
from service.domain.plans.manifest import Manifest
from service.domain.plans.plan import Multiplicity, Plan
from service.domain.plans.sections.hypothesis import Hypothesis
from service.domain.rules.claims.claim import good_direction
from service.domain.rules.settings import resolve
from service.domain.verdicts import joint
from service.domain.verdicts.analyses import analyse, request_for
from service.domain.verdicts.hypotheses import judge_hypotheses
from service.domain.verdicts.outcomes import Cell, Outcomes, PlanViolatedError, Rows
from service.domain.verdicts.pairs import pair_up
from service.domain.verdicts.records import ClauseVerdict, HypothesisVerdict, Outcome, Role
from service.domain.verdicts.stopping import is_sequential
from service.domain.verdicts.worst_case import why_no_worst_case
from service.errors import ForelockError
from service.records import Record
from service.stats.shared.declaring import registry

OVERHEAD = 0.002
"""Seconds that one test of one hypothesis takes beside its computation."""


class HypothesisAsRun(Record):
    """One hypothesis under the changes."""

    hypothesis: str
    role: Role = Field("primary", description="Of the endpoint it is judged by here.")
    outcome: Outcome
    outcome_planned: Outcome = Field(description="In the verdict, which stays as it is.")
    rule_holds: bool | None
    delta: float | None
    n: int
    clauses: tuple[ClauseVerdict, ...]
    reason: str | None


class AsRun(Record):
    """The verdict with some deviations applied."""

    deviations: tuple[int, ...] = Field(description="The deviations applied, by number.")
    hypotheses: tuple[HypothesisAsRun, ...]


def why_not(plan: Plan, change: Change) -> str | None:
    """Say why a change cannot be applied to the stored rows; None when it can."""
    match change:
        case ExcludedItems() | ExcludedClusters() if is_sequential(plan):
            return "the stopping rule looks along a locked order, which without these items is another one"
        case ExcludedItems() | ExcludedClusters() | RuleChange() | SesoiChange() | MultiplicityChange():
            return None
        case MissingPolicyChange():
            reasons = map(why_no_worst_case, resolve(plan).settings)
            return next(filter(None, reasons), None) if change.missing == "worst_case" else None
        case EndpointChange():
            hypothesis = plan.hypothesis(change.hypothesis)
            measured = plan.endpoints_of(hypothesis.population) if hypothesis else ()
            if any(endpoint.id == change.endpoint for endpoint in measured):
                return None
            return f"no results of the endpoint '{change.endpoint}' were planned, so none are stored"
        case _:
            return "the stored rows were made under this change, or nothing in them shows it"


def apply(rows: Rows, changes: Iterable[Change]) -> Rows:
    """Return the rows and the plan as they are under all these changes; what cannot be applied is passed over."""
    plan, left_out = rows.plan, dict[str, NDArray[np.bool_]]()
    for change in changes:
        if why_not(rows.plan, change) is not None:
            continue
        if isinstance(change, ExcludedItems | ExcludedClusters):
            gone = find_excluded(change, rows.manifests[change.population])
            left_out[change.population] = left_out.get(change.population, np.zeros_like(gone)) | gone
        else:
            plan = _apply_change(plan, change)
    rows = replace(rows, resolved=resolve(plan))
    for population, gone in left_out.items():
        rows = _keep(rows, population, ~gone)
    return rows


def find_excluded(change: ExcludedItems | ExcludedClusters, manifest: Manifest) -> NDArray[np.bool_]:
    """Tell which of the manifest's items a change leaves out, shape (items,)."""
    if isinstance(change, ExcludedItems):
        return mask_items(change.item_ids, manifest)
    if manifest.clusters is None:
        return np.zeros(manifest.n, dtype=np.bool_)
    clusters = set(change.clusters)
    return np.array([cluster in clusters for cluster in manifest.clusters], dtype=np.bool_)


def mask_items(item_ids: Iterable[str], manifest: Manifest) -> NDArray[np.bool_]:
    """Tell which of the manifest's items have one of these ids, shape (items,); others are passed over."""
    mask = np.zeros(manifest.n, dtype=np.bool_)
    mask[[manifest.positions[item_id] for item_id in item_ids if item_id in manifest.positions]] = True
    return mask


def verdicts_of(rows: Rows) -> dict[str, HypothesisVerdict]:
    """Return every hypothesis judged on these rows, by id."""
    return {verdict.id: verdict for verdict in judge_hypotheses(rows, analyse(rows))}


def as_run(rows: Rows, deviations: Mapping[int, Change], planned: Mapping[str, Outcome]) -> AsRun:
    """Return the verdict with these deviations applied, beside the outcomes of the verdict as planned."""
    applied = {number: change for number, change in deviations.items() if why_not(rows.plan, change) is None}
    verdicts = verdicts_of(apply(rows, applied.values()))
    return AsRun(
        deviations=tuple(applied),
        hypotheses=tuple(
            HypothesisAsRun(
                hypothesis=name,
                role=verdict.role,
                outcome=verdict.outcome,
                outcome_planned=planned.get(name, verdict.outcome),
                rule_holds=verdict.rule_holds,
                delta=verdict.delta,
                n=verdict.n,
                clauses=verdict.clauses,
                reason=verdict.reason,
            )
            for name, verdict in verdicts.items()
        ),
    )


def gain_of(rows: Rows, hypothesis: Hypothesis) -> Fraction | None:
    """Return how much better the candidate was, whichever way the endpoint is better; None without a difference."""
    setting = rows.resolved.of(hypothesis.id)
    try:
        paired = None if setting is None else pair_up(setting, rows)
    except PlanViolatedError:
        return None
    if paired is None or paired.delta is None:
        return None
    return paired.delta * good_direction(paired.endpoint)


def seconds(rows: Rows, hypotheses: Iterable[Hypothesis] | None = None) -> float:
    """Return about how long one judgement of these hypotheses takes, from the costs that their tests state."""
    total = joint.seconds(
        rows.plan, max((population.n for population in rows.plan.populations or ()), default=0)
    )
    names = None if hypotheses is None else {hypothesis.id for hypothesis in hypotheses}
    for setting in rows.resolved.settings:
        hypothesis = setting.hypothesis
        if names is not None and hypothesis.id not in names:
            continue
        try:
            paired = pair_up(setting, rows)
        except PlanViolatedError:
            continue
        both_ways = paired.excluded.filled > 0
        for name in setting.tests:
            again = both_ways and (hypothesis.claim == "equivalence" or name == hypothesis.equivalence)
            total += OVERHEAD + paired.n * 2e-7
            use = rows.plan.test(name)
            if use is None or paired.n == 0:
                continue
            try:
                test = registry.find(use.test, use.version)
                total += (1 + again) * test.cost(request_for(rows.plan, test, use, paired))
            except (ForelockError, ValueError):  # a test that refuses costs nothing
                continue
    return total


def _apply_change(plan: Plan, change: Change) -> Plan:
    """Return the plan with one change; as it is where the rows are already the change's result."""
    match change:
        case MissingPolicyChange():
            return plan.model_copy(update={"missing": change.missing})
        case MultiplicityChange():
            planned = plan.multiplicity or Multiplicity(policy="none")
            return plan.model_copy(
                update={"multiplicity": planned.model_copy(update={"policy": change.policy})}
            )
        case EndpointChange():
            return _with(with_its_family(plan), change.hypothesis, {"endpoint": change.endpoint})
        case RuleChange():
            return _with(plan, change.hypothesis, {"rule": change.rule})
        case SesoiChange():
            return plan.model_copy(update={"sesoi": {**(plan.sesoi or {}), change.endpoint: change.margin}})
        case _:
            return plan


def with_its_family(plan: Plan) -> Plan:
    """Return the plan with its family spelled out, as locked, when hypotheses go to endpoints of another role."""
    policy = plan.multiplicity
    family = None if policy is None else policy.model_copy(update={"family": members(plan)})
    return plan.model_copy(update={"multiplicity": family})


def _with(plan: Plan, hypothesis: str, update: Mapping[str, str]) -> Plan:
    hypotheses = tuple(
        one.model_copy(update=update) if one.id == hypothesis else one for one in plan.hypotheses or ()
    )
    return plan.model_copy(update={"hypotheses": hypotheses})


def _keep(rows: Rows, population: str, keep: NDArray[np.bool_]) -> Rows:
    """Return the rows with only some items of a population: plan, manifest and cells shrink together."""
    selectors = keep.tolist()
    manifest = rows.manifests[population]
    shrunk = Manifest(
        *(
            None if column is None else tuple(compress(column, selectors))
            for column in (manifest.item_ids, manifest.clusters, manifest.strata)
        )  # type: ignore[arg-type]
    )
    populations = tuple(
        one.of_items(shrunk.n, shrunk.n_clusters) if one.id == population else one
        for one in rows.plan.populations or ()
    )
    cells = {
        key: Cell(cell.values[keep], cell.statuses[keep]) if key[0] == population else cell
        for key, cell in rows.outcomes.cells.items()
    }
    return replace(
        rows,
        resolved=resolve(rows.plan.model_copy(update={"populations": populations})),
        manifests={**rows.manifests, population: shrunk},
        outcomes=Outcomes(cells),
    )
