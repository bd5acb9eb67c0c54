"""What the server package offers the client where both are installed: computing, readers and commands."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
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


def translator_of(language: str) -> Callable[[str], str]:
    """Return what says an English refusal or a note on files in a language: the server package has the words of all."""
    if language == "en":
        return str  # whoever reads English waits for no import
    say = next((entry.load() for entry in offers("forelock.local") if entry.name == "say_refusal"), None)
    return str if say is None else partial(say, language=language)
