"""Rows as a data frame, where pandas or polars is installed. Neither is needed by anything else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

from forelock.problem import ForelockError

Library = Literal["pandas", "polars"]


def frame(rows: Iterable[Mapping[str, Any]], library: Library | None = None) -> Any:
    """Return a data frame with a column per member of the rows, in the order in which they first come.

    Args:
        rows: such as `client.results(ID)`; a member that a row lacks is missing there.
        library: whose frame; without it pandas where it is installed, else polars.

    Raises:
        ForelockError: the library is not installed.
    """
    taken = [dict(row) for row in rows]
    names = list(dict.fromkeys(name for row in taken for name in row))
    columns = {name: [row.get(name) for row in taken] for name in names}
    package_name = library or next((package for package in ("pandas", "polars") if find_spec(package)), None)
    if package_name is None or find_spec(package_name) is None:
        raise ForelockError(
            f"{package_name or 'neither pandas nor polars'} is not installed: pip install {package_name or 'pandas'}"
        )
    return import_module(package_name).DataFrame(columns)
