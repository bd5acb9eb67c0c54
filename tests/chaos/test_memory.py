"""Growth is told of what is held after the start, by role, and so are the commands that look for leaks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chaos import fuzz, leaks
from tests.chaos.memory import growth
from tests.chaos.soak import soak
from tests.every_route import OPERATIONS


def row(seconds: int, role: str, pid: int, mib: float) -> dict[str, Any]:
    kib = int(1024 * mib)
    return {
        "world": "w", "seconds": seconds, "role": role, "pid": pid, "rss_kib": kib, "anonymous_kib": kib // 2
    }  # fmt: skip


def test_growth_is_that_of_all_processes_of_a_role_after_the_start() -> None:
    starting = {0: 10.0, 60: 60.0, 120: 90.0}
    rows = [row(at, "API", 1, starting.get(at, 100 + at / 60)) for at in range(0, 1201, 60)]
    rows += [row(at, "worker", pid, 50) for at in range(0, 1201, 60) for pid in (2, 3)]
    api, workers = growth(rows)
    assert api.rss_mib_per_hour == pytest.approx(60, abs=0.1)
    assert api.own_mib_per_hour == pytest.approx(30, abs=0.1)
    assert (workers.processes, workers.begin_mib) == (2, 100)
    assert workers.rss_mib_per_hour == pytest.approx(0, abs=1e-6)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_databases_that_differ_in_outcomes_answer_alike() -> None:
    found = leaks.run("SQLite", 100, seed=3)
    assert found.differences == []
    assert found.operations.total() == 100


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("database", leaks.DATABASES)
def test_databases_that_differ_in_outcomes_answer_alike_to_every_operation(database: str) -> None:
    found = leaks.run(database, 8000, seed=1)
    assert found.differences == []
    assert set(found.operations) == {each.id for each in leaks.CALLS}


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_bucket_tells_no_outcome_either() -> None:
    found = leaks.run("SQLite", 500, seed=5, in_bucket=True)
    assert found.differences == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("database", fuzz.DATABASES)
def test_no_request_brings_down_a_route_or_shows_another_projects_data(database: str) -> None:
    found = fuzz.run(database, 3000, seed=2)
    assert found.faults == []
    assert set(found.by_operation) == {each.id for each in OPERATIONS}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["SQLite", "Postgres"])
def test_a_short_soak_sees_every_process(name: str) -> None:
    rows: list[dict[str, Any]] = []
    said = soak(name, 1.5, 0.5, rows)
    assert said.startswith(name)
    assert {"supervisor", "nursery", "API", "runner", "calculator", "Dask worker"} <= {
        each["role"] for each in rows
    }
