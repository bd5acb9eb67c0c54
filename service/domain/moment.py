"""When an act happens, and the randomness that it takes: one value, so that a test needs no patching."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from service.domain.ledger import SALT_BYTES


@dataclass(frozen=True, slots=True)
class Moment:
    """The time of an act, and the source of its salts and ids.

    A salt is drawn when it is needed and never handed on: two leaves under one salt would let whoever was given the
    one leaf guess the other out of its hash.
    """

    now: datetime
    random_bytes: Callable[[int], bytes] = field(default=secrets.token_bytes, repr=False)
    """Draws as many bytes as it is asked for; a test gives one that it can repeat."""

    def salt(self) -> bytes:
        """Return a fresh salt of a ledger's leaf, or of sealed rows."""
        return self.random_bytes(SALT_BYTES)

    def new_id(self) -> str:
        """Return a fresh id, such as that of a job: a random UUID as 32 hexadecimal digits."""
        return uuid.UUID(bytes=self.random_bytes(16), version=4).hex
