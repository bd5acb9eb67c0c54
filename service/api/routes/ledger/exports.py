"""A preregistration in the formats of others: in-toto, DSSE, PRML; and the stamps of outside witnesses."""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Annotated

from fastapi import Query
from pydantic import Field
from starlette.responses import Response

from forelock.witness.stamp import Kind
from service.actions.ledger import exports as actions
from service.api.examples import exports as examples
from service.api.http.answers.answers import View, answer, shows, shows_file
from service.api.http.requests.deps import Reader, ReadSession, RecordId, Shared
from service.api.http.serving.route import make_router, refuses
from service.domain.ledger import Kind as LeafKind
from service.domain.plans.preregistration import ONCE_LOCKED
from service.reports.exports import intoto, prml
from service.store.plans import preregistrations

routes = make_router("preregistrations")


class StampView(View):
    """What an outside witness gave for a checkpoint that holds a lock or a verdict of this record."""

    of: LeafKind = Field(description="What the leaf is about.")
    sequence: int = Field(description="Of the leaf in the ledger.")
    leaf_sha256: str = Field(description="RFC 6962 hash of the leaf, hexadecimal.")
    kind: Kind = Field(description="`rfc3161`: a TimeStampResp; `opentimestamps`: a detached proof.")
    obtained_at: datetime
    waiting: bool = Field(description="More will come: the proof is not in a block yet.")
    checkpoint: str = Field(description="The signed note whose bytes are stamped.")
    proof: str = Field(description="That its log holds the leaf (C2SP tlog-proof).")
    stamp: str = Field(description="Base64 of the .tsr or .ots file.")


class Stamps(View):
    """All of a record."""

    items: list[StampView]


@routes.get(
    "/preregistrations/{prereg_id}/stamps",
    response_model=Stamps,
    responses=shows(examples.STAMPS) | refuses(409),
)
def list_stamps(caller: Reader, session: ReadSession, prereg_id: RecordId) -> Response:
    """List what outside witnesses gave for the lock and the verdict.

    Empty where the deployment asks no witness, or none has answered yet.
    """
    record = preregistrations.get(session, caller.project_id, prereg_id)
    record.require(*ONCE_LOCKED, action="reading stamps")
    return answer(Stamps(items=[_view_stamp(stamp) for stamp in actions.list_stamps(session, record)]))


@routes.get(
    "/preregistrations/{prereg_id}/lock.intoto.json",
    response_class=Response,
    responses=shows_file(intoto.PAYLOAD_TYPE, examples.STATEMENT) | refuses(409),
)
def get_lock_statement(caller: Reader, session: ReadSession, prereg_id: RecordId) -> Response:
    """Read the lock as an in-toto Statement (v1): canonical JSON, not signed.

    Its subject is the plan's canonical text; the predicate is `urn:forelock:predicate:lock:1`.
    """
    record = preregistrations.get(session, caller.project_id, prereg_id)
    return Response(actions.make_statement(session, record), media_type=intoto.PAYLOAD_TYPE)


@routes.get(
    "/preregistrations/{prereg_id}/lock.dsse.json",
    response_class=Response,
    responses=shows_file(intoto.ENVELOPE_TYPE, examples.ENVELOPE) | refuses(409),
)
def get_signed_lock_statement(
    caller: Reader, session: ReadSession, shared: Shared, prereg_id: RecordId
) -> Response:
    """Read the same in a DSSE envelope, signed with the key that signs the ledger: `keyid` is its verifier key."""
    record = preregistrations.get(session, caller.project_id, prereg_id)
    return Response(actions.make_envelope(session, record, shared.signer), media_type=intoto.ENVELOPE_TYPE)


@routes.get(
    "/preregistrations/{prereg_id}/prml",
    response_class=Response,
    responses=shows_file(prml.MEDIA_TYPE, examples.PRML) | refuses(409),
)
def get_prml_manifest(
    caller: Reader,
    session: ReadSession,
    prereg_id: RecordId,
    hypothesis: Annotated[
        str | None, Query(max_length=64, description="Which one; may be left out where the plan has one.")
    ] = None,
) -> Response:
    """Read a hypothesis of the locked plan as a PRML manifest (v0.1), in the bytes that its SHA-256 is of.

    Its metric is whether the rule holds: 1 where the verdict says `supported`, 0 otherwise.
    """
    record = preregistrations.get(session, caller.project_id, prereg_id)
    return Response(actions.make_claim(session, record, hypothesis), media_type=prml.MEDIA_TYPE)


def _view_stamp(stamped: actions.StampedLeaf) -> StampView:
    """Make the view of a leaf's stamp: where the leaf stands, its proof, and the stamp itself in Base64."""
    return StampView(
        of=stamped.receipt.kind,
        sequence=stamped.receipt.sequence,
        leaf_sha256=stamped.receipt.leaf_sha256,
        kind=stamped.stamp.kind,
        obtained_at=stamped.stamp.obtained_at,
        waiting=stamped.stamp.waiting,
        checkpoint=stamped.stamp.checkpoint.note,
        proof=stamped.proof,
        stamp=base64.b64encode(stamped.stamp.content).decode(),
    )
