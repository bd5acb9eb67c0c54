"""What the equivalence test beside a false rule says, and whether that counts."""

from __future__ import annotations

from collections.abc import Iterator

from service.domain.verdicts.parts import WIDER, EquivalenceFallback
from service.domain.verdicts.reading import IntervalRead
from service.domain.verdicts.records import HypothesisVerdict
from service.domain.verdicts.words.facts import Facts, fallback_case
from service.domain.verdicts.words.numbers import amount, both_ways, percentage, probability
from service.domain.verdicts.words.reasons import reason_message
from service.words import Message, Value, message


def fallback_messages(verdict: HypothesisVerdict, facts: Facts) -> Iterator[Message]:
    """Yield the sentences about it; none where it says nothing."""
    fallback, case = facts.fallback, fallback_case(facts)
    if fallback is None or case is None or fallback.margin is None or fallback.alpha is None:
        return
    adjusted = None if fallback.adjusted is None else probability(fallback.adjusted, fallback.alpha)
    own = "None" if fallback.p_value is None else probability(fallback.p_value, fallback.alpha)
    family = message("verdicts.hypotheses", count=facts.size)
    shared: dict[str, Value] = {
        "test": fallback.test,
        "margin": both_ways(fallback.margin, facts),
        "alpha": f"{fallback.alpha:g}",
        "filled": _describe_filling(verdict, fallback, facts),
    }
    if case == "decided":
        low, high = (None, None) if fallback.ci is None else (fallback.ci.low, fallback.ci.high)
        yield message(
            "verdicts.fallback_decided",
            level=percentage(1 - 2 * fallback.alpha),
            low=amount(low, facts),
            high=amount(high, facts),
            **shared,
        )
        if adjusted is not None:
            yield message(
                "verdicts.fallback_adjusted",
                adjusted=adjusted,
                policy=str(facts.policy),
                family=family,
                unadjusted=own,
            )
        if facts.uncorrected:
            yield message("verdicts.fallback_uncorrected", count=facts.uncorrected)
        yield from _beside_interval(fallback.alpha, facts.read)
    elif case == "uncovered":
        key = "verdicts.fallback_wider" if fallback.reason == WIDER else "verdicts.fallback_uncovered"
        yield message(key, reason=reason_message(fallback.reason), **shared)
    elif case == "corrected away" and adjusted is not None:
        yield message(
            "verdicts.fallback_corrected_away",
            p=own,
            policy=str(facts.policy),
            family=family,
            adjusted=adjusted,
            **shared,
        )
    elif case == "not shown":
        yield message("verdicts.fallback_not_shown", **shared)


def _beside_interval(alpha: float, read: IntervalRead | None) -> Iterator[Message]:
    """Yield why the interval that the verdict reads cannot tell what the equivalence test tells."""
    if read is None or read.reading != "inconclusive" or read.level is None:
        return
    # two one-sided tests at alpha are read off an interval of level 1 - 2 alpha (Schuirmann 1987)
    if abs(read.level - (1 - 2 * alpha)) > 1e-9:
        yield message(
            "verdicts.fallback_levels",
            alpha=f"{alpha:g}",
            level=percentage(1 - 2 * alpha),
            of=read.of,
            other=percentage(read.level),
        )
    else:
        yield message("verdicts.fallback_methods", of=read.of)


def _describe_filling(verdict: HypothesisVerdict, fallback: EquivalenceFallback, facts: Facts) -> Value:
    """With how many results filled in, and in favour of which arm."""
    if fallback.way is None:
        return ""
    arm = message(f"verdicts.{facts.favoured_by(fallback.way)}")
    key = "verdicts.filled_both" if fallback.equivalent else "verdicts.filled_for"
    return message(key, count=verdict.excluded.filled, arm=arm)
