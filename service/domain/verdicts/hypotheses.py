"""What the locked rules say of every hypothesis: its clauses as observed, its outcome, its place in the family.

What is decided, `decision.decide` says, here on the one data set that came in. The plan broken is `invalid`. A claim of
equivalence that is borne out is `equivalent`, as is a false rule whose equivalence test finds it; `not_supported` never
says that there is no difference. Whatever the rows say, a mark may make an outcome `invalid` (`verdicts.validity`):
clauses and analyses stay. P-values come with the range of those that are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from service.domain.decision.decide import EQUIVALENT, HELD, INCONCLUSIVE, Decision, decide
from service.domain.decision.family import Family
from service.domain.decision.gaps import GAPS
from service.domain.decision.members import is_secondary
from service.domain.rules.answers import Answer
from service.domain.rules.claims.margins import fallback_is_wider
from service.domain.rules.grammar import parse
from service.domain.rules.rule import sentence
from service.domain.rules.truth import SET_OF, TRUTH_OF
from service.domain.verdicts.analyses import Analyses
from service.domain.verdicts.observed_evidence import ObservedEvidence, hardness, largest_tost_p
from service.domain.verdicts.outcomes import Rows
from service.domain.verdicts.pairs import Excluded
from service.domain.verdicts.parts import WIDER, EquivalenceFallback, FamilyP, HeldAgainst, Span
from service.domain.verdicts.reading import read_interval
from service.domain.verdicts.records import ClauseVerdict, HypothesisVerdict, OtherEndpoint, Outcome
from service.domain.verdicts.shortfall import why_short
from service.domain.verdicts.validity import Mark, invalidating
from service.domain.verdicts.worst_case import against
from service.words import say

NO_P = say("reasons.no_p_value")


def judge_hypotheses(rows: Rows, analyses: Analyses) -> tuple[HypothesisVerdict, ...]:
    """Judge every hypothesis, in the plan's order."""
    return tuple(judge_hypothesis(own, analyses, rows.marks) for own in analyses.evidence.values())


def judge_hypothesis(
    evidence: ObservedEvidence, analyses: Analyses, marks: Sequence[Mark]
) -> HypothesisVerdict:
    """Judge one hypothesis: what its rule decides on the data that came in, and all that this rests on.

    Without what no outcome rests on: sentence, strata, the judge's errors.
    """
    family = analyses.family
    setting, hypothesis = evidence.setting, evidence.setting.hypothesis
    read = [
        {clause: evidence.read_clause(clause, way, family) for clause in setting.clauses}
        for way in range(evidence.ways)
    ]
    # A verdict is one data set: every array has one column.
    truths = [
        {clause: np.array([SET_OF[judged.holds]], dtype=np.uint8) for clause, judged in of_way.items()}
        for of_way in read
    ]
    rule = parse(hypothesis.rule)
    decision = decide(rule, evidence, truths, family)
    at = int(decision.way[0])
    filling, clauses = evidence.fillings[at], read[at]
    paired, answers, delta = filling.pairs, filling.answers, filling.delta
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
        rule=sentence(rule),
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
        family=_place_in_family(evidence, analyses),
        analyses=dict(answers),
        # A way has a name only where both are judged; else what is missing is filled in against the claim, and that is
        # named.
        filled=(filling.way or next(iter(against(setting)), None)) if filled else None,
        fallback=_read_fallback(evidence, family),
        others=_describe_others(evidence),
    )


def _outcome(
    evidence: ObservedEvidence, decision: Decision, clauses: Iterable[ClauseVerdict], marks: Sequence[Mark]
) -> tuple[Outcome, str | None]:
    """Return what is decided of the one data set there is, and why where the rule alone does not say it."""
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


def _place_in_family(evidence: ObservedEvidence, analyses: Analyses) -> FamilyP | None:
    """Say how a hypothesis stands under the plan's policy, and under Holm's as every verdict does; None outside it."""
    corrected, holm = analyses.family, analyses.holm
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
        reason=None if known else evidence.why_no_p(),
        joint=None if analyses.joint is None else analyses.joint.shared,
    )


def _describe_others(evidence: ObservedEvidence) -> tuple[OtherEndpoint, ...] | None:
    """Describe the differences on the other endpoints that the rule speaks of; None where it speaks of none."""
    others = (
        OtherEndpoint(
            endpoint=name,
            delta=None if pairs.delta is None else float(pairs.delta),
            n=pairs.n,
            excluded=pairs.excluded,
        )
        for name, pairs in evidence.others.items()
    )
    return tuple(others) or None


def _read_fallback(evidence: ObservedEvidence, family: Family) -> EquivalenceFallback | None:
    """Return the fallback of a hypothesis; None where it names none, or nothing was computed.

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
