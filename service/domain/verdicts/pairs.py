"""The pairs of a hypothesis: both arms on the same items, one value each, under the plan's policies.

An item is usable when every replicate of both arms is `ok`. Under the missing policy `fail` one
that is not makes the hypothesis invalid; under `exclude_pair` it is left out of both arms; under
`worst_case` it stays, and what is not ok takes the value that hurts the claim most.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from service.domain.exact_sums import exact_sum
from service.domain.plans.items.suite_items import Tasks, manifest_of
from service.domain.plans.manifest import Manifest
from service.domain.plans.plan import MissingPolicy
from service.domain.plans.sections.endpoint import Endpoint
from service.domain.plans.sections.labels import SUFFIX
from service.domain.plans.sections.population import Population
from service.domain.rules.labelled import asks_labels
from service.domain.rules.settings import Setting
from service.domain.verdicts.mean_difference import collapse, mean_difference
from service.domain.verdicts.outcomes import (
    ERROR,
    LEFT_OUT,
    MISSING,
    NOT_DRAWN,
    NOT_RECEIVED,
    OK,
    Cell,
    Outcomes,
    PlanViolatedError,
    Rows,
)
from service.domain.verdicts.worst_case import Way, against, extremes, fill, why_no_worst_case
from service.records import Record
from service.words import say

Pair = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Of the baseline and of the candidate."""
Parts = list[tuple[str, int]]
"""The population, or every task of a suite, with its number of items."""


class StatusCounts(Record):
    """Results of one arm that are not `ok`."""

    error: int = 0
    missing: int = 0
    not_received: int = 0

    @classmethod
    def of(cls, cell: Cell) -> StatusCounts:
        """Return how many of an arm's results have each of these statuses."""
        return cls(
            error=int(np.count_nonzero(cell.statuses == ERROR)),
            missing=int(np.count_nonzero(cell.statuses == MISSING)),
            not_received=int(np.count_nonzero(cell.statuses == NOT_RECEIVED)),
        )


class Excluded(Record):
    """What the missing policy left out or filled in, and why."""

    pairs: int = Field(0, description="Items left out of both arms.")
    filled: int = Field(
        0, description="Items that stay in with a worst-case value; under `worst_case` alone."
    )
    baseline: StatusCounts = StatusCounts()
    candidate: StatusCounts = StatusCounts()


@dataclass(frozen=True, slots=True, eq=False)
class Paired:
    """Two arms on the same items, one value each; `kept` marks these among the manifest's items.

    Of one arm the baseline is its reference, on every item alike.
    """

    population: Population
    endpoint: Endpoint
    manifest: Manifest
    baseline: NDArray[np.float64] = field(repr=False)
    candidate: NDArray[np.float64] = field(repr=False)
    rows: Pair = field(repr=False)
    """Both arms before replicates collapse, shape (items, replicates)."""
    kept: NDArray[np.bool_] = field(repr=False)
    delta: Fraction | None = field(repr=False)
    """Candidate minus baseline, exactly; None without items."""
    excluded: Excluded = field(repr=False)
    reference: Fraction | None = None
    """What one arm is held against; None where two are compared."""
    tasks: Tasks | None = None
    """Of a suite: which task every item is of. Columns are as they were posted, `delta` is under weights and scales."""
    labels: Pair | None = field(default=None, repr=False)
    """People's labels of the baseline's and of the candidate's items, (n,) each, NaN where nobody was asked; None: no
    test takes any."""

    @property
    def n(self) -> int:
        """The number of items, each with one value in both arms."""
        return len(self.baseline)


def pair_up(setting: Setting, rows: Rows, way: Way | None = None) -> Paired:
    """Return the pairs a hypothesis is judged on.

    Args:
        way: how `worst_case` takes what is not ok; None: against the claim, and for a claim of
            equivalence the way with the larger difference of both.

    Raises:
        PlanViolatedError: the manifest is another one, a cell is absent or of the wrong size, a value
            cannot belong to the endpoint, the plan says `fail` and a result is not `ok`, or it says
            `worst_case` and does not tell which value that is.
    """
    population, endpoint, manifest = _require_described(setting, rows.manifests)
    plan, hypothesis, outcomes = setting.plan, setting.hypothesis, rows.outcomes
    parts = [(task, rows.manifests[task].n) for task in plan.tasks(population.id)]
    counting = np.concatenate([outcomes.counting(task, n) for task, n in parts])
    cells = [_read_cell(outcomes, parts, arm, endpoint, counting, plan.missing) for arm in hypothesis.arms]
    baseline, candidate = cells[0], cells[-1]
    if hypothesis.baseline is None:
        # In the place of another arm, where there is one alone, stand zeros that are all in.
        baseline = Cell(np.zeros_like(candidate.values), np.full_like(candidate.statuses, OK))
    labels = _read_labels(setting, outcomes, population, counting) if asks_labels(setting) else None
    usable = np.all(baseline.statuses == OK, axis=1) & np.all(candidate.statuses == OK, axis=1)
    left_out = np.any((baseline.statuses == LEFT_OUT) | (candidate.statuses == LEFT_OUT), axis=1)
    judged_on = ~left_out if plan.missing == "worst_case" else usable
    if labels is not None:
        judged_on = judged_on & ~labels.lacking
    # `judged_on` is over the items that count, `kept` over all of the manifest.
    kept = counting.copy()
    kept[counting] = judged_on
    tasks = None if setting.suite is None else Tasks.of(plan, setting.suite, manifest.strata or (), kept)
    # Copies, by the mask: these columns go to tests and deviations, and what is stored stays as it is.
    before, after = baseline.values[judged_on], candidate.values[judged_on]
    if not usable[judged_on].all():  # under `worst_case` alone: else only usable items are left
        arms = baseline.of(judged_on), candidate.of(judged_on)
        before, after = _fill_worst(setting, endpoint, arms, way, tasks)
    reference = setting.reference
    held_against = None if reference is None else np.full(len(before), float(reference))
    return Paired(
        population=population,
        endpoint=endpoint,
        manifest=manifest,
        baseline=collapse(before, endpoint) if held_against is None else held_against,
        candidate=collapse(after, endpoint),
        rows=(before, after),
        kept=kept,
        delta=mean_difference(before, after, endpoint, tasks, reference),
        excluded=Excluded(
            pairs=int(np.count_nonzero(~judged_on)),
            filled=int(np.count_nonzero(judged_on & ~usable)),
            baseline=StatusCounts.of(baseline),
            candidate=StatusCounts.of(candidate),
        ),
        reference=reference,
        tasks=tasks,
        labels=None if labels is None else (labels.values[0][judged_on], labels.values[1][judged_on]),
    )


@dataclass(frozen=True, slots=True)
class _Labels:
    """What people said of both arms' items, NaN where nobody was asked; and which of those asked lack a label.

    Of one arm both are its own.
    """

    values: Pair = field(repr=False)
    lacking: NDArray[np.bool_]


def _read_labels(
    setting: Setting, outcomes: Outcomes, population: Population, counting: NDArray[np.bool_]
) -> _Labels:
    """People's labels of the drawn items, under the plan's missing policy: an item without one is left out.

    Raises:
        PlanViolatedError: as `pair_up`, of the labels.
    """
    hypothesis, missing = setting.hypothesis, setting.plan.missing
    audit = setting.plan.endpoint(hypothesis.endpoint + SUFFIX)
    if audit is None:
        raise PlanViolatedError(say("reasons.undescribed"))
    parts = [(population.id, len(counting))]
    # A label has no worst value: where results would take theirs, an item without a label is left out.
    policy = "exclude_pair" if missing == "worst_case" else missing
    cells = [_read_cell(outcomes, parts, arm, audit, counting, policy) for arm in hypothesis.arms]
    statuses = np.hstack([cell.statuses[:, :1] for cell in cells])
    asked = np.any(statuses != NOT_DRAWN, axis=1)
    whole = np.all(statuses == OK, axis=1)
    before, after = (np.where(whole, cell.values[:, 0], np.nan) for cell in (cells[0], cells[-1]))
    return _Labels((before, after), asked & ~whole)


def _fill_worst(
    setting: Setting, endpoint: Endpoint, arms: tuple[Cell, Cell], way: Way | None, tasks: Tasks | None
) -> Pair:
    """Return both arms with the worst value for what is not ok."""
    ends, why = extremes(endpoint), why_no_worst_case(setting)
    if ends is None or why is not None:
        raise PlanViolatedError(say("reasons.no_worst_case", why=str(why)))
    baseline, candidate = arms
    ok = (baseline.statuses == OK, candidate.statuses == OK)
    ways = against(setting) if way is None else (way,)
    filled = [fill(baseline.values, candidate.values, ok, way=way, ends=ends) for way in ways]
    # For equivalence both ways are against the claim: the larger difference is the harder one, compared without
    # rounding.
    if tasks is None:
        return max(filled, key=lambda pair: abs(exact_sum(pair[1]) - exact_sum(pair[0])))
    return max(
        filled, key=lambda pair: abs(mean_difference(pair[0], pair[1], endpoint, tasks) or Fraction(0))
    )


def _require_described(
    setting: Setting, manifests: Mapping[str, Manifest]
) -> tuple[Population, Endpoint, Manifest]:
    """Return a hypothesis' population, endpoint and manifest, and refuse manifests that are not the plan's."""
    population, endpoint = setting.population, setting.endpoint
    plan = setting.plan
    manifest = manifest_of(plan, setting.hypothesis.population, manifests)
    if population is None or endpoint is None or manifest is None:
        raise PlanViolatedError(say("reasons.undescribed"))
    for task in map(plan.population, plan.tasks(population.id)):
        if task is not None and task.items_sha256 not in (None, manifests[task.id].sha256()):
            raise PlanViolatedError(say("reasons.another_manifest", population=task.id))
    return population, endpoint, manifest


def _read_cell(
    outcomes: Outcomes,
    parts: Parts,
    arm: str,
    endpoint: Endpoint,
    counting: NDArray[np.bool_],
    missing: MissingPolicy | None,
) -> Cell:
    """Return the results of an arm on the items that count, of a suite task after task, as the plan allows for gaps."""
    cells = []
    for task, n_items in parts:
        cell, shape = outcomes.cells.get((task, arm, endpoint.id)), (n_items, endpoint.replicates)
        if cell is None:
            raise PlanViolatedError(say("reasons.no_results", arm=arm, endpoint=endpoint.id, population=task))
        if cell.values.shape != shape or cell.statuses.shape != shape:
            raise PlanViolatedError(
                say(
                    "reasons.other_shape",
                    arm=arm,
                    endpoint=endpoint.id,
                    population=task,
                    items=n_items,
                    replicates=endpoint.replicates,
                )
            )
        cells.append(cell)
    whole = cells[0]
    if len(cells) > 1:
        values, statuses = [cell.values for cell in cells], [cell.statuses for cell in cells]
        whole = Cell(np.concatenate(values), np.concatenate(statuses))
    counted = whole.of(counting)
    if missing == "fail":
        _refuse_any((counted.statuses != OK) & (counted.statuses != NOT_DRAWN), "reasons.not_ok", arm)
    if missing != "worst_case":  # whoever holds them could have chosen which to post
        _refuse_any(counted.statuses == NOT_RECEIVED, "reasons.never_posted", arm)
    _check_values(counted, endpoint, arm)
    return counted


def _refuse_any(these: NDArray[np.bool_], reason: str, arm: str) -> None:
    """Refuse results of an arm that the plan does not allow for."""
    if count := int(np.count_nonzero(these)):
        raise PlanViolatedError(say(reason, count=count, arm=arm))


def _check_values(cell: Cell, endpoint: Endpoint, arm: str) -> None:
    """Refuse values of an arm that its endpoint cannot have."""
    values = cell.values[cell.statuses == OK]
    if not np.all(np.isfinite(values)):
        raise PlanViolatedError(say("reasons.not_finite", arm=arm))
    if endpoint.kind == "binary" and not np.all((values == 0) | (values == 1)):
        raise PlanViolatedError(say("reasons.not_binary", arm=arm, endpoint=endpoint.id))
    if endpoint.positive and not np.all(values > 0):
        raise PlanViolatedError(say("reasons.not_positive", arm=arm, endpoint=endpoint.id))
    ends = endpoint.bounds
    if ends is not None and not np.all((values >= ends.low) & (values <= ends.high)):
        raise PlanViolatedError(say("reasons.out_of_bounds", arm=arm, endpoint=endpoint.id))
