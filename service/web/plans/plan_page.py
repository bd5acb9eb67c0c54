"""The page of a plan: its rules as sentences, what they can show, what is missing; a draft's items, and its lock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from starlette.responses import RedirectResponse, Response

from service.actions.plans import preregistrations as actions
from service.actions.plans.manifests import read_facts
from service.api.calculators import handlers
from service.api.http.answers.attested import attest
from service.api.http.requests.body import Content
from service.api.http.requests.deps import IfMatch, PageSession
from service.api.http.shared import get_services
from service.api.parsing.multipart import Form
from service.api.routes.plans.preregistrations import audit_refusals, lint_draft, lock_draft
from service.domain.access import Key
from service.domain.ledger import Receipt
from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.preregistration import Preregistration
from service.errors import NotFound
from service.store.database import clock
from service.store.plans import preregistrations
from service.store.plans.populations import Packed
from service.web.html.forms import LARGE, SMALL, reads_form
from service.web.html.rendering import HEADERS, PageRoute, html
from service.web.html.speech import Say, language_of
from service.web.plans.gaps import Gaps, gaps_of
from service.web.plans.wizard import Planner, plan_file
from service.web.preregistrations import record_view
from service.web.preregistrations.record_page import ONE
from service.web.visitors.sign_in import LIST, Visitor, get_visitor, known, visitor_who_may
from service.words import message

routes = APIRouter(route_class=PageRoute, include_in_schema=False)
Locker = Annotated[Key, Depends(visitor_who_may("plans:lock"))]
CSV = "text/csv"


@dataclass(frozen=True, slots=True)
class Population:
    """A population of the plan, and the items that are listed of it."""

    id: str
    n: int
    clustered: bool
    items: ManifestFacts | None


@routes.get(ONE + "/plan")
async def plan(request: Request, preregistration_id: str) -> Response:
    """What the plan says, what it can show, and what it lacks. The session is closed while that is worked out."""
    visitor, record, facts = await to_thread.run_sync(_read, request, preregistration_id)
    say = Say(language_of(request))
    gaps = await to_thread.run_sync(_gaps, record, facts, say, limiter=get_services(request).slow)
    return html(
        request,
        "plan.html",
        visitor=visitor,
        record=record,
        title=record_view.title_of(record.plan.title, say),
        state_sentence=say(record_view.STATES[record.state]),
        gaps=gaps,
        populations=[
            Population(population.id, population.n, population.clusters is not None, facts.get(population.id))
            for population in record.plan.populations or ()
        ],
    )


def _read(request: Request, preregistration_id: str) -> tuple[Key, Preregistration, dict[str, ManifestFacts]]:
    visitor = get_visitor(request)
    with get_services(request).database.read() as session:
        record = preregistrations.get(session, visitor.project_id, known(preregistration_id))
        return visitor, record, read_facts(session, record)


def _gaps(record: Preregistration, facts: dict[str, ManifestFacts], say: Say) -> Gaps:
    return gaps_of(record.plan, facts, say, record.lint)


@routes.get(ONE + "/plan.{form}")
def download(
    request: Request, session: PageSession, visitor: Visitor, preregistration_id: str, form: str
) -> Response:
    """The plan as a file: `.json` or `.md`."""
    if form not in ("json", "md"):
        raise NotFound(message("refusals.plan_files"))
    record = preregistrations.get(session, visitor.project_id, known(preregistration_id))
    return plan_file(record.plan, "json" if form == "json" else "markdown", language_of(request))


@routes.post(ONE + "/items")
async def items(
    request: Request,
    visitor: Planner,
    preregistration_id: str,
    form: Annotated[Form, Depends(reads_form(LARGE))],
) -> Response:
    """List the items of a draft's population: CSV, or one id a line."""
    content = Content([await to_thread.run_sync(_csv, form.text("items"))], CSV)
    most = get_services(request).settings.max_rows
    manifest = await content.read(request, handlers.read_manifest, CSV, most)
    return await to_thread.run_sync(
        _put_items, request, visitor, known(preregistration_id), form.one("population"), manifest
    )


def _csv(text: str) -> bytes:
    """Return what was listed, as CSV."""
    text = text.strip("\n\r ")
    if text[:7].lower() != "item_id":
        text = "item_id\n" + "\n".join(_cell(line) for line in text.splitlines() if line.strip())
    return text.encode()


def _cell(line: str) -> str:
    """Return a line as one cell of a CSV."""
    return '"' + line.strip().replace('"', '""') + '"'


def _put_items(
    request: Request, visitor: Key, preregistration_id: str, population: str, manifest: Packed
) -> Response:
    """Store a manifest as the items of a draft's population, and lead back to the plan."""
    shared = get_services(request)
    with (
        audit_refusals(shared, visitor, preregistration_id, "preregistration.items"),
        shared.database.write() as session,
    ):
        record = preregistrations.get(session, visitor.project_id, preregistration_id, for_update=True)
        actions.put_items(session, visitor, record, population, manifest, now=clock.read_now(session))
    return RedirectResponse(f"{LIST}/{preregistration_id}/plan", 303, HEADERS)


@routes.post(ONE + "/lock")
def lock(
    request: Request,
    visitor: Locker,
    preregistration_id: str,
    form: Annotated[Form, Depends(reads_form(SMALL))],
) -> Response:
    """Lock the draft as it was shown, with the warnings that were read."""
    shared, prereg_id = get_services(request), known(preregistration_id)
    linted = lint_draft(shared, visitor, prereg_id)
    receipt: Receipt
    with (
        audit_refusals(shared, visitor, prereg_id, "preregistration.lock"),
        shared.database.write() as session,
    ):
        seen, read = IfMatch(form.one("etag") or '"none"'), form.every("acknowledge")
        _record, receipt = lock_draft(session, shared, visitor, prereg_id, seen, linted, read)
    response = RedirectResponse(f"{LIST}/{prereg_id}", 303, HEADERS)
    return attest(shared, response, receipt.sequence)
