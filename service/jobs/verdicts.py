"""The verdict job: rows are opened here, judged in a worker, and recorded with the job's end."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy.orm import Session

from service.actions.verdicts import verdicts
from service.domain.verdicts.judge import judge
from service.domain.verdicts.records import Verdict
from service.jobs.attempt import Attempt
from service.jobs.pool import Data
from service.keyring.keyring import Keyring
from service.store.database import clock
from service.store.jobs import job_leases


class VerdictJob:
    """The handler of verdicts: opens the rows of one complete record, has them judged and stores the verdict."""

    def __init__(self, keyring: Keyring) -> None:
        self._seal_private = keyring.opener()

    def run(self, attempt: Attempt, _outranked: Callable[[], bool]) -> None:
        """Open the rows, which go to the worker by argument and nowhere else; store the verdict."""
        job = attempt.job
        with attempt.database.read() as session:
            inputs = verdicts.inputs(
                session,
                job.project_id,
                job.params["preregistration_id"],
                seal_private=self._seal_private,
                now=clock.read_now(session),
            )
        verdict: Verdict = attempt.compute(judge, Data(inputs))

        def store(session: Session) -> bool:
            result = verdicts.record(
                session, job.project_id, verdict, clock.read_moment(session), seal_private=self._seal_private
            )
            # Last in the transaction: where the lease was lost this is false, and the verdict is rolled back with it.
            return job_leases.finish(session, job, result)

        attempt.write(store)
