"""Forgeries by name, of strangers who have the file and no key."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Any

from forelock.transparency.checkpoints import Checkpoint
from forelock.transparency.encoding import base64_text
from forelock.transparency.notes import Signer
from tests.rfc6962 import root

from .forging import LOCK, closed_early, honest, placed, retold, text
from .making import ID, OTHER, SIGNER, members, packed

KEYS = [str(SIGNER.verifier)]
Members = dict[str, bytes]
PLAN, VERDICT, LINES = "plans/1.json", "verdict.json", "batches.jsonl"


def in_member(name: str, path: str, new: Any) -> Callable[[Members], Any]:
    """A text of the bundle with a value changed, in canonical spelling."""

    def change(found: Members) -> None:
        found[name] = text(placed(json.loads(found[name]), path, new))

    return change


def in_bytes(name: str, old: bytes, new: bytes) -> Callable[[Members], Any]:
    """A member with some bytes exchanged for others, once."""

    def change(found: Members) -> None:
        assert old in found[name], name
        found[name] = found[name].replace(old, new, 1)

    return change


def in_line(number: int, does: Callable[[dict[str, Any]], Any]) -> Callable[[Members], Any]:
    """A receipt of a batch changed."""

    def change(found: Members) -> None:
        lines = found[LINES].splitlines()
        receipt = json.loads(lines[number])
        does(receipt)
        lines[number] = text(receipt)
        found[LINES] = b"".join(line + b"\n" for line in lines)

    return change


def in_lines(does: Callable[[list[bytes]], list[bytes]]) -> Callable[[Members], Any]:
    """The receipts of batches in another order, or fewer or more of them."""

    def change(found: Members) -> None:
        found[LINES] = b"".join(line + b"\n" for line in does(found[LINES].splitlines()))

    return change


def in_leaf(index: int, path: str, new: Any) -> Callable[[Members], Any]:
    return in_member(f"receipts/{index:012}.leaf", path, new)


def receipt_of(index: int) -> tuple[str, str]:
    return f"receipts/{index:012}.leaf", f"receipts/{index:012}.tlog-proof"


def gone(*names: str) -> Callable[[Members], Any]:
    def change(found: Members) -> None:
        for name in names:
            del found[name]

    return change


def swapped(one: str, other: str) -> Callable[[Members], Any]:
    def change(found: Members) -> None:
        found[one], found[other] = found[other], found[one]

    return change


def leaf_changed(does: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    """What a receipt of a batch holds, with its leaf changed."""

    def change(receipt: dict[str, Any]) -> None:
        leaf = json.loads(receipt["leaf"])
        does(leaf)
        receipt["leaf"] = text(leaf).decode()

    return change


def rows_changed(does: Callable[[bytes], bytes]) -> Callable[[Members], Any]:
    def change(found: Members) -> None:
        before = found["rows.bin"]
        found["rows.bin"] = does(before)
        assert found["rows.bin"] != before

    return change


def blocks(rows: bytes) -> list[bytes]:
    """The rows by batch: one that was struck, then three of each arm."""
    sizes = [24, 24, 12, 6, 24, 12, 6]
    found, at = [], 0
    for n in sizes:
        found.append(rows[at : at + 16 + 23 * n])
        at += 16 + 23 * n
    assert at == len(rows)
    return found


def arms_swapped(rows: bytes) -> bytes:
    struck, *counted = blocks(rows)
    return b"".join([struck, *counted[3:], *counted[:3]])


def one_more_right(rows: bytes) -> bytes:
    """The last value of arm B on the first population, 0, is 1."""
    found = blocks(rows)
    at = 16 + 6 * 24 + 8 * 23
    assert found[4][at : at + 8] == bytes(8)
    found[4] = found[4][:at] + bytes.fromhex("000000000000f03f") + found[4][at + 8 :]
    return b"".join(found)


def values_turned(rows: bytes) -> bytes:
    found = blocks(rows)
    start, end = 16 + 6 * 24, 16 + 14 * 24
    values = found[4][start:end]
    turned = b"".join(values[at : at + 8] for at in range(len(values) - 8, -1, -8))
    found[4] = found[4][:start] + turned + found[4][end:]
    return b"".join(found)


def resigned(signer: Signer, *, kept: bool = True, origin: str | None = None) -> Callable[[Members], Any]:
    """The same log under a checkpoint of somebody else, with his key in the index or with the service's."""

    def change(found: Members) -> list[str]:
        world = honest().world
        note = Checkpoint(origin or signer.name, len(world.leaves), root(world.hashes())).sign(signer)
        old = found["checkpoint"]
        for name in list(found):
            found[name] = found[name].replace(old, note.encode())
        return KEYS if kept else [str(signer.verifier)]

    return change


def unsigned(found: Members) -> None:
    """A checkpoint that nobody signed."""
    old = found["checkpoint"]
    new = old.split(b"\n\n")[0] + b"\n\n"
    for name in list(found):
        found[name] = found[name].replace(old, new)


def checkpoint_line(number: int, line: bytes) -> Callable[[Members], Any]:
    """The checkpoint says something else in a line, everywhere, under the signature that it had."""

    def change(found: Members) -> None:
        old = found["checkpoint"]
        lines = old.split(b"\n")
        assert lines[number] != line
        lines[number] = line
        for name in list(found):
            found[name] = found[name].replace(old, b"\n".join(lines))

    return change


def verdict_of_a_log_of_his_own(found: Members) -> list[str]:
    """Every entry made up and signed by a stranger, who names his key."""
    other = retold(lambda said: placed(said, "hypotheses.0.outcome", "not_supported"))
    other.world.signer, other.world.keys = OTHER, [str(OTHER.verifier)]
    found.clear()
    found.update(members(other.bundle()))
    return other.world.keys


def entry_dropped(index: int, *files: str) -> Callable[[Members], Any]:
    return gone(*receipt_of(index), *files)


def last_batch_dropped(found: Members) -> None:
    """Of a record that was closed early: what came in last is left out."""
    found.clear()
    found.update(members(closed_early().bundle()))
    in_lines(lambda lines: lines[:-1])(found)
    found["rows.bin"] = found["rows.bin"][: -(16 + 23 * 24)]


def spelled(name: str, old: bytes, new: bytes) -> Callable[[Members], Any]:
    return in_bytes(name, old, new)


def decomposed(found: Members) -> None:
    """A title in the other normal form of Unicode: no reader sees it."""
    said = found[PLAN].decode().replace("Forged", "Forg\u00e9d")
    found[PLAN] = unicodedata.normalize("NFD", said).encode()


STRANGERS: dict[str, Callable[[Members], Any]] = {
    # plans
    "a plan of another title": in_member(PLAN, "title", "Another"),
    "a plan of another rule": in_member(PLAN, "hypotheses.0.rule", "delta >= 1 pp"),
    "a plan of another statement": in_member(PLAN, "hypotheses.0.statement", "A is more often right than B"),
    "a plan whose baseline is the candidate": in_member(PLAN, "hypotheses.0.baseline", "B"),
    "a plan whose one arm is held against less": in_member(PLAN, "hypotheses.1.reference.value", 40),
    "a plan of another weight": in_member(PLAN, "suites.0.weights.q", 1),
    "a plan of a suite without a task": in_member(PLAN, "suites.0.populations.1", None),
    "a plan of tasks like these": in_member(PLAN, "suites.0.estimand", "new_tasks"),
    "a plan of other labels": in_member(PLAN, "endpoints.1.labels.seed", 8),
    "a plan of fewer labels": in_member(PLAN, "endpoints.1.labels.n", 5),
    "a plan of another criterion": in_member(PLAN, "arms.1.criterion", "whichever model is best"),
    "a plan without a criterion": in_member(PLAN, "arms.1.criterion", None),
    "a plan of another card": in_member(PLAN, "arms.0.model.name", "x-0"),
    "a plan to which another system is nothing": in_member(PLAN, "arms.0.on_difference", "note"),
    "a plan of an embargo that ends later": in_member(PLAN, "embargo_until", "2037-03-31"),
    "a plan without an embargo": in_member(PLAN, "embargo_until", None),
    "a plan of fewer variants tried": in_member(PLAN, "tried.n", 2),
    "a plan that tells of no choice": in_member(PLAN, "tried", None),
    "a plan of a choice on other data": in_member(PLAN, "tried.on", "dev"),
    "a plan of another SESOI": in_member(PLAN, "sesoi.accuracy.value", 1),
    "a plan of another policy for what is missing": in_member(PLAN, "missing", "fail"),
    "a plan of another family": in_member(PLAN, "multiplicity.family", ["H2"]),
    "a plan of another test": in_member(PLAN, "tests.0.test", "proportions"),
    "a plan of another parameter": in_member(PLAN, "tests.0.parameters.method", "mid_p"),
    "a plan of an endpoint that is secondary": in_member(PLAN, "endpoints.0.role", "secondary"),
    "a plan of fewer items": in_member(PLAN, "populations.0.n", 23),
    "a plan of other items": in_member(PLAN, "populations.0.items_sha256", "0" * 64),
    "a plan of which a name comes twice": spelled(PLAN, b'{"arms"', b'{"title":"Another","arms"'),
    "a plan with a space": spelled(PLAN, b'"title":', b'"title": '),
    "a plan with a number spelled otherwise": spelled(PLAN, b'"seed":7', b'"seed":7.0'),
    "a plan with a number of an exponent": spelled(PLAN, b'"value":50', b'"value":5e1'),
    "a plan in other escapes": spelled(PLAN, b'"title":"F', b'"title":"\\u0046'),
    "a plan in the other form of Unicode": decomposed,
    "a plan with letters that look alike": spelled(PLAN, b'"Forged', '"F\u043erged'.encode()),
    "a plan with letters nobody sees": spelled(PLAN, b'"Forged', '"For\u200bged'.encode()),
    "a plan behind a byte order mark": lambda found: found.update({PLAN: b"\xef\xbb\xbf" + found[PLAN]}),
    "a plan with a line behind it": lambda found: found.update({PLAN: found[PLAN] + b"\n"}),
    "a second version of the plan": lambda found: found.update({"plans/2.json": found[PLAN]}),
    "an item that looks alike": spelled("manifests/0.json", b'"p0"', '"\u04400"'.encode()),
    "items in another order": spelled("manifests/0.json", b'"p0","p1"', b'"p1","p0"'),
    "an item twice": spelled("manifests/0.json", b'"p0","p1"', b'"p0","p0"'),
    "the items of the other population": swapped("manifests/0.json", "manifests/1.json"),
    # verdicts
    "another outcome": in_member(VERDICT, "hypotheses.0.outcome", "not_supported"),
    "another difference": in_member(VERDICT, "hypotheses.0.delta", 0.75),
    "another number of items": in_member(VERDICT, "hypotheses.0.n", 2400),
    "another p-value": in_member(VERDICT, "hypotheses.0.analyses.m.analysis.p_value", 1e-9),
    "another day of judging": in_member(VERDICT, "judged_at", "2026-03-01T00:00:00Z"),
    "a verdict that names a struck batch no more": in_member(VERDICT, "voided_batches", []),
    "a verdict that says nothing of the arm": in_member(VERDICT, "marks", None),
    "a verdict of which an outcome comes twice": spelled(
        VERDICT, b'"outcome":"supported"', b'"outcome":"supported","outcome":"equivalent"'
    ),
    "a verdict with a number spelled otherwise": spelled(VERDICT, b'"n_planned":24', b'"n_planned":24.0'),
    "another plan's verdict": in_member(VERDICT, "plan_sha256", "0" * 64),
    "a verdict as the plan": swapped(PLAN, VERDICT),
    # results
    "arms that are swapped": rows_changed(arms_swapped),
    "one more right": rows_changed(one_more_right),
    "values in another order": rows_changed(values_turned),
    "another salt": rows_changed(lambda rows: bytes([rows[0] ^ 1]) + rows[1:]),
    "rows without what was struck": rows_changed(lambda rows: rows[16 + 23 * 24 :]),
    "results of the last batch left out": in_lines(lambda lines: lines[:-1]),
    "a closed record without its last batch": last_batch_dropped,
    "a batch that was not struck": in_lines(lambda lines: [lines[0], *lines[2:]]),
    "a batch twice": in_lines(lambda lines: [*lines, lines[-1]]),
    "batches in another order": in_lines(lambda lines: [*lines[:2], *lines[5:], *lines[2:5]]),
    "a batch of the other arm": in_line(
        2, leaf_changed(lambda leaf: leaf["body"].__setitem__("arm", "B"))
    ),
    "a batch of fewer rows": in_line(2, leaf_changed(lambda leaf: leaf["body"].__setitem__("n", 23))),
    "a batch of another commitment": in_line(
        2, leaf_changed(lambda leaf: leaf["body"].__setitem__("commitment_sha256", "0" * 64))
    ),
    "a batch at another place": in_line(2, lambda receipt: receipt.__setitem__("index", 0)),
    "a batch before all others": in_line(0, lambda receipt: receipt.__setitem__("index", -1)),
    "a batch at a place that is no number": in_line(2, lambda receipt: receipt.__setitem__("index", True)),
    "a batch without its proof": in_line(2, lambda receipt: receipt.__setitem__("proof", [])),
    "a batch of a longer proof": in_line(
        2, lambda receipt: receipt["proof"].append(base64_text(bytes(32)))
    ),
    "a batch struck for another reason": in_line(
        1, leaf_changed(lambda leaf: leaf["body"].__setitem__("reason", "it was too good"))
    ),
    # entries
    "another plan in the lock": in_leaf(LOCK, "body.plan_sha256", "0" * 64),
    "a lock of another version": in_leaf(LOCK, "version", 2),
    "a lock of a version that is true": in_leaf(LOCK, "version", True),
    "a lock of another salt": in_leaf(LOCK, "salt", "0" * 32),
    "a lock of another record": in_leaf(LOCK, "body.preregistration_id", "other-1"),
    "an arm named otherwise": in_leaf(LOCK + 1, "body.card.model.name", "x-3"),
    "an arm that nobody named": entry_dropped(LOCK + 1),
    "another deviation": in_member("deviations/1.json", "title", "more items than were planned"),
    "another decision": in_member("deviations/1-decision-1.json", "classification", "reject"),
    "a deviation and a decision that are swapped": swapped("deviations/1.json", "deviations/1-decision-1.json"),
    "a decision whose entry was left out": entry_dropped(LOCK + 3),
    "a decision without its deviation": entry_dropped(LOCK + 2, "deviations/1.json"),
    "leaves that are swapped": swapped(receipt_of(LOCK)[0], receipt_of(LOCK + 1)[0]),
    "proofs that are swapped": swapped(receipt_of(LOCK)[1], receipt_of(LOCK + 1)[1]),
    "a deviation moved before the lock": swapped(receipt_of(LOCK)[0], receipt_of(LOCK + 2)[0]),
    "no verdict's entry": entry_dropped(15),
    "no lock": entry_dropped(LOCK),
    # the log
    "a checkpoint of another key": resigned(OTHER),
    "a checkpoint of another key, which is named": resigned(OTHER, kept=False),
    "a checkpoint of another origin": resigned(SIGNER, origin="log.example/2"),
    "a checkpoint of nobody": unsigned,
    "a checkpoint of another size": checkpoint_line(1, b"16"),
    "a checkpoint of another root": checkpoint_line(2, base64_text(bytes(32)).encode()),
    "a checkpoint with more lines": checkpoint_line(3, b"more\n"),
    "a log of his own": verdict_of_a_log_of_his_own,
    "no proof from what was kept": gone(f"checkpoints/{LOCK + 1}.consistency"),
    "another proof from what was kept": lambda found: found.update(
        {f"checkpoints/{LOCK + 1}.consistency": base64_text(bytes(32)).encode() + b"\n"}
    ),
    "keys that nothing leads to": lambda _found: [*KEYS, str(OTHER.verifier)],
    "no key": lambda _found: [],
}  # fmt: skip
"""What is changed in the members of the file; the keys that its index names, where they are others."""


@cache
def whole() -> Members:
    """The members of the record's bundle as it came about."""
    return members(honest().bundle())


@cache
def note(size: int | None = None) -> bytes:
    """The checkpoint of its log at a size."""
    return honest().world.note(size).encode()


def forged(name: str) -> bytes:
    """A stranger's file, with an index that fits it."""
    found, before = dict(whole()), whole()
    keys = STRANGERS[name](found)
    assert (found, keys) != (before, None), name
    return packed(found, keys=KEYS if keys is None else keys, index={"preregistration_id": ID})
