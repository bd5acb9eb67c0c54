"""How the sentences of analyses say differences, levels, p-values and decisions."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from service.stats.shared.declaring.common import Interval
from service.words import Message, Value, list_values, message, read, spoken


def percent(proportion: float) -> str:
    """Return a difference of proportions in percentage points: `+2.00 pp`, `0 pp`, and never a small one as 0."""
    if proportion == 0:
        return "0 pp"
    text = f"{100 * proportion:+.2f}"
    return f"{text if float(text) else format(100 * proportion, '+.1g')} pp"


def amount(difference: float, *, binary: bool) -> str:
    """Return a difference in its endpoint's unit, signed: `+2.00 pp`, or score units `+0.25`; `0` has no sign."""
    return percent(difference) if binary else f"{difference:+.4g}" if difference else "0"


def difference_of(difference: float, *, binary: bool, signed: bool = True) -> Value:
    """Return a difference as a message: percentage points have their word in every language; unsigned it is a size."""
    text = amount(difference, binary=binary)
    text = text if signed else text.lstrip("+")
    value = text.removesuffix(" pp")
    return value if value == text else message("units.points", value=value)


def within(margin: Fraction, *, binary: bool) -> str:
    """Return a margin on both sides, to its last digit: `±2.00 pp`, `±0.125 pp`, or score units `±0.5`."""
    value = 100 * margin if binary else margin
    exact = format(Decimal(value.numerator) / Decimal(value.denominator), "f")
    whole, _, places = exact.partition(".")
    if binary:
        return f"±{whole}.{places:0<2} pp"
    return f"±{float(margin):g}" if places and len(exact) > 9 else f"±{exact}"


def within_of(margin: Fraction, *, binary: bool) -> Value:
    """Return a margin as a message: percentage points have their word in every language."""
    text = within(margin, binary=binary)
    value = text.removesuffix(" pp")
    return value if value == text else message("units.points", value=value)


def state_reason(reason: str) -> Value:
    """Return a reason inside a sentence: in the language that is spoken, where a template reads it."""
    return reason if spoken() == "en" else read("reasons", reason) or reason


def as_message(code: str | Message) -> Message:
    """Return what is said: a message, or the one of a code."""
    return message(code) if isinstance(code, str) else code


def describe_sides(alternative: str) -> Message:
    """Say which sides a test looks at."""
    return message(f"analyses.{alternative}")


def ci_of(ci: Interval, *, binary: bool, phrase: str = "ci", **values: Value) -> Message:
    """Return an interval with its level, in its endpoint's unit; `phrase` and its values say the method."""
    low, high = ci.low or 0.0, ci.high or 0.0
    return message(
        f"analyses.{phrase}",
        level=level_text(ci.level),
        low=difference_of(low, binary=binary),
        high=difference_of(high, binary=binary),
        **values,
    )


def in_clusters(n: int, clusters: int | None) -> Message:
    """Say how many items, and in how many clusters where there are any: `n = 80 in 12 clusters`."""
    if clusters is None:
        return message("analyses.n", n=n)
    return message("analyses.n_in_clusters", n=n, clusters=clusters)


def disagreement(
    ci: Interval, p: float, alpha: float, alternative: str, methods: str | Message | None = None
) -> Value:
    """Return why an interval and a test of no difference tell different things, as a sentence; empty where they agree.

    `methods`: what tells the two methods apart, or its code; None where one is the other turned around.
    """
    low, high = -math.inf if ci.low is None else ci.low, math.inf if ci.high is None else ci.high
    near, far = sorted((abs(low), abs(high)))
    if near == 0 or near <= 1e-9 * min(far, 1.0) or (low > 0 or high < 0) == (p < alpha):
        return ""
    causes: list[Value] = []
    if alternative != "two-sided":
        causes.append(message("analyses.apart_sides"))
    if abs(1 - ci.level - alpha) > 1e-9:
        causes.append(message("analyses.apart_levels", level=level_text(ci.level), alpha=f"{alpha:.10g}"))
    if methods is not None:
        causes.append(as_message(methods))
    if not causes:
        return ""
    state = "holds_0" if p < alpha else "excludes_0"
    return message(f"analyses.{state}", causes=list_values(causes, "lists.semicolon"))


def p_text(p: float, bound: str | None = None, alpha: float | None = None) -> str:
    """Return a p-value as prose prints it: `p = 0.033`, never `p = 0`; a bound as the bound it is.

    With `alpha`, as many digits as it takes to see on which side of it p lies.
    """
    if bound is not None:
        return f"p {bound}"
    if p < 1e-99:
        return "p < 1e-99"
    text = f"{p:.3f}" if p >= 0.001 else f"{p:.1e}"
    for digits in range(4, 18):
        if alpha is None or (float(text) < alpha) == (p < alpha):
            break
        text = f"{p:.{digits}g}"
    return f"p = {text}"


def bound_text(p: float) -> str:
    """Say that a p lies below `p`: `< 0.125`, `< 2.33e-18`. Three digits, rounded up, so that the bound stays one."""
    # to 12 digits first: a last digit that is rounding does not raise the third
    rounded = Context(prec=3, rounding=ROUND_CEILING).create_decimal(Decimal(f"{p:.12g}"))
    return f"< {float(rounded):.3g}"


def level_text(proportion: float) -> str:
    """Return a level or a power: `95%`, and never 100% for less."""
    return f"{100 * proportion:.10g}%"


def decision(
    p: float,
    alpha: float,
    null: str | Message,
    *,
    bound: str | None,
    shows: str | Message = "runs.equality",
    most: float | None = None,
) -> Message:
    """Say what a test makes of its H0: p, the decision, what it does not show. `null`, `shows`: what is said of H0.

    `most`: how large the chance may be that p stands for, where p itself is of the resamples alone.
    """
    p_phrase = p_text(p, bound, alpha)
    level = f"{alpha:.10g}"
    null_message = as_message(null)
    if most is not None and p < alpha <= most:
        return message("analyses.decision_open", p=p_phrase, null=null_message, alpha=level)
    return message(
        "runs.decision_rejected" if p < alpha else "runs.decision_not_rejected",
        p=p_phrase,
        null=null_message,
        alpha=level,
        shows=as_message(shows),
    )
