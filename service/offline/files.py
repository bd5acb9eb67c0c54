"""Files of a command's own machine, read without a service."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from service.errors import ForelockError
from service.ingest.documents import limits
from service.ingest.documents.files import Files
from service.ingest.surveys import read_files
from service.offline.memory import at_most

MOST_BYTES = 3 * 2**30
"""More than a table of as many samples as are read takes; a file may say in a kilobyte that it needs more."""


def read_paths(
    paths: Sequence[str], form: str, section: str | None, arm: str | None, *, surveyed: bool = False
) -> dict[str, Any]:
    """Survey files, and read their table where a section is given: what `forelock import --check` asks.

    Answers a problem document in place of either that is refused.

    Args:
        surveyed: the caller has the survey, so that the files are not looked through once more.
    """
    with ExitStack() as open_files:
        try:
            files = Files.at([Path(path) for path in paths], open_files)
            asked = None if section is None else json.loads(section)
            with at_most(MOST_BYTES):
                return read_files(files, form, asked, arm, surveyed=surveyed)
        except ForelockError as refused:
            return {"problem": refused.document()}
        except MemoryError:
            problem = limits.too_large("the file takes more memory to read", f"{MOST_BYTES >> 20} MiB")
            return {"problem": problem.document()}
