"""The job of an unblinding: the runner lets a plan's key go before its verdict. No row is opened here."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy.orm import Session

from service.actions.verdicts import verdicts
from service.jobs.attempt import Attempt
from service.keyring.keyring import Keyring
from service.store.jobs import job_leases
from service.store.plans import preregistrations


class UnblindingJob:
    """The handler of unblindings: unwraps one plan's key and stores it where the API can read it."""

    def __init__(self, keyring: Keyring) -> None:
        self._seal_private = keyring.opener()

    def run(self, attempt: Attempt, _outranked: Callable[[], bool]) -> None:
        """Store the plan's key in the clear.

        A guard of the database refuses it unless the ledger has the unblinding.
        """
        job = attempt.job

        def store(session: Session) -> bool:
            # Held until the key is let go: a withdrawal or an erasure comes before or after, not in between.
            record = preregistrations.get(
                session, job.project_id, job.params["preregistration_id"], for_update=True
            )
            verdicts.release_key(session, record, seal_private=self._seal_private)
            return job_leases.finish(session, job, {"preregistration_id": record.id})

        attempt.write(store)
