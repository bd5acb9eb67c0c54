"""A hypothesis' claim as facts that its rule has to assert: direction, size, and bounds of the effect."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from service.domain.plans.sections.endpoint import Endpoint
from service.domain.plans.sections.hypothesis import About, Claim
from service.domain.rules.claims.about import names_of
from service.domain.rules.claims.assertion import Facts, Limit, Shown
from service.domain.rules.claims.margins import stated_number
from service.domain.rules.settings import Setting
from service.stats.shared.declaring.shows import ABOVE_LOWER, ABOVE_UPPER, ABOVE_ZERO, INSIDE, Bounds, Side

Gap = Literal["opposite", "bound", "direction", "size"]
"""What a state lacks: a bound of the true effect, the direction of the observed difference, or its size.
`opposite`: it lacks nothing and shows the opposite of the claim as well, of an effect other than that of the means."""

WANTED: dict[Claim, Bounds] = {
    "superiority": (),
    "minimum_effect": ABOVE_UPPER,
    "non_inferiority": ABOVE_LOWER,
    "equivalence": INSIDE,
    "at_least": ABOVE_ZERO,
}
"""Bounds of the effect in margins that a claim needs shown, where larger is better; of one arm above its reference."""


@dataclass(frozen=True, slots=True)
class Target:
    """A claim in numbers. Bounds and sizes count in the endpoint's good direction."""

    claim: Claim
    good: Side
    sesoi: Fraction | None
    size: Fraction | None
    """Named by the statement: the least difference of a claim of more."""
    loss: Fraction | None = None
    """Named by the statement: the margin of a claim of no more than that."""
    about: About = "mean"
    bearing: frozenset[str] | None = None
    """The tests that can bear out a claim that is not about the means; None: it is, and what is observed counts."""

    @classmethod
    def of(cls, setting: Setting) -> Target:
        """Say what one hypothesis' rule has to show: its claim, with the sizes of the plan and of the statement."""
        hypothesis, endpoint = setting.hypothesis, setting.endpoint
        sesoi = None if setting.sesoi is None else setting.sesoi.exact()
        stated = stated_number(hypothesis, endpoint, sesoi)
        sized = hypothesis.claim in ("superiority", "minimum_effect")
        about = hypothesis.about or "mean"
        tests = (name for use in setting.uses.values() if not use.beside for name in names_of(use, about))
        return cls(
            hypothesis.claim,
            good_direction(endpoint),
            sesoi,
            stated if sized else None,
            None if sized else stated,
            about,
            None if about == "mean" else frozenset(tests),
        )

    @property
    def margin(self) -> Fraction | None:
        """What the claim is held against: the SESOI, or the number of the statement where that asks for more."""
        return self._strictest(self.sesoi)

    def held_to(self, bound: Shown) -> Fraction | None:
        """Return the margin that a bound is held to: its test's own for the SESOI, never for that of the statement."""
        return self._strictest(self.sesoi if bound.margin is None else bound.margin)

    def _strictest(self, margin: Fraction | None) -> Fraction | None:
        stated = self.size if self.claim == "minimum_effect" else self.loss
        known = [size for size in (margin, stated) if size is not None]
        return (max if self.claim == "minimum_effect" else min)(known, default=None)

    def gap(self, facts: Facts) -> Gap | None:
        """Return what the facts of one state lack for the claim; None when it follows."""
        mine = facts if self.good == 1 else facts.turn()
        if self.bearing is not None:
            return self._gap_of_another(facts, self._borne_out(mine, self.bearing))
        if not all(any(True for _ in self._showing(mine, side, k)) for side, k in WANTED[self.claim]):
            return "bound"
        low = mine.low
        # In this order, as reasons are given: what shows no bound at all is not said to show too small a size.
        if self.claim == "superiority" and (low is None or low.at < 0 or (low.at == 0 and not low.strict)):
            return "direction"
        if self.size is not None and (low is None or low.at < self.size):
            return "size"
        return "opposite" if self.denied_by(facts) else None

    def _gap_of_another(self, facts: Facts, mine: Facts) -> Gap | None:
        """The same of a claim about medians, quantiles or ranks, which the difference of means says nothing of."""
        if self.denied_by(facts):
            return "opposite"
        # Superiority wants no bound of the difference of means; of a median or of ranks it wants one above 0.
        wanted = WANTED[self.claim] or ABOVE_ZERO
        if not all(any(True for _ in self._showing(mine, side, k)) for side, k in wanted):
            return "bound"
        return None if self.shows_size(facts) else "size"

    @staticmethod
    def _borne_out(mine: Facts, tests: frozenset[str]) -> Facts:
        """Return what tests of the effect show that the claim is about."""
        return replace(mine, shown=frozenset(fact for fact in mine.shown if fact.of in tests))

    def find_gap(self, delta: Fraction, facts: Facts) -> Gap | None:
        """Find what the claim lacks of a rule that holds, from the observed difference and all that the rule shows."""
        missed = self._find_gap_as_observed(delta, facts)
        if missed is not None:
            return missed
        if self.claim == "superiority":
            return None if facts.says_something else "bound"
        # As if the observed difference were proved: what is lacking even then is a bound, not data.
        gap = self.gap(facts.meet(Facts(Limit(delta, False), Limit(delta, False))))
        return gap if gap == "bound" else None

    def _find_gap_as_observed(self, delta: Fraction, facts: Facts) -> Gap | None:
        """Return what an observed difference (candidate minus baseline) lacks, among facts that show the bounds."""
        if self.bearing is not None:
            return self.gap(facts)
        mine, known = self.good * delta, facts if self.good == 1 else facts.turn()
        if self.denied_by(facts):
            return "opposite"
        if self.claim in ("superiority", "minimum_effect"):
            if mine <= 0:
                return "direction"
            if self.size is not None and mine < self.size - TIE:
                return "size"
        # an interval of medians or ranks may lie beyond a margin that the difference does not reach
        for side, k in WANTED[self.claim]:
            margins = [side * k * margin for margin in self._showing(known, side, k) if margin is not None]
            if margins and side * mine <= min(margins):
                return "direction"
        return None

    def denied_by(self, facts: Facts) -> frozenset[Shown]:
        """Return what in the facts shows, or may show, the opposite of the claim."""
        mine = facts if self.good == 1 else facts.turn()
        against = Facts(shown=frozenset(self._find_denials(mine)))
        return (against if self.good == 1 else against.turn()).shown

    def _find_denials(self, mine: Facts) -> Iterator[Shown]:
        """Yield the facts of a rule that deny the claim: an effect on the other side, or beyond the margin."""
        for fact in mine.shown | mine.may:
            margin = self.held_to(fact)
            match self.claim:
                case "superiority" | "at_least":
                    denied = fact.side == -1 and fact.at <= (self.size or 0)
                case "minimum_effect":
                    denied = fact.side == -1 and fact.at <= max(margin or 0, self.size or 0)
                case _:
                    sides = {side for side, _ in WANTED[self.claim]}
                    denied = margin is not None and -fact.side in sides and fact.side * fact.at >= margin
            if denied:
                yield fact

    def shows_size(self, facts: Facts) -> bool:
        """Tell whether the effect itself is shown to reach the size that the statement names."""
        mine = facts if self.good == 1 else facts.turn()
        if self.bearing is not None:
            mine = self._borne_out(mine, self.bearing)
        return self.size is None or any(fact.side == 1 and fact.at >= self.size for fact in mine.shown)

    def _showing(self, mine: Facts, side: Side, k: int) -> Iterator[Fraction | None]:
        """Yield the margins of what shows a bound at or inside `k` margins: the test's own where it has one."""
        for fact in mine.shown:
            margin = self.held_to(fact)
            needed = fact.at >= 0 if margin is None else side * fact.at >= side * k * margin
            if fact.side == side and (needed or (margin is None and k < 1)):
                yield margin


TIE = Fraction(1, 10**9)
"""Differences of floats this close to a threshold count as equal to it, as in rules."""


def good_direction(endpoint: Endpoint | None) -> Side:
    """Return 1 where larger values are better, -1 where smaller ones are."""
    return -1 if endpoint is not None and endpoint.better == "lower" else 1
