"""What a test that a plan names says of many simulated data sets at once.

A test whose fields can be computed for T data sets together declares them (`PlanUse.simulated`), for the
power of plans with clusters, scores, families and looks. What such declarations share is here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from service.kernels.planning import simulated_pairs as kernel
from service.kernels.planning.labelled_pairs import LabelledSets
from service.stats.shared.declaring.certainty import FEW_UNITS, SIGNS, chance_of_signs, chances_of_t
from service.stats.shared.declaring.shows import Path

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Value = Floats | tuple[Floats, Floats]
"""A field (T,), or both ends of an interval; NaN where undefined."""


@dataclass(frozen=True)
class Units:
    """T data sets: difference sums (T, G) over G units, and where binary the items each arm alone wins."""

    sizes: Ints
    """The number of items in each unit, (G,)."""
    sums: Floats
    won: tuple[Ints, Ints] | None
    clustered: bool
    seed: int
    shared: dict[str, kernel.SharedResamples] = field(default_factory=dict, repr=False)
    """Resamples of the units by estimand: the same for all truths."""
    arms: tuple[Floats, Floats] | None = None
    """Sums of the baseline and of the candidate by unit, (T, G) each, where amounts are simulated."""
    items: Floats | None = None
    """The differences of single items, (T, n) unit by unit, where they are drawn for a test that looks at them."""
    labelled: LabelledSets | None = None
    """What people say of some items, where they are drawn for a test that takes labels."""

    @cached_property
    def delta(self) -> Floats:
        """The mean difference over all items of every data set, (T,)."""
        return np.asarray(self.sums.sum(axis=1) / self.sizes.sum())

    def weigh(self, estimand: str) -> tuple[Floats, Ints]:
        """Return sums (T, G) and sizes (G,) under an estimand: clusters that weigh alike are items of their own."""
        if estimand == "cluster_weighted":
            return self.sums / self.sizes, np.ones_like(self.sizes)
        return self.sums, self.sizes

    def generator(self, stream: int) -> np.random.Generator:
        """Return the randomness of one kind of resample."""
        return np.random.default_rng(np.random.SeedSequence([self.seed, stream]))

    def resample(self, estimand: str) -> tuple[kernel.SharedResamples, Floats]:
        """Return shared resamples of the units, and the differences delta* of every data set, (T, B)."""
        if estimand not in self._resampled:
            sums, sizes = self.weigh(estimand)
            if estimand not in self.shared:
                self.shared[estimand] = kernel.SharedResamples(sizes, self.generator(1))
            shared = self.shared[estimand]
            self._resampled[estimand] = shared, shared.deltas(sums)
        return self._resampled[estimand]

    @cached_property
    def _resampled(self) -> dict[str, tuple[kernel.SharedResamples, Floats]]:
        return {}

    def flat(self) -> NDArray[np.bool_]:
        """Tell in which data sets no unit differs from another, (T,)."""
        means = self.sums / self.sizes
        flat: NDArray[np.bool_] = np.ptp(means, axis=1) == 0
        return flat

    def decide(self, resampled: Floats) -> Floats:
        """Return a number (T,) that is read off resamples, NaN where units do not vary."""
        return np.where(self.flat(), np.nan, resampled)

    def swapped_p(self, alternative: Any) -> Floats:
        """Return the p-value (T,) of swapping the arms of whole units."""
        return kernel.swap_p(self.sums, alternative, self.generator(2))


@dataclass(frozen=True, slots=True)
class FieldRequest:
    """What a plan asks the test with."""

    parameter: Callable[[str], Any]
    """As the test will see it; None when it has none of that name."""
    margin: float | None
    """Of an equivalence test, in outcome units."""
    limit: float | None = None
    """The largest difference that an item can have; None where its endpoint has no bounds."""

    @property
    def level(self) -> float:
        """The confidence level of the interval, a proportion."""
        return float(self.parameter("level"))

    @property
    def of_means(self) -> bool:
        """The documented convention, on a mean."""
        return self.parameter("convention") == "standard" and self.parameter("metric") in ("mean", "accuracy")


Fields = Callable[[Units, FieldRequest, Path], Value | None]
"""A field on all data sets; None for one that is not simulated. An interval is asked for whole."""

Effort = Literal["summed", "resampled", "swapped", "bounded"]
"""What a test does with a data set: sums it up, sorts its resamples, flips signs of its units, or bounds its mean."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """Fields of a test on many data sets, and what they cost."""

    fields: Fields
    effort: Callable[[Callable[[str], Any]], Effort] = lambda _parameter: "summed"
    items: Callable[[Callable[[str], Any]], bool] = lambda _parameter: False
    """Whether it looks at single items where these come in clusters."""


def resampled_fields(units: Units, request: FieldRequest, path: Path) -> Value | None:
    """Return the fields of a bootstrap of the units by percentile or basic intervals."""
    method, estimand = request.parameter("method"), str(request.parameter("estimand") or "item_weighted")
    if request.parameter("convention") != "standard":
        return None
    name = method if path == ("ci",) else path[1] if path[0] == "intervals" else None
    shared, deltas = units.resample(estimand)
    sums, sizes = units.weigh(estimand)
    delta = sums.sum(axis=1) / sizes.sum()
    if path == ("delta",):
        return np.asarray(delta)
    if name in ("percentile", "basic"):
        tail = (1 - request.level) / 2
        low, high = shared.quantiles(deltas, (tail, (1 + request.level) / 2))
        if name == "basic":
            low, high = 2 * delta - high, 2 * delta - low
        return units.decide(low), units.decide(high)
    if path == ("p_value",) and request.parameter("comparison") == ">=":
        p = shared.p_value(deltas, delta, request.parameter("alternative"))
        p = np.maximum(p, _chance_beyond(sums, sizes, delta, request.parameter("alternative")))
        p = np.maximum(p, _find_allowed(units, sums, sizes, request.parameter("alternative")))
        return np.where(delta == 0, p, units.decide(p))
    return None


def _find_allowed(units: Units, sums: Floats, sizes: Ints, alternative: str) -> Floats:
    """The least p that so few units are taken to show, as `certainty.Support.least_p`; it counts as no smaller."""
    differ = np.count_nonzero(sums, axis=1)
    least = 2.0 ** -differ.astype(np.float64)
    if sums.shape[1] > FEW_UNITS:
        return np.zeros(len(sums))
    if units.won is not None and not units.clustered:
        shown = chance_of_signs(np.maximum((sums > 0).sum(axis=1), (sums < 0).sum(axis=1)), differ)
    else:
        shown = chances_of_t(sums, sizes.astype(np.float64))
    tails = 2 if alternative == "two-sided" else 1
    return np.where(least >= SIGNS, np.minimum(tails * np.maximum(least, shown), 1.0), 0.0)


def _chance_beyond(sums: Floats, sizes: Ints, delta: Floats, alternative: str) -> Floats:
    """Return the chance of such signs alone where p lies beyond every resample, which it then counts as; else 0."""
    up = delta > 0
    means, signs = sums / sizes, np.sign(sums)
    end = np.where(up, means.max(axis=1), -means.min(axis=1))
    most = np.where(up, (signs > 0).sum(axis=1), (signs < 0).sum(axis=1))
    differ = (signs != 0).sum(axis=1)
    chance = chance_of_signs(most, differ)
    beyond = {"greater": up, "less": delta < 0}.get(alternative, delta != 0)
    tails = 2 if alternative == "two-sided" else 1
    # The furthest resample is one unit drawn every time: 2 delta beyond it is reached by none.
    far = beyond & (2 * np.abs(delta) > (1 + 1e-9) * end) & (chance >= SIGNS)
    return np.where(far, np.minimum(tails * chance, 1.0), 0.0)


RESAMPLED = Simulated(resampled_fields, lambda _parameter: "resampled")
"""Of the bootstraps of one arm against another."""
