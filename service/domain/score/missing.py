"""Items without a result: what they could change, and whether an answer stands without them.

Results are rarely missing by chance, so the answer is put beside its worst case, as a comparison's is
(`domain.comparison.attrition`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from service.domain.comparison.left_out import MOST, most_of_a_task
from service.domain.comparison.pairing import SHOWN
from service.domain.comparison.warning_kinds import MISSING_RESULTS
from service.domain.score.items import Items
from service.domain.score.records import Filled, MissingResults, Outcome
from service.domain.score.request import ScoreRequest
from service.errors import InvalidData
from service.stats.shared.data.score_range import UNIT, ScoreRange
from service.stats.shared.declaring.common import StatWarning
from service.words import Message, Value, list_values, message, speak, spoken

Weigh = Callable[[Items], Any]
"""The registered test's analysis of some items."""


@dataclass(frozen=True, slots=True)
class Missing:
    """What is missing, and the answers in its worst and in its best case; None where nothing bounds them."""

    record: MissingResults
    worst: Outcome | None
    best: Outcome | None
    most: float = 0.0
    """The greatest share of its items that a task has lost, of a suite."""

    def standing(self, outcome: Outcome) -> Outcome:
        """Return what stands: with more than a twentieth left out, an answer that its unfavourable case gives too."""
        if (
            self.record.counted == "as_worst"
            or max(self.record.share, self.most) <= MOST
            or outcome not in ("meets", "falls_short")
        ):
            return outcome
        return outcome if self._unfavourable(outcome) == outcome else "cannot_tell"

    def _unfavourable(self, outcome: Outcome) -> Outcome | None:
        return self.best if outcome == "falls_short" else self.worst

    @property
    def reason(self) -> str:
        """Why an answer that the items with a result would carry does not stand."""
        return speak("score.lacking", count=self.record.n)

    def warnings(self, outcome: Outcome, *, points: bool) -> tuple[StatWarning, ...]:
        """Say what is missing and what it could change: of more than a twentieth, and if it changes the answer."""
        unfavourable = self._unfavourable(outcome)
        changes = unfavourable != outcome
        if max(self.record.share, self.most) <= MOST and not changes:
            return ()
        key = f"score.missing_{self.record.counted}"
        parts = [message(key, count=self.record.n, share=self.record.share)]
        parts.append(self._say_change(outcome, points=points))
        return (
            StatWarning(
                code=MISSING_RESULTS.code,
                severity="serious" if changes else "caution",
                message=list_values(parts, "lists.sentences").text(spoken()),
                citation=MISSING_RESULTS.citation,
            ),
        )

    def _say_change(self, outcome: Outcome, *, points: bool) -> Message:
        """Return what the mean and the answer would be in the case that is against the answer."""
        side = "best" if outcome == "falls_short" else "worst"
        case = self.record.best if outcome == "falls_short" else self.record.worst
        if case is None:
            return message("score.missing_unbounded")

        def show(value: float) -> str:
            return f"{100 * value:.1f}%" if points else f"{value:.4g}"

        ends: Value = ""
        if case.ci is not None and case.ci.low is not None and case.ci.high is not None:
            ends = message("score.ends", low=show(case.ci.low), high=show(case.ci.high))
        if outcome == "estimate":
            return message(f"score.missing_{side}", mean=show(case.mean), ends=ends)
        answer = message(f"score.answer_{self._unfavourable(outcome) or outcome}")
        return message(f"score.missing_{side}_answer", mean=show(case.mean), ends=ends, answer=answer)


def kept_of(items: Items, request: ScoreRequest) -> Items:
    """Return the items that are scored: those with a result, or all of them where a missing one counts as the worst.

    Raises:
        InvalidData: what is missing counts as the worst outcome, and nobody knows what that is.
    """
    if request.missing != "fail":
        return items.scored
    if all(len(runs) == items.most_runs for runs in items.runs):
        return items
    scale = _scale(request)
    if scale is None:
        raise InvalidData.field(
            "missing",
            "counts what has no result as the worst score there can be, and no range says which that is",
            "send the range of the scores, or leave such items out (exclude_pair)",
        )
    return items.fill(_ends(scale, request)[0])


def missing_of(items: Items, request: ScoreRequest, weigh: Weigh) -> Missing | None:
    """Return what is missing; None where every item has a result."""
    lacking, scale = items.lacking, _scale(request)
    if not lacking:
        return None
    cases: list[tuple[Filled | None, Outcome | None]] = [(None, None), (None, None)]
    if scale is not None:
        cases = [_fill_all(items, value, weigh) for value in _ends(scale, request)]
    record = MissingResults(
        n=len(lacking),
        item_ids=tuple(lacking[:SHOWN]),
        counted="as_worst" if request.missing == "fail" else "left_out",
        share=len(lacking) / len(items.item_ids),
        worst=cases[0][0],
        best=cases[1][0],
    )
    gone = [not runs for runs in items.runs]
    most = 0.0 if items.tasks is None else most_of_a_task(items.tasks, gone)
    return Missing(record, cases[0][1], cases[1][1], most)


def _fill_all(items: Items, value: float, weigh: Weigh) -> tuple[Filled, Outcome]:
    """Of items without any result: they have one run with that outcome."""
    result = weigh(
        Items(items.item_ids, [runs or [value] for runs in items.runs], items.clusters, None, 1, items.tasks)
    )
    outcome: Outcome = "estimate" if result.against is None else result.against.outcome
    return Filled(value=value, mean=result.mean, ci=result.ci), outcome


def _ends(scale: ScoreRange, request: ScoreRequest) -> tuple[float, float]:
    """Return the worst and the best score there can be."""
    return (scale.low, scale.high) if request.prefers == "higher" else (scale.high, scale.low)


def _scale(request: ScoreRequest) -> ScoreRange | None:
    """Declared, or 0 to 1 where every score lies there."""
    if request.range is not None:
        return request.range
    return UNIT if all(value is None or 0 <= value <= 1 for value in request.values) else None
