"""Files that are made for a download: whole before anything of them is sent."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO, cast

from starlette.background import BackgroundTask
from starlette.responses import StreamingResponse

SPOOLED = 4 << 20
"""Bytes up to which a file stays in memory."""
PIECE = 1 << 18


def download(
    write: Callable[[BinaryIO], int], name: str, media_type: str, headers: Mapping[str, str] | None = None
) -> StreamingResponse:
    """The file that `write` writes, which answers how many bytes it has."""
    file = cast(BinaryIO, tempfile.SpooledTemporaryFile(max_size=SPOOLED))  # noqa: SIM115 - closed when it is sent
    try:
        size = write(file)
    except BaseException:
        file.close()
        raise
    given = {
        "Content-Length": str(size),
        "Content-Disposition": f'attachment; filename="{name}"',
        **(headers or {}),
    }
    return StreamingResponse(_pieces(file), 200, given, media_type, BackgroundTask(file.close))


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    while piece := file.read(PIECE):
        yield piece
