"""A filled template as EXPERIMENTS_PREREG.md: questions become our sections in place, so that gaps keep their lines."""

from __future__ import annotations

import re

from service.domain.plans.plan import Plan
from service.reports.prereg.gaps import Gap
from service.reports.prereg.labels import SECTIONS, TITLE, plain
from service.reports.prereg.markdown import parse_plan
from service.reports.templates.questions import FRONT, QUESTIONS, Question, TemplateName
from service.words import LANGUAGES, say

_HEADING = re.compile(r"^ {0,3}(#{1,6})\s+(.*)$")
_NUMBER = re.compile(r"^\(?\d{1,2}[.):]\s*")
_LABEL = re.compile(r"^\s*(?:[-*+]\s|`|#)|^[^:：]{1,60}[:：]")
_UNANSWERED = {plain(say("prereg.unanswered", language)) for language in LANGUAGES}


def parse_document(text: str) -> tuple[Plan, tuple[Gap, ...]]:
    """Return the draft that EXPERIMENTS_PREREG.md or a filled template describes, and its gaps."""
    return parse_plan(read_template(text))


def template_of(text: str) -> TemplateName | None:
    """Return the template that a file fills, by its first heading; None: it is none."""
    for line in text.split("\n"):
        heading = _HEADING.match(line)
        if heading is not None:
            title = plain(_heading_text(heading))
            return next((name for name, form in QUESTIONS.items() if plain(form.title) == title), None)
    return None


def read_template(text: str) -> str:
    """Return the file with our headings in the place of the questions; any other file as it is.

    The first line below the question of the title is the title. Questions that no plan answers keep their headings
    where something stands below them: the reader of plans lists it.
    """
    name = template_of(text)
    if name is None:
        return text
    questions = {plain(question.heading): question for question in QUESTIONS[name].questions}
    lines = text.replace("\r\n", "\n").split("\n")
    places = [(at, question) for at, line in enumerate(lines) if (question := _question(line, questions))]
    first = next(at for at, line in enumerate(lines) if _HEADING.match(line))
    lines[first] = ""
    for (at, question), end in zip(places, [at for at, _ in places[1:]] + [len(lines)], strict=True):
        _translate(lines, at, end, question)
    return "\n".join(lines)


def _question(line: str, questions: dict[str, Question]) -> Question | None:
    heading = _HEADING.match(line)
    # sub-headings are ours: only the questions themselves stand on the second level
    if heading is None or len(heading[1]) != 2:
        return None
    return questions.get(plain(_NUMBER.sub("", _heading_text(heading))))


def _heading_text(heading: re.Match[str]) -> str:
    """Return what a heading says, without the marks that may close it."""
    return heading[2].rstrip().rstrip("#").rstrip()


def _translate(lines: list[str], at: int, end: int, question: Question) -> None:
    """One question's lines, in place."""
    answer_lines = [place for place in range(at + 1, end) if lines[place].strip()]
    if len(answer_lines) == 1 and plain(lines[answer_lines[0]]) in _UNANSWERED:
        lines[answer_lines.pop()] = ""
    if not answer_lines:
        lines[at] = ""
    elif question.sections[:1] == (FRONT,):
        lines[at] = f"# {TITLE.of('en')}"
        if not _LABEL.match(lines[answer_lines[0]]):
            lines[at], lines[answer_lines[0]] = f"# {lines[answer_lines[0]].strip()}", ""
    elif question.sections:
        ours = SECTIONS[question.sections[0]].of("en")
        lines[at] = "" if _HEADING.match(lines[answer_lines[0]]) else f"## {ours}"
