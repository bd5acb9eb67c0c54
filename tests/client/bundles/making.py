"""Bundles made by hand, from the formats alone: what `forelock verify` reads is not what the service wrote."""

from __future__ import annotations

import hashlib
import io
import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from forelock.bundles.container import Reader, Writer
from forelock.bundles.findings import Report
from forelock.bundles.verifying import exit_status, verify
from forelock.transparency import merkle
from forelock.transparency.checkpoints import Checkpoint
from forelock.transparency.encoding import base64_text
from forelock.transparency.notes import Signer
from forelock.transparency.tlog_proofs import TlogProof
from tests.rfc6962 import path, root

ID = "0197-of-a-record"
ORIGIN = "log.example/1"
SIGNER = Signer(ORIGIN, Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
OTHER = Signer(ORIGIN, Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33))))


def text(value: Any) -> bytes:
    """Canonical JSON of simple values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass
class World:
    """A log with a record in it, and whatever else a test wants to be in its bundle."""

    leaves: list[bytes] = field(default_factory=list)
    own: list[int] = field(default_factory=list)
    keys: list[str] = field(default_factory=lambda: [str(SIGNER.verifier)])
    signer: Signer = SIGNER
    members: dict[str, bytes] = field(default_factory=dict)

    def log(self, kind: str, body: Mapping[str, Any], *, own: bool = True) -> int:
        """Add an entry; returns its index."""
        index = len(self.leaves)
        leaf = {"version": 1, "kind": kind, "body": dict(body), "salt": f"{index:032x}"}
        self.leaves.append(text(leaf))
        if own:
            self.own.append(index)
        return index

    def hashes(self, size: int | None = None) -> list[bytes]:
        return [merkle.leaf_hash(each) for each in self.leaves[:size]]

    def note(self, size: int | None = None, *, origin: str | None = None) -> str:
        """The signed checkpoint at a size."""
        hashes = self.hashes(size)
        return Checkpoint(origin or self.signer.name, len(hashes), root(hashes)).sign(self.signer)

    def bundle(self, **other: bytes | None) -> bytes:
        """The file. `other` replaces members by name (None leaves one out) before the index is written."""
        members = dict(self.members)
        hashes, note = self.hashes(), self.note()
        lines = []
        for index in self.own:
            leaf = self.leaves[index]
            if json.loads(leaf)["kind"] in ("batch", "batch_voided"):
                proof = [base64_text(each) for each in path(index, hashes)]
                lines.append(text({"index": index, "leaf": leaf.decode(), "proof": proof}) + b"\n")
                continue
            members[f"receipts/{index:012}.leaf"] = leaf
            proof = TlogProof(index, path(index, hashes), note)
            members[f"receipts/{index:012}.tlog-proof"] = str(proof).encode()
        if lines:
            members["batches.jsonl"] = b"".join(lines)
        members["checkpoint"] = note.encode()
        for name, data in other.items():
            members.pop(name, None)
            if data is not None:
                members[name] = data
        return packed(members, keys=self.keys)


def packed(
    members: Mapping[str, bytes], *, keys: Sequence[str], index: Mapping[str, Any] | None = None
) -> bytes:
    """Members with an index that lists them."""
    file = io.BytesIO()
    writer = Writer(file)
    for name, data in members.items():
        writer.add(name, data)
    said = {
        "format": "forelock-bundle/1",
        "preregistration_id": ID,
        "keys": list(keys),
        "files": writer.sha256,
    }
    writer.add("bundle.json", text({**said, **(index or {})}))
    writer.end()
    return file.getvalue()


def plan(items_sha256: str, n: int = 4) -> dict[str, Any]:
    return {
        "title": "A small plan",
        "populations": [{"id": "p", "n": n, "items_sha256": items_sha256}],
        "hypotheses": [
            {"id": "H1", "population": "p", "baseline": "A", "candidate": "B", "endpoint": "accuracy"}
        ],
        "endpoints": [{"id": "accuracy", "kind": "binary", "replicates": 1}],
    }


def block(
    salt: bytes, positions: Sequence[int], values: Sequence[float], replicates: Sequence[int] | None = None
) -> bytes:
    """The rows of a batch, all ok and without times."""
    n = len(positions)
    return (
        salt
        + struct.pack(f"<{n}i", *positions)
        + struct.pack(f"<{n}H", *(replicates or [1] * n))
        + struct.pack(f"<{n}d", *values)
        + bytes(n)
        + struct.pack(f"<{n}q", *[-(2**63)] * n)
    )


def batch_body(sequence: int, arm: str, data: bytes, n: int, population: str = "p") -> dict[str, Any]:
    return {
        "preregistration_id": ID,
        "batch": sequence,
        "population": population,
        "arm": arm,
        "endpoint": "accuracy",
        "run": None,
        "n": n,
        "commitment_sha256": sha256(data),
    }


def verdict(plan_sha256: str, outcome: str = "supported", voided: Sequence[int] = ()) -> dict[str, Any]:
    return {
        "preregistration_id": ID,
        "plan_sha256": plan_sha256,
        "hypotheses": [{"id": "H1", "outcome": outcome}],
        "voided_batches": [{"batch": each, "reason": "a wrong file"} for each in voided],
    }


def locked(sections: dict[str, Any] | None = None) -> World:
    """A log of others' entries with a locked plan in it, with more sections where they are given."""
    world = World()
    for number in range(3):
        world.log("plan_locked", {"preregistration_id": f"other-{number}"}, own=False)
    items = text({"item_ids": [f"item {number}" for number in range(4)]})
    plan_text = text(plan(sha256(items)) | (sections or {}))
    world.members |= {"plans/1.json": plan_text, "manifests/0.json": items, "VERIFY.md": b"# How to check\n"}
    world.log("plan_locked", {"preregistration_id": ID, "version": 1, "plan_sha256": sha256(plan_text)})
    return world


def collected(*, arms: str = "AB", sections: dict[str, Any] | None = None) -> World:
    """The same with every result in: one batch per arm."""
    world = locked(sections)
    rows = b""
    for number, arm in enumerate(arms, 1):
        data = block(bytes([number] * 16), range(4), [1, 0, 1, 1])
        world.log("batch", {"preregistration_id": "somebody else's"}, own=False)
        world.log("batch", batch_body(number, arm, data, 4))
        rows += data
    world.members["rows.bin"] = rows
    return world


def judged(outcome: str = "supported", voided: Sequence[int] = (), world: World | None = None) -> World:
    """The same with a verdict, and an entry of somebody else behind it."""
    world = world or collected()
    say(world, verdict(sha256(world.members["plans/1.json"]), outcome, voided))
    world.log("plan_locked", {"preregistration_id": "another"}, own=False)
    return world


def say(world: World, said: dict[str, Any]) -> None:
    """The verdict of a record, and its entry."""
    world.members["verdict.json"] = text(said)
    body = {key: said[key] for key in ("preregistration_id", "plan_sha256")}
    world.log("verdict", body | {"verdict_sha256": sha256(text(said))})


def checked(data: bytes, **options: Any) -> Report:
    return verify(io.BytesIO(data), **options)


def failures(report: Report) -> str:
    return "; ".join(f"{each.name}: {each.sentence}" for each in report.checks if each.state == "fail")


def status(data: bytes, **options: Any) -> int:
    return exit_status(checked(data, **options))


def members(data: bytes) -> dict[str, bytes]:
    reader = Reader(io.BytesIO(data))
    return {name: reader.read(name, 1 << 30) for name in reader.members if name != "bundle.json"}


def with_deviation() -> World:
    world = collected()
    filed, decided = (
        text({"number": 1, "title": "fewer items"}),
        text({"number": 1, "classification": "accept"}),
    )
    world.members |= {"deviations/1.json": filed, "deviations/1-decision-1.json": decided}
    world.log("deviation", {"preregistration_id": ID, "deviation": 1, "deviation_sha256": sha256(filed)})
    said = {"preregistration_id": ID, "deviation": 1, "decision": 1, "decision_sha256": sha256(decided)}
    world.log("deviation", said)
    return world
