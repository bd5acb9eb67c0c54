"""How many more items or clusters would tell, if things went on as they are: a plan's figure, never a promise."""

from __future__ import annotations

import math

from scipy import special

from service.domain.comparison.records import Claim, More
from service.domain.comparison.weighing import Evidence
from service.kernels.planning.more_units import first_that_shows, units_by_t
from service.stats.shared.methods.bounded import Bounded

MOST = 10_000_000


def more_of(
    evidence: Evidence, delta: float, margin: float | None, alpha: float, power: float
) -> tuple[More, ...]:
    """Say what would tell, by the noncentral t with the observed spread, and by the bounds of what was not seen.

    For no difference, and for the observed one. Only sizes beyond the present ones are named.
    """
    if evidence.units < 1 or (evidence.se is None and evidence.bounded is None):
        return ()
    claims: list[tuple[Claim, bool, float]] = []
    if margin is not None:
        claims.append(("no_worse", False, -margin))
        if delta > -margin and abs(delta) > evidence.tie:
            claims.append(("no_worse", True, -margin))
    if abs(delta) > evidence.tie:
        claims.append(("better" if delta > 0 else "worse", True, 0.0))
    sizes = []
    for claim, observed, against in claims:
        truth = delta if observed else 0.0
        total = _total(evidence, truth, against, alpha / 2, power)
        if total is None or total <= evidence.units:
            continue
        sizes.append(
            More(
                claim=claim,
                assuming="observed_difference" if observed else "no_difference",
                truth=truth,
                total=total,
                more=total - evidence.units,
                power=power,
            )
        )
    return tuple(sizes)


def _total(evidence: Evidence, truth: float, against: float, tail: float, power: float) -> int | None:
    """Return the smallest number of units that shows the truth to lie beyond `against`, with that power."""
    total = 2 if evidence.se is None else _by_t(evidence, evidence.se, abs(truth - against), tail, power)
    if total is None or evidence.bounded is None:
        return total
    return _by_bounds(evidence, evidence.bounded, total, truth, against, tail, power)


def _by_t(evidence: Evidence, se: float, distance: float, tail: float, power: float) -> int | None:
    # Sign flips of g clusters have no p below 2^-g, so fewer clusters than this never reject.
    least = max(2, math.ceil(math.log2(1 / tail))) if evidence.unit == "clusters" else 2
    return units_by_t(
        distance, se, evidence.df, evidence.units, least=least, most=MOST, tail=tail, power=power
    )


def _by_bounds(
    evidence: Evidence, bounded: Bounded, least: int, truth: float, against: float, tail: float, power: float
) -> int | None:
    """The smallest number, from `least` on, at which the bounds of such data hold even where their mean falls short.

    Short by as much as it does with chance 1 - power. Where no loss was seen that is the number which rules out
    those that were not.
    """
    spread = (evidence.se or 0.0) * math.sqrt(evidence.units)
    short = math.copysign(float(special.ndtri(power)) * spread, against - truth)

    def shows(units: int) -> bool:
        mean = truth + short / math.sqrt(units)
        return bounded.p_of_more(mean, units / evidence.units, against) < tail

    return first_that_shows(shows, least, MOST)
