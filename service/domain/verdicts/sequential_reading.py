"""What a plan that is valid at any time shows before its end: its e-process and confidence sequence."""

from __future__ import annotations

from pydantic import Field

from service.domain.plans.plan import Plan
from service.domain.rules.answers import Answer, JsonObject
from service.domain.rules.feeding import is_ordered
from service.domain.verdicts.parts import Span
from service.domain.verdicts.stopping import Reading
from service.records import Record


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
    """Return the part of a reading that may leave."""
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
    """Return what the named equivalence test finds, whichever way missing results are taken; None for other tests."""
    hypothesis = plan.hypothesis(name)
    is_fallback = hypothesis is not None and hypothesis.equivalence == test
    return reading.equivalent.get(name) if is_fallback else None


def _test(stored: JsonObject, equivalent: bool | None) -> TestReading:
    """Read what a sequential test shows so far; `equivalent`, where it is known, stands in place of the test's own."""
    answer = Answer(stored)
    if not answer.has_analysis:
        return TestReading(
            decision=None,
            e_value=None,
            p_value=None,
            ci=None,
            equivalent=None,
            stopped_at=None,
            reason=answer.reason,
        )
    analysis = answer.analysis
    ci, equivalence = analysis.interval("ci"), analysis.truth("equivalent")
    return TestReading(
        decision=analysis.text("decision"),
        e_value=analysis.number("e_process", "e_value"),
        p_value=analysis.number("p_value"),
        ci=None if ci is None else Span(low=ci.low, high=ci.high),
        equivalent=None if equivalence is None else equivalence if equivalent is None else equivalent,
        stopped_at=analysis.count("stopped_at"),
    )
