"""What is known of a claim."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from service.domain.evidence.record import Known
from service.domain.notes.notes import sentences
from service.domain.plans.preregistration import Preregistration
from service.domain.power.rule_power import power_at_reference
from service.domain.rules.settings import resolve
from tests.domain.sample import NOW, binary, facts_of, outcomes, plan, verdict_of


def known(changes: dict[str, Any] | None = None, *, judged: bool = False, **more: Any) -> Known:
    """A locked record of the sample plan with every result in, or judged."""
    changed = plan(changes or {})
    facts = facts_of(changed)
    powers = {
        each.hypothesis.id: power_at_reference(changed, facts, each) for each in resolve(changed).settings
    }
    verdict = verdict_of(changes or {}, outcomes(*binary(500, 300, 40, 10))) if judged else None
    record = Preregistration(
        id="p1", project_id="p", state="judged" if judged else "locked", revision=2, version=1, plan=changed,
        created_at=NOW, locked_at=NOW, judged_at=NOW if judged else None,
    )  # fmt: skip
    base = Known(
        record=record, received=1000 if judged else 0, expected=1000, lock_sequence=3,
        first_batch_sequence=4 if judged else None, first_result_at=NOW if judged else None, unblindings=(),
        standing=(), powers=powers, verdict=verdict,
        sentences=() if verdict is None else sentences(changed, verdict, powers),
    )  # fmt: skip
    return replace(base, **more)
