"""All arms against each other at once: Cochran's Q of right and wrong, Friedman's test of scores."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from service.kernels.numeric.streams import BLOCK
from service.kernels.randomization import equal_arms
from service.records import Record
from service.stats.shared.declaring.columns import is_binary

BLOCKS = range(4)
"""What the permutation within clusters is drawn with."""
OTHER_SEED = 1
"""Added to the seed, so that these draws owe nothing to others of the same request."""
NO_DIFFERENCE = "no item tells the arms apart"
NOT_DRAWN = "the chi-square distribution draws nothing"


class AllAlike(Record):
    """One test of all arms together."""

    test: Literal["cochran_q", "friedman"] = Field(description="Q of right and wrong, Friedman's of scores.")
    statistic: float | None = Field(description="Chi-square; null where no item tells the arms apart.")
    df: int = Field(description="Degrees of freedom, arms minus one.")
    p_value: float | None = Field(description="That all arms are alike.")
    route: Literal["chi_square", "permutation"] = Field(
        description="`permutation`: the arms change names within whole clusters."
    )
    n_resamples: int | None = Field(description="Permutations drawn, a count.")
    seed: int | None = Field(description="What they were drawn with: one above the request's.")


def all_alike(
    raw: NDArray[np.float64], by_cluster: NDArray[np.int64] | None, seed: int, reasons: dict[str, str]
) -> AllAlike:
    """Test that all arms are alike, from outcomes (n, k) and every item's cluster (n,), where there are any."""
    binary = is_binary(raw)
    result = equal_arms.cochran_q(raw) if binary else equal_arms.friedman(raw)
    p, drawn = result.p_value, by_cluster is not None and result.statistic is not None
    if p is None:
        reasons.update({"alike.statistic": NO_DIFFERENCE, "alike.p_value": NO_DIFFERENCE})
    if drawn and by_cluster is not None:
        sums = [np.bincount(by_cluster, weights=column) for column in result.points.T]
        points = np.stack(sums, axis=1).astype(np.float64)
        # With the number of units fixed, both statistics rise with the sum of squares of the arms' totals: no more
        # is drawn.
        totals = points.sum(axis=0)
        squares = equal_arms.permute_arms(points, seed + OTHER_SEED, BLOCKS)
        # Mid-ranks summed in another order differ in the last digits: what ties with the data counts as far out.
        p = (1 + int((squares >= float(totals @ totals) * (1 - 1e-12)).sum())) / (1 + len(squares))
    else:
        reasons.update({"alike.n_resamples": NOT_DRAWN, "alike.seed": NOT_DRAWN})
    return AllAlike(
        test="cochran_q" if binary else "friedman",
        statistic=result.statistic,
        df=result.df,
        p_value=p,
        route="permutation" if drawn else "chi_square",
        n_resamples=len(BLOCKS) * BLOCK if drawn else None,
        seed=seed + OTHER_SEED if drawn else None,
    )


def seconds(clusters: int, arms: int) -> float:
    """Return what the permutation within so many clusters takes."""
    return len(BLOCKS) * clusters * (3e-5 + 2.5e-6 * arms)
