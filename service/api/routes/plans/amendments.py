"""Amendments: the next version of a locked plan, while no result exists."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Literal

from fastapi import Path, Response
from pydantic import Field, JsonValue
from sqlalchemy.orm import Session

from service.actions.plans import amendments as actions
from service.actions.plans.manifests import read_facts
from service.api.examples import states as examples
from service.api.examples.common import PLAN
from service.api.http.answers.answers import View, answer, shows
from service.api.http.answers.attested import attest_once
from service.api.http.requests.body import StrictBody
from service.api.http.requests.deps import Locker, Reader, ReadSession, RecordId, RequiredIfMatch, Shared
from service.api.http.requests.idempotency import RequiredOnce
from service.api.http.serving.route import make_router, refuses
from service.api.http.shared import Services
from service.api.routes.plans.preregistrations import MAX_PLAN, audit_refusals, read_plan
from service.api.routes.plans.record_view import PreregistrationView, make_etag, respond
from service.domain.access import Key
from service.domain.ledger import Receipt
from service.domain.merge_patch import apply
from service.domain.plans.preregistration import ONCE_LOCKED
from service.domain.plans.strings import Paragraph
from service.errors import ForelockError
from service.records import StrictRecord
from service.store.database import clock
from service.store.plans import plans, preregistrations

routes = make_router("preregistrations")
VersionNumber = Annotated[int, Path(ge=1, le=2**31 - 1, description="Version of the plan.")]


class AmendmentRequest(StrictRecord):
    """What changes, and why."""

    reason: Paragraph = Field(description="Stays on record.")
    changes: dict[str, JsonValue] = Field(
        description="JSON merge patch (RFC 7396) of the plan: null removes a member, lists are replaced."
    )
    acknowledge: Literal["all"] | list[Annotated[str, Field(max_length=64)]] = Field(
        default=[], description="Codes of lint warnings, or `all`.", max_length=200
    )


class VersionView(View):
    """One version of a plan."""

    version: int
    plan_sha256: str
    prior_sha256: str | None = Field(description="Of the version before; null for the first one.")
    reason: str | None = Field(description="Of the amendment; null for the first version.")
    locked_at: datetime
    receipt: Receipt


class VersionList(View):
    """Every version of a plan, the first one first."""

    items: list[VersionView]


@routes.post(
    "/preregistrations/{prereg_id}/amendments",
    response_model=PreregistrationView,
    responses=shows(examples.AMENDED) | refuses(409),
)
def amend_preregistration(
    caller: Locker,
    once: RequiredOnce,
    if_match: RequiredIfMatch,
    shared: Shared,
    prereg_id: RecordId,
    body: Annotated[
        AmendmentRequest, StrictBody(AmendmentRequest, example=examples.AMENDMENT, max_bytes=MAX_PLAN)
    ],
) -> Response:
    """Amend a locked plan while no result exists.

    The amended plan is linted as at the lock and becomes the next version; the one before stays on record, and the
    ledger has its hash. The items stay: another list of items is another registration. Once a result has come in, even
    one that was voided, only deviations are left. The header `Forelock-Checkpoint` is a checkpoint of the ledger that
    holds this amendment.
    """

    def work(session: Session) -> tuple[Response, Receipt]:
        record = preregistrations.get(session, caller.project_id, prereg_id, for_update=True)
        record.require("locked", action="an amendment")
        if_match.check(make_etag(session, record))
        if isinstance(proposed, ForelockError):
            raise proposed
        amended, receipt = actions.amend(
            session, caller, record, proposed, body.reason, body.acknowledge, clock.read_moment(session)
        )
        return respond(session, amended), receipt

    proposed = _propose(shared, caller, prereg_id, body)  # before the write: others wait for whoever writes
    with audit_refusals(shared, caller, prereg_id, "preregistration.amend"):
        return attest_once(shared, once, work)


def _propose(
    shared: Services, caller: Key, prereg_id: str, body: AmendmentRequest
) -> actions.Proposal | ForelockError:
    """Lint the amended plan. A refusal is returned, not raised: a stored answer to a retry comes before it."""
    try:
        with shared.database.read() as session:
            record = preregistrations.get(session, caller.project_id, prereg_id)
            record.require("locked", action="an amendment")
            facts = read_facts(session, record)
        amended = json.dumps(apply(record.plan.as_dict(), body.changes), ensure_ascii=False)
        return actions.propose(record, read_plan(amended.encode()), facts)
    except ForelockError as refused:
        return refused


@routes.get(
    "/preregistrations/{prereg_id}/versions",
    response_model=VersionList,
    responses=shows(examples.VERSIONS) | refuses(409),
)
def list_plan_versions(caller: Reader, session: ReadSession, prereg_id: RecordId) -> Response:
    """List the versions of a locked plan, each with the hash of the one before."""
    record = preregistrations.get(session, caller.project_id, prereg_id)
    record.require(*ONCE_LOCKED, action="a version")
    versions = actions.list_versions(session, record)
    return answer(
        VersionList(items=[VersionView.model_validate(version, from_attributes=True) for version in versions])
    )


@routes.get(
    "/preregistrations/{prereg_id}/versions/{version}",
    response_model=dict[str, JsonValue],
    responses=shows(PLAN) | refuses(409),
)
def get_plan_version(
    caller: Reader, session: ReadSession, prereg_id: RecordId, version: VersionNumber
) -> Response:
    """Read one version of a locked plan, byte for byte as it was locked: its SHA-256 is its ETag."""
    record = preregistrations.get(session, caller.project_id, prereg_id)
    record.require(*ONCE_LOCKED, action="a version")
    text, sha256 = plans.read_canonical(session, record.id, version)
    return Response(text, 200, {"ETag": f'"{sha256}"'}, "application/json")
