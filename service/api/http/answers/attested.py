"""Answers that carry the ledger's checkpoint: what has happened leaves the server signed."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy.orm import Session
from starlette.responses import Response

from service.api.http.requests.idempotency import Once
from service.api.http.shared import Services
from service.domain.ledger import Receipt
from service.telemetry.logs import ERRORS, location

CHECKPOINT = "Forelock-Checkpoint"
"""The header: base64 of a signed note (C2SP tlog-checkpoint)."""


def attest(shared: Services, response: Response, sequence: int | None) -> Response:
    """Add to an answer a checkpoint that holds the leaf `sequence`; None: one of everything that is committed.

    The caller may hold no open session: the signer waits for its turn. Where none can be signed the answer leaves
    without it, since the leaf is committed all the same; readiness and the log say why.
    """
    try:
        signed = shared.signer.checkpoint(None if sequence is None else sequence + 1)
    except Exception as error:  # noqa: BLE001 - whatever it is, what was done is done
        ERRORS.error("an answer leaves without a checkpoint", extra={"fields": location(error)})
        return response
    if signed is not None:
        response.headers[CHECKPOINT] = signed.header
    return response


def attest_once(
    shared: Services,
    once: Once,
    work: Callable[[Session], tuple[Response, Receipt]],
    then: Callable[[], object] | None = None,
) -> Response:
    """Do a write once, and answer with a checkpoint that holds the leaf of its receipt.

    A stored answer to a repeated request gets the newest checkpoint. `then` is called after the commit, also where the
    work was done before.
    """
    receipts: list[Receipt] = []

    def write(session: Session) -> Response:
        response, receipt = work(session)
        receipts.append(receipt)
        return response

    response = once.run(write)
    if then is not None:
        then()
    return attest(shared, response, receipts[-1].sequence if receipts else None)
