"""A score's first line, as a person would say it, and its second: what was not shown."""

from __future__ import annotations

from service.domain.comparison.sentences import NAMED, format_names
from service.domain.score.records import Score
from service.domain.score.sentences import open_of, show
from service.stats.shared.declaring.sentences import level_text
from service.words import Message, list_values, message, spoken


def headline(score: Score, name: str) -> str:
    """Return the outcome, the system by name, its mean with the interval; without a full stop."""
    figures = _say_mean(score)
    if score.against is None:
        return message("answers.estimate", name=name, figures=figures).text(spoken())
    bar = show(score, score.against.threshold)
    key = f"answers.{score.outcome}_{score.prefers}"
    return message(key, name=name, bar=bar, figures=figures).text(spoken())


def what_is_open(score: Score) -> str:
    """Return what was not shown, and which slices are shown to fall short; empty where the first line says all."""
    lines = []
    if score.outcome == "cannot_tell":
        lines.append(message("answers.open_reading", reading=open_of(score)))
    slices = () if score.slices is None else score.slices.results
    if short := [result.name for result in slices if result.shown_short]:
        lines.append(message("answers.shown_short", names=format_names(short, NAMED)))
    return list_values(lines, "lists.sentences").text(spoken())


def _say_mean(score: Score) -> Message:
    """Say the mean with its interval, or alone where the interval has not two ends."""
    ci, mean = score.ci, show(score, score.mean)
    if ci is None or ci.low is None or ci.high is None:
        return message("answers.figures_alone", estimate=mean)
    return message(
        "answers.figures",
        estimate=mean,
        level=level_text(ci.level),
        low=show(score, ci.low),
        high=show(score, ci.high),
    )
