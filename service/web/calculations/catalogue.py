"""The catalogue of statistical tests, and a page for each with a form that asks it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any, get_args

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from starlette.responses import RedirectResponse, Response

from service.api.parsing.multipart import Form
from service.domain.access import Key
from service.errors import Conflict, Fault, ForelockError, NotFound
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.descriptions import describe
from service.stats.shared.declaring.registry import Question, StatTest
from service.store.jobs import jobs
from service.web.calculations.answers import AnswerView, answer_to, job_of, view_answer
from service.web.html.forms import LARGE, reads_form
from service.web.html.rendering import HEADERS, PageRoute, html, refusal
from service.web.html.speech import language_of
from service.web.visitors.sign_in import Tester, is_id
from service.words import message, say

PATH = "/tests"
HEADINGS = {question: f"tests_{question}" for question in get_args(Question)}
"""The words over the tests of each question."""


@dataclass(frozen=True, slots=True)
class FieldView:
    """A field of a test's request as a page shows it."""

    name: str
    meaning: str
    """In English; empty where the name says it all."""
    is_required: bool
    choices: list[str]
    """The texts that it may be; empty where it is something else."""
    default: str | float | int | None
    """None: no single text or number."""


routes = APIRouter(route_class=PageRoute, include_in_schema=False)


@routes.get(PATH)
def catalogue(request: Request, visitor: Tester) -> Response:
    """Every test in its newest version."""
    tests = sorted(registry.latest().values(), key=lambda test: test.title)
    questions = registry.by_question(tests)
    return html(request, "catalogue.html", visitor=visitor, questions=questions, headings=HEADINGS)


@routes.get(PATH + "/{name}")
async def show_test(request: Request, visitor: Tester, name: str, job: str = "") -> Response:
    """One test: what it is for, and its form with the example; with a job its answer, once it is there."""
    test = registry.find(name)
    if not job:
        return _page(request, visitor, test, _example(test))
    return await _show_job(request, visitor, test, job)


async def _show_job(request: Request, visitor: Key, test: StatTest[Any, Any], job_id: str) -> Response:
    """Show the test's page with what a job came to, or that it goes on; a job that failed is raised as its refusal."""
    if not is_id(job_id):
        raise NotFound(message("refusals.no_job"))
    job = await to_thread.run_sync(job_of, request, visitor, test, job_id)
    if job.result is not None:
        view = await view_answer(request, test, job.result, language_of(request))
        return _page(request, visitor, test, _example(test), view=view)
    if job.error is not None and job.state == "failed":
        faults = [Fault(one["path"], one["message"], one["fix"]) for one in job.error.get("errors", ())]
        raise Conflict(str(job.error.get("detail", "the job failed")), faults)
    return _page(request, visitor, test, _example(test), job=job)


@routes.post(PATH + "/{name}")
async def answer_form(
    request: Request, visitor: Tester, name: str, form: Annotated[Form, Depends(reads_form(LARGE))]
) -> Response:
    """The answer to what is in the form, as the API would give it."""
    test, text = registry.find(name), form.text("request")
    try:
        answer = await answer_to(request, visitor, test, text.encode())
    except ForelockError as error:
        if error.status not in (400, 413, 422):
            return refusal(request, error)
        return _page(request, visitor, test, text, error=error)
    if isinstance(answer, jobs.Job):
        return RedirectResponse(f"{PATH}/{name}?job={answer.id}", 303, HEADERS)
    return _page(
        request, visitor, test, text, view=await view_answer(request, test, answer, language_of(request))
    )


def _page(
    request: Request,
    visitor: Key,
    test: StatTest[Any, Any],
    text: str,
    *,
    view: AnswerView | None = None,
    job: jobs.Job | None = None,
    error: ForelockError | None = None,
) -> Response:
    """Render the page of a test: its form with this text, and an answer, a job or a refusal below."""
    words, language = describe(test), language_of(request)
    fields = [
        FieldView(
            name,
            field.description or "",
            field.is_required(),
            _choices(words.request_schema["properties"][name]),
            field.default if isinstance(field.default, str | float | int) else None,
        )
        for name, field in test.request.model_fields.items()
    ]
    return html(
        request,
        "stat_test.html",
        200 if error is None else error.status,
        visitor=visitor,
        test=words,
        model=words.model if language == "en" else say(f"models.{test.name}", language),
        fields=fields,
        text=text,
        told=view,
        job=job,
        error=error,
    )


def _choices(schema: dict[str, Any]) -> list[str]:
    """Return the texts that the JSON Schema of a field allows, also beside null; none where it allows others."""
    choices = [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else ())]
    for part in schema.get("anyOf", ()):
        choices += _choices(part)
    return [choice for choice in choices if isinstance(choice, str)]


def _example(test: StatTest[Any, Any]) -> str:
    """Return the example request, a member a line."""
    lines = (
        f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in test.example.items()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"
