"""An answer of a statistical test for a page: computed as for the API, in words, in a picture, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anyio import to_thread
from fastapi import Request

from service.api.calculators import handlers
from service.api.http.requests.body import Content
from service.api.http.shared import get_services
from service.api.parsing.models import JSON
from service.api.routes.calculations.jobs import queue_computation
from service.api.routes.calculations.stats import AT_ONCE_SECONDS, compute_or_queue, make_computation
from service.api.routes.verdicts.charts import Answered, make_answer_spec
from service.domain.access import Key
from service.errors import ForelockError, NotFound
from service.reports.charts.style import Spec
from service.stats.shared.declaring.registry import StatTest
from service.store.jobs import jobs
from service.web.html.pictures import Drawn, drawn_for_page
from service.web.html.speech import language_of
from service.words import Language, message, retell, say

WAIT_SECONDS = 4.0
"""A page waits so long for a job before it tells where the answer will be."""


@dataclass(frozen=True, slots=True)
class AnswerView:
    """An answer as a page shows it."""

    headline: str
    """The sentence as far as its first semicolon outside brackets: what was estimated, of what."""
    rest: str
    """What the sentence goes on to say; empty where it ends there."""
    english: bool
    """The sentence is English on a page in another language."""
    in_english: bool
    """The answer was computed in English, and so are its warnings."""
    analysis: Mapping[str, Any]
    warnings: list[Any]
    picture: Drawn | None
    described: str
    """What the picture shows, for who cannot see it."""
    text: str
    """The whole answer, as the API gives it."""


async def answer_to(
    request: Request, visitor: Key, test: StatTest[Any, Any], body: bytes
) -> dict[str, Any] | jobs.Job:
    """Return the answer to a request of the API, or the job that is still computing it.

    Raises:
        ForelockError: as the API refuses it.
    """
    language = language_of(request)
    outcome = await compute_or_queue(request, Content([body], JSON), test, AT_ONCE_SECONDS, language)
    if isinstance(outcome, handlers.ComputedAnswer):
        answer: dict[str, Any] = json.loads(outcome.answer)
        return answer
    shared = get_services(request)
    job = await to_thread.run_sync(queue_computation, shared, visitor, make_computation(test, outcome))
    await shared.watch.wait_for_end(job.id, WAIT_SECONDS)
    job = await to_thread.run_sync(job_of, request, visitor, test, job.id)
    return job if job.result is None else job.result


def job_of(request: Request, visitor: Key, test: StatTest[Any, Any], job_id: str) -> jobs.Job:
    """Return the project's job of a test.

    Raises:
        NotFound: there is none, or it is of something else.
    """
    with get_services(request).database.read() as session:
        job = jobs.get(session, visitor.project_id, job_id)
    if job.kind != test.name:
        raise NotFound(message("refusals.no_job_of_test", job=job_id, test=test.name))
    return job


async def view_answer(
    request: Request, test: StatTest[Any, Any], answer: dict[str, Any], language: Language
) -> AnswerView:
    """Return the answer with its picture, where it has one that can be drawn in time."""
    spec = await to_thread.run_sync(_spec, test, answer, language)
    text = await to_thread.run_sync(_text, answer)  # an answer may be megabytes
    picture = None if spec is None else await drawn_for_page(request, spec)
    sentence = str(answer["analysis"]["sentence"])
    in_language = retell(sentence, language) or sentence  # a job computes in English, whoever asked for it
    headline, rest = _split_headline(in_language)
    if answer["analysis"].get("delta") is not None:  # what its test shows of a difference stands behind it
        headline = _lead_observed(headline, "en" if in_language.isascii() else language)
    return AnswerView(
        headline=headline,
        rest=rest,
        english=language != "en" and in_language.isascii(),
        in_english=language != "en" and in_language != sentence,
        analysis=answer["analysis"],
        warnings=list(answer.get("warnings") or ()),
        picture=picture,
        described="" if spec is None else str(spec.get("description", "")),
        text=text,
    )


def _split_headline(sentence: str) -> tuple[str, str]:
    """Return a sentence as far as its first semicolon outside brackets, and what stands behind it."""
    depth = 0
    for at, mark in enumerate(sentence):
        depth += (mark in "([（") - (mark in ")]）")
        if depth == 0 and (mark == "；" or sentence.startswith("; ", at)):
            return sentence[:at], sentence[at + 1 :].lstrip()
    return sentence, ""


def _lead_observed(headline: str, language: Language) -> str:
    """Return a headline that says first that the difference in it was observed, and so claims no more."""
    first = headline[:1].lower() if language == "en" else headline[:1]
    return say("pages.observed_first", language, what=f"{first}{headline[1:]}")


def _text(answer: dict[str, Any]) -> str:
    return json.dumps(answer, ensure_ascii=False, indent=1)


def _spec(test: StatTest[Any, Any], answer: dict[str, Any], language: Language) -> Spec | None:
    try:
        of = Answered(version=answer["version"], analysis=answer["analysis"])
        return make_answer_spec(test.name, of, None, None, None, language)
    except ForelockError:  # there is no picture of it
        return None
