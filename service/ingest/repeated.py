"""Names that stand somewhere twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


def find_repeated(names: Iterable[str]) -> str | None:
    """Return the first name that comes again; None where each is there once. Its time grows as the names do.

    Example:
        `first_repeated(["a", "b", "c", "b"])` is "b".
    """
    return next((name for name, times in Counter(names).items() if times > 1), None)
