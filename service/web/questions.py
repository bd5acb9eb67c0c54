"""Questions to result files: drop them on a page, and read the answer that the command line gives."""

from __future__ import annotations

import shlex
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from service.api.calculators.pool import CalculatorLost
from service.api.calculators.questions import SECONDS, Answered, ask, file_names
from service.api.http.shared import services
from service.domain.access import Key
from service.errors import ForelockError, InvalidData, Unavailable
from service.web.forms import Form, Sent, reads_form
from service.web.rendering import PageRoute, drawn_here, html, refusal
from service.web.signing import Tester

PATH = "/questions"
MOST_BYTES = 32 * 1024 * 1024
"""Of all files together; larger ones are for the command line, which sends none."""
QUESTIONS = {
    "score": "pages.question_score",
    "gate": "pages.question_gate",
    "rank": "pages.question_rank",
    "noise": "pages.question_noise",
}
"""By question its words."""
FIRST = "score"
ARMS = {"score": "--arm", "gate": "--arms", "noise": "--arms"}
"""The option that names systems."""
OPTIONS = ("margin", "at-least", "cluster", "slice", "metric", "range")
MOST_TEXT = 200
MOST_LINES = 20

routes = APIRouter(route_class=PageRoute, include_in_schema=False)


@routes.get(PATH)
def empty(request: Request, visitor: Tester) -> Response:
    """The form."""
    return _page(request, visitor, Form({}))


@routes.post(PATH)
async def answered(
    request: Request, visitor: Tester, form: Annotated[Form, Depends(reads_form(MOST_BYTES))]
) -> Response:
    """The answer to a question, and the command that gives it again."""
    files = [*form.sent("first"), *form.sent("second")]
    names = file_names([file.name for file in files])
    try:
        arguments = _arguments(form, files, names)
        answer = await services(request).calculators.run(
            request,
            ask,
            arguments,
            names,
            [len(file.content) for file in files],
            str(services(request).settings.data_dir / "scratch"),
            body=[file.content for file in files],
            seconds=SECONDS,
        )
    except CalculatorLost:
        return _page(
            request, visitor, form, error=Unavailable("it takes too long here: ask the command line")
        )
    except ForelockError as error:
        if error.status not in (400, 413, 422):
            return refusal(request, error)
        return _page(request, visitor, form, error=error)
    return _page(request, visitor, form, answer=answer, command=shlex.join(["forelock", *arguments]))


def _arguments(form: Form, files: list[Sent], names: list[str]) -> list[str]:
    """What the command line would be given.

    Raises:
        InvalidData: there is no such question, no file, or an option that is longer than any.
    """
    question = form.one("question", FIRST)
    if question not in QUESTIONS:
        raise InvalidData(f"question: there are {', '.join(QUESTIONS)}")
    if not files:
        raise InvalidData("choose a file, or drop one on the field")
    options = {f"--{name}": form.one(name) for name in OPTIONS} | {
        ARMS.get(question, "--arms"): form.one("arms")
    }
    fields = [line.strip() for line in form.one("set").splitlines() if line.strip()]
    if max(map(len, [*options.values(), *fields])) > MOST_TEXT or len(fields) > MOST_LINES:
        raise InvalidData(
            f"an option has at most {MOST_TEXT} characters, and there are at most {MOST_LINES} lines"
        )
    arguments = [question, *names]
    arguments += [f"{option}={value}" for option, value in options.items() if value]
    arguments += [f"--set={line}" for line in fields]
    return [*arguments, "--lower"] if form.one("better") == "lower" else arguments


def _page(
    request: Request,
    visitor: Key,
    form: Form,
    *,
    answer: Answered | None = None,
    command: str = "",
    error: ForelockError | None = None,
) -> Response:
    return html(
        request,
        "questions.html",
        200 if error is None else error.status,
        visitor=visitor,
        form=form,
        questions=QUESTIONS,
        asked=form.one("question", FIRST),
        answer=answer,
        picture=None if answer is None or answer.svg is None else drawn_here(answer.svg.encode()),
        command=command,
        error=error,
    )
