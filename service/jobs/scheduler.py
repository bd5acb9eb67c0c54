"""What a scheduler does first: it keeps no account of calls that have ended, and gives memory back."""

from __future__ import annotations

from typing import Any

from service.jobs.memory import keep_small


class NoSpans:
    """Stands in for the scheduler's extension that keeps spans, and keeps none.

    Dask makes a span whenever a call comes after all others have ended. The scheduler keeps every span for good, and
    workers keep their figures by span, so memory would grow by what nobody reads.
    """

    def observe_tasks(self, *_arguments: object, **_more: object) -> dict[str, object]:
        """Return the annotations of new tasks: none."""
        return {}

    def heartbeat(self, *_arguments: object) -> None:
        """Drop what workers counted, which nobody reads here."""


def dask_setup(scheduler: Any) -> None:
    """Prepare the scheduler; Dask calls this when it starts."""
    scheduler.extensions["spans"] = NoSpans()
    keep_small()
