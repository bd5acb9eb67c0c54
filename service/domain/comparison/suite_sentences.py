"""What a comparison of a suite adds in words: the item-weighted difference, and the tasks that lost."""

from __future__ import annotations

from service.domain.comparison.records import Comparison
from service.domain.comparison.suites import heaviest, task_losses
from service.domain.faults import listed
from service.stats.shared.declaring.sentences import amount

NAMED = 3
"""Tasks that a sentence names."""
_NONE_LOSES = {
    "pass": " Every task is shown to lose less than the margin.",
    "fail": " Not every task loses less than the margin: one is shown to lose more.",
    "cannot_tell": " That every task loses less than the margin is not shown.",
}


def suite_sentence(comparison: Comparison) -> str:
    """To go on the outcome; empty without tasks. Of a comparison in which higher outcomes are better."""
    suite = comparison.suite
    if suite is None:
        return ""
    sign = 1.0 if comparison.prefers == "higher" else -1.0
    pooled = amount(sign * suite.item_weighted + 0.0, binary=comparison.points)
    told = f" Over all items alike, which is another quantity, the difference is {pooled}."
    if (
        suite.weights == "items"
        and suite.estimand == "these_tasks"
        and abs(suite.item_weighted - (comparison.delta or 0.0)) < 1e-12
    ):
        told = ""
    losses = suite.losses
    if losses is None:
        return told
    if losses.lost:
        told += f" Shown to have lost: {listed(losses.lost, len(losses.lost), NAMED)}."
    return told + ("" if losses.none_loses is None else _NONE_LOSES[losses.none_loses.outcome])


def suite_next(comparison: Comparison) -> str:
    """What to do now, where the tasks say more than the comparison does; else empty."""
    suite = comparison.suite
    if suite is None or "outcome" in comparison.reasons:
        return ""
    lost = task_losses(suite)
    if lost and comparison.outcome != "worse":
        names = listed(lost, len(lost), NAMED)
        tasks = "task" if len(lost) == 1 else "tasks"
        return f"Look at the items of {tasks} {names}, where a loss is shown, before anything is shipped."
    if suite.lacking:
        names = listed(suite.lacking, len(suite.lacking), NAMED)
        return f"Run {names} for both arms: a suite without a task is another suite."
    heavy = heaviest(suite)
    if comparison.outcome == "cannot_tell" and comparison.ci.low is not None and heavy is not None:
        return (
            f"Add items to {heavy[0]} first, whose error is {heavy[1]:.0%} of the suite's variance; decide once, on "
            "items that were planned."
        )
    return ""
