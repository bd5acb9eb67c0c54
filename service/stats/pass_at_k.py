"""pass@k from repeated attempts at the same items."""

from __future__ import annotations

import math
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from service.errors import InvalidData
from service.kernels.numeric.clusters import cluster_sums, codes_of, robust_errors
from service.kernels.numeric.t_distribution import t_quantile
from service.kernels.repeats.pass_at_k import pass_at_k as estimate
from service.records import Record
from service.stats.shared.data.clustering import NO_CLUSTERS
from service.stats.shared.declaring.columns import require_equal_lengths, require_two_clusters
from service.stats.shared.declaring.common import MAX_ITEMS, Analysis, Interval, Request, StatWarning
from service.stats.shared.declaring.fields import ClusterCount, Clusters, ItemCount, LevelOfAll
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.sentences import level_text
from service.stats.shared.declaring.warnings import define
from service.words import message, speak

MOST_ATTEMPTS = 2000
SHOWN = 1000

FEW_ATTEMPTS = define("FEW_ATTEMPTS", "caution", "Chen et al. (2021), arXiv:2107.03374")

Attempts = Annotated[int, Field(ge=1, le=MOST_ATTEMPTS)]
Correct = Annotated[int, Field(ge=0, le=MOST_ATTEMPTS)]
Column = Annotated[list[Correct], Field(max_length=MAX_ITEMS, fail_fast=True)]


class PassAtKRequest(Request):
    """Correct attempts per item, of how many."""

    correct: Column = Field(description="Correct attempts per item, counts.")
    attempts: Attempts | Annotated[list[Attempts], Field(max_length=MAX_ITEMS, fail_fast=True)] = Field(
        description="Attempts: one number for all items, or one per item, counts."
    )
    k: Annotated[list[Attempts], Field(min_length=1, max_length=50)] = Field(
        [1], description="Numbers of attempts to ask about, counts."
    )
    clusters: Clusters = None
    level: LevelOfAll = 0.95

    @model_validator(mode="after")
    def _require_usable(self) -> Self:
        """Refuse more correct than attempts, and k above the attempts of an item."""
        per_item = self.attempts if isinstance(self.attempts, list) else None
        require_equal_lengths({"correct": self.correct, "attempts": per_item, "clusters": self.clusters})
        attempts, correct = self.arrays()
        if np.any(correct > attempts):
            item = int(np.argmax(correct > attempts))
            raise InvalidData.field(
                f"correct[{item}]", "is more than its attempts", "count correct attempts only"
            )
        if max(self.k) > attempts.min():
            raise InvalidData.field(
                "k", "is more than the attempts of some item", f"ask for k up to {attempts.min()}"
            )
        require_two_clusters(self.clusters)
        return self

    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return attempts and correct attempts per item, (n,) each."""
        correct = np.array(self.correct, dtype=np.int64)
        return np.broadcast_to(np.array(self.attempts, dtype=np.int64), correct.shape), correct


class PassEstimate(Record):
    """The estimate of pass@k for one number of attempts k."""

    k: int = Field(description="Attempts allowed, a count.")
    value: float = Field(description="Mean over items of 1 - C(n - c, k) / C(n, k), a proportion.")
    se: float | None = Field(description="Standard error over items (CR1 with clusters), a proportion.")
    ci: Interval = Field(
        description="t interval of the mean over items, within 0 and 1, proportions; Clopper-Pearson where "
        "the items do not vary."
    )


class PassAtKAnalysis(Analysis):
    """pass@k with the uncertainty that comes from the choice of items."""

    estimates: list[PassEstimate] = Field(description="One entry per k, as asked.")
    items: list[float] = Field(
        description="pass@k of every item for the first k, proportions: columns for a paired test; the "
        "first 1,000 items."
    )
    n: ItemCount
    n_clusters: ClusterCount
    n_never: int = Field(description="Items no attempt solved, a count.")
    n_always: int = Field(description="Items every attempt solved, a count.")


def _estimate_cost(request: PassAtKRequest) -> float:
    return 0.001 + 2e-6 * len(request.correct) + 1e-4 * len(request.k)


@stat_test(
    name="pass-at-k",
    version=1,
    title="pass@k",
    asked="runs",
    example={"correct": [0, 3, 10, 1, 7], "attempts": 10, "k": [1, 5]},
    cost=_estimate_cost,
    closed_form=True,
)
def pass_at_k(request: PassAtKRequest) -> PassAtKAnalysis:
    """Estimate how often at least one of k attempts at an item is correct.

    Of n attempts at an item, c are correct; picking k of them at random, all fail in C(n - c, k) of
    C(n, k) ways. Attempts at an item are independent with the item's own chance, items are a sample of
    such items. The mean over items is an estimate; there is no H0. To compare two arms, give the
    items' values to a paired test.

    Returns:
        estimates: per k the mean over items, its standard error and t interval.
        items: the value of each item for the first k.

    Raises:
        InvalidData: more correct than attempts, k above the attempts of some item, columns of different
            length, a single cluster, or no item.

    Edge cases:
        k = 1: the share correct, c/n.
        Fewer than 2 k attempts for some item: warning FEW_ATTEMPTS.
        A single item: no standard error, the interval is null.
        Items that all agree, such as none ever solved: Clopper-Pearson's bound on the share of items that are
            unlike them, which may hold anything from 0 to 1; with clusters, of clusters.

    Sources:
        Chen et al. (2021), arXiv:2107.03374 (the estimator).
        Kulal et al. (2019), NeurIPS 32 (pass@k).
        Clopper & Pearson (1934), Biometrika 26:404.

    Example:
        10 attempts, 3 correct: pass@5 = 1 - C(7, 5)/C(10, 5) = 1 - 21/252 = 11/12.
    """
    attempts, correct = request.arrays()
    codes = None if request.clusters is None else codes_of(request.clusters)
    reasons: dict[str, str] = {}
    curve = []
    for index, k in enumerate(request.k):
        values = estimate(attempts, correct, k)
        curve.append(_summary(values, k, codes, request.level, f"estimates.{index}", reasons))
    if codes is None:
        reasons["n_clusters"] = NO_CLUSTERS
    warnings: list[StatWarning] = []
    if 2 * max(request.k) > attempts.min() and max(request.k) > 1:
        warnings.append(FEW_ATTEMPTS(k=max(request.k), least=int(attempts.min())))
    first = curve[0]
    interval = message("analyses.no_interval_single")
    if first.ci.low is not None and first.ci.high is not None:
        low, high = f"{first.ci.low:.1%}", f"{first.ci.high:.1%}"
        interval = message("analyses.ci_over_items", level=level_text(request.level), low=low, high=high)
    return PassAtKAnalysis(
        estimates=curve,
        items=estimate(attempts, correct, request.k[0])[:SHOWN].tolist(),
        n=len(correct),
        n_clusters=None if codes is None else int(codes.max()) + 1,
        n_never=int((correct == 0).sum()),
        n_always=int((correct == attempts).sum()),
        reasons=reasons,
        warnings=tuple(warnings),
        sentence=speak(
            "analyses.pass_at_k", k=first.k, value=f"{first.value:.1%}", interval=interval, n=len(correct)
        ),
    )


def _summary(
    values: NDArray[np.float64],
    k: int,
    codes: NDArray[np.int64] | None,
    level: float,
    path: str,
    reasons: dict[str, str],
) -> PassEstimate:
    """Mean, standard error and interval of the items' values."""
    n, mean = len(values), float(values.mean())
    method = "t over items" if codes is None else "CR1 t over clusters"
    error, df = None, n - 1
    if codes is not None:
        groups = cluster_sums(values, codes)
        error, df = robust_errors(groups)["cr1"].se, groups.n_clusters - 1
    elif n > 1:
        # By the range, not the SD: equal values that are no binary fractions have an SD of a last digit.
        error = float(values.std(ddof=1)) / math.sqrt(n) if np.ptp(values) > 0 else 0.0
    if error is None:
        reasons[f"{path}.se"] = "a single item"
        reasons[f"{path}.ci.low"] = reasons[f"{path}.ci.high"] = "a single item"
        ci = Interval(low=None, high=None, level=level, method=method)
        return PassEstimate(k=k, value=mean, se=None, ci=ci)
    if n > 1 and np.ptp(values) == 0:
        error = 0.0
        # Clopper-Pearson of 0 unlike items (or clusters) in n: 1 - tail^(1/n), by expm1 since it is small.
        other = -math.expm1(math.log((1 - level) / 2) / (n if codes is None else df + 1))
        # The unlike items hold anything between 0 and 1.
        low, high = mean * (1 - other), mean * (1 - other) + other
        unit = "items" if codes is None else "clusters"
        ci = Interval(low=low, high=high, level=level, method=f"clopper-pearson over {unit}")
        return PassEstimate(k=k, value=mean, se=error, ci=ci)
    # Cut at 0 and 1, where every item's value lies.
    half = t_quantile(0.5 + level / 2, df) * error
    ci = Interval(low=max(mean - half, 0.0), high=min(mean + half, 1.0), level=level, method=method)
    return PassEstimate(k=k, value=mean, se=error, ci=ci)
