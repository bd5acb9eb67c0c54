"""Values that stand apart: listed with their positions, never removed."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from service.kernels.numeric.moments import moments
from service.records import Record
from service.stats.shared.data.samples import OneSample
from service.stats.shared.declaring.common import Analysis, Finite
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.sentences import state_reason
from service.stats.shared.declaring.warnings import define
from service.words import speak

Method = Literal["iqr", "zscore", "mad"]
MAD_TO_Z = 0.6745
"""The upper quartile of a normal law: the median distance from its median, in SDs."""

Z_BLIND = define("Z_BLIND", "caution", "Shiffler (1988), Am Stat 42:79")
OUTLIERS_LISTED = define("OUTLIERS_LISTED", "info")


class OutliersRequest(OneSample):
    """One column and a rule for what stands apart."""

    elsewhere: ClassVar = {"level": "describe"}

    method: Method = Field("iqr", description="iqr: fences at 1.5 IQR; zscore: |z| above 3; mad: above 3.5.")
    threshold: Finite | None = Field(
        None, gt=0, description="IQRs, SDs or scaled MADs; null: 1.5, 3 or 3.5 by method."
    )


class Outlier(Record):
    """One value that stands apart."""

    position: int = Field(description="Index in the column sent, from 0.")
    value: float = Field(description="Score units.")
    score: float | None = Field(description="IQRs beyond the quartile, |z|, or scaled MADs; null at IQR 0.")


class OutliersAnalysis(Analysis):
    """Which runs the rule lists as outliers, and what it lists them by."""

    method: Method = Field(description="The rule used.")
    threshold: float = Field(description="IQRs, SDs or scaled MADs.")
    n: int = Field(description="Values.")
    n_outliers: int | None = Field(description="Values listed; null when the rule is undefined.")
    positions: tuple[int, ...] | None = Field(description="Their indices, from 0.")
    outliers: tuple[Outlier, ...] | None = Field(description="The values listed, in column order.")
    low_fence: float | None = Field(description="Values below are listed, score units.")
    high_fence: float | None = Field(description="Values above are listed, score units.")
    max_score: float | None = Field(description="Largest distance of any value by the rule.")
    max_possible_score: float | None = Field(description="zscore: largest |z| that n values allow.")


def _estimate_cost(request: OutliersRequest) -> float:
    return 0.0005 + 7e-7 * len(request.values) + 2.5e-6 * min(len(request.values), 100_000)


@stat_test(
    name="outliers",
    version=1,
    title="Outliers (IQR fences, z-score, MAD)",
    asked="one_system",
    example={"values": [75.0, 76.0, 74.0, 77.0, 95.0]},
    cost=_estimate_cost,
    closed_form=True,
)
def outliers(request: OutliersRequest) -> OutliersAnalysis:
    """List the values that stand apart from the rest, with their positions.

    ``iqr``: beyond 1.5 IQR from the type-7 quartiles. ``zscore``: |x - mean| / SD above 3,
    the SD with ddof 0. ``mad``: 0.6745 |x - median| / MAD above 3.5. There is no H0, and
    nothing is removed.

    Returns:
        positions: indices of the listed values, from 0.
        outliers: the same with value and distance.
        low_fence, high_fence: the values between which nothing is listed.

    Raises:
        InvalidData: no values, or values beyond 1e150.

    Edge cases:
        zscore with n <= threshold^2 + 1 (10 at 3): no value can be listed, warning Z_BLIND.
        MAD 0 (over half the values equal): the rule is undefined and null.
        IQR 0: every value off the quartile is listed.
        All equal: nothing stands apart; zscore and mad are null.

    Sources:
        Tukey (1977), Exploratory Data Analysis (fences).
        Iglewicz & Hoaglin (1993), How to Detect and Handle Outliers (MAD, 3.5).
        Shiffler (1988), Am Stat 42:79 (largest z).

    Example:
        75, 76, 74, 77, 95: fences 72 and 80 list position 4; its z is 1.98, so zscore lists nothing.
    """
    values = request.array()
    n = values.size
    threshold = request.threshold or {"iqr": 1.5, "zscore": 3.0, "mad": 3.5}[request.method]
    reasons: dict[str, str] = {}
    flagged = _RULES[request.method](values, threshold)
    # Shiffler (1988): (n - 1) / sqrt(n) with ddof 1, so sqrt(n - 1) with the ddof 0 of this rule.
    possible = float(np.sqrt(n - 1)) if request.method == "zscore" else None
    if possible is None:
        reasons["max_possible_score"] = "only z-scores are bounded by n"
    fields = ("n_outliers", "positions", "outliers", "low_fence", "high_fence", "max_score")
    if isinstance(flagged, str):
        reasons |= dict.fromkeys(fields, flagged)
        listed, low, high, largest = None, None, None, None
        sentence = speak("analyses.outliers_undefined", method=request.method, reason=state_reason(flagged))
    else:
        low, high, scores = flagged
        listed = tuple(
            Outlier(
                position=int(i), value=float(values[i]), score=None if scores is None else float(scores[i])
            )
            for i in np.flatnonzero(_beyond(values, low, high))
        )
        largest = None if scores is None else float(scores.max())
        if scores is None:
            reasons["max_score"] = reasons["outliers.score"] = "the IQR is 0"
        sentence = speak(
            "analyses.outliers",
            listed=len(listed),
            n=n,
            low=float(low),
            high=float(high),
            method=request.method,
            threshold=f"{threshold:g}",
        )
    warnings = []
    if possible is not None and possible <= threshold:
        warnings.append(Z_BLIND(n=n, largest=possible, threshold=threshold))
    if listed:
        warnings.append(OUTLIERS_LISTED(count=len(listed), n=n))
    return OutliersAnalysis(
        method=request.method,
        threshold=threshold,
        n=n,
        n_outliers=None if listed is None else len(listed),
        positions=None if listed is None else tuple(o.position for o in listed),
        outliers=listed,
        low_fence=low,
        high_fence=high,
        max_score=largest,
        max_possible_score=possible,
        reasons=reasons,
        warnings=tuple(warnings),
        sentence=sentence,
    )


Fences = tuple[float, float, NDArray[np.float64] | None] | str
"""Fences and every value's distance (None where it has no unit), or why the rule is undefined."""


def _beyond(values: NDArray[np.float64], low: float, high: float) -> NDArray[np.bool_]:
    """Outside the fences; a value within rounding of a fence lies on it."""
    # A quantile is interpolated and so rounded: 1e-12 of the fence is some thousand last digits, and below any data.
    slack = 1e-12 * max(abs(low), abs(high))
    return (values < low - slack) | (values > high + slack)


def _iqr(values: NDArray[np.float64], threshold: float) -> Fences:
    low, high = (float(q) for q in np.quantile(values, [0.25, 0.75]))
    iqr = high - low
    beyond = np.maximum(np.maximum(low - values, values - high), 0.0)
    return low - threshold * iqr, high + threshold * iqr, beyond / iqr if iqr > 0 else None


def _zscore(values: NDArray[np.float64], threshold: float) -> Fences:
    m = moments(values)
    if not m.sd:
        return "no spread"
    # ddof 0, as published.
    sd = m.sd * np.sqrt((m.n - 1) / m.n)
    return float(m.mean - threshold * sd), float(m.mean + threshold * sd), np.abs(values - m.mean) / sd


def _mad(values: NDArray[np.float64], threshold: float) -> Fences:
    median = float(np.median(values))
    deviations = np.abs(values - median)
    mad = float(np.median(deviations))
    if mad == 0:
        return "the median absolute deviation is 0: half of the values or more are equal"
    reach = threshold * mad / MAD_TO_Z
    return median - reach, median + reach, MAD_TO_Z * deviations / mad


_RULES = {"iqr": _iqr, "zscore": _zscore, "mad": _mad}
