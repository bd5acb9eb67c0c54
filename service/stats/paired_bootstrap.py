"""Bootstrap of a paired difference: binary pairs exactly, scores exactly where they allow it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from service.errors import InvalidData
from service.kernels.bootstrap_draws import Draws, draw_means, seed_means
from service.stats.common import StatWarning, is_binary, p_text, percent
from service.stats.pairs import FEW_DISCORDANT, NO_DISCORDANT, PairedCounts, PairsRequest
from service.stats.registry import PlanUse, stat_test
from service.stats.resampling import (
    DEFAULT_DRAWS,
    DEFAULT_SEED,
    SEED_DRAWS,
    BootstrapAnalysis,
    BootstrapDistribution,
    BootstrapOptions,
    Reading,
    paired_distribution,
    resolution_of,
    resolved_draws,
)

FEW = 20
LOOK = 5000
"""Items whose outcomes a cost estimate looks at."""


class PairedBootstrapRequest(PairsRequest, BootstrapOptions):
    """Two arms on the same items: two columns, or the four counts of binary outcomes."""


class PairedBootstrapAnalysis(BootstrapAnalysis):
    """What the bootstrap of a paired difference found."""

    n: int = Field(description="Items, a count.")
    n_discordant: int = Field(description="Items whose outcomes differ between the arms, a count.")
    counts: PairedCounts | None = Field(description="The fourfold table, counts; null for scores.")


def _cost(request: PairedBootstrapRequest) -> float:
    baseline, candidate = request.baseline or [], request.candidate or []
    n = len(baseline)
    if request.convention == "seed":
        return 2e-8 * (n + 1000) * (request.n_resamples or SEED_DRAWS)
    if {*baseline[:LOOK], *candidate[:LOOK]} <= {0.0, 1.0}:
        return 0.001 + 2.2e-7 * n
    return 0.9 if n <= 5000 else 1e-8 * n * (request.n_resamples or DEFAULT_DRAWS)


@stat_test(
    name="paired-bootstrap",
    version=1,
    title="Paired bootstrap",
    example={
        "baseline": [1, 1, 1, 0, 1, 0, 1, 1, 0, 1],
        "candidate": [1, 0, 1, 1, 0, 1, 0, 1, 0, 0],
    },
    cost=_cost,
    plan=PlanUse(endpoints=frozenset({"binary", "continuous"})),
)
def paired_bootstrap(request: PairedBootstrapRequest) -> PairedBootstrapAnalysis:
    """Give the distribution of the difference over resamples of the items, its interval and p-value.

    Items are drawn n times with replacement and the difference is taken anew: delta*. For binary
    outcomes n delta* is the difference of two multinomial counts, so nothing needs to be drawn.
    H0 of the p-value (Berg-Kirkpatrick): delta* - delta has the law that delta has without an effect.

    Returns:
        delta: mean of candidate minus baseline.
        ci: percentile or basic interval; a quantile is the smallest attainable x with F(x) >= q.
        p_value: P(delta* >= 2 delta), at least about .5 when delta <= 0; see `alternative`.
        p_better: the same for the better arm, named in `better`.
        route: fft (binary), enumeration (12 scores or fewer), lattice (scores on a grid), inversion
            (error below .005), else monte_carlo with p = (1 + count) / (B + 1).

    Raises:
        InvalidData: columns of different length, neither columns nor all counts, or no item.

    Edge cases:
        No item differs: the interval is [0, 0] and p is 1, warning NO_DISCORDANT.
        Fewer than 20 discordant items: warning FEW_DISCORDANT.
        2 delta beyond the attainable range: p is given as a bound, never 0.
        convention `seed`: default_rng(42), 2000 draws, np.percentile, p = count / B.

    Sources:
        Efron & Tibshirani (1993), An Introduction to the Bootstrap, 13.
        Berg-Kirkpatrick, Burkett & Klein (2012), EMNLP, 995 (p_value).
        Davison & Hinkley (1997), Bootstrap Methods and their Application, 4.2 (p of draws).

    Example:
        Ten documents, the baseline right on 7 and the candidate on 5, 6 discordant: p_better is
        .2684 counting resamples at exactly 2 delta, .1457 without.
    """
    baseline, candidate = request.arrays
    difference = candidate - baseline
    counts = request.table if is_binary(baseline, candidate) else None
    n = counts.n if counts else len(difference)
    delta = counts.delta if counts else float(difference.mean())
    n_discordant = counts.n_discordant if counts else int(np.count_nonzero(difference))
    found = _distribution(request, counts, difference, delta)
    read = Reading(request, delta, resolution_of(found, n)).fields(found)
    warnings: list[StatWarning] = list(read.pop("warnings"))
    if n_discordant == 0:
        warnings.append(NO_DISCORDANT())
    elif n_discordant < FEW:
        warnings.append(FEW_DISCORDANT(n_discordant=n_discordant))
    if counts is None:
        read["reasons"]["counts"] = "the outcomes are scores, not right or wrong"
    ci, p = read["ci"], read["p_value"]

    def show(x: float) -> str:
        return percent(x) if counts is not None else f"{x:+.4g}"

    return PairedBootstrapAnalysis(
        **read,
        n=n,
        n_discordant=n_discordant,
        counts=counts,
        warnings=tuple(warnings),
        sentence=(
            f"The candidate differs from the baseline by {show(delta)} ({100 * request.level:g}% {ci.method} "
            f"bootstrap CI {show(ci.low)} to {show(ci.high)}, n = {n}, {n_discordant} discordant); "
            f"bootstrap {request.alternative}, {p_text(p)}, "
            + (
                f"so a difference of zero is rejected at alpha {request.alpha:g}."
                if p < request.alpha
                else f"so a difference of zero is not rejected at alpha {request.alpha:g}, "
                "which does not show equality."
            )
        ),
    )


def _distribution(
    request: PairedBootstrapRequest,
    counts: PairedCounts | None,
    difference: NDArray[np.float64],
    delta: float,
) -> BootstrapDistribution:
    """By the first way that fits: the literal recipe, exact, or drawn."""
    seed = DEFAULT_SEED if request.seed is None else request.seed
    if request.convention == "seed":
        if request.baseline is None:
            raise InvalidData.field(
                "convention", "'seed' draws items in their order", "send columns instead of counts"
            )
        return seed_means(difference, request.n_resamples or SEED_DRAWS, seed)

    def draw() -> Draws:
        return resolved_draws(lambda draws: draw_means(difference, draws, seed), request, delta)

    return paired_distribution(counts, difference, draw)
