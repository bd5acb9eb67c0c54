"""How far a record is: counts alone."""

from __future__ import annotations

from datetime import timedelta

from service.actions.results.progress import progress
from service.actions.verdicts.overviews import Progress, progress_of
from service.store.plans import record_lists
from tests.journeys.plans import small_plan

from .conftest import NOW, N, World


def test_what_is_in_is_counted_by_arm(world: World) -> None:
    record = world.locked()
    world.post(record, "B", [1, 0, 1])
    found = world.write(progress, world.read(record), now=NOW)
    assert {cell.arm: (received, cell.size) for cell, received in found.cells} == {"A": (0, N), "B": (3, N)}
    assert (found.batches, found.status_counts, found.overdue) == (1, None, False)


def test_a_record_is_overdue_after_the_day_it_named_until_it_is_complete(world: World) -> None:
    plan = small_plan(N) | {"results_due": NOW.date().isoformat()}
    open_, complete = world.locked(plan), world.complete(plan)
    late = NOW + timedelta(days=1)
    assert not world.write(progress, open_, now=NOW).overdue
    assert world.write(progress, open_, now=late).overdue
    assert not world.write(progress, complete, now=late).overdue


def test_statuses_are_told_under_a_policy_that_excludes(world: World) -> None:
    record = world.locked(small_plan(N, missing="exclude_pair"))
    world.post(record, "A", [1, None, None], status=["ok", "error", "missing"])
    found = world.write(progress, world.read(record), now=NOW)
    assert found.status_counts == {"ok": 1, "error": 1, "missing": 1}


def test_a_list_counts_what_waits_for_results_alone(world: World) -> None:
    """A draft expects nothing, and of a judged record, whose results are known, no count is read."""
    world.draft()
    world.judged()
    locked, collecting = world.locked(), world.locked()
    world.post(collecting, "A", [1, 0, 1])
    lines, _next = world.write(record_lists.read_page, "project")
    assert len(lines) == 4
    counts = world.write(progress_of, "project", lines)
    assert counts == {locked.id: Progress(0, 2 * N), collecting.id: Progress(3, 2 * N)}
