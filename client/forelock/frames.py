"""Rows as a data frame, where pandas or polars is installed. Neither is needed by anything else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

from forelock.problem import ForelockError

Library = Literal["pandas", "polars"]


def frame(rows: Iterable[Mapping[str, Any]], library: Library | None = None) -> Any:
    """A data frame with a column per member of the rows, in the order in which they first come.

    Args:
        rows: such as `client.results(ID)`; a member that a row lacks is missing there.
        library: whose frame; without it pandas where it is installed, else polars.

    Raises:
        ForelockError: the library is not installed.
    """
    taken = [dict(row) for row in rows]
    names = list(dict.fromkeys(name for row in taken for name in row))
    columns = {name: [row.get(name) for row in taken] for name in names}
    chosen = library or next((package for package in ("pandas", "polars") if find_spec(package)), None)
    if chosen is None or find_spec(chosen) is None:
        raise ForelockError(
            f"{chosen or 'neither pandas nor polars'} is not installed: pip install {chosen or 'pandas'}"
        )
    return import_module(chosen).DataFrame(columns)
