"""Lint of arm cards: arms that nobody compares, and what somebody who runs an arm again would have to guess."""

from __future__ import annotations

from collections.abc import Iterator

from service.domain.plans.findings import Finding, error, warning
from service.domain.plans.plan import Plan
from service.words import say


def arm_findings(plan: Plan) -> Iterator[Finding]:
    """Find cards of no arm, and, in one finding, all that cards leave open; nothing where the plan has no cards."""
    cards = plan.arm_cards
    if cards is None or not plan.hypotheses:
        return
    compared = tuple(dict.fromkeys(arm for hypothesis in plan.hypotheses for arm in hypothesis.arms))
    for index, card in enumerate(cards):
        if card.id not in compared:
            known = ", ".join(f"'{arm}'" for arm in compared)
            yield error(
                "UNKNOWN_NAME", f"arms[{index}].id", say("findings.unknown_arm", arm=card.id, known=known)
            )
    described = {card.id: card for card in cards}
    gaps = [
        f"{arm} ({', '.join(lacks)})" if arm in described else arm
        for arm in compared
        if (lacks := described[arm].lacks() if arm in described else ("model",))
    ]
    if gaps:
        yield warning("ARM_UNDESCRIBED", "arms", say("findings.arm_undescribed", arms=", ".join(gaps)))
