"""What judging reads: every planned cell, and the pairs of a hypothesis under the plan's policies.

An item is usable when every replicate of both arms is `ok`. Under the missing policy `fail` one
that is not makes the hypothesis invalid; under `exclude_pair` it is left out of both arms; under
`worst_case` it stays, and what is not ok takes the value that hurts the claim most.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from service.domain.exact_sums import exact_sum
from service.domain.plans.items.suite_items import Tasks, manifest_of
from service.domain.plans.manifest import Manifest
from service.domain.plans.plan import Plan
from service.domain.plans.sections.endpoint import Endpoint
from service.domain.plans.sections.labels import SUFFIX
from service.domain.plans.sections.population import Population
from service.domain.results.batches import PlacedBatch, expected_cells
from service.domain.results.secret_rows import NO_TIME
from service.domain.rules.labelled import asks_labels
from service.domain.rules.settings import ResolvedPlan, Setting, on_endpoint, other_endpoints
from service.domain.verdicts.validity import Mark
from service.domain.verdicts.worst_case import Way, against, extremes, favoured, fill
from service.errors import ForelockError
from service.kernels.repeats.pass_at_k import pass_at_k as any_of_k
from service.kernels.repeats.pass_at_k import pass_hat_k as all_of_k
from service.records import Record
from service.words import say

Pair = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Of the baseline and of the candidate."""
OK, ERROR, MISSING, NOT_RECEIVED = 0, 1, 2, 255
LEFT_OUT = 3
"""Of what a deviation takes out of both arms, whatever the missing policy; never stored."""
NOT_DRAWN = 4
"""Of an item that was not drawn for people to label: the plan expects no result of it; never stored."""


class PlanViolatedError(ForelockError):
    """The results are not what the plan says they are."""

    code, title = "plan_violated", "The stored results are not what the plan says they are"


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """One arm's results for one endpoint: arrays of shape (items, replicates). Its repr tells no outcome."""

    values: NDArray[np.float64] = field(repr=False)
    statuses: NDArray[np.uint8] = field(repr=False)

    def of(self, inside: NDArray[np.bool_]) -> Cell:
        """Some of the items alone."""
        return self if inside.all() else Cell(self.values[inside], self.statuses[inside])


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """The cells of a plan by (population, arm, endpoint)."""

    cells: Mapping[tuple[str, str, str], Cell]
    judged: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    """By population, shape (items,): those that count where a stopping rule ended it early; else all do."""
    closed: bool = False
    """The collection was closed before every planned result was in."""
    observed: dict[str | None, int] = field(default_factory=dict, repr=False)
    """The earliest time of a row by run, in microseconds since 1970 UTC, where rows have one."""

    def counting(self, population: str, n_items: int) -> NDArray[np.bool_]:
        """Which of a population's items are judged."""
        counted = self.judged.get(population)
        return np.ones(n_items, dtype=np.bool_) if counted is None else counted

    @classmethod
    def empty(cls, plan: Plan, *, closed: bool = False) -> Outcomes:
        """Every cell the plan expects, with nothing received."""
        cells = {}
        for expected in expected_cells(plan):
            shape, draw = (expected.n_items, expected.replicates), expected.draw
            statuses = np.full(shape, NOT_RECEIVED if draw is None else NOT_DRAWN, dtype=np.uint8)
            if draw is not None:
                statuses[draw.positions()] = NOT_RECEIVED
            cells[expected.population, expected.arm, expected.endpoint] = Cell(
                np.full(shape, np.nan), statuses
            )
        return cls(cells, closed=closed)

    def place(self, batch: PlacedBatch) -> None:
        """Fill in the rows of a batch; a cell is filled once."""
        cell, rows = self.cells[batch.head.cell], batch.rows
        # Replicates count from 1.
        column = batch.replicates.astype(np.intp) - 1
        before = cell.statuses[batch.positions, column]
        if np.any(before == NOT_DRAWN):
            raise PlanViolatedError(say("reasons.not_drawn", endpoint=batch.head.endpoint))
        if np.any(before != NOT_RECEIVED):
            raise PlanViolatedError(say("reasons.two_batches"))
        cell.values[batch.positions, column] = rows.values
        cell.statuses[batch.positions, column] = rows.statuses
        times = rows.observed_at
        if times is not None and np.any(known := times != NO_TIME):
            first = int(times[known].min())
            self.observed[batch.head.run] = min(first, self.observed.get(batch.head.run, first))

    def require_complete(self) -> None:
        """Refuse to go on while a planned result is not in, whatever the record's state says; closed ones go on."""
        if self.closed:
            return
        lacking = sum(int(np.count_nonzero(cell.statuses == NOT_RECEIVED)) for cell in self.cells.values())
        if lacking:
            raise PlanViolatedError(say("reasons.not_in", count=lacking))


@dataclass(frozen=True, slots=True)
class Rows:
    """A plan with its results in the open: all that judging starts from. Its repr tells no outcome."""

    resolved: ResolvedPlan
    manifests: Mapping[str, Manifest] = field(repr=False)
    outcomes: Outcomes = field(repr=False)
    marks: tuple[Mark, ...] = ()
    """What stands against the verdict stands against all that is computed again."""

    @property
    def plan(self) -> Plan:
        """The plan that they are judged by."""
        return self.resolved.plan


class StatusCounts(Record):
    """Results of one arm that are not `ok`."""

    error: int = 0
    missing: int = 0
    not_received: int = 0


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
    """The pairs a hypothesis is judged on.

    Args:
        way: how `worst_case` takes what is not ok; None: against the claim, and for a claim of
            equivalence the way with the larger difference of both.

    Raises:
        PlanViolatedError: the manifest is another one, a cell is absent or of the wrong size, a value
            cannot belong to the endpoint, the plan says `fail` and a result is not `ok`, or it says
            `worst_case` and does not tell which value that is.
    """
    manifests, outcomes = rows.manifests, rows.outcomes
    population, endpoint, manifest = _require_described(setting, manifests)
    # The setting's own plan: another endpoint is read from these rows under a plan of its own.
    plan, hypothesis = setting.plan, setting.hypothesis
    parts = [(task, manifests[task].n) for task in plan.tasks(population.id)]
    inside = np.concatenate([outcomes.counting(task, n) for task, n in parts])
    per_arm = [_cells(outcomes, parts, arm, endpoint).of(inside) for arm in hypothesis.arms]
    for arm, cell in zip(hypothesis.arms, per_arm, strict=True):
        lacking = int(np.count_nonzero(cell.statuses != OK))
        if lacking and plan.missing == "fail":
            raise PlanViolatedError(say("reasons.not_ok", count=lacking, arm=arm))
        unseen = int(np.count_nonzero(cell.statuses == NOT_RECEIVED))
        if unseen and plan.missing != "worst_case":  # whoever holds them could have chosen which to post
            raise PlanViolatedError(say("reasons.never_posted", count=unseen, arm=arm))
        _check_values(cell, endpoint, arm)
    # In the place of another arm, where there is one alone, stand zeros that are all in.
    candidate = per_arm[-1]
    none = Cell(np.zeros_like(candidate.values), np.full_like(candidate.statuses, OK))
    baseline = per_arm[0] if hypothesis.baseline is not None else none
    cells = (baseline, candidate)
    usable = np.all(baseline.statuses == OK, axis=1) & np.all(candidate.statuses == OK, axis=1)
    worst = plan.missing == "worst_case"
    labels = _labels(setting, outcomes, population, inside) if asks_labels(setting) else None
    left_out = np.any((baseline.statuses == LEFT_OUT) | (candidate.statuses == LEFT_OUT), axis=1)
    kept = ~left_out if worst else usable
    if labels is not None:
        kept = kept & ~labels.lacking
    among = inside.copy()
    # `kept` is over the items that count, `among` over all of the manifest.
    among[inside] = kept
    suite = setting.suite
    tasks = None if suite is None else Tasks.of(plan, suite, manifest.strata or (), among)
    before, after = (
        _worst(setting, endpoint, tuple(cell.of(kept) for cell in cells), way, tasks)
        if worst and not usable[kept].all()
        else (baseline.values[kept], candidate.values[kept])
    )
    delta = _over_tasks(before, after, endpoint, tasks, setting.reference)
    if delta is not None and setting.reference is not None:
        # The mean of one arm, as a difference from zeros, counts from its reference.
        delta -= setting.reference
    return Paired(
        population=population,
        endpoint=endpoint,
        manifest=manifest,
        baseline=collapse(before, endpoint)
        if setting.reference is None
        else np.full(len(before), float(setting.reference)),
        candidate=collapse(after, endpoint),
        rows=(before, after),
        kept=among,
        delta=delta,
        excluded=Excluded(
            pairs=int(np.count_nonzero(~kept)),
            filled=int(np.count_nonzero(kept & ~usable)),
            baseline=_counts(baseline),
            candidate=_counts(candidate),
        ),
        reference=setting.reference,
        tasks=tasks,
        labels=None if labels is None else (labels.values[0][kept], labels.values[1][kept]),
    )


@dataclass(frozen=True, slots=True)
class _Labels:
    """What people said of both arms' items, NaN where nobody was asked; and which of those asked lack a label.

    Of one arm both are its own.
    """

    values: Pair = field(repr=False)
    lacking: NDArray[np.bool_]


def _labels(
    setting: Setting, outcomes: Outcomes, population: Population, inside: NDArray[np.bool_]
) -> _Labels:
    """People's labels of the drawn items, under the plan's missing policy: an item without one is left out.

    Raises:
        PlanViolatedError: as `pair_up`, of the labels.
    """
    plan, hypothesis = setting.plan, setting.hypothesis
    audit = plan.endpoint(hypothesis.endpoint + SUFFIX)
    if audit is None:
        raise PlanViolatedError(say("reasons.undescribed"))
    shape = (len(inside), audit.replicates)
    cells = [_cell(outcomes, (population.id, arm, audit.id), shape).of(inside) for arm in hypothesis.arms]
    for arm, cell in zip(hypothesis.arms, cells, strict=True):
        lacking = int(np.count_nonzero((cell.statuses != OK) & (cell.statuses != NOT_DRAWN)))
        if lacking and plan.missing == "fail":
            raise PlanViolatedError(say("reasons.not_ok", count=lacking, arm=arm))
        unseen = int(np.count_nonzero(cell.statuses == NOT_RECEIVED))
        if unseen:  # whoever holds them could have chosen which to post
            raise PlanViolatedError(say("reasons.never_posted", count=unseen, arm=arm))
        _check_values(cell, audit, arm)
    statuses = np.hstack([cell.statuses[:, :1] for cell in cells])
    asked = np.any(statuses != NOT_DRAWN, axis=1)
    whole = np.all(statuses == OK, axis=1)
    before, after = (np.where(whole, cell.values[:, 0], np.nan) for cell in (cells[0], cells[-1]))
    return _Labels((before, after), asked & ~whole)


def pair_others(setting: Setting, rows: Rows) -> dict[str, Paired]:
    """By endpoint: the pairs of the other endpoints that the rule speaks of, each under the plan's missing policy.

    Raises:
        PlanViolatedError: as `pair_up`, of any of them.
    """
    others = other_endpoints(setting)
    return {name: pair_up(on_endpoint(setting, name), rows) for name in others}


def why_no_worst_case(setting: Setting) -> str | None:
    """Why the plan does not tell what the worst case of a hypothesis is; None when it does."""
    endpoint, hypothesis = setting.endpoint, setting.hypothesis
    if endpoint is not None and extremes(endpoint) is None:
        return say("reasons.no_bounds", endpoint=endpoint.id)
    if hypothesis.claim != "equivalence" and favoured(setting) is None:
        return say("reasons.no_favoured_arm", hypothesis=hypothesis.id)
    return None


def _worst(
    setting: Setting, endpoint: Endpoint, cells: tuple[Cell, ...], way: Way | None, tasks: Tasks | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both arms with the worst value for what is not ok."""
    ends, why = extremes(endpoint), why_no_worst_case(setting)
    if ends is None or why is not None:
        raise PlanViolatedError(say("reasons.no_worst_case", why=str(why)))
    baseline, candidate = cells
    ok = (baseline.statuses == OK, candidate.statuses == OK)
    ways = against(setting) if way is None else (way,)
    filled = [fill(baseline.values, candidate.values, ok, way=way, ends=ends) for way in ways]
    # For equivalence both ways are against the claim: the larger difference is the harder one, compared without
    # rounding.
    if tasks is None:
        return max(filled, key=lambda arms: abs(exact_sum(arms[1]) - exact_sum(arms[0])))
    far = [abs(_over_tasks(before, after, endpoint, tasks, None) or Fraction(0)) for before, after in filled]
    return filled[far.index(max(far))]


def _require_described(
    setting: Setting, manifests: Mapping[str, Manifest]
) -> tuple[Population, Endpoint, Manifest]:
    population, endpoint = setting.population, setting.endpoint
    plan = setting.plan
    manifest = manifest_of(plan, setting.hypothesis.population, manifests)
    if population is None or endpoint is None or manifest is None:
        raise PlanViolatedError(say("reasons.undescribed"))
    for task in map(plan.population, plan.tasks(population.id)):
        if task is not None and task.items_sha256 not in (None, manifests[task.id].sha256()):
            raise PlanViolatedError(say("reasons.another_manifest", population=task.id))
    return population, endpoint, manifest


def collapse(values: NDArray[np.float64], endpoint: Endpoint) -> NDArray[np.float64]:
    """One value per item from shape (items, replicates); `majority` is 1 when more than half are 1."""
    replicates, how = values.shape[1], endpoint.collapse
    if how in ("any_of_k", "all_of_k"):
        right = values.sum(axis=1).astype(np.int64)
        runs, k = np.full(len(right), replicates), endpoint.k or 1
        return any_of_k(runs, right, k) if how == "any_of_k" else all_of_k(runs, right, k)
    if replicates == 1 or how == "first":
        return np.ascontiguousarray(values[:, 0])
    if how == "majority":
        return np.where(2 * values.sum(axis=1) > replicates, 1.0, 0.0)
    return np.asarray(values.mean(axis=1), dtype=np.float64)


def _over_tasks(
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    endpoint: Endpoint,
    tasks: Tasks | None,
    reference: Fraction | None,
) -> Fraction | None:
    """The difference of the means, of a suite that of its tasks under their weights; None where one has no item.

    Of one arm, whose baseline is zeros, a task counts from its floor.
    """
    if tasks is None:
        return _delta(before, after, endpoint)
    total = Fraction(0)
    for at, (weight, (floor, length)) in enumerate(zip(tasks.weights, tasks.scales, strict=True)):
        inside = tasks.codes == at
        delta = _delta(before[inside], after[inside], endpoint)
        if delta is None:
            return None
        total += weight * (delta if reference is None else delta - floor) / length
    return total


def _delta(before: NDArray[np.float64], after: NDArray[np.float64], endpoint: Endpoint) -> Fraction | None:
    """The difference of the means without rounding; a mean of replicates weighs each of them alike."""
    if len(before) == 0:
        return None
    if endpoint.collapse in ("any_of_k", "all_of_k"):
        picks = math.comb(before.shape[1], endpoint.k or 1) * len(before)
        if endpoint.collapse == "all_of_k":
            return Fraction(_all_alike(after, endpoint) - _all_alike(before, endpoint), picks)
        # Any of k is 1 minus "all wrong": the difference of the complements turns around.
        return Fraction(_all_alike(1 - before, endpoint) - _all_alike(1 - after, endpoint), picks)
    if endpoint.collapse in ("first", "majority"):
        before, after = collapse(before, endpoint), collapse(after, endpoint)
    # Every item has as many replicates, so the mean of item means is the mean of all values.
    return (exact_sum(after) - exact_sum(before)) / before.size


def _all_alike(values: NDArray[np.float64], endpoint: Endpoint) -> int:
    """Ways to pick k attempts that are all 1, over all items."""
    ones, counts = np.unique(values.sum(axis=1).astype(np.int64), return_counts=True)
    picked = zip(ones.tolist(), counts.tolist(), strict=True)
    return sum(count * math.comb(right, endpoint.k or 1) for right, count in picked)


def _cells(outcomes: Outcomes, parts: list[tuple[str, int]], arm: str, endpoint: Endpoint) -> Cell:
    """The results of an arm on a population, or on the tasks of a suite one after the other."""
    cells = [
        _cell(outcomes, (task, arm, endpoint.id), (n_items, endpoint.replicates)) for task, n_items in parts
    ]
    if len(cells) == 1:
        return cells[0]
    values, statuses = ([getattr(cell, name) for cell in cells] for name in ("values", "statuses"))
    return Cell(np.concatenate(values), np.concatenate(statuses))


def _cell(outcomes: Outcomes, key: tuple[str, str, str], shape: tuple[int, int]) -> Cell:
    cell = outcomes.cells.get(key)
    population, arm, endpoint = key
    if cell is None:
        raise PlanViolatedError(say("reasons.no_results", arm=arm, endpoint=endpoint, population=population))
    if cell.values.shape != shape or cell.statuses.shape != shape:
        raise PlanViolatedError(
            say(
                "reasons.other_shape",
                arm=arm,
                endpoint=endpoint,
                population=population,
                items=shape[0],
                replicates=shape[1],
            )
        )
    return cell


def _check_values(cell: Cell, endpoint: Endpoint, arm: str) -> None:
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


def _counts(cell: Cell) -> StatusCounts:
    return StatusCounts(
        error=int(np.count_nonzero(cell.statuses == ERROR)),
        missing=int(np.count_nonzero(cell.statuses == MISSING)),
        not_received=int(np.count_nonzero(cell.statuses == NOT_RECEIVED)),
    )
