"""Files as bodies: streamed to a file of the data directory that has no name, and held in memory by nobody."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from anyio import to_thread
from fastapi import Request
from starlette.requests import ClientDisconnect

from service.api.calculators.pool import get_project_id
from service.api.http.problems import may_answer
from service.api.http.requests.body import GRACE_SECONDS, LEAST_RATE, BodyDoc
from service.api.http.requests.headers import get_header
from service.api.http.shared import get_services
from service.api.parsing.models import too_large
from service.errors import RequestTimeout, UnsupportedMediaType, refuse_when_full

FILES = (
    "application/octet-stream",
    "application/zip",
    "application/json",
    "application/x-ndjson",
    "text/csv",
)
"""Content types that files are sent as; the format of a file is named beside it, in the query."""
_WRITTEN = 1024 * 1024
"""Bytes that are gathered before they are written."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A body on disk. It is gone once it is closed, or its process ends."""

    file: BinaryIO = field(repr=False)
    size: int
    scratch: Path

    @property
    def path(self) -> str:
        """The path by which another process of this user opens the file, for as long as it is open here."""
        return f"/proc/{os.getpid()}/fd/{self.file.fileno()}"


@may_answer(400, 413, 415, 422, 507)
async def takes_file() -> None:
    """Mark a route that receives a file, for OpenAPI: a dependency that does nothing. `receive` reads the file."""


takes_file.body_doc = BodyDoc(dict.fromkeys(FILES, bytes), {}, True)  # type: ignore[attr-defined]


@asynccontextmanager
async def receive(request: Request) -> AsyncIterator[Upload]:
    """Receive the body as a file within the limits; it is there for as long as the block lasts.

    Room on the disk is taken before the first byte is written: as much as the head says, or as a file may have.

    Raises:
        UnsupportedMediaType: the body is sent as no file, or compressed.
        TooLarge: it is larger than a file may be.
        RequestTimeout: it came too slowly.
        Unavailable: there was no room on the disk for a while.
    """
    settings = get_services(request).settings
    media_type = (get_header(request, b"content-type") or FILES[0]).partition(";")[0].strip().lower()
    if media_type not in FILES:
        raise UnsupportedMediaType(f"send the file as it is, as {FILES[0]}")
    if (get_header(request, b"content-encoding") or "identity").strip().lower() != "identity":
        raise UnsupportedMediaType("send the file as it is, without Content-Encoding")
    limit = settings.max_import_bytes
    announced = get_header(request, b"content-length")
    size = int(announced) if announced is not None and announced.isdecimal() else limit
    if announced is not None and size > limit:
        raise too_large(limit)
    scratch = settings.data_dir / "scratch"
    budget, project = get_services(request).upload_budget, get_project_id(request)
    await budget.take(project, size)
    try:
        with refuse_when_full(), await to_thread.run_sync(_open_file, scratch) as file:
            try:
                async with asyncio.timeout(GRACE_SECONDS + size / LEAST_RATE):
                    received = await _receive(request, file, limit)
            except TimeoutError:
                raise RequestTimeout("the file came too slowly; send it again") from None
            yield Upload(file, received, scratch)
    finally:
        budget.give_back(project, size)


def _open_file(scratch: Path) -> BinaryIO:
    """Open a file that only this user may read and that no name leads to: it is gone with whoever has it open."""
    scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
    return tempfile.TemporaryFile(dir=scratch)


async def _receive(request: Request, file: BinaryIO, limit: int) -> int:
    """Write a body to the file as it arrives, `_WRITTEN` bytes or more at a time, and return its size.

    Refuse more than `limit` bytes.
    """
    size, waiting, more = 0, bytearray(), True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        waiting += message.get("body", b"")
        more = message.get("more_body", False)
        if size + len(waiting) > limit:
            raise too_large(limit)
        if len(waiting) >= _WRITTEN or not more:
            size += len(waiting)
            await to_thread.run_sync(file.write, bytes(waiting))
            waiting.clear()
    await to_thread.run_sync(file.flush)
    return size
