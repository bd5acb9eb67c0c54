"""A plan by five questions: what it lacks and can show as it is written, then a draft, or a file."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from starlette.responses import RedirectResponse, Response

from forelock.wizard import ALPHAS
from service.actions.plans import preregistrations as actions
from service.api.http.shared import get_services
from service.api.parsing.markdown import MARKDOWN
from service.api.parsing.multipart import Form
from service.api.routes.plans.preregistrations import read_plan
from service.domain.access import Key
from service.domain.plans.manifest import planned_facts
from service.domain.plans.plan import Plan
from service.errors import Fault, InvalidData
from service.reports.prereg.print import print_plan
from service.store.database import clock
from service.web.html.forms import reads_form
from service.web.html.rendering import HEADERS, PageRoute, html
from service.web.html.speech import Say, language_of
from service.web.plans.gaps import Gaps, gaps_of
from service.web.plans.plan_form import BETTER, CLAIMS, COUNTED, KINDS, WrittenForm, read_answers
from service.web.visitors.sign_in import LIST, visitor_who_may

PATH = "/plans/new"
MOST_BYTES = 64 * 1024

QUESTIONS = {
    "title": "title",
    "hypotheses[0].baseline": "baseline",
    "hypotheses[0].candidate": "candidate",
    "hypotheses[0].endpoint": "endpoint",
    "endpoints[0].id": "endpoint",
    "populations[0].dataset": "dataset",
    "populations[0].clusters.key": "clusters",
    "populations[0].independence": "independence",
}
"""By path in the plan the question whose answer stands there."""

routes = APIRouter(route_class=PageRoute, include_in_schema=False)
Planner = Annotated[Key, Depends(visitor_who_may("plans:write"))]


@dataclass(frozen=True, slots=True)
class Preview:
    """What is told of the answers so far."""

    plan: Plan | None
    faults: tuple[Fault, ...]
    gaps: Gaps | None

    @property
    def by_question(self) -> dict[str, Fault]:
        """What a plan cannot hold, by the question whose answer it is."""
        return {question: fault for fault in self.faults if (question := _question_of(fault))}


def _question_of(fault: Fault) -> str:
    """Return the question whose answer a fault of a plan is in; empty where none is."""
    return "endpoint" if fault.path.startswith("sesoi.") else QUESTIONS.get(fault.path, "")


@routes.get(PATH)
async def questions(request: Request, visitor: Planner) -> Response:
    """The questions, with the answers that most plans begin with."""
    return await _page(request, visitor, read_answers(None, Say(language_of(request))))


@routes.post(PATH)
async def post_answers(
    request: Request, visitor: Planner, form: Annotated[Form, Depends(reads_form(MOST_BYTES))]
) -> Response:
    """What the answers make: lint and power, a file, or a draft."""
    written = read_answers(form, Say(language_of(request)))
    act = form.one("act", "check")
    if written.faults or act not in ("json", "markdown", "create"):
        return await _page(request, visitor, written, 422 if written.faults and act != "check" else 200)
    plan = plan_in(written)
    if act == "create":
        return await to_thread.run_sync(_create_draft, request, visitor, plan)
    return plan_file(plan, act, language_of(request))


def plan_in(written: WrittenForm) -> Plan:
    """Return the plan of the answers, as it would be posted.

    Raises:
        InvalidData: an answer that a plan cannot hold.
    """
    return read_plan(json.dumps(written.plan, ensure_ascii=False).encode())


def plan_file(plan: Plan, form: str, language: Any) -> Response:
    """Return the plan as a file to keep: `json` as it is posted, or `markdown`."""
    if form == "json":
        body, name, media = (
            json.dumps(plan.as_dict(), ensure_ascii=False, indent=2) + "\n",
            "plan.json",
            "application/json",
        )
    else:
        body, name, media = print_plan(plan, language), "EXPERIMENTS_PREREG.md", f"{MARKDOWN}; charset=utf-8"
    headers = HEADERS | {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(body, 200, headers, media)


def _create_draft(request: Request, visitor: Key, plan: Plan) -> Response:
    """Make a draft of the plan, and lead to its page."""
    shared = get_services(request)
    with shared.database.write() as session:
        actions.require_room(session, visitor.project_id, shared.settings.project_drafts)
        record = actions.create(
            session, visitor, plan, prereg_id=uuid.uuid4().hex, now=clock.read_now(session)
        )
    return RedirectResponse(f"{LIST}/{record.id}/plan", 303, HEADERS)


async def _page(request: Request, visitor: Key, written: WrittenForm, status: int = 200) -> Response:
    """Render the form of a plan as it is filled in, with what that plan lacks and can show."""
    say = Say(language_of(request))
    preview = await to_thread.run_sync(_preview, written, say, limiter=get_services(request).slow)
    return html(
        request,
        "wizard.html",
        status,
        visitor=visitor,
        scripts=("wizard.js",),
        asked=written,
        told=preview,
        questions=QUESTIONS,
        claims=_list_choices(CLAIMS, say),
        kinds=_list_choices(KINDS, say),
        better=_list_choices(BETTER, say),
        alphas=[(f"{alpha:g}", f"{100 * alpha:g}%") for alpha in ALPHAS],
    )


def _once(faults: Iterable[Fault]) -> Iterator[Fault]:
    """Yield the first fault of each question: what is answered once stands in several places of a plan."""
    questions = set()
    for fault in faults:
        question = _question_of(fault) or fault.path
        if question not in questions:
            questions.add(question)
            yield fault


def _list_choices(choices: Mapping[Any, str], say: Say) -> list[tuple[str, str]]:
    return [(value, say(text)) for value, text in choices.items()]


def _preview(written: WrittenForm, say: Say) -> Preview:
    """Lint and power, as though the items were listed already."""
    try:
        plan = plan_in(written)
    except InvalidData as error:
        return Preview(None, tuple(_once(error.faults)) or (Fault("", error.detail, ""),), None)
    if COUNTED & written.faults.keys():  # another number in its place would make another plan
        return Preview(plan, (), None)
    facts = {"items": planned_facts(written.answers.n, written.answers.n_clusters)}
    return Preview(plan, (), gaps_of(plan, facts, say))
