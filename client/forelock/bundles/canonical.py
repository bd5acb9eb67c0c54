"""RFC 8785 as a reader: JSON text is taken only in its one canonical spelling."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from forelock.bundles.faults import Broken
from forelock.counting import count_values

MAX_VALUES = 500_000
"""Of one text. A value takes up to 200 bytes of memory, however few it has in the text, so they are counted before."""
_STRING = json.JSONEncoder(ensure_ascii=False).encode


def read(data: bytes, what: str, *, most: int = MAX_VALUES) -> Any:
    """Return the value of a canonical JSON text.

    Raises:
        Broken: not UTF-8, not JSON, more than `most` values, or not the bytes that RFC 8785 gives the value: other
            spaces, order of names, spelling of numbers or strings, names that come twice, NaN.

    Example:
        >>> read(b'{"a":[1,0.5,"b"]}', "the plan")
        {'a': [1, 0.5, 'b']}
    """
    if count_values(data, most) > most:
        raise Broken(f"{what} has more than {most} values")
    try:
        text = data.decode()
        value = json.loads(text, parse_constant=_refuse, parse_int=_number, parse_float=_number)
        same = _is_written(value, text)
    except (ValueError, RecursionError, OverflowError):
        raise Broken(f"{what} is not JSON") from None
    if not same:
        raise Broken(f"{what} is not in the canonical form of RFC 8785")
    return value


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _number(digits: str) -> int | float:
    """Return the number of a token, which has to be the token that ECMAScript writes for it."""
    if len(digits) > 32:  # the longest one has 25 characters
        raise ValueError(digits)
    number = float(digits)
    if _number_text(number) != digits:
        raise ValueError(digits)
    return int(digits) if abs(number) < 2**53 and number.is_integer() else number


def _number_text(number: float) -> str:
    """Return a number as ECMAScript writes it (RFC 8785 section 3.2.2.3)."""
    if not math.isfinite(number):
        raise ValueError("no number of JSON")
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    mantissa, _, exponent = f"{abs(number)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:
        return sign + digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    power = f"e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return sign + digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "") + power


def _is_written(value: Any, text: str) -> bool:
    """Whether a text is the one spelling of a value; compared piece by piece, so that it is not in memory twice."""
    return _end(value, text, 0) == len(text)


def _end(value: Any, text: str, at: int) -> int:
    """Where the spelling of a value ends that begins at a place of a text; -1 where the text has another one there."""
    if isinstance(value, list):
        return _end_of_list(value, text, at)
    if isinstance(value, dict):
        return _end_of_object(value, text, at)
    if isinstance(value, str):
        written = _STRING(value)
    elif value is None or isinstance(value, bool):
        written = {None: "null", True: "true", False: "false"}[value]
    else:
        written = _number_text(float(value))
    return at + len(written) if text.startswith(written, at) else -1


def _end_of_list(value: list[Any], text: str, at: int) -> int:
    """Return where a list's canonical text that begins at `at` ends; -1 where the text is another."""
    if not text.startswith("[", at):
        return -1
    at += 1
    for place, item in enumerate(value):
        if place and not text.startswith(",", at):
            return -1
        at = _end(item, text, at + (place > 0))
        if at < 0:
            return -1
    return at + 1 if text.startswith("]", at) else -1


def _end_of_object(value: dict[str, Any], text: str, at: int) -> int:
    """Return where an object's canonical text that begins at `at` ends: -1 where it is another text.

    Names stand in the order of their UTF-16 code units (RFC 8785, 3.2.3).
    """
    if not text.startswith("{", at):
        return -1
    at += 1
    for place, name in enumerate(sorted(value, key=_utf16)):
        written = f"{',' if place else ''}{_STRING(name)}:"
        if not text.startswith(written, at):
            return -1
        at = _end(value[name], text, at + len(written))
        if at < 0:
            return -1
    return at + 1 if text.startswith("}", at) else -1


def _utf16(name: str) -> bytes:
    """Names are sorted by their UTF-16 code units (RFC 8785 section 3.2.3)."""
    return name.encode("utf-16-be", "surrogatepass")
