"""One mean against a threshold: what its interval shows, and about how many more items or clusters would show it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field
from scipy import special

from service.kernels.numeric import binomial
from service.kernels.planning.more_units import first_that_shows, units_by_t
from service.kernels.planning.power import smallest_n
from service.records import Record
from service.stats.shared.methods.one_mean import SHARES, OneMean

Outcome = Literal["meets", "falls_short", "cannot_tell"]
Unit = Literal["items", "clusters"]
TIE = 1e-9
"""A bound this close to the threshold, as a share of the range or of its size, has reached it."""
MOST = 10_000_000
"""Items beyond which no number is told: out of reach."""
RIPPLE = 0.02
"""How far around a crossing the power of a binomial is looked at again, as a share of n: it saw-tooths."""


class MoreUnits(Record):
    """What would tell, if things went on as they are: a figure for planning, never a promise."""

    claim: Literal["meets", "falls_short"] = Field(description="What could then be told.")
    unit: Unit = Field(description="What there would have to be more of.")
    total: int = Field(description="Items or clusters in all, a count.")
    more: int = Field(description="Of them beyond those that are there, a count.")
    power: float = Field(description="Chance to tell it then if the mean seen is the true one, a proportion.")


class Attainable(Record):
    """What the best data there could be would show."""

    bound: float = Field(
        description="The deciding bound with every item at the good end of the range: no threshold beyond it can be "
        "met with so many items (or clusters, each of which then counts for one)."
    )
    least_units: int = Field(
        description="Items (or clusters) that show the threshold to be met when every one is at the good end, a count."
    )
    unit: Unit = Field(description="What is counted.")


class AgainstThreshold(Record):
    """The mean against a value it should reach."""

    threshold: float = Field(description="The value, in the unit of the mean.")
    outcome: Outcome = Field(
        description="`meets`: the interval lies at or on the good side of the threshold; `falls_short`: on the other; "
        "`cannot_tell`: it holds the threshold."
    )
    p_meets: float | None = Field(
        description="One-sided p of H0: the true mean lies on the bad side of the threshold. By the interval turned "
        "around: below (1 - level) / 2 where it meets."
    )
    p_falls_short: float | None = Field(description="One-sided p of H0: it lies on the good side.")
    posterior: float | None = Field(
        description="P(the share is on the good side | data) under Jeffreys' prior, a probability; right and wrong "
        "items that are independent."
    )
    attainable: Attainable | None = Field(description="What the best data there could be would show.")
    more: MoreUnits | None = Field(description="About how many would tell; null where it is told.")


@dataclass(frozen=True, eq=False)
class Target:
    """A threshold for one mean, each side of it tested at `tail`. `sign` -1: lower values are the better ones."""

    mean: OneMean
    threshold: float
    tail: float
    sign: Literal[1, -1]
    power: float

    @property
    def _size(self) -> float:
        scale = self.mean.scale
        return max(abs(self.threshold), abs(self.mean.moments.mean)) if scale is None else scale.length

    def outcome(self) -> Outcome:
        """Return on which side of the threshold the mean lies, by the ends of the deciding interval."""
        if self.mean.deciding is None:
            return "cannot_tell"
        low, high = self.mean.deciding[1].ends(self.tail)
        near = TIE * self._size
        above, below = low >= self.threshold - near, high < self.threshold - near
        if self.sign < 0:
            above, below = low > self.threshold + near, high <= self.threshold + near
        if above:
            return "meets" if self.sign > 0 else "falls_short"
        if below:
            return "falls_short" if self.sign > 0 else "meets"
        return "cannot_tell"

    def p_values(self) -> tuple[float, float] | None:
        """Return p of H0 that the threshold is not met, and that it is; None where the deciding interval has none."""
        if self.mean.deciding is None or self.mean.deciding[0] == "jeffreys":
            return None
        bounds = self.mean.deciding[1]
        pair = bounds.p_above(self.threshold), bounds.p_below(self.threshold)
        return pair if self.sign > 0 else (pair[1], pair[0])

    def posterior(self) -> float | None:
        """Return P(good side | data) of a share of independent items."""
        if not self.mean.binary or self.mean.codes is not None:
            return None
        share = self.mean.beside["jeffreys"]
        return share.p_below(self.threshold) if self.sign > 0 else share.p_above(self.threshold)

    @property
    def _room(self) -> float:
        """How far the threshold lies from the bad end of the range, as a share of its length."""
        scale = self.mean.scale
        if scale is None:
            return math.nan
        inside = (self.threshold - scale.low) / scale.length
        return inside if self.sign > 0 else 1 - inside

    def attainable(self) -> Attainable | None:
        """Return the best bound: Clopper and Pearson's, tail^(1/n), of n items; Korn and Graubard's of n clusters."""
        scale, groups = self.mean.scale, self.mean.groups
        if scale is None:
            return None
        units = len(self.mean.values) if groups is None else groups.n_clusters
        best = self._best_bound(units)
        least = max(1, math.ceil(math.log(self.tail) / math.log(self._room)))
        if self.mean.share == "wilson" and self.mean.binary and groups is None:
            z2 = float(special.ndtri(self.tail)) ** 2
            least = max(1, math.ceil(z2 * self._room / (1 - self._room)))
        elif self.mean.share == "jeffreys" and self.mean.binary and groups is None:
            least = (
                smallest_n(lambda n: self._best_bound(n) - self._room, 0.0, 1, MOST, lambda _n: 0)[0] or MOST
            )
        bound = scale.low + best * scale.length if self.sign > 0 else scale.high - best * scale.length
        return Attainable(bound=bound, least_units=least, unit="items" if groups is None else "clusters")

    def _best_bound(self, units: int) -> float:
        """Return the lower bound of a share with all of so many right."""
        kind = (
            SHARES[self.mean.share]
            if self.mean.binary and self.mean.codes is None
            else SHARES["clopper-pearson"]
        )
        return kind(float(units), float(units)).ends(self.tail)[0]

    def more(self) -> MoreUnits | None:
        """Return the smallest number of items, or clusters, that would tell with the power asked for."""
        mean, groups = self.mean.moments.mean, self.mean.groups
        distance = abs(mean - self.threshold)
        if self.outcome() != "cannot_tell" or distance <= TIE * self._size:
            return None
        present = len(self.mean.values) if groups is None else groups.n_clusters
        total = self._by_binomial() if groups is None and self.mean.binary else self._by_t(present, distance)
        if total is None or total <= present:
            return None
        good = (mean - self.threshold) * self.sign > 0
        return MoreUnits(
            claim="meets" if good else "falls_short",
            unit="items" if groups is None else "clusters",
            total=total,
            more=total - present,
            power=self.power,
        )

    def _by_binomial(self) -> int | None:
        """Exact: the chance that so many items give a count whose own interval tells."""
        right = self.mean.moments.mean
        threshold, above = self.threshold, right > self.threshold
        if not above:  # the same of wrong answers
            right, threshold = 1 - right, 1 - threshold
        kind = SHARES[self.mean.share]

        def power_at(n: int) -> float:
            """Return the chance that n new items tell, where the true share is the one that was seen."""

            def tells(count: int) -> bool:
                return kind(float(count), float(n)).p_above(threshold) <= self.tail

            if not tells(n):
                return 0.0
            low, high = -1, n  # the least count that tells lies above `low`
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if tells(middle) else (middle, high)
            return 1.0 if right == 1 else float(1 - binomial.cdf(np.array([high - 1]), n, right)[0])

        return smallest_n(power_at, self.power, 1, MOST, lambda n: min(round(RIPPLE * n) + 5, 200))[0]

    def _by_t(self, present: int, distance: float) -> int | None:
        """Return the noncentral t with the spread that was seen, and the bounds that know of what was not."""
        error = self.mean.error
        total: int | None = 2
        if error is not None and error.se > 0:
            total = units_by_t(
                distance, error.se, error.df, present, least=2, most=MOST, tail=self.tail, power=self.power
            )
        return None if total is None else self._by_bounds(present, total)

    def _by_bounds(self, present: int, least: int) -> int | None:
        """The smallest number, from `least` on, at which bounds of such data tell even where their mean falls short.

        Short by as much as it does with chance 1 - power.
        """
        error = self.mean.error
        spread = 0.0 if error is None else error.se * math.sqrt(present)
        seen = self.mean.moments.mean
        above = seen > self.threshold
        slack = float(special.ndtri(self.power)) * spread * (-1 if above else 1)

        def shows(units: int) -> bool:
            moved = self.mean.of_more(slack / math.sqrt(units), units / present)
            if moved is None:
                return True
            p = moved.p_above(self.threshold) if above else moved.p_below(self.threshold)
            return p < self.tail

        return first_that_shows(shows, least, MOST)


def against(target: Target, path: str, reasons: dict[str, str]) -> AgainstThreshold:
    """Return all of it, with a reason for every null."""
    p_values, posterior = target.p_values(), target.posterior()
    outcome, attainable, more = target.outcome(), target.attainable(), target.more()
    if p_values is None:
        why = (
            "nothing varies, so no test weighs the mean"
            if target.mean.deciding is None
            else "Jeffreys' interval has a posterior probability in place of a p-value"
        )
        reasons |= {f"{path}.p_meets": why, f"{path}.p_falls_short": why}
    if posterior is None:
        reasons[f"{path}.posterior"] = "told of right and wrong items that are independent"
    if attainable is None:
        reasons[f"{path}.attainable"] = "no range was declared, so nothing is the best there could be"
    if more is None:
        reasons[f"{path}.more"] = (
            "it is told already"
            if outcome != "cannot_tell"
            else "no number within reach tells it of such a mean"
        )
    return AgainstThreshold(
        threshold=target.threshold,
        outcome=outcome,
        p_meets=None if p_values is None else p_values[0],
        p_falls_short=None if p_values is None else p_values[1],
        posterior=posterior,
        attainable=attainable,
        more=more,
    )
