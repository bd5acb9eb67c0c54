"""What has to be there before a process listens or computes: a database that answers, and keys that fit it.

Whatever is not is one sentence for the operator, with the file, host or database it is about. A database
that is only away is waited for.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from service.actions.ledger.signer import Signer
from service.config import Settings
from service.domain.results.sealing import key_info, unseal
from service.errors import ForelockError
from service.keyring.keyring import Keyring, SigningKeyFile
from service.keyring.signer_state import SignerState
from service.store.database.engine import Database
from service.store.plans import plan_keys
from service.store.projects import projects

LONGEST_PAUSE = 5.0


class CannotStart(ForelockError):
    """Something that the operator has to mend first."""

    code, title = "cannot_start", "The service cannot start"


def wait_for(
    database: Database, say: Callable[[str], object], *, sleep: Callable[[float], None] = time.sleep
) -> None:
    """Return when the database answers; say once that it does not.

    Raises:
        CannotStart: it answers, and refuses: a wrong password, no such database, no database file.
    """
    message, pause = "", 0.2
    while (why := database.why_silent()) is not None:
        if why.final:
            raise CannotStart(why.sentence)
        if why.sentence != message:
            say(f"forelock: {why.sentence}; waiting for it\n")
            message = why.sentence
        sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
    if message:
        say("forelock: the database answers\n")


def require_answer(database: Database) -> None:
    """Refuse to go on without the database, for commands that somebody waits for.

    Raises:
        CannotStart: naming host, database and cause.
    """
    why = database.why_silent()
    if why is not None:
        raise CannotStart(why.sentence)


def require_processes(proc: Path = Path("/proc")) -> None:
    """Refuse to compute where processes cannot be looked at: every job would fail, and none could say why.

    Raises:
        CannotStart: naming the mount that a bare chroot lacks.
    """
    if sys.platform == "linux" and not (proc / "self" / "stat").exists():
        raise CannotStart(
            f"{proc} is not mounted, and the workers that compute verdicts read it: "
            f"mount it with `mount -t proc proc {proc}`"
        )


def _make_semaphore() -> object:
    import multiprocessing  # here: most commands that read this module never compute

    # Of the context "fork" it is gone at once; "spawn" starts a process that would look after it.
    return multiprocessing.get_context("fork").Lock()


def require_semaphores(make: Callable[[], object] = _make_semaphore) -> None:
    """Refuse to compute where processes cannot share a lock: no worker would start, and every job would wait for one.

    Raises:
        CannotStart: naming the directory that a container may lack or have read-only.
    """
    try:
        make()
    except OSError as error:
        raise CannotStart(
            f"no semaphore can be made ({error.strerror}), and the workers that compute verdicts need them: mount a "
            "writable /dev/shm, with `mount -t tmpfs none /dev/shm` or the container's `--tmpfs /dev/shm`"
        ) from None


def require_begun(database: Database) -> None:
    """Refuse a database that has a schema and was never initialised: nobody has a key to it.

    Raises:
        CannotStart: naming the command.
    """
    with database.read() as session:
        if not projects.read_page(session, cursor=None, limit=1)[0]:
            raise CannotStart(
                "the database holds no project yet: run `forelock init`, which makes the keys and the first API key"
            )


def require_keys(settings: Settings, database: Database, *, runner: bool = False) -> Keyring:
    """Return the deployment's keys, with the private one where this process may read it or starts a runner, which must.

    Raises:
        KeyringError: a key is missing or cannot be one.
        CannotStart: it is another deployment's: what is locked here could not be judged.
    """
    secret = settings.seal_private_key
    directory = settings.data_dir / "keys"
    private = runner or secret is not None or (directory / "seal.key").exists()
    keyring = Keyring.load(
        directory,
        private=private,
        seal_public=settings.seal_public_key,
        seal_private=secret.get_secret_value() if secret else None,
        signing_key_file=settings.signing_key_file,
    )
    if private:
        require_opens(keyring, database)
    return keyring


def require_opens(keyring: Keyring, database: Database) -> None:
    """Refuse a private key that does not open the plan that was locked last."""
    with database.read() as session:
        newest = plan_keys.find_newest(session)
    if newest is None:
        return
    info = key_info(newest.preregistration_id, newest.plan_sha256)
    try:
        unseal(newest.wrapped_key, keyring.opener(), info)
    except Exception as error:
        raise CannotStart(
            f"the seal key does not open preregistration {newest.preregistration_id}: it is not the key of this "
            "database; restore keys/seal.key and keys/seal.pub from their backup"
        ) from error


def require_whole(settings: Settings, *, has_schema: bool) -> None:
    """Refuse to begin anew where a deployment was: its database is lost, its keys are not.

    Raises:
        CannotStart: with what to restore, or to move away.
    """
    key = settings.data_dir / "admin.key"
    keys = settings.data_dir / "keys"
    left = [key] if key.exists() else []
    if settings.database_url is None and keys.is_dir() and any(keys.iterdir()):
        left.append(keys)
    if left and not has_schema:
        remains = " and ".join(str(path) for path in left)
        raise CannotStart(
            f"{remains} of a deployment are here, and its database is not: restore the database, or move them away "
            "to begin anew"
        )


def signer_of(settings: Settings, database: Database, keyring: Keyring) -> Signer:
    """Return what signs this deployment's ledger. The key is read again when it was rotated."""
    file = SigningKeyFile(settings.signing_key_path)
    held = [] if keyring.signing is None else [keyring.signing]
    return Signer(
        database,
        lambda: [*held, *(line for line in file.read() if line not in held)],
        SignerState(settings.ledger_state),
        origin=settings.ledger_origin,
    )
