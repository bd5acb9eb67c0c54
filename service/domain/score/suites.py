"""One arm's items of several tasks as a suite: its mean in the place of the items'."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from service.domain.comparison.suite_records import SuiteFacts
from service.domain.comparison.suites import facts_of, reasons_of, weigh_suite
from service.domain.score.items import Items
from service.domain.score.request import ScoreRequest
from service.stats.shared.declaring.common import Interval, StatWarning
from service.stats.shared.methods.thresholds import TIE, AgainstThreshold, Outcome

_NOT_TOLD = "told of one task, where it is plain which items there would be more of"


@dataclass(frozen=True, eq=False)
class SuiteMean:
    """What a score reads of an analysis, of a suite."""

    mean: float
    ci: Interval | None
    se: float | None
    df: float | None
    intervals: dict[str, Interval]
    against: AgainstThreshold | None
    n: int
    n_values: int
    reasons: dict[str, str]
    suite: SuiteFacts
    these_items: None = None
    clusters: None = None


@dataclass(frozen=True, eq=False)
class SuiteAnswer:
    """The registered test that was run, and what it says."""

    test: str
    version: int
    analysis: SuiteMean
    warnings: tuple[StatWarning, ...]


def weigh_tasks(items: Items, request: ScoreRequest, lacking: tuple[str, ...]) -> SuiteAnswer:
    """Return the mean of the tasks of these items, each item its mean over runs."""
    values = [sum(runs) / len(runs) for runs in items.runs]
    options: dict[str, Any] = {"alpha": request.alpha, "threshold": request.threshold}
    if request.range is not None:
        options["range"] = request.range.model_dump()
    answer = weigh_suite({"values": values}, items.tasks or (), items.clusters, request.suite, options)
    analysis = answer.analysis
    reasons = {"these_items": "told of one task", "clusters": "told of one task", **reasons_of(analysis)}
    reasons |= {name: analysis.reasons[name] for name in ("ci", "se", "df") if name in analysis.reasons}
    against = None
    if request.threshold is None:
        reasons["against"] = "no threshold was given"
    else:
        against = _against(analysis, request, request.threshold, reasons)
    mean = SuiteMean(
        mean=analysis.estimate,
        ci=analysis.ci,
        se=analysis.se,
        df=analysis.df,
        intervals={},
        against=against,
        n=analysis.n,
        n_values=sum(len(runs) for runs in items.runs),
        reasons=reasons,
        suite=facts_of(analysis, request.suite, lacking),
    )
    return SuiteAnswer(answer.test, answer.version, mean, answer.warnings)


def _against(
    analysis: Any, request: ScoreRequest, threshold: float, reasons: dict[str, str]
) -> AgainstThreshold:
    """By the ends of the interval, as of one task."""
    above, below = analysis.p_above, analysis.p_below
    if above is None:
        reasons |= dict.fromkeys(("against.p_meets", "against.p_falls_short"), reasons["ci"])
    reasons |= dict.fromkeys(("against.posterior", "against.attainable", "against.more"), _NOT_TOLD)
    higher = request.prefers == "higher"
    return AgainstThreshold(
        threshold=threshold,
        outcome=_decide(analysis.ci, threshold, higher=higher),
        p_meets=above if higher else below,
        p_falls_short=below if higher else above,
        posterior=None,
        attainable=None,
        more=None,
    )


def _decide(ci: Interval | None, threshold: float, *, higher: bool) -> Outcome:
    """Decide by an interval whether a mean meets the threshold; an end within rounding of it touches it."""
    if ci is None or ci.low is None or ci.high is None:
        return "cannot_tell"
    near = TIE * max(abs(threshold), abs(ci.low), abs(ci.high))
    if higher:
        return (
            "meets"
            if ci.low >= threshold - near
            else "falls_short"
            if ci.high < threshold - near
            else "cannot_tell"
        )
    return (
        "meets"
        if ci.high <= threshold + near
        else "falls_short"
        if ci.low > threshold + near
        else "cannot_tell"
    )
