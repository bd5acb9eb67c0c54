"""What the operator can mend, as one sentence on the error stream and an exit status."""

from __future__ import annotations

import sys
from collections.abc import Callable

from service.errors import ForelockError, StorageFull


def report_failures(run: Callable[[], int]) -> int:
    """Return the exit status of `run`. A failure that the operator can mend is one sentence, not a traceback."""
    try:
        return run()
    except (ForelockError, ValueError, OSError) as error:
        text, status = _describe(error)
        sys.stderr.write(f"forelock: {text}\n")
        return status


def _describe(error: ForelockError | ValueError | OSError) -> tuple[str, int]:
    """Describe an error that the operator can mend in one sentence, with the exit status it asks for."""
    if isinstance(error, StorageFull):
        return "the disk of the database is full; make room, then run this again", 1
    if isinstance(error, ForelockError):
        return error.detail, 1
    if isinstance(error, FileExistsError):  # mkdir found a file in its way
        return f"{error.filename}: is there and is no directory", 1
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror or error}", 1
    from service.config import UnusableSetting  # only once it may have been loaded: it takes pydantic along

    if not isinstance(error, UnusableSetting):
        raise error
    return str(error), 2
