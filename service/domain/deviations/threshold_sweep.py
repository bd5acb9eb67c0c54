"""Threshold sweeps evaluated: what each hypothesis would have shown at other values of a tuned number.

A threshold lives inside the arms, so another value is another run. A plan that declares a sweep
gives each value a secondary endpoint `<endpoint>.<threshold>.<value>`, for instance
`accuracy.tau.0.35`; its results are posted, sealed and completed like all others. The value the
arms were run with needs none: that is the endpoint itself. A sweep filed with a deviation may also
bring counts from the split the value was chosen on. All of it is descriptive: nothing is tested.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from pydantic import Field

from service.domain.deviations.as_run import verdicts_of, with_its_family
from service.domain.deviations.changes import Fourfold, SweepPoint, ThresholdChange
from service.domain.plans.plan import Plan, Threshold
from service.domain.plans.sections.hypothesis import Hypothesis
from service.domain.rules.answers import Answer
from service.domain.rules.settings import resolve
from service.domain.rules.truth import Ends
from service.domain.verdicts.outcomes import Rows
from service.domain.verdicts.parts import Span
from service.domain.verdicts.records import HypothesisVerdict, Outcome
from service.errors import ForelockError
from service.records import Record
from service.stats.shared.declaring import registry

NO_ROWS = "no results at this value: a plan that sweeps it has the secondary endpoint '{}'"


class PointFound(Record):
    """A hypothesis at one value of the threshold."""

    value: float
    source: Literal["results", "attached"] | None = Field(
        description="`results`: stored rows of the plan. `attached`: counts from the author, on another split."
    )
    endpoint: str | None = Field(description="Whose rows were read.")
    delta: float | None
    ci: Span | None = Field(description="The first interval of the hypothesis' tests; Tango's for counts.")
    n: int | None
    outcome: Outcome | None = Field(description="What the locked rule would say; null for attached counts.")
    reason: str | None = Field(description="Why there is nothing at this value.")


class SweepFound(Record):
    """A sweep for one hypothesis."""

    threshold: str
    deviation: int | None = Field(description="The deviation that brought the sweep; null: the plan.")
    hypothesis: str
    run_value: float = Field(
        description="The value the arms were run with, whose rows are the endpoint's own."
    )
    points: tuple[PointFound, ...]
    computed: int = Field(description="Values with a difference.")
    delta_low: float | None = Field(description="Least difference over the sweep.")
    delta_high: float | None = Field(description="Greatest difference over the sweep.")
    same_outcome: bool | None = Field(
        description="True when the rule says the same at every value with results; null below two of them."
    )


@dataclass(frozen=True, slots=True)
class Sweep:
    """A declared sweep: by the plan, or by a deviation."""

    name: str
    population: str | None
    run_value: float
    points: tuple[SweepPoint, ...]
    deviation: int | None


def list_sweeps(plan: Plan, changes: Mapping[int, ThresholdChange]) -> Iterator[Sweep]:
    """Yield the sweeps of a plan and of its deviations; a later deviation says what the arms were run with."""
    for threshold in plan.thresholds or ():
        if threshold.sweep is not None:
            points = tuple(SweepPoint(value=value) for value in sorted(set(threshold.sweep)))
            yield Sweep(
                threshold.name, threshold.population, _run_value(threshold, changes.values()), points, None
            )
    for number, change in changes.items():
        if change.sweep is not None:
            yield Sweep(change.name, change.population, change.value, change.sweep, number)


def hypotheses_of(plan: Plan, sweep: Sweep) -> Iterator[Hypothesis]:
    """Yield the hypotheses whose arms use the threshold."""
    for hypothesis in plan.hypotheses or ():
        if sweep.population in (None, hypothesis.population):
            yield hypothesis


def endpoint_at(endpoint: str, threshold: str, value: float) -> str:
    """Return the secondary endpoint that holds the results at a value: its shortest decimal, never an exponent."""
    return f"{endpoint}.{threshold}.{Decimal(repr(value)).normalize():f}"


def judgements(rows: Rows, sweeps: Sequence[Sweep]) -> int:
    """Return how many times the rows are judged for these sweeps."""
    return sum(
        _endpoint(rows.plan, hypothesis, sweep, point.value) is not None
        for sweep in sweeps
        for hypothesis in hypotheses_of(rows.plan, sweep)
        for point in sweep.points
    )


def evaluate(rows: Rows, sweep: Sweep, hypothesis: Hypothesis) -> SweepFound:
    """Return every value of a sweep for one hypothesis."""
    points = tuple(_point(rows, sweep, hypothesis, point) for point in sweep.points)
    deltas = [point.delta for point in points if point.delta is not None]
    outcomes = [point.outcome for point in points if point.outcome is not None]
    return SweepFound(
        threshold=sweep.name,
        deviation=sweep.deviation,
        hypothesis=hypothesis.id,
        run_value=sweep.run_value,
        points=points,
        computed=len(deltas),
        delta_low=min(deltas, default=None),
        delta_high=max(deltas, default=None),
        same_outcome=len(set(outcomes)) == 1 if len(outcomes) > 1 else None,
    )


def _run_value(threshold: Threshold, changes: Iterable[ThresholdChange]) -> float:
    value = threshold.value
    for change in changes:
        if change.name == threshold.name and change.population in (None, threshold.population):
            value = change.value
    return value


def _endpoint(plan: Plan, hypothesis: Hypothesis, sweep: Sweep, value: float) -> str | None:
    """Say whose rows show a value; None when the plan has no such endpoint."""
    if value == sweep.run_value:
        return hypothesis.endpoint
    name = endpoint_at(hypothesis.endpoint, sweep.name, value)
    return name if any(endpoint.id == name for endpoint in plan.endpoints_of(hypothesis.population)) else None


def _point(rows: Rows, sweep: Sweep, hypothesis: Hypothesis, point: SweepPoint) -> PointFound:
    endpoint = _endpoint(rows.plan, hypothesis, sweep, point.value)
    if endpoint is not None:
        return _from_rows(rows, hypothesis, point.value, endpoint, sweep)
    if point.counts is not None:
        return _from_counts(point.value, point.counts)
    missing = endpoint_at(hypothesis.endpoint, sweep.name, point.value)
    return _nothing(point.value, None, NO_ROWS.format(missing))


def _nothing(value: float, source: Literal["attached"] | None, reason: str) -> PointFound:
    return PointFound(
        value=value, source=source, endpoint=None, delta=None, ci=None, n=None, outcome=None, reason=reason
    )


def _from_rows(rows: Rows, hypothesis: Hypothesis, value: float, endpoint: str, sweep: Sweep) -> PointFound:
    """Return the hypothesis as the verdict judges it, its family with it: a threshold's value moves them all alike."""
    plan = rows.plan
    if endpoint != hypothesis.endpoint:
        plan = at_values(plan, [(sweep.population, sweep.name, value)])
    verdict = verdicts_of(replace(rows, resolved=resolve(plan)))[hypothesis.id]
    return PointFound(
        value=value,
        source="results",
        endpoint=endpoint,
        delta=verdict.delta,
        ci=_interval(verdict),
        n=verdict.n,
        outcome=verdict.outcome,
        reason=verdict.reason,
    )


def at_values(plan: Plan, values: Sequence[tuple[str | None, str, float]]) -> Plan:
    """Return every hypothesis on its endpoint at these values of thresholds, each of a population or (None) of all.

    The endpoint has the margin and role of the one it stands for, and the family stays as locked. A hypothesis without
    results there keeps an endpoint the plan does not have: it is not judged.
    """
    plan = with_its_family(plan)
    sesoi, endpoints, hypotheses = dict(plan.sesoi or {}), {e.id: e for e in plan.endpoints or ()}, []
    for hypothesis in plan.hypotheses or ():
        own = name = hypothesis.endpoint
        here = {
            name: value for population, name, value in values if population in (None, hypothesis.population)
        }
        for threshold, value in here.items():
            name = endpoint_at(name, threshold, value)
        if name != own and name in endpoints:
            endpoints[name] = endpoints[name].model_copy(update={"role": endpoints[own].role})
            if own in sesoi:
                sesoi.setdefault(name, sesoi[own])
        hypotheses.append(hypothesis.model_copy(update={"endpoint": name}))
    return plan.model_copy(
        update={"sesoi": sesoi, "endpoints": tuple(endpoints.values()), "hypotheses": tuple(hypotheses)}
    )


def _interval(verdict: HypothesisVerdict) -> Span | None:
    for answer in verdict.analyses.values():
        ends = Answer(answer).observe("ci").value
        if isinstance(ends, Ends):
            return Span(low=_finite(ends.low), high=_finite(ends.high))
    return None


def _finite(end: float | None) -> float | None:
    return None if end is None or abs(end) == float("inf") else end


def _from_counts(value: float, counts: Fourfold) -> PointFound:
    """Return the difference and its Tango interval from a fourfold table."""
    test = registry.serving("fourfold")
    try:
        answer = test.answer(test.request.model_validate(counts.model_dump())).model_dump(mode="json")
    except (ForelockError, ValueError):
        return _nothing(value, "attached", "the attached counts hold no item")
    ends, analysis = Answer(answer).observe("ci").value, Answer(answer).analysis
    return PointFound(
        value=value,
        source="attached",
        endpoint=None,
        delta=analysis.number("delta"),
        ci=Span(low=_finite(ends.low), high=_finite(ends.high)) if isinstance(ends, Ends) else None,
        n=analysis.count("n") or 0,
        outcome=None,
        reason=None,
    )
