"""What is read without a key: a record by its view-only link, or one that is public. Nothing can be done there.

Every request asks the database whether the link still stands, and no answer is kept anywhere: a link that was revoked
opens nothing from then on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from anyio import to_thread
from fastapi import APIRouter, Depends, Path, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from service.actions.ledger import proofs
from service.actions.plans import families
from service.actions.projects import view_links
from service.actions.projects.view_links import OpenedRecord
from service.actions.verdicts import charts, reports
from service.api.http.answers.answers import answer
from service.api.http.answers.drawing import answer_picture
from service.api.http.requests.deps import PageSession
from service.api.http.shared import Services, get_services
from service.api.parsing.markdown import Lang
from service.api.routes.plans.preregistrations import LockReceipt
from service.api.routes.verdicts.charts import Hypothesis, require_chart
from service.api.routes.verdicts.verdicts import require_verdict
from service.errors import NotFound
from service.reports.charts.of_verdict import forest_of
from service.reports.charts.style import Spec
from service.reports.verdict import words
from service.store.ledger import ledger
from service.store.projects import projects
from service.web.html.rendering import PageRoute, html
from service.web.html.speech import Say, language_of
from service.web.html.times import time_view
from service.web.preregistrations.record_page import page_of_record, verdict_of
from service.web.visitors.sign_in import is_id
from service.words import Language, message

SHARED, PUBLIC = "/shared/{token}", "/public/{prereg_id}"
PICTURE_TURNS = 10.0
"""What a picture costs of the turns of strangers; anything else costs one."""
_NOT_KEPT = {"Cache-Control": "no-store"}

OnPage = Literal["light", "dark", "both"]

routes = APIRouter(route_class=PageRoute, include_in_schema=False)
files = APIRouter(include_in_schema=False)
"""Their refusals are problem documents."""


def _open_record(request: Request, session: Session, *, turns: float = 1.0) -> OpenedRecord:
    """The record of the path. Whoever opens it is in its project's audit log: which link, or that it was nobody's."""
    shared, ids = get_services(request), request.path_params
    shared.strangers.take(turns, "what is read without a key")
    if "token" in ids:
        opened = view_links.open_by_token(session, ids["token"])
    elif is_id(ids["prereg_id"]):
        opened = view_links.open_public(session, ids["prereg_id"])
    else:
        raise NotFound(message("refusals.no_public_preregistration"))
    if opened.link is not None:
        shared.reads.note_stranger(opened.record.project_id, "viewlink.read", opened.link.id)
    else:
        shared.reads.note_stranger(opened.record.project_id, "public.read", opened.record.id)
    return opened


def _from_path(request: Request, session: PageSession) -> OpenedRecord:
    return _open_record(request, session)


Visited = Annotated[OpenedRecord, Depends(_from_path)]


@routes.get(SHARED)
@routes.get(PUBLIC)
def page(request: Request, session: PageSession, visited: Visited) -> Response:
    """The page of the record, as its project sees it."""
    record, link = visited.record, visited.link
    say, verdict = Say(language_of(request)), verdict_of(session, record)
    # What was filed may speak of outcomes: it is told with them. Who decided is named by no page that needs no key.
    decided, undecided = ([], 0) if verdict is None else reports.decided_deviations(session, record)
    lines = [one.model_copy(update={"decided_by": say("pages.the_project_itself")}) for one in decided]
    intervals = None if verdict is None else forest_of(record.plan, verdict, say.language)
    record_page = page_of_record(session, record, verdict, say=say)
    return html(
        request,
        "shared.html",
        page=replace(record_page, authors=()) if visited.anonymous else record_page,
        report=None,
        pictured=intervals and f"{request.url.path}/charts/forest.svg?lang={say.language}",
        base=request.url.path,
        judged=record.judged_at is not None,
        deviations=lines,
        undecided=undecided,
        words=words,
        project="" if visited.anonymous else projects.get(session, record.project_id).name,
        ends=None if link is None else time_view("", link.expires_at),
    )


@files.get(SHARED + "/verdict.json")
@files.get(PUBLIC + "/verdict.json")
def verdict(session: PageSession, visited: Visited) -> Response:
    """The verdict as it is stored; before it is there refused as `GET /v1/preregistrations/{id}/verdict` is."""
    stored = require_verdict(session, visited.record)
    return Response(stored.text, 200, _NOT_KEPT, "application/json")


@files.get(SHARED + "/receipt.json")
@files.get(PUBLIC + "/receipt.json")
def receipt(session: PageSession, visited: Visited) -> Response:
    """The receipt of the plan. An anonymous link leaves out what would tell whose it is: the log's name, the family."""
    last = ledger.read_entries(session, visited.record.id, "plan_locked", "plan_amended")[-1].receipt
    if visited.anonymous:
        view = LockReceipt(**last.model_dump(exclude={"leaf", "checkpoint", "proof"}), family=None)
    else:
        (proven,) = proofs.prove(session, [last])
        view = LockReceipt(**proven.model_dump(), family=families.find_place(session, visited.record))
    return answer(view, headers=_NOT_KEPT)


@files.get(SHARED + "/charts/{chart}.{form}")
@files.get(PUBLIC + "/charts/{chart}.{form}")
async def picture(
    request: Request,
    chart: Annotated[str, Path(max_length=40)],
    form: Annotated[str, Path(max_length=8)],
    hypothesis: Hypothesis = None,
    lang: Lang = "en",
    theme: OnPage = "light",
    shape: str = "",
) -> Response:
    """A picture of the record, refused as for its project's keys."""
    spec = await to_thread.run_sync(_spec, request, chart, form, hypothesis, lang)
    _name, wanted = require_chart(chart, form)
    response = await answer_picture(request, spec, wanted, theme, narrow=shape == "narrow")
    response.headers.update(_NOT_KEPT)
    return response


def _spec(request: Request, chart: str, form: str, hypothesis: str | None, language: Language) -> Spec:
    name, _form = require_chart(chart, form)
    shared: Services = get_services(request)
    with shared.database.read() as session:
        visited = _open_record(request, session, turns=PICTURE_TURNS)
        if name == "power":
            return charts.of_plan(session, visited.record, language)
        stored = require_verdict(session, visited.record).read()
        return charts.of_verdict(session, visited.record, stored, name, hypothesis, language)
