"""The bundle of a record: everything that shows what it is, as one file that is checked without the service.

What it holds follows from the entries of the ledger that its checkpoint covers, so a record that stays as it is
gives the same bytes, whenever and by whichever process it is made. Before the verdict there is nothing in it but what
was locked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, takewhile
from typing import BinaryIO

from sqlalchemy.orm import Session

from forelock.bundles.container import Writer
from forelock.bundles.faults import Broken
from forelock.bundles.log import path_text
from forelock.bundles.receipts import BATCH_KINDS, BATCHES, names
from forelock.bundles.record import CHECKPOINT, FORMAT, INDEX, VERDICT
from forelock.bundles.rows import ROWS
from forelock.transparency import merkle
from forelock.transparency.checkpoints import Checkpoint, read_checkpoint
from forelock.transparency.encoding import base64_text
from forelock.transparency.faults import TransparencyFault
from forelock.transparency.tlog_proofs import TlogProof
from forelock.witness import Stamp
from service.actions.verdicts import deviations as deviation_actions
from service.actions.verdicts import evidence
from service.domain.canonical import canonical
from service.domain.ledger import KINDS, Kind, Receipt, leaf_hash
from service.domain.plans.preregistration import ONCE_LOCKED, Preregistration
from service.domain.results import sealing
from service.domain.results.secret_rows import ROW_BYTES
from service.errors import Conflict, NotFound, RecordAltered
from service.reports.bundle_guide import print_guide
from service.reports.deviations_markdown import print_deviations
from service.reports.evidence_card import print_card
from service.reports.prereg.print import print_plan
from service.store.database import integrity
from service.store.ledger import checkpoints, ledger, ledger_signers, ledger_tree, stamps
from service.store.ledger.checkpoints import StoredCheckpoint
from service.store.ledger.ledger_signers import LogSigner
from service.store.ledger.stamps import StoredStamp
from service.store.plans import plan_keys, plans
from service.store.plans.populations import read_manifests
from service.store.results import batches
from service.store.verdicts import deviations, verdicts

LOCKS: tuple[Kind, ...] = ("plan_locked", "plan_amended")
_SINGLE: tuple[Kind, ...] = tuple(kind for kind in KINDS if kind not in BATCH_KINDS)
_MANY: tuple[Kind, ...] = tuple(kind for kind in KINDS if kind in BATCH_KINDS)
MOST_KEPT = 16
"""Sizes of checkpoints that one request may ask to be led on from."""
_AT_ONCE = 200
"""Entries whose proofs are read together."""


@dataclass(frozen=True, slots=True)
class _Log:
    """The log as the bundle's checkpoint has it."""

    stored: StoredCheckpoint
    checkpoint: Checkpoint
    signers: tuple[LogSigner, ...]
    """Up to the one who signed it."""


def last_entry(session: Session, record: Preregistration) -> int:
    """Return the number of the record's newest entry, which a checkpoint has to cover before a bundle can be made.

    Raises:
        Conflict: the record is a draft.
    """
    record.require(*ONCE_LOCKED, action="making a bundle")
    newest = ledger.find_newest(session, record.id)
    if newest is None:
        raise RecordAltered("ledger entries", record.id)
    return newest


def write(session: Session, record: Preregistration, file: BinaryIO, *, kept: Sequence[int] = ()) -> int:
    """Write the bundle of a locked record; returns its size in bytes.

    Without `kept` its checkpoint is the first one that covers the record, so the bytes stay the same. With sizes of
    checkpoints that somebody kept, it is the newest one, and consistency proofs from these sizes are in it.
    Memory holds one batch of rows and one manifest at a time.

    Raises:
        Conflict: a draft, or more than a bundle holds (`bundle_too_large`).
        NotFound: no signed checkpoint covers the record yet.
        RecordAltered: what is stored is not what the ledger has.
    """
    try:
        return _write(session, record, file, kept)
    except Broken as fault:
        raise Conflict(
            f"{fault}; read the rows page by page with GET /v1/preregistrations/{record.id}/results",
            code="bundle_too_large",
        ) from None


def _write(session: Session, record: Preregistration, file: BinaryIO, kept: Sequence[int]) -> int:
    """Write the bundle's parts in their order, the index of their hashes last, and return its size in bytes."""
    log = _log(session, record, newest=bool(kept))
    open_now = _is_open(session, record, log)
    writer = Writer(file)
    writer.add("VERIFY.md", print_guide(record.id).encode())
    writer.add("documents/PREREG.md", print_plan(record.plan, "en").encode())
    for version, text in enumerate(plans.read_texts(session, record.id), 1):
        writer.add(f"plans/{version}.json", text.encode())
    for place, manifest in enumerate(read_manifests(session, record).values()):
        writer.add(f"manifests/{place}.json", manifest.canonical_bytes())
    if open_now:
        _add_judged(session, record, writer)
    _add_log(session, record, writer, log, kept, open_now=open_now)
    keys = [signer.vkey for signer in log.signers]
    index = {"format": FORMAT, "preregistration_id": record.id, "keys": keys, "files": writer.sha256}
    writer.add(INDEX, canonical(index))
    return writer.end()


def _log(session: Session, record: Preregistration, *, newest: bool) -> _Log:
    """Return the newest checkpoint, or the one that just covers the record, with the keys that signed up to it."""
    last = last_entry(session, record)
    stamped = [stamp.checkpoint.size - 1 for stamp in _stamps(session, record)]
    stored = (
        checkpoints.read_latest(session)
        if newest
        else checkpoints.find_covering(session, max([last, *stamped]))
    )
    if stored is None or stored.size <= last:
        raise NotFound("the ledger's checkpoint does not cover this record yet: ask again shortly")
    with integrity.reading("checkpoint", str(stored.size), (TransparencyFault,)):
        checkpoint = read_checkpoint(stored.note)
    integrity.require("checkpoint", str(stored.size), holds=checkpoint.size == stored.size)
    signers = tuple(signer for signer in ledger_signers.read_all(session) if signer.number <= stored.signer)
    return _Log(stored, checkpoint, signers)


def _stamps(session: Session, record: Preregistration) -> list[StoredStamp]:
    """Return what outside witnesses gave for the checkpoints of its locks and its verdict."""
    wanted: tuple[Kind, ...] = (*LOCKS, "verdict")
    entries = [entry.sequence for entry in ledger.read_entries(session, record.id, *wanted)]
    newest = {
        (stamp.checkpoint.size, stamp.kind): stamp
        for entry in entries
        for stamp in stamps.read_covering(session, entry)
    }
    return [newest[key] for key in sorted(newest)]


def _is_open(session: Session, record: Preregistration, log: _Log) -> bool:
    """Tell whether the rows may be read by whoever reads the plan: the verdict is there, and the log has it."""
    receipts = ledger.read_receipts(session, record.id, kind="verdict")
    return record.judged_at is not None and any(
        receipt.sequence < log.checkpoint.size for receipt in receipts
    )


def _add_judged(session: Session, record: Preregistration, writer: Writer) -> None:
    """Add what may leave after the verdict: it, deviations, two documents, and rows that were not erased."""
    verdict = verdicts.find_stored(session, record.project_id, record.id)
    if verdict is None:
        raise RecordAltered("verdict", record.id)
    writer.add(VERDICT, verdict.text.encode())
    filed = deviations.read_all(session, record.id)
    decided = deviations.read_decisions(session, record.id, [deviation.number for deviation in filed])
    for deviation in filed:
        writer.add(
            f"deviations/{deviation.number}.json", canonical(deviation.model_dump(mode="json", by_alias=True))
        )
        for decision in decided[deviation.number]:
            name = f"deviations/{deviation.number}-decision-{decision.number}.json"
            writer.add(name, canonical(decision.model_dump(mode="json", by_alias=True)))
    text = print_deviations(
        filed,
        decided,
        plan_sha256=record.plan_sha256 or "",
        consequences=deviation_actions.effects_on_verdict(session, record) if filed else None,
        language="en",
    )
    writer.add("documents/DEVIATIONS.md", text.encode())
    writer.add("documents/EVIDENCE.md", print_card(evidence.card(session, record), "en").encode())
    if not ledger.read_receipts(session, record.id, kind="erasure"):
        _add_rows(session, record, writer)


def _add_rows(session: Session, record: Preregistration, writer: Writer) -> None:
    """Add all batches as one stream: of each its salt, positions, replicates and rows, opened as it is written."""
    private, sha256 = plan_keys.read_released(session, record.id), record.plan_sha256 or ""
    size = batches.count_rows(session, record.id) * (6 + ROW_BYTES)
    size += batches.count(session, record.id) * sealing.SALT_BYTES

    def blocks() -> Iterator[bytes]:
        for batch in batches.read_all(session, record.id, include_void=True):
            placed, salt = sealing.open_batch(batch.sealed, sha256, private)
            yield salt + batch.sealed.positions + batch.sealed.replicates + placed.rows.to_bytes()

    writer.add_stream(ROWS, size, blocks())


def _add_log(
    session: Session,
    record: Preregistration,
    writer: Writer,
    log: _Log,
    kept: Sequence[int],
    *,
    open_now: bool,
) -> None:
    """Add the record's entries of the log with their proofs, its batches' lines, and the checkpoint they lead to."""
    own = ledger.iterate_receipts(session, record.id, *(_SINGLE if open_now else LOCKS))
    single = [entry for entry in own if entry.sequence < log.checkpoint.size] + _handovers(session, log)
    for entry, path in _proven(session, log, sorted(single, key=lambda one: one.sequence)):
        leaf_name, proof_name = names(entry.sequence)
        writer.add(leaf_name, (entry.leaf or "").encode())
        writer.add(proof_name, str(TlogProof(entry.sequence, path, log.stored.note)).encode())
    lines = _batch_lines(session, record, log) if open_now else iter(())
    if (first := next(lines, None)) is not None:
        writer.add_stream(BATCHES, None, chain([first], lines))
    writer.add(CHECKPOINT, log.stored.note.encode())
    entries = [entry.sequence for entry in single if entry.kind in (*LOCKS, "verdict")]
    _add_old(session, writer, log, entries, _stamps(session, record), kept)


def _batch_lines(session: Session, record: Preregistration, log: _Log) -> Iterator[bytes]:
    """Yield an entry and its path on every line; there may be as many as there are batches, so none of them is kept."""
    entries = ledger.iterate_receipts(session, record.id, *_MANY)
    covered = takewhile(lambda entry: entry.sequence < log.checkpoint.size, entries)
    for entry, path in _proven(session, log, covered):
        proof = [base64_text(hashed) for hashed in path]
        yield canonical({"index": entry.sequence, "leaf": entry.leaf, "proof": proof}) + b"\n"


def _handovers(session: Session, log: _Log) -> list[Receipt]:
    """Return the entries that gave the log its later keys: the deployment's own, which tell of no record."""
    handovers = []
    for signer in log.signers:
        if signer.sequence is not None:
            leaf = ledger.read_leaf(session, signer.sequence)
            kind = json.loads(leaf)["kind"]
            hashed = leaf_hash(leaf.encode()).hex()
            handovers.append(Receipt(sequence=signer.sequence, kind=kind, leaf_sha256=hashed, leaf=leaf))
    return handovers


def _proven(
    session: Session, log: _Log, receipts: Iterable[Receipt]
) -> Iterator[tuple[Receipt, tuple[bytes, ...]]]:
    """Entries with the paths to the checkpoint's root, each of which leads there."""
    left = iter(receipts)
    while some := list(islice(left, _AT_ONCE)):
        size, root = log.checkpoint.size, log.checkpoint.root
        paths = ledger_tree.prove_inclusions(session, [entry.sequence for entry in some], size)
        for entry, path in zip(some, paths, strict=True):
            leaf = leaf_hash((entry.leaf or "").encode())
            with integrity.reading("ledger proof", str(entry.sequence), (TransparencyFault,)):
                merkle.verify_inclusion(index=entry.sequence, size=size, leaf=leaf, proof=path, root=root)
            yield entry, tuple(path)


def _add_old(
    session: Session,
    writer: Writer,
    log: _Log,
    entries: Sequence[int],
    stamped: Sequence[StoredStamp],
    kept: Sequence[int],
) -> None:
    """Checkpoints that were given out with the lock and the verdict, or stamped, and proofs from them and kept ones."""
    newest = log.checkpoint
    given = [
        checkpoint
        for entry in entries
        if (checkpoint := checkpoints.find_covering(session, entry)) is not None
    ]
    notes = {checkpoint.size: checkpoint.note for checkpoint in given if checkpoint.size < newest.size}
    # the bytes that were stamped: another signer may have signed the same size
    notes |= {stamp.checkpoint.size: stamp.checkpoint.note for stamp in stamped}
    for size in sorted({*notes, *(earlier for earlier in kept if 0 < earlier < newest.size)}):
        if size in notes:
            writer.add(f"checkpoints/{size}.note", notes[size].encode())
        if size == newest.size:
            continue
        path = ledger_tree.prove_consistency(session, size, newest.size)
        with integrity.reading("ledger proof", f"{size} to {newest.size}", (TransparencyFault,)):
            old = ledger_tree.read_root(session, size)
            merkle.verify_consistency(size1=size, root1=old, size2=newest.size, root2=newest.root, proof=path)
        writer.add(f"checkpoints/{size}.consistency", path_text(path))
    for stamp in stamped:
        suffix = Stamp(stamp.kind, stamp.content).suffix
        writer.add(f"checkpoints/{stamp.checkpoint.size}{suffix}", stamp.content)
