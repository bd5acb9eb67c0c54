"""The deployment's own keys, as files that only its user can read.

`seal.pub` is what plan keys are wrapped to; `seal.key` opens them and is read by the runner alone;
`signing.key` signs the ledger's checkpoints and is held by the API alone; `server.key` keys fingerprints
and cache keys.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from forelock import files
from service.domain.results.sealing import new_keypair, public_half
from service.errors import ForelockError

KEY_BYTES = 32
SEAL_PUBLIC, SEAL_PRIVATE, SIGNING, SERVER = "seal.pub", "seal.key", "signing.key", "server.key"
FILES = (SEAL_PUBLIC, SEAL_PRIVATE, SIGNING, SERVER)


class KeyringError(ForelockError):
    """The deployment's keys are missing, unreadable or do not belong together."""

    code, title = "keyring", "The deployment's keys cannot be used"


@dataclass(frozen=True, slots=True)
class Keyring:
    """Keys of one process. An API process holds no `seal_private`, a runner no `signing`."""

    seal_public: bytes
    seal_private: bytes | None = field(repr=False)
    signing: bytes | None = field(repr=False)
    server: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if self.seal_private is not None and public_half(self.seal_private) != self.seal_public:
            raise KeyringError("the private seal key does not belong to the public one")

    @classmethod
    def create(cls, directory: Path) -> Keyring:
        """Make every key that is not there yet, and load them all. An existing key is never replaced."""
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        directory.chmod(0o700)
        if not (directory / SEAL_PUBLIC).exists():
            if not (directory / SEAL_PRIVATE).exists():
                write_key(directory / SEAL_PRIVATE, new_keypair()[1])
            write_key(directory / SEAL_PUBLIC, public_half(read_key(directory / SEAL_PRIVATE)))
        for name in (SIGNING, SERVER):
            if not (directory / name).exists():
                write_key(directory / name, secrets.token_bytes(KEY_BYTES))
        return cls.load(directory, private=True)

    @classmethod
    def load(
        cls,
        directory: Path,
        *,
        private: bool = False,
        signs: bool = True,
        seal_public: str | None = None,
        seal_private: str | None = None,
        signing_key_file: Path | None = None,
    ) -> Keyring:
        """Read the keys; `private` is for the runner, which never `signs`.

        The others stand in for files: base64, or a path.
        """
        opener = None
        if private:
            opener = (
                _decode_setting("SEAL_PRIVATE_KEY", seal_private)
                if seal_private
                else read_key(directory / SEAL_PRIVATE)
            )
        return cls(
            seal_public=_decode_setting("SEAL_PUBLIC_KEY", seal_public)
            if seal_public
            else read_key(directory / SEAL_PUBLIC),
            seal_private=opener,
            signing=read_key(signing_key_file or directory / SIGNING) if signs else None,
            server=read_key(directory / SERVER),
        )

    @staticmethod
    def require_given(
        *, seal_public: str | None, seal_private: str | None, signing_key_file: Path | None
    ) -> None:
        """Refuse keys that settings hold and that cannot be one.

        Raises:
            KeyringError: naming the setting or the file.
        """
        if seal_public:
            _decode_setting("SEAL_PUBLIC_KEY", seal_public)
        if seal_private:
            _decode_setting("SEAL_PRIVATE_KEY", seal_private)
        if signing_key_file:
            read_key(signing_key_file)

    def opener(self) -> bytes:
        """Return the private seal key; only a runner's keyring has it."""
        if self.seal_private is None:
            raise KeyringError("this process holds no private seal key: only the runner opens sealed rows")
        return self.seal_private

    def fingerprint(self, purpose: str, *parts: bytes) -> str:
        """Return the HMAC-SHA256 of the parts, each with its length, so that no two lists of parts run together."""
        mac = hmac.new(self.server, digestmod=hashlib.sha256)
        for part in (purpose.encode(), *parts):
            mac.update(len(part).to_bytes(8, "big"))
            mac.update(part)
        return mac.hexdigest()


@dataclass(frozen=True, slots=True)
class SigningKeyFile:
    """Where the signing key is, and its successor while it is being rotated."""

    path: Path

    @property
    def _successor(self) -> Path:
        return self.path.with_name(f"{self.path.name}.next")

    def read(self) -> list[bytes]:
        """Return the keys that are there: the one that signs, and one that is about to.

        Raises:
            KeyringError: one is no key.
        """
        return [read_key(path) for path in (self.path, self._successor) if path.exists()]

    def prepare(self) -> bytes:
        """Return the successor, on the disk: a new one, or that of a rotation that was interrupted."""
        if not self._successor.exists():
            write_key(self._successor, secrets.token_bytes(KEY_BYTES))
        return read_key(self._successor)

    def take_over(self) -> None:
        """Put the successor in the place of the key, which is gone with this."""
        self._successor.replace(self.path)
        files.sync(self.path.parent)


def write_key(path: Path, key: bytes) -> None:
    """Make the file, complete or not at all; one that another process made first stays."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(base64.b64encode(key) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()


def read_key(path: Path) -> bytes:
    """Return the key of a file.

    Raises:
        KeyringError: it cannot be read, or is none.
    """
    restore = "restore the keys from their backup"
    try:
        text = path.read_text("ascii")
    except OSError as error:
        raise KeyringError(f"cannot read the key file {path}: {error.strerror}; {restore}") from error
    except UnicodeDecodeError as error:
        raise KeyringError(f"the key file {path} is not base64; {restore}") from error
    return decode_key(text, f"the key file {path}", restore)


def _decode_setting(setting: str, text: str) -> bytes:
    return decode_key(text, f"FORELOCK_{setting}", "copy it again")


def decode_key(text: str, what: str, way_out: str) -> bytes:
    """Return a key from its base64.

    Raises:
        KeyringError: it is none; `what` it should have been, and the `way_out`.
    """
    try:
        key = base64.b64decode(text.strip(), validate=True)
    except ValueError as error:
        raise KeyringError(f"{what} is not base64; {way_out}") from error
    if len(key) != KEY_BYTES:
        raise KeyringError(f"{what} holds {len(key)} bytes, and a key has {KEY_BYTES}; {way_out}")
    return key
