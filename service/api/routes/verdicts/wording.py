"""Lint of an author's text: words that say more than was shown."""

from __future__ import annotations

from typing import Annotated

from fastapi import Response
from pydantic import Field, JsonValue

from service.actions.verdicts import wording as actions
from service.api.http.answers.answers import View, answer, shows
from service.api.http.requests.body import StrictBody
from service.api.http.requests.deps import ReadSession, Tester, require_scope
from service.api.http.serving.route import make_router, refuses
from service.domain.wording.wording import MAX_FINDINGS, WordingFinding, lint_wording
from service.records import StrictRecord
from service.store.plans import preregistrations

routes = make_router("evidence")
MAX_TEXT = 200_000


class WordingRequest(StrictRecord):
    """A text, and what its claims rest on."""

    text: str = Field(max_length=MAX_TEXT, description="Plain text or Markdown, in English or Chinese.")
    preregistration_id: str | None = Field(
        None,
        max_length=64,
        description="A record whose plan and verdict the text speaks of; needs scope `read`.",
    )
    analyses: list[dict[str, JsonValue]] = Field(
        default=[], max_length=200, description="Answers of `POST /v1/tests/...` that the text speaks of."
    )


class WordingReport(View):
    """What was found, in the order of the text."""

    findings: list[WordingFinding] = Field(description=f"At most {MAX_FINDINGS}.")


EXAMPLE = {"text": "C4 and C3 are statistically equivalent (p = 0.55)."}
ANSWER = {
    "findings": [
        {
            "code": "EQUIVALENCE_WITHOUT_TEST",
            "start": 10,
            "end": 38,
            "line": 1,
            "phrase": "are statistically equivalent",
            "why": "equivalence is a finding of its own: it needs an equivalence test against a margin set beforehand, "
            "and holds for that margin only",
            "better": "The 90 % interval of the difference, -1.2 to +1.5 pp, lies inside the preregistered margin of "
            "±2 pp: differences beyond ±2 pp are rejected at alpha = 0.05.",
        }
    ]
}


@routes.post("/wording", response_model=WordingReport, responses=shows(ANSWER) | refuses(404))
def lint_text(
    caller: Tester,
    session: ReadSession,
    body: Annotated[WordingRequest, StrictBody(WordingRequest, example=EXAMPLE)],
) -> Response:
    """Lint a text.

    Finds claims that go beyond their statistics, such as "equivalent" without an equivalence test, and says what to
    write instead. With a record or analyses, what they show is no finding. The text is not stored.
    """
    record = None
    if body.preregistration_id is not None:
        require_scope(caller, "read")
        record = preregistrations.get(session, caller.project_id, body.preregistration_id)
    findings = lint_wording(body.text, actions.read_support(session, record, body.analyses))
    return answer(WordingReport(findings=list(findings)))
