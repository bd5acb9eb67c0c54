"""The power that is told first, in words: warnings, cards, pages and notes take the number and its name from here."""

from __future__ import annotations

import math
from fractions import Fraction

from service.domain.power.answers.records import LeadEffect, LeadPower, PowerAt
from service.domain.rules.claims.assertion import states
from service.domain.rules.claims.claim import TIE
from service.domain.rules.claims.clauses import Reader
from service.domain.rules.settings import Setting
from service.words import Message, message

SMALL = 1e-4
"""A chance below this is told as a bound: in digits nobody can imagine it."""


def find_least_observed(setting: Setting, truth: float) -> float | None:
    """Find the least observed difference with which a rule holds, if no less than the true one, signed alike.

    Where the two are equal about half of all studies observe less, so that the rule holds half the time at most.
    """
    if setting.rule is None or truth == 0:
        return None
    sign = 1 if truth > 0 else -1
    ways = [state if sign > 0 else state.turn() for state in states(setting.rule, Reader.of(setting))]
    limits = [way.low.at for way in ways if way.low is not None]
    if not ways or len(limits) < len(ways) or min(limits) < Fraction(repr(abs(truth))) - TIE:
        return None
    return sign * float(min(limits))


def name_effect(effect: LeadEffect) -> Message:
    """Return what the true difference of that kind is called."""
    return message(f"power.at_{effect}")


def name_of(lead: LeadPower) -> Message:
    """Return what power is told at: the SESOI, 2 pp."""
    name = name_effect(lead.effect)
    if lead.effect == "no_difference":
        return name
    return message("power.sized", name=name, size=size_of(lead.reference))


def size_of(at: PowerAt) -> str:
    """Return a true difference, or a ratio, in its unit."""
    if at.mean is not None:
        return f"{100 * at.mean:.4g}%" if at.spread is None else f"{at.mean:.4g}"
    return f"{at.ratio:.3g}" if at.ratio is not None else amount(at.truth, points=at.discordance is not None)


def amount(value: float, *, points: bool) -> str:
    """Return a difference in percentage points or score units."""
    return f"{100 * value:.4g} pp" if points else f"{value:.4g}"


def misses_half(lead: LeadPower) -> dict[str, str]:
    """Return the least difference that the rule asks, and the true one at which about half of studies miss it.

    Empty where it need not miss them. More items do not help there, whatever their number.
    """
    if lead.asks_observed is None:
        return {}
    least = amount(lead.asks_observed, points=lead.reference.discordance is not None)
    return {"least": least, "size": size_of(lead.reference)}


def half_at_most(lead: LeadPower) -> Message | None:
    """Say that the rule misses about half the time there, whatever the number of items; None where it need not."""
    half = misses_half(lead)
    return message("power.half_at_most", **half) if half else None


def chance_of(at: PowerAt, power: float | None = None) -> str:
    """Format a chance at a truth to two digits, with its simulation's error; one beyond imagining as a bound.

    Args:
        at: what is true there.
        power: another chance there than its own, from 0 to 1.

    Example:
        "0.066 ± 0.01"; "<0.000001" in place of "1.8e-09"; "<0.0008" where none of 4000 simulated studies held it
    """
    chance = (at.power or 0.0) if power is None else power
    if at.standard_error and chance in (0, 1):
        # None, or all, of n: the error is 1/n there, and 3/n bounds what none was seen of with 95 % (rule of three).
        short = _round_up(3 * at.standard_error)
        return f"<{short:g}" if chance == 0 else f">{1 - short:.6g}"
    error = "" if at.standard_error is None else f" ± {at.standard_error:.2g}"
    return f"{chance:.2g}{error}" if chance == 0 or chance >= SMALL else f"<{_bound(chance):.6f}".rstrip("0")


def _round_up(bound: float) -> float:
    """Return a small bound to one digit, and never below itself."""
    step = 10.0 ** math.floor(math.log10(bound))
    return min(round(math.ceil(bound / step - 1e-9) * step, 12), 1.0)


def _bound(chance: float) -> float:
    """Return the power of ten above a small chance, down to one in a million."""
    return next((bound for bound in (1e-6, 1e-5) if chance < bound), SMALL)
