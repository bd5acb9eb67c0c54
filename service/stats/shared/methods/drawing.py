"""How the bootstrap tests draw: what a block of replicates holds, and how many of them an answer takes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from service.errors import InvalidData
from service.kernels.bootstrap.bootstrap_draws import Draws, ratio_blocks
from service.kernels.bootstrap.metric_bootstrap import MetricDraws, Replicates, difference_blocks
from service.kernels.numeric.distributions import BootstrapDistribution
from service.kernels.numeric.metrics import PairedSums
from service.kernels.numeric.streams import block_count
from service.stats.shared.declaring.common import Analysis
from service.stats.shared.declaring.registry import Blocks, Drawn
from service.stats.shared.methods.resampling import (
    DEFAULT_DRAWS,
    MOST_DRAWS,
    BootstrapOptions,
    Reading,
    resolution_of,
)

A = TypeVar("A", bound=Analysis)
Floats = NDArray[np.float64]

MOST_WITHOUT_SPREAD = 0.01
"""Share of resamples that may lack a standard error before studentizing is refused."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """`draw` gives the numbers of consecutive blocks, `collect` the distribution of the first so many
    replicates."""

    draw: Callable[[range], Drawn]
    collect: Callable[[Drawn, int], Draws]


def of_ratio(sums: Floats, sizes: Floats, seed: int) -> Drawing:
    """Return sum(D) / sum(N) over resamples of clusters, or of items of size 1."""
    return Drawing(
        lambda which: {"estimates": ratio_blocks(sums, sizes, seed, which)},
        lambda drawn, n: Draws(np.sort(drawn["estimates"][:n])),
    )


def of_metric(units: PairedSums, seed: int, *, studentize: bool) -> Drawing:
    """Return the difference of a metric of sums, with standard errors on request (and where there is any spread)."""
    studentize = studentize and bool(units.standard_error())

    def draw(which: range) -> Drawn:
        blocks = difference_blocks(units, seed, which, studentize=studentize)
        drawn = {"differences": blocks.differences, "undefined": blocks.undefined}
        return {**drawn, "errors": blocks.errors} if studentize else drawn

    def collect(drawn: Drawn, n: int) -> MetricDraws:
        errors = drawn["errors"] if studentize else np.zeros(0)
        draws = Replicates(drawn["differences"], drawn["undefined"], errors).sort_into_draws(units, n)
        if draws.without_spread > MOST_WITHOUT_SPREAD:
            raise InvalidData.field(
                "method",
                f"studentized divides by a standard error that is 0 in {draws.without_spread:.1%} of resamples",
                "use percentile, basic or bca, or send more items or clusters",
            )
        return draws

    return Drawing(draw, collect)


class Resampled(BootstrapOptions):
    """A bootstrap whose distribution is `exact`, or where that is None is drawn."""

    @property
    @abstractmethod
    def delta(self) -> float:
        """The observed difference, candidate minus baseline."""

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
    """Return how many to draw: ten times the usual when the p-value cannot be told from alpha and the caller
    named no number."""
    usual = request.n_resamples or DEFAULT_DRAWS
    if drawn is None or request.n_resamples is not None:
        return usual
    distribution = drawing.collect(drawn, usual)
    plain = request.model_copy(update={"method": "percentile"})
    unresolved = Reading(plain, request.delta, resolution_of(distribution, 1)).fields(distribution)[
        "warnings"
    ]
    return MOST_DRAWS if unresolved else usual


def blocks_of(analyse: Callable[[R, BootstrapDistribution], A]) -> Blocks[R, A]:
    """Say how a test's bootstrap is drawn by blocks: how many there are, what one draws, and the answer from them."""

    def count(request: R, drawn: Drawn | None) -> int:
        if request.exact is not None:
            return 0
        return block_count(_replicates(request, request.drawing, drawn))

    def finish(request: R, drawn: Drawn) -> A:
        distribution = request.exact
        if distribution is None:
            source = request.drawing
            distribution = source.collect(drawn, _replicates(request, source, drawn))
        return analyse(request, distribution)

    return Blocks(count, lambda request, which: request.drawing.draw(which), finish)
