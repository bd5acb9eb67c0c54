"""How a hypothesis stands in the family of a verdict, and what the equivalence test beside its rule finds.

P-values come with the range of those that are drawn. The test beside a rule speaks where the rule is false.
"""

from __future__ import annotations

import math

import numpy as np

from service.domain.decision.family import Family
from service.domain.rules.answers import Answer
from service.domain.rules.claims.margins import fallback_is_wider
from service.domain.verdicts.joint import SharedSigns
from service.domain.verdicts.observed_evidence import ObservedEvidence, hardness, largest_tost_p
from service.domain.verdicts.parts import EquivalenceFallback, FamilyP, Span
from service.words import say


def place_in_family(
    evidence: ObservedEvidence, corrected: Family, holm: Family, signs: SharedSigns | None
) -> FamilyP | None:
    """How a hypothesis stands under the plan's policy, and under Holm's, which every verdict tells; None outside it."""
    hypothesis = evidence.setting.hypothesis.id
    if hypothesis not in holm.names:
        return None
    # As computed, without its range, on the one data set there is.
    p = float(holm.p[0, 0, holm.names.index(hypothesis)])
    known = not math.isnan(p)
    # (C, D) of one number on one data set.
    alone = np.array([[p]])
    return FamilyP(
        policy=corrected.policy,
        size=len(holm.names),
        p_value=p if known else None,
        adjusted=float(corrected.adjust(hypothesis, alone)[0, 0]) if known else None,
        holm=float(holm.adjust(hypothesis, alone)[0, 0]) if known else None,
        reason=evidence.why_no_p(),
        joint=signs,
    )


NO_P = say("reasons.no_p_value")
WIDER = say("reasons.wider")


def equivalence_fallback(evidence: ObservedEvidence, family: Family) -> EquivalenceFallback | None:
    """The fallback of a hypothesis; None where it names none, or nothing was computed.

    Where results were filled in the test has to find equivalence both ways; the numbers are those of
    the way that is harder for it.
    """
    hypothesis, answers = evidence.setting.hypothesis, evidence.beside
    if hypothesis.equivalence is None or not answers:
        return None
    way, answer = max(answers, key=lambda filling: hardness(filling[1]))
    analysis = Answer(answer).analysis
    p = largest_tost_p([of_way for _, of_way in answers])
    ci = analysis.interval("ci")
    corrected, adjusted = family.corrects_equivalence(hypothesis.id), None
    if corrected and p is not None:
        adjusted = float(family.adjust(hypothesis.id, np.array([[p]]), equivalence=True)[0, 0])
    wider = WIDER if fallback_is_wider(evidence.setting) else None
    reason = wider or family.why_uncovered(hypothesis.id) or (NO_P if corrected and p is None else None)
    seen = Answer(answer).observe("equivalent")
    equivalent = seen.value if isinstance(seen.value, bool) else None
    return EquivalenceFallback(
        test=hypothesis.equivalence,
        equivalent=equivalent,
        counts=reason is None,
        reason=reason or (None if equivalent is not None else seen.reason),
        margin=analysis.number("margin"),
        alpha=analysis.alpha,
        ci=None if ci is None else Span(low=ci.low, high=ci.high),
        p_value=p,
        adjusted=adjusted,
        way=way,
        answers={name: dict(of_way) for name, of_way in answers if name is not None},
    )
