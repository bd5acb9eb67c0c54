"""A time stamp authority (RFC 3161) over HTTP."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography.x509 import Certificate

from forelock.witness import rfc3161
from forelock.witness.stamp import MAX_STAMP_BYTES, Kind
from service.publish.faults import Unanswered
from service.publish.http import Outgoing


@dataclass(frozen=True, slots=True)
class TimeStampAuthority:
    """Stamps bytes, of which it learns the SHA-256."""

    url: str
    outgoing: Outgoing
    roots: Sequence[Certificate] = ()
    kind: Kind = "rfc3161"

    def stamp(self, data: bytes) -> bytes:
        """Return a time stamp of the bytes that holds, up to the roots if there are any.

        Raises:
            OutgoingFault: no answer.
            WitnessFault: an answer that does not hold.
        """
        nonce = secrets.randbits(rfc3161.NONCE_BITS) or 1
        answer = self.outgoing.send(
            "POST",
            self.url,
            content=rfc3161.make_request(data, nonce),
            headers={"Content-Type": rfc3161.CONTENT_TYPE_OF_QUERY, "Accept": rfc3161.CONTENT_TYPE_OF_REPLY},
            limit=MAX_STAMP_BYTES,
        )
        if answer.status != 200 or answer.media_type != rfc3161.CONTENT_TYPE_OF_REPLY:
            raise Unanswered(f"the time stamp authority answers {answer.status} without a time stamp")
        rfc3161.verify(answer.body, data, self.roots, nonce=nonce)
        return answer.body

    def is_complete(self, stamp: bytes) -> bool:  # noqa: ARG002
        """Return True: a time stamp has nothing to wait for."""
        return True

    def upgrade(self, stamp: bytes) -> bytes:
        """Return the stamp as it is."""
        return stamp
