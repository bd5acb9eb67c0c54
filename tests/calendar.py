"""An OpenTimestamps calendar of the tests' own, on a loopback server."""

from __future__ import annotations

from dataclasses import dataclass

from forelock.witness.proof_tree import BITCOIN, PENDING
from tests.loopback import Asked, Loopback, Reply


def pending_at(uri: str) -> bytes:
    """The attestation of a calendar."""
    payload = bytes([len(uri)]) + uri.encode()
    return b"\x00" + PENDING + bytes([len(payload)]) + payload


def in_block(height: int) -> bytes:
    """The attestation of a block."""
    payload = bytearray()
    while height > 0x7F:
        payload.append(height & 0x7F | 0x80)
        height >>= 7
    payload.append(height)
    return b"\x00" + BITCOIN + bytes([len(payload)]) + bytes(payload)


@dataclass
class Calendar:
    """Promises every digest a block, and has one once `block` is set."""

    server: Loopback
    block: int | None = None
    away: bool = False

    def __post_init__(self) -> None:
        self.server.reply = self._reply

    @property
    def url(self) -> str:
        """Its address."""
        return self.server.url("")

    def _reply(self, asked: Asked) -> Reply:
        if self.away:
            return 503, {}, b"later"
        if asked.method == "POST" and asked.path == "/digest" and len(asked.body) == 32:
            return 200, {}, b"\xf0\x04beef\x08" + pending_at(self.url)
        if asked.method == "GET" and asked.path.startswith("/timestamp/"):
            if self.block is None:
                return 404, {}, b"Pending confirmation in Bitcoin blockchain"
            return 200, {}, b"\xf1\x04cafe\x08\x08" + in_block(self.block)
        return 400, {}, b"what?"
