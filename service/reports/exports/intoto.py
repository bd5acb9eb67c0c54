"""A lock as an in-toto Statement (attestation framework, v1), by itself or signed in a DSSE envelope."""

from __future__ import annotations

import base64
import json
from typing import Any

from forelock.transparency.notes import Signer
from service.domain.canonical import canonical
from service.domain.ledger import Receipt
from service.domain.plans.preregistration import Preregistration

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:forelock:predicate:lock:1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
ENVELOPE_TYPE = "application/vnd.dsse.envelope.v1+json"


def statement(record: Preregistration, receipt: Receipt) -> bytes:
    """Return the statement that a plan was locked: canonical JSON (RFC 8785).

    Its subject is the plan's canonical text by its SHA-256; the predicate says of which record, when, by which rules,
    and where the lock stands in the ledger.
    """
    plan = record.plan
    predicate: dict[str, Any] = {
        "preregistration": record.id,
        "version": record.version,
        "title": plan.title,
        "lockedAt": None if record.locked_at is None else record.locked_at.isoformat(),
        "hypotheses": [
            {"id": hypothesis.id, "rule": hypothesis.rule} for hypothesis in plan.hypotheses or ()
        ],
        "ledger": {
            "sequence": receipt.sequence,
            "leafSha256": receipt.leaf_sha256,
            "checkpoint": receipt.checkpoint,
            "proof": receipt.proof,
        },
    }
    subject = {"name": f"{record.id}/plan.json", "digest": {"sha256": record.plan_sha256}}
    return canonical(
        {
            "_type": STATEMENT_TYPE,
            "subject": [subject],
            "predicateType": PREDICATE_TYPE,
            "predicate": predicate,
        }
    )


def envelope(payload: bytes, signer: Signer) -> bytes:
    """The statement in a DSSE envelope (v1), signed with the ledger's key; `keyid` is the key as the log names it."""
    signature = signer.private.sign(pre_authentication(PAYLOAD_TYPE, payload))
    return json.dumps(
        {
            "payload": base64.b64encode(payload).decode(),
            "payloadType": PAYLOAD_TYPE,
            "signatures": [{"keyid": str(signer.verifier), "sig": base64.b64encode(signature).decode()}],
        }
    ).encode()


def pre_authentication(payload_type: str, payload: bytes) -> bytes:
    """Return what a DSSE signature is of.

    Example:
        From the protocol's own description:

        >>> pre_authentication("http://example.com/HelloWorld", b"hello world")
        b'DSSEv1 29 http://example.com/HelloWorld 11 hello world'
    """
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
