"""Posting whole files: everything is checked before the first batch is posted, and posting again is safe."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from forelock.client import Client
from forelock.problem import Fault, ForelockProblem
from forelock.result_files import Part, require_distinct
from forelock.results import Results
from forelock.rows import SCALARS

Json = dict[str, Any]
ROW = re.compile(r"\brow ([0-9]+)\b")


@dataclass(frozen=True, slots=True)
class Piece:
    """A batch, and where in its part it begins."""

    part: Part
    start: int
    batch: Results


@dataclass(frozen=True, slots=True)
class Submission:
    """The files of one call, cut into batches."""

    pieces: Sequence[Piece]

    @classmethod
    def of(cls, parts: Sequence[Part], batch_size: int) -> Submission:
        """Cut the parts.

        Raises:
            FileFault: two lines speak of one item, arm, endpoint and replicate.
        """
        require_distinct(parts)
        return cls(
            [
                Piece(part, number * batch_size, batch)
                for part in parts
                for number, batch in enumerate(part.results.batches(batch_size))
            ]
        )

    @property
    def n(self) -> int:
        """How many results all pieces have together."""
        return sum(len(piece.batch) for piece in self.pieces)

    def check(self, client: Client, preregistration_id: str) -> None:
        """Have the service check every batch. A single one is stored whole or not at all, and needs none.

        Raises:
            ForelockProblem: with the lines of the files in place of rows.
        """
        if len(self.pieces) > 1:
            for piece in self.pieces:
                with _lines_of(piece):
                    client.check_batch(preregistration_id, piece.batch)

    def post(self, client: Client, preregistration_id: str) -> Iterator[Json]:
        """Post what is not in yet; yields the service's answers."""
        for piece in self.pieces:
            with _lines_of(piece):
                (answer,) = client.submit(
                    preregistration_id, piece.batch, batch_size=len(piece.batch), on_duplicate="skip"
                )
            yield answer


@contextmanager
def _lines_of(piece: Piece) -> Iterator[None]:
    """Tells faults of a batch by the lines of its file."""

    def name_line(message: str) -> str:
        return ROW.sub(lambda row: _place(piece, row), message, count=1)

    try:
        yield
    except ForelockProblem as problem:
        faults = tuple(
            Fault(error.path, name_line(_describe_fault(error, piece)), error.fix) for error in problem.errors
        )
        alone = len(faults) == 1 and problem.detail == problem.errors[0].sentence
        detail = faults[0].sentence if alone else name_line(problem.detail)
        raise ForelockProblem(problem.status, problem.code, detail, faults, problem.request_id) from None


def _describe_fault(fault: Fault, piece: Piece) -> str:
    """Return what is the matter; of a name that all rows of the batch share, with the first of them."""
    name = getattr(piece.batch, fault.path) if fault.path in SCALARS else None
    return fault.message if name is None else f"{piece.part.where(piece.start)}: '{name}' {fault.message}"


def _place(piece: Piece, row: re.Match[str]) -> str:
    index = piece.start + int(row[1]) - 1
    return piece.part.where(index) if index < len(piece.part.places) else row[0]
