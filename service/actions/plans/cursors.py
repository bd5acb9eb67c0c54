"""Cursors of lists that no columns order: counts that say where the next page begins."""

from __future__ import annotations

import re

from service.errors import InvalidData


def read_numbers(cursor: str, form: re.Pattern[str]) -> tuple[int, ...]:
    """Read the numbers of a cursor, one for every group of the regular expression `form`.

    Raises:
        InvalidData: the cursor does not match the form.
    """
    match = form.fullmatch(cursor)
    if match is None:
        raise InvalidData.field(
            "query.cursor",
            "is not one that this list returned",
            "use next_cursor of the previous page as it is",
        )
    return tuple(int(group) for group in match.groups())
