"""The verdict under other choices, from the rows that it opened."""

from __future__ import annotations

import pytest

from service.actions.verdicts import opening
from service.actions.verdicts.multiverse import of_verdict
from service.store.verdicts import verdicts

from .conftest import World


def test_a_verdict_without_deviations_stands_as_planned(world: World) -> None:
    record = world.judged()
    verdict = world.write(verdicts.find, "project", record.id)
    found = world.write(of_verdict, record, verdict)
    assert [each.hypothesis for each in found.hypotheses] == [each.id for each in verdict.hypotheses]


def test_without_the_rows_the_verdict_stands_alone_with_the_reason(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = world.judged()
    verdict = world.write(verdicts.find, "project", record.id)
    monkeypatch.setattr(opening, "MAX_ROWS", 5)
    assert "20 results" in world.write(of_verdict, record, verdict).model_dump_json()
