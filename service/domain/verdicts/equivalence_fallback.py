"""The equivalence test that a hypothesis names for when its rule is false: what it finds, and whether that counts."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from service.domain.plans.plan import Hypothesis, Plan
from service.domain.rules.claims.margins import fallback_is_wider
from service.domain.rules.fields import analysis_of, observe
from service.domain.verdicts.analyses import Analyses, JsonObject
from service.domain.verdicts.family import Family, largest_tost_p
from service.domain.verdicts.parts import EquivalenceFallback, Span
from service.words import say

NO_P = say("reasons.no_p_value")
WIDER = say("reasons.wider")


def equivalence_fallback(
    plan: Plan, hypothesis: Hypothesis, analyses: Analyses, family: Family
) -> EquivalenceFallback | None:
    """The fallback of a hypothesis; None where it names none, or nothing was computed.

    Where results were filled in the test has to find equivalence both ways; the numbers are those of
    the way that is harder for it.
    """
    answers = analyses.of_fallback(hypothesis)
    if hypothesis.equivalence is None or not answers:
        return None
    way, answer = max(answers, key=lambda each: _hardness(each[1]))
    analysis = analysis_of(answer)
    p = largest_tost_p(each for _, each in answers)
    ci = analysis.get("ci")
    ci = ci if isinstance(ci, Mapping) else {}
    level = _number(ci, "level")
    uncovered = family.why_no_equivalence(hypothesis.id)
    corrected = family.corrects_equivalence(hypothesis.id)
    adjusted = None
    if corrected and p is not None and family.policy != "none":
        adjusted = family.adjust(hypothesis.id, p, family.policy, "equivalence")
    wider = WIDER if fallback_is_wider(plan, hypothesis) else None
    reason = wider or uncovered or (NO_P if corrected and p is None else None)
    seen = observe(answer, ("equivalent",))
    found = seen.value if isinstance(seen.value, bool) else None
    return EquivalenceFallback(
        test=hypothesis.equivalence,
        equivalent=found,
        counts=reason is None,
        reason=reason or (None if found is not None else seen.reason),
        margin=_number(analysis, "margin"),
        alpha=None if level is None else round((1 - level) / 2, 12),
        ci=Span(low=_number(ci, "low"), high=_number(ci, "high")) if ci else None,
        p_value=p,
        adjusted=adjusted,
        way=way,
        answers={each: dict(answer) for each, answer in answers if each is not None},
    )


def found_equivalent(fallback: EquivalenceFallback) -> bool:
    """True when it decides the outcome: it counts, it finds equivalence, and it does so after the correction."""
    if not fallback.counts or fallback.equivalent is not True:
        return False
    if fallback.adjusted is None:
        return True
    return fallback.alpha is not None and fallback.adjusted < fallback.alpha


def _hardness(answer: JsonObject) -> tuple[int, float]:
    """Of two answers the larger one counts: false, undefined, true; then the larger p."""
    found, p = observe(answer, ("equivalent",)).value, largest_tost_p([answer])
    return 0 if found is True else 2 if found is False else 1, 1.0 if p is None else p


def _number(found: Mapping[str, JsonValue], name: str) -> float | None:
    value = found.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
