"""One run of a harness: where its rows go, by the environment, and what sends them while it runs and at its end."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from forelock.client import Client
from forelock.problem import FileFault, ForelockError
from forelock.spool import Head, Sending, Spool, Writer, send
from forelock.text import plain

INTERVAL = 15.0
"""Seconds between two rounds of sending while a run goes on."""
LAST_ATTEMPTS = 6
"""How often the service is asked at the end of a run, over about six seconds."""


@dataclass(frozen=True, slots=True)
class Target:
    """Whose results a run measures."""

    record: str
    arm: str | None = None
    population: str | None = None

    @classmethod
    def of(cls, environment: Mapping[str, str] = os.environ) -> Self | None:
        """Return what `FORELOCK_RECORD`, `FORELOCK_ARM` and `FORELOCK_POPULATION` say; None without the first."""
        record = environment.get("FORELOCK_RECORD")
        if not record:
            return None
        return cls(
            record, environment.get("FORELOCK_ARM") or None, environment.get("FORELOCK_POPULATION") or None
        )

    def query(self, **more: str | None) -> dict[str, str]:
        """Return what is said of every row."""
        query = {"arm": self.arm, "population": self.population, **more}
        return {name: value for name, value in query.items() if value is not None}


class Session:
    """The rows of one run. They are on the disk before the run goes on; sending never holds it up or fails it."""

    def __init__(
        self,
        target: Target,
        *,
        spool: Spool | None = None,
        client: Callable[[int], Client] = lambda attempts: Client(attempts=attempts),
        tell: Callable[[str], object] = lambda sentence: sys.stderr.write(sentence + "\n"),
        live: bool = True,
    ) -> None:
        self.target = target
        self._spool = spool or Spool()
        self._client = client
        self._tell = tell
        self._writers: dict[str, Writer] = {}
        self._over = threading.Event()
        self._courier = threading.Thread(target=self._carry, name="forelock", daemon=True)
        if live:
            self._courier.start()

    def append(self, name: str, head: Callable[[], Head], row: Mapping[str, Any]) -> None:
        """Keep a row in the file of this name, which begins with that head.

        Raises:
            FileFault: the disk does not take it.
        """
        writer = self._writers.get(name)
        if writer is None:
            writer = self._writers[name] = self._spool.writer(self.target.record, head())
        writer.append(row)

    def end(self) -> Sending:
        """Close the files, send what waits for the record, and tell how that went: counts alone."""
        self._over.set()
        if self._courier.is_alive():
            self._courier.join()
        self.close()
        try:
            with self._client(LAST_ATTEMPTS) as client:
                sent = send(client, self._spool, self.target.record)
        except ForelockError as error:
            sent = Sending(away=str(error))
        for sentence in self._summarize(sent):
            self._tell(f"forelock: {plain(sentence)}")
        return sent

    def close(self) -> None:
        """Close the files; they are sent by another process, or later."""
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()

    def _carry(self) -> None:
        """Send what is there from time to time. What goes wrong is told at the end."""
        while not self._over.wait(INTERVAL):
            with contextlib.suppress(ForelockError, OSError), self._client(1) as client:
                send(client, self._spool, self.target.record, again=False)

    def _summarize(self, sent: Sending) -> list[str]:
        """What became of the rows, in lines: refusals, rows that wait and how to send them, or that all are sent."""
        waiting = sum(batch.rows for batch in self._spool.waiting(self.target.record))
        lines = [f"refused: {reason}" for reason in dict.fromkeys(sent.refused)]
        if sent.away:
            lines.append(sent.away)
        if waiting:
            lines.append(
                f"{waiting} rows wait in {self._spool.of(self.target.record)}; "
                f"send them with: forelock spool send {self.target.record}"
            )
        return lines or [f"the rows of this run are with the service ({self.target.record})"]


def require_number(value: object, what: str) -> float:
    """Return a value that a row may hold.

    Raises:
        FileFault: it is none; the fault does not tell it.
    """
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    raise FileFault(f"{what} is not a finite number")
