"""OpenTimestamps calendars over HTTP: they are sent 32 bytes that tell nothing, and asked for the block later."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from forelock.witness import opentimestamps
from forelock.witness.proof_tree import parse_tree
from forelock.witness.stamp import Kind, WitnessFault
from service.publish.faults import OutgoingFault, Unanswered
from service.publish.http import Outgoing

MAX_ANSWER = 10_000
NONCE_BYTES = 16


@dataclass(frozen=True, slots=True)
class Calendars:
    """The operator's calendars. One that answers is enough; several are several witnesses."""

    urls: Sequence[str]
    outgoing: Outgoing
    kind: Kind = "opentimestamps"

    def stamp(self, data: bytes) -> bytes:
        """Return a pending proof of the bytes, from every calendar that answers.

        Raises:
            OutgoingFault: none did.
        """
        nonce = secrets.token_bytes(NONCE_BYTES)
        digest = opentimestamps.digest_to_submit(data, nonce)
        answers, faults = [], []
        for url in self.urls:
            try:
                answers.append(self._ask("POST", f"{_base(url)}/digest", digest, digest))
            except (OutgoingFault, WitnessFault) as fault:
                faults.append(str(fault))
        if not answers:
            raise Unanswered("; ".join(faults))
        return opentimestamps.new_proof(data, nonce, answers)

    def is_complete(self, stamp: bytes) -> bool:
        """Tell whether a block attests it."""
        return opentimestamps.is_complete(stamp)

    def upgrade(self, stamp: bytes) -> bytes:
        """Return the proof with what its calendars know by now. Only calendars of the operator's list are asked.

        Raises:
            OutgoingFault: none of them answered.
        """
        faults: list[OutgoingFault | WitnessFault] = []
        known = {_base(url) for url in self.urls}
        waiting = [
            (uri, commitment) for uri, commitment in opentimestamps.pending(stamp) if _base(uri) in known
        ]
        for uri, commitment in waiting:
            try:
                answer = self._ask("GET", f"{_base(uri)}/timestamp/{commitment.hex()}", b"", commitment)
                stamp = opentimestamps.upgrade(stamp, commitment, answer)
            except _NotYet:
                continue
            except (OutgoingFault, WitnessFault) as fault:
                faults.append(fault)
        if faults and len(faults) == len(waiting):
            raise Unanswered("; ".join(map(str, faults)))
        return stamp

    def _ask(self, method: str, url: str, content: bytes, message: bytes) -> bytes:
        """Return a calendar's answer after checking that it is a proof of `message`.

        `_NotYet` where no block has it.
        """
        answer = self.outgoing.send(
            method, url, content=content, headers={"Accept": opentimestamps.MEDIA_TYPE}, limit=MAX_ANSWER
        )
        if method == "GET" and answer.status == 404:
            raise _NotYet("not yet in a block")
        if answer.status != 200:
            raise Unanswered(f"a calendar answers {answer.status}")
        parse_tree(answer.body, message, "calendar's answer")
        return answer.body


class _NotYet(OutgoingFault):
    """The calendar waits for a block."""


def _base(url: str) -> str:
    return url.rstrip("/").lower()
