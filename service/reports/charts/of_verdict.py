"""Pictures of a verdict: its numbers as they were recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from service.domain.plans.plan import Plan
from service.domain.rules.answers import Answer
from service.domain.rules.settings import resolve
from service.domain.verdicts.records import HypothesisVerdict, Verdict
from service.domain.verdicts.words.headline import test_of_line
from service.reports.charts.forest import Panel, forest, rows_of
from service.reports.charts.style import Row, Spec, label
from service.reports.charts.units import Unit
from service.words import Language


def forest_of(plan: Plan, verdict: Verdict, language: Language) -> Spec | None:
    """Return every interval of a difference that the verdict holds, by endpoint; None where it holds none."""
    panels = tuple(panels_of(plan, verdict))
    return forest(panels, subtitle=verdict.title or "", language=language) if panels else None


def panels_of(plan: Plan, verdict: Verdict) -> Iterator[Panel]:
    """Return one panel per endpoint, hypotheses in the order of the plan."""
    resolved = resolve(plan)
    own = dict.fromkeys(hypothesis.endpoint for hypothesis in verdict.hypotheses)
    others = (other.endpoint for hypothesis in verdict.hypotheses for other in hypothesis.others or ())
    for endpoint in dict.fromkeys((*own, *others)):
        rows = [
            row
            for hypothesis in verdict.hypotheses
            for row in _name_rows(
                hypothesis,
                rows_of(
                    _analyses(plan, hypothesis, endpoint),
                    read=test_of_line(resolved.require(hypothesis.id), hypothesis),
                ),
            )
        ]
        if rows:
            alone = all(hypothesis.baseline is None for hypothesis in verdict.hypotheses)
            what = "mean_over_reference" if alone else "difference"
            yield Panel(endpoint, unit_of(plan, endpoint), sesoi_of(plan, endpoint), tuple(rows), what)


def _name_rows(judged: HypothesisVerdict, rows: tuple[Row, ...]) -> Iterator[Row]:
    """Yield the interval that decided by the names of its arms, the others by those of their tests."""
    compared = judged.candidate if judged.baseline is None else f"{judged.candidate} − {judged.baseline}"
    for row in rows:
        name = compared if row["read"] or len(rows) == 1 else row["label"]
        yield {**row, "label": label(f"{judged.id} · {name}")}


def unit_of(plan: Plan, endpoint: str) -> Unit:
    """Return points for what is right or wrong, else the score's own unit."""
    locked = plan.endpoint(endpoint)
    return Unit(locked is not None and locked.kind == "binary")


def sesoi_of(plan: Plan, endpoint: str) -> float | None:
    """Return the smallest effect of interest, a proportion or in score units."""
    margin = (plan.sesoi or {}).get(endpoint)
    return None if margin is None else float(margin.exact())


def counts_of(plan: Plan, judged: HypothesisVerdict) -> Mapping[str, Any] | None:
    """Return the fourfold table, where an analysis holds it."""
    for analysis in _analyses(plan, judged, judged.endpoint).values():
        counts = (analysis or {}).get("counts")
        if isinstance(counts, Mapping):
            return counts
    return None


def _analyses(plan: Plan, judged: HypothesisVerdict, endpoint: str) -> dict[str, Mapping[str, Any] | None]:
    """Return those of the hypothesis' tests that read this endpoint; of one arm counted from its reference."""
    read: dict[str, Mapping[str, Any] | None] = {
        name: Answer(stored).analysis.members if Answer(stored).has_analysis else None
        for name, stored in judged.analyses.items()
        if plan.reads(name, judged.endpoint) == endpoint
    }
    read = {name: _of_suite(analysis) for name, analysis in read.items()}
    if judged.reference is None:
        return read
    return {name: _from_reference(interval, judged.reference.value) for name, interval in read.items()}


def _of_suite(analysis: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the mean of a suite under the names that the mean of a population has."""
    if analysis is None or "tasks" not in analysis:
        return analysis
    return {**analysis, "delta": analysis.get("estimate"), "mean": analysis.get("estimate")}


def _from_reference(analysis: Mapping[str, Any] | None, reference: float) -> Mapping[str, Any] | None:
    """Return the mean of one arm, or what takes its place, with its interval, counted from the reference."""
    if analysis is None:
        return None
    inner = analysis.get("pass_hat_k")
    value, ci = analysis.get("mean", analysis.get("estimate")), analysis.get("ci")
    if isinstance(inner, Mapping):
        value, ci = inner.get("value"), inner.get("ci")
    if not isinstance(value, int | float) or not isinstance(ci, Mapping):
        return None
    ends = {
        end: None if not isinstance(at := ci.get(end), int | float) else at - reference
        for end in ("low", "high")
    }
    return {"delta": value - reference, "ci": {**ci, **ends}}
