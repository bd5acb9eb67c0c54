"""Preregistrations over HTTP: a draft is created, edited, linted and locked; lists, receipts and records are read."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from typing import Annotated, Any, Literal

from fastapi import Depends, Query, Request, Response
from pydantic import Field, JsonValue, TypeAdapter
from sqlalchemy.orm import Session

from service.actions.delivery import tracking
from service.actions.ledger import proofs
from service.actions.plans import families
from service.actions.plans import preregistrations as actions
from service.actions.plans.manifests import read_facts
from service.api.examples import common as examples
from service.api.examples import markdown as markdown_examples
from service.api.http.answers.answers import Page, View, answer, shows
from service.api.http.answers.attested import attest_once
from service.api.http.requests.body import Content, RawBody, StrictBody, make_json_reader
from service.api.http.requests.deps import (
    Cursor,
    IfMatch,
    Limit,
    Locker,
    Planner,
    Reader,
    ReadSession,
    RecordId,
    RequiredIfMatch,
    Shared,
    answer_not_modified,
)
from service.api.http.requests.headers import get_header
from service.api.http.requests.idempotency import OptionalOnce, RequiredOnce
from service.api.http.serving.route import make_router, refuses
from service.api.http.shared import Services
from service.api.parsing.markdown import MARKDOWN, decode_markdown
from service.api.parsing.models import validate
from service.api.routes.plans.record_view import (
    PreregistrationView,
    make_etag,
    make_view,
    make_view_fields,
    respond,
)
from service.domain.access import Key
from service.domain.ledger import Receipt
from service.domain.merge_patch import apply
from service.domain.outgoing import RunName
from service.domain.plans.family import FamilyPlace
from service.domain.plans.findings import Finding
from service.domain.plans.plan import Plan
from service.domain.plans.preregistration import ONCE_LOCKED, Preregistration, State
from service.domain.power.answers.level_records import RuleLevel
from service.domain.power.answers.records import RulePower
from service.domain.power.levels.level import levels
from service.domain.power.pilot import LintRequest, PilotEstimates
from service.domain.power.rule_power import rule_powers
from service.errors import Conflict, PreconditionFailed, TooLarge
from service.records import StrictRecord
from service.reports.prereg.gaps import Gap
from service.reports.templates.read import parse_document
from service.store.database import clock
from service.store.ledger import ledger
from service.store.plans import preregistrations, record_lists
from service.store.projects import audit

routes = make_router("preregistrations")
_PLAN = TypeAdapter(Plan)
MAX_PLAN = 1024 * 1024
"""Bytes of a plan as JSON: every list and text at its longest is far beyond what anybody reads."""
NOT_MODIFIED: dict[int | str, dict[str, Any]] = {304: {"description": "`If-None-Match` names this revision."}}


class LockReceipt(Receipt):
    """The receipt of a plan, and which registration on its items the record is."""

    family: FamilyPlace | None = Field(description="Not part of the leaf: it may grow.")


class DraftFromMarkdown(PreregistrationView):
    """A draft read from a file, and what stands between it and the lock."""

    gaps: list[Gap] = Field(description="What was assumed or not read, by line; then lint errors.")


class PreregistrationItem(View):
    """A preregistration in a list. One whose plan was altered is marked, and answers 500 by itself."""

    id: str
    title: str | None
    state: State
    version: int
    plan_sha256: str | None
    created_at: datetime
    locked_at: datetime | None
    judged_at: datetime | None
    results_due: date | None = Field(None, description="Of a locked plan.")
    overdue: bool = Field(
        False, description="True when `results_due` has passed and the plan is not complete."
    )
    embargo_until: date | None = Field(
        None, description="Of a locked plan: the day on which the record becomes public by itself, or did."
    )
    altered: bool = Field(
        False, description="The stored plan is not what was locked: it is neither used nor shown."
    )


_OF_LINES = tuple(name for name in PreregistrationItem.model_fields if name != "overdue")


class LintReport(View):
    """What is missing from a plan, wrong with it, or risky about it."""

    findings: list[Finding]
    power: list[RulePower] = Field(
        [],
        description="What each hypothesis' rule can reach, and how often it would hold, in the plan's order.",
    )
    levels: list[RuleLevel] = Field(
        [], description="How often at most each rule holds where its claim is false, in the plan's order."
    )
    pilot: list[PilotEstimates] | None = Field(
        None, description="What the pilot data say, where they were sent."
    )
    assumptions: dict[str, JsonValue] | None = Field(
        None, description="With pilot data: the section of the plan that `power` rests on here, to be pasted."
    )


class LockRequest(StrictRecord):
    """Which lint warnings the author has read."""

    acknowledge: Literal["all"] | list[Annotated[str, Field(max_length=64)]] = Field(
        default=[], description="Codes of lint warnings, or `all`.", max_length=200
    )
    mlflow_run: RunName | None = Field(None, description="A run of MLflow that is to carry lock and verdict.")


@contextmanager
def audit_refusals(shared: Services, caller: Key, prereg_id: str, action: str) -> Iterator[None]:
    """Record a refused attempt to change what is locked in the audit log, though the attempt itself is rolled back."""
    try:
        yield
    except Conflict as refused:
        with shared.database.write() as session:
            facts, now = {"code": refused.problem_code}, clock.read_now(session)
            audit.record_act(session, caller, f"{action}.refused", prereg_id, facts, now=now)
        raise


PLAN_BODY = RawBody(
    {"application/json": Plan, MARKDOWN: str},
    example=examples.PLAN,
    examples={MARKDOWN: markdown_examples.PREREG},
    max_bytes=MAX_PLAN,
)


@routes.post(
    "/preregistrations",
    status_code=201,
    response_model=PreregistrationView | DraftFromMarkdown,
    responses=shows(examples.DRAFT, 201) | refuses(429),
)
def create_preregistration(
    caller: Planner, once: OptionalOnce, shared: Shared, content: Annotated[Content, PLAN_BODY]
) -> Response:
    """Create a draft.

    The body is the plan itself. Sections may be missing; lint lists them, and the lock refuses them. An
    EXPERIMENTS_PREREG.md in English or Chinese becomes a draft too: the answer then lists its `gaps`.
    """
    plan, gaps = _read_content(content)

    def work(session: Session) -> Response:
        actions.require_room(session, caller.project_id, shared.settings.project_drafts)
        record = actions.create(
            session, caller, plan, prereg_id=uuid.uuid4().hex, now=clock.read_now(session)
        )
        headers = {"ETag": record.etag, "Location": f"/v1/preregistrations/{record.id}"}
        if gaps is None:
            return answer(make_view(session, record), 201, headers)
        return answer(DraftFromMarkdown(**make_view_fields(session, record), gaps=list(gaps)), 201, headers)

    return once.run(work)


def _read_content(content: Content) -> tuple[Plan, tuple[Gap, ...] | None]:
    if content.media_type == MARKDOWN:
        return parse_document(decode_markdown(content.body))
    return read_plan(content.body), None


def read_plan(body: bytes) -> Plan:
    """Read a plan from JSON.

    Raises:
        TooLarge: it has more than `MAX_PLAN` bytes.
        InvalidData: it is no plan.
    """
    if len(body) > MAX_PLAN:
        raise TooLarge(f"a plan has at most {MAX_PLAN} bytes of JSON; name fewer things, or split it")
    return validate(_PLAN, body)


@routes.get("/preregistrations", response_model=Page[PreregistrationItem], responses=shows(examples.RECORDS))
def list_preregistrations(
    caller: Reader,
    session: ReadSession,
    state: Annotated[State | None, Query(description="Only records in this state.")] = None,
    search: Annotated[
        str | None,
        Query(
            max_length=200,
            description="Only records whose id, title or hypotheses hold each of these words, in any case.",
        ),
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """List the project's preregistrations, newest first.

    A search looks at 5,000 records for one page: with few that match, a page is short and has a `next_cursor`.
    """
    records, following = record_lists.read_page(
        session, caller.project_id, state=state, search=search, cursor=cursor, limit=limit
    )
    today = clock.read_now(session).date()
    items = [
        PreregistrationItem(
            **{name: getattr(record, name) for name in _OF_LINES}, overdue=record.overdue(today)
        )
        for record in records
    ]
    return answer(Page[PreregistrationItem](items=items, next_cursor=following))


@routes.get(
    "/preregistrations/{prereg_id}",
    response_model=PreregistrationView,
    responses=shows(examples.LOCKED) | NOT_MODIFIED,
)
def get_preregistration(
    request: Request, caller: Reader, session: ReadSession, prereg_id: RecordId
) -> Response:
    """Read a preregistration. Its ETag names this revision of the plan and state."""
    record = preregistrations.get(session, caller.project_id, prereg_id)
    if get_header(request, b"if-none-match") is not None:
        unchanged = answer_not_modified(request, make_etag(session, record))
        if unchanged is not None and _is_unchanged(session, record):
            return unchanged
    return respond(session, record)


def _is_unchanged(session: Session, record: Preregistration) -> bool:
    """Tell whether what no revision tells is as it was: the record is not overdue, and the only one on its items.

    Either only grows, so the least value is the one that was seen before; of any other nobody can tell.
    """
    place = families.find_place(session, record)
    return not record.overdue(clock.read_now(session).date()) and (place is None or place.of == 1)


@routes.patch(
    "/preregistrations/{prereg_id}",
    response_model=PreregistrationView,
    responses=shows(examples.DRAFT) | refuses(409),
)
def edit_preregistration(
    caller: Planner,
    shared: Shared,
    if_match: RequiredIfMatch,
    prereg_id: RecordId,
    patch: Annotated[
        dict[str, Any],
        StrictBody(dict[str, JsonValue], example={"title": "A better title"}, merge=True, max_bytes=MAX_PLAN),
    ],
) -> Response:
    """Change a draft's plan by JSON merge patch (RFC 7396): null removes a member, lists are replaced."""
    with audit_refusals(shared, caller, prereg_id, "preregistration.edit"):
        with shared.database.read() as session:
            record = preregistrations.get(session, caller.project_id, prereg_id)
        record.require("draft")
        if_match.check(record.etag)
        # before the write, which refuses a record that has changed meanwhile: others wait for whoever writes
        plan = read_plan(json.dumps(apply(record.plan.as_dict(), patch), ensure_ascii=False).encode())
        with shared.database.write() as session:
            return respond(
                session, actions.replace_plan(session, caller, record, plan, now=clock.read_now(session))
            )


@routes.delete("/preregistrations/{prereg_id}", status_code=204, response_model=None, responses=refuses(409))
def delete_preregistration(
    caller: Planner, shared: Shared, if_match: RequiredIfMatch, prereg_id: RecordId
) -> Response:
    """Delete a draft. What was locked stays."""
    with (
        audit_refusals(shared, caller, prereg_id, "preregistration.delete"),
        shared.database.write() as session,
    ):
        record = preregistrations.get(session, caller.project_id, prereg_id, for_update=True)
        record.require("draft")
        if_match.check(record.etag)
        actions.delete(session, caller, record, now=clock.read_now(session))
        return Response(status_code=204)


@routes.post(
    "/preregistrations/{prereg_id}/lint", response_model=LintReport, responses=shows(examples.FINDINGS)
)
def lint_preregistration(
    caller: Planner,
    shared: Shared,
    prereg_id: RecordId,
    body: Annotated[
        LintRequest, Depends(make_json_reader(LintRequest, example=examples.LINT_PILOT, optional=True))
    ],
) -> Response:
    """Lint a plan.

    Errors block the lock; warnings are acknowledged there by code. A locked plan answers what lint said at its lock.
    `power` tells what the rules can show with the planned items, and `levels` how often they hold where their
    claims are false, before there is any result; of scores that is the worst over shapes that their differences may
    have. Power rests on the plan's `assumptions`, or, with `pilot` in the body, on what these columns say, and so does
    the shape of scores where a pilot has 50 pairs or more; they are not stored, and must not be results of the plan.
    """
    with shared.database.read() as session:
        record = preregistrations.get(session, caller.project_id, prereg_id)
        facts = read_facts(session, record)
    findings = list(actions.read_findings(record, facts))
    if body.pilot is None:
        known = list(levels(record.plan, facts))
        return answer(
            LintReport(findings=findings, power=list(rule_powers(record.plan, facts)), levels=known)
        )
    power, shaped, pilot, assumptions = actions.compute_power_by_pilot(record, facts, body.pilot)
    report = LintReport(
        findings=findings, power=list(power), levels=list(shaped), pilot=list(pilot), assumptions=assumptions
    )
    return answer(report)


@routes.post(
    "/preregistrations/{prereg_id}/lock",
    response_model=PreregistrationView,
    responses=shows(examples.LOCKED) | refuses(409),
)
def lock_preregistration(
    caller: Locker,
    once: RequiredOnce,
    if_match: RequiredIfMatch,
    shared: Shared,
    prereg_id: RecordId,
    body: Annotated[
        LockRequest, StrictBody(LockRequest, example={"acknowledge": ["FEW_CLUSTERS"]}, optional=True)
    ],
) -> Response:
    """Lock the plan.

    From here on its text cannot change and results may be posted. Needs the ETag of the draft that was read,
    no lint error, and every lint warning acknowledged. The header `Forelock-Checkpoint` is base64 of a signed note:
    a checkpoint of the ledger that holds this lock. Keep it.
    """

    def work(session: Session) -> tuple[Response, Receipt]:
        locked, receipt = lock_draft(session, shared, caller, prereg_id, if_match, linted, body.acknowledge)
        if body.mlflow_run is not None:
            tracking.link(session, caller, locked, body.mlflow_run, now=clock.read_now(session))
        return respond(session, locked, just_locked=receipt), receipt

    linted = lint_draft(shared, caller, prereg_id)  # before the write: others wait for whoever writes
    with audit_refusals(shared, caller, prereg_id, "preregistration.lock"):
        return attest_once(shared, once, work)


def lint_draft(shared: Services, caller: Key, prereg_id: str) -> actions.LintedDraft | None:
    """Lint a draft, with no transaction open while it computes; None where the record is no draft."""
    with shared.database.read() as session:
        record = preregistrations.get(session, caller.project_id, prereg_id)
        facts = read_facts(session, record)
    return actions.lint_draft(record, facts) if record.state == "draft" else None


def lock_draft(
    session: Session,
    shared: Services,
    caller: Key,
    prereg_id: str,
    if_match: IfMatch,
    linted: actions.LintedDraft | None,
    acknowledge: Sequence[str] | str,
) -> tuple[Preregistration, Receipt]:
    """Lock the draft that was read and linted; returns the record, and the receipt of its leaf.

    Raises:
        Conflict: the record is no draft.
        PreconditionFailed: it has changed since it was read, or linted.
        InvalidData: lint errors, or warnings nobody acknowledged.
    """
    record = preregistrations.get(session, caller.project_id, prereg_id, for_update=True)
    record.require("draft")
    if_match.check(record.etag)
    if linted is None or linted.revision != record.revision:
        raise PreconditionFailed("the record has changed since it was linted: lock it again")
    moment, seal_public = clock.read_moment(session), shared.keyring.seal_public
    return actions.lock(session, caller, record, linted, acknowledge, moment, seal_public=seal_public)


@routes.get(
    "/preregistrations/{prereg_id}/receipt",
    response_model=LockReceipt,
    responses=shows(examples.RECEIPT | {"family": examples.FAMILY_PLACE}) | refuses(409),
)
def get_receipt(caller: Reader, session: ReadSession, prereg_id: RecordId) -> Response:
    """Read the receipt of the plan: of its lock or its last amendment, and which registration on its items it is.

    `proof` is a file of its own (C2SP tlog-proof): with the leaf and the log's verifier key it is checked offline.
    """
    record = preregistrations.get(session, caller.project_id, prereg_id)
    record.require(*ONCE_LOCKED, action="a receipt")
    last = ledger.read_entries(session, record.id, "plan_locked", "plan_amended")[-1].receipt
    (proven,) = proofs.prove(session, [last])
    return answer(LockReceipt(**proven.model_dump(), family=families.find_place(session, record)))
