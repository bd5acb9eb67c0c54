"""A plan as the template of somebody else: the questions are headings, the plan's sections the answers."""

from __future__ import annotations

from collections.abc import Iterator

from service.domain.plans.plan import Plan
from service.reports.prereg.labels import SECTIONS
from service.reports.prereg.print import front_of, rest_of, section_of_plan
from service.reports.templates.questions import FRONT, QUESTIONS, Question, TemplateName
from service.words import Language, say


def print_template(plan: Plan, name: TemplateName, language: Language = "en") -> str:
    """Return the template filled from the plan. `read_template` and the reader of plans give back the same plan.

    What a plan does not answer says so, and nothing is made up for it.
    """
    template = QUESTIONS[name]
    parts = [f"# {template.title}", say("prereg.note", language)]
    for number, question in enumerate(template.questions, start=1):
        parts.append(f"## {number}. {question.heading}")
        parts += list(_print_answer(plan, question, language)) or [say("prereg.unanswered", language)]
    return "\n\n".join(parts) + "\n"


def _print_answer(plan: Plan, question: Question, language: Language) -> Iterator[str]:
    """Yield the sections of the plan that answer a template's question, each under its heading."""
    for section in question.sections:
        if section == FRONT:
            yield from front_of(plan, language)
            yield from rest_of(plan)
            continue
        body = section_of_plan(plan, section, language)
        if body is not None:
            yield f"### {SECTIONS[section].of(language)}"
            yield body
