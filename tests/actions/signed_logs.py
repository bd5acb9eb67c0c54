"""A process that signs a log, and what somebody with every right does to the log's database."""

from __future__ import annotations

import sqlalchemy as sa

from forelock.transparency.checkpoints import open_checkpoint
from forelock.transparency.notes import VerifierKey
from service.actions.ledger.signer import Signer
from service.keyring.keyring import SigningKeyFile
from service.keyring.signer_state import SignerState
from service.store.database import guards
from service.store.database.clock import read_moment
from service.store.ledger import checkpoints, ledger, ledger_signers


class Replica:
    """A process that appends and signs; replicas of a database have the key in common, and a state of their own."""

    def __init__(self, database, directory, name="one", step=lambda _name: None):
        self.database, self.directory = database, directory
        self.key = SigningKeyFile(directory / "signing.key")
        if not self.key.path.exists():
            self.key.prepare()
            self.key.take_over()
        self.state = SignerState(directory / f"{name}.state")
        self.step = step
        self.signer = Signer(
            database, self.key.read, self.state, origin="log.example", step=lambda name: self.step(name)
        )

    def append(self, count=1):
        with self.database.write() as session:
            for _ in range(count):
                self.receipt = ledger.append(session, None, "close", {}, read_moment(session))
        return self.receipt

    def sign(self, count=1):
        self.append(count)
        return self.checkpoint()

    def checkpoint(self):
        return open_checkpoint(self.signer.checkpoint().note, self.keys())

    def keys(self):
        with self.database.read() as session:
            return [VerifierKey.parse(each.vkey) for each in ledger_signers.read_all(session)]

    def head(self):
        with self.database.read() as session:
            return ledger.read_head(session)

    def stored(self):
        with self.database.read() as session:
            return checkpoints.read_latest(session)


def rewrite(database, *statements):
    """What somebody with every right does to the database: guards off, rows changed, guards as they were."""
    dialect = database.dialect
    on = sorted(
        (name, text)
        for name, text in guards.list_expected(dialect).items()
        if name.startswith("trigger ledger_")
    )
    with database.write() as session:
        for name, _ in on:
            table, trigger = name.removeprefix("trigger ").split(".")
            away = f"DROP TRIGGER {trigger}"
            session.execute(
                sa.text(away if dialect == "sqlite" else f"ALTER TABLE {table} DISABLE TRIGGER {trigger}")
            )
        for statement in statements:
            session.execute(sa.text(statement))
        for name, text in on:
            table, trigger = name.removeprefix("trigger ").split(".")
            back = f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {trigger}"
            session.execute(sa.text(text if dialect == "sqlite" else back))
    assert guards.find_faults(database.engine) == []


class Copy:
    """An older state of the ledger's tables, to be restored."""

    TABLES = ("ledger_checkpoints", "ledger_signers", "ledger_nodes", "ledger_entries", "ledger_head")

    def __init__(self, database):
        self.database = database
        rewrite(database, *(f"DROP TABLE IF EXISTS copy_of_{each}" for each in self.TABLES))
        rewrite(database, *(f"CREATE TABLE copy_of_{each} AS SELECT * FROM {each}" for each in self.TABLES))

    def restore(self):
        rewrite(
            self.database,
            *(f"DELETE FROM {each}" for each in self.TABLES),
            *(f"INSERT INTO {each} SELECT * FROM copy_of_{each}" for each in reversed(self.TABLES)),
        )
