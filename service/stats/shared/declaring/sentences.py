"""How the sentences of analyses say differences, levels, p-values and decisions."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from service.stats.shared.declaring.common import Interval
from service.words import Message, Value, message


def percent(proportion: float, digits: int = 2) -> str:
    """A difference of proportions in percentage points: `+2.00 pp`, `0 pp`, and never a small one as 0."""
    if proportion == 0:
        return "0 pp"
    text = f"{100 * proportion:+.{digits}f}"
    return f"{text if float(text) else format(100 * proportion, '+.1g')} pp"


def amount(difference: float, *, binary: bool) -> str:
    """A difference in its endpoint's unit, signed: `+2.00 pp`, or score units `+0.25`; `0` has no sign."""
    return percent(difference) if binary else f"{difference:+.4g}" if difference else "0"


def difference_of(difference: float, *, binary: bool, signed: bool = True) -> Value:
    """The same as a message: percentage points have their word in every language; an unsigned one is a size."""
    text = amount(difference, binary=binary)
    text = text if signed else text.lstrip("+")
    value = text.removesuffix(" pp")
    return value if value == text else message("units.points", value=value)


def within(margin: Fraction, *, binary: bool) -> str:
    """A margin on both sides, to its last digit: `±2.00 pp`, `±0.125 pp`, or score units `±0.5`."""
    value = 100 * margin if binary else margin
    exact = format(Decimal(value.numerator) / Decimal(value.denominator), "f")
    whole, _, places = exact.partition(".")
    if binary:
        return f"±{whole}.{places:0<2} pp"
    return f"±{float(margin):g}" if places and len(exact) > 9 else f"±{exact}"


def disagreement(ci: Interval, p: float, alpha: float, alternative: str, methods: str | None = None) -> str:
    """Why an interval and a test of no difference tell different things, as a sentence; empty where they agree.

    `methods`: what tells the two methods apart; None where one is the other turned around.
    """
    low, high = -math.inf if ci.low is None else ci.low, math.inf if ci.high is None else ci.high
    near, far = sorted((abs(low), abs(high)))
    if near == 0 or near <= 1e-9 * min(far, 1.0) or (low > 0 or high < 0) == (p < alpha):
        return ""
    causes = []
    if alternative != "two-sided":
        causes.append("the interval looks at both sides, the test at one")
    if abs(1 - ci.level - alpha) > 1e-9:
        causes.append(f"the interval's level is {level_text(ci.level)}, the test's alpha {alpha:.10g}")
    if methods is not None:
        causes.append(methods)
    if not causes:
        return ""
    if p < alpha:
        return f" The interval holds 0 although the test rejects: {'; '.join(causes)}."
    return f" The interval excludes 0 although the test does not reject: {'; '.join(causes)}."


def p_text(p: float, bound: str | None = None, alpha: float | None = None) -> str:
    """A p-value as prose prints it: `p = 0.033`, never `p = 0`; a bound as the bound it is.

    With `alpha`, as many digits as it takes to see on which side of it p lies.
    """
    if bound is not None:
        return f"p {bound}"
    if p < 1e-99:
        return "p < 1e-99"
    told = f"{p:.3f}" if p >= 0.001 else f"{p:.1e}"
    for digits in range(4, 18):
        if alpha is None or (float(told) < alpha) == (p < alpha):
            break
        told = f"{p:.{digits}g}"
    return f"p = {told}"


def bound_text(p: float) -> str:
    """That a p-value lies below `p`: `< 0.125`, `< 2.33e-18`. Three digits, rounded up, so that the bound stays one."""
    # to 12 digits first: a last digit that is rounding does not raise the third
    told = Context(prec=3, rounding=ROUND_CEILING).create_decimal(Decimal(f"{p:.12g}"))
    return f"< {float(told):.3g}"


def level_text(proportion: float) -> str:
    """A level or a power: `95%`, and never 100% for less."""
    return f"{100 * proportion:.10g}%"


def decision(
    p: float,
    alpha: float,
    null: str,
    *,
    bound: str | None = None,
    shows: str = "equality",
    most: float | None = None,
) -> str:
    """What a test makes of its H0, `null` in words with its verb: p, the decision, and what it does not show.

    `most`: how large the chance may be that p stands for, where p itself is of the resamples alone.
    """
    told = p_text(p, bound, alpha)
    if most is not None and p < alpha <= most:
        return f"{told} of these resamples alone, which leaves open whether {null} rejected at alpha {alpha:.10g}."
    if p < alpha:
        return f"{told}, so {null} rejected at alpha {alpha:.10g}."
    return f"{told}, so {null} not rejected at alpha {alpha:.10g}, which does not show {shows}."


def decision_of(
    p: float, alpha: float, null: str, *, bound: str | None = None, shows: str = "runs.equality"
) -> Message:
    """The same as a message; `null` and `shows` are the codes of what is said of H0."""
    rejected = "rejected" if p < alpha else "not_rejected"
    return message(
        f"runs.decision_{rejected}",
        p=p_text(p, bound, alpha),
        null=message(null),
        alpha=f"{alpha:.10g}",
        shows=message(shows),
    )
