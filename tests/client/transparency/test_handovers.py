"""Statements that a log's key or name changes: both sides sign, and nothing but the one spelling is read."""

from __future__ import annotations

import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from forelock.transparency.encoding import base64_text
from forelock.transparency.faults import Malformed, Unproven
from forelock.transparency.handovers import Handover, Lost, follow, open_handover, read_handover
from forelock.transparency.notes import Signer, sign

A, B, C = (Ed25519PrivateKey.from_private_bytes(bytes([number] * 32)) for number in (1, 2, 3))
ROOT = bytes(range(32))


def rotation(before=A, after=B, name="log.example"):
    old, new = Signer(name, before), Signer(name, after)
    return Handover(old.verifier, new.verifier, size=5, root=ROOT).sign(old, new)


def resumed(before="log.example", after="second.example", key=B, **changes):
    old, new = Signer(before, key), Signer(after, key)
    lost = Lost(9, bytes(32), "a note\n\n— x AAAAAAA=\n")
    return Handover(
        old.verifier, new.verifier, **{"size": 5, "root": ROOT, "reason": "disk", "lost": lost} | changes
    ).sign(old, new)


def test_a_handover_reads_as_it_was_written():
    for note in (rotation(), resumed(), resumed(lost=None), resumed(reason="Größe\n\x00")):
        assert read_handover(note) == open_handover(note)
        assert read_handover(note).text == note.split("\n\n")[0] + "\n"


def test_the_text_of_a_rotation():
    text = read_handover(rotation()).text
    old, new = Signer("log.example", A).verifier, Signer("log.example", B).verifier
    assert text == (
        f'{{"after":"{new}","before":"{old}","root":"{base64_text(ROOT)}","size":5,"type":"forelock/key_rotation@v1"}}\n'
    )


def test_keys_are_followed_from_the_one_that_is_trusted():
    notes = [rotation(A, B), resumed(key=B), rotation(B, C, "second.example")]
    first = Signer("log.example", A).verifier
    chain = follow(first, notes)
    assert [each.is_resumption for each in chain] == [False, True, False]
    assert chain[-1].after == Signer("second.example", C).verifier
    assert len(follow(Signer("second.example", B).verifier, notes)) == 1
    assert follow(Signer("another", A).verifier, notes) == []


def test_a_gap_in_the_chain_is_refused():
    with pytest.raises(Unproven, match="does not go on"):
        follow(Signer("log.example", A).verifier, [rotation(A, B), rotation(A, C)])


def test_both_keys_have_to_sign():
    old, new, other = (Signer("log.example", key) for key in (A, B, C))
    handover = Handover(old.verifier, new.verifier, size=5, root=ROOT)
    for signers in ((old,), (new,), (old, other)):
        with pytest.raises(Unproven, match="both keys"):
            open_handover(sign(handover.text, *signers))
    with pytest.raises(Unproven):
        open_handover(handover.sign(old, new).replace('"size":5', '"size":6'))


@pytest.mark.parametrize(
    "changes",
    [
        {"after": str(Signer("log.example", A).verifier)},
        {"after": str(Signer("second.example", B).verifier)},
        {"size": -1}, {"size": 5.0}, {"size": "5"}, {"size": True}, {"root": "AA=="}, {"root": None},
        {"type": "forelock/other@v1"}, {"more": 1}, {"before": None}, {"reason": "why"}, {"lost": {}},
    ],
)  # fmt: skip
def test_what_is_no_handover_is_refused(changes):
    said = json.loads(read_handover(rotation()).text) | changes
    text = json.dumps(said, sort_keys=True, separators=(",", ":")) + "\n"
    with pytest.raises(Malformed):
        Handover.parse(text)


@pytest.mark.parametrize(
    "changes", [{"size": True}, {"size": 1.0}, {"size": -1}, {"root": "AA=="}, {"checkpoint": 3}, {"more": 1}]
)
def test_what_was_lost_is_a_tree(changes):
    said = json.loads(read_handover(resumed()).text)
    said["lost"] |= changes
    with pytest.raises(Malformed):
        Handover.parse(json.dumps(said, sort_keys=True, separators=(",", ":")) + "\n")


@pytest.mark.parametrize("text", ["", "{}\n", "[]\n", "null\n", "log\n1\nAAAA\n", "[" * 100_000])
def test_another_text_is_refused(text):
    with pytest.raises(Malformed):
        Handover.parse(text)


def test_another_spelling_is_refused():
    text = read_handover(rotation()).text
    for other in (text.replace(",", ", "), text[:-1], json.dumps(json.loads(text)) + "\n"):
        with pytest.raises(Malformed):
            Handover.parse(other)


@pytest.mark.parametrize("changes", [{"after": "log.example"}, {"reason": ""}, {"reason": "x" * 1001}])
def test_a_resumption_has_another_name_and_a_reason(changes):
    with pytest.raises(Malformed):
        resumed(**changes)
