"""What is said of an equivalence test beside its answer."""

from __future__ import annotations

from service.stats.shared.declaring.common import StatWarning
from service.stats.shared.declaring.warnings import define

SPARSE_SPREAD = 25
"""Discordant items below which the tests that estimate a spread need a warning."""

SPARSE_DISCORDANT = define("SPARSE_DISCORDANT", "caution", "Chan & Zhang (1999), Biometrics 55:1202")
SPARSE_UNGUARDED = define("SPARSE_UNGUARDED", "serious", "Chan & Zhang (1999), Biometrics 55:1202")
SPARSE_SCORES = define("SPARSE_SCORES", "serious", "Gaffke (2005), Math Methods Statist 14:451")
SEED_BOUNDS = define("SEED_BOUNDS", "serious")
CLUSTERED_INTERVAL_USED = define("CLUSTERED_INTERVAL_USED", "info")


def warn_if_sparse(discordant: int | None, smaller: int) -> tuple[StatWarning, ...]:
    """SPARSE_SCORES, of items that differ, or of arms that do not share items by the `smaller` one."""
    n, items = (smaller, "items in the smaller arm") if discordant is None else (discordant, "items differ")
    return (SPARSE_SCORES(n=n, items=items),) if n < SPARSE_SPREAD else ()
