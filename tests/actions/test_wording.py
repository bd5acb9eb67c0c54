"""What a text may lean on: the analyses that are sent, the plan, and the verdict once there is one."""

from __future__ import annotations

from typing import Any

from service.actions.verdicts.wording import read_support

from .conftest import World

ONE_SIDED: dict[str, Any] = {"test": "mcnemar", "analysis": {"alternative": "greater"}}
EQUIVALENT: dict[str, Any] = {"test": "equivalence", "analysis": {"equivalent": True}}
ADJUSTED: dict[str, Any] = {"test": "multiple-comparisons", "analysis": {}}


def test_analyses_show_what_they_hold(world: World) -> None:
    nothing = world.write(read_support, None, [])
    assert (nothing.equivalent, nothing.corrected, nothing.one_sided) == (False, False, False)
    assert world.write(read_support, None, [ONE_SIDED]).one_sided
    assert world.write(read_support, None, [EQUIVALENT]).equivalent
    assert world.write(read_support, None, [ADJUSTED]).corrected
    assert world.write(read_support, None, [{"test": "mcnemar", "analysis": "text"}]) == nothing


def test_a_record_shows_its_plan_before_the_verdict_and_its_outcomes_after(world: World) -> None:
    record = world.complete()
    before = world.write(read_support, record, [])
    assert (before.primary, before.outcomes, before.sentences) == (["accuracy"], {}, {})
    (outcome,) = world.write(read_support, world.judge(record), []).outcomes.values()
    assert outcome == "supported"
