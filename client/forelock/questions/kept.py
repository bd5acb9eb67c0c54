"""Files that questions keep beside results: read back as they were written, or they are none of these."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Json = dict[str, Any]
Shape = Any
"""A type; a list of one shape for any number; a tuple of shapes for one of them; a mapping for members by name, where
a name with `?` may be absent; or None."""


def read_kept(path: Path, shape: Shape) -> Json | None:
    """Return what a file holds, or None where it is no JSON of that shape.

    Numbers are finite, and texts can be written again.
    """
    try:
        kept: Json = json.loads(path.read_bytes())
        return kept if fits(kept, shape) else None
    except (ValueError, OSError, RecursionError):
        return None


def fits(value: object, shape: Shape) -> bool:
    """Tell whether a value has a shape.

    Example:
        >>> fits({"a": [1, None]}, {"a": [(float, None)], "b?": str}), fits({"a": [True]}, {"a": [float]})
        (True, False)
    """
    if isinstance(shape, Mapping):
        return isinstance(value, dict) and all(
            fits(value[name.rstrip("?")], inner) if name.rstrip("?") in value else name.endswith("?")
            for name, inner in shape.items()
        )
    if isinstance(shape, list):
        return isinstance(value, list) and all(fits(member, shape[0]) for member in value)
    if isinstance(shape, tuple):
        return any(fits(value, inner) for inner in shape)
    if shape is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and _is_finite(value)
    if shape is str:
        return isinstance(value, str) and not any("\ud800" <= char <= "\udfff" for char in value)
    return value is None if shape is None else type(value) is shape


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond every float
        return False
