"""Bundles that are whole and signed, and made to cost whoever checks them memory: each is written to a file.

Run as `python -m tests.client.bundles.hostile FILE` it verifies that file and prints the peak memory in MiB and the
exit status, judging again with `--server`. With a name before the file it writes that bundle there.
"""

from __future__ import annotations

import hashlib
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from forelock.bundles.container import Writer
from tests.client.bundles.making import (
    ID,
    World,
    batch_body,
    block,
    judged,
    locked,
    plan,
    say,
    sha256,
    text,
    verdict,
)

MIB = 1 << 20


def with_plan(text_: bytes) -> bytes:
    """A locked plan of these bytes."""
    world = World()
    world.members["plans/1.json"] = text_
    world.log("plan_locked", {"preregistration_id": ID, "version": 1, "plan_sha256": sha256(text_)})
    return world.bundle()


def with_items(items: bytes, n: int = 4) -> bytes:
    world = World()
    plan_text = text(plan(sha256(items), n))
    world.members |= {"plans/1.json": plan_text, "manifests/0.json": items}
    world.log("plan_locked", {"preregistration_id": ID, "version": 1, "plan_sha256": sha256(plan_text)})
    return world.bundle()


def with_verdict(said: bytes) -> bytes:
    world = judged()
    world.leaves, world.own = world.leaves[:-2], world.own[:-1]
    world.members["verdict.json"] = said
    sha = sha256(world.members["plans/1.json"])
    world.log("verdict", {"preregistration_id": ID, "plan_sha256": sha, "verdict_sha256": sha256(said)})
    return world.bundle()


def filled(piece: bytes, size: int, before: bytes = b"[", after: bytes = b"]") -> bytes:
    """A text of about a size that repeats a piece."""
    return before + b",".join([piece] * (size // (len(piece) + 1))) + after


def many_batches(n: int, longer: str = "") -> bytes:
    world = locked()
    rows = bytearray()
    for number in range(1, n + 1):
        data = block(number.to_bytes(16, "big"), [0], [1])
        body = batch_body(number, "A", data, 1) | {"run": f"run {number} {longer}"}
        world.log("batch", body)
        rows += data
    world.members["rows.bin"] = bytes(rows)
    return judged(world=world).bundle()


def many_entries(kind: str, n: int, **body: Any) -> bytes:
    world = locked()
    for _ in range(n):
        world.log(kind, {"preregistration_id": ID, **body})
    return world.bundle()


def many_arms() -> bytes:
    """A plan that names a million pairs of arms, in the fewest bytes."""
    said = plan("0" * 64) | {
        "hypotheses": [
            {"id": f"{k}", "population": "p", "baseline": f"a{k}", "candidate": f"b{k}"}
            for k in range(90_000)
        ],
        "endpoints": [{"id": f"e{k}"} for k in range(200)],
    }
    items = text({"item_ids": ["a"]})
    said["populations"] = [{"id": "p", "n": 1, "items_sha256": sha256(items)}]
    plan_text = text(said)
    world = World()
    world.members |= {"plans/1.json": plan_text, "manifests/0.json": items}
    world.log("plan_locked", {"preregistration_id": ID, "version": 1, "plan_sha256": sha256(plan_text)})
    data = block(bytes(16), [0], [1])
    world.log("batch", batch_body(1, "a1", data, 1))
    world.members["rows.bin"] = data
    say(
        world,
        verdict(sha256(plan_text))
        | {"hypotheses": [{"id": f"{k}", "outcome": "supported"} for k in range(90_000)]},
    )
    return world.bundle()


def one_wide_batch() -> bytes:
    """A batch that claims fifty million rows, and has them."""
    world = locked()
    n = 4_000_000
    data = bytes(16) + bytes(23 * n)
    world.log("batch", batch_body(1, "A", data, n))
    world.members["rows.bin"] = data
    return judged(world=world).bundle()


def many_stamps() -> bytes:
    world = judged()
    for size in range(1, 9):
        world.members[f"checkpoints/{size}.note"] = (
            world.note(size).encode().replace(b"\n\n", b"\n" + b"x" * 900_000 + b"\n\n", 1)
        )
        world.members[f"checkpoints/{size}.tsr"] = bytes(64 * 1024)
    return world.bundle()


def crowded() -> bytes:
    """As many members as a zip has, of names that a bundle may have."""
    world = locked()
    world.members |= {f"deviations/{number}.json": b"{}" for number in range(1, 65_000)}
    return world.bundle()


SMALL = 24 * MIB
HOSTILE: dict[str, Callable[[], bytes]] = {
    "numbers in a plan": lambda: with_plan(filled(b"0", SMALL)),
    "lists in a plan": lambda: with_plan(filled(b"[]", 8 * MIB - 100)),
    "objects in a plan": lambda: with_plan(filled(b"{}", 8 * MIB - 100)),
    "nested lists": lambda: with_plan(b"[" * 4 * MIB + b"]" * 4 * MIB),
    "nested objects": lambda: with_plan(b'{"a":' * MIB + b"0" + b"}" * MIB),
    "nested, not closed": lambda: with_plan(b"[" * 8 * MIB),
    "floats in a plan": lambda: with_plan(filled(b"0.5", 8 * MIB - 100)),
    "one long string": lambda: with_plan(
        b'{"title":"' + b"a" * (8 * MIB - 100) + "\N{GRINNING FACE}".encode() + b'"}'
    ),
    "strings of one wide character": lambda: with_plan(filled('"\N{GRINNING FACE}"'.encode(), 8 * MIB - 100)),
    "a name that comes again": lambda: with_plan(filled(b'"a":0', 8 * MIB - 100, b"{", b"}")),
    "names": lambda: with_plan(b"{" + b",".join(b'"%06d":0' % k for k in range(700_000)) + b"}"),
    "lists in a list of items": lambda: with_items(filled(b"[]", 3 * SMALL, b'{"item_ids":[', b"]}")),
    "numbers in a list of items": lambda: with_items(filled(b"0", 3 * SMALL, b'{"item_ids":[', b"]}")),
    "items": lambda: with_items(filled(b'"a"', 4 * SMALL, b'{"item_ids":[', b"]}")),
    "wide items": lambda: with_items(
        filled('"\N{GRINNING FACE}"'.encode(), 4 * SMALL, b'{"item_ids":[', b"]}")
    ),
    "one long item": lambda: with_items(b'{"item_ids":["' + b"a" * 4 * SMALL + b'"]}', 1),
    "numbers in a verdict": lambda: with_verdict(filled(b"0", 15 * MIB)),
    "lists in a verdict": lambda: with_verdict(filled(b"[]", 15 * MIB)),
    "wide text in a verdict": lambda: with_verdict(
        b'["' + b"a" * 15 * MIB + "\N{GRINNING FACE}".encode() + b'"]'
    ),
    "numbers in the index": lambda: _index(filled(b"0", 15 * MIB)),
    "lists in the index": lambda: _index(filled(b"[]", 15 * MIB)),
    "batches": lambda: many_batches(600),
    "batches of runs with long names": lambda: many_batches(400, "a" * 30_000),
    "runs": lambda: many_entries("run", 400, environment=["x" * 100] * 400),
    "looks": lambda: many_entries("look", 400, units=[[]] * 1_800),
    "entries of nested lists": lambda: many_entries("deviation", 400, deviation=[[]] * 15_000),
    "arms": many_arms,
    "a wide batch": one_wide_batch,
    "long checkpoints with stamps": many_stamps,
    "members": crowded,
}


def _index(keys: bytes) -> bytes:
    """An index whose keys are these bytes, in a container of its own."""
    file = io.BytesIO()
    writer = Writer(file)
    writer.add("checkpoint", b"none")
    said = (
        b'{"files":{"checkpoint":"%s"},"format":"forelock-bundle/1","keys":%s,"preregistration_id":"x"}'
        % (
            hashlib.sha256(b"none").hexdigest().encode(),
            keys,
        )
    )
    writer.add("bundle.json", said)
    writer.end()
    return file.getvalue()


def main(arguments: list[str]) -> None:
    """Verify a file in this process, and tell what it took."""
    from forelock import cli
    from forelock.commands import bundles

    if "--server" not in arguments:
        bundles.offers = lambda _group: ()  # type: ignore[attr-defined]
    status = cli.main(["verify", arguments[0]])
    # not `ru_maxrss`, which a process begins with what its parent had
    peak = next(
        line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")
    )
    print(f"\npeak {int(peak.split()[1]) // 1024} MiB status {status}")


if __name__ == "__main__":
    if Path(sys.argv[1]).exists():
        main(sys.argv[1:])
    else:
        Path(sys.argv[2]).write_bytes(HOSTILE[sys.argv[1]]())
