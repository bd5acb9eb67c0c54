"""A comparison in words: nothing that its interval does not carry."""

from __future__ import annotations

from service.domain.comparison.records import Comparison, More
from service.domain.faults import listed
from service.stats.shared.declaring.sentences import amount, level_text

STATUS = "exploratory: no plan was locked before these data"
NAMED = 3
"""Slices that the next step names."""
_CLAIMS = {"better": "show it better", "no_worse": "show it no worse", "worse": "show it worse"}


def sentence(comparison: Comparison, baseline: str, candidate: str) -> str:
    """The outcome, the difference with its interval, and what it leaves open.

    Of a comparison in which higher outcomes are better; where they were turned round the words turn them back.
    """
    if comparison.delta is None:
        return "Cannot tell: no item has a result in both arms."
    better, worse = _sides(comparison)
    numbers = f"{_show(comparison, comparison.delta)} ({_interval(comparison)}; {_size(comparison)})"
    if comparison.outcome == "better":
        lies = f"the interval lies {better} 0{_prefers(comparison)}"
        return f"Better: {candidate} differs from {baseline} by {numbers}; {lies}."
    if comparison.outcome == "no_worse":
        margin = "minus the margin" if comparison.prefers == "higher" else "the margin"
        return (
            f"No worse: {candidate} differs from {baseline} by {numbers}; the interval lies {better} "
            f"{_show(comparison, -(comparison.margin or 0.0))}, {margin}{_within(comparison)}{_prefers(comparison)}."
        )
    if comparison.outcome == "worse":
        return (
            f"Worse: {candidate} differs from {baseline} by {numbers}; the interval lies {worse} 0{_beyond(comparison)}"
            f"{_prefers(comparison)}."
        )
    opened = f"{_open(comparison)}{_prefers(comparison)}"
    return f"Cannot tell: {candidate} differs from {baseline} by {numbers}; {opened}.{_more(comparison)}"


def _sides(found: Comparison) -> tuple[str, str]:
    """Where better and worse lie."""
    return ("above", "below") if found.prefers == "higher" else ("below", "above")


def _prefers(found: Comparison) -> str:
    return "" if found.prefers == "higher" else " (lower is better)"


def next_step(comparison: Comparison, *, can_fail: bool = False) -> str:
    """What to do now. `can_fail`: what is missing in one arm could count as 0."""
    lock = "to claim it, lock a plan and run fresh items (forelock plan from BASE CAND)"
    if comparison.delta is None:
        return "Name where the item ids stand: arms are paired by id, never by position."
    if comparison.outcome != "worse" and (lost := _lost(comparison)):
        return f"Look at the items of {lost}, where a loss is shown, before anything is shipped; {lock}."
    if comparison.outcome == "better":
        return f"Ship it if the items are the ones that matter; {lock}."
    if comparison.outcome == "no_worse":
        return f"Ship it if a loss within the margin is acceptable; {lock}."
    if "outcome" in comparison.reasons:
        run = (
            "Run what has no result, or give both files the same items if the rest was never meant to be run"
        )
        return (
            f"{run}; --missing fail counts what is missing as {_failure(comparison)}."
            if can_fail
            else f"{run}."
        )
    if comparison.outcome == "worse":
        return "Keep the baseline; look at the items that only the baseline has right."
    if comparison.ci.low is None:
        return f"Add {comparison.unit}: {comparison.reasons.get('ci', 'these decide nothing')}."
    if comparison.more:
        return (
            f"Plan about {rounded_up(comparison.more[0].total)} {comparison.unit} and decide once, "
            "or lock a plan with looks; adding items until the answer is liked errs far more often than the level says."
        )
    return (
        "State a margin that you could live with before the next run, and plan its size (forelock resolve); this "
        "answer stays as it is."
    )


def _failure(found: Comparison) -> str:
    return "0" if found.prefers == "higher" else "the worst there can be"


def _lost(comparison: Comparison) -> str:
    """The slices that are shown to be worse, or to lose more than the margin, a few of them by name."""
    results = () if comparison.slices is None else comparison.slices.results
    names = [result.name for result in results if result.shown_worse or result.standing == "fail"]
    if not names:
        return ""
    return f"slice{'' if len(names) == 1 else 's'} {listed(names, len(names), NAMED)}"


def _within(comparison: Comparison) -> str:
    """What an interval on the better side of the margin says of 0."""
    better, worse = _sides(comparison)
    if comparison.worse:
        return f", and {worse} 0: a loss is shown, smaller than the margin"
    low, high = comparison.ci.low or 0.0, comparison.ci.high or 0.0
    if low > 0 or high < 0:
        side = better if low > 0 else worse
        if "outcome" in comparison.reasons:
            return f"; it is {side} 0 too, but there are {comparison.reasons['outcome']}"
        return f"; it is {side} 0 too, but the exact test does not reject equality, so no more is claimed"
    return "; it holds 0, so a gain is not shown"


def _open(comparison: Comparison) -> str:
    """What the interval does not rule out."""
    low, high = comparison.ci.low, comparison.ci.high
    if low is None or high is None:
        return comparison.reasons.get("ci", "the data decide nothing")
    better, worse = _sides(comparison)
    if "outcome" in comparison.reasons:
        side = f"lies {better} 0" if low > 0 else f"lies {worse} 0" if high < 0 else "holds 0"
        return f"the interval {side}, but there are {comparison.reasons['outcome']}"
    if low > 0 or high < 0:
        side = better if low > 0 else worse
        return f"the interval lies {side} 0, but the exact test does not reject equality"
    left = "neither a gain nor a loss is ruled out"
    if comparison.margin is None:
        return f"the interval holds 0: {left}"
    margin = _show(comparison, -comparison.margin)
    if low > -comparison.margin:
        return f"the interval lies {better} {margin}, but the exact test does not reject such a loss"
    return f"the interval holds 0 and reaches {margin}: {left}, nor is a loss of the margin"


def _beyond(comparison: Comparison) -> str:
    if comparison.margin is None or comparison.ci.high is None:
        return ""
    if comparison.ci.high < -comparison.margin:
        return f" and beyond the margin of {_margin(comparison)}"
    return f"; whether the loss is beyond the margin of {_margin(comparison)} is not told"


def _more(comparison: Comparison) -> str:
    if not comparison.more:
        return ""
    return " " + " ".join(_one(comparison, each) for each in comparison.more[:2])


def _one(comparison: Comparison, more: More) -> str:
    truth = (
        "there is no difference"
        if more.assuming == "no_difference"
        else f"the true difference is the observed {_show(comparison, more.truth)}"
    )
    unit = comparison.unit.removesuffix("s") if more.more == 1 else comparison.unit
    count, power = f"{rounded_up(more.more)} more {unit}", level_text(more.power)
    return f"About {count} would {_CLAIMS[more.claim]} with {power} power if {truth} (no promise)."


def rounded_up(count: int) -> int:
    """To two digits: the figure rests on an estimated spread."""
    step: int = 10 ** max(len(str(count)) - 2, 0)
    return -(-count // step) * step


def _interval(comparison: Comparison) -> str:
    low, high = comparison.ci.low, comparison.ci.high
    level = level_text(comparison.ci.level)
    if low is None or high is None:
        return f"no {level} interval"
    least, most = (low, high) if comparison.prefers == "higher" else (high, low)
    return f"{level} interval {_show(comparison, least)} to {_show(comparison, most)}"


def _size(comparison: Comparison) -> str:
    items, arms = _count(comparison.n, "item"), comparison.arms
    if arms is not None:
        items = f"{arms.n_candidate} items against {arms.n_baseline} others"
    if comparison.suite is not None:
        items += f" of {_count(comparison.suite.n_tasks, 'task')}"
    if comparison.n_clusters is not None:
        items += f" in {_count(comparison.n_clusters, 'cluster')}"
    if arms is not None and arms.covariates:
        items += f", adjusted by {listed(arms.covariates, len(arms.covariates), NAMED)}"
    return items


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _show(comparison: Comparison, difference: float) -> str:
    """A difference as the outcomes were sent."""
    return amount(
        difference if comparison.prefers == "higher" else 0.0 - difference, binary=comparison.points
    )


def _margin(comparison: Comparison) -> str:
    return amount(comparison.margin or 0.0, binary=comparison.points).lstrip("+")
