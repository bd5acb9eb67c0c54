"""A comparison in words: nothing that its interval does not carry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from service.stats.shared.declaring.common import Interval
from service.stats.shared.declaring.sentences import amount, level_text
from service.words import Message, Value, list_values, message, speak, spoken

if TYPE_CHECKING:
    from service.domain.comparison.records import Comparison, More

NAMED = 3
"""Slices that the next step names."""
FILES = "BASE CAND"
"""What stands for the files of the command."""


def sentence(comparison: Comparison, baseline: str, candidate: str, *, more: Sequence[Message] = ()) -> str:
    """Return the outcome, the difference with its interval, and what it leaves open; `more` goes on it.

    Of a comparison in which higher outcomes are better; where they were turned round the words turn them back.
    """
    first = _state_outcome(comparison, baseline, candidate)
    return list_values([first, *more], "lists.sentences").text(spoken())


def _state_outcome(comparison: Comparison, baseline: str, candidate: str) -> Message:
    """Return the outcome with its difference, interval and size, as a sentence."""
    if comparison.delta is None:
        return message("comparison.no_item")
    reading = reading_of(comparison)
    if comparison.prefers == "lower":
        reading = message("comparison.lower", reading=reading)
    text = message(
        f"comparison.{comparison.outcome}",
        candidate=candidate,
        baseline=baseline,
        delta=show(comparison, comparison.delta),
        interval=_interval(comparison),
        size=_state_size(comparison),
        reading=reading,
    )
    return text if comparison.outcome != "cannot_tell" else _more(comparison, text)


def reading_of(comparison: Comparison) -> Value:
    """Return where the interval lies, and what that leaves open."""
    readings = {"better": _better, "no_worse": _within, "worse": _beyond}
    return readings.get(comparison.outcome, _open)(comparison)


def _sides(comparison: Comparison) -> tuple[str, str]:
    """Say where better and worse lie."""
    return ("above", "below") if comparison.prefers == "higher" else ("below", "above")


def next_step(comparison: Comparison, *, can_fail: bool = False) -> str:
    """Return what to do now. `can_fail`: what is missing in one arm could count as 0."""
    return _state_next_step(comparison, can_fail=can_fail).text(spoken())


def status() -> str:
    """Return what kind of evidence it is."""
    return speak("comparison.status")


def rule_text(codes: Sequence[str], scale: Message | None) -> str:
    """Return what decides, by the codes of its sentences, and between what scores were taken to lie."""
    parts = [message(f"comparison.rule_{code}") for code in codes]
    return list_values(parts if scale is None else [*parts, scale], "lists.sentences").text(spoken())


def format_names(names: Sequence[str], most: int) -> Value:
    """Return names in quotes, the first ones, and how many more there are."""
    names_quoted = list_values((message("lists.name", name=name) for name in names[:most]), "lists.pause")
    if len(names) <= most:
        return names_quoted
    return message("lists.and_more", names=names_quoted, more=len(names) - most)


def _state_next_step(comparison: Comparison, *, can_fail: bool) -> Message:
    """Return what to do after this outcome, as a sentence."""
    lock = message("comparison.lock", files=FILES)
    if comparison.delta is None:
        return message("comparison.name_ids")
    if comparison.outcome != "worse" and (lost := _lost(comparison)) is not None:
        return message("comparison.look_at_slices", slices=lost, lock=lock)
    if comparison.outcome in ("better", "no_worse"):
        return message(f"comparison.ship_{comparison.outcome}", lock=lock)
    if "outcome" in comparison.reasons:
        counted = "or_0" if comparison.prefers == "higher" else "or_worst"
        return message(f"comparison.run_missing_{counted}" if can_fail else "comparison.run_missing")
    if comparison.outcome == "worse":
        return message("comparison.keep_baseline")
    if comparison.ci.low is None:
        why = comparison.reasons.get("ci") or message("comparison.these_decide_nothing")
        return message(f"comparison.add_{comparison.unit}", reason=why)
    if comparison.more:
        first = comparison.more[0]
        words = _describe_more(comparison, first)
        return message(
            f"comparison.plan_{comparison.unit}",
            total=round_up(first.total),
            claim=words["claim"],
            truth=words["truth"],
        )
    return message("comparison.state_margin")


def _lost(comparison: Comparison) -> Message | None:
    """Return the slices that are shown to be worse, or to lose more than the margin, a few of them by name."""
    results = () if comparison.slices is None else comparison.slices.results
    names = [result.name for result in results if result.shown_worse or result.standing == "fail"]
    if not names:
        return None
    slices = "one_slice" if len(names) == 1 else "some_slices"
    return message(f"comparison.{slices}", names=format_names(names, NAMED))


def _better(comparison: Comparison) -> Message:
    return message(f"comparison.{_sides(comparison)[0]}_0")


def _within(comparison: Comparison) -> Message:
    """Return what an interval on the better side of the margin says of 0."""
    better, worse = _sides(comparison)
    margin = show(comparison, -(comparison.margin or 0.0))
    reading = message(f"comparison.{better}_margin", margin=margin)
    if comparison.worse:
        return message(f"comparison.loss_{worse}_0", reading=reading)
    low, high = comparison.ci.low or 0.0, comparison.ci.high or 0.0
    if low > 0 or high < 0:
        side = better if low > 0 else worse
        if "outcome" in comparison.reasons:
            reason = comparison.reasons["outcome"]
            return message(f"comparison.also_{side}_but", reading=reading, reason=reason)
        return message(f"comparison.also_{side}_untested", reading=reading)
    return message("comparison.gain_not_shown", reading=reading)


def _open(comparison: Comparison) -> Value:
    """Return what the interval does not rule out."""
    low, high = comparison.ci.low, comparison.ci.high
    if low is None or high is None:
        return comparison.reasons.get("ci") or message("comparison.nothing_decided")
    better, worse = _sides(comparison)
    side = better if low > 0 else worse if high < 0 else "holds_0"
    if "outcome" in comparison.reasons:
        return message(f"comparison.{side}_but", reason=comparison.reasons["outcome"])
    if low > 0 or high < 0:
        return message(f"comparison.{side}_untested")
    if comparison.margin is None:
        return message("comparison.holds_0")
    margin = show(comparison, -comparison.margin)
    if low > -comparison.margin:
        return message(f"comparison.{better}_margin_untested", margin=margin)
    return message("comparison.holds_0_and_margin", margin=margin)


def _beyond(comparison: Comparison) -> Message:
    reading = message(f"comparison.{_sides(comparison)[1]}_0")
    if comparison.margin is None or comparison.ci.high is None:
        return reading
    excluded = comparison.ci.high < -comparison.margin
    side = "margin" if excluded else "not_told"
    return message(f"comparison.beyond_{side}", reading=reading, margin=margin_amount(comparison))


def _more(comparison: Comparison, sentence: Message) -> Message:
    """Return the sentence with how much it would take, for one claim or for two."""
    if not comparison.more:
        return sentence
    first, *rest = [_describe_more(comparison, more) for more in comparison.more[:2]]
    if not rest:
        return message("comparison.one_more", sentence=sentence, **first)
    then = {f"{name}_then": value for name, value in rest[0].items()}
    return message("comparison.two_more", sentence=sentence, **first, **then)


def _describe_more(comparison: Comparison, more: More) -> dict[str, Value]:
    """Return the values of a sentence on how many more items would show a claim."""
    truth = message(f"comparison.{more.assuming}")
    if more.assuming == "observed_difference":
        truth = message("comparison.observed_difference", delta=show(comparison, more.truth))
    return {
        "more": message(f"comparison.more_{comparison.unit}", count=round_up(more.more)),
        "claim": message(f"comparison.show_{more.claim}"),
        "power": level_text(more.power),
        "truth": truth,
    }


def round_up(count: int) -> int:
    """Round up to two digits: the figure rests on an estimated spread."""
    step: int = 10 ** max(len(str(count)) - 2, 0)
    return -(-count // step) * step


def _interval(comparison: Comparison) -> Message:
    low, high = comparison.ci.low, comparison.ci.high
    level = level_text(comparison.ci.level)
    if low is None or high is None:
        return message("comparison.no_interval", level=level)
    least, most = (low, high) if comparison.prefers == "higher" else (high, low)
    return message(
        "comparison.interval", level=level, low=show(comparison, least), high=show(comparison, most)
    )


def _state_size(comparison: Comparison) -> Message:
    """Say how many items, tasks and clusters were compared, as a part of a sentence."""
    arms = comparison.arms
    items = (
        message("comparison.items", n=comparison.n)
        if arms is None
        else message("comparison.unpaired", candidate=arms.n_candidate, baseline=arms.n_baseline)
    )
    if comparison.suite is not None:
        items = message("comparison.of_tasks", items=items, n=comparison.suite.n_tasks)
    if comparison.n_clusters is not None:
        items = message("comparison.clustered", items=items, n=comparison.n_clusters)
    if arms is not None and arms.covariates:
        names = format_names(arms.covariates, NAMED)
        items = message("comparison.adjusted", items=items, names=names)
    return items


def margin_amount(comparison: Comparison) -> Message:
    """Return the size of the margin with its unit."""
    return difference(comparison.margin or 0.0, points=comparison.points, signed=False)


def show(comparison: Comparison, difference: float) -> Message:
    """Return a difference as the outcomes were sent."""
    sent = difference if comparison.prefers == "higher" else 0.0 - difference
    return _amount(amount(sent, binary=comparison.points))


def difference(value: float, *, points: bool, signed: bool = True) -> Message:
    """Return a difference with its unit; an unsigned one is a size."""
    text = amount(value, binary=points)
    return _amount(text if signed else text.lstrip("+"))


def interval(ci: Interval, *, points: bool, sign: int) -> Message:
    """Return both ends of an interval; `sign`: -1 where the outcomes were turned round."""
    level = level_text(ci.level)
    if ci.low is None or ci.high is None:
        return message("comparison.no_interval", level=level)
    least, most = (difference(end, points=points) for end in sorted((sign * ci.low, sign * ci.high)))
    return message("comparison.interval", level=level, low=least, high=most)


def _amount(text: str) -> Message:
    """Return a number with its unit."""
    value = text.removesuffix(" pp")
    return message("comparison.score" if value == text else "comparison.points", value=value)
