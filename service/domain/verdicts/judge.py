"""The verdict: every clause with what was observed, the outcome of every hypothesis, and a reading.

The plan broken: `invalid`. The rule unknown: `inconclusive`. True: `supported`, or `equivalent` for an
equivalence claim, as long as the claim follows from what holds (`verdicts.claim`). False: `equivalent` where the
hypothesis' equivalence test finds it, otherwise `not_supported`, which never says that there is no difference.
Under `worst_case` a claim of equivalence, by the rule or by that test, must hold whichever way what is not ok
is taken. Whatever the rows say, a mark may make an outcome `invalid` (`verdicts.validity`): clauses and analyses stay.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from service.domain.plans.plan import Hypothesis, Plan
from service.domain.plans.population import Manifest
from service.domain.rules.fields import Observation, observe
from service.domain.rules.grammar import parse
from service.domain.rules.rule import (
    Clause,
    Comparison,
    Is,
    Within,
    clauses,
    sentence,
)
from service.domain.rules.truth import (
    Ends,
    Observed,
    Truth,
    combine,
    holds,
    told,
)
from service.domain.verdicts.analyses import Analyses, JsonObject, analyse
from service.domain.verdicts.claim import Shortfall, shortfall
from service.domain.verdicts.equivalence_fallback import equivalence_fallback, found_equivalent
from service.domain.verdicts.family import Family, asks_small_p, is_secondary
from service.domain.verdicts.judge_noise import judge_noise
from service.domain.verdicts.outcomes import (
    Excluded,
    Outcomes,
    Paired,
    PlanViolatedError,
    pair_others,
    pair_up,
)
from service.domain.verdicts.parts import EquivalenceFallback, Stopped
from service.domain.verdicts.reading import read_interval
from service.domain.verdicts.records import (
    ClauseVerdict,
    HypothesisVerdict,
    OtherEndpoint,
    Outcome,
    Span,
    Verdict,
    VoidedBatch,
)
from service.domain.verdicts.slices import by_slice, ways_of
from service.domain.verdicts.strata import by_stratum
from service.domain.verdicts.validity import Mark, invalidating
from service.domain.verdicts.words import facts as verdict_facts
from service.domain.verdicts.words import sentences as verdict_words
from service.domain.verdicts.worst_case import Way, against
from service.stats.shared.declaring.certainty import DRAWN
from service.words import say

__all__ = [
    "Analyses",
    "ClauseVerdict",
    "HypothesisVerdict",
    "Outcome",
    "Verdict",
    "analyse",
    "judge",
    "judge_hypotheses",
]


def judge(
    plan: Plan,
    manifests: Mapping[str, Manifest],
    outcomes: Outcomes,
    analyses: Analyses,
    *,
    preregistration_id: str,
    plan_sha256: str,
    judged_at: datetime,
    voided_batches: Sequence[VoidedBatch] = (),
    stopped: Stopped | None = None,
    marks: Sequence[Mark] = (),
) -> Verdict:
    """Apply the locked rules. Odd data end in `invalid` or `inconclusive` with a reason."""
    hypotheses = tuple(
        _described(plan, judge_hypothesis, manifests, outcomes, marks)
        for judge_hypothesis in judge_hypotheses(plan, manifests, outcomes, analyses, marks)
    )
    return Verdict(
        preregistration_id=preregistration_id,
        title=plan.title,
        plan_sha256=plan_sha256,
        judged_at=judged_at,
        multiplicity=verdict_words.multiplicity(
            plan, None if analyses.joint is None else analyses.joint.shared
        ),
        hypotheses=hypotheses,
        primary_outcomes=Counter(
            hypothesis.outcome for hypothesis in hypotheses if hypothesis.role == "primary"
        ),
        stopped=stopped,
        voided_batches=tuple(voided_batches),
        marks=tuple(marks),
        versions=analyses.versions,
    )


def judge_hypotheses(
    plan: Plan,
    manifests: Mapping[str, Manifest],
    outcomes: Outcomes,
    analyses: Analyses,
    marks: Sequence[Mark] = (),
) -> tuple[HypothesisVerdict, ...]:
    """Every hypothesis in the plan's order, without what no outcome rests on: sentence, strata, the judge's errors."""
    family = Family.of(plan, analyses)
    return tuple(
        _marked(_judge(plan, hypothesis, manifests, outcomes, analyses, family), marks)
        for hypothesis in plan.hypotheses or ()
    )


@dataclass(frozen=True, slots=True)
class _Read:
    """A hypothesis' rule on one set of answers: what was filled in is taken one way."""

    way: Way | None
    paired: Paired | None
    others: Mapping[str, Paired]
    """On the other endpoints that the rule speaks of."""
    answers: Mapping[str, JsonObject]
    judged: Mapping[Clause, ClauseVerdict]
    truth: Truth

    @property
    def hardness(self) -> tuple[int, Fraction]:
        """Of both ways a claim of equivalence must stand, the larger one counts: false, unknown, true."""
        delta = self.paired.delta if self.paired else None
        return {False: 2, None: 1, True: 0}[self.truth], abs(delta or Fraction(0))


def _judge(
    plan: Plan,
    hypothesis: Hypothesis,
    manifests: Mapping[str, Manifest],
    outcomes: Outcomes,
    analyses: Analyses,
    family: Family,
) -> HypothesisVerdict:
    rule = parse(hypothesis.rule)

    def read(way: Way | None, answers: Mapping[str, JsonObject]) -> _Read:
        paired = pair_up(plan, hypothesis, manifests, outcomes, way)
        others = pair_others(plan, hypothesis, manifests, outcomes)
        judged = {
            clause: _clause(clause, _observe(clause, paired.delta, answers), hypothesis, family)
            for clause in clauses(rule)
        }
        truth = combine(rule, {clause: verdict.holds for clause, verdict in judged.items()})
        return _Read(way, paired, others, answers, judged, truth)

    violation = None
    try:
        found = max((read(*each) for each in analyses.of_rule(hypothesis)), key=lambda each: each.hardness)
    except PlanViolatedError as violated:
        violation, nothing = str(violated), Observation(None, say("reasons.results_break_plan"))
        broken = {clause: _clause(clause, nothing, hypothesis, family) for clause in clauses(rule)}
        found = _Read(None, None, {}, analyses.answers.get(hypothesis.id, {}), broken, None)
    paired, judged = found.paired, found.judged
    delta = paired.delta if paired else None
    fallback = None if violation else equivalence_fallback(plan, hypothesis, analyses, family)
    outcome = _outcome(hypothesis, found.truth, violation, fallback)
    short = None
    if found.truth and outcome != "invalid":
        truths = {clause: verdict.holds for clause, verdict in judged.items()}
        short = shortfall(plan, hypothesis, truths, delta, found.answers)
    if short is not None:
        outcome = short.outcome
    population = plan.population(hypothesis.population)
    filled = paired is not None and paired.excluded.filled > 0
    interval = read_interval(plan, hypothesis, rule, found.answers, filled=filled)
    return HypothesisVerdict(
        id=hypothesis.id,
        claim=hypothesis.claim,
        statement=hypothesis.statement,
        population=hypothesis.population,
        baseline=hypothesis.baseline,
        candidate=hypothesis.candidate,
        endpoint=hypothesis.endpoint,
        role="secondary" if is_secondary(plan, hypothesis) else "primary",
        outcome=outcome,
        reason=_reason(outcome, violation, short, judged),
        sentence="",
        rule=sentence(rule),
        rule_holds=found.truth,
        clauses=tuple(judged[clause] for clause in clauses(rule)),
        delta=None if delta is None else float(delta),
        delta_exact=None if delta is None else str(delta),
        n=paired.n if paired else 0,
        n_planned=population.n if population else 0,
        excluded=paired.excluded if paired else Excluded(),
        reading=interval.reading if interval else None,
        reading_of=interval.of if interval else None,
        family=family.member(hypothesis.id),
        analyses=dict(found.answers),
        filled=(found.way or next(iter(against(plan, hypothesis)), None)) if filled else None,
        fallback=fallback,
        others=tuple(
            OtherEndpoint(
                endpoint=name,
                delta=None if each.delta is None else float(each.delta),
                n=each.n,
                excluded=each.excluded,
            )
            for name, each in found.others.items()
        )
        or None,
    )


def _marked(found: HypothesisVerdict, marks: Sequence[Mark]) -> HypothesisVerdict:
    """With what stands against it: the reason of results that break the plan comes first."""
    mark = invalidating(marks, found.id)
    if mark is None or found.outcome == "invalid":
        return found
    return found.model_copy(update={"outcome": "invalid", "reason": mark.says})


def _described(
    plan: Plan,
    found: HypothesisVerdict,
    manifests: Mapping[str, Manifest],
    outcomes: Outcomes,
    marks: Sequence[Mark],
) -> HypothesisVerdict:
    """With its sentence, the effect by category and slice and the judge's errors, on which no outcome rests."""
    hypothesis = plan.hypothesis(found.id)
    if hypothesis is None:
        return found
    if found.outcome != "invalid":
        paired = pair_up(plan, hypothesis, manifests, outcomes, found.filled)
        ways = ways_of(plan, hypothesis) or (None,)
        sliced = (pair_up(plan, hypothesis, manifests, outcomes, way) for way in ways)
        found = found.model_copy(
            update={
                "strata": by_stratum(paired),
                "slices": by_slice(plan, hypothesis, *sliced),
                "judge": judge_noise(plan, hypothesis, paired.manifest, outcomes),
            }
        )
    interval = verdict_facts.interval_of(plan, found)
    return found.model_copy(update={"sentence": verdict_words.sentence(plan, found, interval, marks)})


def _observe(clause: Clause, delta: Fraction | None, answers: Mapping[str, JsonObject]) -> Observation:
    if clause.field.test is None:
        return Observation(delta, None if delta is not None else say("reasons.no_item_to_compare"))
    answer = answers.get(clause.field.test)
    if answer is None:
        return Observation(None, say("reasons.no_test", test=clause.field.test))
    return observe(answer, clause.field.path)


def _clause(clause: Clause, raw: Observation, hypothesis: Hypothesis, family: Family) -> ClauseVerdict:
    corrected = asks_small_p(clause) and family.corrects(hypothesis.id)
    seen = family.read(hypothesis.id, raw) if corrected else raw
    truth, reason = holds(clause, seen.value), seen.reason
    if seen.bound is not None and isinstance(clause, Comparison) and isinstance(seen.value, float):
        truth = _of_bound(clause, seen.value, seen.bound, truth)
        reason = say("reasons.bound", bound=seen.bound) if truth is None else reason
    if truth is not None and told(clause, seen.value, seen.corners) is None:
        truth, reason = None, seen.reason or DRAWN
    elif truth is None and reason is None:
        reason = say("reasons.not_comparable", field=str(clause.field))
    return ClauseVerdict(
        text=str(clause),
        observed=_shown(seen.value),
        threshold=_threshold(clause),
        holds=truth,
        reason=reason if truth is None else None,
        unadjusted=float(raw.value) if corrected and isinstance(raw.value, float | int) else None,
    )


def _of_bound(clause: Comparison, observed: float, bound: str, truth: Truth) -> Truth:
    """The truth of a clause on a value known only as `< observed`: unknown for thresholds below that."""
    threshold = float(clause.value.exact())
    if threshold > observed:
        return truth
    if threshold == observed and bound.startswith("< "):  # strictly below the threshold, then
        return clause.operator in ("<", "<=", "!=")
    return None


def _threshold(clause: Clause) -> float | Span | bool:
    if isinstance(clause, Is):
        return clause.value
    if isinstance(clause, Within):
        return Span(low=float(clause.low.exact()), high=float(clause.high.exact()))
    return float(clause.value.exact())


def _shown(observed: Observed) -> float | Span | bool | None:
    if isinstance(observed, bool):
        return observed
    if isinstance(observed, Ends):
        return Span(low=_finite(observed.low), high=_finite(observed.high))
    return None if observed is None else _finite(float(observed))


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _outcome(
    hypothesis: Hypothesis, truth: Truth, violation: str | None, fallback: EquivalenceFallback | None
) -> Outcome:
    if violation is not None:
        return "invalid"
    if truth is None:
        return "inconclusive"
    if truth:
        return "equivalent" if hypothesis.claim == "equivalence" else "supported"
    return "equivalent" if fallback is not None and found_equivalent(fallback) else "not_supported"


def _reason(
    outcome: Outcome,
    violation: str | None,
    short: Shortfall | None,
    judged: Mapping[Clause, ClauseVerdict],
) -> str | None:
    if short is not None:
        return short.reason
    return violation if outcome == "invalid" else _unknown(judged) if outcome == "inconclusive" else None


def _unknown(judged: Mapping[Clause, ClauseVerdict]) -> str:
    """Why a rule cannot be decided: its unknown clauses with their reasons."""
    return "; ".join(f"`{each.text}`: {each.reason}" for each in judged.values() if each.holds is None)
