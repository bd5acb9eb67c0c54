"""What a verdict says of a suite beside its mean: what it is, the task that stands worst, and which lost or gained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from service.domain.plans.sections.suites import Suite
from service.domain.rules.answers import Answer
from service.domain.rules.settings import Setting
from service.domain.verdicts.records import HypothesisVerdict
from service.domain.verdicts.words.facts import Facts
from service.domain.verdicts.words.numbers import amount
from service.domain.verdicts.words.one_arm import level
from service.words import Message, Value, list_values, message

NAMED = 5


@dataclass(frozen=True, slots=True)
class SuiteShown:
    """What a test of the rule tells of the tasks."""

    suite: Suite
    pooled: float | None
    """Over all items alike."""
    worst: tuple[str, float, int] | None
    """The task that stands worst, its mean or difference, and its items."""
    lost: tuple[str, ...] = ()
    gained: tuple[str, ...] = ()

    @classmethod
    def of(cls, setting: Setting, verdict: HypothesisVerdict, good: int) -> SuiteShown | None:
        """Of a verdict; None where it is about one population."""
        suite = setting.suite
        if suite is None:
            return None
        own = [
            Answer(stored).analysis
            for test, stored in verdict.analyses.items()
            if setting.plan.reads(test, verdict.endpoint) == verdict.endpoint
        ]
        analysis = next((one for one in own if "tasks" in one), None)
        if analysis is None:
            return cls(suite, None, None)
        rows = analysis.member("tasks")
        tasks = [task for row in rows if (task := _task(row)) is not None] if isinstance(rows, list) else []
        lost, gained = (_names(analysis.member("losses", name)) for name in ("lost", "gained"))
        return cls(
            suite,
            analysis.number("item_weighted"),
            min(tasks, key=lambda task: good * task[1], default=None),
            lost if good > 0 else gained,
            gained if good > 0 else lost,
        )


def _task(row: JsonValue) -> tuple[str, float, int] | None:
    if not isinstance(row, Mapping):
        return None
    name, estimate, n = row.get("name"), row.get("estimate"), row.get("n")
    if not isinstance(name, str) or not isinstance(estimate, float | int) or not isinstance(n, int):
        return None
    return name, float(estimate), n


def _names(value: JsonValue) -> tuple[str, ...]:
    return tuple(str(name) for name in value) if isinstance(value, list) else ()


def suite_messages(setting: Setting, verdict: HypothesisVerdict, facts: Facts) -> Iterator[Message]:
    """Yield the sentences of a suite, after its estimate; none of one population."""
    suite_shown = SuiteShown.of(setting, verdict, facts.good)
    if suite_shown is None:
        return
    suite, one_arm = suite_shown.suite, verdict.reference is not None

    def show_amount(value: float) -> Value:
        return level(value, facts) if one_arm else amount(value, facts)

    weights = suite.weights if isinstance(suite.weights, str) else "named"
    pooled: Value = (
        ""
        if suite_shown.pooled is None
        else message("verdicts.suite_pooled", pooled=show_amount(suite_shown.pooled))
    )
    yield message(
        "verdicts.suite",
        name=suite.id,
        count=len(suite.populations),
        weights=message(f"verdicts.suite_{weights}"),
        scaled="" if suite.rescale is None else message("verdicts.suite_scaled"),
        pooled=pooled,
    )
    if suite.estimand == "new_tasks":
        yield message("verdicts.suite_new_tasks")
    if suite_shown.worst is not None:
        name, value, n = suite_shown.worst
        yield message("verdicts.suite_worst", name=name, amount=show_amount(value), n=n)
    for key, names in (("suite_lost", suite_shown.lost), ("suite_gained", suite_shown.gained)):
        if names:
            more = message("verdicts.suite_more", count=len(names) - NAMED) if len(names) > NAMED else ""
            tasks = list_values(
                (message("verdicts.slice_name", name=name) for name in names[:NAMED]), "lists.comma"
            )
            yield message(f"verdicts.{key}", names=tasks, more=more)
