"""Questions to result files: drop them on a page, and read the answer that the command line gives."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from markupsafe import Markup, escape
from starlette.responses import Response

from service.api.calculators.command_line import QuestionAnswer, make_file_names
from service.api.calculators.commands import MOST_BYTES, make_command
from service.api.http.answers.file_questions import answer_question
from service.api.parsing.multipart import Form
from service.domain.access import Key
from service.errors import ForelockError, InvalidData, Unavailable
from service.reports.figures import say_points
from service.web.html.forms import reads_form
from service.web.html.pictures import Drawn
from service.web.html.rendering import PageRoute, drawn_here, html, refusal
from service.web.html.speech import Say, language_of
from service.web.visitors.sign_in import Tester
from service.words import Language, message

PATH = "/questions"
QUESTIONS = {
    "score": "pages.question_score",
    "gate": "pages.question_gate",
    "rank": "pages.question_rank",
    "noise": "pages.question_noise",
    "items": "pages.question_items",
    "resolve": "pages.question_resolve",
}
"""By question its words."""
FIRST = "score"
LABELS = {
    "cluster": "pages.what_items_share",
    "margin": "pages.accepted_loss",
    "at-least": "pages.enough",
    "slice": "pages.slices",
    "suite": "pages.suite_of_tasks",
    "metric": "pages.measure",
    "arms": "pages.systems_by_name",
    "range": "pages.range_of_scores",
    "set": "pages.lines_of_the_import_section",
}
"""By field of the form, which is called as the option of the command line is, its label."""
OPTIONS = ("margin", "at-least", "cluster", "slice", "suite", "metric", "range")
_OPTION = re.compile(
    r"<code>--(?P<coded>[a-z-]+)(?:[ =](?P<value>[^<]*))?</code>|<code>[^<]*</code>|--(?P<bare>[a-z-]+)"
)
"""An option in what is refused, as code with the value behind it, or bare; in other code it stays."""

MOST_ROWS = 12
"""Rows of one name that a table shows, such as slices; the others are folded below it."""

routes = APIRouter(route_class=PageRoute, include_in_schema=False)


@routes.get(PATH)
def empty(request: Request, visitor: Tester) -> Response:
    """Show the form of a question."""
    return _page(request, visitor, Form({}))


@routes.post(PATH)
async def post_question(
    request: Request, visitor: Tester, form: Annotated[Form, Depends(reads_form(MOST_BYTES))]
) -> Response:
    """The answer to a question, and the command that gives it again."""
    files = [*form.list_sent("first"), *form.list_sent("second")]
    names = make_file_names([file.name for file in files])
    try:
        arguments = _arguments(form, names, language_of(request))
        answer = await answer_question(request, arguments, names, files)
    except Unavailable as error:
        return _page(request, visitor, form, error=error)
    except ForelockError as error:
        if error.status not in (400, 413, 422):
            return refusal(request, error)
        return _page(request, visitor, form, error=error)
    return _page(request, visitor, form, answer=answer, command=shlex.join(["forelock", *arguments]))


def _arguments(form: Form, names: list[str], language: Language) -> list[str]:
    """What the command line would be given.

    Raises:
        InvalidData: there is no such question, no file, or an option that it does not have.
    """
    question = form.one("question", FIRST)
    if question not in QUESTIONS:
        raise InvalidData(message("refusals.questions", names=", ".join(QUESTIONS)))
    options = {name: [form.one(name)] for name in OPTIONS} | {
        "arm" if question == "score" else "arms": [form.one("arms")],
        "set": [line.strip() for line in form.one("set").splitlines() if line.strip()],
        "lower": ["true" if form.one("better") == "lower" else ""],
    }
    options |= {"lang": ["" if language == "en" else language]}
    for name, value in _further(form.one("more")):
        options[name] = [*(known for known in options.get(name, ()) if known), value]
    return make_command(question, names, options)


def _further(text: str) -> Iterator[tuple[str, str]]:
    """Options as the command line has them, such as `--missing fail --common`, by their names.

    Raises:
        InvalidData: a word that belongs to no option, or an open quote.
    """
    try:
        words = shlex.split(text)
    except ValueError:
        raise InvalidData.field(
            "more", message("refusals.open_quote"), message("refusals.close_quote")
        ) from None
    at = 0
    while at < len(words):
        name, equals, value = words[at].partition("=")
        if not name.startswith("--") or name == "--":
            fault = message("refusals.belongs_to_no_option", word=words[at][:64])
            raise InvalidData.field("more", fault, message("refusals.options_such_as"))
        at += 1
        if not equals and at < len(words) and not words[at].startswith("--"):
            value, at = words[at], at + 1
        elif not equals:
            name, value = ("--lower", "false") if name == "--no-lower" else (name, "true")
        yield name.removeprefix("--"), value


@dataclass(frozen=True, slots=True)
class Shelf:
    """Rows of numbers that stand together, open or folded."""

    rows: Sequence[tuple[str, str]]
    folded: str = ""
    """What all of its rows are called, where they are folded; else empty."""


def make_shelves(rows: Sequence[tuple[str, str]]) -> list[Shelf]:
    """Rows in their order, and of many of one name behind one another all but the first folded.

    Example:
        Of 2 rows and 100 slices the first shelf has 14 rows, and the second, which is folded, 88.
    """
    shelves: list[Shelf] = []
    shown: list[tuple[str, str]] = []
    for name, group in itertools.groupby(rows, key=lambda row: row[0]):
        alike = list(group)
        shown += alike[:MOST_ROWS]
        if len(alike) > MOST_ROWS:
            shelves += [Shelf(shown), Shelf(alike[MOST_ROWS:], folded=name)]
            shown = []
    return [*shelves, Shelf(shown)] if shown else shelves


def name_fields(refused: str, say: Say) -> Markup:
    """A refusal in which options of the command line are called as the fields of the form are, with links to them.

    Example:
        "leave --cluster out" says "leave What items share out"; an option that has no field stays.
    """

    def named(match: re.Match[str]) -> str:
        option = match["coded"] or match["bare"] or ""
        name = "arms" if option == "arm" else option
        if name not in LABELS:
            return match[0]
        value = Markup(" <code>{}</code>").format(Markup(match["value"])) if match["value"] else ""  # noqa: S704
        return f'<a href="#{name}">{escape(say(LABELS[name]))}</a>{value}'

    return Markup(_OPTION.sub(named, refused))  # noqa: S704 - the refusal is escaped already


def _picture(answer: QuestionAnswer | None, language: Language) -> Drawn | None:
    if answer is None or answer.svg is None or answer.narrow is None:
        return None
    wide, narrow = (say_points(svg, language).encode() for svg in (answer.svg, answer.narrow))
    return Drawn(drawn_here(wide), drawn_here(narrow))


def _page(
    request: Request,
    visitor: Key,
    form: Form,
    *,
    answer: QuestionAnswer | None = None,
    command: str = "",
    error: ForelockError | None = None,
) -> Response:
    """Render the page of questions to files: its form, and an answer with its command, or a refusal, below."""
    return html(
        request,
        "questions.html",
        200 if error is None else error.status,
        visitor=visitor,
        form=form,
        questions=QUESTIONS,
        asked=form.one("question", FIRST),
        answer=answer,
        picture=_picture(answer, language_of(request)),
        shelves=make_shelves,
        in_points=lambda value: say_points(value, language_of(request)),
        command=command,
        labels=LABELS,
        name_fields=partial(name_fields, say=Say(language_of(request))),
        error=error,
    )
