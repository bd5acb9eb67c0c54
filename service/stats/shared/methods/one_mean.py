"""The mean of one arm, for items like these: which interval decides, and which stand beside it.

Independent items: Clopper and Pearson's interval of right and wrong, Gaffke's bounds of scores in a range (of right
and wrong they are the same); where no range is known, at each end the further of Student's t and of Gaffke's bounds in
the range that was seen. Items in clusters: CR2 with Bell and McCaffrey's degrees of freedom; of scores, near the ends
of the range, and where the sizes of clusters differ much, also Korn and Graubard's interval, which is the exact one of
an effective number of items, and Gaffke's bounds of whole clusters, which reckon with a part of one that was not seen:
each end is the furthest of the three.

t alone errs far on the side where scores are rare and far off: log-normal scores whose logarithm has a standard
deviation of 1 lie above its interval .118 of the time at n = 50, and .042 of the time above both; where a tenth are 0
and the rest near 85 on a scale that nobody declared, .055 and .007 (nominal .025). At n = 5 the range that was seen
says nothing yet.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from service.kernels.numeric.clusters import (
    ClusterSums,
    RobustError,
    cluster_sums,
    lost_unseen,
    robust_errors,
    size_cv,
)
from service.kernels.numeric.moments import Moments, moments
from service.kernels.pairs.mean_bounds import (
    ExactShare,
    Furthest,
    GaffkeBounds,
    JeffreysShare,
    MeanBounds,
    StudentBounds,
    WilsonShare,
)
from service.stats.shared.data.clustering import UNEVEN
from service.stats.shared.data.score_range import UNIT, ScoreRange
from service.stats.shared.declaring.columns import is_binary

Floats = NDArray[np.float64]
ShareMethod = Literal["clopper-pearson", "wilson", "jeffreys"]
InClusters = Annotated[
    Literal["by_size", "furthest"],
    Field(
        description="Which interval decides in clusters. `by_size`: CR2 alone where it covers both ways together; "
        "`furthest`: at each end the furthest of CR2 t, Korn-Graubard and Gaffke's bounds of whole clusters, so that "
        "each side errs seldom by itself."
    ),
]

ENOUGH_EFFECTIVE = 20.0
"""Effective items on the rarer side (right or wrong) from which CR2 alone decides, where clusters are alike in size:
there its coverage is .94 and more (docs/score-coverage.md)."""
MOST_SKEW = 0.05
"""Skewness of the mean of so many right and wrong items above which it does not: both sides together still hold, but
the bound on the rarer side does not. With 40 clusters of 20 items it lay beyond the truth .044 of the time where nine
in ten are right (ICC .05), .043 where seven in ten are (ICC .3), for a nominal .025; .027 and .029 as decided here."""
FEW_ON_A_SIDE = 3.0
"""Clusters' worth of items on the rarer side below which whole clusters of that side may not have been seen."""
SHARES: Mapping[ShareMethod, type[ExactShare] | type[WilsonShare] | type[JeffreysShare]] = {
    "clopper-pearson": ExactShare,
    "wilson": WilsonShare,
    "jeffreys": JeffreysShare,
}
DUST = 1e-12
"""Standard errors below this share of the largest value are rounding."""


@dataclass(frozen=True, eq=False)
class OneMean:
    """Item values (n,), the number of each item's cluster (n,) or None, and between what values lie, None: unknown."""

    values: Floats
    codes: NDArray[np.int64] | None
    scale: ScoreRange | None
    share: ShareMethod = "clopper-pearson"
    furthest: bool = False
    """In clusters CR2 never decides alone."""
    seen: tuple[float, float] | None = None
    """Without a range: between what such values have been seen to lie; None: what these span."""

    @cached_property
    def binary(self) -> bool:
        """Every item is 0 or 1, and nothing else can be."""
        return self.scale == UNIT and is_binary(self.values)

    @cached_property
    def moments(self) -> Moments:
        """Moments of the items as if they were independent."""
        # the mean of equal decimals may differ from them in the last digit, which is no spread
        return moments(self.values, noise=4e-16 * float(np.abs(self.values).max(initial=0.0)))

    @cached_property
    def groups(self) -> ClusterSums | None:
        """Sums and sizes of the clusters; None without clusters."""
        return None if self.codes is None else cluster_sums(self.values, self.codes)

    @cached_property
    def error(self) -> RobustError | None:
        """Standard error and degrees of freedom of the mean: CR2 of clusters; None of a single item."""
        if self.groups is not None:
            return robust_errors(self.groups)["cr2"]
        return None if self.moments.se is None else RobustError(self.moments.se, self.moments.n - 1.0)

    @cached_property
    def deciding(self) -> tuple[str, MeanBounds] | None:
        """The name of the interval that decides, and its bounds; None where nothing can be said."""
        if self.groups is None:
            return self._of_items()
        robust, effective = self._robust, self._effective
        if effective is None or (robust is None and self.scale is None):
            return None  # what was seen is no range: alone it would say that no mean lies beyond it
        if robust is None:
            return "korn-graubard", effective
        if self._by_robust(self.effective_n, 1.0):
            return "cr2_t", robust
        blocks = self._blocks()
        return "furthest", Furthest((robust, effective) if blocks is None else (robust, effective, blocks))

    @cached_property
    def beside(self) -> dict[str, MeanBounds]:
        """Every interval there is by its name, the deciding one among them where it is one of these."""
        methods: dict[str, MeanBounds | None] = {}
        if self.groups is None:
            if self.binary:
                methods |= {name: kind(*self._counts) for name, kind in SHARES.items()}
            else:
                methods |= {self._bounded: self._gaffke_of_items, "t": self._student(self.error)}
        else:
            methods |= {"cr2_t": self._robust, "korn-graubard": self._effective}
            methods["whole_clusters"] = None if self._robust is None else self._blocks()
            methods["cr0_z"] = self._student(RobustError(self.cr0, math.inf))
        return {name: bounds for name, bounds in methods.items() if bounds is not None}

    @cached_property
    def as_if_independent(self) -> tuple[str, MeanBounds] | None:
        """The name and the bounds of the interval that takes items in clusters for independent."""
        if self.binary:
            return "wilson", WilsonShare(*self._counts)
        bounds = self._student(
            None if self.moments.se is None else RobustError(self.moments.se, self.moments.n - 1.0)
        )
        return None if bounds is None else ("t", bounds)

    @property
    def cr0(self) -> float:
        """The cluster-robust error without any correction for their number (Miller 2024)."""
        if self.groups is None:
            return 0.0
        g = self.groups.n_clusters
        return robust_errors(self.groups)["cr1"].se * math.sqrt((g - 1) / g)

    @cached_property
    def effective_n(self) -> float:
        """Items that would tell as much if they were independent, for the exact interval: Korn and Graubard's n*.

        n / deff times (t_{n-1} / t_{df})^2, with CR2's variance and no more degrees of freedom than the clusters that
        make up the variance leave (`bounded.items_for_one`): by G - 1, as Korn and Graubard have it, unequal clusters
        cover far less. The number of clusters where nothing varies, since the design effect has no estimate then.
        """
        if self.groups is None or self.error is None:
            return float(len(self.values))
        if not self.moments.sd or self._robust is None:
            return float(self.groups.n_clusters)
        values, counts = np.unique(self.values, return_counts=True)
        from service.stats.shared.methods.bounded import items_for_one  # of clusters alone

        return len(self.values) / items_for_one(values, counts.astype(np.float64), self.groups, self.error)

    def of_more(self, shift: float, times: float) -> MeanBounds | None:
        """Return the bounds that know of what was not seen, of `times` as many items whose mean lies `shift` further.

        None where such data would be decided without them.
        """
        span = self._span
        size = self.effective_n * times
        if span is None or (self.groups is not None and self._by_robust(size, times)):
            return None
        low, high = span
        if self.scale is None:  # what is seen moves with the scores
            low, high = low + shift, high + shift
        bounds: MeanBounds
        if self.binary:
            bounds = ExactShare(min(max(self.moments.mean + shift, 0.0), 1.0) * size, size)
        else:
            moved = np.clip(self.values + shift, low, high)
            bounds = GaffkeBounds.of_items(moved, low, high, len(self.values) / size)
        blocks = self._blocks(shift, times) if self._robust is not None else None
        return bounds if blocks is None else Furthest((bounds, blocks))

    @property
    def rarer_clusters(self) -> float:
        """Clusters that the items on the rarer side would fill; of scores, by how near their mean lies to an end."""
        if self.groups is None or self.scale is None:
            return math.inf
        place = (self.moments.mean - self.scale.low) / self.scale.length
        return self.groups.n_clusters * min(place, 1 - place)

    def _by_robust(self, size: float, times: float) -> bool:
        """Whether CR2 alone decides with so many effective items in `times` as many clusters: right and wrong, clusters
        of like sizes, enough of either, and a mean that is hardly skewed.

        The mean of scores tells nothing of how many were rare: half of 1 with a few 0 among it has few on either side.
        """
        even = self.groups is not None and size_cv(self.groups.sizes) <= UNEVEN
        if self.scale is None or self.furthest or not even or not self._at_ends:
            return False
        place = (self.moments.mean - self.scale.low) / self.scale.length
        if size * min(place, 1 - place) < ENOUGH_EFFECTIVE or self.rarer_clusters * times < FEW_ON_A_SIDE:
            return False
        # of a binomial share: third moment over the variance to the power 1.5
        return abs(1 - 2 * place) <= MOST_SKEW * math.sqrt(size * place * (1 - place))

    @cached_property
    def _at_ends(self) -> bool:
        """Every item is at one end of the range or the other, as right and wrong are."""
        scale = self.scale
        return scale is not None and bool(np.all((self.values == scale.low) | (self.values == scale.high)))

    @property
    def _counts(self) -> tuple[float, float]:
        return float(self.values.sum()), float(len(self.values))

    @property
    def _robust(self) -> MeanBounds | None:
        return self._student(self.error)

    @cached_property
    def _effective(self) -> MeanBounds | None:
        """Korn and Graubard's interval; of scores by Gaffke's bounds, of which Clopper and Pearson's are a case."""
        if self.binary:
            return ExactShare(self.moments.mean * self.effective_n, self.effective_n)
        return self._gaffke(len(self.values) / self.effective_n)

    def _blocks(self, shift: float = 0.0, times: float = 1.0) -> MeanBounds | None:
        """Gaffke's bounds of whole clusters, `times` as many of them whose mean lies `shift` further; None without."""
        if self.groups is None or self._span is None:
            return None
        (low, high), sizes = self._span, self.groups.sizes
        if self.scale is None:
            low, high = low + shift, high + shift
        sums = np.clip(self.groups.sums + shift * sizes, low * sizes, high * sizes)
        worth = np.array(len(self.values) / self.effective_n)
        unseen = float(lost_unseen(worth, self.groups.typical_size))
        return GaffkeBounds(sums, sizes, np.full(len(sums), times), low, high, unseen)

    @cached_property
    def _span(self) -> tuple[float, float] | None:
        """Between what scores lie: the range, else what was seen; None where no range is known and all are alike."""
        if self.scale is not None:
            return self.scale.low, self.scale.high
        low, high = float(self.values.min()), float(self.values.max())
        if self.seen is not None:
            low, high = min(low, self.seen[0]), max(high, self.seen[1])
        return (low, high) if self.moments.sd else None

    @property
    def _bounded(self) -> str:
        """What Gaffke's bounds are called."""
        return "gaffke_observed" if self.scale is None else "gaffke"

    @cached_property
    def _gaffke_of_items(self) -> MeanBounds | None:
        """Gaffke's bounds of independent items."""
        return self._gaffke(1.0)

    def _gaffke(self, worth: float) -> MeanBounds | None:
        return None if self._span is None else GaffkeBounds.of_items(self.values, *self._span, worth)

    def _student(self, error: RobustError | None) -> MeanBounds | None:
        """Return the bounds by t; None where nothing varies, since t has no width then, which is no certainty."""
        if error is None or error.se <= DUST * float(np.abs(self.values).max(initial=0.0)):
            return None
        if self.scale is None:
            return StudentBounds(self.moments.mean, error.se, error.df)
        return StudentBounds(self.moments.mean, error.se, error.df, self.scale.low, self.scale.high)

    def _of_items(self) -> tuple[str, MeanBounds] | None:
        if self.binary:
            return self.share, SHARES[self.share](*self._counts)
        bounded, student = self._gaffke_of_items, self._student(self.error)
        if self.scale is not None and bounded is not None:
            return "gaffke", bounded
        # within what was seen, bounds know of nothing beyond it, so that t has its say as well
        return None if student is None or bounded is None else ("furthest", Furthest((student, bounded)))
