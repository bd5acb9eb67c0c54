"""What a checklist is filled from, and what one fact of it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from service.domain.evidence.record import EvidenceCard
from service.domain.notes.said import Words, in_words
from service.domain.outgoing import Link
from service.domain.plans.plan import Plan
from service.domain.plans.preregistration import Preregistration
from service.reports.verdict.content import Report
from service.words import message


@dataclass(frozen=True, slots=True)
class Known:
    """A record as far as a checklist may speak of it. Before the verdict nothing in it follows from outcomes."""

    record: Preregistration
    card: EvidenceCard
    report: Report | None
    """None before the verdict."""
    links: Sequence[Link]

    @property
    def plan(self) -> Plan:
        """The plan as it stands."""
        return self.record.plan


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a record knows: the fields that hold it, and what they say here."""

    fields: tuple[str, ...]
    """By dotted names that begin with `plan`, `record`, `card`, `report` or `links`."""
    read: Callable[[Known], Iterator[Words]]


def same(text: str) -> Words:
    """Return the record's own words and numbers, which have no language."""
    line = " ".join(text.split())
    return in_words(line)


def put_into_words(code: str, /, **values: str) -> Words:
    """Return a sentence of ours, in every language."""
    return in_words(message(code, **values))
