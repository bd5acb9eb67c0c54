"""How much a result file may hold, and the refusals of what holds more or cannot be read."""

from __future__ import annotations

from service.errors import Fault, InvalidData, MalformedBody, TooLarge

MIB = 1024 * 1024
MOST_INFLATED = 2048 * MIB
"""Bytes of all entries of an archive, or of a file that is none."""
MOST_ENTRY = 256 * MIB
"""Bytes of one entry, or of one line."""
MOST_UTF_16 = 64 * MIB
"""Bytes of a text in UTF-16, which is turned into UTF-8 in memory."""
MOST_ENTRIES = 200_000
MOST_SAMPLES = 2_000_000
"""Samples of a run, of whatever arm, and lines of a file of them."""
MOST_CELLS = 100_000_000
"""Values of a table, entries of lists among them: what a footer says before anything is inflated."""
MOST_MEMBERS = 100_000
"""Members of an object that are looked for one by one: those that stand around a run's samples."""
MOST_DIRECTORY = 48 * MIB
"""Bytes of an archive's list of entries: it is read before they can be counted."""
MOST_RATIO = 200
"""How many times its compressed size an entry may have; small ones may have more."""
SMALL_ENTRY = MIB
WINDOW_LOG = 25
"""Zstandard frames may ask for a window of 2^25 bytes; Inspect's ask for 2^23 at most."""
_MOST_SHOWN = 120
IN_MEMORY = 8 * MIB
"""JSON up to this size is parsed whole; of larger documents what is wanted is parsed, part by part."""


def too_large(what: str, limit: str) -> TooLarge:
    """Return the refusal of a file that goes beyond a limit."""
    return TooLarge(f"{what}: an import takes at most {limit}; split the run", code="import_too_large")


def unreadable(where: str, fault: str) -> MalformedBody:
    """Return the refusal of a file that is not what its format says; `where` is a part of it, never a value."""
    return MalformedBody(f"{printable(where)}: {fault}" if where else fault, code="malformed_import")


def printable(name: str) -> str:
    """Return a name from a file, fit for a message: short, and without characters that do not print.

    Example:
        `printable("a\\x1b[2J")` is "a\ufffd[2J".
    """
    if not name.isprintable():
        name = "".join(letter if letter.isprintable() else "\ufffd" for letter in name[: _MOST_SHOWN + 1])
    return name if len(name) <= _MOST_SHOWN else f"{name[: _MOST_SHOWN - 1]}…"


def make_unmapped(line: str, message: str, fix: str) -> InvalidData:
    """Return the refusal of what the plan does not decide: names the line of the mapping to write."""
    return InvalidData(f"{line}: {message}", [Fault(line, message, fix)], code="import_unmapped")
