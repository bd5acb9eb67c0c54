"""The verdict: every clause with what was observed, the outcome of every hypothesis, and a reading.

What is decided, `decision.decide` says, here on the one data set that came in. The plan broken is `invalid`. A claim of
equivalence that is borne out is `equivalent`, as is a false rule whose equivalence test finds it; `not_supported` never
says that there is no difference. Whatever the rows say, a mark may make an outcome `invalid` (`verdicts.validity`):
clauses and analyses stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from service.domain.decision.decide import EQUIVALENT, HELD, INCONCLUSIVE, Decision, decide
from service.domain.decision.gaps import GAPS
from service.domain.decision.members import is_secondary
from service.domain.plans.manifest import Manifest
from service.domain.plans.plan import Plan
from service.domain.rules.grammar import parse
from service.domain.rules.rule import sentence
from service.domain.rules.settings import ResolvedPlan, Setting, resolve
from service.domain.rules.truth import TRUTH_OF
from service.domain.verdicts.analyses import Analyses, analyse
from service.domain.verdicts.family import ObservedFamily, equivalence_fallback
from service.domain.verdicts.judge_noise import judge_noise
from service.domain.verdicts.observed_evidence import ObservedEvidence
from service.domain.verdicts.outcomes import (
    Excluded,
    Outcomes,
    Paired,
    PlanViolatedError,
    pair_others,
    pair_up,
)
from service.domain.verdicts.parts import HeldAgainst, Stopped
from service.domain.verdicts.reading import read_interval
from service.domain.verdicts.records import (
    HypothesisVerdict,
    OtherEndpoint,
    Outcome,
    Verdict,
    VoidedBatch,
)
from service.domain.verdicts.selection import bound_selection
from service.domain.verdicts.shortfall import shortfall
from service.domain.verdicts.slices import by_slice, ways_of
from service.domain.verdicts.stopping import up_to_stop
from service.domain.verdicts.strata import by_stratum
from service.domain.verdicts.validity import Mark, invalidating
from service.domain.verdicts.words import facts as verdict_facts
from service.domain.verdicts.words import sentences as verdict_words
from service.domain.verdicts.worst_case import Way, against
from service.words import say


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything a verdict is computed from; picklable. Its repr tells no outcome."""

    preregistration_id: str
    plan_sha256: str
    plan: Plan
    manifests: Mapping[str, Manifest] = field(repr=False)
    outcomes: Outcomes
    voided: tuple[VoidedBatch, ...]
    judged_at: datetime
    marks: tuple[Mark, ...] = ()


def compute(inputs: Inputs) -> Verdict:
    """The verdict, from its inputs alone: which outcomes count, the tests on them, the rules."""
    plan = resolve(inputs.plan)
    outcomes, stopped = up_to_stop(plan, inputs.manifests, inputs.outcomes)
    analyses = analyse(plan, inputs.manifests, outcomes)
    return judge(
        plan,
        inputs.manifests,
        outcomes,
        analyses,
        preregistration_id=inputs.preregistration_id,
        plan_sha256=inputs.plan_sha256,
        judged_at=inputs.judged_at,
        voided_batches=inputs.voided,
        stopped=stopped,
        marks=inputs.marks,
    )


def judge(
    resolved: ResolvedPlan,
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
    plan = resolved.plan
    judged = judge_hypotheses(resolved, manifests, outcomes, analyses, marks)
    hypotheses = tuple(
        _describe(setting, verdict, manifests, outcomes, marks)
        for setting, verdict in zip(resolved.settings, judged, strict=True)
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
    resolved: ResolvedPlan,
    manifests: Mapping[str, Manifest],
    outcomes: Outcomes,
    analyses: Analyses,
    marks: Sequence[Mark] = (),
) -> tuple[HypothesisVerdict, ...]:
    """Every hypothesis in the plan's order, without what no outcome rests on: sentence, strata, the judge's errors."""
    results = [_Results.of(setting, manifests, outcomes, analyses) for setting in resolved.settings]
    evidence = {result.setting.hypothesis.id: result.evidence for result in results}
    family = ObservedFamily.of(resolved.plan, evidence, analyses.joint)
    return tuple(_mark(_judge(result, family), marks) for result in results)


@dataclass(frozen=True, slots=True, eq=False)
class _Results:
    """What is in of one hypothesis, by way of filling in what is missing."""

    setting: Setting
    evidence: ObservedEvidence
    ways: tuple[Way | None, ...]
    paired: tuple[Paired | None, ...]
    """None where the results break the plan."""
    others: Mapping[str, Paired]
    """On the other endpoints that the rule speaks of."""
    violation: str | None

    @classmethod
    def of(
        cls,
        setting: Setting,
        manifests: Mapping[str, Manifest],
        outcomes: Outcomes,
        analyses: Analyses,
    ) -> _Results:
        """The pairs of a hypothesis and the answers of its tests on them."""
        ways = tuple(way for way, _ in analyses.of_rule(setting.hypothesis))
        paired: tuple[Paired | None, ...]
        violation = None
        try:
            paired = tuple(pair_up(setting, manifests, outcomes, way) for way in ways)
            others = pair_others(setting, manifests, outcomes)
        except PlanViolatedError as violated:
            violation, paired, others = str(violated), tuple(None for _ in ways), {}
        deltas = [None if pair is None else pair.delta for pair in paired]
        fault = None if violation is None else say("reasons.results_break_plan")
        evidence = ObservedEvidence.of(setting, analyses, deltas, fault)
        return cls(setting, evidence, ways, paired, others, violation)


def _judge(results: _Results, family: ObservedFamily) -> HypothesisVerdict:
    setting, evidence, violation = results.setting, results.evidence, results.violation
    hypothesis, rule = setting.hypothesis, parse(setting.hypothesis.rule)
    decision = decide(evidence, family.corrected)
    assert decision is not None  # noqa: S101 - the rule was read, and results tell every field or why not
    # A verdict is one data set: every array has one column.
    at = int(decision.way[0])
    way, paired, answers = results.ways[at], results.paired[at], evidence.answers[at]
    outcome, reason = _outcome(results, decision)
    delta = None if paired is None else paired.delta
    filled = paired is not None and paired.excluded.filled > 0
    interval = read_interval(setting, answers, filled=filled)
    return HypothesisVerdict(
        id=hypothesis.id,
        claim=hypothesis.claim,
        statement=hypothesis.statement,
        population=hypothesis.population,
        baseline=hypothesis.baseline,
        candidate=hypothesis.candidate,
        reference=HeldAgainst.of(setting),
        endpoint=hypothesis.endpoint,
        role="secondary" if is_secondary(setting.plan, hypothesis) else "primary",
        outcome=outcome,
        reason=reason,
        sentence="",
        rule=sentence(rule),
        rule_holds=TRUTH_OF[int(decision.truth[0])],
        clauses=tuple(evidence.clause(clause, at) for clause in setting.clauses),
        mean=None if delta is None or setting.reference is None else float(delta + setting.reference),
        delta=None if delta is None else float(delta),
        delta_exact=None if delta is None else str(delta),
        n=paired.n if paired else 0,
        n_planned=setting.population.n if setting.population else 0,
        excluded=paired.excluded if paired else Excluded(),
        reading=interval.reading if interval else None,
        reading_of=interval.of if interval else None,
        family=family.member(hypothesis.id),
        analyses=dict(answers),
        # A way has a name only where both are judged; else what is missing is filled in against the claim, and that is
        # named.
        filled=(way or next(iter(against(setting)), None)) if filled else None,
        fallback=None if violation else equivalence_fallback(evidence, family.corrected),
        others=tuple(
            OtherEndpoint(
                endpoint=name,
                delta=None if pairs.delta is None else float(pairs.delta),
                n=pairs.n,
                excluded=pairs.excluded,
            )
            for name, pairs in results.others.items()
        )
        or None,
    )


def _outcome(results: _Results, decision: Decision) -> tuple[Outcome, str | None]:
    """What is decided of the one data set there is, and why where the rule alone does not say it."""
    # In this order: what breaks the plan is not judged, and a rule that holds may still not bear out what is claimed.
    if results.violation is not None:
        return "invalid", results.violation
    short = shortfall(results.setting, GAPS[int(decision.gap[0])])
    if short is not None:
        return short.outcome, short.reason
    code = int(decision.outcome[0])
    if code == HELD:
        return ("equivalent" if results.setting.hypothesis.claim == "equivalence" else "supported"), None
    if code == INCONCLUSIVE:
        return "inconclusive", _unknown(results, int(decision.way[0]))
    return ("equivalent" if code == EQUIVALENT else "not_supported"), None


def _unknown(results: _Results, way: int) -> str:
    """Why a rule cannot be decided: its unknown clauses with their reasons."""
    judged = [results.evidence.clause(clause, way) for clause in dict.fromkeys(results.setting.clauses)]
    return "; ".join(f"`{clause.text}`: {clause.reason}" for clause in judged if clause.holds is None)


def _mark(verdict: HypothesisVerdict, marks: Sequence[Mark]) -> HypothesisVerdict:
    """With what stands against it: the reason of results that break the plan comes first."""
    mark = invalidating(marks, verdict.id)
    if mark is None or verdict.outcome == "invalid":
        return verdict
    return verdict.model_copy(update={"outcome": "invalid", "reason": mark.says})


def _describe(
    setting: Setting,
    verdict: HypothesisVerdict,
    manifests: Mapping[str, Manifest],
    outcomes: Outcomes,
    marks: Sequence[Mark],
) -> HypothesisVerdict:
    """With its sentence, the effect by category and slice and the judge's errors, on which no outcome rests."""
    plan, hypothesis = setting.plan, setting.hypothesis
    if verdict.outcome != "invalid":
        paired = pair_up(setting, manifests, outcomes, verdict.filled)
        ways = ways_of(plan, hypothesis) or (None,)
        sliced = (pair_up(setting, manifests, outcomes, way) for way in ways)
        verdict = verdict.model_copy(
            update={
                "strata": by_stratum(paired),
                "slices": by_slice(plan, hypothesis, *sliced),
                "judge": judge_noise(plan, hypothesis, paired.manifest, outcomes),
            }
        )
        read = verdict_facts.interval_of(plan, verdict)
        verdict = verdict.model_copy(update={"selection": bound_selection(setting, paired, read)})
    interval = verdict_facts.interval_of(plan, verdict)
    return verdict.model_copy(update={"sentence": verdict_words.sentence(plan, verdict, interval, marks)})
