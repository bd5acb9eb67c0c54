"""Signed notes (C2SP signed-note): a text and the Ed25519 signatures of keys with a name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from forelock.transparency.encoding import base64_bytes, base64_text
from forelock.transparency.faults import Malformed, Unproven

MAX_BYTES = 1_000_000
MAX_SIGNATURES = 100
"""Both as in Go's implementation."""
ED25519 = 0x01
_ID_BYTES = 4
_PUBLIC_BYTES = 32
_DASH = "\N{EM DASH} "


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """A public key and its name. As text, a vkey: `name+id+base64`."""

    name: str
    public: bytes

    def __post_init__(self) -> None:
        _require_name(self.name)
        if len(self.public) != _PUBLIC_BYTES:
            raise Malformed(f"an Ed25519 key has {_PUBLIC_BYTES} bytes, not {len(self.public)}")

    @property
    def key_id(self) -> bytes:
        """The first four bytes of SHA-256(name, newline, signature type, key)."""
        hashed = hashlib.sha256(self.name.encode() + b"\n" + bytes([ED25519]) + self.public)
        return hashed.digest()[:_ID_BYTES]

    def __str__(self) -> str:
        return f"{self.name}+{self.key_id.hex()}+{base64_text(bytes([ED25519]) + self.public)}"

    @classmethod
    def parse(cls, text: str) -> VerifierKey:
        """Return the key of a vkey.

        Raises:
            Malformed: another shape, another kind of key, or an id that is not the key's.
        """
        parts = text.split("+", 2)  # base64 may hold a plus, a name and an id may not
        if len(parts) != 3:
            raise Malformed("the key is not of the form name+id+base64")
        name, key_id, encoded = parts
        data = base64_bytes(encoded, "the key")
        if not data or data[0] != ED25519:
            raise Malformed("the key is not an Ed25519 key")
        key = cls(name, data[1:])
        if key_id != key.key_id.hex():
            raise Malformed("the key's id is not that of its name and bytes")
        return key

    def verify(self, text: str, signature: bytes) -> None:
        """Check a signature of a text.

        Raises:
            Unproven: it is not this key's signature of this text.
        """
        try:
            Ed25519PublicKey.from_public_bytes(self.public).verify(signature, text.encode())
        except (InvalidSignature, ValueError):
            raise Unproven(f"a signature of {self.name} is not of this text") from None


@dataclass(frozen=True, slots=True)
class Signer:
    """A private key and its name."""

    name: str
    private: Ed25519PrivateKey

    @property
    def verifier(self) -> VerifierKey:
        """The public half of the key, which checks signatures."""
        return VerifierKey(self.name, self.private.public_key().public_bytes_raw())

    def line(self, text: str) -> str:
        """Return the signature line of a text."""
        key = self.verifier
        return f"{_DASH}{key.name} {base64_text(key.key_id + self.private.sign(text.encode()))}\n"


def sign(text: str, *signers: Signer) -> str:
    """Return the note of a text: the text, an empty line, one signature line per signer.

    Raises:
        Malformed: a text that does not end with a newline or holds control characters, or no signer.
    """
    _require_text(text)
    if not signers:
        raise Malformed("a note without a signature is none")
    return text + "\n" + "".join(signer.line(text) for signer in signers)


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature line as it was read; nothing is known of it yet."""

    name: str
    key_id: bytes
    data: bytes


@dataclass(frozen=True, slots=True)
class Note:
    """A note as it was read. `open_note` says who signed it."""

    text: str
    signatures: tuple[Signature, ...]

    @classmethod
    def parse(cls, note: bytes | str) -> Note:
        """Take a note apart.

        Raises:
            Malformed: not UTF-8, control characters, no empty line before the signatures, or lines that are none.
        """
        if len(note) > MAX_BYTES:
            raise Malformed(f"a note is longer than {MAX_BYTES} bytes")
        try:
            whole = note.decode() if isinstance(note, bytes) else note
            whole.encode()
        except UnicodeError:
            raise Malformed("a note is not UTF-8") from None
        split = whole.rfind("\n\n")
        if split < 0:
            raise Malformed("a note has no empty line before its signatures")
        text, rest = whole[: split + 1], whole[split + 2 :]
        _require_text(text)
        if not rest.endswith("\n"):
            raise Malformed("a note does not end with a signature line and a newline")
        lines = rest[:-1].split("\n")
        if len(lines) > MAX_SIGNATURES:
            raise Malformed(f"a note has more than {MAX_SIGNATURES} signatures")
        return cls(text, tuple(_signature(line) for line in lines))


@dataclass(frozen=True, slots=True)
class OpenedNote:
    """A note at least one known key signed, and no known key signed wrongly."""

    text: str
    signers: tuple[VerifierKey, ...]
    unknown: tuple[Signature, ...]


def open_note(note: bytes | str, keys: Iterable[VerifierKey]) -> OpenedNote:
    """Check who signed a note. Signatures of unknown keys are ignored, those of known ones all have to hold.

    Raises:
        Malformed: it is not a note.
        Unproven: no known key signed it, or a signature of a known key does not hold.
    """
    read = Note.parse(note)
    known = {(key.name, key.key_id): key for key in keys}
    signers: list[VerifierKey] = []
    unknown: list[Signature] = []
    for signature in read.signatures:
        key = known.get((signature.name, signature.key_id))
        if key is None:
            unknown.append(signature)
            continue
        key.verify(read.text, signature.data)
        if key not in signers:
            signers.append(key)
    if not signers:
        raise Unproven("no known key signed it")
    return OpenedNote(read.text, tuple(signers), tuple(unknown))


def _signature(line: str) -> Signature:
    name, space, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not space:
        raise Malformed("a signature line is not of the form \N{EM DASH} name base64")
    _require_name(name)
    data = base64_bytes(encoded, "a signature")
    if len(data) <= _ID_BYTES:
        raise Malformed("a signature is too short to be one")
    return Signature(name, data[:_ID_BYTES], data[_ID_BYTES:])


def _require_name(name: str) -> None:
    if not name or "+" in name or any(letter.isspace() or letter < " " for letter in name):
        raise Malformed("a key's name is empty or holds spaces or a plus")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise Malformed("a key's name is not Unicode") from None


def _require_text(text: str) -> None:
    if not text.endswith("\n"):
        raise Malformed("a note's text does not end with a newline")
    if any(letter < " " and letter != "\n" for letter in text):
        raise Malformed("a note holds control characters")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Malformed("a note is not UTF-8") from None
