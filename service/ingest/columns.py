"""Columns as read into arrays, strictly: `true` is not 1, `"12"` is not 12, and a fault tells no value.

Each function looks at the whole column at C speed first and goes row by row only to name faults.
"""

from __future__ import annotations

import math
import re
import sys
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from types import NoneType
from typing import cast

import numpy as np
from numpy.typing import NDArray

from service.domain.faults import Faults
from service.domain.results.secret_rows import NO_TIME

MAX_TEXT = 512
MAX_REPLICATE = 65_535

_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_INTEGER = re.compile(r"[0-9]{1,9}")
_RFC3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def text_fault(value: object) -> str | None:
    """Return what is wrong with an id or a name, or None. The value is already in NFC if it is a string."""
    if value is None:
        return "is missing"
    if not isinstance(value, str):
        return "is not a string"
    if not value:
        return "is empty"
    if len(value) > MAX_TEXT:
        return f"is longer than {MAX_TEXT} characters"
    if "\0" in value or not (value.isascii() or all(not "\ud800" <= letter <= "\udfff" for letter in value)):
        return "holds a character that is not text"
    return None


def name(value: object, path: str, faults: Faults) -> str | None:
    """Return one name in NFC; None stays None."""
    if value is None:
        return None
    value = unicodedata.normalize("NFC", value) if isinstance(value, str) else value
    if fault := text_fault(value):
        faults.add(path, fault, "send a non-empty string")
        return None
    return str(value)


def texts(column: list[object], path: str, faults: Faults) -> tuple[str, ...]:
    """Return ids or labels in NFC, none missing."""
    if set(map(type, column)) <= {str}:
        # All at once, as one text: ASCII is in normal form as it is. The faults of a column are looked for one by one
        # below.
        strings = cast("list[str]", column)
        joined = "".join(strings)
        plain = joined.isascii() and "\0" not in joined
        del joined
        if plain and all(strings) and max(map(len, strings), default=0) <= MAX_TEXT:
            return tuple(strings)
    fix = f"send a non-empty string of at most {MAX_TEXT} characters"
    normal = [unicodedata.normalize("NFC", value) if isinstance(value, str) else value for value in column]
    for index, value in enumerate(normal):
        if fault := text_fault(value):
            faults.row(path, index, fault, fix)
    return tuple(value if isinstance(value, str) else "" for value in normal)


def numbers(column: list[object], path: str, faults: Faults) -> NDArray[np.float64]:
    """Return finite floats, NaN where the value is null."""
    kinds = set(map(type, column))
    if kinds <= {int, float, NoneType}:
        present = [math.nan if value is None else value for value in column] if NoneType in kinds else column
        try:
            values = np.array(present, dtype=np.float64)
        except OverflowError:  # a whole number beyond the floats: the loop below names its row
            values = np.array([math.inf])
        if not np.isinf(values).any():
            return values
    for index, value in enumerate(column):
        if value is not None and type(value) not in (int, float):
            faults.row(path, index, "is not a number", "send a JSON number or null")
        elif isinstance(value, int | float) and not abs(value) <= sys.float_info.max:
            faults.row(path, index, "is too large for a number", "send a finite number")
    return np.full(len(column), math.nan)


def decimals(column: list[object], path: str, faults: Faults) -> NDArray[np.float64]:
    """Return text cells as finite floats: plain decimal syntax, no spaces, no `inf`, `nan`, hex or underscores."""

    def parse() -> Iterator[float]:
        for index, cell in enumerate(column):
            if not isinstance(cell, str):
                yield math.nan
                continue
            number = float(cell) if _DECIMAL.fullmatch(cell) else math.nan
            if not math.isfinite(number):
                faults.row(path, index, "is not a number", "write it like 0.25, or leave the cell empty")
            yield number

    return np.fromiter(parse(), dtype=np.float64, count=len(column))


def integers(column: list[object], path: str, faults: Faults) -> list[object]:
    """Return text cells as whole numbers."""
    values: list[object] = []
    for index, cell in enumerate(column):
        if isinstance(cell, str) and not _INTEGER.fullmatch(cell):
            faults.row(path, index, "is not a whole number", "count from 1")
            cell = None
        values.append(int(cell) if isinstance(cell, str) else None)
    return values


def replicates(column: list[object], path: str, faults: Faults) -> NDArray[np.uint16]:
    """Return replicate numbers from 1; null is 1."""
    for index, value in enumerate(column) if set(map(type, column)) != {NoneType} else ():
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool):
            faults.row(path, index, "is not a whole number", "count replicates from 1")
        elif not 1 <= value <= MAX_REPLICATE:
            faults.row(path, index, f"is not between 1 and {MAX_REPLICATE}", "count replicates from 1")
        else:
            continue
        column[index] = None
    return np.array([1 if value is None else value for value in column], dtype=np.uint16)


def choices(
    column: list[object], codes: Mapping[str | None, int], path: str, faults: Faults
) -> NDArray[np.uint8]:
    """Return codes of a closed set of words."""
    known = [type(value) in (str, NoneType) and value in codes for value in column]
    if not all(known):
        words = ", ".join(word for word in codes if word is not None)
        faults.rows(path, (i for i, good in enumerate(known) if not good), "is not known", f"send {words}")
        return np.zeros(len(column), dtype=np.uint8)
    return np.array([codes[value] for value in column], dtype=np.uint8)  # type: ignore[index]


def times(column: list[object], path: str, faults: Faults) -> NDArray[np.int64] | None:
    """Return microseconds since 1970 of RFC 3339 times; NO_TIME where null, None when all are."""
    if set(map(type, column)) <= {NoneType}:
        return None
    values = np.full(len(column), NO_TIME, dtype=np.int64)
    for index, value in enumerate(column):
        if value is None:
            continue
        moment = microseconds(value)
        if moment is None:
            fix = "write it like 2027-01-31T12:00:00Z"
            faults.row(path, index, "is not an RFC 3339 time with its offset", fix)
        else:
            values[index] = moment
    return values


def microseconds(value: object) -> int | None:
    """Return microseconds since 1970 of one RFC 3339 time with offset, or None. Digits below are cut off."""
    if not isinstance(value, str) or not _RFC3339.fullmatch(value):
        return None
    try:
        moment = datetime.fromisoformat(value.upper()).astimezone(UTC)  # some have no year in UTC
        return (moment - _EPOCH) // _MICROSECOND
    except (ValueError, OverflowError):
        return None
