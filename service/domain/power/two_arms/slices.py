"""How often every slice of a hypothesis passes, beside the power of its rule, which does not ask for them.

Slices of independent right/wrong items are enumerated: what a slice shows is in two counts, and slices have no items in
common. Of clusters and scores nothing is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.domain.plans.manifest import ManifestFacts, StratumFacts
from service.domain.plans.plan import Plan
from service.domain.power.answers.records import SlicesPower, SlicesPowerAt
from service.domain.power.search import MOST_ITEMS
from service.domain.power.worlds import KNOWN, worlds_of
from service.domain.rules.claims.claim import good_direction
from service.domain.rules.settings import Setting
from service.domain.verdicts.slices import section_of
from service.kernels.pairs.paired_exact import SPARSE
from service.stats.shared.methods.slicing import weigh_counts
from service.words import say

Ints = NDArray[np.int64]

MOST_SECONDS = 2.0
"""Longest work on the slices of a hypothesis, by its estimate."""
NEGLIGIBLE = 1e-13
"""Chance of losing more items than are looked at."""


def slices_power(plan: Plan, facts: Mapping[str, ManifestFacts], setting: Setting) -> SlicesPower | None:
    """Say how often all slices pass, where nothing differs and where the claim holds; None if none are asked."""
    slices, endpoint, population = (
        section_of(plan, setting.hypothesis),
        setting.endpoint,
        setting.population,
    )
    if slices is None or endpoint is None or population is None or endpoint.kind == "counts":
        return None
    strata = facts[population.id].strata if population.id in facts else None
    worlds, margin = worlds_of(plan, setting), float(slices.no_worse_than.exact())
    reason = ""
    if population.clusters is not None:
        reason = "slices_of_clusters"
    elif endpoint.collapsed_kind != "binary":
        reason = "slices_of_scores"
    elif not strata:
        reason = "no_strata"
    elif worlds is None:
        reason = "no_sesoi"
    elif worlds.missing is not None and any(worlds.missing):
        reason = "slices_all_in"
    elif not 0 < margin < 1 or _seconds({stratum.n for stratum in strata}, margin) > MOST_SECONDS:
        reason = "slices_too_long"
    if reason or worlds is None or not strata:
        return SlicesPower(reason=say(f"power.{reason}"))
    good = good_direction(endpoint)
    entries = tuple(
        _compute_entry(strata, truth, scale, good, margin, slices.alpha)
        for scale in worlds.scales
        for truth in dict.fromkeys((0.0, worlds.goal))
        if abs(truth) <= scale + KNOWN
    )
    return SlicesPower(power=entries, assumptions=say("power.assumed_of_slices"))


def _compute_entry(
    strata: tuple[StratumFacts, ...], truth: float, discordance: float, good: int, margin: float, alpha: float
) -> SlicesPowerAt:
    """Return the chance that every slice passes: a product, since slices share no items."""
    chances = [slice_power(stratum.n, good * truth, discordance, margin, alpha) for stratum in strata]
    weakest = int(np.argmin(chances))
    return SlicesPowerAt(
        discordance=discordance,
        truth=truth,
        power=float(np.prod(chances)),
        weakest=strata[weakest].stratum,
        weakest_power=chances[weakest],
    )


def slice_power(n: int, better: float, discordance: float, margin: float, alpha: float) -> float:
    """Return the chance that n items pass: trinomial, their true difference `better` in the good direction."""
    won, lost = max((discordance + better) / 2, 0.0), max((discordance - better) / 2, 0.0)
    losses = np.arange(_most_lost(n, lost) + 1)
    least = passing(n, len(losses), margin, alpha).least
    # losses are binomial, and so are wins among the items that are not lost
    of_losses = special.bdtr(losses, n, lost)
    of_losses[1:] -= special.bdtr(losses[:-1], n, lost)
    rest, share = n - losses, min(won / (1 - lost), 1.0) if lost < 1 else 0.0
    enough = np.where(least <= 0, 1.0, special.bdtrc(np.maximum(least, 1) - 1.0, rest, share))
    return float(np.clip(np.sum(of_losses * np.where(least > rest, 0.0, enough)), 0.0, 1.0))


def _most_lost(n: int, lost: float) -> int:
    """So many items and more are lost with a negligible chance."""
    counts = np.arange(n + 1)
    return int(np.argmax(special.bdtrc(counts, n, lost) < NEGLIGIBLE))


@dataclass(frozen=True, eq=False)
class Passing:
    """The fewest wins with which a slice passes, by how many items it loses; more than there are: none will do."""

    least: Ints


def passing(n: int, losses: int, margin: float, alpha: float) -> Passing:
    """Return the chances of passing for 0 to `losses` - 1 items lost of n."""
    blocks = -(-losses // BLOCK) * BLOCK  # worlds ask for a few more or less
    return Passing(_passing(n, min(blocks, n + 1), margin, alpha).least[:losses])


BLOCK = 64


@lru_cache(maxsize=256)
def _passing(n: int, losses: int, margin: float, alpha: float) -> Passing:
    return Passing(np.fromiter(_least_won(n, losses, margin, alpha), dtype=np.int64, count=losses))


def _least_won(n: int, losses: int, margin: float, alpha: float) -> Iterator[int]:
    """A won item more never raises p, so the first number of wins that passes is looked for from the last one up."""
    sure = SPARSE - 1 if n >= SPARSE and _passes(0, SPARSE - 1, n, margin, alpha) else -1
    least = 0
    for lost in range(losses):
        if lost <= sure:
            yield 0
            continue
        while least > 0 and least <= n - lost and _passes(least - 1, lost, n, margin, alpha):
            least -= 1  # the exact p of few items is the stricter one, and ends at SPARSE of them
        while least <= n - lost and not _passes(least, lost, n, margin, alpha):
            least += 1
        yield least


def _passes(won: int, lost: int, n: int, margin: float, alpha: float) -> bool:
    p = weigh_counts(won, lost, n, margin, alpha).p
    return p is not None and p < alpha


def _seconds(sizes: set[int], margin: float) -> float:
    """About how long the tables of slices of these sizes take."""
    if max(sizes) > MOST_ITEMS:
        return np.inf
    # an exact p sums over tables; where many items make SPARSE of them pass, one is enough
    exact = sum((6e-3 + 2e-5 * n) * (2 if n * margin > 2 * SPARSE else 25) for n in sizes)
    return exact + sum(2e-4 * n for n in sizes)
