"""What an agent may ask of preregistrations, and of bundles: nothing that a key with the scope `read` may not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar

from forelock import text
from forelock.client import Client
from forelock.mcp_server.questions import Answer, Refused, refusals
from forelock.problem import ForelockError

T = TypeVar("T")
Opened = Callable[[], AbstractContextManager[Client]]
"""A client of the service, for one call."""
UNREADABLE = (KeyError, TypeError, AttributeError, ValueError, IndexError)
"""What reading a value of another type raises."""


class Records:
    """Reads of one service, and the lock."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened

    def lint(self, preregistration_id: str) -> Answer:
        """Return the gaps of a plan."""

        def read(client: Client) -> Answer:
            findings = client.lint(preregistration_id)
            return text.findings_text(findings), {"findings": findings}

        return self._call(read)

    def progress(self, preregistration_id: str) -> Answer:
        """Return how many results are in."""

        def read(client: Client) -> Answer:
            counts = client.progress(preregistration_id)
            return text.progress_text(counts), counts

        return self._call(read)

    def verdict(self, preregistration_id: str) -> Answer:
        """Return the verdict with its sentences, once there is one."""

        def read(client: Client) -> Answer:
            verdict = client.verdict(preregistration_id)
            try:
                words = client.verdict_sentences(preregistration_id)
            except ForelockError:  # without them it stands
                words = None
            parts = (text.verdict_text(verdict, words, explain=False), text.judged_plan_text(verdict, words))
            return "\n\n".join(filter(None, parts)), verdict

        return self._call(read)

    def to_lock(self, preregistration_id: str) -> tuple[str, str]:
        """Return what a person is asked before a plan is locked, and the revision of the draft that this is of."""

        def read(client: Client) -> tuple[str, str]:
            etag = client.etag(preregistration_id)
            record = client.preregistration(preregistration_id)
            if record["state"] != "draft":
                raise Refused(f"there is nothing to lock: the state is {text.plain(record['state'])}")
            findings = client.lint(preregistration_id)
            question = (
                "Lock this plan for good? It stays what it is; results are judged by these rules alone."
            )
            parts = [
                question,
                text.record_text(record),
                *([text.findings_text(findings)] if findings else []),
            ]
            return "\n".join([*parts, f"revision {text.plain(etag)}"]), etag

        return self._call(read)

    def lock(self, preregistration_id: str, acknowledge: Sequence[str], etag: str) -> Answer:
        """Lock the plan, if it is still the one of this revision."""

        def write(client: Client) -> Answer:
            record = client.lock(preregistration_id, acknowledge, etag=etag)
            return text.record_text(record), record

        return self._call(write)

    def _call(self, action: Callable[[Client], T]) -> T:
        with refusals(), self._opened() as client:
            try:
                return action(client)
            except UNREADABLE as error:
                raise Refused(
                    f"{client.url} does not answer as a Forelock service of this version does "
                    f"({type(error).__name__}): look at the address, and at `forelock --version`"
                ) from None
