"""What a rule on independent binary pairs can reach and how often it holds, by enumeration."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from service.domain.enumerated_rule import EnumeratedRule
from service.domain.plan import Claim
from service.domain.rule_power_records import Detectable, PowerAt, RequiredN
from service.domain.rule_region import Region

DISCORDANCES = (0.05, 0.1, 0.2, 0.3)
"""Shares of items on which two arms plausibly differ."""

MORE_DISCORDANCES = (0.4, 0.5, 0.6, 0.8, 1.0)
"""Added where the SESOI asks for more."""

TARGET = 0.8
KNOWN = 1e-9
"""Chances of a rule with free fields this close together are one."""

SCAN = 24
MOST_ITEMS = 20_000
LOOKS = 12
"""Sizes looked at above the first that reaches the target, since exact power saw-tooths."""

UNKNOWN_POWER = "the rule has a field that outcomes of these counts do not decide"


def plausible(sesoi: float | None) -> tuple[float, ...]:
    """Those listed, up to one at which twice the SESOI leaves the better arm 3 of 4 discordant items."""
    listed: tuple[float, ...] = DISCORDANCES
    for more in MORE_DISCORDANCES:
        if sesoi is not None and listed[-1] < 4 * sesoi - KNOWN:
            listed = (*listed, more)
    return listed


@dataclass(frozen=True)
class ExactPower:
    """The power of one rule at the planned n, and at other n."""

    rule: EnumeratedRule
    n: int
    sesoi: float
    claim: Claim

    @cached_property
    def discordances(self) -> tuple[float, ...]:
        """The shares of discordant items that the table lists."""
        return plausible(self.sesoi)

    @property
    def reference(self) -> float:
        """The discordance that warnings speak of."""
        enough = [each for each in self.discordances if each >= max(0.1, 4 * self.sesoi) - KNOWN]
        return enough[0] if enough else self.discordances[-1]

    @property
    def goal(self) -> float:
        """The true difference at which the claim should come out: none, or twice the SESOI."""
        return 0.0 if self.claim in ("equivalence", "non_inferiority") else 2 * self.sesoi * self.direction

    @cached_property
    def direction(self) -> int:
        """1 where the rule favours the candidate, -1 where it favours the baseline."""
        size = min(2 * self.sesoi, self.reference)
        up, down = (self._chance(self.likely, self.reference, sign * size)[0] for sign in (1, -1))
        return -1 if down > up + KNOWN else 1

    @cached_property
    def likely(self) -> Region:
        """Every row that counts under the listed discordances."""
        return self.rule.likely(self.n, self.discordances)

    def at(self, discordance: float, truth: float) -> PowerAt:
        """One entry of the table."""
        if abs(truth) > discordance + KNOWN:
            why = "a difference this large needs at least as large a share of discordant items"
            return PowerAt(discordance=discordance, truth=truth, power=None, reason=why)
        power = self._known(self.likely, discordance, truth)
        return PowerAt(
            discordance=discordance,
            truth=truth,
            power=power,
            reason=None if power is not None else UNKNOWN_POWER,
        )

    def table(self) -> Iterator[PowerAt]:
        """Without a difference, at the SESOI and at twice the SESOI, by discordance."""
        for discordance in self.discordances:
            for times in (0, 1, 2):
                yield self.at(discordance, times * self.sesoi * self.direction)

    def detectable(self) -> Iterator[Detectable]:
        """The smallest difference with the target power, by discordance."""
        for discordance in self.discordances:
            if self.goal == 0:
                why = "the rule is to hold without a difference"
                yield Detectable(discordance=discordance, effect=None, reason=why)
                continue
            effect = self._smallest(discordance)
            why = f"no difference reaches {TARGET:.0%} at this discordance"
            yield Detectable(
                discordance=discordance,
                effect=None if effect is None else self.direction * effect,
                reason=None if effect is not None else why,
            )

    def _smallest(self, discordance: float) -> float | None:
        """The first size that reaches the target: a coarse walk to the discordance, then bisection."""

        def power(size: float) -> float | None:
            return self._known(self.likely, discordance, self.direction * size)

        low, high = 0.0, math.inf
        for step in range(1, SCAN + 1):
            size = discordance * step / SCAN
            found = power(size)
            if found is None:
                return None
            if found >= TARGET:
                high = size
                break
            low = size
        if high == math.inf:
            return None
        while high - low > 1e-5:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if (power(middle) or 0.0) >= TARGET else (middle, high)
        return high

    def required(self) -> Iterator[RequiredN]:
        """Items for the target power at the reference discordance, at the goal and at the SESOI."""
        goals = (0.0,) if self.goal == 0 else (self.goal, self.goal / 2)
        for truth in goals:
            yield self._required(self.reference, truth)

    def _required(self, discordance: float, truth: float) -> RequiredN:
        known: dict[int, float] = {}
        if abs(truth) > discordance + KNOWN:
            return RequiredN(discordance=discordance, truth=truth, n=None, reason="not possible together")

        def power(n: int) -> float:
            if n not in known:
                region = self.rule.around(n, discordance)
                known[n] = self._chance(region, discordance, truth)[0]
            return known[n]

        found = self._first_reached(power)
        if found is None:
            why = f"at {MOST_ITEMS} items power is {power(MOST_ITEMS):.2g}: the rule itself sets the limit"
            return RequiredN(discordance=discordance, truth=truth, n=None, searched_to=MOST_ITEMS, reason=why)
        # the saw-tooth of a threshold on the difference is 1 / SESOI items long
        tooth = max(int(1 / self.sesoi), 8)
        sizes = sorted({found + max(1, round(2 * tooth * each / LOOKS)) for each in range(1, LOOKS + 1)})
        short = [size for size in sizes if power(size) < TARGET]
        least = found if not short else next((each for each in sizes if each > short[-1]), sizes[-1])
        return RequiredN(
            discordance=discordance,
            truth=truth,
            n=least,
            searched_to=sizes[-1],
            reason=f"exact power saw-tooths: {len(sizes)} larger sizes were looked at",
        )

    def _first_reached(self, power: Callable[[int], float]) -> int | None:
        """Some n that reaches the target next to one that does not, sought from the planned n."""
        low = high = min(max(self.n, 1), MOST_ITEMS)
        while power(high) < TARGET:
            if high == MOST_ITEMS:
                return None
            low, high = high, MOST_ITEMS if high > 16 * self.n else min(2 * high, MOST_ITEMS)
        while low > 1 and power(low) >= TARGET:
            low, high = low // 2, low
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if power(middle) >= TARGET else (middle, high)
        return high

    def _known(self, region: Region, discordance: float, truth: float) -> float | None:
        least, most = self._chance(region, discordance, truth)
        return least if most - least < KNOWN else None

    def _chance(self, region: Region, discordance: float, truth: float) -> tuple[float, float]:
        truth = min(max(truth, -discordance), discordance)
        return region.chance((discordance + truth) / 2, (discordance - truth) / 2)
