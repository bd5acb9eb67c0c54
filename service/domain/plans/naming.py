"""Arms that were locked by a criterion, and the act that names what it chose, before any result of the arm."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Self

from pydantic import AwareDatetime, Field, model_validator
from pydantic_core import PydanticCustomError

from service.domain.canonical import canonical
from service.domain.plans.plan import Plan
from service.domain.plans.sections.arms import ArmCard, Described, one_line
from service.domain.plans.strings import Line, Paragraph
from service.errors import Conflict, InvalidData
from service.records import StrictRecord

MAX_BYTES = 32_000
"""Of the card and its evidence as canonical JSON: a leaf of the ledger holds them whole."""


class Evidence(StrictRecord):
    """What shows that the criterion chose this model: in words, by a link, or by the hash of a document."""

    text: Paragraph | None = Field(
        None, description="In words, such as what was released when, and what was not."
    )
    url: Line | None = Field(None, pattern="^https?://", description="Where it can be read.")
    sha256: str | None = Field(None, pattern="^[0-9a-f]{64}$", description="SHA-256 of a document of it.")

    @model_validator(mode="after")
    def _require_evidence(self) -> Self:
        if self.text is self.url is self.sha256 is None:
            raise PydanticCustomError(
                "evidence",
                "says nothing",
                {"fix": "give `text`, `url` or `sha256`: what shows that the criterion chose this model"},
            )
        return self

    def line(self) -> str:
        """Return what is said, in one line."""
        parts = (self.text, self.url, self.sha256 and f"SHA-256 {self.sha256}")
        return ", ".join(one_line(part) for part in parts if part)


class Naming(StrictRecord):
    """What an arm that was locked by a criterion turned out to be, and what shows it."""

    card: Described = Field(description="What was chosen; it names a `model`.")
    evidence: Evidence = Field(description="What shows that the criterion chose it.")

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Naming:
        """Return what a leaf of the ledger says."""
        return cls.model_validate({name: body[name] for name in cls.model_fields}, strict=False)

    def facts(self) -> dict[str, Any]:
        """Return the facts as the ledger has them, what is absent left out."""
        return self.model_dump(mode="json", exclude_none=True)


class NamedArm(StrictRecord):
    """An arm that was named, when, and by which leaf."""

    arm: str
    card: Described
    evidence: Evidence
    at: AwareDatetime
    sequence: int

    def line(self) -> str:
        """Return what was named and what shows it, in one line."""
        return f"{self.arm}: {one_line(self.card.text())} ({self.evidence.line()})"


def open_arms(plan: Plan) -> dict[str, ArmCard]:
    """Return the cards of arms that are locked by a criterion, by arm."""
    return {card.id: card for card in plan.arm_cards or () if card.criterion is not None}


def named_arms(plan: Plan) -> frozenset[str]:
    """Return the arms left open that were named, of a plan with what is known of its arms (`as_named`)."""
    return frozenset(arm for arm, card in open_arms(plan).items() if card.model is not None)


def require_named(plan: Plan, named: Collection[str], arm: str) -> None:
    """Refuse what belongs to an arm that nobody named yet.

    Raises:
        Conflict: `arm_unnamed`.
    """
    if arm in open_arms(plan) and arm not in named:
        raise Conflict(
            f"arm '{arm}' is locked by a criterion, and nobody has named what it chose: name it first "
            f"(`POST /arms/{arm}`, or `forelock name-arm`)",
            code="arm_unnamed",
        )


def require_nameable(plan: Plan, named: Collection[str], arm: str, naming: Naming) -> None:
    """Refuse a naming that the locked plan has no room for.

    Raises:
        Conflict: `arm_named` already.
        InvalidData: the arm is not locked by a criterion, or the card lacks a model or contradicts what is locked.
    """
    cards = open_arms(plan)
    if arm not in cards:
        known = ", ".join(f"'{name}'" for name in cards)
        raise InvalidData.field(
            "arm",
            "is not locked by a criterion",
            f"name one of {known}"
            if known
            else "the plan leaves no arm open: amend it while it has no result",
        )
    if arm in named:
        raise Conflict(
            f"arm '{arm}' was named already, once for all: whatever differs from it is a deviation",
            code="arm_named",
        )
    if naming.card.model is None:
        raise InvalidData.field("card.model", "is not there", "name the model that the criterion chose")
    if differs := cards[arm].differs(naming.card.facts()):
        raise InvalidData.field(
            "card",
            f"says something else than the locked plan ({', '.join(differs)})",
            "leave out what the plan has locked, or file a deviation",
        )
    if len(canonical(naming.facts())) > MAX_BYTES:
        raise InvalidData.field(
            "",
            f"takes more than {MAX_BYTES} bytes, and a leaf holds it whole",
            "say it shorter, or give a link",
        )


def describe_named(plan: Plan, namings: Mapping[str, Described]) -> Plan:
    """Return the plan with what is known now of the arms that were named: what their results are held against."""
    if not namings:
        return plan
    cards = tuple(
        _merge(card, namings[card.id]) if card.id in namings else card for card in plan.arm_cards or ()
    )
    return plan.model_copy(update={"arm_cards": cards})


def _merge(card: ArmCard, named: Described) -> ArmCard:
    """Return what is locked and what was named of one arm; what is locked goes first, within objects as well."""
    locked = card.model_dump(mode="json", exclude_none=True)
    named_fields = named.model_dump(mode="json", exclude_none=True)
    both = {
        name: {**value, **locked[name]}
        if isinstance(value, dict) and name in locked
        else locked.get(name, value)
        for name, value in named_fields.items()
    }
    return ArmCard.model_validate(locked | both, strict=False)
