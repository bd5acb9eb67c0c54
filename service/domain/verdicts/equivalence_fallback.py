"""The equivalence test that a hypothesis names for when its rule is false: what it finds, and whether that counts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from service.domain.decision.family import Family
from service.domain.rules.claims.margins import fallback_is_wider
from service.domain.rules.fields import analysis_of, observe
from service.domain.verdicts.observed import (
    ObservedEvidence,
    alpha_at,
    as_number,
    hardness,
    largest_tost_p,
    level_of,
)
from service.domain.verdicts.parts import EquivalenceFallback, Span
from service.words import say

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
    analysis, level = analysis_of(answer), level_of(answer)
    p = largest_tost_p([of_way for _, of_way in answers])
    ci = analysis.get("ci")
    ci = ci if isinstance(ci, Mapping) else {}
    corrected, adjusted = family.corrects_equivalence(hypothesis.id), None
    if corrected and p is not None:
        adjusted = float(family.adjust(hypothesis.id, np.array([[p]]), equivalence=True)[0, 0])
    wider = WIDER if fallback_is_wider(evidence.setting) else None
    reason = wider or family.why_uncovered(hypothesis.id) or (NO_P if corrected and p is None else None)
    seen = observe(answer, ("equivalent",))
    equivalent = seen.value if isinstance(seen.value, bool) else None
    return EquivalenceFallback(
        test=hypothesis.equivalence,
        equivalent=equivalent,
        counts=reason is None,
        reason=reason or (None if equivalent is not None else seen.reason),
        margin=as_number(analysis, "margin"),
        alpha=None if level is None else alpha_at(level),
        ci=Span(low=as_number(ci, "low"), high=as_number(ci, "high")) if ci else None,
        p_value=p,
        adjusted=adjusted,
        way=way,
        answers={name: dict(of_way) for name, of_way in answers if name is not None},
    )


def shows_equivalence(fallback: EquivalenceFallback) -> bool:
    """True when a recorded fallback decides: it counts, it finds equivalence, and it does so after the correction."""
    if not fallback.counts or fallback.equivalent is not True:
        return False
    if fallback.adjusted is None:
        return True
    return fallback.alpha is not None and fallback.adjusted < fallback.alpha
