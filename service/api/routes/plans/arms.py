"""Arms that were locked by a criterion: naming what it chose."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Response
from sqlalchemy.orm import Session

from service.actions.plans import namings as actions
from service.api.examples import states as examples
from service.api.http.answers.answers import shows
from service.api.http.requests.body import StrictBody
from service.api.http.requests.deps import Locker, RecordId, Shared
from service.api.http.requests.idempotency import OptionalOnce
from service.api.http.serving.route import make_router, refuses
from service.api.routes.plans.preregistrations import audit_refusals
from service.api.routes.plans.record_view import PreregistrationView, respond
from service.domain.plans.naming import Naming
from service.store.database import clock
from service.store.plans import preregistrations

routes = make_router("preregistrations")
Arm = Annotated[str, Path(max_length=512, description="The arm, as the plan calls it.")]


@routes.post(
    "/preregistrations/{prereg_id}/arms/{arm}",
    response_model=PreregistrationView,
    responses=shows(examples.NAMED) | refuses(409),
)
def name_arm(
    caller: Locker,
    once: OptionalOnce,
    shared: Shared,
    prereg_id: RecordId,
    arm: Arm,
    body: Annotated[Naming, StrictBody(Naming, example=examples.NAMING)],
) -> Response:
    """Name what the criterion of an arm chose, once for all, before any result of the arm.

    The plan and its hash stay; the ledger has the card and the evidence. Until then results and runs of the arm are
    refused (`arm_unnamed`), and from then on imports and runs are held against the card. Nobody here can tell whether
    the criterion was followed: record, verdict and report show both, for readers to check.
    """

    def work(session: Session) -> Response:
        record = preregistrations.get(session, caller.project_id, prereg_id, for_update=True)
        actions.name(session, caller, record, arm, body, clock.read_moment(session))
        return respond(session, record)

    with audit_refusals(shared, caller, prereg_id, "arm.name"):
        return once.run(work)
