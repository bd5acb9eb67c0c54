"""Effects of several kinds on one scale, with standard errors. Floats in and out; None is undefined."""

from __future__ import annotations

import math

from scipy import special


def d_standard_error(d: float, n1: int, n2: int | None) -> float:
    """Return the large-sample SE of Cohen's d; n2 None: one sample or pairs. Hedges & Olkin (1985)."""
    if n2 is None:
        return math.sqrt(1 / n1 + d * d / (2 * n1))
    return math.sqrt(1 / n1 + 1 / n2 + d * d / (2 * (n1 + n2)))


def d_from_t(t: float, n1: int, n2: int | None) -> float:
    """Return Cohen's d (of differences, for one sample or pairs) behind a t statistic."""
    return t / math.sqrt(n1) if n2 is None else t * math.sqrt(1 / n1 + 1 / n2)


def fisher_z(r: float) -> float | None:
    """Return Fisher's z of a correlation; None at -1 and 1."""
    return math.atanh(r) if abs(r) < 1 else None


def fisher_z_standard_error(n: int) -> float | None:
    """Return 1 / sqrt(n - 3); None up to n = 3."""
    return 1 / math.sqrt(n - 3) if n > 3 else None


def d_from_correlation(r: float) -> float | None:
    """Return 2 r / sqrt(1 - r^2); None at -1 and 1."""
    # A product: 1 - r^2 would lose the digits of r near 1.
    return 2 * r / math.sqrt((1 - r) * (1 + r)) if abs(r) < 1 else None


def d_from_fisher_z(z: float) -> float | None:
    """Return d of the correlation behind Fisher's z: 2 sinh(z), without the rounding of tanh near 1."""
    # sinh overflows past 710; a d of e^300 is none.
    return 2 * math.sinh(z) if abs(z) < 300 else None


def d_from_log_odds(log_odds: float) -> float:
    """d behind a log odds ratio: divided by pi / sqrt(3), the SD of the logistic distribution.

    Source: Chinn (2000), Stat Med 19:3127.
    """
    return log_odds * math.sqrt(3) / math.pi


def d_from_proportion(p: float, p0: float) -> float:
    """Twice the distance from p0 in null SDs: about twice Cohen's h."""
    return 2 * (p - p0) / math.sqrt(p0 * (1 - p0))


def cohens_h(p: float, p0: float) -> float:
    """Cohen's h: the difference of two arcsine-transformed proportions, 2 asin(sqrt p)."""
    return 2 * (math.asin(math.sqrt(p)) - math.asin(math.sqrt(p0)))


def haldane_anscombe(table: tuple[float, float, float, float]) -> tuple[tuple[float, ...], bool]:
    """Return the four cells, each with .5 added when one of them is 0, and whether it was."""
    empty = any(cell == 0 for cell in table)
    return tuple(cell + 0.5 for cell in table) if empty else table, empty


def log_odds_ratio(a: float, b: float, c: float, d: float) -> tuple[float, float]:
    """ln(ad / bc) and its standard error; no cell may be 0."""
    return math.log(a) + math.log(d) - math.log(b) - math.log(c), math.sqrt(1 / a + 1 / b + 1 / c + 1 / d)


def rank_biserial(u: float, n1: int, n2: int) -> float:
    """Return 1 - 2 U / (n1 n2): its sign depends on which of the two U is meant."""
    return 1 - 2 * (u / n1) / n2


def rank_biserial_errors(r: float, n1: int, n2: int) -> tuple[float, float]:
    """Return (the document's SE, which is that of a d; the reference code's sqrt((1 - r^2) / (n1 + n2 - 1)))."""
    return d_standard_error(r, n1, n2), math.sqrt((1 - r) * (1 + r) / (n1 + n2 - 1))


def z_difference(first: float, first_se: float, second: float, second_se: float) -> float | None:
    """Return the difference of two estimates in SDs of the difference; None when both are exact or it is infinite."""
    spread = math.hypot(first_se, second_se)
    z = (first - second) / spread if spread > 0 else math.inf
    return z if math.isfinite(z) else None


def two_sided(z: float) -> float:
    """Return P(|Z| >= |z|) of a standard normal."""
    return 2 * float(special.ndtr(-abs(z)))
