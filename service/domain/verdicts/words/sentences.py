"""A verdict in plain sentences. Never says that there is no difference, and never more than the rule.

What is said is found once, as messages; the catalogues have the words of every language. The English sentence is stored
with the verdict; those of other languages are made when it is read, and so are not hashed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from service.domain.decision.family import CLOSED
from service.domain.decision.members import members
from service.domain.plans.plan import Plan
from service.domain.rules.settings import Setting
from service.domain.verdicts.joint import SharedSigns
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
)
from service.domain.verdicts.words.fallbacks import fallback_messages
from service.domain.verdicts.words.numbers import amount, both_ways, coverage, percentage, probability, times
from service.domain.verdicts.words.one_arm import corrections_of_one_arm, estimate_of_one_arm, of_one_arm
from service.domain.verdicts.words.reasons import reason_message, reason_of
from service.domain.verdicts.words.selection import selection_messages
from service.domain.verdicts.words.slices import slice_messages
from service.domain.verdicts.words.suites import suite_messages
from service.words import Language, Listed, Message, Value, list_values, message

ASKS_MORE = ("superiority", "minimum_effect")
"""Claims that the candidate is the better one."""

RELATIONS = {
    ("<", True): "verdicts.below",
    ("<", False): "verdicts.not_below",
    ("<=", True): "verdicts.at_most",
    ("<=", False): "verdicts.above",
}
"""How a p-value stands to its threshold, by the clause's operator and whether it holds."""


def sentence(
    setting: Setting, verdict: HypothesisVerdict, marks: Sequence[Mark] = (), language: Language = "en"
) -> str:
    """Outcome, estimate, p-values, interval, margin, and what was not shown; then the marks it stands with."""
    flagged = (
        message("verdicts.marked", mark=reason_message(mark.says)) for mark in flags(marks, verdict.id)
    )
    return list_values([*_messages(setting, verdict), *flagged], "lists.sentences").text(language)


def multiplicity(plan: Plan, signs: SharedSigns | None = None) -> str:
    """What was done about several hypotheses, in English as a verdict stores it; `signs` are those of `max_t`."""
    if plan.multiplicity is None:
        return message("multiplicity.not_declared").text("en")
    policy, family = plan.multiplicity.policy, message("multiplicity.family", count=len(members(plan)))
    if policy == "none":
        return message("multiplicity.uncorrected", family=family).text("en")
    if signs is not None and signs.reason is not None:
        return message("multiplicity.apart", family=family, policy=policy, reason=signs.reason).text("en")
    with_fallback = [
        hypothesis
        for name in members(plan)
        if (hypothesis := plan.hypothesis(name)) and hypothesis.equivalence is not None
    ]
    key = "multiplicity.both" if with_fallback and policy in CLOSED else "multiplicity.rules"
    signed = "_by_signs" if policy == "max_t" else ""
    return message(f"{key}{signed}", policy=policy, family=family).text("en")


def _messages(setting: Setting, verdict: HypothesisVerdict) -> Iterator[Message]:
    """Yield the sentences in their order."""
    facts = facts_of(setting, verdict)
    hypothesis, outcome = verdict.id, message(f"verdicts.{verdict.outcome}")
    yield message("verdicts.outcome", hypothesis=hypothesis, outcome=outcome, why=_why(verdict))
    if verdict.outcome == "invalid" and verdict.delta is not None:
        yield message("verdicts.void")
        return
    if facts.about != "mean":
        yield message("verdicts.about", what=message(f"verdicts.about_{facts.about}"))
    if verdict.reference is not None:
        yield from estimate_of_one_arm(verdict, verdict.reference, facts)
        yield from corrections_of_one_arm(verdict, facts)
    elif verdict.delta is not None:
        yield _estimate(verdict.delta, verdict, facts)
        if facts.about != "mean" and facts.good * verdict.delta < 0 and verdict.claim in ASKS_MORE:
            yield message("verdicts.otherwise_labels" if facts.about == "labels" else "verdicts.otherwise")
        yield from (_effect(effect, facts) for effect in facts.effects)
        yield from (_ratio(ratio, verdict) for ratio in facts.ratios)
    if verdict.delta is not None:
        yield from suite_messages(setting, verdict, facts)
    for p_value in facts.p_values:
        yield _describe_p(p_value, verdict, facts)
    if facts.estimand is not None and verdict.delta is not None:
        yield message(f"verdicts.{facts.estimand}", n=verdict.n)
    if verdict.reference is not None:
        yield from of_one_arm(verdict, facts)
        yield from selection_messages(verdict, facts)
        return
    if facts.read is not None:
        yield _interval(facts.read, verdict, facts)
        yield from _disagreement(facts, facts.read)
    yield from _margin(facts)
    yield from (_other_margin(other_margin, facts) for other_margin in facts.other_margins)
    if facts.unshown is not None:
        yield message("verdicts.unshown", amount=amount(facts.unshown, facts))
    yield from fallback_messages(verdict, facts)
    yield from selection_messages(verdict, facts)
    if verdict.outcome == "not_supported":
        yield message("verdicts.not_equal")
    if verdict.slices is not None:
        yield from slice_messages(verdict.slices, binary=facts.binary)


def _why(verdict: HypothesisVerdict) -> Message:
    """Say why the verdict is what it is: what the rule came to, by which clauses, or that it could not be decided."""
    if verdict.outcome == "invalid":
        return message("verdicts.cannot_be_judged", reason=reason_message(verdict.reason))
    if verdict.rule_holds and verdict.reason:
        return message("verdicts.holds_but", rule=verdict.rule, reason=reason_message(verdict.reason))
    if verdict.outcome == "inconclusive":
        return message("verdicts.cannot_be_decided", clauses=reason_of(verdict))
    if verdict.rule_holds:
        return message("verdicts.rule_holds", rule=verdict.rule)
    failing = [clause.text for clause in verdict.clauses if clause.holds is False]
    false = message("verdicts.rule_false", rule=verdict.rule)
    if failing:
        codes = list_values((message("verdicts.code", text=text) for text in failing), "lists.comma")
        false = message("verdicts.rule_false_by", rule=verdict.rule, clauses=codes, count=len(failing))
    return message("verdicts.equivalent_beside", false=false) if verdict.outcome == "equivalent" else false


def _estimate(delta: float, verdict: HypothesisVerdict, facts: Facts) -> Message:
    """Say the difference between the arms, on which endpoint, population and items."""
    return message(
        "verdicts.estimate",
        candidate=verdict.candidate,
        baseline=str(verdict.baseline),
        endpoint=verdict.endpoint,
        population=verdict.population,
        amount=amount(delta, facts),
        n=verdict.n,
        items=_items(verdict, facts),
    )


def _items(verdict: HypothesisVerdict, facts: Facts) -> Listed:
    """Return how many items were left out or filled in, and how."""
    parts = [message("verdicts.left_out", count=verdict.excluded.pairs)] if verdict.excluded.pairs else []
    if verdict.excluded.filled:
        how = message("verdicts.against_claim")
        if verdict.claim == "equivalence":
            how = message("verdicts.one_way")
            if verdict.filled is not None:
                how = message(
                    "verdicts.for_arm", arm=message(f"verdicts.{facts.favoured_by(verdict.filled)}")
                )
        parts.append(message("verdicts.filled_in", count=verdict.excluded.filled, how=how))
    return list_values(parts)


def _effect(tested: TestedEffect, facts: Facts) -> Message:
    """Say which effect a test is about that is not the difference of means, with its value."""
    q = 0.5 if tested.effect.q is None else tested.effect.q
    quantile = message("verdicts.median") if q == 0.5 else message("verdicts.quantile", q=f"{q:g}")
    what = message(f"verdicts.{tested.effect.kind}", quantile=quantile)
    value = (
        "" if tested.value is None else message("verdicts.parentheses", amount=amount(tested.value, facts))
    )
    if tested.effect.kind == "labelled_means":
        return message("verdicts.effect_labelled", test=tested.test, value=value)
    return message("verdicts.effect", test=tested.test, what=what, value=value)


def _ratio(ratio: RatioShown, verdict: HypothesisVerdict) -> Message:
    """Say a ratio of means with its interval, which may have no upper end."""
    interval = message("verdicts.no_interval")
    if ratio.low is not None:
        key = "verdicts.open_interval" if ratio.high is None else "verdicts.closed_interval"
        high = "" if ratio.high is None else times(ratio.high, *ratio.apart)
        interval = message(key, level=coverage(ratio.level), low=times(ratio.low, *ratio.apart), high=high)
    return message(
        "verdicts.ratio",
        endpoint=ratio.endpoint,
        candidate=verdict.candidate,
        baseline=str(verdict.baseline),
        times=times(ratio.value, *ratio.apart),
        interval=interval,
        n="" if ratio.n is None else message("verdicts.ratio_n", n=ratio.n),
    )


def _describe_p(compared: ComparedP, verdict: HypothesisVerdict, facts: Facts) -> Message:
    """Say a p-value against its threshold, whether it was adjusted and from what, and how rare its signs are."""
    p: Value = probability(compared.p, compared.threshold)
    adjusted: Value = ""
    if compared.unadjusted is not None:
        adjusted = message(
            "verdicts.adjusted",
            policy=str(facts.policy),
            family=message("verdicts.hypotheses", count=facts.size),
            unadjusted=probability(compared.unadjusted),
        )
    elif facts.uncorrected:
        adjusted = message("verdicts.uncorrected", count=facts.uncorrected)
    chance = None if compared.signs is None else probability(compared.signs, compared.threshold)
    return message(
        "verdicts.compared",
        field=compared.field,
        resting=_resting(verdict),
        p=message("verdicts.below_p", p=p) if compared.below else p,
        signs="" if chance is None else message("verdicts.signs", chance=chance),
        adjusted=adjusted,
        relation=message(RELATIONS[compared.operator, compared.holds]),
        threshold=f"{compared.threshold:g}",
    )


def _resting(verdict: HypothesisVerdict) -> Value:
    """Return how many of the values that a number rests on were filled in."""
    return message("verdicts.resting", count=verdict.excluded.filled) if verdict.excluded.filled else ""


def _interval(read: IntervalRead, verdict: HypothesisVerdict, facts: Facts) -> Message:
    """Say the locked interval, and how it reads."""
    return message(
        "verdicts.interval",
        level=coverage(read.level),
        of=read.of,
        resting=_resting(verdict),
        low=amount(read.ends.low, facts),
        high=amount(read.ends.high, facts),
        says=_reading(read, facts),
    )


def _reading(read: IntervalRead, facts: Facts) -> Message:
    """Return what an interval says of 0 and of the SESOI."""
    margin = "" if read.sesoi is None else both_ways(read.sesoi, facts)
    if read.reading in ("positive", "negative"):
        says = message(f"verdicts.{read.reading}")
        return message("verdicts.also_within", says=says, margin=margin) if read.within_sesoi else says
    if read.reading == "equivalent":
        return message("verdicts.within", margin=margin)
    if read.ends.low is None or read.ends.high is None:
        return message("verdicts.end_undefined")
    return message("verdicts.holds_0_not_within", margin=margin) if margin else message("verdicts.holds_0")


def _disagreement(facts: Facts, read: IntervalRead) -> Iterator[Message]:
    """Say why an interval and a p-value that belong together point to different sides, where they do."""
    if facts.disagree is None:
        return
    why, compared, method = facts.disagree
    yield message(
        f"verdicts.differ_{why}",
        level=percentage(read.level or 0),
        field=compared.field,
        threshold=f"{compared.threshold:g}",
        interval=str(read.method),
        p=method,
    )


def _margin(facts: Facts) -> Iterator[Message]:
    """Yield which differences a true rule rejects, and by what."""
    margin = facts.margin
    if margin is None:
        return
    by = message("verdicts.by_interval", level=coverage(margin.level), of=margin.by)
    if margin.alpha is not None:
        by = message("verdicts.by_test", test=margin.by, alpha=f"{margin.alpha:g}")
    low, high = amount(margin.low, facts), amount(margin.high, facts)
    if margin.low is None:
        yield message("verdicts.rejects_or_more", high=high, by=by)
    elif margin.high is None:
        yield message("verdicts.rejects_or_less", low=low, by=by)
    elif abs(margin.low + margin.high) <= 1e-12:
        yield message("verdicts.rejects_beyond", margin=both_ways(margin.high, facts), by=by)
    else:
        yield message("verdicts.rejects_outside", low=low, high=high, by=by)


def _other_margin(other: OtherMargin, facts: Facts) -> Message:
    """Say that a test asks with another margin than the SESOI or the statement, and the plan's reason."""
    margins = {"sesoi": other.sesoi, "stated": other.stated}
    those = {
        name: message(f"verdicts.other_{name}", margin=both_ways(value, facts))
        for name, value in margins.items()
        if value is not None
    }
    others = message("verdicts.other_both", **those) if len(those) == 2 else list_values(those.values())
    why = message("verdicts.no_reason")
    if other.reason is not None:
        # a reason of the plan stands inside a sentence: on one line, without its own full stop
        why = message("verdicts.plan_reason", reason=" ".join(other.reason.split()).rstrip("."))
    margin = both_ways(other.margin, facts)
    return message("verdicts.other_margin", test=other.test, margin=margin, others=others, why=why)
