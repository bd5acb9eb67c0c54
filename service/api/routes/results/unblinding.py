"""Breaking the seals of a plan before its verdict, and destroying its rows."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Response
from pydantic import Field
from sqlalchemy.orm import Session

from service.actions.results import unblinding as actions
from service.api.examples import unblinding as examples
from service.api.http.answers.answers import View, answer, shows
from service.api.http.answers.attested import attest_once
from service.api.http.requests.body import StrictBody
from service.api.http.requests.deps import Admin, RecordId, Shared, scope
from service.api.http.requests.idempotency import OptionalOnce
from service.api.http.serving.route import make_router, refuses
from service.api.routes.plans.preregistrations import audit_refusals
from service.domain.access import Key
from service.domain.ledger import Receipt
from service.domain.results.unblinding import (
    CAN_CHECK,
    CANNOT_CHECK,
    Erasure,
    ErasureRequest,
    Unblinding,
    UnblindingRequest,
)
from service.processes.wake import nudge
from service.store.database import clock
from service.store.plans import preregistrations

routes = make_router("results")
Unblinder = Annotated[Key, Depends(scope("unblind"))]


class UnblindingView(View):
    """Results were opened: the mark that stays, and how far the opening is."""

    unblinding: Unblinding
    job_id: str | None = Field(
        description="Of the job by which the runner lets the key go; null where it has gone already."
    )
    receipt: Receipt


class ErasureView(View):
    """A plan's rows were destroyed."""

    erasure: Erasure
    can_check: list[str] = Field(description="What `forelock verify` can still check.")
    cannot_check: list[str] = Field(description="What nobody can check any more.")
    receipt: Receipt


@routes.post(
    "/preregistrations/{prereg_id}/unblinding",
    status_code=201,
    response_model=UnblindingView,
    responses=shows(examples.UNBLINDING, 201) | refuses(409),
)
def unblind(
    caller: Unblinder,
    once: OptionalOnce,
    shared: Shared,
    prereg_id: RecordId,
    body: Annotated[UnblindingRequest, StrictBody(UnblindingRequest, example=examples.REQUEST)],
) -> Response:
    """Open results before the verdict, in an emergency.

    Needs the scope `unblind`, and a key that names a person. It cannot be taken back: ledger, record, page, verdict and
    evidence card say so for good, and any result that comes in afterwards makes the verdict invalid. `population` and
    `endpoint` narrow what is shown; the plan's key, which the runner then lets go, opens all of it.
    """

    def work(session: Session) -> tuple[Response, Receipt]:
        record = preregistrations.get(session, caller.project_id, prereg_id, for_update=True)
        made, receipt, job = actions.unblind(session, caller, record, body, clock.read_moment(session))
        view = UnblindingView(unblinding=made, job_id=None if job is None else job.id, receipt=receipt)
        return answer(view, 201), receipt

    with audit_refusals(shared, caller, prereg_id, "preregistration.unblind"):
        return attest_once(shared, once, work, lambda: nudge(shared.settings.runner_socket))


@routes.post(
    "/preregistrations/{prereg_id}/erasure",
    status_code=201,
    response_model=ErasureView,
    responses=shows(examples.ERASURE, 201) | refuses(409),
)
def erase(
    caller: Admin,
    once: OptionalOnce,
    shared: Shared,
    prereg_id: RecordId,
    body: Annotated[ErasureRequest, StrictBody(ErasureRequest, example=examples.REASON)],
) -> Response:
    """Destroy a plan's rows for good, by destroying the key they are sealed to.

    Needs a key that names a person. Rows can never be read again, by anybody; where there is no verdict yet, there will
    be none. Plan, verdict, ledger and receipts stay. Backups made before still hold the key, wrapped to the runner.
    """

    def work(session: Session) -> tuple[Response, Receipt]:
        record = preregistrations.get(session, caller.project_id, prereg_id, for_update=True)
        made, receipt = actions.erase(session, caller, record, body, clock.read_moment(session))
        view = ErasureView(
            erasure=made, can_check=list(CAN_CHECK), cannot_check=list(CANNOT_CHECK), receipt=receipt
        )
        return answer(view, 201), receipt

    with audit_refusals(shared, caller, prereg_id, "preregistration.erase"):
        return attest_once(shared, once, work, shared.database.forget_pages)
