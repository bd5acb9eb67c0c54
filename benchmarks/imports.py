"""Samples of Inspect against the same rows as CSV: read, checked and mapped, as an import does before it stores."""

from __future__ import annotations

import json
import tempfile
import time
import zipfile
from pathlib import Path
from statistics import median

from benchmarks.harness import Measured, row

N, PER_LOG = 1_000_000, 200_000
ROUNDS = 3


def sample(number: int) -> str:
    """A sample of about 700 bytes, of which an import needs a tenth."""
    return json.dumps(
        {
            "id": f"item-{number:07d}",
            "epoch": 1,
            "input": "What is 3 times 11?",
            "messages": [{"role": "user", "content": "What is 3 times 11? " * 8}],
            "output": {"model": "m", "choices": [{"message": {"content": "33"}, "stop_reason": "stop"}]},
            "scores": {"match": {"value": "C" if number % 3 else "I", "answer": "33", "history": []}},
            "metadata": {"topic": f"t{number % 50}"},
            "events": [],
        }
    )


def write(folder: Path) -> tuple[list[Path], Path]:
    """Logs of as many samples as one may have, and a table of all of them."""
    logs = []
    for first in range(0, N, PER_LOG):
        ids = [f"item-{number:07d}" for number in range(first, first + PER_LOG)]
        head = {"status": "success", "eval": {"dataset": {"sample_ids": ids}, "config": {"epochs": 1}}}
        logs.append(folder / f"{first}.json")
        samples = ",".join(map(sample, range(first, first + PER_LOG)))
        logs[-1].write_text(f'{json.dumps(head)[:-1]}, "samples": [{samples}]}}')
    table = folder / "rows.csv"
    with table.open("w") as file:
        file.write("item_id,topic,value\n")
        file.writelines(f"item-{number:07d},t{number % 50},{int(number % 3 > 0)}\n" for number in range(N))
    return logs, table


def archive(log: Path) -> Path:
    """The same samples as `.eval`, deflated: what the standard library can write."""
    found = json.loads(log.read_text())
    made = log.with_suffix(".eval")
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as zipped:
        for each in found.pop("samples"):
            zipped.writestr(f"samples/{each['id']}_epoch_1.json", json.dumps(each))
        zipped.writestr("header.json", json.dumps(found))
    return made


def seconds(paths: list[Path], section: dict[str, str], key: str) -> float:
    """Of processor time to read files as an import does."""
    from service.domain.plans.imports import FORMATS
    from service.ingest.harnesses.files import Files
    from service.ingest.harnesses.opening import open_files
    from service.ingest.harnesses.rows import Collector, Target

    mapping = FORMATS[section["format"]].model_validate(section)
    began, n = time.process_time(), 0
    for path in paths:
        with path.open("rb") as file:
            reader = open_files(mapping.format, Files.of(file), mapping)
            target = Target("accuracy", key, binary=True, values=mapping.VALUES)
            n += sum(len(rows.item_ids) for rows in Collector(mapping, [target], arm="A").read(reader).rows)
    if n % PER_LOG or not n:
        raise RuntimeError(f"{n} rows were read")
    return (time.process_time() - began) / n


def measured(suffix: str) -> Measured:
    """Both ways in turns, per million rows."""
    with tempfile.TemporaryDirectory() as folder:
        logs, table = write(Path(folder))
        paths = logs if suffix == ".json" else [archive(log) for log in logs]
        inspect = {"format": "inspect", "scorer": "match", "cluster": "metadata.topic"}
        turns = [
            (
                seconds(paths, inspect, "match"),
                seconds([table], {"format": "csv", "cluster": "topic"}, "value"),
            )
            for _ in range(ROUNDS)
        ]
    ours, peer = (median(each) * N for each in zip(*turns, strict=True))
    return Measured(ours, peer, median(a / b for a, b in turns))


@row(f"{N:,} samples of Inspect, .json", group="imports", peer="the same rows as CSV", bar=2, at_most=True)
def _document() -> Measured:
    return measured(".json")


@row(f"{N:,} samples of Inspect, .eval", group="imports", peer="the same rows as CSV", bar=2, at_most=True)
def _archive() -> Measured:
    return measured(".eval")
