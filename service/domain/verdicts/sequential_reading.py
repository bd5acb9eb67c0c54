"""What a plan that is valid at any time shows before its end: its e-process and confidence sequence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from service.domain.plans.plan import Plan
from service.domain.rules.feeding import is_ordered
from service.domain.verdicts.analyses import JsonObject
from service.domain.verdicts.parts import Span
from service.domain.verdicts.stopping import Reading
from service.records import Record
from service.words import say


class TestReading(Record):
    """One sequential test, with nothing beside what its rule permits."""

    __test__ = False

    decision: str | None = Field(
        description="`reject`: a difference of 0 is rejected; `continue`; null: no answer."
    )
    e_value: float | None = Field(
        description="Evidence against no difference; its mean without one is at most 1."
    )
    p_value: float | None = Field(description="1 / (the largest e so far), valid whenever it is read.")
    ci: Span | None = Field(description="The confidence sequence after these units.")
    equivalent: bool | None = Field(description="The sequence lies inside the margin.")
    stopped_at: int | None = Field(description="Units after which it first rejected.")
    reason: str | None = Field(None, description="Why there is no answer.")


class HypothesisReading(Record):
    """One hypothesis along the locked order."""

    hypothesis: str
    decided: bool = Field(description="Its sequential tests have come to their end.")
    tests: dict[str, TestReading]


class SequentialReading(Record):
    """A reading of a plan at some time before its end."""

    units: dict[str, int] = Field(
        description="By population: items, or clusters, read along the locked order."
    )
    stop: bool = Field(description="Every primary hypothesis is decided, so the plan is complete.")
    hypotheses: tuple[HypothesisReading, ...]


def reading_of(plan: Plan, reading: Reading) -> SequentialReading:
    """The part of a reading that may leave."""
    return SequentialReading(
        units=dict(reading.units),
        stop=reading.stop,
        hypotheses=tuple(
            HypothesisReading(
                hypothesis=name,
                decided=decided,
                tests={
                    test: _test(answer, _equivalent(plan, reading, name, test))
                    for test, answer in reading.answers.get(name, {}).items()
                    if (use := plan.test(test)) is not None and is_ordered(use)
                },
            )
            for name, decided in reading.decided.items()
        ),
    )


def _equivalent(plan: Plan, reading: Reading, name: str, test: str) -> bool | None:
    """What the named equivalence test finds, whichever way missing results are taken; None for other tests."""
    hypothesis = plan.hypothesis(name)
    named = hypothesis is not None and hypothesis.equivalence == test
    return reading.equivalent.get(name) if named else None


def _test(answer: JsonObject, equivalent: bool | None) -> TestReading:
    analysis: Any = answer.get("analysis")
    if not isinstance(analysis, Mapping):
        return TestReading(
            decision=None,
            e_value=None,
            p_value=None,
            ci=None,
            equivalent=None,
            stopped_at=None,
            reason=str(answer.get("reason") or say("reasons.no_analysis")),
        )
    ci, process, equivalence = analysis.get("ci"), analysis.get("e_process"), analysis.get("equivalent")
    return TestReading(
        decision=analysis.get("decision"),
        e_value=None if process is None else process["e_value"],
        p_value=analysis.get("p_value"),
        ci=None if ci is None else Span(low=ci["low"], high=ci["high"]),
        equivalent=None if equivalence is None else equivalence if equivalent is None else equivalent,
        stopped_at=analysis.get("stopped_at"),
    )
