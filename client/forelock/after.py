"""Calls about what stands beside a verdict: deviations, looks, the multiverse, calibration."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from forelock.connection import Json, header
from forelock.outside import OutsideCalls
from forelock.paths import record


class AfterCalls(OutsideCalls):
    """What a client can ask of a record's deviations, looks, multiverse and calibration."""

    def deviations(self, preregistration_id: str) -> Iterator[Json]:
        """Its deviations and what was decided about them, newest first."""
        yield from self._iterate_pages(f"{record(preregistration_id)}/deviations")

    def file_deviation(self, preregistration_id: str, filing: Mapping[str, Any]) -> Json:
        """File one: `title`, `original`, `actual`, `reason`, `impact`, `direction`, `outcomes_seen`, `change`."""
        path = f"{record(preregistration_id)}/deviations"
        return self._json("POST", path, json=dict(filing), key=uuid.uuid4().hex)

    def decide_deviation(
        self, preregistration_id: str, deviation: int, classification: str, note: str
    ) -> Json:
        """Decide about one, as a person with the scope `deviations:review`."""
        path = f"{record(preregistration_id)}/deviations/{deviation}/decision"
        body = {"classification": classification, "note": note}
        return self._json("POST", path, json=body, key=uuid.uuid4().hex)

    def looks(self, preregistration_id: str) -> Json:
        """Return which looks are planned, which were taken, which is due."""
        return self._json("GET", f"{record(preregistration_id)}/looks")

    def take_look(self, preregistration_id: str, *, timeout: float = 600.0) -> Json:
        """Take the planned look that is due, and wait for what it says."""
        return self._job(f"{record(preregistration_id)}/looks", timeout, key=uuid.uuid4().hex)

    def multiverse(self, preregistration_id: str) -> Json:
        """Return the verdict under the other choices on record."""
        return self._json("GET", f"{record(preregistration_id)}/multiverse")

    def calibrate(
        self, preregistration_id: str, request: Mapping[str, Any], *, timeout: float = 600.0
    ) -> Json:
        """Return how often the locked procedure passes where nothing is to be found; waits for the job."""
        path = f"{record(preregistration_id)}/calibration"
        return self._job(path, timeout, json=dict(request))

    def _job(self, path: str, timeout: float, **arguments: Any) -> Json:
        location = header(self._send("POST", path, **arguments), "Location")
        return self._job_result(location, self._clock() + timeout)
