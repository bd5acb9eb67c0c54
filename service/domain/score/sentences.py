"""A score in words: nothing that its interval does not carry."""

from __future__ import annotations

from service.domain.comparison.sentences import format_names, round_up
from service.domain.comparison.suites import heaviest
from service.domain.score.records import Score
from service.stats.shared.declaring.common import Interval
from service.stats.shared.declaring.sentences import level_text
from service.words import Message, Value, list_values, message, speak, spoken

NAMED = 3
"""Slices that the next step names."""


def sentence(score: Score, name: str) -> str:
    """Return the outcome, the mean with its interval, and what that leaves open."""
    text = message(
        "score.mean",
        name=name,
        mean=show(score, score.mean),
        interval=_interval(score, score.ci),
        size=_size(score),
    )
    parts = [_opening(score, text), _more(score), _clusters(score)]
    parts += [] if score.against is not None else [_runs(score)]
    return list_values([part for part in [*parts, _describe_pooled(score)] if part], "lists.sentences").text(
        spoken()
    )


def _opening(score: Score, text: Message) -> Message:
    """Return the outcome with the mean, as a sentence."""
    if score.against is None:
        return message("score.estimate", told=text)
    bar, open_ = show(score, score.against.threshold), ""
    if score.outcome == "cannot_tell":
        return message(f"score.cannot_tell_{score.prefers}", bar=bar, told=text, open=open_of(score))
    return message(f"score.{score.outcome}_{score.prefers}", bar=bar, told=text, open=open_)


def rule(score: Score) -> str:
    """Return the sentence that says which interval decides."""
    if score.ci is None:
        undecided = speak("score.rule_undecided")
        return undecided if score.suite is None else score.reasons.get("ci", undecided)
    if score.suite is not None:
        parts = [message(f"score.rule_{score.suite.estimand}")]
    else:
        method = score.ci.method.replace("-", "_")
        if method == "furthest" and score.clusters is None:  # of independent items: no range is known
            method = "observed"
        parts = [message(f"score.rule_{method}")]
        if score.clusters is not None and score.df is not None and score.ci.method != "korn-graubard":
            parts.append(message("score.rule_df", df=score.df))
    if score.against is not None:
        parts.append(message("score.rule_threshold"))
    return list_values(parts, "lists.sentences").text(spoken())


def next_step(score: Score) -> str:
    """Return the sentence that says what to do next."""
    return _describe_next(score).text(spoken())


def _describe_next(score: Score) -> Message:
    """Describe what to do next after a score, by the first of these reasons that holds."""
    short = (
        [] if score.slices is None else [result.name for result in score.slices.results if result.shown_short]
    )
    if short and score.outcome != "falls_short":
        slices = message(
            "comparison.one_slice" if len(short) == 1 else "comparison.some_slices",
            names=format_names(short, NAMED),
        )
        return message("score.look_at_slices", slices=slices)
    if "outcome" in score.reasons:
        return message("score.run_missing")
    if score.ci is None:
        why = score.reasons.get("ci")
        return message("score.unbounded") if why is None else message("score.unbounded_for", reason=why)
    if score.outcome == "meets":
        return message("score.enough")
    if score.outcome == "falls_short":
        return message("score.not_enough")
    if score.outcome == "estimate":
        return message("score.report")
    if score.against is not None and (more := score.against.more) is not None:
        return message(f"score.plan_{more.unit}", total=round_up(more.total))
    attainable = None if score.against is None else score.against.attainable
    if attainable is not None and attainable.least_units > _units(score):
        return message(f"score.plan_least_{attainable.unit}", least=round_up(attainable.least_units))
    heavy = None if score.suite is None else heaviest(score.suite)
    if heavy is not None:
        return message("comparison.add_to_task", name=heavy[0], share=heavy[1])
    return message("score.other_items")


def _units(score: Score) -> int:
    return score.n if score.clusters is None else score.clusters.n_clusters


def open_of(score: Score) -> Value:
    """Return why it cannot be told."""
    if "outcome" in score.reasons:
        return message("score.withheld", reason=score.reasons["outcome"])
    against = score.against
    if score.ci is None or against is None:
        return score.reasons.get("ci") or message("score.nothing_decided")
    bar, best = show(score, against.threshold), against.attainable
    if best is None or not _beyond(score, best.bound, against.threshold):
        return message("score.holds", bar=bar)
    units = message(f"units.counted_{best.unit}", n=_units(score))
    return message("score.holds_unattainable", bar=bar, units=units, least=round_up(best.least_units))


def _beyond(score: Score, bound: float, threshold: float) -> bool:
    """Tell whether even the best data would not reach the threshold."""
    return bound < threshold if score.prefers == "higher" else bound > threshold


def _more(score: Score) -> Message | None:
    """Say how much it would take, where the answer is open."""
    more = None if score.against is None or score.outcome != "cannot_tell" else score.against.more
    if more is None:
        return None
    count = message(f"units.more_{more.unit}", n=more.more, shown=round_up(more.more))
    return message(f"score.more_{more.claim}", more=count, power=level_text(more.power))


def _clusters(score: Score) -> Message | None:
    """Return what clusters cost: the interval that independent items would have, and why it is not to be had."""
    clusters = score.clusters
    if clusters is None or clusters.independent is None or clusters.design_effect is None:
        return None
    flat = _span(score, clusters.independent)
    if clusters.design_effect <= 1 or clusters.effective_n is None:
        return message("score.unlike_clusters", flat=flat)
    return message(
        "score.alike_clusters",
        flat=flat,
        n=score.n,
        effect=clusters.design_effect,
        effective=clusters.effective_n,
    )


def _describe_pooled(score: Score) -> Message | None:
    """Return what is not the suite's mean, though it is often printed under its name."""
    if score.suite is None:
        return None
    return message("score.pooled", mean=show(score, score.suite.item_weighted))


def _runs(score: Score) -> Message | None:
    """Return the other estimand, where there are runs."""
    ci = None if score.these_items is None else score.these_items.ci
    return None if ci is None else message("score.these_items", interval=_interval(score, ci))


def _interval(score: Score, ci: Interval | None) -> Message:
    if ci is None or ci.low is None or ci.high is None:
        return message("score.no_interval")
    return message("score.interval", level=level_text(ci.level), span=_span(score, ci))


def _span(score: Score, ci: Interval) -> Message:
    """Return both ends, or that there is no interval."""
    if ci.low is None or ci.high is None:
        return message("score.no_interval")
    return message("score.span", low=show(score, ci.low), high=show(score, ci.high))


def _size(score: Score) -> Message:
    items = message("comparison.items", n=score.n)
    if score.n_values > score.n:
        items = message("score.runs", items=items, count=score.n_values)
    if score.suite is not None:
        items = message("score.of_tasks", items=items, count=score.suite.n_tasks)
    if score.clusters is None:
        return items
    return message("comparison.clustered", items=items, n=score.clusters.n_clusters)


def show(score: Score, value: float | None) -> Value:
    """Return a mean: `43.7%` of shares, score units else."""
    if value is None:
        return message("score.no_value")
    return f"{100 * value:.{_digits(score)}f}%" if score.points else f"{value:.4g}"


def _digits(score: Score) -> int:
    """As many as it takes to see on which side of the threshold a bound lies."""
    if score.against is None or score.ci is None:
        return 1
    bounds = [end for end in (score.ci.low, score.ci.high) if end is not None]
    apart = [abs(end - score.against.threshold) for end in bounds if end != score.against.threshold]
    return next((digits for digits in range(1, 6) if all(100 * gap >= 10**-digits for gap in apart)), 6)
