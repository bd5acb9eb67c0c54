"""What a comparison of a suite adds in words: the item-weighted difference, and the tasks that lost."""

from __future__ import annotations

from service.domain.comparison.records import Comparison
from service.domain.comparison.sentences import difference, format_names
from service.domain.comparison.suites import heaviest, task_losses
from service.words import Message, message, speak

NAMED = 3
"""Tasks that a sentence names."""


def suite_messages(comparison: Comparison) -> list[Message]:
    """Say what goes with the outcome; nothing without tasks. Higher outcomes are better in the comparison."""
    suite = comparison.suite
    if suite is None:
        return []
    sign = 1.0 if comparison.prefers == "higher" else -1.0
    same = (
        suite.weights == "items"
        and suite.estimand == "these_tasks"
        and abs(suite.item_weighted - (comparison.delta or 0.0)) < 1e-12
    )
    pooled = difference(sign * suite.item_weighted + 0.0, points=comparison.points)
    messages = [] if same else [message("comparison.suite_pooled", pooled=pooled)]
    losses = suite.losses
    if losses is None:
        return messages
    if losses.lost:
        messages.append(message("comparison.suite_lost", names=format_names(losses.lost, NAMED)))
    if losses.none_loses is not None:
        messages.append(message(f"comparison.none_loses_{losses.none_loses.outcome}"))
    return messages


def suite_next(comparison: Comparison) -> str:
    """Return what to do now, where the tasks say more than the comparison does; else empty."""
    suite = comparison.suite
    if suite is None or "outcome" in comparison.reasons:
        return ""
    lost = task_losses(suite)
    if lost and comparison.outcome != "worse":
        key = "look_at_task" if len(lost) == 1 else "look_at_tasks"
        return speak(f"comparison.{key}", names=format_names(lost, NAMED))
    if suite.lacking:
        return speak("comparison.run_tasks", names=format_names(suite.lacking, NAMED))
    heavy = heaviest(suite)
    if comparison.outcome == "cannot_tell" and comparison.ci.low is not None and heavy is not None:
        return speak("comparison.add_to_task", name=heavy[0], share=heavy[1])
    return ""
