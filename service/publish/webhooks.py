"""Messages to webhooks, signed as Standard Webhooks asks: https://www.standardwebhooks.com."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Sequence

from service.domain.outgoing import SECRET_MARK
from service.publish.http import Outgoing

LIMIT = 65_536
"""Bytes of an answer that are read: nobody looks at them."""


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the HMAC-SHA256 over id, seconds since 1970 and body, version 1.

    Example:
        >>> signature(
        ...     "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        ...     "msg_p5jXN8AQM9LWM0D4loKWxJek",
        ...     1614265330,
        ...     b'{"test": 2432232314}',
        ... )
        'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
    """
    key = base64.b64decode(secret.removeprefix(SECRET_MARK))
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


def post(
    outgoing: Outgoing, url: str, secrets: Sequence[str], message_id: str, timestamp: int, body: bytes
) -> int:
    """Send a message, signed with every secret that counts; returns the status of the answer.

    Raises:
        OutgoingFault: no answer.
    """
    headers = {
        "Content-Type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signature(secret, message_id, timestamp, body) for secret in secrets),
    }
    return outgoing.send("POST", url, content=body, headers=headers, limit=LIMIT).status
