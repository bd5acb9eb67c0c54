"""The effect against the number of items, with a pointwise band and a confidence sequence."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from service.errors import InvalidData
from service.kernels.sequential.e_process import running_counts
from service.records import Record
from service.stats.shared.data.clustering import NO_CLUSTERS
from service.stats.shared.data.orders import EMPTY, SEQUENCE_EMPTY, Ordered, OrderOptions, OrderUsed, arrange
from service.stats.shared.declaring.columns import require_equal_lengths
from service.stats.shared.declaring.common import Analysis, Column, Interval, Labels, Margin, Proportion
from service.stats.shared.declaring.fields import ClusterCount, DiscordantCount, ItemCount
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.sentences import ci_of, difference_of
from service.stats.shared.methods.curves import (
    Band,
    BandFacts,
    Curve,
    Points,
    anytime,
    chosen,
    compute_seed_curve,
    pointwise,
)
from service.words import message, speak

Counts = NDArray[np.int64]

SEED_MOST_ITEMS, SEED_FIRST = 2000, 10
"""Of the published recipe: the most items, since every n is drawn anew, and the first n it has."""
MOST_POINTS = 10_000


class CumulativeEffectRequest(OrderOptions):
    """Two arms on the same items in the order in which the effect is to be followed."""

    baseline: Column = Field(description="Baseline arm, one value per item, in order.")
    candidate: Column = Field(description="Candidate arm, one value per item, same order.")
    clusters: Labels | None = Field(
        None, description="Cluster of each item; one point per completed cluster then."
    )
    band: Band | None = Field(
        None,
        description="Pointwise band: `tango` (default for binary), `percentile` bootstrap (default for scores; exact "
        "for binary, Cornish-Fisher for scores), `t` for scores; `cr2_t` for clusters, the only one there.",
    )
    convention: Literal["standard", "seed"] = Field(
        "standard",
        description="`seed`: a published code to the letter, default_rng(42), 500 draws, arms resampled apart; "
        "wrong for pairs.",
    )
    level: Proportion = Field(0.95, description="Level of the band and of the sequence, a proportion.")
    first: Annotated[int, Field(ge=1, le=10**6)] = Field(
        10, description="Items at the first point, a count; clusters start at the second cluster."
    )
    max_points: Annotated[int, Field(ge=2, le=MOST_POINTS)] = Field(
        2000, description="Points in the answer, a count; evenly thinned beyond it, the last always kept."
    )
    bound: Annotated[float, Field(gt=0, le=1e100, allow_inf_nan=False)] | None = Field(
        None,
        description="Largest difference an item can have, score units; the sequence needs it for scores.",
    )
    size_cap: Annotated[int, Field(ge=1, le=10**9)] | None = Field(
        None, description="Largest size a cluster may have; the sequence needs it with clusters."
    )
    margin: Margin | None = Field(
        None, description="Smallest effect of interest, for lines at plus and minus it."
    )
    planned_n: Annotated[int, Field(ge=1, le=10**9)] | None = Field(
        None, description="Planned items (or clusters), a count, for a line there."
    )

    @model_validator(mode="after")
    def _require_fit(self) -> Self:
        """Refuse bands that do not go with the items, and what the published recipe does not take."""
        require_equal_lengths({"baseline": self.baseline, "candidate": self.candidate})
        if self.clusters is not None and self.band not in (None, "cr2_t"):
            raise InvalidData.field("band", f"'{self.band}' is for independent items", "send 'cr2_t'")
        if self.clusters is None and self.band == "cr2_t":
            raise InvalidData.field("band", "'cr2_t' needs clusters", "send clusters or another band")
        if self.convention == "seed":
            for name, needed in (("clusters", None), ("band", None), ("level", 0.95)):
                if getattr(self, name) != needed:
                    raise InvalidData.field(name, "does not go with convention 'seed'", "leave it out")
            if len(self.baseline) < SEED_FIRST:
                raise InvalidData.field("convention", f"'seed' starts at {SEED_FIRST} items", "send more")
            if len(self.baseline) > SEED_MOST_ITEMS:
                raise InvalidData.field(
                    "convention",
                    f"'seed' redraws every n and takes at most {SEED_MOST_ITEMS} items",
                    "use the band",
                )
        return self


class Lines(Record):
    """Reference lines of the figure."""

    zero: float = Field(description="No difference, outcome units.")
    margin: float | None = Field(
        description="Smallest effect of interest; draw plus and minus, outcome units."
    )
    planned_n: int | None = Field(description="Planned items (or clusters), a count.")


class CumulativeEffectAnalysis(Analysis):
    """The effect as the items came in."""

    delta: float = Field(description="Candidate minus baseline of all items, outcome units.")
    ci: Interval = Field(description="The band at the last point, outcome units.")
    points: Points = Field(description="The curves.")
    band: BandFacts = Field(description="The pointwise band.")
    sequence: BandFacts | None = Field(description="The confidence sequence.")
    lines: Lines = Field(description="Where to draw lines.")
    order_used: OrderUsed = Field(description="Where the order came from.")
    order_seed: int | None = Field(description="Seed of the permutation, where the request had one.")
    convention: Literal["standard", "seed"] = Field(description="As asked.")
    thinned: bool = Field(description="Whether points were left out.")
    n: ItemCount
    n_clusters: ClusterCount
    n_discordant: DiscordantCount


def _estimate_cost(request: CumulativeEffectRequest) -> float:
    n = len(request.baseline)
    points = min(n, request.max_points)
    if request.convention == "seed":
        return 0.05 + 8e-6 * n * n
    point_seconds = 1e-4 if request.band == "percentile" or request.clusters is not None else 5e-5
    return (
        0.01 + point_seconds * points + 2e-6 * n + 3e-9 * points * (n if request.clusters is not None else 0)
    )


@stat_test(
    name="cumulative-effect",
    version=1,
    title="Cumulative effect",
    asked="looks",
    example={
        "baseline": [1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0],
        "candidate": [1, 1, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0],
        "order": "locked_seed",
        "margin": {"value": 2, "unit": "pp"},
        "planned_n": 12,
    },
    cost=_estimate_cost,
)
def cumulative_effect(request: CumulativeEffectRequest) -> CumulativeEffectAnalysis:
    """Follow the difference between two arms as items (or whole clusters) come in.

    After n items in a fixed order, delta(n) is the mean of the first n differences; H0 is a difference
    of zero. Two bands go with it: a pointwise interval at every n, which protects an n fixed
    beforehand only, and a confidence sequence, which holds the true difference at all n at once. The
    curve shows that nobody stopped at a lucky n only if the order was fixed before the data.

    Returns:
        points: n, delta and the ends of both bands, column by column.
        band, sequence: how each was computed, and whether it may be read while looking.
        lines: 0, the smallest effect of interest and the planned n.
        ci: the pointwise band at the last point.

    Raises:
        InvalidData: columns of different length, a band that does not fit the data, an order that follows
            the strata, bound or size_cap smaller than the data.

    Edge cases:
        Scores without bound, or clusters without size_cap: no confidence sequence, null with its reason.
        Differences that do not vary yet: ends of t and cr2_t are null there.
        The running intersection of the sequence becomes empty: its ends are null from there on.
        More points than max_points: evenly thinned; the bands still use every item.
        convention `seed`: points from 10 items on, level .95, warning INDEPENDENT_ARMS.

    Sources:
        Tango (1998), Stat Med 17:891 (band of binary pairs).
        Hall (1992), The Bootstrap and Edgeworth Expansion, 2.5 (Cornish-Fisher).
        Bell & McCaffrey (2002), Surv Methodol 28:169 (band of clusters).
        Waudby-Smith & Ramdas (2024), J R Stat Soc B 86:1 (confidence sequence).

    Example:
        Twelve items, of which the candidate alone answers 4 and the baseline alone 1, all within the
        first ten: delta is 3/10 after ten items and 3/12 after twelve.
    """
    data = arrange(request.baseline, request.candidate, request.clusters, request)
    margin = None
    if request.margin is not None:
        margin = float(request.margin.for_endpoint(binary=data.binary))
    start, last = _start(request, len(data.sums)), len(data.sums)
    units = chosen(start, last, request.max_points)
    # `units` counts from 1, the cumulative sums from 0.
    items = np.cumsum(data.sizes)[units - 1].astype(np.int64)
    delta = np.cumsum(data.sums)[units - 1] / items
    band = _pointwise(request, data, units, start)
    reasons: dict[str, str] = {}
    sequence = _anytime(request, data, units, reasons)
    warnings = [*data.warnings, *band.warnings]
    if sequence is not None and math.isnan(sequence.low[-1]):
        warnings.append(SEQUENCE_EMPTY())
        reasons["points.sequence_low"] = reasons["points.sequence_high"] = EMPTY
    if np.isnan(band.low).any():
        for name in ("points.band_low", "points.band_high"):
            reasons[name] = "the differences do not vary so far, so their spread measures nothing"
    # Of items, not of clusters, hence `items - 1`.
    wins, losses = (counts[items - 1].astype(int).tolist() for counts in running_counts(data.difference))
    points = Points(
        n=items.tolist(),
        n_clusters=units.tolist() if data.clustered else None,
        delta=delta.tolist(),
        only_baseline=losses if data.binary else None,
        only_candidate=wins if data.binary else None,
        band_low=_nulls(band.low),
        band_high=_nulls(band.high),
        sequence_low=None if sequence is None else _nulls(sequence.low),
        sequence_high=None if sequence is None else _nulls(sequence.high),
    )
    ci = Interval(
        low=points.band_low[-1], high=points.band_high[-1], level=request.level, method=band.facts.method
    )
    _explain(request, data, ci, reasons)
    return CumulativeEffectAnalysis(
        delta=points.delta[-1],
        ci=ci,
        points=points,
        band=band.facts,
        sequence=None if sequence is None else sequence.facts,
        lines=Lines(zero=0.0, margin=margin, planned_n=request.planned_n),
        order_used=data.used,
        order_seed=request.order_seed,
        convention=request.convention,
        thinned=len(units) < last - start + 1,
        n=len(data.difference),
        n_clusters=last if data.clustered else None,
        n_discordant=int(np.count_nonzero(data.difference)),
        reasons=reasons,
        warnings=tuple(warnings),
        resampling=band.drawn,
        sentence=_describe(data, points.delta[-1], ci, len(units)),
    )


def _start(request: CumulativeEffectRequest, n_units: int) -> int:
    """Return the number of units at the first point of the curve."""
    if request.convention == "seed":
        return SEED_FIRST
    # A spread between clusters needs two of them.
    return min(request.first if request.clusters is None else 2, n_units)


def _pointwise(request: CumulativeEffectRequest, data: Ordered, units: Counts, start: int) -> Curve:
    if request.convention == "seed":
        return compute_seed_curve(data, units, start)
    if request.band == "tango" and not data.binary:
        raise InvalidData.field("band", "'tango' is for outcomes 0 and 1", "send 'percentile' or 't'")
    return pointwise(data, units, request.band or ("tango" if data.binary else "percentile"), request.level)


def _anytime(
    request: CumulativeEffectRequest, data: Ordered, units: Counts, reasons: dict[str, str]
) -> Curve | None:
    """Return the sequence, where its bounds are known beforehand."""
    lacks = None
    if request.bound is None and not data.binary:
        lacks = "scores need `bound`, the largest difference an item can have"
    elif request.size_cap is None and data.clustered:
        lacks = "clusters need `size_cap`, the largest size a cluster may have"
    if lacks is None:
        return anytime(data, units, (request.bound, request.size_cap), request.level)
    for name in ("sequence", "points.sequence_low", "points.sequence_high"):
        reasons[name] = lacks
    return None


def _explain(request: CumulativeEffectRequest, data: Ordered, ci: Interval, reasons: dict[str, str]) -> None:
    """Reasons for what is null by the kind of data or request."""
    if not data.binary:
        reasons["points.only_baseline"] = reasons["points.only_candidate"] = "the outcomes are scores"
    if not data.clustered:
        reasons["points.n_clusters"] = reasons["n_clusters"] = NO_CLUSTERS
    for name in ("margin", "planned_n"):
        if getattr(request, name) is None:
            reasons[f"lines.{name}"] = "not sent"
    if request.order_seed is None:
        reasons["order_seed"] = "the items were not permuted"
    if ci.low is None:
        reasons["ci.low"] = reasons["ci.high"] = "the differences do not vary"


def _nulls(ends: NDArray[np.float64]) -> list[float | None]:
    return [None if math.isnan(x) else x for x in ends.tolist()]


def _describe(data: Ordered, delta: float, ci: Interval, n_points: int) -> str:
    """Describe the last point of the curve, its interval and the order of items in one sentence."""
    interval = message("analyses.no_interval_differences")
    if ci.low is not None and ci.high is not None:
        interval = ci_of(ci, binary=data.binary, phrase="ci_pointwise", method=ci.method)
    units = message(
        "analyses.items_in_clusters_in_order" if data.clustered else "analyses.items_in_order",
        n=len(data.difference),
        clusters=len(data.sums),
        order=message(f"analyses.{data.used}"),
    )
    return speak(
        "analyses.cumulative",
        units=units,
        delta=difference_of(delta, binary=data.binary),
        interval=interval,
        points=n_points,
    )
