"""A verdict in plain English. Never says that there is no difference, and never more than the rule."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from service.domain.plans.plan import Plan
from service.domain.verdicts.equivalence_fallback import WIDER
from service.domain.verdicts.family import CLOSED, members
from service.domain.verdicts.joint import SharedSigns
from service.domain.verdicts.parts import EquivalenceFallback
from service.domain.verdicts.reading import IntervalRead
from service.domain.verdicts.records import HypothesisVerdict
from service.domain.verdicts.validity import Mark, flags
from service.domain.verdicts.words.facts import (
    ComparedP,
    Facts,
    OtherMargin,
    RatioShown,
    TestedEffect,
    facts_of,
    fallback_case,
)
from service.domain.verdicts.words.numbers import percentage, points, probability, score, times
from service.domain.verdicts.words.order import Language, told
from service.domain.verdicts.words.slices import slices_en


def multiplicity(plan: Plan, signs: SharedSigns | None = None) -> str:
    """What was done about several hypotheses; `signs` are those of `max_t`."""
    if plan.multiplicity is None:
        return "not declared"
    family = _counted(len(members(plan)), "hypothesis", "hypotheses")
    policy = plan.multiplicity.policy
    if policy == "none":
        return f"uncorrected: the policy is `none`, and the family has {family}"
    named = [
        each for name in members(plan) if (each := plan.hypothesis(name)) and each.equivalence is not None
    ]
    both = ", for their rules and the equivalence tests beside them" if named and policy in CLOSED else ""
    if signs is not None and signs.reason is not None:
        return f"holm over {family}: the policy is `{policy}`, and the family shares no signs, because {signs.reason}"
    how = ", by one random sign per item or cluster" if policy == "max_t" else ""
    return f"{policy} over {family}{both}{how}"


def sentence(
    plan: Plan, found: HypothesisVerdict, read: IntervalRead | None, marks: Sequence[Mark] = ()
) -> str:
    """Outcome, estimate, p-values, interval, margin, and what was not shown; then the marks it stands with."""
    flagged = (f"It is marked: {mark.says}." for mark in flags(marks, found.id))
    return " ".join([*told(_ENGLISH, found, read, facts_of(plan, found, read)), *flagged])


def _outcome(found: HypothesisVerdict) -> str:
    return f"{found.id} is {found.outcome.replace('_', ' ')}: {_why(found)}."


def _estimate(delta: float, found: HypothesisVerdict, facts: Facts) -> str:
    return (
        f"{found.candidate} minus {found.baseline} in {found.endpoint} on {found.population} is "
        f"{amount(delta, facts)} (n = {found.n}{_items(found, facts)})."
    )


def _effect(tested: TestedEffect, facts: Facts) -> str:
    q = 0.5 if tested.effect.q is None else tested.effect.q
    quantile = "median" if q == 0.5 else f"{q:g} quantile"
    what = {
        "means": "the means",
        "cluster_means": "the mean of the clusters' means, which weighs clusters alike",
        "ranks": "the ranks of the items' differences and their pseudo-median",
        "shift": "the order of the two arms' values and their shift",
        "quantiles": f"the {quantile}s of the arms",
        "quantile_of_differences": f"the {quantile} of the items' differences",
    }[tested.effect.kind]
    value = "" if tested.value is None else f" ({amount(tested.value, facts)})"
    return f"`{tested.test}` is about {what}{value}, not about the difference of means over items."


def _ratio(shown: RatioShown, found: HypothesisVerdict) -> str:
    level = "" if shown.level is None else f"{percentage(shown.level)} "
    if shown.low is None:
        interval = "no interval"
    elif shown.high is None:
        interval = f"{level}interval from {times(shown.low, *shown.apart)} on, without an upper end"
    else:
        low, high = (times(end, *shown.apart) for end in (shown.low, shown.high))
        interval = f"{level}interval {low} to {high}"
    n = "" if shown.n is None else f", n = {shown.n}"
    return (
        f"In {shown.endpoint}, {found.candidate} costs {times(shown.value, *shown.apart)} times as much as "
        f"{found.baseline} ({interval}{n})."
    )


def _unshown(size: float, facts: Facts) -> str:
    return (
        f"The rule asks the {amount(size, facts)} of the statement of the observed difference only: it does not test "
        "them."
    )


def _why(found: HypothesisVerdict) -> str:
    if found.outcome == "invalid":
        return f"it cannot be judged as planned, because {found.reason}"
    if found.rule_holds and found.reason:
        return f"the rule `{found.rule}` holds, but {found.reason}"
    if found.outcome == "inconclusive":
        return f"the rule cannot be decided ({found.reason})"
    if found.rule_holds:
        return f"the rule `{found.rule}` holds"
    failing = [f"`{clause.text}`" for clause in found.clauses if clause.holds is False]
    because = f" ({', '.join(failing)} {'does' if len(failing) == 1 else 'do'} not hold)" if failing else ""
    if found.outcome == "equivalent":
        return (
            f"the rule `{found.rule}` is false{because}, and the equivalence test that the plan names "
            "rejects differences beyond its margin"
        )
    return f"the rule `{found.rule}` is false{because}"


def _items(found: HypothesisVerdict, facts: Facts) -> str:
    """How many items were left out or filled in, and how."""
    parts = [f", {_counted(found.excluded.pairs, 'pair')} left out"] if found.excluded.pairs else []
    if found.excluded.filled:
        how = "against the claim"
        if found.claim == "equivalence":
            taken = "one way" if found.filled is None else f"for the {facts.favoured_by(found.filled)}"
            how = f"{taken}, and the rule read with them taken the other way too"
        parts.append(f", {found.excluded.filled} of them filled in {how}")
    return "".join(parts)


def _compared(each: ComparedP, found: HypothesisVerdict, facts: Facts) -> str:
    p = _p(each)
    adjusted = ""
    if each.unadjusted is not None:
        adjusted = (
            f", adjusted by {facts.policy} over {_counted(facts.size, 'hypothesis', 'hypotheses')} "
            f"({probability(each.unadjusted)} unadjusted)"
        )
    elif facts.uncorrected:
        adjusted = f", uncorrected for the {facts.uncorrected} hypotheses of its family"
    words = {
        ("<", True): "below",
        ("<", False): "not below",
        ("<=", True): "at most",
        ("<=", False): "above",
    }[each.operator, each.holds]
    signs = ""
    if each.signs is not None:
        chance = probability(each.signs, each.threshold)
        signs = f" (of the resamples alone; chance makes signs so uneven with probability {chance})"
    return f"`{each.field}`{_resting(found)} is {p}{signs}{adjusted}, {words} {each.threshold:g}."


def _resting(found: HypothesisVerdict) -> str:
    """Where a number rests on values that were filled in: how many."""
    return f", with the {found.excluded.filled} filled in," if found.excluded.filled else ""


def _p(each: ComparedP) -> str:
    return f"{'below ' if each.below else ''}{probability(each.p, each.threshold)}"


def _interval(read: IntervalRead, found: HypothesisVerdict, facts: Facts) -> str:
    low, high = (amount(end, facts) for end in (read.ends.low, read.ends.high))
    level = "" if read.level is None else f"{percentage(read.level)} "
    within = None if read.sesoi is None else margin_text(read.sesoi, facts)
    if read.reading in ("positive", "negative"):
        says = f"lies {'above' if read.reading == 'positive' else 'below'} 0"
        says += f", although also within {within}" if read.within_sesoi else ""
    elif read.reading == "equivalent":
        says = f"holds 0 and lies within {within}"
    elif read.ends.low is None or read.ends.high is None:
        says = "cannot tell, since an end is undefined"
    else:
        says = "cannot tell, since it holds 0" + (f" and does not lie within {within}" if within else "")
    return f"The {level}interval {read.of}{_resting(found)} runs from {low} to {high}: it {says}."


def _disagreement(facts: Facts, read: IntervalRead) -> str:
    assert facts.disagree is not None  # noqa: S101 - the caller asked
    why, each, method = facts.disagree
    level = percentage(read.level or 0)
    if why == "corrected":
        return f"They differ about 0 because the p-value is corrected and the interval keeps its own {level}."
    if why == "sides":
        return (
            f"They differ about 0 because `{each.field}` is one-sided and the {level} interval is two-sided."
        )
    if why == "levels":
        return (
            f"They differ about 0 because the interval is at {level} and the p-value is compared with "
            f"{each.threshold:g}."
        )
    return (
        f"They differ about 0 because they come from different methods: the interval from {read.method}, the p-value "
        f"from {method}."
    )


def _margin(facts: Facts) -> str:
    shown = facts.margin
    assert shown is not None  # noqa: S101 - the caller asked
    by = (
        f"the {percentage(shown.level)} interval {shown.by}"
        if shown.level is not None
        else f"the interval {shown.by}"
    )
    if shown.alpha is not None:
        by = f"{shown.by} at alpha = {shown.alpha:g}"
    if shown.low is None:
        return f"So differences of {amount(shown.high, facts)} or more are rejected, by {by}."
    if shown.high is None:
        return f"So differences of {amount(shown.low, facts)} or less are rejected, by {by}."
    if abs(shown.low + shown.high) <= 1e-12:
        return f"So differences beyond {margin_text(shown.high, facts)} are rejected, by {by}."
    outside = f"{amount(shown.low, facts)} to {amount(shown.high, facts)}"
    return f"So differences outside {outside} are rejected, by {by}."


def _other_margin(other: OtherMargin, facts: Facts) -> str:
    numbers = [] if other.sesoi is None else [f"the SESOI is {margin_text(other.sesoi, facts)}"]
    numbers += [] if other.stated is None else [f"the statement says {margin_text(other.stated, facts)}"]
    why = (
        "the plan gives no reason" if other.reason is None else f"the plan's reason: {_quoted(other.reason)}"
    )
    return f"The margin of {other.test} is {margin_text(other.margin, facts)}, while {' and '.join(numbers)} ({why})."


def _quoted(reason: str) -> str:
    """A reason of the plan inside a sentence: on one line, without its own full stop."""
    return " ".join(reason.split()).rstrip(".")


def _fallback(found: HypothesisVerdict, read: IntervalRead | None, facts: Facts) -> Iterator[str]:
    """What the equivalence test beside a false rule found."""
    fallback, case = facts.fallback, fallback_case(facts)
    if fallback is None or case is None or fallback.margin is None or fallback.alpha is None:
        return
    beyond = f"differences beyond {margin_text(fallback.margin, facts)}"
    filled = _filled(found, fallback, facts)
    over = f"{facts.policy} over {_counted(facts.size, 'hypothesis', 'hypotheses')}"
    adjusted = None if fallback.adjusted is None else probability(fallback.adjusted, fallback.alpha)
    own = None if fallback.p_value is None else probability(fallback.p_value, fallback.alpha)
    if case == "decided":
        level = percentage(1 - 2 * fallback.alpha)
        low, high = (amount(end, facts) for end in _ends(fallback))
        p = "" if adjusted is None else f" Its p-value is {adjusted} adjusted by {over} ({own} unadjusted)."
        alone = (
            f" It is uncorrected for the {facts.uncorrected} hypotheses of its family."
            if facts.uncorrected
            else ""
        )
        yield (
            f"D{beyond[1:]} are rejected at alpha = {fallback.alpha:g}: the {level} interval of {fallback.test} runs "
            f"from {low} to {high}{filled}.{p}{alone}"
        )
        if read is not None and read.reading == "inconclusive" and read.level is not None:
            if abs(read.level - (1 - 2 * fallback.alpha)) > 1e-9:
                yield (
                    f"Two one-sided tests at {fallback.alpha:g} read the {level} interval; that of {read.of} "
                    f"is at {percentage(read.level)}, which is why it cannot tell by itself."
                )
            else:
                yield f"The interval {read.of} comes from another method, which is why it cannot tell by itself."
    elif case == "uncovered":
        uncorrected = "" if fallback.reason == WIDER else "uncorrected for the other hypotheses "
        reason = fallback.reason if fallback.reason == WIDER else f"({fallback.reason})"
        yield (
            f"{fallback.test} rejects {beyond} at alpha = {fallback.alpha:g}{filled}, but {uncorrected}{reason}, so it "
            "decides nothing."
        )
    elif case == "corrected away" and adjusted is not None:
        yield (
            f"{fallback.test} alone rejects {beyond} at alpha = {fallback.alpha:g}{filled} (p = {own}), but not "
            f"adjusted by {over} (p = {adjusted})."
        )
    elif case == "not shown":
        yield f"{fallback.test} does not reject {beyond} at alpha = {fallback.alpha:g}{filled}."


def _filled(found: HypothesisVerdict, fallback: EquivalenceFallback, facts: Facts) -> str:
    """With how many filled in, and which way."""
    if fallback.way is None:
        return ""
    arm = facts.favoured_by(fallback.way)
    also = ", and so it does taken the other way" if fallback.equivalent else ""
    return f" with the {found.excluded.filled} filled in taken for the {arm}{also}"


def _ends(fallback: EquivalenceFallback) -> tuple[float | None, float | None]:
    return (None, None) if fallback.ci is None else (fallback.ci.low, fallback.ci.high)


def amount(value: float | None, facts: Facts) -> str:
    """A difference with its unit, on the side of 0 and of every threshold on which it lies."""
    if value is None:
        return "an undefined end"
    if math.isinf(value):
        return "infinity" if value > 0 else "minus infinity"
    return f"{points(value, *facts.apart)} pp" if facts.binary else score(value, *facts.apart)


def margin_text(value: float, facts: Facts) -> str:
    """A margin in both directions: `±2.00 pp`."""
    return f"±{amount(abs(value), facts).lstrip('+')}"


def _counted(count: int, one: str, many: str | None = None) -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def _slices(found: HypothesisVerdict, facts: Facts) -> Iterator[str]:
    if found.slices is not None:
        yield from slices_en(found.slices, binary=facts.binary)


_ENGLISH = Language(
    outcome=_outcome,
    void="Its clauses and tests stand on record, and no outcome rests on them.",
    estimate=_estimate,
    effect=_effect,
    ratio=_ratio,
    compared=_compared,
    interval=_interval,
    disagreement=_disagreement,
    margin=_margin,
    other_margin=_other_margin,
    unshown=_unshown,
    fallback=_fallback,
    slices=_slices,
    not_equal="This does not show that the arms are equal.",
)
