"""How often a test rejects on the caller's own data when there is nothing to find."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal, Self, cast, get_args

import numpy as np
from pydantic import Field, model_validator
from scipy import special

from service.errors import Fault, InvalidData
from service.kernels.numeric import ranks
from service.kernels.numeric.binomial import wilson
from service.kernels.numeric.clusters import cluster_sums, codes_of
from service.kernels.numeric.moments import binary_unit, difference_noise
from service.kernels.numeric.streams import block_count
from service.kernels.pairs.mcnemar import Method
from service.kernels.planning.power import mcnemar_critical
from service.kernels.randomization import null_flips
from service.kernels.randomization import type_one_error as kernel
from service.records import Record
from service.stats.shared.data.samples import require_values
from service.stats.shared.declaring.columns import require_binary, require_equal_lengths
from service.stats.shared.declaring.common import (
    COMPUTED,
    Analysis,
    Column,
    Interval,
    Labels,
    Proportion,
    Request,
    Resampling,
)
from service.stats.shared.declaring.fields import PlainSeed
from service.stats.shared.declaring.registry import Blocks, Drawn, stat_test
from service.stats.shared.declaring.warnings import define
from service.words import read, speak

FlipTest = Literal[
    "mcnemar", "mcnemar-midp", "mcnemar-asymptotic", "mcnemar-corrected", "paired-t", "wilcoxon", "sign-flip"
]
Test = Literal[kernel.SplitTest, FlipTest]
SPLIT_TESTS = get_args(kernel.SplitTest)
MOST_RUNS = 2_000
MOST_RANKED = 100
"""Runs per half whose exact rank distributions are worked out."""
RANKED_SECONDS = 4e-8
"""Of a null distribution of ranks, per cubed size."""

EXCESS = 1.2
"""TYPE_ONE_EXCESS speaks when the rate is above alpha by more than this factor."""

MC_ERROR_ONLY = define("MC_ERROR_ONLY", "info", "Colas, Sigaud & Oudeyer (2018), arXiv:1806.08295")
TYPE_ONE_EXCESS = define("TYPE_ONE_EXCESS", "serious", "Colas, Sigaud & Oudeyer (2018), arXiv:1806.08295")


class TypeOneErrorRequest(Request):
    """Runs of one arm to split (`values`), or two paired arms to flip (`baseline`, `candidate`)."""

    test: Test = Field("welch", description="The test to try; the first five split, the others flip.")
    values: Column | None = Field(None, description="Split tests: runs of one and the same arm, score units.")
    baseline: Column | None = Field(None, description="Flip tests: baseline arm, one value per item.")
    candidate: Column | None = Field(None, description="Flip tests: candidate arm, same order.")
    clusters: Labels | None = Field(None, description="Flip tests: whole clusters are flipped at once.")
    sizes: Annotated[list[Annotated[int, Field(ge=2)]], Field(min_length=1, max_length=200)] | None = Field(
        None, description="Split tests: runs per half; null: 2 .. half of the runs, at most 50."
    )
    alpha: Proportion = Field(0.05, description="Significance level tried, a proportion; p < alpha rejects.")
    level: Proportion = Field(0.95, description="Level of the Monte-Carlo interval, a proportion.")
    n_splits: Annotated[int, Field(ge=100, le=200_000)] = Field(
        10_000, description="Splits or flips drawn where they are too many to list."
    )
    n_resamples: Annotated[int, Field(ge=100, le=10_000)] = Field(
        1_000, description="Resamples within each split of the bootstrap tests."
    )
    seed: PlainSeed = 0

    @model_validator(mode="after")
    def _require_fields_of_test(self) -> Self:
        """Refuse fields that mean nothing for the test, and ask for those it needs."""
        splits = self.test in SPLIT_TESTS
        needed = ("values",) if splits else ("baseline", "candidate")
        unused = ("baseline", "candidate", "clusters") if splits else ("values", "sizes")
        faults = [
            Fault(name, f"is needed for {self.test}", "send it")
            for name in needed
            if getattr(self, name) is None
        ]
        faults += [
            Fault(name, f"means nothing for {self.test}", "leave it out")
            for name in unused
            if getattr(self, name) is not None
        ]
        if faults:
            raise InvalidData(f"{self.test} does not fit the fields sent", faults)
        if splits:
            self._splittable(self.values or [])
        else:
            self._flippable({"baseline": self.baseline or [], "candidate": self.candidate or []})
        return self

    def _flippable(self, columns: dict[str, list[float]]) -> None:
        require_equal_lengths({**columns, "clusters": self.clusters})
        for name, column in columns.items():
            require_values(column, name)
            if self.test.startswith("mcnemar"):
                require_binary(np.asarray(column), name)

    def _splittable(self, values: list[float]) -> None:
        require_values(values, "values")
        if not 4 <= len(values) <= MOST_RUNS:
            raise InvalidData.field("values", f"holds {len(values)} runs", f"send 4 to {MOST_RUNS}")
        largest = max(self.split_sizes())
        if 2 * largest > len(values):
            raise InvalidData.field("sizes", f"{largest} needs {2 * largest} runs", "two halves must fit")
        if self.test == "mann-whitney" and largest > MOST_RANKED:
            raise InvalidData.field("sizes", f"holds {largest}", f"mann-whitney takes up to {MOST_RANKED}")

    def split_sizes(self) -> list[int]:
        """Return the numbers of runs per half that are tried: as sent, or 2 to half of the runs, at most 50 of them."""
        return self.sizes or list(range(2, min(50, len(self.values or []) // 2) + 1))

    @property
    def splits(self) -> list[kernel.Splits]:
        """The null splits of every size."""
        values, test = np.asarray(self.values, dtype=np.float64), cast(kernel.SplitTest, self.test)
        options = (test, self.alpha, self.n_splits, self.n_resamples, self.seed)
        return [kernel.Splits(values, n, *options) for n in self.split_sizes()]

    @cached_property
    def flips(self) -> Flips:
        """What is flipped: statistics that are sums and change sign with their item, so one threshold
        decides."""
        return _flips(self)


@dataclass(frozen=True, slots=True)
class Flips:
    """Weights of the items or clusters, the least |sum| that rejects, and the rate where nothing is drawn."""

    weights: kernel.Floats
    critical: float
    exact: null_flips.Rejections | None


def _flips(request: TypeOneErrorRequest) -> Flips:
    """The terms whose signs are flipped, the least |sum| of them that rejects, and the rate where it is computed."""
    baseline = np.asarray(request.baseline, dtype=np.float64)
    candidate = np.asarray(request.candidate, dtype=np.float64)
    difference = candidate - baseline
    noise = difference_noise(baseline, candidate)
    difference[np.abs(difference) <= noise] = 0.0
    if request.test == "paired-t":
        # t does not change with the unit: a power of two near the data keeps squares within the floats, exactly.
        difference = difference / binary_unit(difference)
    items = difference
    if request.test == "wilcoxon":
        ranked = np.zeros(difference.size)
        moved = difference != 0
        if moved.any():
            rank, _ = ranks.midranks(np.abs(difference[moved]), tolerance=2 * noise)
            ranked[moved] = np.sign(difference[moved]) * rank
        items = ranked
    # The statistic is a sum over items whatever is flipped: flips of clusters show what a test of items makes of
    # them.
    weights = items
    if request.clusters is not None:
        weights = cluster_sums(items, codes_of(request.clusters)).sums
    critical = _critical(request, items, weights)
    if critical is None:
        return Flips(weights, 0.0, null_flips.Rejections(0.0, None, 0, True))
    return Flips(weights, critical, null_flips.exact_flips(weights, critical))


class RatePoint(Record):
    """Rejection rate at one size."""

    n: int = Field(description="Runs per half, or items flipped.")
    rate: float = Field(description="Share of null splits or flips that reject, a proportion.")
    mc_ci: Interval | None = Field(description="Monte-Carlo error of the rate on these data.")
    enumerated: bool = Field(description="True: all splits or flips, no Monte-Carlo error.")
    n_looked_at: int | None = Field(description="Splits or flips listed or drawn; null when convolved.")
    n_undefined: int = Field(description="Splits without spread, on which the test is undefined.")


class TypeOneErrorAnalysis(Analysis):
    """The empirical type I error."""

    test: Test = Field(description="The test tried.")
    alpha: float = Field(description="Significance level tried, a proportion.")
    rate: float = Field(description="At the largest size, a proportion.")
    n: int = Field(description="The largest size: runs per half, or items.")
    n_clusters: int | None = Field(description="Clusters flipped.")
    points: tuple[RatePoint, ...] = Field(description="One per size.")


def _estimate_cost(request: TypeOneErrorRequest) -> float:
    """Estimate the seconds of a request by its test, measured on one core."""
    if request.test not in SPLIT_TESTS:
        n = len(request.baseline or [])
        drawn = 5e-10 * n * request.n_splits
        if request.test == "paired-t":
            return 0.002 + 1.5e-6 * n + drawn
        if request.test == "wilcoxon":
            return 0.002 + 1e-3 * min(n, 1_000) + 3e-5 * n + drawn
        if request.test == "sign-flip":
            return 0.002 + 7e-4 * min(n, 1_000) + 2e-5 * n + drawn
        return 0.002 + 1.5e-6 * n
    runs, seconds = len(request.values or []), 0.001
    tied = request.test == "mann-whitney" and len(set(request.values or ())) < runs
    for n in request.split_sizes():
        looked_at = kernel.splits_looked_at(runs, n, request.test, request.n_splits)
        # every split is made one by one, which costs more than its test
        listed = looked_at != request.n_splits
        one_split = 3e-6 + 5e-8 * n + (2.2e-5 if listed else 4e-8 * runs)
        if request.test.startswith("bootstrap"):
            one_split += request.n_resamples * (2e-8 + 1e-9 * n)
        # every pattern of ties has a null distribution of its own
        seconds += (looked_at if tied else 1) * RANKED_SECONDS * n**3 * (request.test == "mann-whitney")
        seconds += one_split * looked_at
    return seconds


def _count(request: TypeOneErrorRequest, _drawn: Drawn | None) -> int:
    if request.test in SPLIT_TESTS:
        return sum(block_count(splits.looked_at) for splits in request.splits)
    return block_count(request.n_splits) if request.flips.exact is None else 0


def _draw(request: TypeOneErrorRequest, which: range) -> Drawn:
    """What the blocks `which` draw: sums of random flips, or how many of the random splits reject and are undefined.

    Blocks are numbered through all sizes, one after the other.
    """
    if request.test not in SPLIT_TESTS:
        return {"sums": null_flips.flip_sums(request.flips.weights, request.seed, which)}
    rejected, undefined, start = [], [], 0
    for splits in request.splits:
        blocks = block_count(splits.looked_at)
        own = range(max(which.start - start, 0), min(which.stop - start, blocks))
        if own:
            counts = splits.blocks(own)
            rejected.append(counts[0])
            undefined.append(counts[1])
        start += blocks
    return {"rejected": np.concatenate(rejected), "undefined": np.concatenate(undefined)}


def _analyse(request: TypeOneErrorRequest, drawn: Drawn) -> TypeOneErrorAnalysis:
    """Return the answer from the share of flips, or of splits, that reject."""
    splits = request.test in SPLIT_TESTS
    points = tuple(_split_points(request, drawn)) if splits else (_flip_point(request, drawn),)
    last = max(points, key=lambda point: point.n)
    was_drawn = any(not point.enumerated for point in points)
    reasons = {}
    for index, point in enumerate(points):
        if point.mc_ci is None:
            reasons[f"points.{index}.mc_ci"] = "all splits or flips were counted"
    if any(point.n_looked_at is None for point in points):
        reasons["points.n_looked_at"] = "convolved, not listed"
    if request.clusters is None:
        reasons["n_clusters"] = "no clusters were sent"
    warnings = [MC_ERROR_ONLY()] if was_drawn else []
    worst = max(points, key=lambda point: point.rate)
    # Of drawn rates the low end: no alarm that more draws could take back.
    floor = worst.rate if worst.mc_ci is None else (worst.mc_ci.low or 0.0)
    what = "splits" if splits else "flips"
    if floor > EXCESS * request.alpha:
        warnings.append(
            TYPE_ONE_EXCESS(test=request.test, rate=worst.rate, what=what, alpha=request.alpha, n=worst.n)
        )
    needs_draws = was_drawn or request.test.startswith("bootstrap")
    return TypeOneErrorAnalysis(
        test=request.test,
        alpha=request.alpha,
        rate=last.rate,
        n=last.n,
        n_clusters=None if request.clusters is None else len(set(request.clusters)),
        points=points,
        reasons=reasons,
        warnings=tuple(warnings),
        resampling=Resampling.drawn(request.n_splits, request.seed) if needs_draws else COMPUTED,
        sentence=speak(
            "analyses.type_one_error",
            test=request.test,
            alpha=f"{request.alpha:g}",
            rate=float(last.rate),
            what=read("units", what) or what,
            n=last.n,
        ),
    )


BLOCKS = Blocks(_count, _draw, _analyse)


@stat_test(
    name="type-one-error",
    version=1,
    title="Empirical type I error on your own data",
    asked="design",
    example={
        "test": "welch",
        "values": [2211.2, 3833.3, 4117.5, 2939.0, 4406.1, 4011.6, 3560.7, 2797.4],
        "sizes": [2, 4],
    },
    cost=_estimate_cost,
    blocks=BLOCKS,
)
def type_one_error(request: TypeOneErrorRequest) -> TypeOneErrorAnalysis:
    """Measure how often a test cries wolf on your data when nothing differs.

    Split tests: 2n runs of one arm are drawn without replacement, halved and tested two-sided;
    both halves come from one arm, so H0 is true. Flip tests: the arms of each item, or of each
    whole cluster, are swapped at random, which makes H0 true. A test rejects at p < alpha.

    Returns:
        points: rejection rate per size; ``mc_ci`` is Monte-Carlo error given these data.
        rate: that of the largest size.

    Raises:
        InvalidData: columns that the test does not use or that differ in length, fewer than 4 runs,
            sizes that do not fit, values other than 0 and 1 for McNemar.

    Edge cases:
        Few splits, or flips that lie on a lattice: all are counted, no seed, mc_ci null.
        Halves without spread: the test is undefined there, counted as not rejecting.
        No difference at all: no flip can reject, rate 0.
        Flips that leave constant differences: t is infinite, counted as rejecting.
        The item-level tests under flips of whole clusters show what ignoring clusters costs.

    Sources:
        Colas, Sigaud & Oudeyer (2018), arXiv:1806.08295, 5.
        Romano & Lehmann (2005), Testing Statistical Hypotheses, 15.2 (flips).

    Example:
        Eight runs of one arm: all 210 splits into two halves of 2, whichever comes first, and all 35
        halvings into 4 and 4.
    """
    return BLOCKS.whole(request)


def _split_points(request: TypeOneErrorRequest, drawn: Drawn) -> Iterator[RatePoint]:
    start = 0
    for splits in request.splits:
        where = slice(start, start + block_count(splits.looked_at))
        start = where.stop
        yield _point(
            request, splits.n, splits.rejections(drawn["rejected"][where], drawn["undefined"][where])
        )


def _flip_point(request: TypeOneErrorRequest, drawn: Drawn) -> RatePoint:
    flips = request.flips
    rejections = flips.exact or null_flips.rate_drawn_flips(
        flips.weights, flips.critical, drawn["sums"][: request.n_splits]
    )
    return _point(request, len(request.baseline or ()), rejections)


def _critical(request: TypeOneErrorRequest, items: kernel.Floats, weights: kernel.Floats) -> float | None:
    """Return the least |sum| that rejects at alpha; None where none does."""
    if request.test == "paired-t":
        return null_flips.paired_t_critical(items, request.alpha)
    if request.test == "wilcoxon":
        return null_flips.wilcoxon_critical(items[items != 0], request.alpha)
    if request.test == "sign-flip":
        return null_flips.sign_flip_critical(weights, request.alpha)
    method = cast(Method, request.test.removeprefix("mcnemar").lstrip("-") or "exact")
    m = int(np.count_nonzero(items))
    least = mcnemar_critical(m, request.alpha, method)
    # min(b, c) <= least rejects, and |b - c| = m - 2 min(b, c).
    return None if least < 0 else float(m - 2 * least)


def _point(request: TypeOneErrorRequest, n: int, rejections: null_flips.Rejections) -> RatePoint:
    """Return the share of null data sets that are rejected, with Wilson's interval where they are drawn."""
    mc_ci = None
    if not rejections.enumerated and rejections.n_looked_at:
        z = float(special.ndtri(0.5 + request.level / 2))
        low, high = wilson(round(rejections.rate * rejections.n_looked_at), rejections.n_looked_at, z)
        mc_ci = Interval(low=low, high=high, level=request.level, method="wilson, Monte-Carlo error")
    return RatePoint(
        n=n,
        rate=rejections.rate,
        mc_ci=mc_ci,
        enumerated=rejections.enumerated,
        n_looked_at=rejections.n_looked_at,
        n_undefined=rejections.n_undefined,
    )
