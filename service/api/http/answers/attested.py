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


def attested(shared: Services, response: Response, sequence: int | None) -> Response:
    """The answer with a checkpoint that holds a leaf, or everything that is committed. No session may be open.

    Where none can be signed the answer stands without it: the leaf is committed. Readiness and the log say why.
    """
    try:
        signed = shared.signer.checkpoint(None if sequence is None else sequence + 1)
    except Exception as error:  # noqa: BLE001 - whatever it is, what was done is done
        ERRORS.error("an answer leaves without a checkpoint", extra={"fields": location(error)})
        return response
    if signed is not None:
        response.headers[CHECKPOINT] = signed.header
    return response


def attested_once(
    shared: Services,
    once: Once,
    work: Callable[[Session], tuple[Response, Receipt]],
    then: Callable[[], object] | None = None,
) -> Response:
    """The answer of a write, with a checkpoint that holds the leaf of its receipt; a stored answer has the newest one.

    `then` is what follows the commit, whether the work was done now or before.
    """
    receipts: list[Receipt] = []

    def write(session: Session) -> Response:
        response, receipt = work(session)
        receipts.append(receipt)
        return response

    response = once.run(write)
    if then is not None:
        then()
    return attested(shared, response, receipts[-1].sequence if receipts else None)
