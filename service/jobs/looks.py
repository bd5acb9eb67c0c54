"""Jobs that look before the end: rows are opened here, and only what the stopping rule permits is kept."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy.orm import Session

from service.actions.results.look_requests import enqueue_due
from service.actions.verdicts import looks
from service.jobs.attempt import Attempt
from service.jobs.pool import Data
from service.keyring.keyring import Keyring
from service.store.database import clock
from service.store.jobs import job_leases
from service.store.plans import preregistrations
from service.store.results import batches


class LookJob:
    """The handler of looks: takes the planned look that is due, or reads a plan that may be read at any time."""

    def __init__(self, keyring: Keyring) -> None:
        self._seal_private = keyring.opener()

    def run(self, attempt: Attempt, _outranked: Callable[[], bool]) -> None:
        """Open the rows, which go to the worker by argument and nowhere else; put the look on record."""
        job = attempt.job
        prereg_id = job.params["preregistration_id"]
        with attempt.database.read() as session:
            record = preregistrations.get(session, job.project_id, prereg_id)
            collecting = record.state == "collecting"
            inputs = looks.inputs(session, record, seal_private=self._seal_private) if collecting else None
        reading: looks.LookResult | None = None
        if inputs is not None:
            reading = attempt.compute(looks.compute, Data(inputs))

        nothing = {"preregistration_id": prereg_id, "stop": None}

        def store(session: Session) -> bool:
            # The rows were read without a lock: what changed while the worker computed is seen here, under the
            # record's.
            current = preregistrations.get(session, job.project_id, prereg_id, for_update=True)
            if inputs is None or reading is None or current.state != "collecting":
                return job_leases.finish(session, job, nothing)  # it has ended: the verdict is the answer
            if batches.count_voids(session, prereg_id) != inputs.voids:  # the rows are others now: look again
                held = job_leases.finish(session, job, nothing)
                enqueue_due(session, current, clock.read_moment(session))
                return held
            result = looks.record(session, current, reading, clock.read_moment(session))
            return job_leases.finish(session, job, result)

        attempt.write(store)
