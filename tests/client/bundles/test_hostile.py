"""Bundles that are made to cost memory: whoever checks one needs little more than the longest text that it may hold."""

from __future__ import annotations

import re
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from forelock.bundles.faults import Broken
from forelock.bundles.receipts import Entry
from forelock.bundles.record import MAX_VOIDS, Record
from forelock.bundles.rows import MAX_BATCHES, Batch, Batches

from .hostile import HOSTILE
from .making import ID, batch_body

MOST_MIB = {"": 300, "--server": 340}
"""Without judging again and with it, which loads the statistical tests."""
QUICK = {
    "one long string",
    "lists in the index",
}


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=() if each in QUICK else pytest.mark.slow) for each in HOSTILE]
)
@pytest.mark.parametrize("judging", ["", pytest.param("--server", marks=pytest.mark.slow)])
def test_a_hostile_bundle_is_refused_in_little_memory(tmp_path: Path, name: str, judging: str) -> None:
    """In a process of its own, whose peak is its own."""
    file = tmp_path / "hostile.zip"
    file.write_bytes(HOSTILE[name]())
    said = subprocess.run(
        [sys.executable, "-m", "tests.client.bundles.hostile", str(file), *judging.split()],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert said.stderr == ""
    assert len(said.stdout) < 500_000
    peak, status = re.findall(r"peak (\d+) MiB status (\d+)", said.stdout)[-1]
    assert int(peak) < MOST_MIB[judging]
    assert int(status) == (1 if name in ("one long string", "runs") else 3)


def batch(number: int, run: str | None = None) -> Batch:
    return Batch(number, "p", "A", "accuracy", run, 7, f"{number:064x}")


def test_batches_take_few_bytes_and_come_back_as_they_were() -> None:
    tracemalloc.start()
    try:
        kept = Batches()
        for number in range(1, 20_001):
            kept.append(5 * number, batch(number))
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < 80 * 20_000
    assert list(kept)[:2] == [(5, batch(1)), (10, batch(2))]
    assert kept[19_999] == (100_000, batch(20_000))


def test_what_is_kept_of_batches_has_an_end() -> None:
    def append_all() -> None:
        kept = Batches()
        for number in range(1, 3_000):
            kept.append(number, batch(number, f"{number}" + "x" * 2_000))

    with pytest.raises(Broken, match="longer names"):
        append_all()
    with pytest.raises(Broken, match="no hash"):
        Batches().append(0, Batch(1, "p", "A", "accuracy", None, 1, "x" * 64))
    assert 60 * MAX_BATCHES < 200 << 20


def test_struck_batches_have_an_end() -> None:
    record = Record(ID)
    record.take(Entry(1, "batch", batch_body(1, "A", b"", 1)))
    record.voids = dict.fromkeys(range(2, MAX_VOIDS + 2), "")
    with pytest.raises(Broken, match="were struck"):
        record.take(Entry(2, "batch_voided", {"preregistration_id": ID, "batch": 1, "reason": "x"}))


def test_long_entries_have_an_end_together() -> None:
    def take_all() -> None:
        record = Record(ID)
        for index in range(10_000):
            record.take(Entry(index, "look", {"preregistration_id": ID}, 400_000))

    with pytest.raises(Broken, match="more and longer entries"):
        take_all()
    others = Record(ID)
    for index in range(10_000):
        others.take(Entry(index, "run", {"preregistration_id": ID, "environment": "x"}, 400_000))
    assert {str(each.body) for each in others.others} == {"{}"}
