"""RFC 8785 as a reader: JSON text is taken only in its one canonical spelling."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from forelock.bundles.faults import Broken

_STRING = json.JSONEncoder(ensure_ascii=False).encode


def read(data: bytes, what: str) -> Any:
    """The value of a canonical JSON text.

    Raises:
        Broken: not UTF-8, not JSON, or not the bytes that RFC 8785 gives the value: other spaces, order of names,
            spelling of numbers or strings, names that come twice, NaN.

    Example:
        >>> read(b'{"a":[1,0.5,"b"]}', "the plan")
        {'a': [1, 0.5, 'b']}
    """
    try:
        text = data.decode()
        value = json.loads(text, parse_constant=_refuse, parse_int=_number, parse_float=_number)
        same = text == _written(value)
    except (ValueError, RecursionError, OverflowError):
        raise Broken(f"{what} is not JSON") from None
    if not same:
        raise Broken(f"{what} is not in the canonical form of RFC 8785")
    return value


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _number(digits: str) -> int | float:
    """The number of a token, which has to be the token that ECMAScript writes for it."""
    if len(digits) > 32:  # the longest one has 25 characters
        raise ValueError(digits)
    number = float(digits)
    if _number_text(number) != digits:
        raise ValueError(digits)
    return int(digits) if abs(number) < 2**53 and number.is_integer() else number


def _number_text(number: float) -> str:
    """A number as ECMAScript writes it (RFC 8785 section 3.2.2.3)."""
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


def _written(value: Any) -> str:
    pieces: list[str] = []
    _write(value, pieces)
    return "".join(pieces)


def _write(value: Any, pieces: list[str]) -> None:
    if isinstance(value, str):
        pieces.append(_STRING(value))
    elif value is None or isinstance(value, bool):
        pieces.append({None: "null", True: "true", False: "false"}[value])
    elif isinstance(value, int | float):
        pieces.append(_number_text(float(value)))
    elif isinstance(value, list):
        pieces.append("[")
        for place, item in enumerate(value):
            pieces.append("," if place else "")
            _write(item, pieces)
        pieces.append("]")
    else:
        pieces.append("{")
        for place, name in enumerate(sorted(value, key=_utf16)):
            pieces.append(f"{',' if place else ''}{_STRING(name)}:")
            _write(value[name], pieces)
        pieces.append("}")


def _utf16(name: str) -> bytes:
    """Names are sorted by their UTF-16 code units (RFC 8785 section 3.2.3)."""
    return name.encode("utf-16-be", "surrogatepass")
