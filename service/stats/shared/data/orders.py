"""Items in a fixed order: what the tests that look more than once ask of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from service.errors import InvalidData
from service.kernels.numeric.clusters import ClusterSums, cluster_sums, codes_of
from service.kernels.numeric.moments import paired_differences
from service.kernels.numeric.order import completion_order, few_runs_p, permutation, sorted_p
from service.stats.shared.data.clustering import ClusteredPairs
from service.stats.shared.declaring.columns import is_binary, require_equal_lengths
from service.stats.shared.declaring.common import Labels, Request, StatWarning
from service.stats.shared.declaring.warnings import define

Floats = NDArray[np.float64]
Origin = Literal["locked_seed", "arrival", "unknown"]
OrderUsed = Literal["permuted_by_seed", "locked_seed", "arrival", "unknown"]

SORTED = 1e-4
"""Blocks less probable than this in a random order are no chance."""

LARGEST = 1e100

CITATION = "Waudby-Smith & Ramdas (2024), J R Stat Soc B 86:1"

ORDER_NOT_RANDOM = define("ORDER_NOT_RANDOM", "serious", CITATION)
ORDER_NOT_LOCKED = define("ORDER_NOT_LOCKED", "caution", CITATION)

EMPTY = "the running intersection is empty: no single difference fits the data from first to last"

SEQUENCE_EMPTY = define("SEQUENCE_EMPTY", "serious", CITATION)


class OrderOptions(Request):
    """Where the order of the items comes from."""

    order: Origin = Field(
        "unknown",
        description="Where the order of the columns comes from: `locked_seed`: a permutation locked before "
        "the data; `arrival`: as the results came; `unknown`.",
    )
    order_seed: Annotated[int, Field(ge=0, lt=2**63)] | None = Field(
        None,
        description="Permute the items (or whole clusters) by this seed first: numpy's PCG64. It proves "
        "something only when it was fixed before the data.",
    )
    strata: Labels | None = Field(
        None, description="Category of each item, only to check that the order does not follow it."
    )

    @property
    def order_used(self) -> OrderUsed:
        """The order in which the analysis took the items."""
        return self.order if self.order_seed is None else "permuted_by_seed"


@dataclass(frozen=True, eq=False)
class Ordered:
    """Units (items, or clusters in order of completion) in the order of analysis.

    `baseline`, `candidate` and `difference` (n,) hold the items, `sums` and `sizes` (G,) the units;
    without clusters the units are the items.
    """

    baseline: Floats
    candidate: Floats
    difference: Floats
    sums: Floats
    sizes: Floats
    pairs: ClusteredPairs | None
    binary: bool
    used: OrderUsed
    warnings: tuple[StatWarning, ...]

    @property
    def clustered(self) -> bool:
        """Whether the units are clusters."""
        return self.pairs is not None

    @property
    def unit(self) -> str:
        """What is counted: items or clusters."""
        return "clusters" if self.clustered else "items"

    def first(self, units: int) -> ClusterSums:
        """Return the sums of the first so many units, in the order of collection."""
        return ClusterSums(self.sums[:units], self.sizes[:units])

    def scale(self, bound: float | None, size_cap: int | None) -> tuple[Floats, Floats, float]:
        """Return sums and sizes over the cap, both within [-1, 1], and the bound of a difference they are in.

        Refuses scores without a bound, clusters without a cap, and data beyond either: a bound taken
        from the data would look ahead.
        """
        if bound is None and not self.binary:
            raise InvalidData.field(
                "bound", "is needed for scores", "send the largest difference an item can have, e.g. 1"
            )
        bound = 1.0 if bound is None else bound
        if float(np.abs(self.difference).max()) > bound * (1 + 1e-12):
            raise InvalidData.field("bound", "is smaller than a difference sent", "send the scale's range")
        if not self.clustered:
            size_cap = 1
        elif size_cap is None:
            raise InvalidData.field(
                "size_cap", "is needed with clusters", "send the largest size a cluster may have"
            )
        if float(self.sizes.max()) > size_cap:
            raise InvalidData.field("size_cap", "is smaller than a cluster sent", "send the locked cap")
        return np.clip(self.sums / (bound * size_cap), -1.0, 1.0), self.sizes / size_cap, bound


def arrange(
    baseline: Sequence[float],
    candidate: Sequence[float],
    clusters: Sequence[str] | Sequence[int] | None,
    options: OrderOptions,
) -> Ordered:
    """Return differences in the order of analysis; refuse an order that follows the strata."""
    before, after = np.array(baseline, dtype=np.float64), np.array(candidate, dtype=np.float64)
    if float(max(np.abs(before).max(initial=0), np.abs(after).max(initial=0))) > LARGEST:
        raise InvalidData.field("baseline", "holds values beyond 1e100", "send outcomes in another unit")
    difference = paired_differences(before, after)  # rounding is no variation
    columns: dict[str, Sequence[object]] = {"baseline": range(len(difference))}
    columns |= {} if clusters is None else {"clusters": clusters}
    require_equal_lengths(columns | ({} if options.strata is None else {"strata": options.strata}))
    codes = np.arange(len(difference)) if clusters is None else codes_of(clusters)
    groups = cluster_sums(difference, codes)
    sequence = completion_order(codes)
    if options.order_seed is not None:
        # by first appearance, so that the permutation does not depend on how clusters interleave
        sequence = permutation(groups.n_clusters, options.order_seed)
    sums, sizes = groups.sums[sequence], groups.sizes[sequence]
    rank = np.empty_like(sequence)
    rank[sequence] = np.arange(len(sequence))
    by_item = np.argsort(rank[codes], kind="stable")
    binary = is_binary(before, after)
    warnings: list[StatWarning] = []
    if options.order_seed is None:
        if options.strata is not None:
            _refuse_sorted(np.asarray(codes_of(options.strata))[by_item], rank[codes][by_item])
        warnings += _warn_if_sorted(before, after, sums / sizes, clustered=clusters is not None)
        if options.order != "locked_seed":
            warnings.append(ORDER_NOT_LOCKED(order=options.order))
    pairs = None if clusters is None else ClusteredPairs(difference, codes, groups)
    return Ordered(
        before[by_item],
        after[by_item],
        difference[by_item],
        sums,
        sizes,
        pairs,
        binary,
        options.order_used,
        tuple(warnings),
    )


def _refuse_sorted(strata: NDArray[np.int64], unit: NDArray[np.int64]) -> None:
    """Refuse units whose categories come in blocks; a cluster has its first item's category."""
    starts = np.concatenate(([True], unit[1:] != unit[:-1]))
    if sorted_p(strata[starts]) < SORTED:
        warning = ORDER_NOT_RANDOM(what="the items come sorted by stratum")
        fix = "send order_seed, a seed locked before the data"
        raise InvalidData.field("strata", f"{warning.code}: {warning.message}", fix)


def _warn_if_sorted(
    baseline: Floats, candidate: Floats, means: Floats, *, clustered: bool
) -> tuple[StatWarning, ...]:
    """ORDER_NOT_RANDOM when outcomes come in blocks."""
    difference = candidate - baseline
    columns = {"differences": means} if clustered else {
        "baseline outcomes": baseline, "candidate outcomes": candidate, "differences": difference[difference != 0],
    }  # fmt: skip
    for name, values in columns.items():
        if len(values):
            middle = np.median(values)
            if min(few_runs_p(side) for side in (values > middle, values >= middle)) < SORTED:
                return (ORDER_NOT_RANDOM(what=f"The {name} come in blocks"),)
    return ()
