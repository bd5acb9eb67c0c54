"""The ledger for everybody: checkpoints, keys, proofs and leaf hashes, without a key.

Hashes only, of salted leaves: nobody can tell from one what it is about, or guess it. What they tell is how many
events of all projects together were signed by when; kinds, projects, records and outcomes are not told.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import BaseModel, Field
from sqlalchemy.orm import Session
from starlette.responses import Response

from service.actions.ledger import proofs
from service.api.http.answers.answers import View, shows
from service.api.http.requests.deps import Shared
from service.api.http.serving.route import make_router, refuses
from service.api.http.shared import Services
from service.errors import NotFound
from service.store.ledger import ledger, ledger_signers

routes = make_router("ledger")
key_routes = make_router("ledger", prefix="")

NEWEST_SECONDS, LASTING_SECONDS = 1.0, 1e9
"""How old an answer about the newest checkpoint may be, and one that stays true."""
_JSON, _TEXT = "application/json", "text/plain; charset=utf-8"
_HASH = "b1946ac92492d2347c6235b4d2611184b1946ac92492d2347c6235b4d2611184"
_ORIGIN = "forelock/5f0c2d9be1a44e07"
_VKEY = f"{_ORIGIN}+a4a5a18a+ASFk5Vb2l5K+MCxuHwkxHh9S0vJrfxCQUx9vVbhXlXcL"
_NOTE = f"{_ORIGIN}\n42\nsZRqySSS0jR8YjW00mERhLGUaskkktI0fGI1tNJhEYQ=\n\n— {_ORIGIN} pKWhii4uLg==\n"

_A_NOTE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A signed note (C2SP tlog-checkpoint).",
        "content": {"text/plain": {"schema": {"type": "string"}, "example": _NOTE}},
    }
}

Size = Annotated[
    int, Query(ge=0, le=2**53, description="Leaves of the log; 0, or left out: as many as are signed.")
]


class InclusionView(View):
    """That a leaf is in the log: hashes from its sibling upward (RFC 9162, section 2.1.3)."""

    index: int = Field(description="Of the leaf, from 0.")
    size: int = Field(description="Leaves of the log.")
    leaf_sha256: str = Field(description="RFC 6962 hash of the leaf, hexadecimal.")
    root_sha256: str = Field(description="Root of the log of that size, hexadecimal.")
    hashes: list[str] = Field(description="Hexadecimal.")


class ConsistencyView(View):
    """That a log begins with an earlier one (RFC 9162, section 2.1.4)."""

    first: int = Field(description="Leaves of the earlier log.")
    second: int = Field(description="Leaves of the later one.")
    hashes: list[str] = Field(description="Hexadecimal.")


class LeafHashes(View):
    """Hashes of leaves that follow one another."""

    start: int = Field(description="Index of the first one.")
    leaf_sha256: list[str] = Field(description="RFC 6962 hashes of the leaves, hexadecimal.")
    next_start: int | None = Field(
        description="Where the next page begins; null at the end of what is signed."
    )


class SignerView(View):
    """A name and a key of the log, and how it came to them."""

    vkey: str = Field(description="Verifier key (C2SP signed-note); its name is the log's origin.")
    sequence: int | None = Field(description="The leaf that says so; null for the first one.")
    handover: str | None = Field(
        description="The statement in that leaf, a note that the key before and this one have signed."
    )
    leaf: str | None = Field(description="That leaf whole: it is the deployment's own, of no project.")


class LedgerKeys(View):
    """Who signs the ledger, and who did before."""

    vkey: str = Field(description="The verifier key of the newest checkpoint.")
    signers: list[SignerView] = Field(description="All of them, the first one first.")


@routes.get("/ledger/checkpoint", response_class=Response, responses=_A_NOTE | refuses(404, 429, 503))
def get_checkpoint(shared: Shared) -> Response:
    """Read the newest signed checkpoint: the log's name, size and root.

    Keep it: a log that is rewritten later does not go on from it. No key is needed for anything of the ledger.
    """

    def make(session: Session) -> bytes:
        return proofs.read_latest(session).note.encode()

    return _respond(shared, "checkpoint", make, newest=True, media_type=_TEXT)


@routes.get(
    "/ledger/proof/{index}",
    response_model=InclusionView,
    responses=shows({"index": 2, "size": 3, "leaf_sha256": _HASH, "root_sha256": _HASH, "hashes": [_HASH]})
    | refuses(404, 429, 503),
)
def get_inclusion_proof(
    shared: Shared,
    index: Annotated[int, Path(ge=0, le=2**53, description="Index of the leaf, from 0.")],
    size: Size = 0,
) -> Response:
    """Prove that a leaf is in the log."""

    def make(session: Session) -> bytes:
        return _dump(_make_inclusion_view(proofs.prove_inclusion(session, index, size or None)))

    return _respond(shared, ("proof", index, size), make, newest=size == 0)


@routes.get(
    "/ledger/proof",
    response_model=InclusionView,
    responses=shows({"index": 2, "size": 3, "leaf_sha256": _HASH, "root_sha256": _HASH, "hashes": [_HASH]})
    | refuses(404, 422, 429, 503),
)
def find_inclusion_proof(
    shared: Shared,
    leaf_sha256: Annotated[
        str, Query(pattern="^[0-9a-f]{64}$", description="RFC 6962 hash of the leaf, hexadecimal.")
    ],
    size: Size = 0,
) -> Response:
    """Prove that a leaf of this hash is in the log, and where."""

    def make(session: Session) -> bytes:
        index = proofs.find_index(session, leaf_sha256)
        return _dump(_make_inclusion_view(proofs.prove_inclusion(session, index, size or None)))

    return _respond(shared, ("find", leaf_sha256, size), make, newest=size == 0)


@routes.get(
    "/ledger/consistency",
    response_model=ConsistencyView,
    responses=shows({"first": 2, "second": 3, "hashes": [_HASH]}) | refuses(404, 422, 429, 503),
)
def get_consistency_proof(
    shared: Shared,
    first: Annotated[int, Query(alias="from", ge=0, le=2**53, description="Leaves of the earlier log.")],
    second: Annotated[
        int,
        Query(
            alias="to",
            ge=0,
            le=2**53,
            description="Leaves of the later one; 0, or left out: as many as are signed.",
        ),
    ] = 0,
) -> Response:
    """Prove that the log has only grown between two sizes."""

    def make(session: Session) -> bytes:
        proof = proofs.prove_consistency(session, first, second or None)
        hashes = [digest.hex() for digest in proof.hashes]
        return _dump(ConsistencyView(first=proof.first, second=proof.second, hashes=hashes))

    return _respond(shared, ("consistency", first, second), make, newest=second == 0)


@routes.get(
    "/ledger/leaves",
    response_model=LeafHashes,
    responses=shows({"start": 0, "leaf_sha256": [_HASH], "next_start": None}) | refuses(404, 422, 429, 503),
)
def list_leaf_hashes(
    shared: Shared,
    start: Annotated[int, Query(ge=0, le=2**53, description="Index of the first leaf.")] = 0,
    limit: Annotated[
        int, Query(ge=1, le=proofs.MOST_LEAVES, description="Hashes per page, 1 to 1,000.")
    ] = proofs.MOST_LEAVES,
) -> Response:
    """List leaf hashes, as far as they are signed: whoever has them all can compute every root."""

    def make(session: Session) -> bytes:
        leaves = proofs.list_leaves(session, start, limit)
        following = start + limit if len(leaves) == limit else None
        return _dump(LeafHashes(start=start, leaf_sha256=leaves, next_start=following))

    return _respond(shared, ("leaves", start, limit), make, newest=True)


@key_routes.get(
    "/.well-known/forelock-keys.json",
    response_model=LedgerKeys,
    responses=shows(
        {"vkey": _VKEY, "signers": [{"vkey": _VKEY, "sequence": None, "handover": None, "leaf": None}]}
    )
    | refuses(404, 429, 503),
)
def get_ledger_keys(shared: Shared) -> Response:
    """Read who signs the ledger: the verifier key, and the statements that lead to it from earlier ones."""

    def make(session: Session) -> bytes:
        signers = [_make_signer_view(session, signer) for signer in ledger_signers.read_all(session)]
        if not signers:
            raise NotFound("the ledger has no key yet: it gets one with the first lock")
        return _dump(LedgerKeys(vkey=signers[-1].vkey, signers=signers))

    return _respond(shared, "keys", make, newest=True)


def _respond(
    shared: Services,
    key: Hashable,
    make: Callable[[Session], bytes],
    *,
    newest: bool,
    media_type: str = _JSON,
) -> Response:
    """Answer from the cache that all callers share.

    What is `newest` may be kept for a second, anything else for good: it never changes.
    """

    def look_up() -> bytes:
        with shared.database.read() as session:
            return make(session)

    seconds = NEWEST_SECONDS if newest else LASTING_SECONDS
    body = shared.public.get(key, look_up, seconds=seconds)
    kept = "public, max-age=1" if newest else "public, max-age=31536000, immutable"
    return Response(body, 200, {"Cache-Control": kept}, media_type)


def _dump(view: BaseModel) -> bytes:
    return view.__pydantic_serializer__.to_json(view)


def _make_inclusion_view(inclusion: proofs.Inclusion) -> InclusionView:
    return InclusionView(
        index=inclusion.index,
        size=inclusion.size,
        leaf_sha256=inclusion.leaf.hex(),
        root_sha256=inclusion.root.hex(),
        hashes=[digest.hex() for digest in inclusion.hashes],
    )


def _make_signer_view(session: Session, signer: ledger_signers.LogSigner) -> SignerView:
    if signer.sequence is None:
        return SignerView(vkey=signer.vkey, sequence=None, handover=None, leaf=None)
    leaf = ledger.read_leaf(session, signer.sequence)
    note = ledger.parse_body(leaf)["note"]
    return SignerView(vkey=signer.vkey, sequence=signer.sequence, handover=note, leaf=leaf)
