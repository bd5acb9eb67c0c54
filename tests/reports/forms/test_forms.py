"""Checklists: every item names facts that there are, every fact fields that there are, and nothing is invented."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from service.domain.evidence.record import EvidenceCard
from service.domain.outgoing import Link
from service.domain.plans.plan import Plan
from service.domain.plans.preregistration import Preregistration
from service.reports.forms.checklist import FACTS, Answered, Checklist, fill
from service.reports.forms.html import print_html
from service.reports.forms.known import Known
from service.reports.forms.markdown import print_checklist
from service.reports.forms.standards import STANDARDS, Item, StandardName, standard
from service.reports.verdict.content import Report
from tests.api.examples_made import files
from tests.drawing import one_in
from tests.journeys.plans import small_plan

ROOTS: dict[str, type[BaseModel]] = {
    "plan": Plan,
    "record": Preregistration,
    "card": EvidenceCard,
    "report": Report,
    "links": Link,
}
COUNTS = {"gpai": 20, "neurips": 11, "nist": 15, "reforms": 32}


def every_item() -> Iterator[tuple[str, Item]]:
    for name in STANDARDS:
        for section in standard(name).sections:
            yield from ((name, item) for item in section.items)


def models_of(annotation: Any) -> Iterator[type[BaseModel]]:
    """The records that a field may hold, whatever is around them."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from models_of(inner)


def has_field(root: type[BaseModel], names: list[str]) -> bool:
    fields = {field.alias or name: field for name, field in root.model_fields.items()}
    if names[0] not in fields:
        return False
    inner = tuple(models_of(fields[names[0]].annotation))
    return len(names) == 1 or any(has_field(model, names[1:]) for model in inner)


@pytest.mark.parametrize("name", FACTS)
def test_every_fact_names_fields_that_there_are(name: str) -> None:
    assert FACTS[name].fields
    for field in FACTS[name].fields:
        root, *names = field.split(".")
        assert names, field
        assert has_field(ROOTS[root], names), field


@pytest.mark.parametrize("name", STANDARDS)
def test_every_standard_is_cited_and_its_items_are_numbered_once(name: StandardName) -> None:
    form = standard(name)
    ids = [item.id for section in form.sections for item in section.items]
    assert len(ids) == len(set(ids)) == COUNTS[name]
    assert form.url.startswith("https://")
    assert form.version
    assert form.scope.en
    assert form.scope.zh


def test_every_item_names_facts_that_there_are_or_says_what_no_record_holds() -> None:
    for name, item in every_item():
        assert set(item.facts) <= set(FACTS), (name, item.id)
        assert len(set(item.facts)) == len(item.facts)
        assert item.facts or item.rest, (name, item.id)
        assert item.says.en
        assert item.says.zh
        assert item.rest is None or (item.rest.en and item.rest.zh)


def test_every_fact_is_asked_for() -> None:
    assert {fact for _name, item in every_item() for fact in item.facts} == set(FACTS) - {"title", "power"}


def test_reforms_has_the_items_of_its_eight_modules() -> None:
    ids = [item.id for name, item in every_item() if name == "reforms"]
    counts = {"1": 3, "2": 5, "3": 7, "4": 3, "5": 6, "6": 3, "7": 3, "8": 2}
    assert ids == [f"{module}{'abcdefg'[at]}" for module, n in counts.items() for at in range(n)]


def known(plan: dict[str, Any], *, judged: bool = False) -> Known:
    """A record of this plan; judged ones have the report of the examples."""
    made = files()
    card = EvidenceCard.model_validate_json(made["evidence_card.json"], strict=False)
    record = Preregistration(
        id="r",
        project_id="p",
        state="judged" if judged else "draft",
        revision=1,
        version=1,
        plan=Plan.from_dict(plan),
        created_at=datetime(2027, 1, 1, tzinfo=UTC),
    )
    report = Report.model_validate_json(made["report.json"], strict=False) if judged else None
    return Known(record=record, card=card, report=report, links=())


def items_of(checklist: Checklist) -> dict[str, Answered]:
    return {item.id: item for section in checklist.sections for item in section.items}


@pytest.mark.parametrize("name", STANDARDS)
def test_an_empty_plan_answers_nothing_of_its_own(name: StandardName) -> None:
    checklist = fill(name, known({}))
    said = {
        fact.fact
        for section in checklist.sections
        for item in section.items
        for fact in item.facts
        if fact.says
    }
    assert said <= {"limits"}
    assert checklist.in_record == 0
    assert checklist.in_record + checklist.partly + checklist.not_in_record == COUNTS[name]


@pytest.mark.parametrize("name", STANDARDS)
def test_what_is_said_is_the_record_s_own(name: StandardName) -> None:
    plan = small_plan(6) | {
        "authors": [{"name": "Ada Lovelace"}],
        "arms": [{"id": "B", "model": {"name": "m-7", "revision": "r-9"}, "decoding": {"temperature": 0.25}}],
    }
    checklist = fill(name, known(plan, judged=True))
    text = print_checklist(checklist)
    items = items_of(checklist)
    if name == "nist":
        assert items["2.1, inference"].standing == "in_record"
        assert "model.name m-7, model.revision r-9" in text.replace("\\", "")
        assert items["2.1, scaffolding"].standing == "not_in_record"
        assert "Not in the record: Tools (`plan.arms.tools`)" in text
        assert items["3.3"].standing == "in_record"
    if name == "gpai":
        assert items["(f)"].standing == "not_in_record"
        assert items["3.4, team"].standing == "partly"
    if name == "neurips":
        assert items["7"].standing == "in_record"
    if name == "reforms":
        assert items["1b"].standing == "not_in_record"


def test_before_the_verdict_results_are_gaps() -> None:
    for name in STANDARDS:
        for item in items_of(fill(name, known(small_plan(6)))).values():
            for fact in item.facts:
                if fact.fields[0].startswith("report."):
                    assert fact.says == (), (name, item.id, fact.fact)


@pytest.mark.parametrize("language", one_in(3, ["en", "zh"]))
@pytest.mark.parametrize("name", STANDARDS)
def test_hostile_text_stays_text(name: StandardName, language: Any) -> None:
    evil = "<script>alert(1)</script> | [x](http://e) \\ `a` **b**"
    plan = small_plan(6) | {"title": evil, "authors": [{"name": evil}]}
    plan["hypotheses"][0]["statement"] = evil
    checklist = fill(name, known(plan, judged=True))
    html, text = print_html(checklist, language), print_checklist(checklist, language)
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "<script>" not in text.replace(r"\<", "")
    assert ("记录中没有" in text) is (language == "zh")
