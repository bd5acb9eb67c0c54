"""How many items bounds on a difference need, from the spread that was observed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from service.domain.notes.rule_bounds import Bound, errors_to_end
from service.domain.plans.items.suite_items import find_population
from service.domain.plans.plan import Plan
from service.domain.rules.answers import Analysis, Answer
from service.domain.verdicts.records import HypothesisVerdict
from service.kernels.pairs import tango

TARGET = 0.8

MOST = 10_000_000
"""Units up to which a size is looked for."""

NO_LESS = 1e-9
"""Differences nearer than this are the same."""

REACH, WHOLE, HALVINGS = 4.0, 0.99, 40
"""Standard errors beyond a bound within which a true difference is sought, the largest share there is, and steps."""

FEW_DISCORDANT = 50
"""Discordant items, on average, up to which every outcome is weighed: above, the normal approximation is near."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How far the estimate varies: `sd` over the root of the number of units is its standard error."""

    units: int
    """Items, or clusters."""
    sd: float
    clustered: bool
    items: float
    """Per unit."""
    discordance: float | None
    """The share of items on which the arms differ, where that gave the spread."""

    def where(self, truth: float) -> Spread:
        """Return the spread if that difference is true: of right and wrong answers it follows from how many differ."""
        if self.discordance is None:
            return self
        share = max(self.discordance, abs(truth))
        return replace(self, sd=math.sqrt(share - truth**2), discordance=share)


def spread_of(plan: Plan, verdict: HypothesisVerdict) -> Spread | None:
    """Return the observed spread; None where the tests tell none."""
    population, endpoint = find_population(plan, verdict.population), plan.endpoint(verdict.endpoint)
    if population is None or endpoint is None or verdict.delta is None or verdict.n < 2:
        return None
    if endpoint.estimand == "these_items":
        return None  # another plan would have other items: what varies here are the runs of these
    answers = [
        Answer(stored)
        for test, stored in verdict.analyses.items()
        if plan.reads(test, verdict.endpoint) == verdict.endpoint
    ]
    clustered = population.clusters is not None
    for analysis in (answer.analysis for answer in answers if answer.has_analysis):
        clusters = analysis.count("n_clusters") or 0
        if clustered and clusters <= 1:
            continue
        discordant = analysis.count("n_discordant")
        if not clustered and endpoint.collapsed_kind == "binary" and discordant is not None:
            share = discordant / verdict.n
            variance = share - verdict.delta**2
            return Spread(verdict.n, math.sqrt(variance), False, 1.0, share) if variance > 0 else None
        error = _standard_error(analysis)
        if error is not None and error > 0:
            units = clusters if clustered else verdict.n
            return Spread(units, error * math.sqrt(units), clustered, verdict.n / units, None)
    return None


def chance(bounds: tuple[Bound, ...], spread: Spread, units: int, truth: float) -> float:
    """Say how often all bounds hold in studies of so many units at that difference, by a normal approximation.

    Of few discordant items every outcome is weighed: where 0.5 % are discordant the approximation gives 99 items to
    exclude a loss of 2 pp, and 2 studies of 100 with so many do.
    """
    if spread.discordance is not None and units * spread.discordance <= FEW_DISCORDANT:
        return _weigh_outcomes(bounds, units, spread.discordance, truth)
    error = spread.sd / math.sqrt(units)
    low = max((bound.at + bound.z * error for bound in bounds if bound.side > 0), default=-math.inf)
    high = min((bound.at - bound.z * error for bound in bounds if bound.side < 0), default=math.inf)
    return max(0.0, float(special.ndtr((high - truth) / error) - special.ndtr((low - truth) / error)))


def _weigh_outcomes(bounds: tuple[Bound, ...], n: int, discordance: float, truth: float) -> float:
    """How often the score tests of all bounds hold over the gains and losses that n independent items can bring."""
    mean = n * discordance
    most = min(n, math.ceil(mean + 8 * math.sqrt(mean) + 10))  # what lies above is rarer than 1e-9
    counts = np.arange(most + 1)
    gains, losses = (grid.ravel() for grid in np.meshgrid(counts, counts))
    within_n = gains + losses <= n
    gains, losses = gains[within_n], losses[within_n]
    ties = n - gains - losses
    ahead, behind = (max((discordance + side * truth) / 2, 0.0) for side in (1, -1))
    log_share = (
        special.gammaln(n + 1)
        - sum(special.gammaln(count + 1) for count in (gains, losses, ties))
        + special.xlogy(gains, ahead)
        + special.xlogy(losses, behind)
        + special.xlogy(ties, 1 - discordance)
    )
    holds = np.ones(len(gains), dtype=np.bool_)
    for bound in bounds:
        if bound.z and abs(bound.at) <= NO_LESS:
            # As near to McNemar's exact test as Edwards' correction is: without it a size would be too small.
            holds &= bound.side * (gains - losses) - 1 >= bound.z * np.sqrt(gains + losses) - NO_LESS
        else:
            holds &= bound.side * tango.scores(gains, losses, n, bound.at) >= bound.z - NO_LESS
    return float(np.exp(log_share[holds]).sum())


def find_needed(bounds: tuple[Bound, ...], spread: Spread, truth: float) -> int | None:
    """Find the units with which all bounds hold in 80 of 100 studies of that true difference; None: no size found."""

    if not bounds or chance(bounds, spread, MOST, truth) < TARGET:
        return None
    low, high = 1, MOST
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(bounds, spread, middle, truth) >= TARGET else (middle + 1, high)
    return high


def find_shown(bounds: tuple[Bound, ...], spread: Spread, units: int, least: float) -> float | None:
    """Find the difference at which all bounds hold in 80 of 100 studies of so many units, up to two digits.

    It is sought from `least` on, on the same side of 0. None where no difference does, as of bounds on both sides.
    """

    def holds(size: float) -> bool:
        truth = math.copysign(size, least)
        return chance(bounds, spread.where(truth), units, truth) >= TARGET

    widest = max((bound.z for bound in bounds), default=0.0) + REACH
    low, high = abs(least), abs(least) + widest * spread.sd / math.sqrt(units)
    if spread.discordance is not None:
        high = min(high, WHOLE)
    if low <= 0 or low >= high or not holds(high):
        return None
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    step = 10.0 ** (math.floor(math.log10(high)) - 1)
    return math.copysign(math.ceil(high / step - NO_LESS) * step, least)


def about(count: int) -> int:
    """Rounded up to two digits."""
    if count < 100:
        return count
    step: int = 10 ** (len(str(count)) - 2)
    return -(-count // step) * step


def _standard_error(analysis: Analysis) -> float | None:
    """As the test tells it, or from its interval's width."""
    error = analysis.number("se")
    if error is not None and error > 0:
        return error
    ci, z = analysis.interval("ci"), errors_to_end(analysis, ("ci",))
    if ci is None or z is None or ci.low is None or ci.high is None:
        return None
    return (ci.high - ci.low) / (2 * z)
