"""What the server package offers the client where both are installed: computing, readers and commands."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoints, PackageNotFoundError, distribution


@cache
def offers(group: str) -> EntryPoints:
    """Its entry points of a group; none where it is not installed.

    It is looked for by its name: to read the entry points of everything that is installed takes a short command longer
    than what it computes.
    """
    try:
        return distribution("forelock-server").entry_points.select(group=group)
    except PackageNotFoundError:
        return EntryPoints()
