"""Samples of Inspect against the same rows as CSV: read, checked and mapped, as an import does before it stores."""

from __future__ import annotations

import json
import resource
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from statistics import median

from benchmarks.harness import Measured, row

N, PER_LOG = 1_000_000, 100_000
ROUNDS = 3
INSPECT = {"format": "inspect", "scorer": "match", "cluster": "metadata.topic"}
TABLE = {"format": "csv", "cluster": "topic"}


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
    """Logs of half as many samples as one may have, and a table of all of them."""
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


def archive(log: Path, method: int) -> Path:
    """The same samples as `.eval`: Zstandard as Inspect writes it today, or deflate as it did."""
    log_ = json.loads(log.read_text())
    samples = ((f"samples/{each['id']}_epoch_1.json", json.dumps(each)) for each in log_.pop("samples"))
    made = log.with_suffix(f".{method}.eval")
    if method == zipfile.ZIP_DEFLATED:
        with zipfile.ZipFile(made, "w", method) as zipped:
            for name, text in samples:
                zipped.writestr(name, text)
            zipped.writestr("header.json", json.dumps(log_))
        return made
    header = json.dumps(log_)
    write_zstandard(made, (each for part in (samples, [("header.json", header)]) for each in part))
    return made


def write_zstandard(path: Path, entries: Iterable[tuple[str, str]]) -> None:
    """A zip archive of method 93, which the standard library cannot write yet."""
    import zstandard

    compressor, central = zstandard.ZstdCompressor(), []
    with path.open("wb") as file:
        for name, text in entries:
            content, at = text.encode(), file.tell()
            packed = compressor.compress(content)
            sizes = zlib.crc32(content), len(packed), len(content), len(name)
            file.write(
                struct.pack("<4s5H3L2H", b"PK\3\4", 63, 0, 93, 0, 33, *sizes, 0) + name.encode() + packed
            )
            central.append(
                struct.pack("<4s6H3L5H2L", b"PK\1\2", 63, 63, 0, 93, 0, 33, *sizes, 0, 0, 0, 0, 0, at)
                + name.encode()
            )
        begin, n = file.tell(), len(central)
        file.write(b"".join(central))
        end = file.tell()
        file.write(struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 63, 63, 0, 0, n, n, end - begin, begin))
        file.write(struct.pack("<4sLQL", b"PK\6\7", 0, end, 1))
        most = 0xFFFF
        file.write(
            struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, min(n, most), min(n, most), end - begin, begin, 0)
        )


def seconds(paths: Sequence[Path], section: dict[str, str], key: str) -> float:
    """Of processor time for a row, to read files as an import does."""
    from service.domain.plans.importing.imports import FORMATS
    from service.ingest.documents.files import Files
    from service.ingest.harnesses.registry import harness_of
    from service.ingest.mapping.rows import Collector, Target

    mapping = FORMATS[section["format"]].model_validate(section)
    began, n = time.process_time(), 0
    for path in paths:
        with path.open("rb") as file:
            reader = harness_of(mapping.format).open(Files.of(file), mapping.format, mapping)
            target = Target("accuracy", key, binary=True, values=mapping.VALUES)
            n += sum(len(rows.item_ids) for rows in Collector(mapping, [target], arm="A").read(reader).rows)
    if n % PER_LOG or not n:
        raise RuntimeError(f"{n} rows were read")
    return (time.process_time() - began) / n


def peak(path: Path, section: dict[str, str], key: str) -> float:
    """MiB that a process takes at most to read a file, beyond what it takes without one.

    Pages of the file itself, which the system may drop, count as well.
    """
    asked = [sys.executable, "-m", "benchmarks.imports", str(path), json.dumps(section), key]
    said = subprocess.run(asked, capture_output=True, check=True, text=True)
    return float(said.stdout)


@cache
def files() -> tuple[tempfile.TemporaryDirectory[str], dict[str, list[Path]]]:
    """The logs in every form, removed with the process."""
    folder = tempfile.TemporaryDirectory(prefix="forelock-bench-")
    logs, table = write(Path(folder.name))
    return folder, {
        "csv": [table],
        ".json": logs,
        ".eval, Zstandard": [archive(log, 93) for log in logs],
        ".eval, deflate": [archive(log, zipfile.ZIP_DEFLATED) for log in logs],
    }


def measured(form: str) -> Measured:
    """Both ways in turns, per million rows."""
    _, paths = files()
    turns = [
        (seconds(paths[form], INSPECT, "match"), seconds(paths["csv"], TABLE, "value")) for _ in range(ROUNDS)
    ]
    ours, peer = (median(each) * N for each in zip(*turns, strict=True))
    return Measured(ours, peer, median(a / b for a, b in turns))


NAME = f"{N:,} samples of Inspect"


@row(f"{NAME}, .json", group="imports", peer="the same rows as CSV", bar=2, at_most=True)
def _document() -> Measured:
    return measured(".json")


@row(f"{NAME}, .eval, Zstandard", group="imports", peer="the same rows as CSV", bar=2, at_most=True)
def _archive() -> Measured:
    return measured(".eval, Zstandard")


@row(f"{NAME}, .eval, deflate", group="imports", peer="the same rows as CSV", bar=2, at_most=True)
def _deflated() -> Measured:
    return measured(".eval, deflate")


@row(f"peak memory of {PER_LOG:,} samples, .eval", group="imports", peer="the log", bar=4, at_most=True)
def _peak() -> Measured:
    (log, *_) = files()[1][".eval, Zstandard"]
    ours, size = peak(log, INSPECT, "match"), log.stat().st_size / 2**20
    return Measured(ours, size, ours / size, unit="MiB")


def main() -> None:
    """Read one file, and say how much memory that took."""
    path, section, key = sys.argv[1:]
    before = most()
    seconds([Path(path)], json.loads(section), key)
    print((most() - before) / 1024)


def most() -> int:
    """KiB that this process has had at most. What the system counts for children begins with their parent's."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().partition("VmHWM:")[2].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
