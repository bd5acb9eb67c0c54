"""Keys, kept checkpoints and time stamps: what ties a bundle to a log that others know."""

from __future__ import annotations

from typing import Any

import pytest

from forelock.bundles.log import path_text
from forelock.bundles.verifying import Kept, exit_status
from forelock.transparency.handovers import Handover
from forelock.transparency.notes import Signer
from forelock.witness.opentimestamps import new_proof
from forelock.witness.proof_tree import PENDING
from tests.rfc6962 import root, subproof

from .making import (
    OTHER,
    SIGNER,
    World,
    checked,
    failures,
    judged,
    members,
    packed,
    status,
)

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
    return world.bundle(**{f"checkpoints/{size}.consistency": path_text(subproof(size, world.hashes()))})


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
        return subproof(first, hashes[:second])

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
    proof = path_text(subproof(4, world.hashes()))
    named = {"checkpoints/4.note": world.note(4).encode(), "checkpoints/4.consistency": proof}
    assert any(each.name == "consistency" for each in checked(world.bundle(**named)).checks)
    assert status(world.bundle(**named | {"checkpoints/4.consistency": proof[45:]})) == 3
    assert status(world.bundle(**named | {"checkpoints/4.note": world.note(5).encode()})) == 3
    assert status(world.bundle(**{"checkpoints/4.note": named["checkpoints/4.note"]})) == 3


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
