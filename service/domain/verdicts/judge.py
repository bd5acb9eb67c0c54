"""The verdict: which results count, what the locked rules say of every hypothesis, and the words for it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from service.domain.verdicts.analyses import analyse
from service.domain.verdicts.hypotheses import judge_hypothesis
from service.domain.verdicts.judge_noise import judge_noise
from service.domain.verdicts.outcomes import Rows
from service.domain.verdicts.records import Verdict, VoidedBatch
from service.domain.verdicts.selection import bound_selection
from service.domain.verdicts.slices import by_slice
from service.domain.verdicts.stopping import up_to_stop
from service.domain.verdicts.strata import by_stratum
from service.domain.verdicts.words import sentences as verdict_words


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything a verdict is computed from; picklable. Its repr tells no outcome."""

    preregistration_id: str
    plan_sha256: str
    rows: Rows
    voided: tuple[VoidedBatch, ...]
    judged_at: datetime


def judge(inputs: Inputs) -> Verdict:
    """Return the verdict, from its inputs alone: which outcomes count, the tests on them, the locked rules.

    Odd data end in `invalid` or `inconclusive` with a reason.
    """
    rows, stopped = up_to_stop(inputs.rows)
    analyses = analyse(rows)
    hypotheses = []
    for evidence in analyses.evidence.values():
        verdict = judge_hypothesis(evidence, analyses, rows.marks)
        setting, paired, beside = evidence.setting, evidence.pairs_of(verdict.filled), {}
        if verdict.outcome != "invalid" and paired is not None:
            # No outcome rests on these: the effect by category and slice, the judge's errors, a choice among variants.
            beside = {
                "strata": by_stratum(paired),
                "slices": by_slice(setting, paired, rows),
                "judge": judge_noise(setting.plan, setting.hypothesis, paired.manifest, rows.outcomes),
                "selection": bound_selection(setting, paired, verdict.analyses),
            }
        described = verdict.model_copy(update=beside)
        said = verdict_words.sentence(setting, described, rows.marks)
        hypotheses.append(described.model_copy(update={"sentence": said}))
    return Verdict(
        preregistration_id=inputs.preregistration_id,
        title=rows.plan.title,
        plan_sha256=inputs.plan_sha256,
        judged_at=inputs.judged_at,
        multiplicity=verdict_words.multiplicity(
            rows.plan, None if analyses.joint is None else analyses.joint.shared
        ),
        hypotheses=tuple(hypotheses),
        primary_outcomes=Counter(
            hypothesis.outcome for hypothesis in hypotheses if hypothesis.role == "primary"
        ),
        stopped=stopped,
        voided_batches=inputs.voided,
        marks=rows.marks,
        versions=analyses.versions,
    )
