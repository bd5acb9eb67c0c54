"""A ledger of 200,000 entries beside one of 2,000: what an append, a proof and a checkpoint take, and how they grow."""

from __future__ import annotations

import random
import secrets
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.harness import Sides, row

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from service.actions.ledger.signer import Signer
    from service.store.database.engine import Database

GROUP = "ledger"
FEW, MANY = 2_000, 200_000
AT_ONCE = 2_000
PROOFS = 50
NOW = datetime(2027, 1, 4, tzinfo=UTC)
PEER = "the same on 2,000 entries"
BAR = 2.0
"""The trees are 18 and 11 levels high."""


@dataclass(frozen=True, slots=True)
class Log:
    """A filled database with its signer."""

    database: Database
    signer: Signer
    size: int

    def append(self, count: int = 1) -> None:
        """A transaction of so many leaves."""
        from service.store.ledger import ledger

        events = [
            ledger.Event(
                kind="batch",
                body={"batch": number, "n": 100, "commitment_sha256": "0" * 64},
                project_id=None,
                preregistration_id=None,
                salt=secrets.token_bytes(16),
            )
            for number in range(count)
        ]
        with self.database.write() as session:
            ledger.add(session, ledger.make_next_leaves(session, events, now=NOW))


@cache
def filled(size: int) -> Log:
    """A log on SQLite, which is removed with the process."""
    from service.actions.ledger.signer import Signer
    from service.keyring.keyring import SigningKeyFile
    from service.keyring.signer_state import SignerState
    from service.store.database import schema
    from service.store.database.engine import Database

    directory = Path(_directory().name) / str(size)
    directory.mkdir()
    database = Database(f"sqlite:///{directory / 'forelock.db'}")
    schema.upgrade(database.engine)
    key = SigningKeyFile(directory / "signing.key")
    key.prepare()
    key.take_over()
    log = Log(database, Signer(database, key.read, SignerState(directory / "state")), size)
    for _ in range(size // AT_ONCE):
        log.append(AT_ONCE)
    return log


@cache
def _directory() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="forelock-bench-")


def _both(work: Callable[[Log], None]) -> Sides:
    many, few = filled(MANY), filled(FEW)
    return Sides(lambda: work(many), lambda: work(few))


@row("an entry appended and committed", group=GROUP, peer=PEER, bar=BAR, at_most=True)
def _append() -> Sides:
    return _both(lambda log: log.append())


@row("128 entries appended and committed together", group=GROUP, peer=PEER, bar=BAR, at_most=True)
def _group() -> Sides:
    return _both(lambda log: log.append(128))


@row(f"{PROOFS} inclusion proofs, verified", group=GROUP, peer=PEER, bar=BAR, at_most=True)
def _inclusion() -> Sides:
    from service.actions.ledger import proofs

    draw = random.Random(1)
    return _proofs(lambda session, size: proofs.prove_inclusion(session, draw.randrange(size), None))


@row(f"{PROOFS} consistency proofs, verified", group=GROUP, peer=PEER, bar=BAR, at_most=True)
def _consistency() -> Sides:
    from service.actions.ledger import proofs

    draw = random.Random(2)
    return _proofs(lambda session, size: proofs.prove_consistency(session, draw.randrange(1, size), None))


def _proofs(prove: Callable[[Session, int], object]) -> Sides:
    def work(log: Log) -> None:
        with log.database.read() as session:
            for _ in range(PROOFS):
                prove(session, log.size)

    _sign(filled(MANY))
    _sign(filled(FEW))
    return _both(work)


@row("an entry appended, committed and signed", group=GROUP, peer=PEER, bar=BAR, at_most=True)
def _signed() -> Sides:
    def work(log: Log) -> None:
        log.append()
        _sign(log)

    return _both(work)


def _sign(log: Log) -> None:
    log.signer.checkpoint()
