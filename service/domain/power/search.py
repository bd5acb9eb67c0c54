"""Searches along power: the smallest effect, and the least n, that reach a target; and a bound on the cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

LOOKS = 12
"""Sizes looked at above the first that reaches the target, since exact power saw-tooths."""

MOST_ITEMS = 20_000
"""The most items of which outcomes are enumerated, or data sets simulated."""

CUT = "the rest of the table would take longer than lint may"
"""Why an entry is null that the budget had no room for."""


class OverBudgetError(Exception):
    """No more may be worked out for this plan."""


@dataclass
class Budget:
    """Nanoseconds of work, by estimate: the same plan is cut at the same place everywhere."""

    lint: float
    """What a lock needs may take this much, on the whole table as well, so that both say the same."""
    rest: float = 0.0
    spent: float = 0.0
    cut: bool = False

    def spend(self, cost: float) -> None:
        """Raises OverBudgetError when there is not enough left."""
        if self.spent + cost > self.lint + self.rest:
            self.cut = True
            raise OverBudgetError
        self.spent += cost


def smallest(
    power: Callable[[float], float | None], largest: float, target: float, *, steps: int, exactness: float
) -> float | None:
    """Return the first size up to `largest` that reaches the target: a coarse walk, then bisection.

    None where none does, or where power is not known.
    """
    low, high = 0.0, None
    for step in range(1, steps + 1):
        size = largest * step / steps
        chance = power(size)
        if chance is None:
            return None
        if chance >= target:
            high = size
            break
        low = size
    if high is None:
        return None
    while high - low > exactness:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if (power(middle) or 0.0) >= target else (middle, high)
    return high


def find_reached(
    power: Callable[[int], float], start: int, most: int, target: float, *, share: float = 0.0
) -> int | None:
    """Find a size that reaches the target next to one that does not (or within a share of it), from `start`."""
    # Doubling until the target is reached, then halving from there down where the start was beyond it already. Past
    # 16 times the start the largest size is asked, which says at once whether any reaches it.
    low = high = min(max(start, 1), most)
    while power(high) < target:
        if high == most:
            return None
        low, high = high, most if high > 16 * start else min(2 * high, most)
    while low > 1 and power(low) >= target:
        low, high = low // 2, low
    while high - low > max(1, share * high):
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= target else (middle, high)
    return high


def steady(power: Callable[[int], float], n: int, tooth: int, target: float) -> tuple[int, tuple[int, ...]]:
    """Return a size from which power stays at the target at all larger sizes looked at, and these.

    Exact power is a saw of n: it falls where one more item does not yet allow one more loss. `tooth`: the length of a
    tooth in items; two of them are looked through in `LOOKS` steps.
    """
    sizes = tuple(sorted({n + max(1, round(2 * tooth * step / LOOKS)) for step in range(1, LOOKS + 1)}))
    short = [size for size in sizes if power(size) < target]
    least = n if not short else next((size for size in sizes if size > short[-1]), sizes[-1])
    return least, sizes
