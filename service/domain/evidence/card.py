"""The five pieces of evidence of a comparison, scored: what a reviewer asks for, answered in a minute.

They are the preregistration, a paired test, an equivalence test, intervals that respect clusters, and proof that
nobody stopped where it suited. Each scores 0 (not there), 1 (planned or claimed) or 2 (shown). A record
scores what it proves and never more; before its verdict nothing here follows from outcomes.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from service.domain.notes.said import Words, in_words
from service.records import Record
from service.words import Message, message

PieceId = Literal[
    "preregistration", "paired_test", "equivalence", "clustered_interval", "no_optional_stopping"
]
Score = Literal[0, 1, 2]
MOST_PER_PIECE = 2


class Check(Record):
    """One thing looked at."""

    says: Words
    holds: bool | None = Field(description="Null: not known yet, or nobody said.")
    by: Literal["record", "author"] = Field(
        description="`record`: the service's own record shows it. `author`: somebody's word."
    )


class Piece(Record):
    """One of the five pieces of evidence."""

    id: PieceId
    title: Words
    score: Score | None = Field(
        description="0: not there; 1: planned or claimed; 2: shown. Null: does not apply."
    )
    checks: tuple[Check, ...]


def yes(holds: bool | None, says: Message, *, by: Literal["record", "author"] = "record") -> Check:
    """Return a check with its words."""
    return Check(says=in_words(says), holds=holds, by=by)


def title(of: PieceId) -> Words:
    """Return what a piece of evidence is called."""
    return in_words(message(f"evidence.title_{of}"))


def piece(of: PieceId, checks: list[Check], *, least: int) -> Piece:
    """Score a piece: 0 unless its first `least` checks hold, 2 when all do on the record's own showing, else 1.

    What rests on somebody's word is claimed, not shown: it scores 1 at most.
    """
    there = all(check.holds for check in checks[:least])
    on_record = there and all(check.holds and check.by == "record" for check in checks)
    score: Score = 0 if not there else 2 if on_record else 1
    return Piece(id=of, title=title(of), score=score, checks=tuple(checks))


def total(pieces: tuple[Piece, ...]) -> tuple[int, int]:
    """Return the sum of the scores, and the most the pieces that apply could reach."""
    scores = [piece.score for piece in pieces if piece.score is not None]
    return sum(scores), MOST_PER_PIECE * len(scores)
