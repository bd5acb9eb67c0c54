"""The name that was probably meant, among those that there are."""

from __future__ import annotations

import difflib
from collections.abc import Collection


def nearest(name: str, known: Collection[str]) -> str | None:
    """Return the one known name that comes closest; None where none is close, or it is there as it is.

    Example:
        `nearest("acuracy", ["accuracy", "latency"])` is "accuracy".
    """
    if name in known:
        return None
    folded = {name.casefold(): name for name in sorted(known, reverse=True)}
    if name.casefold() in folded:
        return folded[name.casefold()]
    close = difflib.get_close_matches(name, sorted(known), 1)
    return close[0] if close else None
