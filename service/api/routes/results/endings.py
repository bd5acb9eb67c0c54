"""Ending a record before its verdict: an early close, and a withdrawal."""

from __future__ import annotations

from typing import Annotated

from fastapi import Response
from pydantic import Field
from sqlalchemy.orm import Session

from service.actions.results import endings as actions
from service.api.examples import states as examples
from service.api.http.answers.answers import shows
from service.api.http.requests.body import StrictBody
from service.api.http.requests.deps import Locker, RecordId, Shared
from service.api.http.requests.idempotency import OptionalOnce
from service.api.http.serving.route import make_router, refuses
from service.api.routes.plans.preregistrations import audit_refusals
from service.api.routes.plans.record_view import PreregistrationView, respond
from service.domain.plans.strings import Paragraph
from service.records import StrictRecord
from service.store.database import clock
from service.store.plans import preregistrations

routes = make_router("preregistrations")


class WithdrawalRequest(StrictRecord):
    """Why a record is withdrawn."""

    reason: Paragraph = Field(description="Stays on record.")


class CloseRequest(StrictRecord):
    """Why a collection ends before the planned n."""

    reason: Paragraph = Field(description="Stays on record.")
    deviation: int = Field(
        ge=1, le=2**31 - 1, description="Number of the filed deviation of kind `n` that says so."
    )


@routes.post(
    "/preregistrations/{prereg_id}/withdrawal",
    response_model=PreregistrationView,
    responses=shows(examples.WITHDRAWN) | refuses(409),
)
def withdraw_preregistration(
    caller: Locker,
    once: OptionalOnce,
    shared: Shared,
    prereg_id: RecordId,
    body: Annotated[WithdrawalRequest, StrictBody(WithdrawalRequest, example=examples.WITHDRAWAL)],
) -> Response:
    """Withdraw a locked preregistration, for good.

    What was locked stays on record, and so does a verdict that is there; rows that nobody read stay sealed, and no
    verdict comes any more. It goes on counting among the registrations on its items.
    """

    def work(session: Session) -> Response:
        record = preregistrations.get(session, caller.project_id, prereg_id, for_update=True)
        withdrawn, _ = actions.withdraw(session, caller, record, body.reason, clock.read_moment(session))
        return respond(session, withdrawn)

    with audit_refusals(shared, caller, prereg_id, "preregistration.withdraw"):
        return once.run(work)


@routes.post(
    "/preregistrations/{prereg_id}/close",
    response_model=PreregistrationView,
    responses=shows(examples.CLOSED) | refuses(409),
)
def close_preregistration(
    caller: Locker,
    once: OptionalOnce,
    shared: Shared,
    prereg_id: RecordId,
    body: Annotated[CloseRequest, StrictBody(CloseRequest, example=examples.CLOSE)],
) -> Response:
    """Close the collection before the planned n, for good.

    Needs a filed deviation of kind `n`. The verdict carries a mark: under `worst_case` what was never posted counts
    against the claim; under `fail` and `exclude_pair` a hypothesis that lacks results is `invalid`, since whoever holds
    them could have chosen which to post. A plan with a sequential stopping rule ends by that rule alone.
    """

    def work(session: Session) -> Response:
        record = preregistrations.get(session, caller.project_id, prereg_id, for_update=True)
        closed, _ = actions.close(
            session, caller, record, body.reason, body.deviation, clock.read_moment(session)
        )
        return respond(session, closed)

    with audit_refusals(shared, caller, prereg_id, "preregistration.close"):
        return once.run(work)
