"""Questions to uploaded result files: the files and options of the command line, and its answer as JSON."""

from __future__ import annotations

from typing import Annotated, Any

from anyio import to_thread
from fastapi import Path, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from service.api.calculators.command_line import make_file_names
from service.api.calculators.commands import (
    FLAGS,
    MOST_BYTES,
    MOST_LINES,
    MOST_TEXT,
    OPTIONS,
    REPEATED,
    make_command,
)
from service.api.examples import questions as examples
from service.api.http.answers.answers import shows
from service.api.http.answers.file_questions import answer_question
from service.api.http.requests.body import Content, RawBody
from service.api.http.requests.deps import Tester
from service.api.http.serving.route import make_router, refuses
from service.api.parsing.multipart import MEDIA_TYPE, MOST_PARTS, Form, NotMultipart, SentFile, read_multipart
from service.errors import InvalidData, MalformedBody

routes = make_router("tests")
FILE = "file"
"""The part that holds a file."""


def _say_options(schema: dict[str, Any]) -> None:
    """Add every option of every question to the form's schema."""
    for name in dict.fromkeys(option for names in OPTIONS.values() for option in names):
        having = ", ".join(question for question, names in OPTIONS.items() if name in names)
        kind: dict[str, Any] = {"type": "string", "maxLength": MOST_TEXT}
        if name in FLAGS:
            kind = {"type": "string", "enum": ["true", "false"]}
        elif name in REPEATED:
            kind = {"type": "array", "items": kind, "maxItems": MOST_LINES}
        schema["properties"][name] = {**kind, "description": f"As `--{name}` of {having}."}


class QuestionForm(BaseModel):
    """Files of a harness, or tables, and options by the names of the command line."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=_say_options)

    file: list[bytes] = Field(
        description="A part for each file, the baseline's first; one file may hold all systems.", min_length=1
    )


class QuestionAnswered(BaseModel):
    """The members of every question's answer; those of the question itself stand beside them."""

    model_config = ConfigDict(extra="allow")

    question: str
    headline: str = Field(description="The outcome and its number with its interval, in a line.")
    open: str = Field(description="What was not shown; empty: nothing is left to say.")
    sentence: str = Field(description="The outcome with all that goes with it, in words.")
    answer: dict[str, Any] = Field(
        description="`outcome`, `estimate`, `low`, `high`, `unit`, `n` and the like."
    )
    cautions: list[dict[str, Any]] = Field(description="`code` and `message` of each.")
    next: str
    provenance: dict[str, Any] = Field(description="The files with their SHA-256, and how they were read.")


@routes.post(
    "/questions/{question}", response_model=QuestionAnswered, responses=shows(examples.ANSWER) | refuses(503)
)
async def ask_question(
    request: Request,
    caller: Tester,  # noqa: ARG001 - it has to be one
    content: Annotated[
        Content, RawBody({MEDIA_TYPE: QuestionForm}, example=examples.FORM, max_bytes=MOST_BYTES)
    ],
    question: Annotated[str, Path(json_schema_extra={"enum": list(OPTIONS)})],
) -> Response:
    """Ask a question of uploaded result files.

    The answer is that of `forelock QUESTION --json` with the same files and options, computed here. Nothing is stored.
    """
    form = await to_thread.run_sync(_parse_form, content, request.headers["content-type"])
    files = form.list_sent(FILE)
    names = make_file_names([file.name for file in files])
    arguments = make_command(question, names, form.fields)
    answer = await answer_question(request, arguments, names, files)
    return Response(answer.text, 200, media_type="application/json")


def _parse_form(content: Content, content_type: str) -> Form:
    """Parse the body as a form; what is sent under the name of files is a file, with a name or without.

    Raises:
        MalformedBody: the body is no such form.
        InvalidData: a file is sent under another name.
    """
    try:
        form = read_multipart(content.body, content_type)
    except NotMultipart:
        raise MalformedBody(
            f"this is no {MEDIA_TYPE} of at most {MOST_PARTS} parts (RFC 7578): send files as 'file', options by name"
        ) from None
    others = sorted(form.files.keys() - {FILE})
    if others:
        raise InvalidData.field(others[0][:64], "is a file", f"send files in parts named '{FILE}'")
    plain = [SentFile("", value.encode()) for value in form.fields.get(FILE, ())]
    options = {name: values for name, values in form.fields.items() if name != FILE}
    return Form(options, {FILE: [*form.list_sent(FILE), *plain]})
