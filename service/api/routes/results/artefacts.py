"""Artefacts: the files that imports were made of, once there is a verdict."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, BinaryIO

from fastapi import Path, Response
from pydantic import Field

from service.actions.results import artefacts as actions
from service.api.examples import imports as examples
from service.api.http.answers.answers import Page, View, answer, shows
from service.api.http.answers.files import download
from service.api.http.requests.deps import Cursor, Limit, Reader, ReadSession, RecordId, Shared
from service.api.http.serving.route import audits, make_router, refuses
from service.store.plans import preregistrations

routes = make_router("results")
ANY = "application/octet-stream"
SHOWN: dict[int | str, dict[str, Any]] = {
    200: {"content": {ANY: {"schema": {"type": "string", "format": "binary"}, "example": "item_id,value\n…"}}}
}
Number = Annotated[int, Path(ge=1, le=2**31 - 1, description="Of the import.")]


class ArtefactView(View):
    """The file of an import."""

    number: int = Field(description="Of the import.")
    format: str
    received_at: datetime
    sha256: str = Field(description="Of the file as it was sent.")
    size: int = Field(description="Bytes of it.")
    kept: bool = Field(description="Whether it can be fetched; its hash is known in any case.")


class FileResponse(Response):
    """A file as it was sent."""

    media_type = ANY


@routes.get(
    "/preregistrations/{prereg_id}/artefacts",
    response_model=Page[ArtefactView],
    responses=shows(examples.ARTEFACTS) | refuses(409),
)
@audits("artefacts.read")
def list_artefacts(
    caller: Reader, session: ReadSession, prereg_id: RecordId, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """List the files that the imports of a judged record were made of, newest first.

    Before the verdict nothing of them is known, not even how many there are: 409 `blinded`.
    """
    record = preregistrations.get(session, caller.project_id, prereg_id)
    listed, following = actions.page(session, record, cursor=cursor, limit=limit)
    items = [
        ArtefactView(
            number=line.imported.number,
            format=line.imported.format,
            received_at=line.imported.received_at,
            sha256=line.facts["sha256"],
            size=line.facts["size"],
            kept=line.kept,
        )
        for line in listed
    ]
    return answer(Page[ArtefactView](items=items, next_cursor=following))


@routes.get(
    "/preregistrations/{prereg_id}/artefacts/{number}",
    response_class=FileResponse,
    responses=SHOWN | refuses(409, 410, 503),
)
@audits("artefact.read")
def get_artefact(caller: Reader, shared: Shared, prereg_id: RecordId, number: Number) -> Response:
    """Download the file of an import, byte for byte as it was sent, once there is a verdict.

    It is held against its SHA-256 before anything of it is sent.
    """

    def write(file: BinaryIO) -> int:
        return actions.fetch(shared.database, shared.keeping, caller, prereg_id, number, file)

    return download(write, f"{prereg_id}-import-{number}", ANY, {"Cache-Control": "no-store"})
