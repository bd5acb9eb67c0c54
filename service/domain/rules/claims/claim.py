"""A hypothesis' claim as facts that its rule has to assert: direction, size, and bounds of the effect."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from service.domain.plans.plan import Claim, Endpoint, Hypothesis, Plan
from service.domain.rules.claims.assertion import Facts
from service.domain.rules.claims.size import stated_size
from service.stats.shared.shows import ABOVE_LOWER, ABOVE_UPPER, INSIDE, Bounds, Side

Gap = Literal["bound", "direction", "size"]
"""What a state lacks: a bound of the true effect, the direction of the observed difference, or its size."""

WANTED: dict[Claim, Bounds] = {
    "superiority": (),
    "minimum_effect": ABOVE_UPPER,
    "non_inferiority": ABOVE_LOWER,
    "equivalence": INSIDE,
}
"""Bounds of the effect in margins that a claim needs shown, where larger is better."""


@dataclass(frozen=True, slots=True)
class Target:
    """A claim in numbers. Bounds and sizes count in the endpoint's good direction."""

    claim: Claim
    good: Side
    sesoi: Fraction | None
    size: Fraction | None
    """Named by the statement."""

    @classmethod
    def of(cls, plan: Plan, hypothesis: Hypothesis) -> Target:
        """Of one hypothesis."""
        endpoint, sesoi = plan.endpoint(hypothesis.endpoint), (plan.sesoi or {}).get(hypothesis.endpoint)
        sized = hypothesis.claim in ("superiority", "minimum_effect") and endpoint is not None
        binary = endpoint is not None and endpoint.kind == "binary"
        return cls(
            hypothesis.claim,
            good_direction(endpoint),
            None if sesoi is None else sesoi.exact(),
            stated_size(hypothesis.statement, binary=binary) if sized else None,
        )

    def gap(self, facts: Facts) -> Gap | None:
        """What the facts of one state lack for the claim; None when it follows."""
        mine = facts if self.good == 1 else facts.turned()
        if not all(any(True for _ in self._showing(mine, side, k)) for side, k in WANTED[self.claim]):
            return "bound"
        low = mine.low
        if self.claim == "superiority" and (low is None or low.at < 0 or (low.at == 0 and not low.strict)):
            return "direction"
        if self.size is not None and (low is None or low.at < self.size):
            return "size"
        return None

    def missed(self, delta: Fraction, facts: Facts) -> Gap | None:
        """What an observed difference (candidate minus baseline) lacks, among facts that show the bounds."""
        mine, known = self.good * delta, facts if self.good == 1 else facts.turned()
        if self.claim in ("superiority", "minimum_effect"):
            if mine <= 0:
                return "direction"
            return "size" if self.size is not None and mine < self.size - TIE else None
        for side, k in WANTED[self.claim]:
            margins = [side * k * margin for margin in self._showing(known, side, k) if margin is not None]
            if margins and side * mine <= min(margins):
                return "direction"
        return None

    def shows_size(self, facts: Facts) -> bool:
        """True when the effect itself is shown to reach the size that the statement names."""
        mine = facts if self.good == 1 else facts.turned()
        return self.size is None or any(each.side == 1 and each.at >= self.size for each in mine.shown)

    def _showing(self, mine: Facts, side: Side, k: int) -> Iterator[Fraction | None]:
        """The margins of what shows a bound at or inside `k` margins: the test's own where it has one."""
        for each in mine.shown:
            margin = self.sesoi if each.margin is None else each.margin
            needed = each.at >= 0 if margin is None else side * each.at >= side * k * margin
            if each.side == side and (needed or (margin is None and k < 1)):
                yield margin


TIE = Fraction(1, 10**9)
"""Differences of floats this close to a threshold count as equal to it, as in rules."""


def good_direction(endpoint: Endpoint | None) -> Side:
    """1 where larger values are better, -1 where smaller ones are."""
    return -1 if endpoint is not None and endpoint.better == "lower" else 1
