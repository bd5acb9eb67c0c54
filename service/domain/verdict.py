"""The verdict: every clause with what was observed, the outcome of every hypothesis, and a reading.

The plan broken: `invalid`. The rule unknown: `inconclusive`. True: `supported`, or `equivalent` for
an equivalence claim, as long as the claim follows from what holds (`claim_verdict`). False: `equivalent`
where the hypothesis' equivalence test finds it, otherwise `not_supported`, which never says that there
is no difference.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from fractions import Fraction

from service.domain import verdict_words
from service.domain.analyses import Analyses, JsonObject, analyse
from service.domain.claim_verdict import Shortfall, shortfall
from service.domain.family import Family, asks_small_p, is_secondary
from service.domain.fields import Observation, observe
from service.domain.judge_noise import judge_noise
from service.domain.outcomes import Excluded, Outcomes, PlanViolatedError, pair_up
from service.domain.plan import Hypothesis, Plan
from service.domain.population import Manifest
from service.domain.reading import read_interval
from service.domain.rule import (
    Clause,
    Comparison,
    Is,
    Within,
    clauses,
    sentence,
)
from service.domain.rule_grammar import parse
from service.domain.rule_truth import (
    Ends,
    Observed,
    Truth,
    combine,
    holds,
)
from service.domain.strata import by_stratum
from service.domain.verdict_parts import Stopped
from service.domain.verdict_records import (
    ClauseVerdict,
    HypothesisVerdict,
    Outcome,
    Span,
    Verdict,
    VoidedBatch,
)

__all__ = ["Analyses", "ClauseVerdict", "HypothesisVerdict", "Outcome", "Verdict", "analyse", "judge"]


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
    descriptive: bool = True,
) -> Verdict:
    """Apply the locked rules. Odd data end in `invalid` or `inconclusive` with a reason.

    Without `descriptive` what no outcome rests on is left out: strata, and the judge's errors.
    """
    family = Family.of(plan, analyses.answers)
    hypotheses = tuple(
        _judge(plan, hypothesis, manifests, outcomes, analyses.answers.get(hypothesis.id, {}), family)
        for hypothesis in plan.hypotheses or ()
    )
    if descriptive:
        hypotheses = tuple(_described(plan, each, manifests, outcomes) for each in hypotheses)
    return Verdict(
        preregistration_id=preregistration_id,
        title=plan.title,
        plan_sha256=plan_sha256,
        judged_at=judged_at,
        multiplicity=verdict_words.multiplicity(plan),
        hypotheses=hypotheses,
        primary_outcomes=Counter(each.outcome for each in hypotheses if each.role == "primary"),
        stopped=stopped,
        voided_batches=tuple(voided_batches),
        versions=analyses.versions,
    )


def _judge(
    plan: Plan,
    hypothesis: Hypothesis,
    manifests: Mapping[str, Manifest],
    outcomes: Outcomes,
    answers: Mapping[str, JsonObject],
    family: Family,
) -> HypothesisVerdict:
    rule = parse(hypothesis.rule)
    paired, violation = None, None
    try:
        paired = pair_up(plan, hypothesis, manifests, outcomes)
    except PlanViolatedError as violated:
        violation = str(violated)
    delta = paired.delta if paired else None
    judged = {
        clause: _clause(clause, _observe(clause, delta, answers, violation), hypothesis, family)
        for clause in clauses(rule)
    }
    truths = {clause: verdict.holds for clause, verdict in judged.items()}
    truth = combine(rule, truths)
    outcome = _outcome(hypothesis, truth, violation, answers)
    short = shortfall(plan, hypothesis, truths, delta, answers) if outcome != "invalid" and truth else None
    if short is not None:
        outcome = short.outcome
    population = plan.population(hypothesis.population)
    read = read_interval(plan, hypothesis, rule, answers)
    found = HypothesisVerdict(
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
        rule_holds=truth,
        clauses=tuple(judged[clause] for clause in clauses(rule)),
        delta=None if delta is None else float(delta),
        delta_exact=None if delta is None else str(delta),
        n=paired.n if paired else 0,
        n_planned=population.n if population else 0,
        excluded=paired.excluded if paired else Excluded(),
        reading=read.reading if read else None,
        reading_of=read.of if read else None,
        family=family.member(hypothesis.id),
        analyses=dict(answers),
    )
    return found.model_copy(update={"sentence": verdict_words.sentence(plan, found, read)})


def _described(
    plan: Plan, found: HypothesisVerdict, manifests: Mapping[str, Manifest], outcomes: Outcomes
) -> HypothesisVerdict:
    """With the effect by category and the judge's errors, on which no outcome rests."""
    hypothesis = plan.hypothesis(found.id)
    if hypothesis is None or found.outcome == "invalid":
        return found
    paired = pair_up(plan, hypothesis, manifests, outcomes)
    return found.model_copy(
        update={
            "strata": by_stratum(paired),
            "judge": judge_noise(plan, hypothesis, paired.manifest, outcomes),
        }
    )


def _observe(
    clause: Clause, delta: Fraction | None, answers: Mapping[str, JsonObject], violation: str | None
) -> Observation:
    if violation is not None:
        return Observation(None, "the results break the plan")
    if clause.field.test is None:
        return Observation(delta, None if delta is not None else "no item is left to compare")
    answer = answers.get(clause.field.test)
    if answer is None:
        return Observation(None, f"the plan has no test '{clause.field.test}'")
    return observe(answer, clause.field.path)


def _clause(clause: Clause, raw: Observation, hypothesis: Hypothesis, family: Family) -> ClauseVerdict:
    corrected = asks_small_p(clause) and family.corrects(hypothesis.id)
    seen = family.read(hypothesis.id, raw) if corrected else raw
    truth, reason = holds(clause, seen.value), seen.reason
    if seen.bound is not None and isinstance(clause, Comparison) and isinstance(seen.value, float):
        truth = _of_bound(clause, seen.value, seen.bound, truth)
        reason = f"known only as {seen.bound}" if truth is None else reason
    elif truth is None and reason is None:
        reason = f"{clause.field} is not what this clause can compare"
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
    hypothesis: Hypothesis, truth: Truth, violation: str | None, answers: Mapping[str, JsonObject]
) -> Outcome:
    if violation is not None:
        return "invalid"
    if truth is None:
        return "inconclusive"
    if truth:
        return "equivalent" if hypothesis.claim == "equivalence" else "supported"
    found = answers.get(hypothesis.equivalence or "", {}).get("analysis")
    equivalent = isinstance(found, Mapping) and found.get("equivalent") is True
    return "equivalent" if equivalent else "not_supported"


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
