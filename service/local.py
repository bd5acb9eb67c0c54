"""What the `forelock` command does in its own process, without a service: the same tests and the same answers.

Everything is imported where it is used: a command pays for what it asks.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from service.errors import ForelockError

Json = dict[str, Any]
UNUSED = ("f2py", "testing", "ctypeslib")
"""Parts of numpy that scipy.special names and never uses: its import asks numpy for all there is."""


def tests() -> Json:
    """The catalogue of tests, a list in `items`."""
    _load_special()
    from service.stats.shared import descriptions, registry

    lines = [descriptions.summary(test) for test in registry.latest().values()]
    return {"answer": {"items": [line.model_dump(mode="json") for line in lines]}}


def describe(name: str) -> Json:
    """One test in words with its schemas, or a problem document."""

    def answered() -> Any:
        from service.stats.shared import descriptions, registry

        return descriptions.describe(registry.find(name))

    return _told(answered)


def run(name: str, request: Mapping[str, Any]) -> Json:
    """A registered test's answer, or its problem document."""

    def answered() -> Any:
        from service.stats.shared import registry

        test = registry.find(name)
        return test.answer(_read(test.request, request))

    return _told(answered)


def score(request: Mapping[str, Any]) -> Json:
    """One arm's score, or a problem document."""

    def answered() -> Any:
        from service.domain.score.request import ScoreRequest
        from service.domain.score.score import score as of_arm

        return of_arm(_read(ScoreRequest, request))

    return _told(answered)


def compare(request: Mapping[str, Any]) -> Json:
    """Two arms on the same items, or a problem document."""

    def answered() -> Any:
        from service.domain.comparison.compare import compare as judge
        from service.domain.comparison.request import ComparisonRequest

        return judge(_read(ComparisonRequest, request))

    return _told(answered)


def resolve(request: Mapping[str, Any]) -> Json:
    """What a pilot resolves, or a problem document."""

    def answered() -> Any:
        from service.domain.resolution.records import ResolutionRequest
        from service.domain.resolution.resolve import resolve as of_pilot

        return of_pilot(_read(ResolutionRequest, request))

    return _told(answered)


def audit(request: Mapping[str, Any]) -> Json:
    """What a published pair can show, or a problem document."""

    def answered() -> Any:
        from service.domain.resolution.audit import audit as of_pair
        from service.domain.resolution.records import AuditRequest

        return of_pair(_read(AuditRequest, request))

    return _told(answered)


class _Text:
    """A docstring as it is, where scipy would take ninety of them apart to add a note to each."""

    def __init__(self, function: Any) -> None:
        self._text = function.__doc__ or ""

    def __getitem__(self, section: str) -> list[str]:
        return []

    def __str__(self) -> str:
        return f"\n{self._text}"  # the first line is the signature, and is dropped


def _load_special() -> None:
    """Import scipy.special without them, which takes a third off the first answer; numpy loads them when asked."""
    if "scipy.special" in sys.modules:
        return
    import numpy as np

    own = vars(np)
    put = [name for name in UNUSED if name not in own]
    own.update(dict.fromkeys(put))
    try:
        try:
            interfaces = vars(import_module("scipy._lib._array_api"))
        except ImportError:  # a scipy that has it elsewhere: the answer comes a little later
            interfaces = {}
        reader = interfaces.get("FunctionDoc")
        if reader is not None:
            interfaces["FunctionDoc"] = _Text
        try:
            import scipy.special  # noqa: F401
        finally:
            if reader is not None:
                interfaces["FunctionDoc"] = reader
    finally:
        for name in put:
            del own[name]


def _told(compute: Callable[[], Any]) -> Json:
    try:
        _load_special()
        found: Json = compute().model_dump(mode="json")
    except ForelockError as refused:
        return {"problem": refused.document()}
    return {"answer": found}


def _read(model: Any, document: Mapping[str, Any]) -> Any:
    """The document as the request that a service would take it for, with the same faults."""
    from pydantic import TypeAdapter

    from service.api.parsing.models import validate

    return validate(TypeAdapter(model), json.dumps(document).encode())
