"""What is told of slices: where each stands, and whether the arms change sides between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, PlainSerializer

from service.records import Record
from service.words import read, spoken

MOST_SLICES = 200
"""With more of them they are no categories to read about."""

Standing = Literal["pass", "fail", "cannot_tell"]


def _speak_reason(reason: str | None) -> str | None:
    """A reason in the language that is spoken, where a template reads it; nothing that is stored is written so."""
    known = None if reason is None or spoken() == "en" else read("reasons", reason)
    return reason if known is None else known.text(spoken())


class Reversal(Record):
    """Whether the arms change sides between slices (Gail & Simon 1985, Biometrics 41:361)."""

    p_value: float | None = Field(description="Of H0: no slice has a true difference of another sign.")
    gains: float | None = Field(description="Sum of squared z of slices where the candidate is higher.")
    losses: float | None = Field(
        description="The same where it is lower; the smaller of both is the statistic."
    )
    slices: int = Field(description="How many were weighed.")
    shown: bool | None = Field(description="The p-value is below alpha; null: undefined.")
    reason: Annotated[str | None, PlainSerializer(_speak_reason)] = Field(
        None, description="Why it is undefined."
    )


def adjust_slices(p_values: Sequence[float | None]) -> list[float | None]:
    """Return Holm's p of every slice that has one, over all; the least that is told apart where it lies below."""
    from service.kernels.multiplicity.corrections import correct_known  # every answer loads the records above
    from service.stats.shared.data.pairs import apply_floor

    return [apply_floor(p, "p_adjusted", {}) for p in correct_known(p_values)]
