"""What the sentences of a verdict say, before it is said in any language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from service.domain.decision.members import asks_small_p
from service.domain.plans.plan import Plan
from service.domain.plans.sections.endpoint import Estimand
from service.domain.plans.sections.hypothesis import About
from service.domain.rules.answers import Analysis, Answer
from service.domain.rules.claims.about import effect_of
from service.domain.rules.claims.claim import good_direction
from service.domain.rules.claims.clauses import CLUSTER_WEIGHTED, meaning_of, weighs_clusters
from service.domain.rules.claims.margins import margins_of
from service.domain.rules.fields import EFFECT_FIELDS
from service.domain.rules.grammar import parse
from service.domain.rules.rule import Clause, Comparison, Is, Within, quantities
from service.domain.rules.settings import Setting
from service.domain.verdicts.parts import EquivalenceFallback, FamilyP, Span
from service.domain.verdicts.reading import INTERVALS, IntervalRead, read_interval
from service.domain.verdicts.records import ClauseVerdict, HypothesisVerdict
from service.domain.verdicts.shortfall import size_unshown
from service.domain.verdicts.worst_case import Way
from service.stats.shared.declaring.shows import Bounded, Effect, Side

Why = Literal["corrected", "sides", "levels", "methods"]
"""Why an interval and a test disagree about 0."""


@dataclass(frozen=True, slots=True)
class ComparedP:
    """A p-value that a clause compared with its threshold."""

    field: str
    p: float
    below: bool
    """True: the p-value is known as a bound, below `p`."""
    signs: float | None
    """The chance of signs so uneven, where p lies beyond every resample."""
    unadjusted: float | None
    operator: Literal["<", "<="]
    threshold: float
    holds: bool


@dataclass(frozen=True, slots=True)
class ShownMargin:
    """Differences that a true rule rejects: those not between `low` and `high`."""

    low: float | None
    """None: differences are rejected above alone."""
    high: float | None
    """None: differences are rejected below alone."""
    by: str
    level: float | None
    """Of the interval that lies between them."""
    alpha: float | None
    """Of the tests, where tests reject them."""


@dataclass(frozen=True, slots=True)
class RatioShown:
    """How many times as much the candidate has of an endpoint, by a test that the rule asks."""

    endpoint: str
    value: float
    low: float | None
    high: float | None
    """None: no interval, or without an upper end where `low` is known."""
    level: float | None
    n: int | None
    apart: tuple[float, ...]
    """1 and thresholds: what a printed ratio must not cross."""


@dataclass(frozen=True, slots=True)
class OtherMargin:
    """A margin of a test that is not the SESOI, or not the number of the statement; all in the endpoint's unit."""

    test: str
    margin: float
    sesoi: float | None
    """Where it is not this."""
    stated: float | None
    """Where it is not this, which the statement names."""
    reason: str | None
    """As the plan gives it."""


@dataclass(frozen=True, slots=True)
class TestedEffect:
    """What a test of the rule is about, where that is not the difference of means that a verdict leads with."""

    __test__ = False

    test: str
    effect: Effect
    value: float | None
    """As the test estimates it."""


@dataclass(frozen=True, slots=True)
class BoundShown:
    """A bound that a clause compared with its threshold: every item is right at least so often."""

    field: str
    value: float


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that a sentence says beside the rule and the estimate."""

    read: IntervalRead | None
    """The interval that the verdict reads."""
    binary: bool
    p_values: tuple[ComparedP, ...]
    policy: str | None
    """Of the family, where its p-values were adjusted."""
    uncorrected: int
    """Hypotheses of a family whose policy is `none`; 0 where there is one, or a correction."""
    size: int
    """Hypotheses in the family."""
    margin: ShownMargin | None
    fallback: EquivalenceFallback | None
    decided: bool
    """The equivalence test decided the outcome."""
    unshown: float | None
    """The size that the statement names, with its sign, where what holds does not show it of the true difference."""
    disagree: tuple[Why, ComparedP, str] | None
    """Why the interval and this p-value disagree about 0, and the method of the test."""
    apart: tuple[float, ...]
    """0, the SESOI and thresholds: what a printed difference must not cross."""
    ratios: tuple[RatioShown, ...] = ()
    good: Side = 1
    """-1 where less is better."""
    effects: tuple[TestedEffect, ...] = ()
    other_margins: tuple[OtherMargin, ...] = ()
    about: About = "mean"
    """What the claim is about."""
    estimand: Estimand | None = None
    """Which items the plan says that claims speak of."""
    bounds: tuple[BoundShown, ...] = ()
    """Bounds that a rule about one arm asks for."""

    def favoured_by(self, way: Way) -> Literal["candidate", "baseline"]:
        """Return the arm that results are taken for where they raise the difference (`up`) or lower it."""
        return "candidate" if (way == "up") == (self.good > 0) else "baseline"


def adjusted_by(member: FamilyP) -> str:
    """Return the policy that adjusted a p-value: Holm's where `max_t` found no signs that the family shares."""
    apart = member.joint is not None and member.joint.reason is not None
    return "holm" if apart else member.policy


def facts_of(setting: Setting, verdict: HypothesisVerdict) -> Facts:
    """Return the facts of a hypothesis' verdict, of this version or an earlier one."""
    plan, read = setting.plan, read_interval(setting, verdict.analyses, filled=verdict.excluded.filled > 0)
    endpoint = plan.endpoint(verdict.endpoint)
    # Parsed from the text: a verdict of an earlier version may have other clauses than its rule gives today.
    judged_clauses = [(cast("Clause", parse(judged.text)), judged) for judged in verdict.clauses]
    clauses = [pair for pair in judged_clauses if isinstance(pair[0], Comparison | Within | Is)]
    compared = tuple(_compare_p_values(verdict, clauses))
    others = {test for test in verdict.analyses if plan.reads(test, verdict.endpoint) != verdict.endpoint}
    own = [(clause, judged) for clause, judged in clauses if clause.field.test not in others]
    own_p = tuple(p_value for p_value in compared if p_value.field.partition(".")[0] not in others)
    member = verdict.family
    policy = None if member is None or member.policy == "none" else adjusted_by(member)
    fallback = verdict.fallback or _earlier_fallback(setting, verdict)
    decided = verdict.outcome == "equivalent" and not verdict.rule_holds and fallback is not None
    size = 1 if member is None else member.size
    margins = tuple(_other_margins(setting))
    return Facts(
        read=read,
        binary=endpoint is not None and endpoint.kind == "binary",
        p_values=compared,
        policy=policy,
        uncorrected=size if member is not None and policy is None and size > 1 else 0,
        size=size,
        margin=_margin_of(verdict, own, good_direction(endpoint)),
        fallback=fallback if verdict.rule_holds is False and verdict.outcome != "invalid" else None,
        decided=decided,
        unshown=size_unshown(setting, verdict, {clause: judged.holds for clause, judged in judged_clauses}),
        disagree=_disagreement(verdict, own_p, read),
        apart=tuple(dict.fromkeys([*_apart(judged_clauses, read, fallback, others), *_limits(margins)])),
        ratios=tuple(_ratios(plan, verdict, clauses)),
        good=good_direction(endpoint),
        effects=tuple(_effects(setting, verdict)),
        other_margins=margins,
        about=setting.hypothesis.about or "mean",
        estimand=None if endpoint is None else endpoint.estimand,
        bounds=tuple(_bounds(setting, verdict)),
    )


def _bounds(setting: Setting, verdict: HypothesisVerdict) -> Iterator[BoundShown]:
    for clause in setting.clauses:
        use = setting.use_of(clause)
        if use is None or not isinstance(meaning_of(use, clause.field.path)[0], Bounded):
            continue
        value = Answer.of(verdict.analyses, use.use.id).observe(*clause.field.path).value
        if isinstance(value, float | int) and not isinstance(value, bool):
            yield BoundShown(str(clause.field), float(value))


def _limits(margins: tuple[OtherMargin, ...]) -> Iterator[float]:
    for margin in margins:
        yield from (
            sign * value
            for value in (margin.margin, margin.sesoi, margin.stated)
            if value
            for sign in (-1, 1)
        )


def _other_margins(setting: Setting) -> Iterator[OtherMargin]:
    """Of the tests that the rule, or the equivalence test beside it, rests on."""
    for margin in margins_of(setting.plan, setting):
        if margin.differs and not margin.use.beside:
            yield OtherMargin(
                margin.use.use.id,
                float(margin.value),
                float(margin.sesoi) if margin.from_sesoi and margin.sesoi is not None else None,
                float(margin.stated) if margin.from_statement and margin.stated is not None else None,
                margin.reason,
            )


def _effects(setting: Setting, verdict: HypothesisVerdict) -> Iterator[TestedEffect]:
    """Of the tests on the hypothesis' own endpoint, in order of mention."""
    effects: dict[str, TestedEffect] = {}
    for clause in setting.clauses:
        use = setting.use_of(clause)
        if use is None or use.beside or use.use.id in effects:
            continue
        analysis, effect = Answer.of(verdict.analyses, use.use.id).analysis, effect_of(use)
        if weighs_clusters(use, clause):
            weighs_both = isinstance(analysis.member("estimates"), Mapping)
            own = analysis.number(*(("estimates", CLUSTER_WEIGHTED) if weighs_both else ("delta",)))
            effects[use.use.id] = TestedEffect(use.use.id, Effect("cluster_means"), own)
        elif not effect.of_means:
            own = analysis.number("delta" if verdict.reference is None else "estimate")
            effects[use.use.id] = TestedEffect(use.use.id, effect, own)
    yield from effects.values()


def _ratios(
    plan: Plan, verdict: HypothesisVerdict, clauses: list[tuple[Any, ClauseVerdict]]
) -> Iterator[RatioShown]:
    """Yield the ratios of means that tests estimate, with the thresholds that printed digits must not reach."""
    for test in verdict.analyses:
        analysis = Answer.of(verdict.analyses, test).analysis
        value, ci = analysis.number("ratio", "value"), analysis.interval("ratio", "ci")
        if value is None or ci is None:
            continue
        limits = [
            float(quantity.exact())
            for clause, _ in clauses
            if clause.field.test == test and clause.field.path[0] == "ratio"
            for quantity in quantities(clause)
        ]
        yield RatioShown(
            endpoint=plan.reads(test, verdict.endpoint),
            value=value,
            low=ci.low,
            high=ci.high,
            level=ci.level,
            n=analysis.count("n"),
            apart=(0.0, 1.0, *limits),
        )


def _compare_p_values(
    verdict: HypothesisVerdict, clauses: list[tuple[Any, ClauseVerdict]]
) -> Iterator[ComparedP]:
    """Yield the p-values that decided a clause, with their thresholds."""
    for clause, judged in clauses:
        known = isinstance(judged.observed, float | int) and not isinstance(judged.observed, bool)
        if not asks_small_p(clause) or judged.holds is None or not known:
            continue
        answer = Answer.of(verdict.analyses, clause.field.test)
        yield ComparedP(
            field=str(clause.field),
            p=float(judged.observed),  # type: ignore[arg-type]
            below=answer.analysis.is_bound(clause.field.path),
            signs=answer.beyond_resamples(*clause.field.path),
            unadjusted=judged.unadjusted,
            operator=clause.operator,
            threshold=float(clause.value.exact()),
            holds=judged.holds,
        )


def _margin_of(
    verdict: HypothesisVerdict, clauses: list[tuple[Any, ClauseVerdict]], good: Side
) -> ShownMargin | None:
    """Return what a true rule of a claim with a margin rejects."""
    if not verdict.rule_holds or verdict.outcome not in ("supported", "equivalent"):
        return None
    if verdict.claim == "equivalence":
        return _margin(verdict, clauses)
    return _one_sided(verdict, clauses, good)


def _one_sided(
    verdict: HypothesisVerdict, clauses: list[tuple[Any, ClauseVerdict]], good: Side
) -> ShownMargin | None:
    """Return the margin of a test that shows no loss, or an effect beyond it. Intervals name theirs in the rule."""
    field, side = {"non_inferiority": ("noninferior", -good), "minimum_effect": ("minimum_effect", good)}.get(
        verdict.claim, ("", 0)
    )
    for clause, judged in clauses:
        analysis, path = Answer.of(verdict.analyses, clause.field.test).analysis, clause.field.path
        margin, test = analysis.number("margin"), clause.field.test
        if judged.holds is not True or margin is None or test is None or not field:
            continue
        by = None
        if isinstance(clause, Is) and clause.value and path in ((field,), ("equivalent",)):
            by = analysis.alpha
        elif asks_small_p(clause) and isinstance(clause, Comparison) and "p_lower" in analysis:
            by = float(clause.value.exact())
        if by is not None:
            limit = side * margin
            # of larger values better, what is rejected lies below the limit
            return (
                ShownMargin(limit, None, test, None, by)
                if good == 1
                else ShownMargin(None, limit, test, None, by)
            )
    return None


def _margin(verdict: HypothesisVerdict, clauses: list[tuple[Any, ClauseVerdict]]) -> ShownMargin | None:
    """Return the margin of a true rule of equivalence: of an interval within bounds, of two ends, or of a test."""
    lows: dict[str, float] = {}
    highs: dict[str, float] = {}
    for clause, judged in clauses:
        if judged.holds is not True:
            continue
        analysis = Answer.of(verdict.analyses, clause.field.test).analysis
        path = clause.field.path
        if isinstance(clause, Within) and path[0] in INTERVALS:
            low, high = float(clause.low.exact()), float(clause.high.exact())
            return ShownMargin(low, high, str(clause.field), _level(analysis, path), None)
        margin, alpha = analysis.number("margin"), analysis.alpha
        if margin is not None and clause.field.test is not None:
            if isinstance(clause, Is) and clause.value and path == ("equivalent",):
                return ShownMargin(-margin, margin, clause.field.test, None, alpha)
            if asks_small_p(clause) and isinstance(clause, Comparison) and "p_lower" in analysis:
                return ShownMargin(-margin, margin, clause.field.test, None, float(clause.value.exact()))
        if isinstance(clause, Comparison) and path[0] in INTERVALS and path[-1] in ("low", "high"):
            of, value = ".".join((clause.field.test or "", *path[:-1])), float(clause.value.exact())
            if path[-1] == "low" and clause.operator in (">", ">="):
                lows[of] = value
            elif path[-1] == "high" and clause.operator in ("<", "<="):
                highs[of] = value
            if of in lows and of in highs:
                return ShownMargin(lows[of], highs[of], of, _level(analysis, path[:-1]), None)
    return None


def _disagreement(
    verdict: HypothesisVerdict, compared: tuple[ComparedP, ...], read: IntervalRead | None
) -> tuple[Why, ComparedP, str] | None:
    """Say where the interval excludes 0 and a test of 0 does not reject it, or the other way round."""
    if read is None or read.level is None or read.ends.low is None or read.ends.high is None:
        return None
    alpha = 1 - read.level
    excludes = read.reading in ("positive", "negative")
    for p_value in compared:
        test, _, path = p_value.field.partition(".")
        answer = Answer.of(verdict.analyses, test)
        alternative = answer.analysis.member("alternative")
        if path != "p_value" or alternative not in ("two-sided", "greater", "less"):
            continue
        own = p_value.p if p_value.unadjusted is None else p_value.unadjusted
        method = str(answer.analysis.member("method") or answer.test or test)
        if p_value.holds == excludes:
            continue
        if p_value.unadjusted is not None and (own < p_value.threshold) == excludes:
            return "corrected", p_value, method
        one_sided = alternative != "two-sided"
        same_level = abs(alpha - p_value.threshold) <= 1e-9
        if ((2 * min(own, 1 - own) if one_sided else own) < alpha) != excludes or (
            same_level and not one_sided
        ):
            return "methods", p_value, method
        return "sides" if same_level else "levels", p_value, method
    return None


def _earlier_fallback(setting: Setting, verdict: HypothesisVerdict) -> EquivalenceFallback | None:
    """Return the equivalence test of a verdict that was stored before it had a record of its own."""
    test = setting.hypothesis.equivalence
    if test is None:
        return None
    analysis = Answer.of(verdict.analyses, test).analysis
    equivalent, ci = analysis.truth("equivalent"), analysis.interval("ci")
    if equivalent is None or ci is None:
        return None
    return EquivalenceFallback(
        test=test,
        equivalent=equivalent,
        counts=True,
        margin=analysis.number("margin"),
        alpha=analysis.alpha,
        ci=Span(low=ci.low, high=ci.high),
    )


def fallback_case(facts: Facts) -> Literal["decided", "uncovered", "corrected away", "not shown"] | None:
    """Return what there is to say of the equivalence test beside a false rule; None: nothing."""
    fallback = facts.fallback
    if fallback is None or fallback.margin is None or fallback.alpha is None or fallback.equivalent is None:
        return None
    if facts.decided:
        return "decided"
    if not fallback.equivalent:
        return "not shown"
    if not fallback.counts:
        return "uncovered"
    return None if fallback.decides else "corrected away"


def _apart(
    clauses: list[tuple[Clause, ClauseVerdict]],
    read: IntervalRead | None,
    fallback: EquivalenceFallback | None,
    others: set[str],
) -> Iterator[float]:
    """Yield what printed differences must not be rounded onto: 0, the SESOI, margins and thresholds."""
    yield 0.0
    if read is not None and read.sesoi is not None:
        yield from (-read.sesoi, read.sesoi)
    if fallback is not None and fallback.margin is not None:
        yield from (-fallback.margin, fallback.margin)
    for clause, judged in clauses:
        is_about_difference = not isinstance(clause, Is) and clause.field.path[0] in EFFECT_FIELDS
        if not is_about_difference or clause.field.test in others:
            continue
        limit = judged.threshold
        values = (limit.low, limit.high) if isinstance(limit, Span) else (limit,)
        yield from (float(value) for value in values if value is not None)


def _level(analysis: Analysis, path: tuple[str, ...]) -> float | None:
    interval = analysis.interval(*path)
    return None if interval is None else interval.level
