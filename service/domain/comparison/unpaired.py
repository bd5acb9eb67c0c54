"""Two arms on items of their own, without a plan: nothing is paired, and the answer says what that costs.

Right or wrong and independent: Miettinen and Nurminen's score interval (1985), Boschloo's exact test, and an exact test
of a loss of the margin. All else: each arm's bounds, which know of outcomes too rare to have been seen, melded (Fay,
Proschan & Brittain 2015); in clusters or adjusted by covariates beside CR2 t.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from service.domain.comparison.answering import draft_answer, name_arms, put_into_words, warnings_of
from service.domain.comparison.attrition import Extreme
from service.domain.comparison.claims import Claims, claims_of
from service.domain.comparison.left_out import MOST
from service.domain.comparison.lower_better import turn_scale
from service.domain.comparison.more import more_of
from service.domain.comparison.pairing import Pairs
from service.domain.comparison.records import Comparison, ScaleTaken, TestRun, Unit, Unpaired, UnpairedArms
from service.domain.comparison.request import ComparisonRequest
from service.domain.comparison.scale import scale_message
from service.domain.comparison.sentences import difference, interval, next_step, rule_text, sentence
from service.domain.comparison.unpaired_arms import USUAL, Arm, arms_of, pairing_saves
from service.domain.comparison.warning_kinds import MISSING_RESULTS
from service.domain.comparison.weighing import (
    Evidence,
    Rule,
    Weighing,
    furthest,
    mean,
    nothing,
    reasons_of_nulls,
    run_test,
)
from service.stats.shared.declaring.common import Interval, StatWarning
from service.words import Message, message, speak


@dataclass(frozen=True, slots=True)
class Weighed:
    """What the tests found, and the difference that they speak of."""

    evidence: Evidence
    delta: float | None = None
    covariates: tuple[str, ...] = ()
    unadjusted: float | None = None
    items_saved: float | None = None


def compare_unpaired(request: ComparisonRequest, about: float | None) -> Comparison:
    """Compare where higher is better. `about`: the point outcomes were turned round, which words and warnings undo.

    Raises:
        InvalidData: an item twice in an arm, only some items with a cluster, or a margin whose unit does not fit.
    """
    sign = 1 if about is None else -1
    arms = arms_of(request, lower=about is not None)
    # not pairs: what both columns span and whether they are right and wrong is all that is asked of them
    spanned = _span_arms(arms, request)
    weighing = Weighing.of(spanned, request)
    scale = weighing.scale
    weighed = _weigh(arms, weighing)
    evidence = weighed.evidence
    carried = claims_of(evidence, weighing.margin)
    worst, best = (_extreme(arms, ends, weighing) for ends in _ends(scale))
    claims = _standing(carried, worst, best, arms)
    delta = weighed.delta
    reasons = {**evidence.reasons, "suite": "told of pairs", **reasons_of_nulls(evidence, weighing)}
    warnings = warnings_of(evidence, claims)
    if worst is not None and best is not None:
        reasons |= {"outcome": speak("comparison.withheld")} if claims != carried else {}
        extreme = best if carried.outcome == "worse" else worst
        if _share(arms) > MOST or extreme.claims.outcome != carried.outcome:
            warnings = *warnings, _warn_of_missing(arms, extreme, carried, points=weighing.points, sign=sign)
    outcome = claims.outcome
    withheld = outcome != "cannot_tell" or carried != claims or delta is None
    more = (
        ()
        if withheld or delta is None
        else more_of(evidence, delta, weighing.margin, request.alpha, request.power)
    )
    taken = scale if scale is None or about is None else turn_scale(scale, about)
    answer = draft_answer(
        evidence,
        claims,
        weighing,
        about=about,
        rule=rule_text(evidence.rule, scale_message(taken)),
        delta=delta,
        binary=spanned.n > 0 and spanned.binary,
        baseline_mean=mean(arms[0].values),
        candidate_mean=mean(arms[1].values),
        n=spanned.n,
        more=more,
        unpaired=_NONE_UNPAIRED,
        arms=_describe_arms(arms, weighed),
        reasons=reasons,
        warnings=warnings,
    )
    names = name_arms(request)
    text = speak("comparison.unpaired_sentence", sentence=sentence(answer, *names, more=_pairing(answer)))
    return put_into_words(answer, names, text=text, following=_next(answer))


_NONE_UNPAIRED = Unpaired(
    counted="left_out",
    only_baseline=0,
    only_baseline_ids=(),
    only_candidate=0,
    only_candidate_ids=(),
    missing=0,
    missing_ids=(),
    neither=0,
    neither_ids=(),
)


def _span_arms(arms: tuple[Arm, Arm], request: ComparisonRequest) -> Pairs:
    """Return both arms' values one beside the other, for the range that they span; they are no pairs."""
    ids = (
        [item_id for arm in arms for item_id in arm.item_ids] if all(len(arm.values) for arm in arms) else []
    )
    averaged = request.baseline.replicates is not None or request.candidate.replicates is not None
    return Pairs(ids, arms[0].values, arms[1].values, None, None, averaged)


def _weigh(arms: tuple[Arm, Arm], weighing: Weighing) -> Weighed:
    """The decision on independent arms: shares where right and wrong, else means; nothing where nothing varies."""
    alpha, scale = weighing.alpha, weighing.scale
    clusters = arms[0].clusters is not None
    unit: Unit = "clusters" if clusters else "items"
    adjusted = bool(arms[0].covariates)
    rule = ("furthest",) if clusters or adjusted else ("means",)
    if any(len(arm.values) == 0 for arm in arms):
        return Weighed(nothing(rule, unit, alpha, 0, speak("comparison.no_result")))
    plain = float(arms[1].values.mean() - arms[0].values.mean())
    if scale is None:
        return Weighed(nothing(rule, unit, alpha, 0, speak("comparison.alike")), plain)
    if clusters and any(len(set(arm.clusters or ())) < 2 for arm in arms):
        why = speak("comparison.single_cluster")
        return Weighed(nothing(rule, unit, alpha, 0, why), plain)
    if scale.source == "binary" and not clusters and not adjusted:
        return Weighed(_weigh_shares(arms, weighing.margin, alpha), plain)
    return _weigh_means(arms, alpha, scale, rule, unit)


def _weigh_shares(arms: tuple[Arm, Arm], margin: float | None, alpha: float) -> Evidence:
    """Return the decision on two shares of independent items: Boschloo's exact test and the score interval."""
    body: dict[str, Any] = {"alpha": alpha, "level": 1 - alpha}
    for name, arm in zip(("baseline", "candidate"), arms, strict=True):
        body |= {f"{name}_right": int(arm.values.sum()), f"{name}_n": len(arm.values)}
    if margin is not None:
        body["margin"] = {"value": margin, "unit": "proportion"}
    answer, run = run_test("unpaired_shares", body, "boschloo")
    analysis = answer.analysis
    against = analysis.noninferiority
    # an arm without a failure varies too: by half an item on either side
    shares = [(arm.values.sum() + 0.5) / (len(arm.values) + 1) for arm in arms]
    variance = sum(share * (1 - share) / len(arm.values) for share, arm in zip(shares, arms, strict=True))
    n = sum(len(arm.values) for arm in arms)
    return Evidence(
        rule=("shares", "both_directions"),
        unit="items",
        ci=analysis.ci,
        tests=(run,),
        differs=analysis.p_value < alpha,
        loss_excluded=against is not None and against.p_value < alpha / 2,
        se=math.sqrt(float(variance)),
        df=max(n - 2, 1),
        units=n,
        least_p=analysis.min_attainable_p,
        warnings=tuple(warning for warning in answer.warnings if warning.code != "UNPAIRED_ARMS"),
    )


def _weigh_means(arms: tuple[Arm, Arm], alpha: float, scale: ScaleTaken, rule: Rule, unit: Unit) -> Weighed:
    """Return the decision on two means: bounds that know of rare losses, with clusters and covariates."""
    body: dict[str, Any] = {
        "alpha": alpha,
        "level": 1 - alpha,
        "range": {"low": scale.low, "high": scale.high},
    }
    sides = dict(zip(("baseline", "candidate"), arms, strict=True))
    body |= {name: arm.values.tolist() for name, arm in sides.items()}
    if unit == "clusters":
        body["clusters"] = {name: list(arm.clusters or ()) for name, arm in sides.items()}
    if arms[0].covariates:
        rule = (*rule, "adjusted")
        body["covariates"] = {
            covariate: {name: list(arm.covariates[covariate]) for name, arm in sides.items()}
            for covariate in arms[0].covariates
        }
    answer, run = run_test("unpaired_means", body, "melded")
    analysis = answer.analysis
    reasons: dict[str, str] = {}
    ci = analysis.ci
    if ci is not None and unit == "items" and scale.source == "observed" and "t" in analysis.intervals:
        ci, rule = furthest(ci, analysis.intervals["t"]), (*rule, "observed")
    if unit == "clusters" and analysis.min_attainable_p >= alpha:
        ci = None
        reasons["ci"] = speak("comparison.so_few_clusters")
    if ci is None:
        ci = Interval(low=None, high=None, level=1 - alpha, method="none")
        reasons.setdefault("ci", analysis.reasons.get("ci", "these data decide nothing"))
    n = sum(len(arm.values) for arm in arms)
    clusters = len({label for arm in arms for label in arm.clusters or ()})
    evidence = Evidence(
        rule=(*rule, "both_directions"),
        unit=unit,
        ci=ci,
        tests=(
            run.model_copy(update={"method": run.ci.method if run.ci else "none"}),
            *_beside(run, analysis),
        ),
        differs=True,
        loss_excluded=True,
        se=analysis.se or None,
        df=analysis.df or 1.0,
        units=clusters if unit == "clusters" else n,
        n_clusters=clusters if unit == "clusters" else None,
        least_p=analysis.min_attainable_p,
        reasons=reasons,
        warnings=answer.warnings,
    )
    adjustment = analysis.adjustment
    if adjustment is None:
        return Weighed(evidence, analysis.delta)
    return Weighed(
        evidence, analysis.delta, tuple(adjustment.covariates), adjustment.unadjusted, adjustment.items_saved
    )


def _beside(run: TestRun, analysis: Any) -> list[TestRun]:
    """Return the intervals that did not decide, each with a line of its own."""
    decided = run.ci.method if run.ci else None
    others = {name: ci for name, ci in analysis.intervals.items() if name != decided}
    return [
        TestRun(test=run.test, version=run.version, method=name, p_value=None, ci=ci)
        for name, ci in others.items()
    ]


def _ends(scale: ScaleTaken | None) -> tuple[tuple[float, float], tuple[float, float]]:
    low, high = (0.0, 1.0) if scale is None else (scale.low, scale.high)
    return (high, low), (low, high)


def _extreme(arms: tuple[Arm, Arm], ends: tuple[float, float], weighing: Weighing) -> Extreme | None:
    """Return the answer if all that is missing had one outcome in the baseline, and one in the candidate."""
    if not any(arm.lacking for arm in arms):
        return None
    filled = arms[0].fill(ends[0]), arms[1].fill(ends[1])
    weighed = _weigh(filled, weighing)
    return Extreme(weighed.delta or 0.0, weighed.evidence.ci, claims_of(weighed.evidence, weighing.margin))


def _share(arms: tuple[Arm, Arm]) -> float:
    """Of the arm that lacks most, how much."""
    return max(len(arm.lacking) / max(len(arm.lacking) + len(arm.values), 1) for arm in arms)


def _standing(carried: Claims, worst: Extreme | None, best: Extreme | None, arms: tuple[Arm, Arm]) -> Claims:
    """With more than 5% of an arm left out, the claims that hold in their worst case too."""
    if worst is None or best is None or _share(arms) <= MOST:
        return carried
    return Claims(
        better=carried.better and worst.claims.better,
        no_worse=None if carried.no_worse is None else carried.no_worse and bool(worst.claims.no_worse),
        worse=carried.worse and best.claims.worse,
    )


def _warn_of_missing(
    arms: tuple[Arm, Arm], extreme: Extreme, carried: Claims, *, points: bool, sign: int
) -> StatWarning:
    """Return the warning that results are missing, with what they could do to the answer."""
    return StatWarning(
        code=MISSING_RESULTS.code,
        severity="caution" if extreme.claims.outcome == carried.outcome else "serious",
        message=speak(
            "comparison.unpaired_missing",
            baseline=len(arms[0].lacking),
            candidate=len(arms[1].lacking),
            delta=difference(sign * extreme.delta, points=points),
            interval=interval(extreme.ci, points=points, sign=sign),
            answer=message(f"comparison.outcome_{extreme.claims.outcome}"),
        ),
        citation=MISSING_RESULTS.citation,
    )


def _describe_arms(arms: tuple[Arm, Arm], weighed: Weighed) -> UnpairedArms:
    """Counts of both arms, and what covariates and pairing save."""
    before, after = arms
    return UnpairedArms(
        n_baseline=len(before.values),
        n_candidate=len(after.values),
        missing_baseline=len(before.lacking),
        missing_candidate=len(after.lacking),
        covariates=weighed.covariates,
        unadjusted=weighed.unadjusted,
        items_saved=weighed.items_saved,
        pairing=pairing_saves(before, after),
    )


def _pairing(answer: Comparison) -> list[Message]:
    """Return what the same items in both arms would have saved."""
    saves = None if answer.arms is None else answer.arms.pairing
    if saves is None:
        return []
    needed = max(round(100 * saves.items_needed), 1)
    if saves.measured_on is None:
        return [message("comparison.pairing_usual", needed=needed, usual=f"{USUAL:g}")]
    key = "pairing_nothing" if needed >= 100 else "pairing_saves"
    correlation = saves.correlation or 0.0
    count = saves.measured_on
    return [message(f"comparison.{key}", count=count, correlation=correlation, needed=needed)]


def _next(answer: Comparison) -> str:
    """Return what to do now: the words of pairs, but for what speaks of pairs."""
    if answer.outcome in ("better", "no_worse"):
        return speak(f"comparison.unpaired_ship_{answer.outcome}")
    if answer.outcome == "worse":
        return speak("comparison.unpaired_keep")
    return speak("comparison.unpaired_or_pair", next=next_step(answer))
