"""How many more items or clusters would tell, if things went on as they are: a plan's figure, never a promise."""

from __future__ import annotations

import math

from service.domain.comparison.evidence import TIE, Evidence
from service.domain.comparison.records import Claim, More
from service.kernels.power import smallest_n, t_power

MOST = 10_000_000


def more_of(
    found: Evidence, delta: float, margin: float | None, alpha: float, power: float
) -> tuple[More, ...]:
    """What would tell, by the noncentral t with the observed spread.

    For no difference, and for the observed one. Only sizes beyond the present ones are named.
    """
    if found.se is None or found.units < 1:
        return ()
    asked: list[tuple[Claim, bool, float]] = []
    if margin is not None:
        asked.append(("no_worse", False, margin))
        if delta > -margin and abs(delta) > TIE:
            asked.append(("no_worse", True, delta + margin))
    if abs(delta) > TIE:
        asked.append(("better", True, delta) if delta > 0 else ("worse", True, -delta))
    told = []
    for claim, observed, distance in asked:
        total = _total(found, distance, alpha / 2, power)
        if total is None or total <= found.units:
            continue
        told.append(
            More(
                claim=claim,
                assuming="observed_difference" if observed else "no_difference",
                truth=delta if observed else 0.0,
                total=total,
                more=total - found.units,
                power=power,
            )
        )
    return tuple(told)


def _total(found: Evidence, distance: float, tail: float, power: float) -> int | None:
    """The smallest number of units with that power against a difference `distance` beyond the bound."""
    spread = (found.se or 0.0) * math.sqrt(found.units)
    share = found.df / max(found.units - 1, 1)  # of the degrees of freedom that units of one size would have
    least = max(2, math.ceil(math.log2(1 / tail))) if found.unit == "clusters" else 2

    def power_at(units: int) -> float:
        return t_power(distance * math.sqrt(units) / spread, max(share * (units - 1), 1.0), tail, "greater")

    total, _ = smallest_n(power_at, power, least, MOST, lambda _units: 0)
    return total
