"""What the `forelock` command does in its own process, without a service: the same tests and the same answers.

Everything is imported where it is used: a command pays for what it asks.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal

from service.errors import ForelockError

if TYPE_CHECKING:
    from service.words import Language

Json = dict[str, Any]


def tests() -> Json:
    """Return the catalogue of tests, a list in `items`."""
    from service.stats.shared.declaring import descriptions, registry

    lines = [descriptions.summary(test) for test in registry.latest().values()]
    return {"answer": {"items": [line.model_dump(mode="json") for line in lines]}}


Question = tuple[Callable[[Any], Any], Any]
"""What computes an answer, and the model of the request that it takes; None: what it takes stands as it is."""


def as_document(ask: Callable[..., Question]) -> Callable[..., Json]:
    """Have a question give its answer as JSON in `answer`, in a language, or its refusal in `problem`.

    The question imports what it needs. Its last argument is the request, read as a service would read it.
    """

    @wraps(ask)
    def give_document(*arguments: Any, language: Language = "en") -> Json:
        from service.offline.lean import put_off
        from service.words import speaking

        put_off()  # before the question imports scipy
        *names, request = arguments
        try:
            with speaking(language):
                compute, model = ask(*names)
                if model is not None:
                    from pydantic import TypeAdapter

                    from service.api.parsing.models import validate

                    request = validate(TypeAdapter(model), json.dumps(request).encode())
                return {"answer": compute(request).model_dump(mode="json")}
        except ForelockError as refused:
            return {"problem": _describe_refusal(refused, language)}

    return give_document


def _describe_refusal(refused: ForelockError, language: Language) -> Json:
    """Return a refusal as a problem document; in another language `translated` has what it carries as codes.

    What it carries as an English sentence alone, whoever prints it reads back by `say_refusal`.
    """
    document = refused.document()
    if language == "en":
        return document
    detail = refused.detail if refused.message is None else refused.message.text(language)
    faults = ((fault.path, *fault.texts(language)) for fault in refused.faults)
    errors = [{"path": path, "message": message, "fix": fix} for path, message, fix in faults]
    return document | {"translated": {**document, "detail": detail, "errors": errors}}


def say_refusal(english: str, language: Language) -> str:
    """Return what the service says in English alone in a language; as it is where no catalogue has it.

    That is a refusal, a finding of lint, a reason of power, a multiverse in a sentence, or the title or summary of a
    test.
    """
    from service.words.refusals import (
        translate_multiverse,
        translate_name,
        translate_power,
        translate_refusal,
    )

    ways = (translate_refusal, translate_power, translate_multiverse, translate_name)
    return next((said for way in ways if (said := way(english, language)) is not None), english)


@as_document
def describe() -> Question:
    """One test in words with its schemas, by its name."""
    from service.stats.shared.declaring import descriptions, registry

    return lambda name: descriptions.describe(registry.find(name)), None


@as_document
def run(name: str) -> Question:
    """Return a registered test's answer."""
    from service.stats.shared.declaring import registry

    test = registry.find(name)
    return test.answer, test.request


@as_document
def score() -> Question:
    """One arm's score."""
    from service.domain.score.request import ScoreRequest
    from service.domain.score.score import score as of_arm

    return of_arm, ScoreRequest


@as_document
def compare() -> Question:
    """Two arms on the same items."""
    from service.domain.comparison.compare import compare as judge
    from service.domain.comparison.request import ComparisonRequest

    return judge, ComparisonRequest


@as_document
def resolve() -> Question:
    """Return what a pilot resolves."""
    from service.domain.resolution.records import ResolutionRequest
    from service.domain.resolution.resolve import resolve as of_pilot

    return of_pilot, ResolutionRequest


@as_document
def audit() -> Question:
    """Return what a published pair can show."""
    from service.domain.resolution.audit import audit as of_pair
    from service.domain.resolution.records import AuditRequest

    return of_pair, AuditRequest


def draw(svg: str, form: Literal["pdf", "png"]) -> bytes:
    """Return a picture on a page of its own size."""
    from service.reports.charts.on_page import set_on_page

    return set_on_page(svg, form)
