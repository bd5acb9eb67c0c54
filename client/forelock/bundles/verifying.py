"""Checking a bundle: everything in it is compared with the ledger's entries, and these with a signed checkpoint.

Nothing here uses the network, or believes what the file says of itself. What is checked is told line by line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from forelock.bundles.container import Reader
from forelock.bundles.coverage import Coverage
from forelock.bundles.criteria import check_named_arms
from forelock.bundles.embargo import check_published
from forelock.bundles.faults import Broken
from forelock.bundles.findings import BROKEN, IRREPRODUCIBLE, NOT_THERE, Report
from forelock.bundles.log import Prover, check_handovers, check_kept, check_old, open_log
from forelock.bundles.receipts import BATCHES, Receipts
from forelock.bundles.record import (
    CHECKPOINT,
    DOCUMENTS,
    Record,
    check_end,
    check_marks,
    find_damaged,
    read_deviations,
    read_index,
    read_manifests,
    read_plan,
    read_verdict,
)
from forelock.bundles.rows import ROWS, Blocks, OpenBatch
from forelock.bundles.selection import check_selection
from forelock.bundles.stamps import Witnesses, check_stamps
from forelock.text import exit_code
from forelock.transparency.checkpoints import read_checkpoint
from forelock.transparency.faults import TransparencyFault
from forelock.transparency.logs import Log
from forelock.transparency.notes import MAX_BYTES, VerifierKey

MOST_TOLD = 1_000
"""Entries of one kind that are told one by one."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A checkpoint that somebody kept, and where it is from."""

    name: str
    note: bytes


@dataclass(frozen=True, slots=True)
class Opened:
    """What judging again needs: texts as they were locked, and a way to read the rows once more."""

    plan: bytes
    manifests: Mapping[str, bytes]
    verdict: bytes
    closed: bool
    """The collection was closed by hand before every planned result was in."""
    batches: Callable[[], Iterable[OpenBatch]] = field(repr=False)
    """Gives the batches that count, in their order; those that were struck are left out."""


@dataclass(frozen=True, slots=True)
class Recomputed:
    """What judging the bundle's rows again gives, beside what the bundle says."""

    same: bool
    explained: bool
    """Another machine, library or release may be why each of the numbers that differ does; no outcome differs."""
    sentence: str
    differing: tuple[str, ...] = ()
    """Every number that differs, with what it may be off by."""


Recompute = Callable[[Opened], Recomputed]


def verify(
    file: BinaryIO,
    *,
    kept: Sequence[Kept] = (),
    keys: Sequence[VerifierKey] = (),
    ask: Prover | None = None,
    recompute: Recompute | None = None,
    witnesses: Witnesses | None = None,
) -> Report:
    """Check a bundle.

    Args:
        file: the bundle, which can be sought in.
        kept: checkpoints of its log that the caller kept.
        keys: those that the caller trusts to sign for its log; without any the bundle names its own, which is told.
        ask: where to get a consistency proof that the bundle does not hold.
        witnesses: whose word on times the caller takes; None takes nobody's.
        recompute: how to judge again; None where the statistical tests are not installed.

    Returns:
        What was checked. A file that is no bundle fails with one line.
    """
    report = Report()
    try:
        _verify(Reader(file), report, kept, keys, ask, recompute, witnesses or Witnesses())
    except Broken as fault:
        report.add("bundle", "fail", str(fault))
    except TransparencyFault as fault:
        report.add("log", "fail", str(fault))
    return report


def exit_status(report: Report) -> int:
    """0 supported, 10 not supported, 11 equivalent, 12 inconclusive, 4 invalid; of several hypotheses the first of
    4, 12, 10, 11, 0 that is present. Before that: 3 something failed, 5 not reproducible here, 1 no verdict in it.
    """
    if report.has("fail"):
        return BROKEN
    if report.has("differs"):
        return IRREPRODUCIBLE
    return NOT_THERE if report.verdict is None else exit_code(report.verdict)


def _verify(
    reader: Reader,
    report: Report,
    kept: Sequence[Kept],
    keys: Sequence[VerifierKey],
    ask: Prover | None,
    recompute: Recompute | None,
    witnesses: Witnesses,
) -> None:
    """Add every check to the report, in the order in which one rests on another."""
    index = read_index(reader)
    report.preregistration_id = index.preregistration_id
    bad = find_damaged(reader, index)
    if bad is not None:
        raise Broken(f"{bad} is not the file that the bundle was made with")
    report.add("file", "pass", f"a whole bundle of {len(reader.members)} files, each as the bundle lists it")
    loose = [name for name in DOCUMENTS if name in reader.members]
    if loose:
        report.marks.append(f"For people alone, and not compared with anything: {', '.join(loose)}.")

    note = reader.read(CHECKPOINT, MAX_BYTES).decode(errors="replace")
    claimed = read_checkpoint(note)
    receipts = Receipts(reader, note, claimed.size, claimed.root)
    record = Record(index.preregistration_id)
    for entry in receipts.single():
        record.take(entry)
    entries = len(record.locks) + len(record.deviations) + len(record.looks) + len(record.verdicts)
    entries += len(record.others) + len(record.handovers) + len(record.named) + len(record.published)
    if BATCHES in reader.members:
        for entry in receipts.batches():
            record.take(entry)
            entries += 1
    log = open_log(note, index.keys, record.handovers)
    check_handovers(log, record.handovers)
    _check_keys(log, keys, report)
    report.add(
        "inclusion",
        "pass",
        f"{entries} entries of the ledger are in the log of {claimed.size}, each where it says",
    )
    old = dict(check_old(reader, log))
    if old:
        sizes = ", ".join(str(size) for size in sorted(old))
        report.add("consistency", "pass", f"the log goes on from its earlier checkpoints, of {sizes} entries")
    check_stamps(reader, old, record.locks[-1].index if record.locks else 0, witnesses, report)
    for checkpoint in kept:
        check_kept(reader, log, checkpoint.name, checkpoint.note, report, ask)
    _check_record(reader, record, report, recompute)


def _check_keys(log: Log, keys: Sequence[VerifierKey], report: Report) -> None:
    """Say by whose key the checkpoint is signed, and whether the reader's keys lead to it."""
    signed = f"signed by {log.keys[-1].name}"
    report.log = str(log.keys[-1])
    for handover in log.handovers:
        what = f"begun anew: {handover.reason}" if handover.is_resumption else "given another key"
        report.marks.append(f"The log was {what} (entry {handover.size} or later).")
    if not keys:
        report.add(
            "signature", "pass", f"the checkpoint is {signed}, by the key that the bundle itself names"
        )
        report.marks.append(
            "The key was taken from the bundle. To know that it is the service's, compare it with the one the service "
            f"publishes, and give it with --key: {log.keys[-1]}"
        )
    elif set(keys) & set(log.keys):
        report.add(
            "signature", "pass", f"the checkpoint is {signed}, by a key that you trust or one that it named"
        )
    else:
        report.add(
            "signature",
            "fail",
            f"the checkpoint is {signed}, and none of the keys you trust leads to its key",
        )


def _check_record(reader: Reader, record: Record, report: Report, recompute: Recompute | None) -> None:
    """Compare plan, items, deviations, results and verdict with their entries, and these in their order."""
    plan, sha256 = read_plan(reader, record)
    title = plan.get("title")
    report.title, report.plan_sha256 = title if isinstance(title, str) else None, sha256
    lock = record.locks[-1].index
    report.add("plan", "pass", f"canonical, and locked as entry {lock}: {sha256}")
    for population, n in read_manifests(reader, plan):
        report.add("items", "pass", f"the {n} items of '{population}' are those that the plan is locked to")
    filed = read_deviations(reader, record)
    if filed:
        report.add("deviations", "pass", f"{filed}, numbered without a gap, with the decisions about them")
    check_published(record, plan, report)
    _mark(record, report)
    verdict = read_verdict(reader, record, plan, sha256)
    if verdict is None:
        if record.batches or ROWS in reader.members:
            raise Broken("the bundle holds results, and no verdict that lets them be read")
        report.add(
            "verdict", "not_checked", "there is none in it; whether there is one by now, ask the service"
        )
        return
    place = record.verdicts[0].index
    first = record.batches[0][0] if record.batches else place
    if not lock < first <= record.last_batch < place:
        raise Broken("the entries of the lock, the results and the verdict are not in this order in the log")
    report.add(
        "order", "pass", f"the plan was locked (entry {lock}) before the first results (entry {first})"
    )
    erased = bool(record.of_kind("erasure")) and ROWS not in reader.members
    if erased:
        report.add("rows", "differs", "the rows were erased: nobody can judge them again")
    else:
        _check_rows(reader, record, plan, report)
    check_marks(record, plan, verdict)
    check_named_arms(record, plan, verdict)
    check_selection(plan, verdict)
    report.add("verdict", "pass", f"canonical, of this plan, and recorded as entry {place}")
    report.verdict = verdict
    if recompute is not None and not erased:
        _judge_again(reader, record, plan, report, recompute)
    elif not erased:
        report.add(
            "recomputed",
            "not_checked",
            "the verdict was not computed again: that takes the server package (forelock-server)",
        )


def _mark(record: Record, report: Report) -> None:
    """Say what a reader should know of the record that no check decides: runs, entries by hand, struck batches."""
    runs = len(record.of_kind("run"))
    if runs:
        report.marks.append(
            f"{runs} runs were bound to the record; what the verdict says of them is not checked here."
        )
    for entry in [other for other in record.others if other.kind != "run"][:MOST_TOLD]:
        sentence = {
            "unblinding": "Outcomes were made readable before the end, by hand",
            "withdrawal": "The preregistration was withdrawn; what was judged stays",
            "erasure": "The rows were erased",
            "close": "The collection was closed by hand before every planned result was in",
        }.get(entry.kind, f"The log has an entry of the kind '{entry.kind}', which is not checked here")
        report.marks.append(f"{sentence} (entry {entry.index}).")
    struck = sorted(record.voids.items())
    report.marks.extend(f"Batch {number} was struck: {reason}" for number, reason in struck[:MOST_TOLD])
    if len(struck) > MOST_TOLD:
        report.marks.append(f"{len(struck) - MOST_TOLD} more batches were struck.")


def _check_rows(reader: Reader, record: Record, plan: dict[str, Any], report: Report) -> None:
    """Compare the rows of every batch with the ledger's hash of them, and all of them with what the plan expects."""
    coverage = Coverage(plan)
    rows = 0
    for batch in _batches(reader, record):
        if not batch.matches_commitment():
            raise Broken(
                f"the rows of batch {batch.facts.sequence} are not those that the ledger has the hash of"
            )
        rows += batch.facts.n
        if batch.facts.sequence not in record.voids:
            wrong = coverage.place(batch)
            if wrong is not None:
                raise Broken(wrong)
    report.add("rows", "pass", f"{rows} rows in {len(record.batches)} batches, each as it was committed to")
    check_end(record, coverage)
    whole = coverage.received == coverage.expected
    coverage_text = (
        "every planned result is there, once" if whole else "ended early; no result is there twice"
    )
    report.add("coverage", "pass", f"{coverage.received} of {coverage.expected} results: {coverage_text}")


def _batches(reader: Reader, record: Record) -> Iterable[OpenBatch]:
    blocks = Blocks(reader)
    for _, batch in record.batches:
        yield blocks.take(batch)
    blocks.end()


def _judge_again(
    reader: Reader, record: Record, plan: dict[str, Any], report: Report, recompute: Recompute
) -> None:
    """Judge the plan on the bundle's rows, and compare the verdict."""
    judged = recompute(
        Opened(
            plan=reader.read(f"plans/{len(record.locks)}.json", 1 << 32),
            manifests={
                population["id"]: reader.read(f"manifests/{place}.json", 1 << 32)
                for place, population in enumerate(plan["populations"])
            },
            verdict=reader.read("verdict.json", 1 << 32),
            closed=bool(record.of_kind("close")),
            batches=lambda: (
                batch for batch in _batches(reader, record) if batch.facts.sequence not in record.voids
            ),
        )
    )
    report.differing = list(judged.differing)
    report.add(
        "recomputed", "pass" if judged.same else "differs" if judged.explained else "fail", judged.sentence
    )
