"""Files that are made for a download: whole before anything of them is sent."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO, cast

from starlette.background import BackgroundTask
from starlette.responses import StreamingResponse

SPOOLED = 4 << 20
"""Bytes up to which a file stays in memory; a larger one goes to the disk."""
PIECE = 1 << 18
"""Bytes that are sent at a time."""


def download(
    write: Callable[[BinaryIO], int], name: str, media_type: str, headers: Mapping[str, str] | None = None
) -> StreamingResponse:
    """Answer with the file that `write` writes and returns the bytes of, once it is whole.

    What `write` raises becomes a problem document: nothing of the file has been sent by then.
    """
    file = cast(BinaryIO, tempfile.SpooledTemporaryFile(max_size=SPOOLED))  # noqa: SIM115 - closed when it is sent
    try:
        size = write(file)
    except BaseException:
        file.close()
        raise
    all_headers = {
        "Content-Length": str(size),
        "Content-Disposition": f'attachment; filename="{name}"',
        **(headers or {}),
    }
    return StreamingResponse(_iterate_pieces(file), 200, all_headers, media_type, BackgroundTask(file.close))


def _iterate_pieces(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    while piece := file.read(PIECE):
        yield piece
