"""Numbers and differences as sentences of a verdict print them: never on the wrong side of a threshold."""

from __future__ import annotations

import math
from collections.abc import Callable

from service.domain.verdicts.words.facts import Facts, RatioShown
from service.stats.shared.declaring.shows import TIE
from service.words import Message, Value, message

MOST_DIGITS = 12

ROUNDING = 1e-15
"""Size up to which a difference may be arithmetic's own, and is 0."""


def points(value: float, *apart: float) -> str:
    """Return a difference of proportions in percentage points without unit, signed but for 0: `+2.00`.

    Digits are added until rounding puts it on the side of every `apart` on which it lies.
    """
    return _format_apart(
        100 * value, [100 * other for other in apart], 2, lambda x, digits: f"{x:+.{digits}f}"
    )


def score(value: float, *apart: float) -> str:
    """Return a difference of scores, signed but for 0."""
    return _format_apart(value, list(apart), 4, lambda x, digits: f"{x:+.{digits}g}")


def times(ratio: float, *apart: float) -> str:
    """Return a ratio: two decimals, more where a threshold is near."""
    return _format_apart(ratio, list(apart), 2, lambda x, digits: f"{x:.{digits}f}", least=0.0)


def probability(p: float, *apart: float) -> str:
    """Return a p-value, however small: three decimals, or two digits below .001; more where a threshold is near."""
    if p < 0.001:
        return _format_apart(p, list(apart), 1, lambda x, digits: f"{x:.{digits}e}", tie=0.0, least=0.0)
    return _format_apart(p, list(apart), 3, lambda x, digits: f"{x:.{digits}f}", tie=0.0)


def percentage(share: float) -> str:
    """Return a level or a share: `95%`."""
    return f"{100 * share:.6g}%"


def coverage(level: float | None) -> Value:
    """Return how much an interval covers, before the word for it; nothing where that is not known."""
    return "" if level is None else message("verdicts.level", level=percentage(level))


def _format_apart(
    value: float,
    apart: list[float],
    digits: int,
    format_value: Callable[[float, int], str],
    tie: float = TIE,
    least: float = ROUNDING,
) -> str:
    """Format a value with as many digits as keep it on its side of the values in `apart`, up to `MOST_DIGITS`."""
    if abs(value) <= least:
        return format_value(0.0, digits).lstrip("+")
    text = format_value(value, digits)
    for more in range(digits, MOST_DIGITS + 1):
        text = format_value(value, more)
        if all(
            abs(value - other) <= tie or _side(float(text) - other) == _side(value - other) for other in apart
        ):
            break
    return text.lstrip("+-") if float(text) == 0 else text


def _side(difference: float) -> int:
    return 0 if difference == 0 else int(math.copysign(1, difference))


def amount(value: float | None, facts: Facts) -> Value:
    """Return a difference on the side of 0 and of every threshold on which it lies."""
    if value is None:
        return message("verdicts.undefined_end")
    if math.isinf(value):
        return message("verdicts.infinity" if value > 0 else "verdicts.minus_infinity")
    return difference(value, *facts.apart, binary=facts.binary)


def difference(value: float, *apart: float, binary: bool, signed: bool = True) -> Value:
    """Return a difference in percentage points, or in score units; an unsigned one is a size."""
    digits = points(value, *apart) if binary else score(value, *apart)
    digits = digits if signed else digits.lstrip("+")
    return message("verdicts.points", value=digits) if binary else digits


def both_ways(value: float, facts: Facts) -> Value:
    """Return a margin in both directions: `±2.00 pp`."""
    size = abs(value)
    unsigned = (
        amount(size, facts)
        if math.isinf(size)
        else difference(size, *facts.apart, binary=facts.binary, signed=False)
    )
    return message("verdicts.both_ways", amount=unsigned)


def cost(ratio: RatioShown) -> Message:
    """Say how many times as much the candidate takes of a positive endpoint."""
    interval: Value = ""
    if ratio.low is not None:
        level, low = coverage(ratio.level), times(ratio.low, *ratio.apart)
        interval = message("headlines.ci_from", level=level, low=low)
        if ratio.high is not None:
            span = message("headlines.span", low=low, high=times(ratio.high, *ratio.apart))
            interval = message("headlines.ci", level=level, span=span)
    return message(
        "headlines.cost", endpoint=ratio.endpoint, times=times(ratio.value, *ratio.apart), interval=interval
    )
