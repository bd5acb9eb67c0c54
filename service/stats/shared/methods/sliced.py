"""What is told of slices: where each stands, and whether the arms change sides between them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from service.records import Record

MOST_SLICES = 200
"""With more of them they are no categories to read about."""

Standing = Literal["pass", "fail", "cannot_tell"]


class Reversal(Record):
    """Whether the arms change sides between slices (Gail & Simon 1985, Biometrics 41:361)."""

    p_value: float | None = Field(description="Of H0: no slice has a true difference of another sign.")
    gains: float | None = Field(description="Sum of squared z of slices where the candidate is higher.")
    losses: float | None = Field(
        description="The same where it is lower; the smaller of both is the statistic."
    )
    slices: int = Field(description="How many were weighed.")
    shown: bool | None = Field(description="The p-value is below alpha; null: undefined.")
    reason: str | None = Field(None, description="Why it is undefined.")
