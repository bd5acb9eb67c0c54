"""How the bootstrap tests draw: what a block of replicates holds, and how many of them an answer takes."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from service.errors import InvalidData
from service.kernels.bootstrap_draws import Draws, ratio_blocks
from service.kernels.distributions import BootstrapDistribution
from service.kernels.inversion import LARGEST_SHARE, LEAST_VALUES
from service.kernels.metric_bootstrap import REPEATED, MetricDraws, Replicates, difference_blocks
from service.kernels.metrics import PairedSums
from service.kernels.ratio_bootstrap import ENUMERATED_UP_TO
from service.kernels.sign_flip import ENUMERATED_UP_TO as FLIPS_ENUMERATED_UP_TO
from service.kernels.streams import block_count
from service.stats.shared.common import Analysis
from service.stats.shared.registry import Blocks, Drawn
from service.stats.shared.resampling import (
    DEFAULT_DRAWS,
    MOST_DRAWS,
    BootstrapOptions,
    Reading,
    resolution_of,
)

A = TypeVar("A", bound=Analysis)
Floats = NDArray[np.float64]

FEW_UNITS = 100
"""Whole numbers below this are convolved in no time."""
LOOK = 2_000
"""Values or items that a cost estimate looks at."""

MOST_WITHOUT_SPREAD = 0.01
"""Share of resamples that may lack a standard error before studentizing is refused."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """`draw` gives the numbers of consecutive blocks, `collect` the distribution of the first so many
    replicates."""

    draw: Callable[[range], Drawn]
    collect: Callable[[Drawn, int], Draws]


def of_ratio(sums: Floats, sizes: Floats, seed: int) -> Drawing:
    """sum(D) / sum(N) over resamples of clusters, or of items of size 1."""
    return Drawing(
        lambda which: {"estimates": ratio_blocks(sums, sizes, seed, which)},
        lambda drawn, n: Draws(np.sort(drawn["estimates"][:n])),
    )


def of_metric(units: PairedSums, seed: int, *, studentize: bool = False) -> Drawing:
    """The difference of a metric of sums, with standard errors on request (and where there is any spread)."""
    studentize = studentize and bool(units.standard_error())

    def draw(which: range) -> Drawn:
        found = difference_blocks(units, seed, which, studentize=studentize)
        drawn = {"differences": found.differences, "undefined": found.undefined}
        return {**drawn, "errors": found.errors} if studentize else drawn

    def collect(drawn: Drawn, n: int) -> MetricDraws:
        errors = drawn["errors"] if studentize else np.zeros(0)
        found = Replicates(drawn["differences"], drawn["undefined"], errors).sorted_into_draws(units, n)
        if found.without_spread > MOST_WITHOUT_SPREAD:
            raise InvalidData.field(
                "method",
                f"studentized divides by a standard error that is 0 in {found.without_spread:.1%} of resamples",
                "use percentile, basic or bca, or send more items or clusters",
            )
        return found

    return Drawing(draw, collect)


class Resampled(BootstrapOptions):
    """A bootstrap whose distribution is `exact`, or where that is None is drawn."""

    @property
    @abstractmethod
    def delta(self) -> float:
        """The observed difference."""

    @cached_property
    @abstractmethod
    def exact(self) -> BootstrapDistribution | None:
        """The distribution by the literal recipe or without drawing; None where blocks are drawn."""

    @property
    @abstractmethod
    def drawing(self) -> Drawing:
        """What is drawn where nothing is exact."""


R = TypeVar("R", bound=Resampled)


def _replicates(request: Resampled, drawing: Drawing, drawn: Drawn | None) -> int:
    """How many to draw: ten times the usual when the p-value cannot be told from alpha and the caller
    named no number."""
    asked = request.n_resamples or DEFAULT_DRAWS
    if drawn is None or request.n_resamples is not None:
        return asked
    found = drawing.collect(drawn, asked)
    plain = request.model_copy(update={"method": "percentile"})
    unresolved = Reading(plain, request.delta, resolution_of(found, 1)).fields(found)["warnings"]
    return MOST_DRAWS if unresolved else asked


def blocks_of(analyse: Callable[[R, BootstrapDistribution], A]) -> Blocks[R, A]:
    """The blocks of a bootstrap."""

    def count(request: R, drawn: Drawn | None) -> int:
        if request.exact is not None:
            return 0
        return block_count(_replicates(request, request.drawing, drawn))

    def finish(request: R, drawn: Drawn) -> A:
        found = request.exact
        if found is None:
            source = request.drawing
            found = source.collect(drawn, _replicates(request, source, drawn))
        return analyse(request, found)

    return Blocks(count, lambda request, which: request.drawing.draw(which), finish)


def looks_smooth(values: Floats) -> bool:
    """True when the law of a sum of such values can probably be inverted: many, few ties, none too large."""
    if len(values) < LEAST_VALUES:
        return False
    squares = (values - values.mean()) ** 2
    ties = int(np.unique(values, return_counts=True)[1].max())
    uneven = float(squares.max()) > max(0.1, 20 / len(values)) * float(squares.sum())
    return ties <= LARGEST_SHARE * len(values) and not uneven


def scores_seconds(look: Floats, n: int, draws: int, *, alike: bool = True) -> float:
    """Rough cost of the bootstrap of a mean or a ratio over n items or clusters, some of which are looked at.

    `alike`: all of them have one size.
    """
    if n <= ENUMERATED_UP_TO:
        return 0.0015 + 2.5e-8 * math.exp2(2 * n)
    if alike and looks_smooth(look):
        return 0.03 + 2.5e-6 * n
    return 0.6 + n * (2e-6 + 2.5e-9 * draws)


def table_seconds(discordant: int) -> float:
    """Rough cost of the bootstrap of four counts: its window is as long as the sum's spread."""
    return 0.001 + 8e-6 * math.sqrt(discordant)


def flips_seconds(moves: Floats) -> float:
    """Rough cost of the sign-flip distribution of a sum (G,)."""
    n = len(moves)
    if n <= FLIPS_ENUMERATED_UP_TO:
        return 0.001 + 4e-7 * math.exp2(n / 2)
    look = moves[:LOOK]
    if np.array_equal(look, np.rint(look)) and float(np.abs(look).max()) < FEW_UNITS:
        return 0.005 + 2e-6 * n
    # tails too small for inversion, and values too uneven for it, are rounded to a long grid
    far = float(np.abs(moves.sum())) > 4.5 * float(np.sqrt(moves @ moves))
    return 0.8 + 8e-6 * n if far or not looks_smooth(look) else 0.05 + 1e-6 * n


def metric_seconds(units: PairedSums, draws: int, *, studentize: bool = False) -> float:
    """Rough cost of drawing the difference of a metric of sums."""
    width = units.metric.width
    cells = few_cells(units)
    if cells is not None:
        return 0.002 + draws * cells * (1.2e-7 if studentize else 9e-8) + 2e-7 * draws
    # beyond the cache every weight comes from memory
    each = (1.2e-8 if studentize else 5e-9) + 1e-9 * width * (2 if units.n_units > 100_000 else 1)
    return 0.003 + draws * (5e-7 + each * units.n_units)


def few_cells(units: PairedSums) -> int | None:
    """Different units, where they are few enough to be drawn by their counts; by the look of the first."""
    some = PairedSums(
        units.metric, units.baseline[:LOOK], units.candidate[:LOOK], np.ones(len(units.copies[:LOOK]))
    )
    cells = len(some.distinct.copies)
    return cells if cells * REPEATED <= units.n_units and cells * 4 <= max(len(some.copies), 16) else None
