"""Self-calibration: a plan's whole procedure on data whose arm labels are flipped by chance."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Response

from service.actions.verdicts import calibration as actions
from service.api.examples import calibration as examples
from service.api.http.answers.answers import answer, shows
from service.api.http.requests.body import make_json_reader
from service.api.http.requests.deps import RecordId, Shared, scope
from service.api.http.serving.route import make_router, refuses
from service.api.routes.calculations.jobs import JobView, make_job_view, queue_computation
from service.api.routes.verdicts.verdicts import require_verdict
from service.domain.access import Key
from service.domain.calibration.case import Case
from service.domain.calibration.pilot import CalibrationRequest
from service.store.plans import preregistrations

routes = make_router("verdicts")
Calibrating = Annotated[Key, Depends(scope("tests:run", "read"))]


@routes.post(
    "/preregistrations/{prereg_id}/calibration",
    status_code=202,
    response_model=JobView,
    responses=shows(examples.QUEUED, 202) | refuses(409, 429),
)
def calibrate(
    caller: Calibrating,
    shared: Shared,
    prereg_id: RecordId,
    body: Annotated[
        CalibrationRequest, Depends(make_json_reader(CalibrationRequest, example=examples.PILOT))
    ],
) -> Response:
    """Queue a calibration of the plan.

    The arms' labels are flipped by item, or by cluster where the population has clusters, and the whole rule of every
    hypothesis is judged in each of at least 1,000 flips: how often it passes when nothing tells the arms apart, with
    the Monte-Carlo interval and what it means. Without `pilot` the record's own rows are flipped, after its verdict;
    with it the caller's data are, under the plan of a draft or a locked record, and no result of the record is read.
    The answer is in `result` of the job.
    """
    with shared.database.read() as session:
        record = preregistrations.get(session, caller.project_id, prereg_id)
        case: Case
        if body.pilot is not None:
            record.require("draft", "locked", "collecting", "complete", "judged", action="a calibration")
            case = actions.of_pilot(record, body.pilot, runs=body.runs, seed=body.seed)
        else:
            require_verdict(session, record)
            case = actions.of_record(session, record, runs=body.runs, seed=body.seed)
            shared.reads.note(caller, "calibration.ask", record.id)
    seconds = actions.affordable(case)
    job = queue_computation(shared, caller, actions.computation(case, seconds))
    return answer(make_job_view(job), 202, {"Location": f"/v1/jobs/{job.id}"})
