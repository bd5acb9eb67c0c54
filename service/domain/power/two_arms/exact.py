"""How often a rule on independent binary pairs holds, by enumeration of every outcome."""

from __future__ import annotations

from dataclasses import dataclass, field

from service.domain.plans.plan import MissingPolicy
from service.domain.power.enumerated.enumerated_rule import EnumeratedRule
from service.domain.power.enumerated.region import Region
from service.domain.power.procedure.data import World
from service.domain.power.worlds import KNOWN

UNKNOWN_POWER = "the rule has a field that outcomes of these counts do not decide"


@dataclass(frozen=True)
class ExactPower:
    """The chances of one rule at the planned n, and at other n. What is filled in is a discordant item like others."""

    rule: EnumeratedRule
    n: int
    discordances: tuple[float, ...]
    """Shares that are asked for more than once at the planned n."""
    policy: MissingPolicy | None
    sign: int
    """1 where missing results are filled against the candidate, -1 where against the baseline."""
    _around: dict[tuple[int, float], Region] = field(default_factory=dict, repr=False)

    def power(self, world: World, n: int | None = None) -> float | None:
        """Return the chance that the rule holds; None where a field that is free decides it."""
        least, most = self.bounds(world, n)
        return least if most - least < KNOWN else None

    def bounds(self, world: World, n: int | None = None) -> tuple[float, float]:
        """Return the least and the greatest chance that the rule holds."""
        n = self.n if n is None else n
        shares = world.fill_shares(self.sign) if self.policy == "worst_case" else world.shares()[:2]
        least, most = self._region(n, sum(shares)).chance(*shares)
        intact = intact_chance(world, n, self.policy)
        return intact * least, intact * most

    def _region(self, n: int, discordance: float) -> Region:
        if n == self.n and any(abs(discordance - known) < KNOWN for known in self.discordances):
            return self.rule.likely(n, self.discordances)
        key = (n, round(discordance, 12))
        if key not in self._around:
            self._around[key] = self.rule.around(n, min(discordance, 1.0))
        return self._around[key]


def intact_chance(world: World, n: float, policy: MissingPolicy | None) -> float:
    """Return the chance that no missing result of n items breaks the plan, which under `fail` any would."""
    return float(world.complete**n) if policy == "fail" else 1.0
