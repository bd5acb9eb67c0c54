"""Statistical tests over HTTP: the catalogue, a description and a computation per registered test."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import Any

from anyio import to_thread
from fastapi import APIRouter, Request
from pydantic import TypeAdapter
from starlette.responses import Response

from service.actions.verdicts.jobs import Computation
from service.api.calculators import handlers
from service.api.calculators.pool import CalculatorLost, unreadable
from service.api.examples import common as examples
from service.api.http import problems
from service.api.http.answers.answers import Page, answer, shows
from service.api.http.requests.body import READ_SECONDS, Content, make_raw_reader
from service.api.http.requests.deps import AnyCaller, scope
from service.api.http.requests.headers import get_header
from service.api.http.requests.prefer import PARAMETER, Preferences, parse_preferences
from service.api.http.serving.route import asks, make_router, refuses, to_camel
from service.api.http.shared import Services, get_services
from service.api.parsing.closed_types import is_closed
from service.api.parsing.markdown import read_language
from service.api.parsing.models import JSON, validate
from service.api.routes.calculations.jobs import JobView, make_job_view, queue_computation
from service.domain.access import Key
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.descriptions import TestDescription, TestSummary, describe, summary, words
from service.stats.shared.declaring.registry import Answer, StatTest
from service.store.jobs import jobs
from service.words import Language, speaking

routes = make_router("tests")

AT_ONCE_SECONDS = 1.0
"""Tests that are estimated below this are answered at once; the others become jobs."""


_CATALOGUE_EXAMPLE = {
    "items": [summary(registry.serving("fourfold")).model_dump(mode="json")],
    "next_cursor": None,
}


@routes.get("/tests", responses=shows(_CATALOGUE_EXAMPLE))
async def list_tests(_caller: AnyCaller) -> Page[TestSummary]:
    """List the statistical tests, by name, each in its newest version."""
    return Page(items=[summary(test) for test in registry.latest().values()], next_cursor=None)


_QUEUED: dict[int | str, dict[str, Any]] = {
    202: {
        "model": JobView,
        "description": "It takes longer than a second, or `Prefer: respond-async` was sent: the job that computes it.",
        "headers": {"Location": {"description": "The job.", "schema": {"type": "string"}}},
        "content": {"application/json": {"example": examples.JOB}},
    }
}
_SHORTENED = {"request_schema": {"type": "object"}, "analysis_schema": {"type": "object"}}


def add_test(to: APIRouter, test: StatTest[Any, Any]) -> None:
    """Add the two operations of one test to a router: its description, and its computation."""
    caller = scope("tests:run")
    read = make_raw_reader({JSON: test.request}, example=dict(test.example))
    adapter: TypeAdapter[Any] = TypeAdapter(test.request)
    closed = is_closed(adapter)

    def get_description(_caller: AnyCaller) -> Response:
        return answer(describe(test))

    @asks(caller, read, read_language)
    async def run(request: Request) -> Response:
        key = await caller(request)
        language = read_language(request)
        shared, content = get_services(request), await read(request)
        prefer = get_header(request, b"prefer")
        if test.closed_form and content.small and prefer is None:
            with speaking(language):
                return answer(test.answer(validate(adapter, content.body, closed)))
        wanted = parse_preferences(request.headers.getlist("prefer"))
        outcome = await compute_or_queue(
            request, content, test, 0.0 if wanted.respond_async else AT_ONCE_SECONDS, language
        )
        if isinstance(outcome, handlers.ComputedAnswer):
            return Response(outcome.answer, 200, wanted.applied, JSON)
        job = await to_thread.run_sync(queue_computation, shared, key, make_computation(test, outcome))
        return await _answer_job(shared, key, job, wanted)

    to.add_api_route(
        f"/tests/{test.name}",
        get_description,
        summary=f"Describe {test.name}",
        description=f"Words, references, schemas and example of {test.title}.",
        operation_id=to_camel(f"describe-{test.name}"),
        response_model=TestDescription,
        responses=shows(words(test) | _SHORTENED),
    )
    to.add_api_route(
        f"/tests/{test.name}",
        run,
        methods=["POST"],
        summary=f"Run {test.name}",
        description=test.words.split("\n\nReturns:")[0],
        operation_id=to_camel(f"run-{test.name}"),
        response_model=Answer[test.analysis],  # type: ignore[name-defined]
        responses=_QUEUED | refuses(429),
        openapi_extra={"parameters": [PARAMETER]},
    )


async def compute_or_queue(
    request: Request, content: Content, test: StatTest[Any, Any], seconds: float, language: Language
) -> handlers.ComputedAnswer | handlers.LongTest:
    """Compute the answer in a calculator, or return what its job needs.

    What outruns its estimate becomes a job; and where counting the blocks of that takes too long, one that is not cut.

    Raises:
        TooLarge: the body took more time or memory to read than one request may have.
    """
    for most, count in ((seconds, True), (0.0, True), (0.0, False)):
        try:
            return await get_services(request).calculators.run(
                request,
                handlers.compute_test,
                content.limit,
                test.name,
                test.version,
                most,
                count,
                language,
                body=content.pieces,
                seconds=READ_SECONDS,
            )
        except CalculatorLost as lost:
            if not lost.begun:
                break
    raise unreadable()


def make_computation(test: StatTest[Any, Any], long: handlers.LongTest) -> Computation:
    """Make the computation that the job of a long test does."""
    return Computation(
        kind=test.name, version=test.version, body=long.body, work=lambda: (long.blocks, long.seconds)
    )


async def _answer_job(shared: Services, caller: Key, job: jobs.Job, wanted: Preferences) -> Response:
    """Answer with what a job gave, if it ends while the caller waits, else with 202 and where to look."""
    wait = wanted.wait
    if wait is not None:
        give_back = shared.waits.take(caller)
        if give_back is None:  # the key waits for as many as it may: a preference need not be honoured
            wanted = replace(wanted, wait=None)
        else:
            try:
                await shared.watch.wait_for_end(job.id, wait)
            finally:
                give_back()
    if wanted.wait is not None or not wanted.respond_async:
        job = await to_thread.run_sync(partial(_read_again, shared, job))
        if job.state == "succeeded" and job.result is not None:
            body = json.dumps(job.result, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
            return Response(body, 200, wanted.applied, "application/json")
        if job.state == "failed" and job.error is not None:
            return problems.respond_job_error(job.error, wanted.applied)
    return answer(make_job_view(job), 202, {"Location": f"/v1/jobs/{job.id}"} | wanted.applied)


def _read_again(shared: Services, job: jobs.Job) -> jobs.Job:
    with shared.database.read() as session:
        return jobs.get(session, job.project_id, job.id)


for _test in registry.latest().values():
    add_test(routes, _test)


@routes.api_route("/tests/{name}", methods=["GET", "POST"], include_in_schema=False)
async def no_such_test(name: str, _caller: AnyCaller) -> Response:
    """404 that lists the tests there are."""
    return answer(describe(registry.find(name)))
