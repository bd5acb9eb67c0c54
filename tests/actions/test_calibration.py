"""Calibrating a plan on its own open rows, or on the caller's data."""

from __future__ import annotations

import pytest

from service.actions.verdicts import calibration as actions
from service.domain.calibration.case import unpack
from service.domain.calibration.pilot import Pilot
from service.errors import Conflict, InvalidData

from .conftest import BASELINE, CANDIDATE, N, World

PILOT = Pilot(population="p", baseline=tuple(map(float, BASELINE)), candidate=tuple(map(float, CANDIDATE)))


def test_a_record_s_rows_are_flipped_after_its_verdict_alone(world: World) -> None:
    record = world.complete()
    with pytest.raises(Conflict):
        world.write(actions.of_record, record, runs=1000, seed=1)
    case = world.write(actions.of_record, world.judge(record), runs=1000, seed=1)
    assert case.about["data"] == "record"
    assert case.manifests["p"].n == N


def test_a_pilot_needs_no_result_of_the_record(world: World) -> None:
    case = actions.of_pilot(world.draft(), (PILOT,), runs=1000, seed=1)
    assert case.about["data"] == "pilot"
    asked = actions.computation(case, 3.0)
    blocks, seconds = asked.work()
    assert (asked.kind, seconds) == (actions.KIND, 3.0)
    assert blocks >= 1
    assert unpack(asked.body).about == case.about


def test_a_pilot_of_too_many_items_and_a_case_of_too_many_hours_are_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = world.draft()
    case = actions.of_pilot(record, (PILOT,), runs=1000, seed=1)
    assert actions.affordable(case) > 0
    monkeypatch.setattr(actions, "MOST_SECONDS", 0)
    with pytest.raises(InvalidData) as refused:
        actions.affordable(case)
    assert refused.value.problem_code == "too_long"
    monkeypatch.setattr(actions, "MAX_ROWS", N - 1)
    with pytest.raises(InvalidData, match=f"more than {N - 1} items"):
        actions.of_pilot(record, (PILOT,), runs=1000, seed=1)
