"""In which order a verdict is told. What each part says is a language's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from service.domain.verdicts.reading import IntervalRead
from service.domain.verdicts.records import HypothesisVerdict
from service.domain.verdicts.words.facts import ComparedP, Facts, OtherMargin, RatioShown, TestedEffect


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """The parts of a verdict's sentence, each with its full stop."""

    outcome: Callable[[HypothesisVerdict], str]
    void: str
    """Said of results that were judged and do not count."""
    estimate: Callable[[float, HypothesisVerdict, Facts], str]
    effect: Callable[[TestedEffect, Facts], str]
    """What a test of the rule is about, where that is not the estimate."""
    ratio: Callable[[RatioShown, HypothesisVerdict], str]
    compared: Callable[[ComparedP, HypothesisVerdict, Facts], str]
    interval: Callable[[IntervalRead, HypothesisVerdict, Facts], str]
    disagreement: Callable[[Facts, IntervalRead], str]
    margin: Callable[[Facts], str]
    other_margin: Callable[[OtherMargin, Facts], str]
    """A margin that is not the SESOI, or not the number of the statement."""
    unshown: Callable[[float, Facts], str]
    """The size in the statement that the rule does not test."""
    fallback: Callable[[HypothesisVerdict, IntervalRead | None, Facts], Iterator[str]]
    slices: Callable[[HypothesisVerdict, Facts], Iterator[str]]
    """What the plan asks of every slice."""
    not_equal: str
    """Said of what is not supported."""


def told(words: Language, found: HypothesisVerdict, read: IntervalRead | None, facts: Facts) -> Iterator[str]:
    """Outcome, estimate, p-values, interval, margin, and what was not shown."""
    yield words.outcome(found)
    if found.outcome == "invalid" and found.delta is not None:
        yield words.void
        return
    if found.delta is not None:
        yield words.estimate(found.delta, found, facts)
        yield from (words.effect(each, facts) for each in facts.effects)
        yield from (words.ratio(each, found) for each in facts.ratios)
    for each in facts.p_values:
        yield words.compared(each, found, facts)
    if read is not None:
        yield words.interval(read, found, facts)
    if facts.disagree is not None and read is not None:
        yield words.disagreement(facts, read)
    if facts.margin is not None:
        yield words.margin(facts)
    yield from (words.other_margin(each, facts) for each in facts.other_margins)
    if facts.unshown is not None:
        yield words.unshown(facts.unshown, facts)
    yield from words.fallback(found, read, facts)
    if found.outcome == "not_supported":
        yield words.not_equal
    yield from words.slices(found, facts)
