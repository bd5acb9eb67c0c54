"""One root finder for functions that rise, cheap enough to call per request."""

from __future__ import annotations

from collections.abc import Callable


def rising_root(rising: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    """Return a root of `rising` between `low` and `high`, to `tolerance`, by false position (Illinois).

    The function must not be positive at `low` nor negative at `high`. A bracket that the secant
    keeps missing is halved instead, so the number of calls is bounded.
    """
    at_low, at_high = rising(low), rising(high)
    side = 0
    for step in range(200):
        if high - low <= tolerance or at_high <= at_low:
            break
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        # One end may hardly move for long where the function is flat: every eighth step halves, which bounds the calls.
        if step % 8 == 7 or not low < middle < high:
            middle = 0.5 * (low + high)
        value = rising(middle)
        if value == 0:
            return middle
        if value < 0:
            low, at_low = middle, value
            # An end that stays twice counts half (Dowell & Jarratt 1971, BIT 11:168), which draws the secant to it.
            at_high = 0.5 * at_high if side < 0 else at_high
            side = -1
        else:
            high, at_high = middle, value
            at_low = 0.5 * at_low if side > 0 else at_low
            side = 1
        if low == middle == high:
            break
    return low if -at_low < at_high else high
