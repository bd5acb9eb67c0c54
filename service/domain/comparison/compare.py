"""Two arms without a plan: one answer, with what carries it."""

from __future__ import annotations

from service.domain.comparison.answering import draft_answer, name_arms, put_into_words, warnings_of
from service.domain.comparison.attrition import Attrition, attrition_of
from service.domain.comparison.claims import claims_of
from service.domain.comparison.lower_better import turn, turn_back, turn_scale, turning_point
from service.domain.comparison.more import more_of
from service.domain.comparison.pairing import Pairs, pair
from service.domain.comparison.records import Comparison
from service.domain.comparison.request import ComparisonRequest
from service.domain.comparison.scale import scale_message
from service.domain.comparison.sentences import next_step, rule_text, sentence
from service.domain.comparison.suite_sentences import suite_messages, suite_next
from service.domain.comparison.suites import NO_TASKS, facts_of, lacking_warning, reasons_of, require_known
from service.domain.comparison.unpaired import compare_unpaired
from service.domain.comparison.weighing import Evidence, Weighing, delta_of, mean, reasons_of_nulls, weigh


def compare(request: ComparisonRequest) -> Comparison:
    """Compare: better, no worse, worse, or cannot tell; every claim is read from the interval that is printed.

    Raises:
        InvalidData: what cannot be paired, or a margin whose unit does not fit the outcomes.
    """
    judge = _compare if request.pairing == "by_id" else compare_unpaired
    if request.prefers == "higher":
        return judge(request, None)
    about = turning_point(request)
    return turn_back(judge(turn(request, about), about), about)


def _compare(request: ComparisonRequest, about: float | None) -> Comparison:
    """Higher outcomes are better. `about`: the point they were turned round, which words and warnings undo."""
    pairs, unpaired, everything = pair(request, lower=about is not None)
    require_known(request.suite, set(everything.tasks.values()))
    weighing = Weighing.of(pairs, request)
    scale = weighing.scale
    evidence = weigh(pairs, weighing)
    carried = claims_of(evidence, weighing.margin)
    missing = attrition_of(everything, request, weighing)
    claims = carried if missing is None else missing.standing(carried)
    delta = delta_of(pairs, evidence)
    outcome, analysis = claims.outcome, evidence.suite
    settled = outcome != "cannot_tell" or carried != claims or pairs.tasks is not None
    more = () if settled or delta is None else more_of(
        evidence, delta, weighing.margin, request.alpha, request.power
    )  # fmt: skip
    slices = None
    if pairs.slices is not None:
        from service.domain.comparison.slices import slices_of  # most comparisons answer sooner without

        slices = slices_of(pairs, weighing, missing)
    lacking = [] if analysis is None else sorted(set(everything.tasks.values()) - set(pairs.tasks or ()))
    warnings = lacking_warning(lacking, arms=2) + warnings_of(evidence, claims)
    if missing is not None:
        sign = 1 if about is None else -1
        warnings += missing.warnings(carried, points=weighing.points, sign=sign)
    taken = scale if scale is None or about is None else turn_scale(scale, about)
    answer = draft_answer(
        evidence,
        claims,
        weighing,
        about=about,
        rule=rule_text(evidence.rule, None if evidence.bounded is None else scale_message(taken)),
        delta=delta,
        binary=pairs.n > 0 and pairs.binary,
        baseline_mean=mean(pairs.baseline) if analysis is None else analysis.baseline_mean,
        candidate_mean=mean(pairs.candidate) if analysis is None else analysis.candidate_mean,
        n=pairs.n,
        more=more,
        unpaired=unpaired,
        slices=slices,
        suite=None if analysis is None else facts_of(analysis, request.suite, lacking),
        reasons=_reasons(pairs, evidence, weighing, missing if carried != claims else None),
        warnings=warnings,
    )
    names = name_arms(request)
    fails = (
        request.missing == "exclude_pair" and everything.one_sided and everything.zero_is_worst(request.range)
    )
    text = sentence(answer, *names, more=suite_messages(answer))
    following = suite_next(answer) or next_step(answer, can_fail=fails)
    return put_into_words(answer, names, text=text, following=following)


def _reasons(
    pairs: Pairs, evidence: Evidence, weighing: Weighing, unsettled_by: Attrition | None
) -> dict[str, str]:
    """Say why fields of a paired comparison are null, or its outcome is not what its interval says, by field.

    `unsettled_by`: the missing results that the claims do not stand.
    """
    reasons = {**evidence.reasons, "arms": "the arms are compared pair by pair"}
    if pairs.tasks is None:
        reasons["suite"] = NO_TASKS
    if not pairs.n:
        reasons |= dict.fromkeys(("delta", "baseline_mean", "candidate_mean"), "no item is in both arms")
    reasons |= reasons_of_nulls(evidence, weighing)
    if unsettled_by is not None:
        reasons["outcome"] = unsettled_by.reason
    return reasons if evidence.suite is None else reasons | reasons_of(evidence.suite)
