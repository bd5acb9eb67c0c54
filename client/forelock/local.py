"""Statistical tests without a service: where the server package is installed, its tests run in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from forelock.problem import FileFault, ForelockProblem
from forelock.server_package import offers

Json = dict[str, Any]
_GROUP = "forelock.local"


class Local:
    """Answers as a service would, computed here; its sentences in a language."""

    def __init__(self, language: str = "en") -> None:
        self.language = language
        # English is what a server of an earlier version speaks without being asked.
        self._spoken = {} if language == "en" else {"language": language}

    def tests(self) -> list[Json]:
        """Return the catalogue of statistical tests."""
        tests: list[Json] = self._answer("tests")["items"]
        return tests

    def describe(self, name: str) -> Json:
        """One test: its request schema, words and example."""
        return self._answer("describe", name)

    def run(self, name: str, request: Mapping[str, Any], *, timeout: float = 600.0) -> Json:  # noqa: ARG002
        """Run a statistical test on the caller's data."""
        return self._answer("run", name, request, **self._spoken)

    def score(self, request: Mapping[str, Any]) -> Json:
        """Score one arm without a plan."""
        return self._answer("score", request, **self._spoken)

    def compare(self, request: Mapping[str, Any]) -> Json:
        """Compare two arms without a plan."""
        return self._answer("compare", request, **self._spoken)

    def resolve(self, request: Mapping[str, Any]) -> Json:
        """Tell the smallest difference that data like a pilot's can show."""
        return self._answer("resolve", request, **self._spoken)

    def audit(self, request: Mapping[str, Any]) -> Json:
        """Tell what two published accuracies show of each other, and what data of that size could show."""
        return self._answer("audit", request, **self._spoken)

    def _answer(self, name: str, *arguments: Any, **options: str) -> Json:
        """Return what a function of the server package answers; its problem document is raised."""
        outcome = _functions()[name](*arguments, **options)
        if "problem" in outcome:
            raise _make_problem(outcome["problem"])
        answer: Json = outcome["answer"]
        return answer


def _make_problem(document: Json) -> ForelockProblem:
    """Return a refusal, with what it says in the language of whoever asked."""
    problem = ForelockProblem.from_document(document)
    translated = document.get("translated")
    problem.translated = None if translated is None else ForelockProblem.from_document(translated)
    return problem


def set_picture(svg: str, form: str, path: str) -> bytes:
    """Return a picture as PDF or PNG.

    Raises:
        FileFault: the server package, which sets it, is not installed here.
    """
    draw: Callable[..., bytes] | None = next(
        (entry.load() for entry in offers(_GROUP) if entry.name == "draw"), None
    )
    if draw is None:
        raise FileFault(
            f"{path}: is not written: {form.upper()} takes the server package; --svg needs nothing"
        )
    return draw(svg, form)


@cache
def _functions() -> dict[str, Callable[..., Json]]:
    return {entry.name: entry.load() for entry in offers(_GROUP)}


def answers_here(url: str | None, key_file: Path | None) -> bool:
    """Tell whether nobody named a service or a key, and the tests are installed beside the client."""
    service_given = url or key_file or os.environ.get("FORELOCK_URL") or os.environ.get("FORELOCK_API_KEY")
    return not service_given and bool(offers(_GROUP))
