"""What the `forelock` command does in its own process, without a service: the same tests and the same answers.

Everything is imported where it is used: a command pays for what it asks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
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


def describe(name: str) -> Json:
    """One test in words with its schemas, or a problem document."""

    def answered() -> Any:
        from service.stats.shared.declaring import descriptions, registry

        return descriptions.describe(registry.find(name))

    return _answer(answered)


def run(name: str, request: Mapping[str, Any], language: Language = "en") -> Json:
    """A registered test's answer, or its problem document."""

    def answered() -> Any:
        from service.stats.shared.declaring import registry

        test = registry.find(name)
        return test.answer(_read(test.request, request))

    return _answer(answered, language)


def score(request: Mapping[str, Any], language: Language = "en") -> Json:
    """One arm's score, or a problem document."""

    def answered() -> Any:
        from service.domain.score.request import ScoreRequest
        from service.domain.score.score import score as of_arm

        return of_arm(_read(ScoreRequest, request))

    return _answer(answered, language)


def compare(request: Mapping[str, Any], language: Language = "en") -> Json:
    """Two arms on the same items, or a problem document."""

    def answered() -> Any:
        from service.domain.comparison.compare import compare as judge
        from service.domain.comparison.request import ComparisonRequest

        return judge(_read(ComparisonRequest, request))

    return _answer(answered, language)


def resolve(request: Mapping[str, Any], language: Language = "en") -> Json:
    """What a pilot resolves, or a problem document."""

    def answered() -> Any:
        from service.domain.resolution.records import ResolutionRequest
        from service.domain.resolution.resolve import resolve as of_pilot

        return of_pilot(_read(ResolutionRequest, request))

    return _answer(answered, language)


def audit(request: Mapping[str, Any], language: Language = "en") -> Json:
    """What a published pair can show, or a problem document."""

    def answered() -> Any:
        from service.domain.resolution.audit import audit as of_pair
        from service.domain.resolution.records import AuditRequest

        return of_pair(_read(AuditRequest, request))

    return _answer(answered, language)


def draw(svg: str, form: Literal["pdf", "png"]) -> bytes:
    """A picture on a page of its own size."""
    from service.reports.charts.on_page import set_on_page

    return set_on_page(svg, form)


def _answer(compute: Callable[[], Any], language: Language = "en") -> Json:
    from service.offline.lean import put_off
    from service.words import speaking

    put_off()
    try:
        with speaking(language):
            answer: Json = compute().model_dump(mode="json")
    except ForelockError as refused:
        return {"problem": refused.document()}
    return {"answer": answer}


def _read(model: Any, document: Mapping[str, Any]) -> Any:
    """The document as the request that a service would take it for, with the same faults."""
    from pydantic import TypeAdapter

    from service.api.parsing.models import validate

    return validate(TypeAdapter(model), json.dumps(document).encode())
