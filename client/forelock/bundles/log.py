"""The log behind a bundle: who may sign for it, the newest checkpoint, and those that somebody kept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from forelock.bundles.container import Reader
from forelock.bundles.faults import Broken
from forelock.bundles.findings import Report
from forelock.bundles.receipts import Entry
from forelock.transparency import merkle
from forelock.transparency.checkpoints import Checkpoint, open_checkpoint
from forelock.transparency.encoding import base64_bytes, base64_text
from forelock.transparency.faults import Malformed, TransparencyFault, Unproven
from forelock.transparency.logs import Log, open_chain

NOTE = re.compile(r"checkpoints/([0-9]{1,19})\.note")
MAX_PATH = 1 << 13
MAX_HASHES = 64
MAX_NOTE, MAX_STAMPED = 1 << 16, 1_000


class Prover(Protocol):
    """Whoever can be asked how one checkpoint follows from another, such as the service."""

    def __call__(self, first: int, second: int) -> Sequence[bytes] | None:
        """The consistency proof, None where there is none. It need not be trusted."""


def path_text(hashes: Iterable[bytes]) -> bytes:
    """Return a consistency proof as a bundle holds it: a hash per line."""
    return b"".join(base64_text(digest).encode() + b"\n" for digest in hashes)


def read_path(data: bytes) -> tuple[bytes, ...]:
    """Return the hashes of a path from the text that `path_text` writes.

    Raises:
        Malformed: it is not of that form.
    """
    *lines, rest = data.decode(errors="replace").split("\n")
    if rest or len(lines) > MAX_HASHES:
        raise Malformed("a consistency proof is not a hash per line")
    return tuple(base64_bytes(line, "a hash", length=merkle.HASH_BYTES) for line in lines)


def open_log(note: str, keys: Sequence[str], handovers: Sequence[Entry]) -> Log:
    """Return the log of a bundle's checkpoint, as the keys that the bundle names sign for it.

    Raises:
        Broken: the keys are not those that the log's own entries lead to.
        TransparencyFault: a key, a handover or the checkpoint does not hold.
    """
    if not keys:
        raise Broken("the bundle names no key")
    notes = [handover.body.get("note") for handover in handovers]
    if not all(isinstance(note, str) for note in notes):
        raise Broken("a change of the log's key has no note")
    chain, followed = open_chain(keys, [str(note) for note in notes])
    return Log(chain, followed, open_checkpoint(note, [chain[-1]], origin=chain[-1].name))


def check_handovers(log: Log, entries: Sequence[Entry]) -> None:
    """Compare the place of every change of key with what its signers said of it.

    Raises:
        Broken: it stands elsewhere.
    """
    # The handover of a tree of n leaves is leaf n at the earliest, for leaves count from 0.
    if any(entry.index < handover.size for entry, handover in zip(entries, log.handovers, strict=True)):
        raise Broken("a change of the log's key stands before the tree that it was signed for")


def check_old(reader: Reader, log: Log) -> Iterator[tuple[int, bytes]]:
    """Yield the older checkpoints of a bundle, each after showing that the newest one follows from it.

    A note is given where a stamp is of it, and is empty elsewhere.

    Raises:
        Broken: a proof is not there, or a note is of another size than it is named for.
        TransparencyFault: a note or a proof does not hold.
    """
    stamped = {name.rpartition(".")[0] for name in reader.members if name.endswith((".tsr", ".ots"))}
    if len(stamped) > MAX_STAMPED:
        raise Broken(f"the bundle holds stamps of more than {MAX_STAMPED} checkpoints")
    for name in reader.members:
        match = NOTE.fullmatch(name)
        if match is None:
            continue
        note = reader.read(name, MAX_NOTE)
        old = log.checkpoint_of(note)
        if str(old.size) != match[1]:
            raise Broken(f"{name} is a checkpoint of another size")
        path = _path(reader, old.size)
        if path is None and old.size != log.checkpoint.size:
            raise Broken(f"{name} has no proof beside it")
        _follows(old, path or (), log.checkpoint)
        yield old.size, note if name.removesuffix(".note") in stamped else b""
    proofs = {
        int(name.split("/")[1].split(".")[0]) for name in reader.members if name.endswith(".consistency")
    }
    if any(size > log.checkpoint.size for size in proofs):
        raise Broken("the bundle holds a proof of a checkpoint that is newer than its own")
    for size in proofs:
        read_path(reader.read(f"checkpoints/{size}.consistency", MAX_PATH))


def check_kept(reader: Reader, log: Log, name: str, note: bytes, report: Report, ask: Prover | None) -> None:
    """Show that the bundle's checkpoint follows from one that somebody kept, or the other way round."""
    try:
        kept = log.require_kept(note)
        newest = log.checkpoint
        old, new = (kept, newest) if kept.size <= newest.size else (newest, kept)
        path: Sequence[bytes] | None = () if old.size == new.size else None
        if path is None and new is newest:
            path = _path(reader, old.size)
        if path is None and ask is not None:
            path = ask(old.size, new.size)
        if path is None:
            raise Unproven(_way_out(name, kept.size, newest.size))
        _follows(old, path, new)
    except TransparencyFault as fault:
        report.add("kept checkpoint", "fail", f"{name}: {fault}")
        return
    if old.size == new.size:
        relation = "and it is the bundle's own"
    elif new is newest:
        relation = "and the bundle's log goes on from it"
    else:
        relation = "and it goes on from the bundle's log"
    report.add("kept checkpoint", "pass", f"{name}: the first {kept.size} entries, {relation}")


def _way_out(name: str, kept: int, newest: int) -> str:
    """What a reader can do whose kept checkpoint of `kept` entries does not lead to the bundle's log of `newest`."""
    if kept > newest:
        return (
            f"it covers {kept} entries and the bundle's log has {newest}: nothing shows that they are one log; "
            "fetch the bundle again, or name the service with --url"
        )
    return (
        f"nothing shows that the bundle's log of {newest} entries goes on from its {kept}: fetch the bundle with "
        f"`forelock bundle ID --checkpoint {name}`, or name the service with --url"
    )


def _path(reader: Reader, size: int) -> tuple[bytes, ...] | None:
    name = f"checkpoints/{size}.consistency"
    return read_path(reader.read(name, MAX_PATH)) if name in reader.members else None


def _follows(old: Checkpoint, path: Sequence[bytes], new: Checkpoint) -> None:
    merkle.verify_consistency(size1=old.size, root1=old.root, size2=new.size, root2=new.root, proof=path)
