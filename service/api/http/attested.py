"""Answers that carry the ledger's checkpoint: what has happened leaves the server signed."""

from __future__ import annotations

from starlette.responses import Response

from service.api.http.shared import Services
from service.logs import ERRORS, location

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
