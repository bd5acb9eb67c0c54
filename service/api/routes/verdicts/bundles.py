"""Bundles: a record and everything that shows it to be what it says, as one file."""

from __future__ import annotations

from typing import Annotated, Any, BinaryIO

from fastapi import Query, Response

from service.actions.verdicts import bundles as actions
from service.api.http.answers.files import download
from service.api.http.requests.deps import Reader, RecordId, Shared
from service.api.http.serving.route import audits, make_router, refuses
from service.store.plans import preregistrations

routes = make_router("ledger")
ZIP = "application/zip"
SHOWN: dict[int | str, dict[str, Any]] = {
    200: {"content": {ZIP: {"schema": {"type": "string", "format": "binary"}, "example": "PK\u0003\u0004…"}}}
}


class BundleResponse(Response):
    """An answer that is the bundle of a record, a zip archive."""

    media_type = ZIP


Kept = Annotated[
    list[Annotated[int, Query(ge=1, le=2**63 - 1)]],
    Query(max_length=actions.MOST_KEPT, description="Size of a checkpoint that you kept; may be repeated."),
]


@routes.get(
    "/preregistrations/{prereg_id}/bundle", response_class=BundleResponse, responses=SHOWN | refuses(409, 503)
)
@audits("bundle.read")
def get_bundle(caller: Reader, shared: Shared, prereg_id: RecordId, checkpoint: Kept = []) -> Response:  # noqa: B006
    """Download everything that shows what a record is.

    A zip of plan, items, receipts with their proofs, and, once there is a verdict, the verdict, the rows with their
    salts and the deviations. `forelock verify` checks it without this service. The same record gives the same bytes;
    naming the size of a `checkpoint` that was kept adds the proof that the ledger goes on from it.
    """
    with shared.database.read() as session:
        last = actions.last_entry(session, preregistrations.get(session, caller.project_id, prereg_id))
    shared.signer.checkpoint(None if checkpoint else last + 1)  # holds no session: it waits for its turn

    def write(file: BinaryIO) -> int:
        with shared.database.read() as session:
            record = preregistrations.get(session, caller.project_id, prereg_id)
            return actions.write(session, record, file, kept=checkpoint)

    return download(write, f"{prereg_id}.zip", ZIP)
