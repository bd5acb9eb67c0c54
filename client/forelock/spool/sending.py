"""Sending what waits: batch by batch, under keys that were written down before."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from forelock.client import Client
from forelock.problem import ForelockError, ForelockProblem, Unreachable
from forelock.spool.bodies import post
from forelock.spool.folders import Batch, Spool, Spooled

ROWS = 5_000
SIZE = 32 * 1024 * 1024
REFUSALS = frozenset({400, 409, 413, 415, 422})
"""Answers that say something of the rows; every other one says that now is not the time."""


@dataclass(slots=True)
class Sending:
    """How a round of sending went. Counts of rows, and never what they say."""

    rows: int = 0
    """Rows that the service has now, those that it had before included."""
    refused: list[str] = field(default_factory=list)
    """Why, of batches that it does not take."""
    away: str | None = None
    """Why sending stopped."""


def send(
    client: Client,
    spool: Spool,
    record: str | None = None,
    *,
    again: bool = True,
) -> Sending:
    """Post what waits, of one record or of all; what was refused before is tried once more with `again`.

    A round that is cut off at any point is taken up by the next one. Files that another process sends are left to it.
    """
    total = Sending()
    for name in spool.records() if record is None else [record]:
        for path in spool.files(name):
            try:
                _send_file(client, name, Spooled(path), total, again=again)
            except FileNotFoundError:  # another process has sent it
                continue
            except (Unreachable, ForelockProblem) as error:
                total.away = str(error)
                return total
            except ForelockError as error:
                total.refused.append(str(error))
    return total


def _send_file(client: Client, record: str, spooled: Spooled, total: Sending, *, again: bool) -> None:
    """Send what waits in a file of the spool, if nobody else is sending it, and remove it once all is sent."""
    if spooled.head.whole and not spooled.ended():
        return
    with spooled.sending() as alone:
        if not alone:
            return
        for batch in spooled.journal.open:
            if again or batch.refused is None:
                _send_batch(client, record, spooled, batch, total)
        while (batch_ := spooled.cut(str(uuid.uuid4()), rows=ROWS, size=SIZE)) is not None:
            _send_batch(client, record, spooled, batch_, total)
        spooled.remove_if_done()


def _send_batch(client: Client, record: str, spooled: Spooled, batch: Batch, total: Sending) -> None:
    """Send one batch and count its rows as sent.

    A refusal is noted for good; other faults are raised, and the batch waits.
    """
    try:
        post(client, record, spooled.head, spooled.lines(batch), batch.key)
    except ForelockProblem as problem:
        if problem.status not in REFUSALS or problem.code == "idempotency_in_flight":
            raise
        spooled.note_refusal(batch, f"{problem.code}: {problem.detail}")
        total.refused.append(f"{problem.code}: {problem.detail}")
        return
    spooled.done(batch)
    total.rows += batch.rows
