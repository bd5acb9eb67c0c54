"""Deviations: departures from a locked plan, filed with reason, impact and direction. The plan stays as it is."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import AwareDatetime, Field

from service.domain.access import Key
from service.domain.canonical import canonical, sha256_hex
from service.domain.deviations.changes import OTHER, Change
from service.domain.deviations.classification import (
    Case,
    Classification,
    Facts,
    RuleApplied,
    classify,
    gentler,
)
from service.domain.deviations.direction import Direction, Reported, directions, effects
from service.domain.deviations.scope import find_touched
from service.domain.plans.plan import Plan
from service.domain.plans.sections.hypothesis import Claim
from service.domain.plans.strings import Line, Paragraph
from service.errors import Forbidden, InvalidData
from service.records import Record, StrictRecord

Decided = Literal["accept", "new_registration", "reject"]
MAX_DEVIATIONS = 100
"""Of one preregistration; beyond it a new one is the honest way."""
MAX_DECISIONS = 100
"""Of one deviation."""


class Filing(StrictRecord):
    """A deviation as its author files it."""

    title: Line = Field(description="In a few words, e.g. `H1a sample size 500 to 400`.")
    original: Paragraph = Field(description="What the plan says.")
    actual: Paragraph = Field(description="What was done instead.")
    reason: Paragraph = Field(description="Why.")
    impact: Paragraph = Field(description="What it does to the conclusions.")
    direction: Direction = Field(
        description="Which way the author says it pushes the claim. The service computes its own."
    )
    outcomes_seen: bool = Field(
        description="True when anybody who took part in the choice had seen an outcome, here or elsewhere. "
        "Only true counts: whether outcomes could be read is known from the record."
    )
    change: Change = Field(OTHER, description="What changed, in a form that can be computed with.")


class HypothesisDirection(Record):
    """Which way a deviation pushes one hypothesis."""

    hypothesis: str
    claim: Claim
    direction: Direction = Field(description="For the hypothesis' own claim.")
    null_direction: Direction = Field(
        description="For the sentence that no difference was found, should the rule fail."
    )
    measured: bool = Field(
        description="Read from the rows after the verdict, rather than from the change alone."
    )


class Decision(Record):
    """What a person decided about a deviation."""

    number: int
    classification: Decided
    note: str | None
    reviewer: str = Field(description="Name of the key that decided.")
    reviewer_key: str | None = Field(
        None, description="Id of that key; null in decisions of earlier releases."
    )
    gentler: bool = Field(description="It took back some of what stood, which only another person may do.")
    decided_at: AwareDatetime

    def sha256(self) -> str:
        """Return the SHA-256 of the canonical text, as it was stored: without fields that it did not have then."""
        return sha256_hex(canonical(self.model_dump(mode="json", exclude_unset=True)))


class Deviation(Record):
    """A filed deviation: what its author said, what the record knows, and what the rules made of it."""

    preregistration_id: str
    number: int
    plan_sha256: str
    filing: Filing
    author: str = Field(description="Name of the key that filed it.")
    author_key: str | None = Field(
        None, description="Id of that key; null in deviations of earlier releases."
    )
    facts: Facts
    directions: tuple[HypothesisDirection, ...]
    classification: Classification
    rule: RuleApplied
    filed_at: AwareDatetime

    def sha256(self) -> str:
        """Return the SHA-256 of the canonical text, as it was stored: without fields that it did not have then."""
        return sha256_hex(canonical(self.model_dump(mode="json", by_alias=True, exclude_unset=True)))

    @property
    def stated_agrees(self) -> bool:
        """The author's direction is that of every hypothesis the change touches."""
        return all(direction.direction == self.filing.direction for direction in self.directions)


Measured = Mapping[str, Mapping[Reported, Direction]]
"""By hypothesis: the direction that the rows show."""


def judge_filing(
    plan: Plan, filing: Filing, facts: Facts, measured: Measured | None = None
) -> tuple[tuple[HypothesisDirection, ...], Classification, RuleApplied]:
    """Return the directions of a deviation and its classification. Check the change against the plan before."""
    computed = directions(effects(filing.change, plan))
    judged = []
    for hypothesis in find_touched(plan, filing.change):
        seen = (measured or {}).get(hypothesis.id)
        by_claim = computed if seen is None else seen
        judged.append(
            HypothesisDirection(
                hypothesis=hypothesis.id,
                claim=hypothesis.claim,
                direction=by_claim[hypothesis.claim],
                null_direction=by_claim["null"],
                measured=seen is not None,
            )
        )
    case = Case(plan, filing.change, facts, [consequence.direction for consequence in judged])
    return (tuple(judged), *classify(case))


def require_person(key: Key, action: str) -> None:
    """Refuse a key that names a job: who stands behind it is not known.

    Raises:
        Forbidden: `person_required`.
    """
    if key.kind != "person":
        raise Forbidden(
            f"this API key names a job; {action} needs one that names a person", code="person_required"
        )


@dataclass(frozen=True, slots=True)
class Person:
    """Who acts, as far as a key tells: its name, and the ids of it and of the keys that led to it."""

    name: str
    key_id: str | None = None
    makers: frozenset[str] = frozenset()
    """The key that made it, the one that made that, and so on. Whoever makes a key knows its secret."""

    def may_be(self, other: Person) -> bool:
        """Tell whether one person can be behind both: one name, however it is spelt, one key, or one made the other."""
        ids = {self.key_id, *self.makers}, {other.key_id, *other.makers}
        made = self.key_id in ids[1] or other.key_id in ids[0]
        known = self.key_id is not None and other.key_id is not None
        return _person(self.name) == _person(other.name) or (known and made)


def require_may_decide(
    author: Person, reviewer: Person, standing: Classification, wanted: Decided, note: str | None
) -> bool:
    """Tell whether the decision is gentler than what stands; refuses what its reviewer may not decide.

    Stricter, or the same again, anybody may who may review. Gentler needs a note, and a person who cannot be
    the author.

    Raises:
        Forbidden: `reviewer_is_author`.
        InvalidData: the note is missing.
    """
    if not gentler(wanted, standing):
        return False
    if author.may_be(reviewer):
        raise Forbidden(
            f"'{wanted}' is gentler than '{standing}', and a deviation's author may only be stricter: ask another "
            "person to decide, with a key that neither made the author's key nor was made by it",
            code="reviewer_is_author",
        )
    if note is None:
        raise InvalidData.field(
            "note", f"is missing, and '{wanted}' is gentler than '{standing}'", "say why in a note"
        )
    return True


def standing(deviation: Deviation, decisions: tuple[Decision, ...]) -> Classification:
    """Return the classification that counts now: the latest decision's, else the rules'."""
    return decisions[-1].classification if decisions else deviation.classification


def _person(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
