"""What a verdict says of one arm that is held against a number."""

from __future__ import annotations

from collections.abc import Iterator

from service.domain.verdicts.parts import HeldAgainst
from service.domain.verdicts.records import HypothesisVerdict
from service.domain.verdicts.words.facts import Facts
from service.domain.verdicts.words.numbers import amount, coverage, points, score
from service.words import Message, Value, list_values, message


def estimate_of_one_arm(
    verdict: HypothesisVerdict, reference: HeldAgainst, facts: Facts
) -> Iterator[Message]:
    """Yield the mean beside the reference, and what that number is where others published it."""
    if verdict.mean is not None and verdict.delta is not None:
        yield message(
            "verdicts.mean",
            candidate=verdict.candidate,
            endpoint=verdict.endpoint,
            population=verdict.population,
            mean=level(verdict.mean, facts, reference.value),
            amount=amount(verdict.delta, facts),
            reference=level(reference.value, facts),
            n=verdict.n,
            items=_items(verdict),
        )
    if reference.source is not None:
        source = " ".join(reference.source.split()).rstrip(".")
        own: Value = ""
        if reference.ci is not None and reference.n is not None:
            own = message(
                "verdicts.published_interval",
                n=reference.n,
                low=level(reference.ci.low, facts),
                high=level(reference.ci.high, facts),
            )
        yield message(
            "verdicts.published", reference=level(reference.value, facts), source=source, interval=own
        )


def corrections_of_one_arm(verdict: HypothesisVerdict, facts: Facts) -> Iterator[Message]:
    """Yield what people would say of the items, where a test corrects the judge by their labels."""
    for tested in facts.effects:
        if verdict.mean is None or tested.value is None or tested.effect.kind != "labelled_means":
            continue
        value = message("verdicts.parentheses", amount=level(tested.value, facts, *_apart(verdict)))
        yield message("verdicts.effect_labelled", test=tested.test, value=value)


def of_one_arm(verdict: HypothesisVerdict, facts: Facts) -> Iterator[Message]:
    """Yield the bounds and the interval that the rule asks for, and what a rule that is false does not show."""
    read = facts.read
    reference = level(None if verdict.reference is None else verdict.reference.value, facts)
    for bound in facts.bounds:
        yield message("verdicts.bound", field=bound.field, value=level(bound.value, facts, *_apart(verdict)))
    if read is not None:
        low, high = (level(end, facts, *_apart(verdict)) for end in (read.ends.low, read.ends.high))
        says = message(f"verdicts.reference_{read.reading}", reference=reference)
        resting = (
            message("verdicts.resting", count=verdict.excluded.filled) if verdict.excluded.filled else ""
        )
        yield message(
            "verdicts.interval",
            level=coverage(read.level),
            of=read.of,
            resting=resting,
            low=low,
            high=high,
            says=says,
        )
    if verdict.outcome == "not_supported":
        beyond = "negative" if facts.good > 0 else "positive"
        if read is None or read.reading != beyond:
            yield message("verdicts.not_short", reference=reference)


def against(verdict: HypothesisVerdict, facts: Facts) -> Value:
    """Return what the candidate is held against: the other arm, or the reference."""
    if verdict.reference is not None:
        return level(verdict.reference.value, facts)
    return str(verdict.baseline)


def shows_short(verdict: HypothesisVerdict, facts: Facts) -> bool:
    """Tell whether a claim that does not hold is denied: the interval lies on the bad side of the reference."""
    read = facts.read
    beyond = "negative" if facts.good > 0 else "positive"
    return verdict.outcome == "not_supported" and read is not None and read.reading == beyond


def figures_of_one_arm(verdict: HypothesisVerdict, facts: Facts) -> Message | None:
    """Return the mean, with the interval that the verdict reads where it is of the mean."""
    read = facts.read
    value = verdict.mean
    if facts.about == "labels":
        # what people would say comes first; what the judge says stands in the sentences
        value = next(
            (tested.value for tested in facts.effects if tested.effect.kind == "labelled_means"), value
        )
    if value is None:
        return None
    interval: Value = ""
    if (
        read is not None
        and facts.about in ("mean", "labels")
        and read.ends.low is not None
        and read.ends.high is not None
    ):
        low, high = (level(end, facts, *_apart(verdict)) for end in (read.ends.low, read.ends.high))
        interval = message(
            "headlines.ci", level=coverage(read.level), span=message("headlines.span", low=low, high=high)
        )
    mean = level(value, facts, *_apart(verdict))
    label = message("headlines.of_labelled_means" if facts.about == "labels" else "headlines.of_one_arm")
    return message("headlines.estimate", label=label, amount=mean, interval=interval)


def open_of_one_arm(verdict: HypothesisVerdict, facts: Facts) -> Value:
    """Return what was not shown of one arm."""
    if verdict.reference is None:
        return ""
    reference = level(verdict.reference.value, facts)
    if verdict.outcome == "not_supported":
        return "" if shows_short(verdict, facts) else message("headlines.open_short", reference=reference)
    if verdict.reference.source is not None:
        return message("headlines.open_published", reference=reference)
    if facts.estimand == "these_items":
        return message("headlines.open_other_items")
    return ""


def level(value: float | None, facts: Facts, *apart: float) -> Value:
    """Return a mean, or an end of its interval, on the side of every number of `apart` on which it lies: `95.0%`."""
    if value is None:
        return message("verdicts.undefined_end")
    if facts.binary:
        return f"{points(value, *apart).lstrip('+')}%"
    return score(value, *apart).lstrip("+")


def _apart(verdict: HypothesisVerdict) -> tuple[float, ...]:
    """Return the reference, and every threshold that a clause has."""
    limits = (clause.threshold for clause in verdict.clauses)
    known = [
        float(limit) for limit in limits if isinstance(limit, float | int) and not isinstance(limit, bool)
    ]
    return (*([] if verdict.reference is None else [verdict.reference.value]), *known)


def _items(verdict: HypothesisVerdict) -> Value:
    """Return how many items were left out or filled in."""
    parts = []
    if verdict.excluded.pairs:
        parts.append(message("verdicts.items_left_out", count=verdict.excluded.pairs))
    if verdict.excluded.filled:
        against = message("verdicts.against_claim")
        parts.append(message("verdicts.filled_in", count=verdict.excluded.filled, how=against))
    return list_values(parts)
