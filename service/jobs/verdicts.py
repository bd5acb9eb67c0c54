"""The verdict job: rows are opened here, judged in a worker, and recorded with the job's end."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from service.actions import verdicts
from service.jobs.work import Work
from service.keyring import Keyring
from service.store import clock
from service.store.jobs import Job


class VerdictJob:
    """Judges one complete preregistration."""

    def __init__(self, keyring: Keyring) -> None:
        self._seal_private = keyring.opener()

    def load(self, session: Session, job: Job) -> Work:
        """Open the rows; they go to the worker by argument and nowhere else."""
        inputs = verdicts.inputs(
            session,
            job.project_id,
            job.params["preregistration_id"],
            seal_private=self._seal_private,
            now=clock.now(session),
        )
        return Work(verdicts.compute, (inputs,))

    def record(self, session: Session, job: Job, computed: Any) -> Mapping[str, Any]:
        """Store the verdict."""
        return verdicts.record(
            session,
            job.project_id,
            computed,
            seal_private=self._seal_private,
            salt=secrets.token_bytes(16),
            now=clock.now(session),
        )
