"""Plans as templates of others, and back: nothing is lost, nothing made up, and gaps keep their lines."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from service.api.examples.common import PLAN
from service.domain.plans.plan import Plan
from service.reports.prereg.labels import SECTIONS, plain
from service.reports.prereg.print import print_plan
from service.reports.templates.print import print_template
from service.reports.templates.questions import FRONT, QUESTIONS, TEMPLATES, TemplateName
from service.reports.templates.read import parse_document, read_template, template_of
from tests.drawing import draws
from tests.strategies import plans

MORE: dict[str, Any] = {
    "authors": [{"name": "Ada Lovelace", "orcid": "0000-0002-1825-0097"}],
    "arms": [{"id": "B", "model": {"name": "m"}, "system": "one\nThe plan does not say.\n## 3. Hypotheses"}],
    "results_due": "2027-03-31",
    "slices": {"field": "stratum"},
    "runs": {"required": True, "on_violation": "flag"},
}


def notes_of(text: str) -> list[str]:
    """Gaps of the reading, without lint's."""
    return [
        gap.code
        for gap in parse_document(text)[1]
        if gap.code in ("ASSUMED", "UNREAD", "INVALID", "INCOMPLETE")
    ]


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_section_of_a_plan_answers_one_question(name: TemplateName) -> None:
    answered = [section for question in QUESTIONS[name].questions for section in question.sections]
    assert sorted(answered) == sorted([FRONT, *SECTIONS])
    headings = [plain(question.heading) for question in QUESTIONS[name].questions]
    assert len(set(headings)) == len(headings) == {"osf": 24, "aspredicted": 11}[name]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("more", [{}, {name: value for name, value in MORE.items() if name != "slices"}])
def test_a_plan_goes_through_a_template_and_back(
    name: TemplateName, language: Any, more: dict[str, Any]
) -> None:
    plan = Plan.from_dict(PLAN | more)
    text = print_template(plan, name, language)
    assert parse_document(text)[0] == plan
    assert notes_of(text) == []


@given(plans())
@settings(deadline=None, max_examples=draws(25))
def test_random_plans_go_through_both(value: dict[str, Any]) -> None:
    plan = Plan.from_dict(value)
    for name in TEMPLATES:
        assert parse_document(print_template(plan, name))[0] == plan


def test_our_own_file_stays_as_it_is() -> None:
    text = print_plan(Plan.from_dict(PLAN))
    assert template_of(text) is None
    assert read_template(text) == text


@pytest.mark.parametrize("name", TEMPLATES)
def test_an_empty_plan_says_that_it_does_not_say(name: TemplateName) -> None:
    text = print_template(Plan(), name)
    asked = len(QUESTIONS[name].questions)
    assert text.count("The plan does not say.") >= asked - 1
    assert parse_document(text)[0] == Plan()
    assert notes_of(text) == []


def test_a_template_that_somebody_filled_is_read_where_it_says_something() -> None:
    text = "\n".join(
        [
            "# AsPredicted",
            "",
            "## 1) Data collection",
            "No, no data have been collected for this study yet.",
            "## 2) Hypothesis",
            "- **H1**: candidate `B` is better than baseline `A`",
            "## 9) Name",
            "Caching helps",
            "## 11) Authors",
            "- Ada Lovelace (Somewhere)",
        ]
    )
    plan, gaps = parse_document(text)
    assert plan.title == "Caching helps"
    assert [author.name for author in plan.authors or ()] == ["Ada Lovelace"]
    unread = {gap.line for gap in gaps if gap.code == "UNREAD"}
    assert {3, 4} <= unread
    assert 8 not in unread
