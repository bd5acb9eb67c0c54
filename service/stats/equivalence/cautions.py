"""What is said of an equivalence test beside its answer."""

from __future__ import annotations

from service.stats.shared.declaring.common import StatWarning
from service.stats.shared.declaring.warnings import define
from service.stats.shared.methods.bounded import Bounded

SPARSE_SPREAD = 25
"""Discordant items below which the tests that estimate a spread need a warning."""

COMPARED_ITEMS = 10_000
"""Items up to which bounds are asked as well: they take a quarter of a second, and among more a loss that matters is
seen."""

SPARSE_DISCORDANT = define("SPARSE_DISCORDANT", "caution", "Chan & Zhang (1999), Biometrics 55:1202")
SPARSE_UNGUARDED = define("SPARSE_UNGUARDED", "serious", "Chan & Zhang (1999), Biometrics 55:1202")
SPARSE_SCORES = define("SPARSE_SCORES", "serious", "Gaffke (2005), Math Methods Statist 14:451")
UNSEEN_LOSSES = define("UNSEEN_LOSSES", "caution", "Gaffke (2005), Math Methods Statist 14:451")
SEED_BOUNDS = define("SEED_BOUNDS", "serious")
CLUSTERED_INTERVAL_USED = define("CLUSTERED_INTERVAL_USED", "info")


def warn_if_sparse(discordant: int | None, smaller: int) -> tuple[StatWarning, ...]:
    """Return SPARSE_SCORES, of items that differ, or of arms that do not share items by the `smaller` one."""
    n, items = (smaller, "items in the smaller arm") if discordant is None else (discordant, "items differ")
    return (SPARSE_SCORES(n=n, items=items),) if n < SPARSE_SPREAD else ()


def warn_if_unseen(
    bounded: Bounded,
    n: int,
    units: str,
    margin: float,
    alpha: float,
    p_values: tuple[float | None, float | None],
) -> tuple[StatWarning, ...]:
    """Return UNSEEN_LOSSES, where a one-sided test rejects and bounds of differences not seen do not.

    Whole clusters lost were called no worse .09 to .25 of the time where .05 is asked, with 12 to 200 of them; half of
    these answers warned of nothing.

    Args:
        n, units: how many items or clusters were seen.
        p_values: of a difference of at most -margin, and of at least the margin; None where undefined.
    """
    bounds = (bounded.p_above, -margin), (bounded.p_below, margin)
    rejected = [
        p_of(end) for (p_of, end), p in zip(bounds, p_values, strict=True) if p is not None and p < alpha
    ]
    p_bound = max(rejected, default=0.0)
    return (
        (UNSEEN_LOSSES(n=n, units=units, p=f"{p_bound:.2g}", alpha=f"{alpha:.10g}"),)
        if p_bound >= alpha
        else ()
    )
