"""What the `forelock` command does in its own process, without a service: the same tests and the same answers.

Everything is imported where it is used: a command pays for what it asks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal

from service.errors import ForelockError

if TYPE_CHECKING:
    from service.words import Language

Json = dict[str, Any]


def tests() -> Json:
    """The catalogue of tests, a list in `items`."""
    from service.stats.shared.declaring import descriptions, registry

    lines = [descriptions.summary(test) for test in registry.latest().values()]
    return {"answer": {"items": [line.model_dump(mode="json") for line in lines]}}


def as_document(compute: Callable[..., Any]) -> Callable[..., Json]:
    """Have a function give its answer as JSON in `answer`, in a language, or its refusal in `problem`."""

    @wraps(compute)
    def give_document(*arguments: Any, language: Language = "en") -> Json:
        from service.offline.lean import put_off
        from service.words import speaking

        put_off()  # before the function imports scipy
        try:
            with speaking(language):
                return {"answer": compute(*arguments).model_dump(mode="json")}
        except ForelockError as refused:
            return {"problem": _describe_refusal(refused, language)}

    return give_document


def _describe_refusal(refused: ForelockError, language: Language) -> Json:
    """A refusal as a problem document; in another language `translated` has what it carries as codes.

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
    """A sentence that somebody is refused with in a language; as it is, where the catalogue has it not."""
    from service.words.refusals import refused_in

    return refused_in(english, language) or english


@as_document
def describe(name: str) -> Any:
    """One test in words with its schemas."""
    from service.stats.shared.declaring import descriptions, registry

    return descriptions.describe(registry.find(name))


@as_document
def run(name: str, request: Mapping[str, Any]) -> Any:
    """A registered test's answer."""
    from service.stats.shared.declaring import registry

    test = registry.find(name)
    return test.answer(_read(test.request, request))


@as_document
def score(request: Mapping[str, Any]) -> Any:
    """One arm's score."""
    from service.domain.score.request import ScoreRequest
    from service.domain.score.score import score as of_arm

    return of_arm(_read(ScoreRequest, request))


@as_document
def compare(request: Mapping[str, Any]) -> Any:
    """Two arms on the same items."""
    from service.domain.comparison.compare import compare as judge
    from service.domain.comparison.request import ComparisonRequest

    return judge(_read(ComparisonRequest, request))


@as_document
def resolve(request: Mapping[str, Any]) -> Any:
    """What a pilot resolves."""
    from service.domain.resolution.records import ResolutionRequest
    from service.domain.resolution.resolve import resolve as of_pilot

    return of_pilot(_read(ResolutionRequest, request))


@as_document
def audit(request: Mapping[str, Any]) -> Any:
    """What a published pair can show."""
    from service.domain.resolution.audit import audit as of_pair
    from service.domain.resolution.records import AuditRequest

    return of_pair(_read(AuditRequest, request))


def draw(svg: str, form: Literal["pdf", "png"]) -> bytes:
    """A picture on a page of its own size."""
    from service.reports.charts.on_page import set_on_page

    return set_on_page(svg, form)


def _read(model: Any, document: Mapping[str, Any]) -> Any:
    """The document as the request that a service would take it for, with the same faults."""
    from pydantic import TypeAdapter

    from service.api.parsing.models import validate

    return validate(TypeAdapter(model), json.dumps(document).encode())
