"""Signed notes against golang.org/x/mod/sumdb/note (note_test.go), C2SP's example and a live log's tree head."""

from __future__ import annotations

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from forelock.transparency.faults import Malformed, Unproven
from forelock.transparency.notes import MAX_SIGNATURES, Note, Signer, VerifierKey, open_note, sign

PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PETER_SEED = base64.b64decode("AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz")[1:]
"""Of PRIVATE+KEY+PeterNeumann+c74f20a3+…, behind the byte that names Ed25519."""
ENOCH = "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
PETER_LINE = (
    "— PeterNeumann "
    "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
ENOCH_LINE = (
    "— EnochRoot "
    "rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=\n"
)


def peter() -> Signer:
    return Signer("PeterNeumann", Ed25519PrivateKey.from_private_bytes(PETER_SEED))


def keys(*texts: str) -> list[VerifierKey]:
    return [VerifierKey.parse(each) for each in texts]


def names(note: str, *texts: str) -> list[str]:
    return [key.name for key in open_note(note, keys(*texts)).signers]


@pytest.mark.parametrize("text", [PETER, ENOCH])
def test_a_key_is_printed_as_it_was_read(text: str) -> None:
    assert str(VerifierKey.parse(text)) == text


def test_no_mangled_key_is_read() -> None:
    mangled = [PETER[start:end] for start in range(len(PETER)) for end in range(start, len(PETER) + 1)]
    mangled = [each for each in mangled if each != PETER]
    mangled += [
        PETER[:place] + chr(ord(PETER[place]) + 1) + PETER[place + 1 :] for place in range(len(PETER))
    ]
    mangled += [
        "PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==",  # too long, with its id
        "PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",  # another kind of key
        PETER.replace("c74f20a3", "C74F20A3"),
        PETER + "\n",
    ]
    for each in mangled:
        with pytest.raises(Malformed):
            VerifierKey.parse(each)


def test_signing_against_go() -> None:
    assert str(peter().verifier) == PETER
    assert sign(TEXT, peter()) == f"{TEXT}\n{PETER_LINE}"


@pytest.mark.parametrize("text", ["abc", "a\x01b\n", "a\r\n", "\ud800\n", ""])
def test_what_is_no_text_is_not_signed(text: str) -> None:
    with pytest.raises(Malformed):
        sign(text, peter())


def test_a_note_nobody_signs_is_none() -> None:
    with pytest.raises(Malformed):
        sign(TEXT)


def test_known_signatures_are_checked_and_unknown_ones_ignored() -> None:
    both = f"{TEXT}\n{PETER_LINE}{ENOCH_LINE}"
    assert names(both, PETER, ENOCH) == ["PeterNeumann", "EnochRoot"]
    opened = open_note(both, keys(PETER))
    assert opened.text == TEXT
    assert [key.name for key in opened.signers] == ["PeterNeumann"]
    assert [(each.name, each.key_id.hex()) for each in opened.unknown] == [("EnochRoot", "af0cfe78")]


def test_a_note_without_a_known_signature_is_not_opened() -> None:
    with pytest.raises(Unproven, match="no known key"):
        open_note(f"{TEXT}\n{PETER_LINE}{ENOCH_LINE}", [])


def test_a_key_of_the_same_name_and_another_id_is_unknown() -> None:
    other = VerifierKey("PeterNeumann", bytes(32))
    with pytest.raises(Unproven, match="no known key"):
        open_note(f"{TEXT}\n{PETER_LINE}", [other])


def test_one_wrong_signature_of_a_known_key_refuses_the_note() -> None:
    wrong = PETER_LINE[:60] + "ABCD" + PETER_LINE[60:]
    with pytest.raises(Unproven, match="PeterNeumann"):
        names(f"{TEXT}\n{wrong}", PETER)
    with pytest.raises(Unproven, match="PeterNeumann"):
        names(f"{TEXT}\n{ENOCH_LINE}{wrong}", PETER, ENOCH)
    with pytest.raises(Unproven, match="PeterNeumann"):
        names(f"{TEXT.upper()}\n{PETER_LINE}", PETER)


def test_a_signature_twice_is_one_signer() -> None:
    assert names(f"{TEXT}\n{PETER_LINE}{PETER_LINE}{ENOCH_LINE}", PETER) == ["PeterNeumann"]


@pytest.mark.parametrize(
    "note",
    [
        TEXT,
        f"{TEXT}\n",
        f"{TEXT}\n{PETER_LINE[:-1]}",
        f"\x01{TEXT}\n{PETER_LINE}",
        f"{TEXT}\n— Bad Name {PETER_LINE.split(' ')[2]}",
        f"{TEXT}\n{PETER_LINE}Unexpected line.\n",
        f"{TEXT}\n{PETER_LINE * (MAX_SIGNATURES + 1)}",
        f"{TEXT}\n{PETER_LINE}\n",
        f"{TEXT}\n{PETER_LINE.replace('— ', '- ')}",
        f"{TEXT}\n— PeterNeumann x08goA\n",
        f"{TEXT}\n— PeterNeumann x08go===\n",
        f"{TEXT}\n— PeterNeumann x08gow==\n",  # four bytes: an id without a signature
        f"{TEXT}\n— Peter+Neumann x08go/ZJ\n",
        "",
        "\n\n",
    ],
)
def test_malformed_notes_are_refused(note: str) -> None:
    with pytest.raises(Malformed):
        Note.parse(note)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(Malformed, match="UTF-8"):
        Note.parse(b"\xff" + f"{TEXT}\n{PETER_LINE}".encode())


def test_a_note_too_long_to_be_one_is_not_read() -> None:
    with pytest.raises(Malformed, match="longer"):
        Note.parse("a" * 1_000_001)


def test_the_text_may_hold_empty_lines() -> None:
    """The example of C2SP's signed-note; its key is not published, its id and name are."""
    note = Note.parse(
        "Ognuno sta solo sul cuor della terra\ntrafitto da un raggio di sole:\n\ned è subito sera.\n\n"
        "— quasimodo.example/salvatore "
        "NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=\n"
    )
    assert note.text.endswith("\n\ned è subito sera.\n")
    assert [(each.name, len(each.data)) for each in note.signatures] == [("quasimodo.example/salvatore", 64)]
