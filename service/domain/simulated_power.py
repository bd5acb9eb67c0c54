"""How often a rule holds on simulated data: clusters, and endpoints that are not right or wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from service.domain.lint_settings import Setting
from service.domain.power_worlds import KNOWN, plausible
from service.domain.rule_power_records import PowerAt
from service.domain.simulated_fields import SimulatedSets
from service.domain.truth_sets import TRUE, combine_sets
from service.kernels.simulated_pairs import SharedResamples, draw_binary, draw_continuous
from service.stats.common import Margin

ICC = 0.05
"""Correlation of two items of one cluster, in what tells the arms apart."""

SPREADS = (2.0, 5.0, 10.0)
"""SD of the item differences in units of the SESOI."""

REFERENCE_SPREAD = 5.0
DATA_SETS = 1000
MOST_VALUES = 500_000
"""Units times data sets drawn at once: fewer data sets where there are many units."""

FEWEST_SETS = 100
SEED = 20_270_101


@dataclass(frozen=True)
class SimulatedPower:
    """The power of one rule at the planned sizes of clusters (or items)."""

    setting: Setting
    margin: Margin
    sizes: NDArray[np.int64]
    clustered: bool
    binary: bool
    goal_times: int
    """The claim should come out where the truth is this many times the SESOI."""

    _entries: dict[tuple[float, int], PowerAt] = field(default_factory=dict, repr=False)
    _shared: dict[str, SharedResamples] = field(default_factory=dict, repr=False)

    @property
    def n_sets(self) -> int:
        """Data sets per entry: fixed by the plan, so that the same plan has the same numbers."""
        return min(DATA_SETS, MOST_VALUES // len(self.sizes))

    @property
    def sesoi(self) -> float:
        """A proportion, or score units."""
        return float(self.margin.exact())

    @cached_property
    def scales(self) -> tuple[float, ...]:
        """Shares of discordant items, or SDs of item differences."""
        if not self.binary:
            return tuple(each * self.sesoi for each in SPREADS)
        return plausible(self.sesoi)

    @property
    def reference(self) -> float:
        """The scale that warnings speak of."""
        if not self.binary:
            return REFERENCE_SPREAD * self.sesoi
        enough = [each for each in self.scales if each >= max(0.1, 4 * self.sesoi) - KNOWN]
        return enough[0] if enough else self.scales[-1]

    @cached_property
    def direction(self) -> int:
        """1 where the rule favours the candidate, -1 where it favours the baseline."""
        if self.goal_times == 0:
            return 1
        up = self.at(self.reference, self.goal_times).power
        if up is None or up > 0.5:
            return 1
        down = self.at(self.reference, -self.goal_times).power or 0.0
        return -1 if down > 2 * up + 0.05 else 1

    def table(self) -> Iterator[PowerAt]:
        """Without a difference, at the SESOI and at twice the SESOI, by scale."""
        for scale in self.scales:
            for times in (0, 1, 2):
                yield self.at(scale, times * self.direction)

    def at(self, scale: float, times: int) -> PowerAt:
        """One entry: the truth is `times` the SESOI."""
        if (scale, times) not in self._entries:
            self._entries[scale, times] = self._simulated(scale, times)
        return self._entries[scale, times]

    def _simulated(self, scale: float, times: int) -> PowerAt:
        truth = times * self.sesoi
        where = PowerAt(
            discordance=scale if self.binary else None,
            spread=None if self.binary else scale,
            truth=truth,
            power=None,
        )
        if self.binary and abs(truth) > scale + KNOWN:
            why = "a difference this large needs at least as large a share of discordant items"
            return where.model_copy(update={"reason": why})
        if self.n_sets < FEWEST_SETS:
            return where.model_copy(update={"reason": "too many units to simulate at lint"})
        held = self._held(self._draw(scale, truth, times))
        if held is None:
            why = "the rule has a field that is not simulated here"
            return where.model_copy(update={"reason": why})
        power = float(held.mean())
        error = math.sqrt(max(power * (1 - power), 1 / self.n_sets) / self.n_sets)
        return where.model_copy(update={"power": power, "standard_error": error})

    def _held(self, sets: SimulatedSets) -> NDArray[np.bool_] | None:
        rule = self.setting.rule
        found = {clause: sets.truths(clause) for clause in dict.fromkeys(self.setting.clauses)}
        if rule is None or any(truths is None for truths in found.values()):
            return None
        truths = combine_sets(rule, {clause: each for clause, each in found.items() if each is not None})
        held: NDArray[np.bool_] = truths == TRUE
        return held

    def _draw(self, scale: float, truth: float, times: int) -> SimulatedSets:
        generator = np.random.default_rng(
            np.random.SeedSequence([SEED, round(1000 * scale / self.sesoi), times + 9])
        )
        icc = ICC if self.clustered else 0.0
        won = None
        if self.binary:
            won = draw_binary(generator, self.n_sets, self.sizes, _shares(scale, truth), icc)
            sums = (won[0] - won[1]).astype(np.float64)
        else:
            sums = draw_continuous(generator, self.n_sets, self.sizes, truth, scale, icc)
        return SimulatedSets(
            self.setting, self.margin, self.sizes, sums, won, self.clustered, SEED, self._shared
        )


def _shares(discordance: float, truth: float) -> tuple[float, float]:
    truth = min(max(truth, -discordance), discordance)
    return (discordance + truth) / 2, (discordance - truth) / 2
