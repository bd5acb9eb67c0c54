"""Processes of the pool give memory back: what travels through them leaves gaps."""

from __future__ import annotations

from service.processes.memory import give_back

EVERY_SECONDS = 60.0
"""Seconds between two times that memory is given back."""


def keep_small() -> None:
    """Give memory back every minute, for as long as the event loop runs that this is called on."""
    from tornado.ioloop import PeriodicCallback

    PeriodicCallback(give_back, EVERY_SECONDS * 1000).start()
