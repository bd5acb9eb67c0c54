"""The bands of a cumulative effect: pointwise at every n, and the confidence sequence over all n."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy import special

from service.kernels.bootstrap import cumulative
from service.kernels.numeric.clusters import robust_errors
from service.kernels.numeric.t_distribution import t_quantile
from service.kernels.pairs import tango
from service.kernels.sequential import confidence_sequence
from service.kernels.sequential.e_process import running_counts
from service.records import Record
from service.stats.shared.data.clustering import LEAST_DF, LOW_DF
from service.stats.shared.data.orders import Ordered
from service.stats.shared.declaring.common import Resampling, StatWarning
from service.stats.shared.declaring.warnings import define

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Band = Literal["tango", "percentile", "t", "cr2_t"]

INDEPENDENT_ARMS = define("INDEPENDENT_ARMS", "serious")
FIXED_N_ONLY = "pointwise: holds at one n fixed beforehand, not valid under peeking"
ANY_N = "holds at all n at once, so it may be read while looking"


class Points(Record):
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


class BandFacts(Record):
    """What a band is, and what it may be used for."""

    method: str = Field(description="How the ends were computed.")
    level: float = Field(description="Coverage, a proportion.")
    valid_under_peeking: bool = Field(description="Whether it holds at an n chosen while looking.")
    label: str = Field(description="What to print beside it.")
    error: float = Field(
        description="Largest stated error of an end, outcome units; of the sequence, by how far its ends "
        "before the last may be rounded outward."
    )


class Curve(NamedTuple):
    """Ends at the chosen points, NaN where undefined."""

    low: Floats
    high: Floats
    facts: BandFacts
    drawn: Resampling = Resampling(exact=True)
    warnings: tuple[StatWarning, ...] = ()


def chosen(start: int, last: int, most: int) -> Counts:
    """Choose units at which points are given: start .. last, evenly thinned to at most `most`."""
    if last - start + 1 <= most:
        return np.arange(start, last + 1, dtype=np.int64)
    return np.unique(np.rint(np.linspace(start, last, most)).astype(np.int64))


def pointwise(data: Ordered, units: Counts, band: Band, level: float) -> Curve:
    """Return the pointwise band at the first `units` units."""
    if data.pairs is not None:
        return _of_clusters(data, units, level)
    n, at = units.astype(np.float64), units - 1
    error = 0.0
    if band == "t":
        low, high = (ends[at] for ends in cumulative.t_intervals(data.sums, level))
    elif data.binary:
        wins, losses = (counts[at] for counts in running_counts(data.sums))
        if band == "tango":
            low, high = tango.intervals(wins, losses, n, float(special.ndtri(0.5 + level / 2)))
        else:
            low, high = cumulative.percentile_intervals(wins, losses, n, level)
    else:
        low, high, errors = (ends[at] for ends in cumulative.cornish_fisher_intervals(data.sums, level))
        error = float(errors.max())
    name = "percentile bootstrap, Cornish-Fisher" if band == "percentile" and not data.binary else band
    return Curve(low, high, _describe_fixed(name, level, error))


def _of_clusters(data: Ordered, units: Counts, level: float) -> Curve:
    """CR2 t intervals after each completed cluster."""
    low, high = np.full(len(units), math.nan), np.full(len(units), math.nan)
    df = math.inf
    for index, count in enumerate(units.tolist()):
        groups = data.first(count)
        delta = groups.item_weighted
        error = robust_errors(groups)["cr2"] if count > 1 else None
        if error is not None and error.se > 1e-12 * abs(delta):
            half = t_quantile(0.5 + level / 2, error.df) * error.se
            low[index], high[index], df = delta - half, delta + half, error.df
    warnings = data.pairs.warnings() if data.pairs else ()
    if df < LEAST_DF:
        warnings = (*warnings, LOW_DF(df=df))
    return Curve(low, high, _describe_fixed("cr2_t", level, 0.0), warnings=warnings)


def compute_seed_curve(data: Ordered, units: Counts, start: int) -> Curve:
    """Return the published recipe to the letter."""
    ends = cumulative.seed_intervals(data.baseline, data.candidate, start)
    low, high = (side[units - start] for side in ends)
    facts = _describe_fixed(
        "percentile bootstrap of independently resampled arms (wrong for pairs)", 0.95, 0.0
    )
    drawn = Resampling.drawn(cumulative.SEED_DRAWS, cumulative.SEED)
    return Curve(low, high, facts, drawn, (INDEPENDENT_ARMS(),))


def anytime(data: Ordered, units: Counts, bounded: tuple[float | None, int | None], level: float) -> Curve:
    """Return the confidence sequence at the first `units` units; `bounded`: bound and size_cap."""
    sums, sizes, bound = data.scale(*bounded)
    curve = confidence_sequence.curve(sums, sizes, 1 - level)
    low, high = bound * curve.low[units - 1], bound * curve.high[units - 1]
    empty = low > high
    low[empty] = high[empty] = math.nan
    facts = BandFacts(
        method="hedged capital, running intersection",
        level=level,
        valid_under_peeking=True,
        label=ANY_N,
        error=bound * curve.resolution,
    )
    return Curve(low, high, facts)


def _describe_fixed(method: str, level: float, error: float) -> BandFacts:
    return BandFacts(method=method, level=level, valid_under_peeking=False, label=FIXED_N_ONLY, error=error)
