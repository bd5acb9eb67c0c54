"""Checking bundles that were made by hand: whole ones hold, and whatever is changed in one shows."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from forelock.bundles.container import Reader
from forelock.bundles.findings import Report
from forelock.bundles.record import DOCUMENTS
from forelock.bundles.verifying import Kept, Opened, Recomputed, exit_status, verify
from forelock.bundles.words import as_text
from forelock.transparency.handovers import Handover
from forelock.transparency.notes import Signer
from forelock.witness.opentimestamps import new_proof
from forelock.witness.proof_tree import PENDING

from .making import (
    ID,
    OTHER,
    SIGNER,
    World,
    batch_body,
    block,
    collected,
    consistency,
    judged,
    locked,
    packed,
    plan,
    root,
    sha256,
    text,
    verdict,
)


def checked(data: bytes, **options: Any) -> Report:
    return verify(io.BytesIO(data), **options)


def failures(report: Report) -> str:
    return "; ".join(f"{each.name}: {each.sentence}" for each in report.checks if each.state == "fail")


def status(data: bytes, **options: Any) -> int:
    return exit_status(checked(data, **options))


def members(data: bytes) -> dict[str, bytes]:
    reader = Reader(io.BytesIO(data))
    return {name: reader.read(name, 1 << 30) for name in reader.members if name != "bundle.json"}


@pytest.mark.parametrize(
    ("outcome", "code"),
    [("supported", 0), ("not_supported", 10), ("equivalent", 11), ("inconclusive", 12), ("invalid", 4)],
)
def test_a_whole_bundle_ends_with_its_outcome(outcome: str, code: int) -> None:
    report = checked(judged(outcome).bundle())
    assert failures(report) == ""
    assert exit_status(report) == code
    assert {each.name for each in report.checks} == {
        *(
            "file",
            "signature",
            "inclusion",
            "plan",
            "items",
            "order",
            "rows",
            "coverage",
            "verdict",
            "recomputed",
        )
    }


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        (["supported", "supported"], 0),
        (["supported", "equivalent"], 11),
        (["equivalent", "not_supported"], 10),
        (["not_supported", "inconclusive"], 12),
        (["inconclusive", "invalid", "supported"], 4),
    ],
)
def test_of_several_hypotheses_the_worst_counts(outcomes: list[str], code: int) -> None:
    report = Report(verdict={"hypotheses": [{"outcome": each} for each in outcomes]})
    assert exit_status(report) == code


def test_a_bundle_without_a_verdict_says_so() -> None:
    report = checked(locked().bundle())
    assert failures(report) == ""
    assert exit_status(report) == 1


def test_results_without_a_verdict_are_no_bundle() -> None:
    assert "no verdict that lets them be read" in failures(checked(collected().bundle()))


# Changes by somebody who makes the container and its index anew


def resealed(data: bytes, changed: dict[str, bytes], world: World) -> bytes:
    return packed({**members(data), **changed}, keys=world.keys)


def test_every_changed_byte_of_evidence_shows() -> None:
    world = judged(voided=(), world=with_deviation())
    whole = world.bundle()
    assert status(whole) == 0
    survived = []
    for name, data in members(whole).items():
        if name in DOCUMENTS:
            continue
        places = (
            range(len(data)) if len(data) < 700 else sorted(random.Random(name).sample(range(len(data)), 300))
        )
        for place in places:
            changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
            if status(resealed(whole, {name: changed}, world)) in (0, 1, 4, 5, 10, 11, 12):
                survived.append((name, place))
    assert survived == []


def test_a_changed_document_is_a_damaged_file_but_no_evidence() -> None:
    world = judged()
    whole = world.bundle()
    assert status(resealed(whole, {"VERIFY.md": b"# Other words\n"}, world)) == 0
    changed = {**members(whole), "VERIFY.md": b"# Other words\n"}
    listed = {name: sha256(data) for name, data in members(whole).items()}
    report = checked(packed(changed, keys=world.keys, index={"files": listed}))
    assert "VERIFY.md is not the file" in failures(report)


def without(name: str) -> Callable[[], bytes]:
    return lambda: judged().bundle(**{name: None})


def with_rows(change: Callable[[bytes], bytes]) -> bytes:
    world = judged()
    return world.bundle(**{"rows.bin": change(world.members["rows.bin"])})


def in_order(*kinds: str) -> bytes:
    """Entries in another order than they can have come in."""
    world = World()
    good = judged()
    by_kind = {"lock": good.leaves[3], "A": good.leaves[5], "B": good.leaves[7], "verdict": good.leaves[8]}
    world.members, world.leaves = good.members, [by_kind[kind] for kind in kinds]
    world.own = list(range(len(kinds)))
    return world.bundle()


def second_verdict() -> bytes:
    world = judged()
    world.log("verdict", json.loads(world.leaves[8])["body"])
    return world.bundle()


def another_verdict() -> bytes:
    world = judged("not_supported")
    said = json.loads(world.members["verdict.json"])
    said["hypotheses"][0]["outcome"] = "supported"
    return world.bundle(**{"verdict.json": text(said)})


def verdict_of_another_plan() -> bytes:
    world = collected()
    judged(world=world)
    world.own.pop()
    said = json.loads(world.members["verdict.json"]) | {"plan_sha256": "0" * 64}
    world.members["verdict.json"] = text(said)
    body = {"preregistration_id": ID, "plan_sha256": "0" * 64, "verdict_sha256": sha256(text(said))}
    world.log("verdict", body)
    return world.bundle()


def loose_verdict() -> bytes:
    """Of the same hash, and not canonical."""
    world = collected()
    plan_sha256 = sha256(world.members["plans/1.json"])
    said = json.dumps({"preregistration_id": ID, "plan_sha256": plan_sha256, "hypotheses": []}).encode()
    world.members["verdict.json"] = said
    body = {"preregistration_id": ID, "plan_sha256": plan_sha256, "verdict_sha256": sha256(said)}
    world.log("verdict", body)
    return world.bundle()


def one_arm() -> bytes:
    return judged(world=collected(arms="A")).bundle()


def arm_twice() -> bytes:
    return judged(world=collected(arms="AA")).bundle()


def unknown_arm() -> bytes:
    return judged(world=collected(arms="AZ")).bundle()


def outside(positions: list[int], replicates: list[int]) -> bytes:
    world = locked()
    rows = b""
    for number, arm in enumerate("AB", 1):
        data = block(bytes(16), positions, [1.0] * len(positions), replicates)
        world.log("batch", batch_body(number, arm, data, len(positions)))
        rows += data
    world.members["rows.bin"] = rows
    return judged(world=world).bundle()


def gap_in_batches() -> bytes:
    world = locked()
    data = block(bytes(16), range(4), [1.0] * 4)
    for number, arm in ((1, "A"), (3, "B")):
        world.log("batch", batch_body(number, arm, data, 4))
    world.members["rows.bin"] = data * 2
    return judged(world=world).bundle()


def void_unsaid() -> bytes:
    world = collected()
    world.log("batch_voided", {"preregistration_id": ID, "batch": 2, "reason": "a wrong file"})
    return judged(world=world).bundle()


def of_another_record() -> bytes:
    world = judged()
    world.own.append(0)
    world.own.sort()
    return world.bundle()


def other_items() -> bytes:
    return judged().bundle(**{"manifests/0.json": text({"item_ids": ["w", "x", "y", "z"]})})


def unproven_leaf() -> bytes:
    world = judged()
    data = members(world.bundle())
    leaf = json.loads(data["receipts/000000000003.leaf"])
    leaf["body"]["plan_sha256"] = "0" * 64
    return packed({**data, "receipts/000000000003.leaf": text(leaf)}, keys=world.keys)


def of_an_older_checkpoint() -> bytes:
    world = judged()
    return world.bundle(checkpoint=world.note(8).encode())


def unsigned() -> bytes:
    world = judged()
    world.signer = OTHER
    return world.bundle()


def no_such_key() -> bytes:
    world = judged()
    world.keys = []
    return world.bundle()


BAD: dict[str, tuple[Callable[[], bytes], str]] = {
    "no verdict": (without("verdict.json"), "verdict.json is not in the bundle"),
    "no plan": (without("plans/1.json"), "plans/1.json is not in the bundle"),
    "no items": (without("manifests/0.json"), "manifests/0.json is not in the bundle"),
    "no rows": (without("rows.bin"), "rows.bin is not in the bundle"),
    "no batches": (without("batches.jsonl"), "not in this order"),
    "no lock": (without("receipts/000000000003.leaf"), "not in the bundle"),
    "no checkpoint": (without("checkpoint"), "checkpoint is not in the bundle"),
    "rows cut": (lambda: with_rows(lambda rows: rows[:-1]), "ends before batch 2"),
    "rows added": (lambda: with_rows(lambda rows: rows + b"\0"), "belong to no batch"),
    "rows swapped": (lambda: with_rows(lambda rows: rows[108:] + rows[:108]), "rows of batch 1"),
    "results before the lock": (lambda: in_order("A", "lock", "B", "verdict"), "not in this order"),
    "results after the verdict": (lambda: in_order("lock", "A", "verdict", "B"), "not in this order"),
    "batches out of order": (lambda: in_order("lock", "B", "A", "verdict"), "batch 1 comes next"),
    "two verdicts": (second_verdict, "two verdicts"),
    "another verdict": (another_verdict, "verdict.json is not the verdict"),
    "verdict of another plan": (verdict_of_another_plan, "another plan"),
    "verdict not canonical": (loose_verdict, "canonical form"),
    "one arm": (one_arm, "4 of 8 planned results"),
    "an arm twice": (arm_twice, "second result"),
    "an unknown arm": (unknown_arm, "does not expect"),
    "no such item": (lambda: outside([0, 1, 2, 4], [1, 1, 1, 1]), "does not have"),
    "before the first item": (lambda: outside([-1, 1, 2, 3], [1, 1, 1, 1]), "does not have"),
    "no such replicate": (lambda: outside([0, 1, 2, 3], [1, 1, 1, 2]), "does not have"),
    "replicate nought": (lambda: outside([0, 1, 2, 3], [0, 1, 1, 1]), "does not have"),
    "an item twice in a batch": (lambda: outside([0, 1, 2, 2], [1, 1, 1, 1]), "second result"),
    "a batch is missing": (gap_in_batches, "batch 2 comes next"),
    "a struck batch that the verdict does not name": (
        void_unsaid,
        "4 of 8 planned results|other struck batches",
    ),
    "an entry of another record": (of_another_record, "another record"),
    "other items": (other_items, "not the list of items"),
    "a leaf that is not in the log": (unproven_leaf, "another root"),
    "another checkpoint": (of_an_older_checkpoint, "another checkpoint"),
    "another key": (unsigned, "no known key"),
    "no key": (no_such_key, "names no key"),
    "an unknown file": (lambda: judged().bundle(**{"extra.bin": b""}), "which no bundle has"),
    "a plan without an entry": (lambda: judged().bundle(**{"plans/2.json": b"{}"}), "without an entry"),
    "a deviation without an entry": (
        lambda: judged().bundle(**{"deviations/1.json": b"{}"}),
        "without an entry",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_bundles_do_not_hold(name: str) -> None:
    make, sentence = BAD[name]
    report = checked(make())
    assert exit_status(report) == 3
    assert any(part in failures(report) for part in sentence.split("|")), failures(report)


@pytest.mark.parametrize(
    "index",
    [
        {"format": "forelock-bundle/2"},
        {"preregistration_id": 5},
        {"preregistration_id": "another"},
        {"keys": "x"},
        {"files": {}},
        {"files": None},
        {"more": 1},
    ],
)
def test_an_index_of_another_form_is_refused(index: dict[str, Any]) -> None:
    world = judged()
    assert status(packed(members(world.bundle()), keys=world.keys, index=index)) == 3


# Struck batches, early ends, deviations, amendments


def test_a_struck_batch_counts_for_nothing_and_is_told() -> None:
    world = locked()
    rows = b""
    for number, arm in enumerate("AAB", 1):
        data = block(bytes([number] * 16), range(4), [0, 1, 0, 1])
        world.log("batch", batch_body(number, arm, data, 4))
        rows += data
        if number == 1:
            world.log("batch_voided", {"preregistration_id": ID, "batch": 1, "reason": "a wrong file"})
    world.members["rows.bin"] = rows
    report = checked(judged(voided=[1], world=world).bundle())
    assert failures(report) == ""
    assert "Batch 1 was struck: a wrong file" in report.marks


def test_a_look_may_end_it_early() -> None:
    world = collected(arms="A")
    assert status(judged(world=collected(arms="A")).bundle()) == 3
    world.log("look", {"preregistration_id": ID, "look": 1, "decision": "stop", "units": {"p": 4}})
    report = checked(judged(world=world).bundle())
    assert failures(report) == ""
    assert any("ended early" in each.sentence for each in report.checks)


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


def test_deviations_are_compared_with_their_entries() -> None:
    world = judged(world=with_deviation())
    assert any(each.name == "deviations" for each in checked(world.bundle()).checks)
    assert status(world.bundle(**{"deviations/1.json": text({"number": 1, "title": "more items"})})) == 3
    assert status(world.bundle(**{"deviations/1-decision-1.json": None})) == 3


def test_an_amended_plan_is_the_one_that_counts() -> None:
    world = locked()
    amended = json.loads(world.members["plans/1.json"]) | {"title": "A smaller plan"}
    world.members["plans/2.json"] = text(amended)
    body = {"preregistration_id": ID, "version": 2, "plan_sha256": sha256(text(amended))}
    world.log("plan_amended", body)
    report = checked(world.bundle())
    assert failures(report) == ""
    assert report.title == "A smaller plan"
    assert status(world.bundle(**{"plans/2.json": world.members["plans/1.json"]})) == 3


def test_what_the_log_says_beside_is_told() -> None:
    world = collected()
    world.log("run", {"preregistration_id": ID})
    world.log("withdrawal", {"preregistration_id": ID})
    marks = " ".join(checked(judged(world=world).bundle()).marks)
    assert "was withdrawn" in marks
    assert "1 runs were bound" in marks


def test_an_early_end_by_hand_is_in_the_verdict() -> None:
    def ended(**more: Any) -> Report:
        world = collected(arms="A")
        world.log("close", {"preregistration_id": ID, "received": 4, "expected": 8})
        said = verdict(sha256(world.members["plans/1.json"]), "invalid") | more
        world.members["verdict.json"] = text(said)
        body = {
            "preregistration_id": ID,
            "plan_sha256": said["plan_sha256"],
            "verdict_sha256": sha256(text(said)),
        }
        world.log("verdict", body)
        return checked(world.bundle())

    assert exit_status(ended(marks=[{"code": "closed_early", "effect": "invalid"}])) == 4
    assert "early end" in failures(ended())


def opened_early(*, late: bool, mark: dict[str, Any] | None, outcome: str = "invalid") -> Report:
    """A record whose outcomes somebody read before the verdict: after everything was in, or in between."""
    world = collected(arms="A" if late else "AB")
    world.log("unblinding", {"preregistration_id": ID})
    if late:
        data = block(bytes([2] * 16), range(4), [1, 0, 1, 1])
        world.log("batch", batch_body(2, "B", data, 4))
        world.members["rows.bin"] += data
    said = verdict(sha256(world.members["plans/1.json"]), outcome) | ({"marks": [mark]} if mark else {})
    world.members["verdict.json"] = text(said)
    body = {
        "preregistration_id": ID,
        "plan_sha256": said["plan_sha256"],
        "verdict_sha256": sha256(text(said)),
    }
    world.log("verdict", body)
    return checked(world.bundle())


def test_an_early_look_at_outcomes_is_in_the_verdict() -> None:
    flag, invalid = (
        {"code": "unblinded", "effect": "flag", "batches": []},
        {"code": "unblinded", "effect": "invalid"},
    )
    assert exit_status(opened_early(late=False, mark=flag, outcome="supported")) == 0
    assert exit_status(opened_early(late=True, mark=invalid | {"batches": [2]})) == 4
    for report in (
        opened_early(late=False, mark=None, outcome="supported"),
        opened_early(late=True, mark=None),
        opened_early(late=True, mark=flag),
        opened_early(late=True, mark=invalid | {"batches": [1]}),
        opened_early(late=True, mark=invalid | {"batches": [2]}, outcome="supported"),
        checked(judged_with_a_mark_for_nothing(flag)),
    ):
        assert exit_status(report) == 3
        assert "early look" in failures(report) or "not invalid" in failures(report)


def judged_with_a_mark_for_nothing(mark: dict[str, Any]) -> bytes:
    world = collected()
    said = verdict(sha256(world.members["plans/1.json"])) | {"marks": [mark]}
    world.members["verdict.json"] = text(said)
    body = {
        "preregistration_id": ID,
        "plan_sha256": said["plan_sha256"],
        "verdict_sha256": sha256(text(said)),
    }
    world.log("verdict", body)
    return world.bundle()


def test_erased_rows_are_told_and_cannot_be_judged_again() -> None:
    world = judged()
    world.log("erasure", {"preregistration_id": ID})
    report = checked(world.bundle(**{"rows.bin": None}))
    assert failures(report) == ""
    assert exit_status(report) == 5


# Keys and kept checkpoints


def test_a_key_that_is_trusted_signs_the_log() -> None:
    assert status(judged().bundle(), keys=[SIGNER.verifier]) == 0
    report = checked(judged().bundle(), keys=[OTHER.verifier])
    assert "none of the keys you trust" in failures(report)


def rotated(before: Signer = SIGNER, after: Signer = OTHER) -> World:
    """A judged record in a log that was given another key afterwards."""
    world = judged()
    size = len(world.leaves)
    note = Handover(before.verifier, after.verifier, size, root(world.hashes())).sign(before, after)
    world.log("key_rotation", {"note": note})
    world.keys, world.signer = [str(before.verifier), str(after.verifier)], after
    return world


def test_a_rotated_key_leads_from_the_trusted_one() -> None:
    for key in (SIGNER, OTHER):
        report = checked(rotated().bundle(), keys=[key.verifier])
        assert failures(report) == ""
        assert any("another key" in each for each in report.marks)


def test_a_rotation_needs_both_signatures() -> None:
    world = judged()
    handover = Handover(SIGNER.verifier, OTHER.verifier, len(world.leaves), root(world.hashes()))
    world.log("key_rotation", {"note": handover.sign(None, OTHER)})
    world.keys, world.signer = [str(SIGNER.verifier), str(OTHER.verifier)], OTHER
    assert status(world.bundle()) == 3


def test_keys_that_nothing_leads_to_are_refused() -> None:
    world = judged()
    world.keys, world.signer = [str(SIGNER.verifier), str(OTHER.verifier)], OTHER
    assert "lead to" in failures(checked(world.bundle()))


def kept(world: World, size: int, **options: Any) -> list[Kept]:
    return [Kept("kept", world.note(size, **options).encode())]


def with_proof(world: World, size: int) -> bytes:
    from forelock.bundles.log import path_text

    return world.bundle(**{f"checkpoints/{size}.consistency": path_text(consistency(size, world.hashes()))})


@pytest.mark.parametrize("size", range(1, 10))
def test_a_kept_checkpoint_leads_to_the_bundle(size: int) -> None:
    world = judged()
    report = checked(with_proof(world, size), kept=kept(world, size))
    assert failures(report) == ""
    assert [each.state for each in report.checks if each.name == "kept checkpoint"] == ["pass"]


def test_the_bundle_s_own_checkpoint_needs_no_proof() -> None:
    world = judged()
    assert status(world.bundle(), kept=kept(world, 10)) == 0


def test_a_kept_checkpoint_without_a_proof_fails_and_says_the_way_out() -> None:
    world = judged()
    report = checked(world.bundle(), kept=kept(world, 5))
    assert "`forelock bundle ID --checkpoint kept`" in failures(report)
    later = judged()
    for _ in range(4):
        later.log("plan_locked", {"preregistration_id": "another"}, own=False)
    assert "fetch the bundle again" in failures(checked(world.bundle(), kept=kept(later, 14)))


def test_a_proof_may_come_from_somebody_asked() -> None:
    world, later = judged(), judged()
    for _ in range(4):
        later.log("plan_locked", {"preregistration_id": "another"}, own=False)
    hashes = later.hashes()
    asked: list[tuple[int, int]] = []

    def ask(first: int, second: int) -> list[bytes]:
        asked.append((first, second))
        return consistency(first, hashes[:second])

    assert status(world.bundle(), kept=[*kept(world, 5), *kept(later, 14)], ask=ask) == 0
    assert asked == [(5, 10), (10, 14)]
    assert status(world.bundle(), kept=kept(world, 5), ask=lambda *_: [bytes(32)]) == 3
    assert status(world.bundle(), kept=kept(world, 5), ask=lambda *_: None) == 3


def test_a_forked_log_does_not_lead_on_from_a_kept_checkpoint() -> None:
    honest, forked = judged(), judged()
    forked.leaves[1] = forked.leaves[1].replace(b"other-1", b"other-2")
    for size in (4, 10):
        report = checked(with_proof(forked, size) if size < 10 else forked.bundle(), kept=kept(honest, size))
        assert exit_status(report) == 3
    assert status(with_proof(forked, 4)) == 0  # nobody kept anything: nothing shows it


def test_a_kept_checkpoint_of_another_log_or_key_fails() -> None:
    world = judged()
    assert "another log" in failures(checked(world.bundle(), kept=kept(world, 10, origin="other.example")))
    stranger = judged()
    stranger.signer = OTHER
    assert "no known key" in failures(checked(world.bundle(), kept=kept(stranger, 10)))
    assert status(world.bundle(), kept=[Kept("kept", b"no note")]) == 3


def test_a_checkpoint_of_the_key_before_is_one_of_the_log() -> None:
    world = rotated()
    assert failures(checked(with_proof(world, 5), kept=[Kept("kept", judged().note(5).encode())])) == ""


def test_a_log_that_was_begun_anew_is_told_and_lost_entries_fail() -> None:
    before = judged()
    for _ in range(5):
        before.log("plan_locked", {"preregistration_id": "lost"}, own=False)
    after = Signer("log.example/2", OTHER.private)
    world = judged()
    size = len(world.leaves)
    note = Handover(SIGNER.verifier, after.verifier, size, root(world.hashes()), reason="restored a backup")
    world.log("resumption", {"note": note.sign(SIGNER, after)})
    world.keys, world.signer = [str(SIGNER.verifier), str(after.verifier)], after
    report = checked(with_proof(world, 5), kept=kept(before, 5))
    assert failures(report) == ""
    assert any("begun anew: restored a backup" in each for each in report.marks)
    lost = checked(world.bundle(), kept=kept(before, 15))
    assert "entries up to 15 that this checkpoint covers were given up" in failures(lost)


def test_older_checkpoints_in_the_bundle_are_checked() -> None:
    world = judged()
    from forelock.bundles.log import path_text

    proof = path_text(consistency(4, world.hashes()))
    named = {"checkpoints/4.note": world.note(4).encode(), "checkpoints/4.consistency": proof}
    assert any(each.name == "consistency" for each in checked(world.bundle(**named)).checks)
    assert status(world.bundle(**named | {"checkpoints/4.consistency": proof[45:]})) == 3
    assert status(world.bundle(**named | {"checkpoints/4.note": world.note(5).encode()})) == 3
    assert status(world.bundle(**{"checkpoints/4.note": named["checkpoints/4.note"]})) == 3


# Whatever stands in the texts, whole and signed


ODD = [
    None,
    True,
    0,
    -1,
    1.5,
    2**53 - 1,
    "",
    "x",
    "\x1b[31m",
    [],
    [[]],
    [None],
    {},
    {"a": []},
    [{}],
    "9" * 40,
]


def places(value: Any) -> list[tuple[Any, ...]]:
    """Every place of a value, as a path."""
    if isinstance(value, dict):
        return [(), *((name, *rest) for name, inner in value.items() for rest in places(inner))]
    if isinstance(value, list):
        return [(), *((index, *rest) for index, inner in enumerate(value) for rest in places(inner))]
    return [()]


def put(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    if not path:
        return odd
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = put(copy[path[0]], path[1:], odd)
    return copy


@pytest.mark.parametrize("what", ["plan", "items", "verdict", "entries"])
def test_odd_values_end_in_a_sentence_and_no_traceback(what: str) -> None:
    """Somebody who holds the signing key writes whatever he likes into texts that fit their hashes."""

    def world_of(change: Callable[[str, Any], Any]) -> World:
        world = World()
        items = text(change("items", {"item_ids": [f"item {number}" for number in range(4)]}))
        plan_text = text(change("plan", plan(sha256(items))))
        world.members |= {"plans/1.json": plan_text, "manifests/0.json": items}
        world.log("plan_locked", {"preregistration_id": ID, "version": 1, "plan_sha256": sha256(plan_text)})
        rows = b""
        for number, arm in enumerate("AAB", 1):
            data = block(bytes([number] * 16), range(4), [1, 0, 1, 1])
            world.log("batch", batch_body(number, arm, data, 4))
            rows += data
        world.log("batch_voided", {"preregistration_id": ID, "batch": 1, "reason": "wrong"})
        filed = text({"number": 1})
        for more in ({"deviation_sha256": sha256(filed)}, {"decision": 1, "decision_sha256": sha256(filed)}):
            world.log("deviation", {"preregistration_id": ID, "deviation": 1, **more})
        world.log("look", {"preregistration_id": ID, "decision": "continue"})
        said = text(change("verdict", verdict(sha256(plan_text), voided=[1])))
        named = {"deviations/1.json": filed, "deviations/1-decision-1.json": filed, "verdict.json": said}
        world.members |= {"rows.bin": rows, **named}
        body = {"preregistration_id": ID, "plan_sha256": sha256(plan_text), "verdict_sha256": sha256(said)}
        world.log("verdict", body)
        leaves = [json.loads(each) for each in world.leaves]
        world.leaves = [text(each) for each in change("entries", leaves)]
        return world

    seen: dict[str, Any] = {}
    world = world_of(lambda name, value: seen.setdefault(name, value))
    assert failures(checked(world.bundle())) == ""
    chosen = random.Random(what)
    for path in places(seen[what]):
        if not path or (what == "entries" and path[-1] == "kind") or (len(path) == 1 and what == "entries"):
            continue
        for odd in chosen.sample(ODD, 5):

            def change(name: str, value: Any, path: Any = path, odd: Any = odd) -> Any:
                return put(value, path, odd) if name == what else value

            report = checked(world_of(change).bundle(), recompute=recompute_nothing)
            assert exit_status(report) in (0, 3, 4, 10, 11, 12), (path, odd)
            assert "\x1b" not in as_text(report, "bundle.zip", 3)


def recompute_nothing(opened: Opened) -> Recomputed:
    assert [len(each.values) for each in opened.batches()]
    return Recomputed(True, False, "the same")


# Time stamps


def stamped(note: bytes, of: bytes | None = None, size: int = 10) -> bytes:
    """A calendar promised to put the note into a block."""
    uri = b"https://calendar.example"
    promise = bytes([len(uri)]) + uri
    answer = b"\x00" + PENDING + bytes([len(promise)]) + promise
    proof = new_proof(of or note, bytes(16), [answer])
    return judged().bundle(**{f"checkpoints/{size}.note": note, f"checkpoints/{size}.ots": proof})


def test_a_stamp_nobody_vouches_for_yet_is_told() -> None:
    report = checked(stamped(judged().note().encode()))
    (found,) = [each for each in report.checks if each.name == "time stamp"]
    assert found.state == "not_checked"
    assert "the lock and everything before entry 10" in found.sentence
    assert exit_status(report) == 0


def test_a_stamp_of_something_else_fails() -> None:
    report = checked(stamped(judged().note().encode(), b"another checkpoint"))
    assert [each.state for each in report.checks if each.name == "time stamp"] == ["fail"]
    assert exit_status(report) == 3


def test_a_stamp_without_its_checkpoint_is_no_bundle() -> None:
    whole = members(stamped(judged().note().encode()))
    del whole["checkpoints/10.note"]
    assert "does not hold" in failures(checked(packed(whole, keys=judged().keys)))


# Judging again


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (Recomputed(True, False, "the same"), 0),
        (Recomputed(False, True, "another machine"), 5),
        (Recomputed(False, False, "another outcome"), 3),
    ],
)
def test_what_judging_again_finds_decides(found: Recomputed, code: int) -> None:
    seen: list[Opened] = []

    def recompute(opened: Opened) -> Recomputed:
        seen.append(opened)
        return found

    world = judged()
    assert status(world.bundle(), recompute=recompute) == code
    (opened,) = seen
    assert opened.plan == world.members["plans/1.json"]
    assert opened.manifests == {"p": world.members["manifests/0.json"]}
    assert [list(each.positions) for each in opened.batches()] == [[0, 1, 2, 3]] * 2
    assert "1.0" not in repr(opened)
