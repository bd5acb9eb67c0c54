"""What every version makes of its bounds: fields, warnings, the sentence, and what a plan may ask of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from service.kernels.repeats.fixed_items import RunSets
from service.stats.fixed_items.records import FixedItemsAnalysis, FixedItemsRequest
from service.stats.shared.data.clustering import LEAST_DF, LOW_DF
from service.stats.shared.data.pairs import apply_floor
from service.stats.shared.declaring import shows
from service.stats.shared.declaring.columns import is_binary
from service.stats.shared.declaring.common import Alternative, Interval, StatWarning
from service.stats.shared.declaring.plan_use import PlanUse
from service.stats.shared.declaring.sentences import (
    ci_of,
    decision,
    describe_sides,
    difference_of,
    level_text,
)
from service.stats.shared.declaring.warnings import define
from service.words import Value, message, speak

Floats = NDArray[np.float64]
Method = Literal["t_skewed", "clopper-pearson", "furthest"]

SEEN_RANGE = define("SEEN_RANGE", "caution", "Johnson (1978), J Am Stat Assoc 73:536")
ALIKE = "no run differs from another of its item, and no range is known that could bound what was not seen"
EXAMPLE: dict[str, Any] = {
    "baseline": [[1, 1, 1], [0, 0, 0], [1, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0]],
    "candidate": [[1, 1, 1], [1, 1, 1], [1, 1, 1], [0, 0, 1], [1, 1, 1], [1, 1, 0]],
}


class Bounds(Protocol):
    """Bounds of T data sets, with the test that they are turned around from."""

    @property
    def df(self) -> Floats:
        """Degrees of freedom of the error, (T,); NaN where there is none."""

    def ends(self, tail: float) -> tuple[Floats, Floats]:
        """Return both ends, each of which the truth lies beyond with the chance `tail`."""

    def p_above(self, value: float) -> Floats:
        """Return the one-sided p of the truth being `value` or less."""

    def p_below(self, value: float) -> Floats:
        """Return the one-sided p of the truth being `value` or more, (T,)."""


SHOWS: shows.Shows = {
    "delta": shows.Estimate(),
    "mean": shows.Estimate(),
    "ci": shows.Covers(shows.by_level),
    "p_value": shows.PValue(shows.against_zero),
    **shows.no_meaning("se", "df", "step", "n_runs", "n_varying"),
}


def plan_use(bounds_of: Callable[[RunSets], Bounds]) -> PlanUse:
    """Return what a plan may ask of the version with these bounds."""

    def of_fixed(
        items: RunSets, parameter: shows.Parameter, path: shows.Path
    ) -> Floats | tuple[Floats, Floats] | None:
        match path:
            case (("delta" | "mean") as name,) if (name == "delta") == (len(items.arms) == 2):
                return items.estimate
            case ("ci",):
                return bounds_of(items).ends((1 - float(parameter("level"))) / 2)
            case ("p_value",):
                return _p(bounds_of(items), parameter("alternative"))
            case _:
                return None

    return PlanUse(
        endpoints=frozenset({"binary", "continuous"}),
        clusters="when_planned",
        shows=SHOWS,
        takes="runs",
        arms="either",
        of_two_arms=frozenset({"p_value", "delta"}),
        takes_range=lambda _parameter: True,
        of_fixed=of_fixed,
        clause="ci.low > 0",
    )


def _p(bounds: Bounds, alternative: Alternative) -> Floats:
    """Return the p of no difference; one-sided ones above a half are not told apart."""
    above, below = bounds.p_above(0.0), bounds.p_below(0.0)
    if alternative == "two-sided":
        return np.asarray(np.minimum(2 * np.minimum(above, below), 1.0))
    return above if alternative == "greater" else below


def cost_of(request: FixedItemsRequest) -> float:
    """Return the seconds that the test takes for a request, by estimate."""
    runs = sum(len(runs) * (len(arm) / len(arm[:200])) for arm in request.arms for runs in arm[:200])
    return 0.002 + 1e-6 * runs


def answer_by(
    request: FixedItemsRequest, bounds: Bounds, method: Method, warned: tuple[StatWarning, ...], sentence: str
) -> FixedItemsAnalysis:
    """Return the answer of a version; `sentence` is the code of what two arms are told."""
    items = request.items
    reasons: dict[str, str] = {}
    floors: dict[str, str] = {}
    estimate, se = float(items.estimate[0]), float(items.se[0])
    two, varies = len(request.arms) == 2, se > 0
    low, high, p = None, None, None
    if varies or request.known is not None:
        low, high = (float(end[0]) for end in bounds.ends((1 - request.level) / 2))
        if two:
            p = apply_floor(float(_p(bounds, request.alternative)[0]), "p_value", floors)
    else:
        reasons |= dict.fromkeys(("ci.low", "ci.high", *(("p_value",) if two else ())), ALIKE)
    if not two:
        reasons |= dict.fromkeys(("p_value", "delta"), "one arm has no difference to test: send a baseline")
    else:
        reasons["mean"] = "two arms are compared: send one alone"
    if not varies:
        reasons["df"] = "no run differs from another of its item"
    ci = Interval(low=low, high=high, level=request.level, method=method)
    return FixedItemsAnalysis(
        delta=estimate if two else None,
        mean=None if two else estimate,
        ci=ci,
        p_value=p,
        se=se,
        df=float(bounds.df[0]) if varies else None,
        step=items.step,
        alternative=request.alternative,
        n=len(request.arms[0]),
        n_runs=len(request.outcomes),
        n_varying=sum(int(np.count_nonzero(cells.variances)) for cells in items.arms),
        reasons=reasons,
        bounds=floors,
        warnings=warned,
        sentence=_describe(request, estimate, ci, p, floors, sentence),
    )


def warnings_of(request: FixedItemsRequest, df: float) -> tuple[StatWarning, ...]:
    """Warn of no known range, and of few degrees of freedom."""
    warnings: list[StatWarning] = []
    if request.known is None:
        warnings.append(SEEN_RANGE())
    if request.items.se[0] > 0 and df < LEAST_DF:
        warnings.append(LOW_DF(df=df))
    return tuple(warnings)


def _describe(
    request: FixedItemsRequest,
    estimate: float,
    ci: Interval,
    p: float | None,
    bounds: dict[str, str],
    said: str,
) -> str:
    """Describe the mean or the difference over these very items, its interval and its test in one sentence."""
    binary = is_binary(request.outcomes)
    interval: Value = message("analyses.no_interval_nothing")
    size = message("analyses.of_these_items", n=len(request.arms[0]), runs=len(request.outcomes))
    if len(request.arms) == 1:
        if ci.low is not None and ci.high is not None:
            low, high = (f"{end:.4g}" for end in (ci.low, ci.high))
            interval = message("analyses.ci", level=level_text(ci.level), low=low, high=high)
        return speak("analyses.mean_alone", mean=f"{estimate:.4g}", interval=interval, size=size)
    if p is None:
        return speak("analyses.fixed_alone", delta=difference_of(estimate, binary=binary), size=size)
    interval = ci_of(ci, binary=binary)
    return speak(
        said,
        delta=difference_of(estimate, binary=binary),
        interval=interval,
        size=size,
        alternative=describe_sides(request.alternative),
        decision=decision(p, request.alpha, "analyses.zero_mean_difference", bound=bounds.get("p_value")),
    )
