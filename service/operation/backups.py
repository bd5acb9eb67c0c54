"""What `forelock backup` and `forelock restore` do: the database as one file, the keys as another, in another place.

Whoever has both can read results before the verdict.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from service.config import Settings
from service.errors import ForelockError
from service.keyring.keyring import (
    FILES,
    SEAL_PRIVATE,
    SEAL_PUBLIC,
    SERVER,
    SIGNING,
    Keyring,
    decode_key,
    read_key,
    write_key,
)
from service.operation.starting import require_answer, require_keys, signer_of
from service.store.database import backups, schema
from service.store.database.backups import BackupFailed
from service.store.database.engine import Database

FORM = "forelock keys 1"
_MOST_BYTES = 64 * 1024


def back_up_database(settings: Settings, file: Path) -> list[str]:
    """Copy the database of a deployment, which may be running, to a new file; what was written, in lines."""
    _require_apart(settings, file, keys=False)
    with _database(settings) as database:
        require_answer(database)
        backups.copy(database, file)
        revision = schema.read_revision(database.engine)
    return [f"database    {file} ({file.stat().st_size} bytes, schema {revision})"]


def back_up_keys(settings: Settings, file: Path) -> list[str]:
    """Copy the keys that this process can read to a new file; which they are, in lines."""
    _require_apart(settings, file, keys=True)
    directory = settings.data_dir / "keys"
    given = settings.seal_private_key
    keys: dict[str, bytes] = {}
    for name in FILES:
        path = settings.signing_key_path if name == SIGNING else directory / name
        if name == SEAL_PRIVATE and given is not None:
            keys[name] = decode_key(given.get_secret_value(), "FORELOCK_SEAL_PRIVATE_KEY", "copy it again")
        elif name == SEAL_PUBLIC and settings.seal_public_key:
            keys[name] = decode_key(settings.seal_public_key, "FORELOCK_SEAL_PUBLIC_KEY", "copy it again")
        elif name != SEAL_PRIVATE or path.exists():
            keys[name] = read_key(path)
    _require_pair(keys)
    successor = settings.signing_key_path.with_name(f"{SIGNING}.next")
    if successor.exists():
        raise BackupFailed(
            f"a rotation of the signing key was interrupted ({successor}): run `forelock ledger rotate` again first"
        )
    text = json.dumps(
        {"format": FORM, "keys": {name: base64.b64encode(key).decode() for name, key in keys.items()}},
        indent=1,
    )

    def write(draft: Path) -> None:
        draft.write_text(f"{text}\n", "ascii")

    backups.new_file(file, write)
    lines = [f"keys        {file} ({', '.join(keys)})"]
    if SEAL_PRIVATE not in keys:
        lines.append(
            "not in it   seal.key: it is not on this machine; run this on the runner's too, since no pending plan "
            "is judged without it"
        )
    return lines


def restore_database(settings: Settings, file: Path) -> list[str]:
    """Make the database from a copy, where there is none; then what stands, and what is missing, in lines."""
    if _holds_keys(file):
        raise BackupFailed(f"{file} holds keys: `forelock restore keys {file}` puts them back")
    _make_directory(settings)
    with _database(settings) as database:
        if database.dialect == "postgresql":
            require_answer(database)
        backups.restore(database, file)
        faults = backups.settle(database)
    if faults:
        raise BackupFailed(f"the restored database lacks guards: {'; '.join(faults)}; use another copy")
    return standing(settings)


def restore_keys(settings: Settings, file: Path) -> list[str]:
    """Put the keys back where there are none; then what stands, and what is missing, in lines."""
    keys = _read_keys(file)
    _make_directory(settings)
    directory = settings.data_dir / "keys"
    directory.mkdir(mode=0o700, exist_ok=True)
    directory.chmod(0o700)
    for name, key in keys.items():
        if (directory / name).exists() and read_key(directory / name) != key:
            raise BackupFailed(
                f"{directory / name} is another key than the one in {file}: name a new directory with --data, or "
                "move it away"
            )
    for name, key in keys.items():
        write_key(directory / name, key)
    return standing(settings)


def standing(settings: Settings) -> list[str]:
    """Say how schema, keys and ledger of a deployment stand, and what its operator has to do next."""
    lines = []
    with _database(settings) as database:
        present = None if _absent(settings) else schema.read_revision(database.engine)
        if present is None:
            lines.append("database    missing: restore it with `forelock restore database FILE`")
        elif present != schema.find_newest_revision():
            lines.append(f"database    schema {present}: run `forelock migrate`, then start")
        else:
            lines.append(f"database    schema {present}, every guard stands")
        try:
            keyring = _keys(settings, database, present)
        except ForelockError as error:
            return [
                *lines,
                f"keys        missing: {error.detail}",
                "            `forelock restore keys FILE` puts them back; without seal.key no pending plan is judged",
            ]
        opens = keyring.seal_private is not None
        lines.append(
            "keys        "
            + (
                "they fit"
                if opens
                else "seal.key is not here: the runner needs it (FORELOCK_SEAL_PRIVATE_KEY)"
            )
        )
        if present == schema.find_newest_revision():
            refused = signer_of(settings, database, keyring).explain_refusal()
            lines.append(
                "ledger      goes on from what was signed"
                if refused is None
                else f"ledger      {refused}\n            if this restore was meant: "
                '`forelock ledger resume --reason "..."`'
            )
    return lines


def _keys(settings: Settings, database: Database, present: str | None) -> Keyring:
    """Return the keys, which fit the database where there is one of this release."""
    if present == schema.find_newest_revision():
        return require_keys(settings, database)
    given = settings.seal_private_key
    return Keyring.load(
        settings.data_dir / "keys",
        private=given is not None or (settings.data_dir / "keys" / SEAL_PRIVATE).exists(),
        seal_public=settings.seal_public_key,
        seal_private=given.get_secret_value() if given else None,
        signing_key_file=settings.signing_key_file,
    )


def _absent(settings: Settings) -> bool:
    """No file of SQLite: asking it for anything would make one."""
    return settings.database_url is None and not (settings.data_dir / "forelock.db").exists()


@contextmanager
def _database(settings: Settings) -> Iterator[Database]:
    database = Database(settings.url, pool_size=2)
    try:
        yield database
    finally:
        database.dispose()


def _make_directory(settings: Settings) -> None:
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)


def _require_apart(settings: Settings, file: Path, *, keys: bool) -> None:
    """Refuse a place that holds the other half: one stolen directory would then be enough.

    Raises:
        BackupFailed: naming what is there.
    """
    directory = file.absolute().parent
    if not directory.is_dir():
        raise BackupFailed(f"{directory} is no directory: make it first")
    if directory.resolve().is_relative_to(settings.data_dir.resolve()):
        raise BackupFailed(f"{directory} is in the data directory: a copy beside the original goes with it")
    for path in sorted(directory.iterdir()):
        if not path.is_file():
            other = not keys and path.name == "keys" and (path / SEAL_PRIVATE).exists()
        else:
            other = (
                backups.find_kind(path) is not None
                if keys
                else path.name == SEAL_PRIVATE or _holds_keys(path)
            )
        if other:
            raise BackupFailed(
                f"{path} is there, {'a database' if keys else 'keys'}: whoever has database and keys can read results "
                "before the verdict; name another directory, on another disk or machine where you can"
            )


def _holds_keys(file: Path) -> bool:
    with file.open("rb") as opened:
        return FORM.encode() in opened.read(100)


def _read_keys(file: Path) -> dict[str, bytes]:
    """Read the keys of a deployment from a backup, by file name; BackupFailed where they are none or do not fit."""
    with file.open("rb") as opened:
        data = opened.read(_MOST_BYTES)
    try:
        content = json.loads(data)
        form = content["format"]
        texts = {str(name): str(text) for name, text in content["keys"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        form, texts = None, {}
    if form != FORM:
        raise BackupFailed(f"{file} holds no keys: name what `forelock backup keys` wrote")
    missing = {SEAL_PUBLIC, SIGNING, SERVER} - texts.keys()
    if missing or not texts.keys() <= set(FILES):
        raise BackupFailed(f"{file} does not hold the keys of a deployment: use another copy")
    read = {name: decode_key(text, f"{name} in {file}", "use another copy") for name, text in texts.items()}
    _require_pair(read)
    return read


def _require_pair(keys: dict[str, bytes]) -> None:
    Keyring(keys[SEAL_PUBLIC], keys.get(SEAL_PRIVATE), keys[SIGNING], keys[SERVER])
