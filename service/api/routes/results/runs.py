"""Runs: what an eval job binds before it runs, so that its results can refer to it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Response
from pydantic import Field
from sqlalchemy.orm import Session

from service.actions.results import runs as actions
from service.actions.verdicts.validity import marks
from service.api.examples import states as examples
from service.api.http.answers.answers import Page, View, answer, shows
from service.api.http.requests.body import StrictBody
from service.api.http.requests.deps import Cursor, Limit, Reader, ReadSession, RecordId, Shared, Submitter
from service.api.http.requests.idempotency import OptionalOnce
from service.api.http.serving.route import make_router, refuses
from service.api.routes.plans.preregistrations import audit_refusals
from service.domain.ledger import Receipt
from service.domain.plans.sections.endpoint import Judge
from service.domain.results.runs import Binding, Run
from service.domain.verdicts.validity import Mark
from service.store.database import clock
from service.store.plans import preregistrations
from service.store.results import runs

routes = make_router("results")


class RunView(View):
    """A run as it was bound, and its place in the ledger."""

    run: str = Field(description="What results call it.")
    number: int = Field(description="In the preregistration, from 1.")
    arm: str
    models: dict[str, str]
    environment: dict[str, str]
    judges: dict[str, Judge]
    started_at: datetime | None
    plan_sha256: str = Field(description="Of the plan as it was locked when the run was bound.")
    bound_by: str = Field(description="Name of the key that bound it.")
    bound_at: datetime
    run_sha256: str = Field(description="SHA-256 of the stored text, as the ledger has it.")
    receipt: Receipt


class RunPage(Page[RunView]):
    """Runs, and what would stand against a verdict as things are."""

    marks: list[Mark] = Field(
        description="Found without opening a row. A batch that is the cause can be voided while the plan collects."
    )


@routes.post(
    "/preregistrations/{prereg_id}/runs",
    status_code=201,
    response_model=RunView,
    responses=shows(examples.RUN, 201) | refuses(409),
)
def bind_run(
    caller: Submitter,
    once: OptionalOnce,
    shared: Shared,
    prereg_id: RecordId,
    body: Annotated[Binding, StrictBody(Binding, example=examples.BINDING)],
) -> Response:
    """Bind a run before it begins: to its arm, models, environment and judges.

    Its results name it in `run`. The ledger has it before them, which is what a run token can show: that these
    statements were made before the results came in. Whether a violation makes the verdict invalid or flags it, the
    locked plan says in its section `runs`.
    """

    def work(session: Session) -> Response:
        record = preregistrations.get(session, caller.project_id, prereg_id, for_update=True)
        run, receipt = actions.bind(session, caller, record, body, clock.read_moment(session))
        return answer(_make_view(run, receipt), 201)

    with audit_refusals(shared, caller, prereg_id, "run.bind"):
        return once.run(work)


@routes.get("/preregistrations/{prereg_id}/runs", response_model=RunPage, responses=shows(examples.RUNS))
def list_runs(
    caller: Reader, session: ReadSession, prereg_id: RecordId, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """List the runs that were bound, newest first, and what would stand against a verdict as things are."""
    record = preregistrations.get(session, caller.project_id, prereg_id)
    bound, following = runs.read_page(session, record.id, cursor=cursor, limit=limit)
    receipts = runs.read_receipts(session, record.id, bound)
    return answer(
        RunPage(
            items=list(map(_make_view, bound, receipts)),
            next_cursor=following,
            marks=list(marks(session, record)),
        )
    )


def _make_view(run: Run, receipt: Receipt) -> RunView:
    fields = {name: getattr(run, name) for name in RunView.model_fields if hasattr(run, name)}
    return RunView(**fields, run_sha256=run.sha256(), receipt=receipt)
