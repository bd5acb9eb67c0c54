"""What a multiverse is made of: choices, universes, and each hypothesis over all of them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from service.domain.deviations.consequences import NotComputed
from service.domain.verdicts.records import Outcome, Role
from service.records import Record

Position = Literal["as_planned", "as_run", "one_choice", "one_reversed", "combination"]


class Fork(Record):
    """A choice that was open, and its alternatives."""

    id: str = Field(
        description="`deviation-2`, or `sweep-tau`; with `@` and the population where it names one."
    )
    kind: Literal["deviation", "sweep"]
    deviation: int | None = Field(description="Number of the deviation; null for a sweep.")
    threshold: str | None = Field(description="Name of the threshold; null for a deviation.")
    options: tuple[str, ...] = Field(description="As planned, or as the arms were run, first.")


class InUniverse(Record):
    """One hypothesis in one universe."""

    outcome: Outcome | None = Field(description="Null: there is none here, for the reason given.")
    passes: bool | None = Field(description="Its rule holds; null: unknown, or not computed.")
    delta: float | None
    n: int | None
    reason: str | None


class Universe(Record):
    """Every choice made one way, and what came of it."""

    number: int
    position: Position = Field(
        description="`one_choice`: a single departure from the plan. `one_reversed`: everything as run, but for "
        "one deviation."
    )
    choices: dict[str, str] = Field(description="What was chosen, by choice.")
    departures: int = Field(description="Choices that are not as planned.")
    hypotheses: dict[str, InUniverse]


class HypothesisUniverses(Record):
    """A hypothesis over all universes that were computed."""

    hypothesis: str
    role: Role
    outcome_planned: Outcome
    passes_planned: bool | None
    universes: int = Field(description="Universes in which it has an outcome.")
    passes: int = Field(description="Those in which its rule holds.")
    share: float | None = Field(description="`passes` of `universes`.")
    outcomes: dict[Outcome, int]
    decided_by: tuple[str, ...] = Field(
        description="Choices that change whether it passes when they alone leave the plan."
    )
    sentence: str


class Multiverse(Record):
    """A verdict under the other choices on record. The verdict itself stays as it is."""

    choices: tuple[Fork, ...]
    total: int | None = Field(description="All combinations of the choices; null above 2^53.")
    cap: int = Field(description="Universes at most.")
    computed: int
    hypotheses: tuple[HypothesisUniverses, ...]
    universes: tuple[Universe, ...] = Field(description="As planned, as run, then by how far they depart.")
    not_computed: tuple[NotComputed, ...] = Field(description="Deviations that open no choice.")
    values_without_results: tuple[str, ...] = Field(description="Values of sweeps that no result shows.")
    reasons: tuple[str, ...] = Field(description="Why universes were left out.")
    note: str
