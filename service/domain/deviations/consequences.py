"""What a record's deviations do to its verdict: as run, one by one, how far from tipping, over the sweeps.

Pure, and for judged records alone: everything here follows from outcomes. Work is bounded by the
costs that the tests state, so the same record always gives the same answer; what is not computed
says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from pydantic import Field

from service.domain.deviations.as_run import AsRun, as_run, find_excluded, mask_items, seconds, why_not
from service.domain.deviations.changes import (
    Change,
    DisputedItems,
    ExcludedClusters,
    ExcludedItems,
    ThresholdChange,
)
from service.domain.deviations.doubtful_items import Doubts
from service.domain.deviations.threshold_sweep import (
    SweepFound,
    evaluate,
    hypotheses_of,
    judgements,
    list_sweeps,
)
from service.domain.deviations.tipping_point import TippingPoint, tipping_point
from service.domain.plans.items.suite_items import manifest_of
from service.domain.plans.sections.hypothesis import Hypothesis
from service.domain.verdicts.outcomes import Rows
from service.domain.verdicts.records import Outcome
from service.records import Record

BUDGET = 3.0
"""Seconds, by the tests' own estimates, for each of: verdicts as run, tipping points, sweeps."""


class NotComputed(Record):
    """A deviation that cannot be applied to the stored rows."""

    deviation: int
    reason: str


class Consequences(Record):
    """What the deviations do to the verdict, which stays as it is."""

    as_run: AsRun | None = Field(description="Every deviation that can be applied, together.")
    one_by_one: tuple[AsRun, ...] = Field(description="Each of them alone.")
    not_computed: tuple[NotComputed, ...]
    tipping_points: tuple[TippingPoint, ...] = Field(
        description="For every hypothesis with missing, left-out or disputed items."
    )
    sweeps: tuple[SweepFound, ...] = Field(description="Declared sweeps of thresholds; descriptive.")
    reasons: tuple[str, ...] = Field(description="Why something was not computed at all.")


def nothing(reason: str) -> Consequences:
    """Say that nothing was computed, for this reason."""
    return Consequences(
        as_run=None, one_by_one=(), not_computed=(), tipping_points=(), sweeps=(), reasons=(reason,)
    )


def consequences(
    rows: Rows, changes: Mapping[int, Change], planned: Mapping[str, Outcome], *, budget: float = BUDGET
) -> Consequences:
    """Return what these deviations, by number, do to the outcomes of the verdict as planned."""
    refusals = {number: why_not(rows.plan, change) for number, change in changes.items()}
    applied = {number: change for number, change in changes.items() if refusals[number] is None}
    once, reasons = seconds(rows), []
    together: AsRun | None = None
    alone: tuple[AsRun, ...] = ()
    if applied and once * (len(applied) + 1) <= budget:
        alone = tuple(as_run(rows, {number: change}, planned) for number, change in applied.items())
        together = alone[0] if len(alone) == 1 else as_run(rows, applied, planned)
    elif applied:
        reasons.append(_too_long("the verdicts as run", once * (len(applied) + 1), budget))
    sweeps = [
        *list_sweeps(
            rows.plan, {n: change for n, change in changes.items() if isinstance(change, ThresholdChange)}
        )
    ]
    needed = once * judgements(rows, sweeps)
    if needed > budget:
        reasons.append(_too_long("the sweeps", needed, budget))
        sweeps = []
    return Consequences(
        as_run=together,
        one_by_one=alone,
        not_computed=tuple(
            NotComputed(deviation=number, reason=reason)
            for number, reason in refusals.items()
            if reason is not None
        ),
        tipping_points=tuple(_tipping_points(rows, tuple(changes.values()), budget)),
        sweeps=tuple(
            evaluate(rows, sweep, hypothesis)
            for sweep in sweeps
            for hypothesis in hypotheses_of(rows.plan, sweep)
        ),
        reasons=tuple(reasons),
    )


def doubts(rows: Rows, population: str, changes: tuple[Change, ...]) -> Doubts:
    """Return the items of a population that deviations leave out or dispute."""
    manifest = manifest_of(rows.plan, population, rows.manifests)
    if manifest is None:
        return Doubts(np.zeros(0, dtype=np.bool_), np.zeros(0, dtype=np.bool_))
    left_out, disputed = np.zeros(manifest.n, dtype=np.bool_), np.zeros(manifest.n, dtype=np.bool_)
    for change in changes:
        if isinstance(change, ExcludedItems | ExcludedClusters) and change.population == population:
            left_out |= find_excluded(change, manifest)
        elif isinstance(change, DisputedItems) and change.population == population:
            disputed |= mask_items(change.item_ids, manifest)
    return Doubts(left_out, disputed)


def _tipping_points(rows: Rows, changes: tuple[Change, ...], budget: float) -> Iterator[TippingPoint]:
    """Yield the tipping point of every hypothesis with doubtful items, with an equal share of the budget."""
    hypotheses: tuple[Hypothesis, ...] = tuple(rows.plan.hypotheses or ())
    for hypothesis in hypotheses:
        point = tipping_point(
            rows, hypothesis, doubts(rows, hypothesis.population, changes), budget=budget / len(hypotheses)
        )
        if point is not None:
            yield point


def _too_long(what: str, needed: float, budget: float) -> str:
    return f"{what} would take about {needed:.0f} seconds, and a request may compute for {budget:.0f}"
