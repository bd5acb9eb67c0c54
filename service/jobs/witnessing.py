"""Asking outside witnesses for stamps of signed checkpoints, beside the jobs: nothing of a lock or a verdict waits.

What is to be stamped follows from what is stored, so there is no queue that a death could empty: a checkpoint that
holds a plan or a verdict and has no stamp is due, whoever looks next. A turn is taken in the database, so that of
several runners one asks; it has a lease, and after a failure it comes later and later.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Sequence
from datetime import timedelta
from threading import Event
from typing import Protocol

from forelock.transparency.checkpoints import read_checkpoint
from forelock.witness.stamp import Kind, WitnessFault
from service.errors import Unavailable
from service.publish.faults import OutgoingFault
from service.store.database import clock
from service.store.database.engine import Database
from service.store.ledger import stamps
from service.store.ledger.checkpoints import StoredCheckpoint

log = logging.getLogger("forelock.witness")

LOOK_SECONDS = 5.0
"""How often a runner looks whether something is due: one or two reads by index."""
LEASE = timedelta(minutes=10)
"""How long a turn is a runner's before another may take it."""
WAITS = tuple(timedelta(seconds=seconds) for seconds in (30, 60, 120, 300, 900, 1800, 3600))
"""What is waited after the first failure of a witness, the second and so on."""
UPGRADE_EVERY = timedelta(minutes=15)
"""How often stamps that are not complete are asked about."""
UPGRADES_AT_ONCE = 20
"""Stamps that one turn asks about."""


class Witness(Protocol):
    """An outside witness: a time stamp authority, or calendars of OpenTimestamps; see `publish.witness`."""

    @property
    def kind(self) -> Kind:
        """The kind of stamp that this witness gives."""

    def stamp(self, data: bytes) -> bytes:
        """Ask for a stamp of the bytes, and verify it.

        Raises:
            OutgoingFault: the witness does not answer.
            WitnessFault: what it answers is no stamp of these bytes.
        """

    def is_complete(self, stamp: bytes) -> bool:
        """Tell whether the witness will add nothing more to a stamp."""

    def upgrade(self, stamp: bytes) -> bytes:
        """Return the stamp with what the witness can add by now; the same bytes where that is nothing."""


class Witnessing:
    """Has every signed checkpoint that holds a plan or a verdict stamped by every witness."""

    def __init__(
        self,
        database: Database,
        witnesses: Sequence[Witness],
        *,
        waits: Sequence[timedelta] = WAITS,
        upgrade_every: timedelta = UPGRADE_EVERY,
    ) -> None:
        self._database, self._witnesses = database, witnesses
        self._waits, self._upgrade_every = waits, upgrade_every
        self._looked: dict[str, int] = {}

    def run(self, stopping: Event) -> None:
        """Ask the witnesses for what is due until told to stop; a database that is away is waited for."""
        while not stopping.is_set():
            try:
                self.step()
            except Unavailable:
                log.warning("the database is away: stamps wait")
            except Exception as error:  # noqa: BLE001 - whatever it is, the next look is due
                place = traceback.extract_tb(error.__traceback__)[-1]
                log.error("%s at %s:%s", type(error).__name__, place.filename, place.lineno)  # noqa: TRY400
            stopping.wait(LOOK_SECONDS)

    def step(self) -> int:
        """Ask every witness that is due once; returns how many stamps were stored."""
        return sum(self._stamp(witness) + self._upgrade(witness) for witness in self._witnesses)

    def _stamp(self, witness: Witness) -> int:
        """Have a witness stamp the newest checkpoint without its stamp, if it is time; returns how many."""
        kind = witness.kind
        with self._database.read() as session:
            if not stamps.is_turn_open(session, kind, now=clock.read_now(session)):
                return 0
            due, self._looked[kind] = stamps.find_due(session, kind, self._looked.get(kind, 0))
        # The turn is taken before the outside is asked, and no transaction is open while it is.
        if due is None or not self._take(kind):
            return 0
        note = due.note.encode()
        try:
            stamp = witness.stamp(note)
        except (OutgoingFault, WitnessFault) as fault:
            self._fail(kind, fault)
            return 0
        self._store(witness, due, stamp)
        with self._database.write() as session:
            stamps.end_turn(session, kind, next_at=clock.read_now(session))
        return 1

    def _upgrade(self, witness: Witness) -> int:
        """Ask a witness for what became of the stamps that wait, if it is time; returns how many grew."""
        turn = f"{witness.kind} upgrade"
        with self._database.read() as session:
            if not stamps.is_turn_open(session, turn, now=clock.read_now(session)):
                return 0
            waiting = stamps.read_waiting(session, witness.kind, limit=UPGRADES_AT_ONCE)
        if not waiting or not self._take(turn):
            return 0
        n_upgraded, faults = 0, []
        for stored in waiting:
            try:
                upgraded = witness.upgrade(stored.content)
            except (OutgoingFault, WitnessFault) as fault:
                faults.append(fault)
                continue
            # A stamp that has not grown is not kept again: every one is a row for good.
            if upgraded != stored.content:
                self._store(witness, stored.checkpoint, upgraded)
                n_upgraded += 1
        if faults:
            self._fail(turn, faults[0])
            return n_upgraded
        with self._database.write() as session:
            stamps.end_turn(session, turn, next_at=clock.read_now(session) + self._upgrade_every)
        return n_upgraded

    def _take(self, turn: str) -> bool:
        with self._database.write() as session:
            return stamps.take_turn(session, turn, now=clock.read_now(session), lease=LEASE)

    def _store(self, witness: Witness, checkpoint: StoredCheckpoint, stamp: bytes) -> None:
        """Store a witness's stamp of a checkpoint; one that is not complete waits to be asked for again."""
        with self._database.write() as session:
            stamps.insert(
                session,
                checkpoint,
                witness.kind,
                stamp,
                root=read_checkpoint(checkpoint.note).root.hex(),
                waiting=not witness.is_complete(stamp),
                now=clock.read_now(session),
            )

    def _fail(self, turn: str, fault: Exception) -> None:
        with self._database.write() as session:
            wait = stamps.fail_turn(session, turn, now=clock.read_now(session), waits=self._waits)
        log.warning("witness (%s): %s; asked again in %d s", turn, fault, wait.total_seconds())
