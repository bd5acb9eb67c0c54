"""The verdict: every clause with what was observed, the outcome of every hypothesis, and a reading.

What is decided, `decision.decide` says, here on the one data set that came in. The plan broken is `invalid`. A claim of
equivalence that is borne out is `equivalent`, as is a false rule whose equivalence test finds it; `not_supported` never
says that there is no difference. Whatever the rows say, a mark may make an outcome `invalid` (`verdicts.validity`):
clauses and analyses stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from service.domain.decision.decide import EQUIVALENT, HELD, INCONCLUSIVE, Decision, decide
from service.domain.decision.family import Family
from service.domain.decision.gaps import GAPS
from service.domain.decision.members import is_secondary
from service.domain.rules.grammar import parse
from service.domain.rules.rule import sentence
from service.domain.rules.truth import TRUTH_OF
from service.domain.verdicts.analyses import Analyses, analyse
from service.domain.verdicts.family import equivalence_fallback, place_in_family
from service.domain.verdicts.joint import SharedSigns
from service.domain.verdicts.judge_noise import judge_noise
from service.domain.verdicts.observed_evidence import ObservedEvidence
from service.domain.verdicts.outcomes import Rows
from service.domain.verdicts.pairs import Excluded
from service.domain.verdicts.parts import HeldAgainst
from service.domain.verdicts.reading import read_interval
from service.domain.verdicts.records import (
    ClauseVerdict,
    HypothesisVerdict,
    OtherEndpoint,
    Outcome,
    Verdict,
    VoidedBatch,
)
from service.domain.verdicts.selection import bound_selection
from service.domain.verdicts.shortfall import why_short
from service.domain.verdicts.slices import by_slice
from service.domain.verdicts.stopping import up_to_stop
from service.domain.verdicts.strata import by_stratum
from service.domain.verdicts.validity import Mark, invalidating
from service.domain.verdicts.words import sentences as verdict_words
from service.domain.verdicts.worst_case import against


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything a verdict is computed from; picklable. Its repr tells no outcome."""

    preregistration_id: str
    plan_sha256: str
    rows: Rows
    voided: tuple[VoidedBatch, ...]
    judged_at: datetime


def judge(inputs: Inputs) -> Verdict:
    """The verdict, from its inputs alone: which outcomes count, the tests on them, the locked rules.

    Odd data end in `invalid` or `inconclusive` with a reason.
    """
    rows, stopped = up_to_stop(inputs.rows)
    analyses = analyse(rows)
    hypotheses = tuple(
        _describe(evidence, verdict, rows)
        for evidence, verdict in zip(
            analyses.evidence.values(), judge_hypotheses(rows, analyses), strict=True
        )
    )
    return Verdict(
        preregistration_id=inputs.preregistration_id,
        title=rows.plan.title,
        plan_sha256=inputs.plan_sha256,
        judged_at=inputs.judged_at,
        multiplicity=verdict_words.multiplicity(
            rows.plan, None if analyses.joint is None else analyses.joint.shared
        ),
        hypotheses=hypotheses,
        primary_outcomes=Counter(
            hypothesis.outcome for hypothesis in hypotheses if hypothesis.role == "primary"
        ),
        stopped=stopped,
        voided_batches=inputs.voided,
        marks=rows.marks,
        versions=analyses.versions,
    )


def judge_hypotheses(rows: Rows, analyses: Analyses) -> tuple[HypothesisVerdict, ...]:
    """Every hypothesis in the plan's order, without what no outcome rests on: sentence, strata, the judge's errors."""
    plan, evidence, joint = rows.plan, analyses.evidence, analyses.joint
    corrected = Family.of(plan, evidence, joint=None if joint is None else joint.adjusted)
    holm = corrected if corrected.policy == "holm" else Family.of(plan, evidence, policy="holm")
    signs = None if joint is None else joint.shared
    return tuple(_judge(own, corrected, holm, signs, rows.marks) for own in evidence.values())


def _judge(
    evidence: ObservedEvidence, family: Family, holm: Family, signs: SharedSigns | None, marks: Sequence[Mark]
) -> HypothesisVerdict:
    setting, hypothesis = evidence.setting, evidence.setting.hypothesis
    decision = decide(evidence, family)
    assert decision is not None  # noqa: S101 - the rule was read, and results tell every field or why not
    # A verdict is one data set: every array has one column.
    at = int(decision.way[0])
    filling = evidence.fillings[at]
    paired, answers, delta = filling.pairs, filling.answers, filling.delta
    clauses = {
        clause: evidence.judge(clause, at, decision.adjusted[at].get(clause)) for clause in setting.clauses
    }
    outcome, reason = _outcome(evidence, decision, clauses.values(), marks)
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
        rule=sentence(parse(hypothesis.rule)),
        rule_holds=TRUTH_OF[int(decision.truth[0])],
        clauses=tuple(clauses[clause] for clause in setting.clauses),
        mean=None if delta is None or setting.reference is None else float(delta + setting.reference),
        delta=None if delta is None else float(delta),
        delta_exact=None if delta is None else str(delta),
        n=paired.n if paired else 0,
        n_planned=setting.population.n if setting.population else 0,
        excluded=paired.excluded if paired else Excluded(),
        reading=interval.reading if interval else None,
        reading_of=interval.of if interval else None,
        family=place_in_family(evidence, family, holm, signs),
        analyses=dict(answers),
        # A way has a name only where both are judged; else what is missing is filled in against the claim, and that is
        # named.
        filled=(filling.way or next(iter(against(setting)), None)) if filled else None,
        fallback=equivalence_fallback(evidence, family),
        others=tuple(
            OtherEndpoint(
                endpoint=name,
                delta=None if pairs.delta is None else float(pairs.delta),
                n=pairs.n,
                excluded=pairs.excluded,
            )
            for name, pairs in evidence.others.items()
        )
        or None,
    )


def _outcome(
    evidence: ObservedEvidence, decision: Decision, clauses: Iterable[ClauseVerdict], marks: Sequence[Mark]
) -> tuple[Outcome, str | None]:
    """What is decided of the one data set there is, and why where the rule alone does not say it."""
    # In this order: what breaks the plan is not judged, and a rule that holds may still not bear out what is claimed.
    if evidence.violation is not None:
        return "invalid", evidence.violation
    mark = invalidating(marks, evidence.setting.hypothesis.id)
    if mark is not None:
        return "invalid", mark.says
    setting, code, gap = evidence.setting, int(decision.outcome[0]), GAPS[int(decision.gap[0])]
    if code == HELD:
        return ("equivalent" if setting.hypothesis.claim == "equivalence" else "supported"), None
    if gap is not None:
        return ("inconclusive" if code == INCONCLUSIVE else "not_supported"), why_short(setting, gap)
    if code == INCONCLUSIVE:
        reasons = [f"`{clause.text}`: {clause.reason}" for clause in clauses if clause.holds is None]
        return "inconclusive", "; ".join(reasons)
    return ("equivalent" if code == EQUIVALENT else "not_supported"), None


def _describe(evidence: ObservedEvidence, verdict: HypothesisVerdict, rows: Rows) -> HypothesisVerdict:
    """With its sentence, the effect by category and slice and the judge's errors, on which no outcome rests."""
    setting, paired = evidence.setting, evidence.pairs_of(verdict.filled)
    if verdict.outcome != "invalid" and paired is not None:
        verdict = verdict.model_copy(
            update={
                "strata": by_stratum(paired),
                "slices": by_slice(setting, paired, rows),
                "judge": judge_noise(setting.plan, setting.hypothesis, paired.manifest, rows.outcomes),
                "selection": bound_selection(setting, paired, verdict.analyses),
            }
        )
    return verdict.model_copy(update={"sentence": verdict_words.sentence(setting, verdict, rows.marks)})
