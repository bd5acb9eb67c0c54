"""The binomial distribution for arrays of counts: cdf, probabilities, where its mass lies; and intervals of a share."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def window(n: int, share: float) -> tuple[int, int]:
    """First and last of the counts of Binomial(n, share) that hold all but about 1e-16 of its mass."""
    # Nine SDs leave 2e-19 of a normal; where the variance is small the tails are Poisson's, and 25 counts more leave
    # less.
    reach = 9 * math.sqrt(n * share * (1 - share)) + 25
    return max(0, math.floor(n * share - reach)), min(n, math.ceil(n * share + reach))


def cdf(k: Ints, n: Ints | int, share: float) -> Floats:
    """Return P(B <= k), arrays that broadcast; 0 below 0, 1 from n on."""
    n = np.asarray(n)
    inside = np.clip(k, 0, np.maximum(n - 1, 0))
    # P(B <= k) = I_{1-p}(n - k, k + 1): DLMF 8.17.4 and 8.17.5.
    value = special.betainc(np.maximum(n - inside, 1), inside + 1.0, 1 - share)
    return np.where(np.asarray(k) < 0, 0.0, np.where(np.asarray(k) >= n, 1.0, value))


def between(low: Ints, high: Ints, n: Ints, share: float) -> Floats:
    """Return P(low <= B < high), arrays that broadcast; 0 where the range is empty."""
    return np.where(high > low, cdf(high - 1, n, share) - cdf(low - 1, n, share), 0.0)


def pmf(k: Ints, n: Ints | int, share: float) -> Floats:
    """Return P(B = k), arrays that broadcast."""
    n = np.asarray(n)
    return np.asarray(np.exp(log_choose(k, n) + special.xlogy(k, share) + special.xlog1py(n - k, -share)))


def log_choose(k: Ints | Floats, n: Ints) -> Floats:
    """Return the natural logarithm of n over k, whole numbers in arrays that broadcast."""
    return np.asarray(special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(n - k + 1.0))


def clopper_pearson(k: float, n: float, level: float) -> tuple[float, float]:
    """Exact two-sided interval of a share of which k of n were seen. n above 0; neither need be whole.

    Sources: Clopper & Pearson (1934), Biometrika 26:404.
    Example: 0 of 10 at .95: 0 to 1 - .025^(1/10), which is .308.
    """
    tail = (1 - level) / 2
    low = 0.0 if k == 0 else float(special.betaincinv(k, n - k + 1, tail))
    high = 1.0 if k == n else float(special.betaincinv(k + 1, n - k, 1 - tail))
    return low, high


def limits_of_share(k: Floats, n: Floats | float, tail: float) -> tuple[Floats, Floats]:
    """Return both exact limits of shares of which k of n were seen, each at level `tail`; arrays that broadcast.

    Sources: Clopper & Pearson (1934), Biometrika 26:404.
    Example: 8 of 20 at .025: .191 to .639.
    """
    n = np.asarray(n, dtype=np.float64)
    low, high = (
        # of none seen 0, whatever the tail; the upper limit is one less the lower limit of the others, which keeps the
        # digits of a small tail
        np.where(seen > 0, special.betaincinv(np.maximum(seen, 1), n - seen + 1, tail), 0.0)
        for seen in (k, n - k)
    )
    return low, 1 - high


def wilson(k: float, n: float, z: float) -> tuple[float, float]:
    """Wilson's score interval of a share of which k of n were seen; z above 0 is the normal quantile of its level.

    Source: Wilson (1927), JASA 22:209.
    Example: 0 of 10 at z = 1.96: 0 to z^2 / (10 + z^2), which is .278.
    """
    share, z2 = k / n, z * z
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = z * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    # rounding alone would keep the bound of none, or of all, from the end
    return 0.0 if k == 0 else max(centre - half, 0.0), 1.0 if k == n else min(centre + half, 1.0)
