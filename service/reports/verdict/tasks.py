"""The tasks of a suite in a report: what each counts, where it lies, and whether it lost or gained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import Field, JsonValue

from service.domain.plans.plan import Plan
from service.domain.rules.answers import Analysis, Answer
from service.domain.verdicts.records import HypothesisVerdict
from service.records import Record


class TaskLine(Record):
    """One task of a suite."""

    task: str
    weight: float = Field(description="Its share of the suite, a proportion.")
    n: int = Field(description="Items judged on.")
    estimate: float = Field(description="Mean, or difference of two arms, on the scale of the suite.")
    low: float | None = Field(description="Of its own interval.")
    high: float | None
    lost: bool = Field(description="Shown to be worse, over all tasks at once.")
    gained: bool = Field(description="Shown to be better.")


def tasks_of(plan: Plan, judged: HypothesisVerdict) -> tuple[TaskLine, ...] | None:
    """Return the tasks as the first test of the rule tells them; None where the hypothesis is about one population."""
    if plan.suite(judged.population) is None:
        return None
    endpoint = plan.endpoint(judged.endpoint)
    turned = endpoint is not None and endpoint.better == "lower"
    for test, stored in judged.analyses.items():
        analysis = Answer(stored).analysis
        if plan.reads(test, judged.endpoint) == judged.endpoint and "tasks" in analysis:
            return tuple(_list_lines(analysis, turned=turned))
    return None


def _list_lines(analysis: Analysis, *, turned: bool) -> Iterator[TaskLine]:
    """List a line for every task of a suite's analysis; `turned` where lower outcomes are better."""
    rows = analysis.member("tasks")
    for row in rows if isinstance(rows, list) else ():
        if not isinstance(row, Mapping):
            continue
        arms, ci = _mapping(row.get("arms")), _mapping(row.get("ci"))
        lost, gained = arms.get("lost") is True, arms.get("gained") is True
        yield TaskLine(
            task=str(row.get("name")),
            weight=_number(row.get("weight")) or 0.0,
            n=int(_number(row.get("n")) or 0),
            estimate=_number(row.get("estimate")) or 0.0,
            low=_number(ci.get("low")),
            high=_number(ci.get("high")),
            lost=gained if turned else lost,
            gained=lost if turned else gained,
        )


def _mapping(value: JsonValue) -> Mapping[str, JsonValue]:
    return value if isinstance(value, Mapping) else {}


def _number(value: JsonValue) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
