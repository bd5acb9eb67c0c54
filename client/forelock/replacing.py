"""Files that are downloaded: whole under their name, or not there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from forelock import files


@contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A file that takes its name when it is whole, and leaves nothing behind otherwise."""
    target = Path(path)
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
            try:
                yield file.file  # type: ignore[misc]
                file.flush()
                os.fchmod(file.fileno(), 0o644)
                os.replace(file.name, target)
            except BaseException:
                os.unlink(file.name)
                raise
    except OSError as error:
        raise files.unwritten(path, error) from None
