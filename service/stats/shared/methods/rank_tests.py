"""What the rank tests share: the normal p-value, and the middle and an interval of all ordered differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field
from scipy import special

from service.stats.shared.declaring.common import Alternative, Interval
from service.stats.shared.declaring.sentences import ci_of, level_text
from service.words import Message, message

Method = Literal["auto", "exact", "asymptotic", "corrected"]
MethodUsed = Annotated[Literal["exact", "asymptotic", "corrected"], Field(description="The method used.")]


def normal_p(distance: float, sd: float, step: float, alternative: Alternative) -> tuple[float | None, float]:
    """Return z and p of a rank statistic `distance` from its mean, moved `step` towards it; p 1 without spread."""
    if sd == 0:
        return None, 1.0
    if alternative == "two-sided":
        z = math.copysign(max(abs(distance) - step, 0.0), distance) / sd
        return z, min(1.0, 2 * float(special.ndtr(-abs(z))))
    z = (distance - step if alternative == "greater" else distance + step) / sd
    return z, float(special.ndtr(-z if alternative == "greater" else z))


@dataclass(frozen=True, slots=True)
class Ordered:
    """So many numbers in ascending order, each found when it is asked for; the first is number 1."""

    count: int
    kth: Callable[[int], float]

    def median(self) -> float:
        """Return the middle one, or the mean of the two."""
        low = self.kth((self.count + 1) // 2)
        return low if self.count % 2 else (low + self.kth(self.count // 2 + 1)) / 2

    def interval(self, k: int, level: float) -> Interval:
        """Return the interval from the k-th smallest value to the k-th largest; unbounded where k is 0."""
        low = high = None
        if k > 0:
            low, high = self.kth(k), self.kth(self.count + 1 - k)
        return Interval(low=low, high=high, level=level, method="hodges-lehmann")


def name_interval(ci: Interval) -> Message:
    """Return the interval of a rank test as a part of a sentence; it may have no ends."""
    if ci.low is None or ci.high is None:
        return message("analyses.ci_unbounded", level=level_text(ci.level))
    return ci_of(ci, binary=False)
