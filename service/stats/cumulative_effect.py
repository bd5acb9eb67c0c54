"""The effect against the number of items, with a pointwise band and a confidence sequence."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from service.errors import InvalidData
from service.kernels import confidence_sequence, cumulative
from service.kernels.clusters import robust_errors
from service.kernels.e_process import running_counts
from service.kernels.t_distribution import t_quantile
from service.stats.clustering import LEAST_DF, LOW_DF
from service.stats.common import (
    Analysis,
    Column,
    Interval,
    Labels,
    Margin,
    Part,
    Proportion,
    Resampling,
    StatWarning,
    percent,
    require_equal_lengths,
)
from service.stats.orders import ORDER_WORDS, Ordered, OrderOptions, OrderUsed, arrange
from service.stats.registry import stat_test
from service.stats.warnings import define

Floats = NDArray[np.float64]
Band = Literal["tango", "percentile", "t", "cr2_t"]
SEED_MOST_ITEMS = 2000
MOST_POINTS = 10_000

INDEPENDENT_ARMS = define(
    "INDEPENDENT_ARMS",
    "serious",
    "The convention 'seed' resamples the two arms apart, as if they had not answered the same items: its band "
    "is wrong for paired data, wider wherever the arms agree, and serves to reproduce published figures only.",
)
CHOSEN_ORDER = "an order chosen after the data proves nothing"
NOT_UNDER_PEEKING = "pointwise: holds at one n fixed beforehand, not at an n chosen while looking"


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
        None, description="Largest difference an item can have, score units; the sequence needs it for scores."
    )
    size_cap: Annotated[int, Field(ge=1, le=10**9)] | None = Field(
        None, description="Largest size a cluster may have; the sequence needs it with clusters."
    )
    margin: Margin | None = Field(None, description="Smallest effect of interest, for lines at plus and minus it.")
    planned_n: Annotated[int, Field(ge=1, le=10**9)] | None = Field(
        None, description="Planned items (or clusters), a count, for a line there."
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        require_equal_lengths({"baseline": self.baseline, "candidate": self.candidate})
        if self.clusters is not None and self.band not in (None, "cr2_t"):
            raise InvalidData.field("band", f"'{self.band}' is for independent items", "send 'cr2_t'")
        if self.clusters is None and self.band == "cr2_t":
            raise InvalidData.field("band", "'cr2_t' needs clusters", "send clusters or another band")
        if self.convention == "seed":
            for name, wrong in (
                ("clusters", self.clusters is not None),
                ("band", self.band is not None),
                ("level", self.level != 0.95),
            ):
                if wrong:
                    raise InvalidData.field(name, "does not go with convention 'seed'", "leave it out")
            if len(self.baseline) > SEED_MOST_ITEMS:
                raise InvalidData.field(
                    "convention", f"'seed' redraws every n and takes at most {SEED_MOST_ITEMS} items", "use the band"
                )
        return self


class Points(Part):
    """The curves, column by column: entry k of every column belongs to n[k]."""

    n: list[int] = Field(description="Items so far, counts.")
    n_clusters: list[int] | None = Field(description="Completed clusters so far, counts.")
    delta: list[float] = Field(description="Candidate minus baseline so far, outcome units.")
    only_baseline: list[int] | None = Field(description="Items only the baseline answers correctly so far.")
    only_candidate: list[int] | None = Field(description="Items only the candidate answers correctly so far.")
    band_low: list[float | None] = Field(description="Lower end of the pointwise band, outcome units.")
    band_high: list[float | None] = Field(description="Upper end of the pointwise band, outcome units.")
    sequence_low: list[float | None] | None = Field(
        description="Lower end of the confidence sequence, outcome units."
    )
    sequence_high: list[float | None] | None = Field(
        description="Upper end of the confidence sequence, outcome units."
    )


class BandFacts(Part):
    """What a band is and may be used for."""

    method: str = Field(description="How the ends were computed.")
    level: float = Field(description="Coverage, a proportion.")
    valid_under_peeking: bool = Field(description="Whether it holds at an n chosen while looking.")
    label: str = Field(description="What to print beside it.")
    error: float | None = Field(description="Stated error of an end, outcome units; 0 when exact.")


class Lines(Part):
    """Reference lines of the figure."""

    zero: float = Field(description="No difference, outcome units.")
    margin: float | None = Field(description="Smallest effect of interest; draw plus and minus, outcome units.")
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
    n: int = Field(description="Items, a count.")
    n_clusters: int | None = Field(description="Clusters, a count.")
    n_discordant: int = Field(description="Items whose outcomes differ between the arms, a count.")


def _cost(request: CumulativeEffectRequest) -> float:
    n = len(request.baseline)
    points = min(n, request.max_points)
    if request.convention == "seed":
        return 0.05 + 8e-6 * n * n
    each = 4e-4 if request.band == "percentile" or request.clusters is not None else 2e-6
    return 0.01 + each * points + 8e-6 * n + 3e-9 * points * (n if request.clusters is not None else 0)


@stat_test(
    name="cumulative-effect",
    version=1,
    title="Cumulative effect",
    example={
        "baseline": [1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0],
        "candidate": [1, 1, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0],
        "order": "locked_seed",
        "margin": {"value": 2, "unit": "pp"},
        "planned_n": 12,
    },
    cost=_cost,
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
            the strata, a first point beyond the data, or bound and size_cap smaller than the data.

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
        Twelve items, 5 won and 1 lost by the candidate: delta +25 pp after the first 12, 1/5 after 10.
    """
    baseline, candidate = (np.array(x, dtype=float) for x in (request.baseline, request.candidate))
    data = arrange(baseline, candidate, request.clusters, request)
    margin = None
    if request.margin is not None:
        margin = float(request.margin.for_endpoint(binary=data.binary))
    reasons: dict[str, str] = {}
    warnings = list(data.warnings)
    units = _units(data, request)
    items = np.cumsum(data.sizes)[units - 1]
    delta = (np.cumsum(data.sums) / np.cumsum(data.sizes))[units - 1]
    low, high, band, drawn = _band(data, units, request, reasons, warnings)
    sequence, ends = _sequence(data, units, request, reasons)
    wins, losses = running_counts(data.difference)
    counted = data.binary
    at = items.astype(np.int64) - 1
    if not counted:
        reasons["points.only_baseline"] = reasons["points.only_candidate"] = "the outcomes are scores"
    if not data.clustered:
        reasons["points.n_clusters"] = reasons["n_clusters"] = "the items were given without clusters"
    for name, value in (("margin", margin), ("planned_n", request.planned_n)):
        if value is None:
            reasons[f"lines.{name}"] = "not sent"
    if request.order_seed is None:
        reasons["order_seed"] = "the items were not permuted"
    ci = Interval(low=_null(low[-1]), high=_null(high[-1]), level=request.level, method=band.method)
    if ci.low is None:
        reasons["ci.low"] = reasons["ci.high"] = "the differences do not vary"
    return CumulativeEffectAnalysis(
        delta=float(delta[-1]),
        ci=ci,
        points=Points(
            n=items.astype(int).tolist(),
            n_clusters=units.tolist() if data.clustered else None,
            delta=delta.tolist(),
            only_baseline=losses[at].astype(int).tolist() if counted else None,
            only_candidate=wins[at].astype(int).tolist() if counted else None,
            band_low=[_null(x) for x in low.tolist()],
            band_high=[_null(x) for x in high.tolist()],
            sequence_low=ends and [_null(x) for x in ends[0].tolist()],
            sequence_high=ends and [_null(x) for x in ends[1].tolist()],
        ),
        band=band,
        sequence=sequence,
        lines=Lines(zero=0.0, margin=margin, planned_n=request.planned_n),
        order_used=data.used,
        order_seed=request.order_seed,
        convention=request.convention,
        thinned=len(units) < len(data.sums) - _start(data, request) + 1,
        n=len(data.difference),
        n_clusters=len(data.sums) if data.clustered else None,
        n_discordant=int(np.count_nonzero(data.difference)),
        reasons=reasons,
        warnings=tuple(warnings),
        resampling=drawn,
        sentence=_sentence(request, data, float(delta[-1]), ci, len(units)),
    )
