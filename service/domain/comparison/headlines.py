"""A comparison's first line, as a person would say it, and its second: what was not shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from service.domain.comparison.records import Comparison
from service.domain.comparison.sentences import NAMED, format_names, margin_amount, reading_of, show
from service.stats.shared.declaring.sentences import level_text
from service.words import Message, Value, list_values, message, spoken


def headline(comparison: Comparison, baseline: str, candidate: str) -> str:
    """Return the outcome, the arms by name, the difference with its interval; without a full stop.

    Of a comparison in which higher outcomes are better; where they were turned round the words turn them back.
    """
    if comparison.delta is None:
        return message("answers.no_item").text(spoken())
    asked_margin = comparison.outcome == "cannot_tell" and comparison.margin is not None
    line = message(
        "answers.cannot_tell_no_worse" if asked_margin else f"answers.{comparison.outcome}",
        candidate=candidate,
        baseline=baseline,
        margin="" if comparison.margin is None else margin_amount(comparison),
        note=_note(comparison),
        figures=_figures(comparison, comparison.delta),
    )
    return line.text(spoken())


def what_is_open(comparison: Comparison, candidate: str) -> str:
    """Return what was not shown, and what was lost beside the outcome; empty where the first line says all."""
    if comparison.delta is None:
        return ""
    return list_values(_list_open(comparison, candidate), "lists.sentences").text(spoken())


def _list_open(comparison: Comparison, candidate: str) -> Iterator[Message]:
    """Yield what the outcome leaves open, or shows beyond it."""
    if comparison.outcome == "cannot_tell":
        yield message("answers.open_reading", reading=reading_of(comparison))
    elif comparison.outcome == "no_worse":
        yield _beside_no_worse(comparison, candidate)
    elif comparison.outcome == "worse" and comparison.margin is not None and comparison.ci.high is not None:
        beyond = comparison.ci.high < -comparison.margin
        side = "shown" if beyond else "open"
        yield message(f"answers.{side}_beyond_margin", margin=margin_amount(comparison))
    if lost := _lost(comparison):
        yield message("comparison.suite_lost", names=format_names(lost, NAMED))
    losses = None if comparison.suite is None else comparison.suite.losses
    if losses is not None and losses.none_loses is not None and losses.none_loses.outcome != "pass":
        yield message(f"comparison.none_loses_{losses.none_loses.outcome}")


def _beside_no_worse(comparison: Comparison, candidate: str) -> Message:
    """Return what an interval on the better side of the margin says of 0."""
    low, high = comparison.ci.low or 0.0, comparison.ci.high or 0.0
    if comparison.worse:
        return message("headlines.open_loss")
    if low <= 0 <= high:
        return message("headlines.open_better", candidate=candidate)
    side = "better" if low > 0 else "loss"
    if "outcome" in comparison.reasons:
        reason = comparison.reasons["outcome"]
        return message(f"answers.open_{side}_but", candidate=candidate, reason=reason)
    return message(f"answers.open_{side}_untested", candidate=candidate)


def _lost(comparison: Comparison) -> Sequence[str]:
    """Return the slices and tasks that are shown to be worse, or to lose more than the margin."""
    slices = () if comparison.slices is None else comparison.slices.results
    losses = None if comparison.suite is None else comparison.suite.losses
    tasks = () if losses is None else losses.lost
    return [*(result.name for result in slices if result.shown_worse or result.standing == "fail"), *tasks]


def _note(comparison: Comparison) -> Value:
    """Return what a reader has to know to read the line: nothing is paired, it is adjusted, lower values are better."""
    notes = [] if comparison.arms is None else [message("answers.unpaired")]
    if comparison.arms is not None and comparison.arms.covariates:
        notes.append(message("answers.adjusted", names=format_names(comparison.arms.covariates, NAMED)))
    notes += [] if comparison.prefers == "higher" else [message("answers.lower")]
    return message("lists.note", note=list_values(notes, "lists.pause")) if notes else ""


def _figures(comparison: Comparison, delta: float) -> Message:
    """Return the difference with the ends of its interval; the unit stands behind the last."""
    low, high = comparison.ci.low, comparison.ci.high
    estimate = show(comparison, delta)
    if low is None or high is None:
        return message("answers.figures_alone", estimate=estimate)
    least, most = (low, high) if comparison.prefers == "higher" else (high, low)
    return message(
        "answers.figures",
        estimate=estimate,
        level=level_text(comparison.ci.level),
        low=show(comparison, least).values["value"],
        high=show(comparison, most),
    )
