"""The project's tracker over HTTP, and the runs in it that carry a record's lock and verdict."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError
from starlette.responses import Response

from service.actions.delivery import tracking as actions
from service.api.examples import outgoing as examples
from service.api.http.answers.answers import View, answer, shows
from service.api.http.requests.body import StrictBody
from service.api.http.requests.deps import Admin, Planner, Reader, ReadSession, RecordId, Shared
from service.api.http.serving.route import make_router, refuses
from service.api.routes.delivery.webhooks import read_allowed_targets
from service.domain.outgoing import Delivery, TrackedRun, Tracker
from service.records import StrictRecord
from service.store.database import clock
from service.store.delivery import deliveries, trackers
from service.store.plans import preregistrations

routes = make_router("outgoing")


def _require_one_line(value: str) -> str:
    if not value.isascii() or not value.isprintable():
        raise PydanticCustomError(
            "malformed_text",
            "must be printable ASCII: it travels in a header",
            {"fix": "send it without line breaks, accents and other letters than ASCII's"},
        )
    return value


Secret = Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(_require_one_line)]
RunId = Annotated[
    str,
    Path(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+$", description="Id of the run in MLflow."),
]


class TrackerRequest(StrictRecord):
    """Where the project's MLflow is, and how the service says who it is."""

    url: Annotated[
        str,
        Field(min_length=1, max_length=2000, description="Of the tracking server, as MLFLOW_TRACKING_URI."),
    ]
    username: Secret | None = Field(None, description="For HTTP Basic, with `password`.")
    password: Secret | None = Field(None, description="For HTTP Basic.")
    token: Secret | None = Field(None, description="For a proxy that asks for a bearer token.")


class TrackedRunView(TrackedRun):
    """A run, and the last thing that was sent to it."""

    last: Delivery | None = Field(description="Null where nothing of it is kept any more.")


class TrackedRuns(View):
    """The runs that carry a record's lock and verdict."""

    items: list[TrackedRunView]


@routes.put("/trackers/mlflow", response_model=Tracker, responses=shows(examples.TRACKER) | refuses(507))
def put_mlflow(
    caller: Admin,
    shared: Shared,
    body: Annotated[TrackerRequest, StrictBody(TrackerRequest, example=examples.TRACKER_BODY)],
) -> Tracker:
    """Set the project's MLflow tracking server.

    Credentials are sealed, opened by the runner alone, and sent to this address alone: another address needs them
    anew. Private addresses, and http without TLS, are for targets that the operator lists.
    """
    with shared.database.write() as session:
        return actions.put(
            session,
            caller,
            url=body.url,
            username=body.username,
            password=body.password,
            token=body.token,
            allowed=read_allowed_targets(shared),
            seal_public=shared.keyring.seal_public,
            now=clock.read_now(session),
        )


@routes.get("/trackers/mlflow", responses=shows(examples.TRACKER) | refuses(404))
def get_mlflow(caller: Admin, session: ReadSession) -> Tracker:
    """Read where the project's MLflow tracking server is. Credentials are not shown."""
    return actions.find(session, caller.project_id)


@routes.delete("/trackers/mlflow", status_code=204, response_model=None, responses=refuses(404, 507))
def delete_mlflow(caller: Admin, shared: Shared) -> Response:
    """Forget the project's MLflow tracking server and its credentials; what waits for it is not sent."""
    with shared.database.write() as session:
        actions.delete(session, caller, now=clock.read_now(session))
    return Response(status_code=204)


@routes.put(
    "/preregistrations/{prereg_id}/mlflow-runs/{run_id}",
    response_model=TrackedRun,
    responses=shows(examples.RUN) | refuses(409, 507),
)
def link_run(caller: Planner, shared: Shared, prereg_id: RecordId, run_id: RunId) -> TrackedRun:
    """Have a run of the project's MLflow carry this record: tags now, verdict and receipt once they are there.

    Nothing that follows from outcomes is sent before the verdict. Again changes nothing.
    """
    with shared.database.write() as session:
        record = preregistrations.get(session, caller.project_id, prereg_id, for_update=True)
        return actions.link(session, caller, record, run_id, now=clock.read_now(session))


@routes.get(
    "/preregistrations/{prereg_id}/mlflow-runs", response_model=TrackedRuns, responses=shows(examples.RUNS)
)
def list_linked_runs(caller: Reader, session: ReadSession, prereg_id: RecordId) -> Response:
    """List the MLflow runs that carry this record, and what became of the last thing sent to each."""
    record = preregistrations.get(session, caller.project_id, prereg_id)
    last = deliveries.read_newest(session, record.id, "mlflow")
    items = [
        TrackedRunView(**run.model_dump(), last=last.get(run.run))
        for run in trackers.read_runs(session, record.id)
    ]
    return answer(TrackedRuns(items=items))


@routes.delete(
    "/preregistrations/{prereg_id}/mlflow-runs/{run_id}",
    status_code=204,
    response_model=None,
    responses=refuses(507),
)
def unlink_run(caller: Planner, shared: Shared, prereg_id: RecordId, run_id: RunId) -> Response:
    """Say nothing more on a run. What stands there already is left."""
    with shared.database.write() as session:
        record = preregistrations.get(session, caller.project_id, prereg_id, for_update=True)
        actions.unlink(session, caller, record, run_id, now=clock.read_now(session))
    return Response(status_code=204)
