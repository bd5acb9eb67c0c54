"""What a scheduler does first: it keeps no account of calls that have ended, and gives memory back."""

from __future__ import annotations

from typing import Any

from service.jobs.memory import keep_small


class NoSpans:
    """In place of Dask's spans: of these one is made whenever the first call comes after all others have ended.

    The scheduler keeps each for good, and workers keep their figures by span for good. Nobody reads them.
    """

    def observe_tasks(self, *_arguments: object, **_more: object) -> dict[str, object]:
        """The annotations of new tasks: none."""
        return {}

    def heartbeat(self, *_arguments: object) -> None:
        """What workers counted is dropped."""


def dask_setup(scheduler: Any) -> None:
    """Called by Dask when the scheduler starts."""
    scheduler.extensions["spans"] = NoSpans()
    keep_small()
