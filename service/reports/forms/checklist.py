"""A standard's checklist, filled from a record: what answers each item, and what is not in the record."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from pydantic import Field

from service.domain.notes.said import Words
from service.domain.plans.preregistration import State
from service.records import Record
from service.reports.forms.facts_of_plan import OF_PLAN
from service.reports.forms.facts_of_verdict import OF_VERDICT
from service.reports.forms.known import Fact, Known, put_into_words
from service.reports.forms.standards import Item, StandardName, standard

FACTS: Mapping[str, Fact] = MappingProxyType({**OF_PLAN, **OF_VERDICT})
Standing = Literal["in_record", "partly", "not_in_record"]


class FactLine(Record):
    """A fact that answers an item, as the record says it."""

    fact: str
    label: Words
    fields: tuple[str, ...] = Field(description="The fields that hold it.")
    says: tuple[Words, ...] = Field(description="The record's own words and numbers; none: they are empty.")


class Answered(Record):
    """One item of a checklist."""

    id: str = Field(description="Its number in the standard.")
    item: Words = Field(description="What it asks for.")
    standing: Standing
    facts: tuple[FactLine, ...]
    rest: Words | None = Field(description="What it asks for and no field of a record holds; null: nothing.")


class AnsweredSection(Record):
    """Items of a checklist under one heading, each with what a record answers to it."""

    title: Words
    items: tuple[Answered, ...]


class Checklist(Record):
    """The checklist of a reporting standard, filled from a record."""

    form: StandardName
    standard: str
    version: str = Field(description="Of the standard.")
    url: str
    scope: Words
    preregistration_id: str
    title: str
    authors: tuple[str, ...]
    state: State
    plan_sha256: str | None
    in_record: int = Field(description="Items that the record answers.")
    partly: int
    not_in_record: int
    sections: tuple[AnsweredSection, ...]
    limits: Words


def fill(name: StandardName, known: Known) -> Checklist:
    """Fill a checklist. What the record does not know stays a gap."""
    form = standard(name)
    answers = {fact: tuple(FACTS[fact].read(known)) for fact in FACTS}
    sections = tuple(
        AnsweredSection(title=section.title, items=tuple(_answer(item, answers) for item in section.items))
        for section in form.sections
    )
    standings = [item.standing for section in sections for item in section.items]
    return Checklist(
        form=name,
        standard=form.title,
        version=form.version,
        url=form.url,
        scope=form.scope,
        preregistration_id=known.record.id,
        title=known.plan.title or "",
        authors=tuple(author.text() for author in known.plan.authors or ()),
        state=known.record.state,
        plan_sha256=known.record.plan_sha256,
        in_record=standings.count("in_record"),
        partly=standings.count("partly"),
        not_in_record=standings.count("not_in_record"),
        sections=sections,
        limits=put_into_words("forms.limits"),
    )


def _answer(item: Item, answers: Mapping[str, tuple[Words, ...]]) -> Answered:
    """Answer an item of a checklist by the facts there are: in the record, in part, or not."""
    there = [fact for fact in item.facts if answers[fact]]
    whole = len(there) == len(item.facts) and item.rest is None
    standing: Standing = "not_in_record" if not there else "in_record" if whole else "partly"
    return Answered(
        id=item.id,
        item=item.says,
        standing=standing,
        facts=tuple(
            FactLine(fact=fact, label=label_of(fact), fields=FACTS[fact].fields, says=answers[fact])
            for fact in item.facts
        ),
        rest=item.rest,
    )


def label_of(fact: str) -> Words:
    """Return what a fact is called."""
    return put_into_words(f"forms.fact_{fact}")
