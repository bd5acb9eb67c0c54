"""`forelock submit` ended at any moment and run again: complete, and nothing doubled."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from forelock import cli

from .conftest import Service
from .killed import Killed, dies
from .plans import items, locked, small_plan

pytestmark = pytest.mark.any_database

N = 8
BATCH = 3
REQUESTS = 12
"""Of a whole run: three batches an arm, each checked and then posted."""

Run = Callable[..., int]


@pytest.fixture
def submit(service: Service, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run the command; it dies with its request `dies_at`, before the service got it or before the answer came."""

    def run(prereg_id: str, file: Path, *, dies_at: int = 0, answered: bool = False) -> int:
        dies(monkeypatch, service, at=dies_at, answered=answered)
        return cli.main(
            ["submit", prereg_id, str(file), "--endpoint", "accuracy", "--batch-size", str(BATCH)]
        )

    return run


def written(path: Path, changes: dict[str, str]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["arm", "item_id", "value", "answer"])
        for arm in "AB":
            for number, item in enumerate(items(N)):
                writer.writerow([arm, item, changes.get(f"{arm} {item}", str(number % 2)), "a text"])
    return path


def counts(service: Service, prereg_id: str) -> tuple[int, int]:
    """Results that are in, and rows of the batches that hold them."""
    progress = service.client.get(f"/v1/preregistrations/{prereg_id}/progress").json()
    batches = service.client.get(f"/v1/preregistrations/{prereg_id}/batches").json()["items"]
    return progress["received"], sum(batch["n"] for batch in batches)


@pytest.mark.parametrize(
    "answered",
    [pytest.param(False, id="request lost", marks=pytest.mark.slow), pytest.param(True, id="answer lost")],
)
def test_ended_at_any_request_and_run_again(
    service: Service, submit: Run, tmp_path: Path, answered: bool
) -> None:
    file = written(tmp_path / "r.csv", {})
    for dies_at in range(1, REQUESTS + 1):
        prereg_id = locked(service.client, small_plan(N))
        with pytest.raises(Killed):
            submit(prereg_id, file, dies_at=dies_at, answered=answered)
        assert submit(prereg_id, file) == 0
        assert counts(service, prereg_id) == (2 * N, 2 * N), dies_at
        assert submit(prereg_id, file) == 0, "and once more, when everything is in"
        assert counts(service, prereg_id) == (2 * N, 2 * N)


@pytest.mark.parametrize("wrong", ["0.5", "yes", ""])
def test_a_wrong_row_stores_nothing_and_its_repair_completes_the_file(
    service: Service, submit: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: str
) -> None:
    prereg_id = locked(service.client, small_plan(N))
    file = written(tmp_path / "r.csv", {"B item-7": wrong})
    assert submit(prereg_id, file) != 0
    assert "r.csv line 17 (arm 'B')" in capsys.readouterr().err
    assert counts(service, prereg_id) == (0, 0)
    with pytest.raises(Killed):
        submit(prereg_id, written(file, {}), dies_at=REQUESTS - 1, answered=True)
    assert submit(prereg_id, file) == 0
    assert counts(service, prereg_id) == (2 * N, 2 * N)


def test_rows_that_come_later_are_added(service: Service, submit: Run, tmp_path: Path) -> None:
    prereg_id = locked(service.client, small_plan(N))
    file = written(tmp_path / "r.csv", {})
    whole = file.read_text().splitlines(keepends=True)
    file.write_text("".join(whole[:5]))
    assert submit(prereg_id, file) == 0
    file.write_text("".join(whole))
    assert submit(prereg_id, file) == 0
    assert counts(service, prereg_id) == (2 * N, 2 * N)
