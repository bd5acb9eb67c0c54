"""What a stamp of an outside witness is, what checking one finds, and what is said of one that does not hold."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Kind = Literal["rfc3161", "opentimestamps"]
KINDS: tuple[Kind, ...] = ("rfc3161", "opentimestamps")

State = Literal["verified", "unrooted", "claimed", "pending"]
"""`verified`: somebody whom the reader named vouches for the time. `unrooted`: a time stamp that is whole, of an
authority whose root was not given. `claimed`: the proof leads to a Bitcoin block that was not given. `pending`: a
calendar promised to put the bytes into a block."""

MAX_STAMP_BYTES = 64 * 1024
"""A time stamp with its certificates has 2 to 10 kB, a proof through a block 1 to 4 kB."""


class WitnessFault(ValueError):
    """A stamp that does not hold, in one sentence."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a witness gave: its bytes as a file that other tools read (.tsr or .ots)."""

    kind: Kind
    data: bytes

    @property
    def suffix(self) -> str:
        """The suffix of files that hold such stamps."""
        return ".tsr" if self.kind == "rfc3161" else ".ots"


def stem_of(leaf: str, sequence: int, kind: Kind) -> str:
    """Return what the files of a stamp on a leaf of the ledger are called, without their suffixes."""
    return f"{leaf}-{sequence}.{kind}"


def checkpoint_name(leaf: str, sequence: int, kind: Kind) -> str:
    """Return what the checkpoint that a stamp is of is saved as."""
    return f"{stem_of(leaf, sequence, kind)}.checkpoint"


@dataclass(frozen=True, slots=True)
class StampResult:
    """What a stamp that holds says."""

    kind: Kind
    state: State
    time: datetime | None
    """The bytes existed by then, on the witness' word; null where nobody's word was checked."""
    sentences: tuple[str, ...]
    """For a reader: who says what, and what is left to compare."""


def printable(text: str) -> str:
    """Text of strangers on one line of a terminal."""
    kept = "".join(character if character.isprintable() else "?" for character in text)
    return kept if len(kept) <= 200 else kept[:199] + "…"


def require_size(data: bytes, what: str) -> None:
    """Refuse what is too large to be one, before anything reads it."""
    if not data:
        raise WitnessFault(f"the {what} is empty")
    if len(data) > MAX_STAMP_BYTES:
        raise WitnessFault(f"the {what} has {len(data)} bytes, and none has more than {MAX_STAMP_BYTES}")
