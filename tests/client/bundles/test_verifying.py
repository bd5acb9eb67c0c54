"""Checking bundles that were made by hand: whole ones hold, and whatever is changed in one shows."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from forelock.bundles.findings import Report
from forelock.bundles.record import DOCUMENTS
from forelock.bundles.verifying import Opened, Recomputed, exit_status

from .making import (
    ID,
    OTHER,
    World,
    batch_body,
    block,
    checked,
    collected,
    failures,
    judged,
    locked,
    members,
    packed,
    say,
    sha256,
    status,
    text,
    verdict,
    with_deviation,
)


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


def test_a_verdict_that_was_left_out_is_not_said_to_be_not_there() -> None:
    """Whoever makes a bundle of a judged record can make it look as it did before the verdict."""
    world = judged("not_supported")
    world.own = world.own[:1]
    report = checked(world.bundle(**{"rows.bin": None, "verdict.json": None}))
    assert exit_status(report) == 1
    assert [each.sentence for each in report.checks if each.name == "verdict"] == [
        "there is none in it; whether there is one by now, ask the service"
    ]


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
    other = resealed(whole, {"VERIFY.md": b"# Other words\n"}, world)
    assert status(other) == 0
    assert "For people alone, and not compared with anything: VERIFY.md." in checked(other).marks
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
    say(world, said)
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


def with_verdict(hypotheses: list[dict[str, str]]) -> bytes:
    """A verdict that the log has, of whatever hypotheses."""
    world = collected()
    said = verdict(sha256(world.members["plans/1.json"])) | {"hypotheses": hypotheses}
    say(world, said)
    return world.bundle()


def of_many_arms(many: int = 1000) -> bytes:
    """A plan of some kilobytes whose arms and endpoints together are millions."""
    world = locked()
    made = json.loads(world.members["plans/1.json"])
    first = made["hypotheses"][0]
    made["hypotheses"] = [
        first | {"id": f"H{each}", "baseline": f"A{each}", "candidate": f"B{each}"} for each in range(many)
    ]
    made["endpoints"] = [{"id": f"e{each}", "kind": "binary"} for each in range(many)]
    world = World(members=world.members | {"plans/1.json": text(made)})
    plan_sha256 = sha256(text(made))
    world.log("plan_locked", {"preregistration_id": ID, "version": 1, "plan_sha256": plan_sha256})
    data = block(bytes(16), range(4), [1.0] * 4)
    world.log("batch", batch_body(1, "A1", data, 4))
    world.members["rows.bin"] = data
    said = [{"id": each["id"], "outcome": "supported"} for each in made["hypotheses"]]
    say(world, verdict(plan_sha256) | {"hypotheses": said})
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
    "a verdict whose hypothesis has no name": (
        lambda: with_verdict([{"outcome": "supported"}]),
        "other hypotheses than the plan",
    ),
    "a verdict of more hypotheses": (
        lambda: with_verdict([{"id": each, "outcome": "supported"} for each in ("H1", "H2")]),
        "other hypotheses than the plan",
    ),
    "arms and endpoints without end": (of_many_arms, "more arms and endpoints than a plan has"),
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
