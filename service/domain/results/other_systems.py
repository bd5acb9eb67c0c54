"""Results of another system than an arm's card describes, as files said when they came in or runs before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from service.domain.plans.plan import Plan
from service.domain.plans.sections.arms import ArmCard
from service.domain.results.runs import BoundRun, NamedBatch


@dataclass(frozen=True, slots=True)
class OtherSystem:
    """The batches of one arm that are not of the system on its card, and the fields that differ in any of them."""

    card: ArmCard
    fields: tuple[str, ...]
    batches: tuple[NamedBatch, ...]


def other_systems(
    plan: Plan, batches: Sequence[NamedBatch], runs: Mapping[str, BoundRun]
) -> Iterator[OtherSystem]:
    """Yield every arm of which some batch differs from the card, in the order of the cards.

    A run says what it is by its `environment`, under the names that the card's fields have: `model.revision`.
    """
    for card in plan.arm_cards or ():
        differing = {batch: _fields(card, batch, runs) for batch in batches if batch.arm == card.id}
        differing_fields = {field for fields in differing.values() for field in fields}
        if differing_fields:
            yield OtherSystem(
                card,
                tuple(field for field in card.facts() if field in differing_fields),
                tuple(batch for batch, fields in differing.items() if fields),
            )


def _fields(card: ArmCard, batch: NamedBatch, runs: Mapping[str, BoundRun]) -> set[str]:
    bound = None if batch.run is None else runs.get(batch.run)
    by_run = () if bound is None else card.differs(bound.run.environment)
    known = card.facts()
    return {*by_run, *(field for field in batch.card_differs if field in known)}
