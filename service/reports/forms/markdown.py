"""A filled checklist as Markdown, and the lines that every form of it prints."""

from __future__ import annotations

from collections.abc import Iterator

from service.reports.forms.checklist import Answered, Checklist
from service.reports.prereg.text import sentence, write_item
from service.words import Language, say
from service.words.punctuation import colon, in_parentheses

MARKS = {"in_record": "✓", "partly": "◐", "not_in_record": "✗"}


def print_checklist(checklist: Checklist, language: Language = "en") -> str:
    """Print the whole checklist as Markdown."""
    parts = [f"# {head_of(checklist, language)}"]
    if checklist.title:
        parts.append(f"**{_line(checklist.title)}**")
    if checklist.authors:
        parts.append("\n".join(f"- {_line(author)}" for author in checklist.authors))
    parts.append("\n\n".join(sentence(line) for line in about(checklist, language)))
    for section in checklist.sections:
        parts.append(f"## {section.title.of(language)}")
        parts.append("\n".join(line for item in section.items for line in _item(item, language)))
    parts.append(foot_of(checklist, language))
    return "\n\n".join(parts) + "\n"


def head_of(checklist: Checklist, language: Language) -> str:
    """Return the title of the page."""
    return say("forms.checklist", language, standard=checklist.standard)


def about(checklist: Checklist, language: Language) -> Iterator[str]:
    """Yield what stands above the items: how many are answered, which they are, and what the list is not."""
    yield say(
        "forms.counts",
        language,
        whole=str(checklist.in_record),
        partly=str(checklist.partly),
        none=str(checklist.not_in_record),
    )
    yield checklist.scope.of(language)
    if checklist.state != "judged":
        yield say("forms.before_verdict", language)
    yield checklist.limits.of(language)


def head_of_item(item: Answered, language: Language) -> str:
    """Return its number, what it asks for, and whether the record answers it."""
    standing = in_parentheses(say(f"forms.standing_{item.standing}", language), language)
    return f"{item.id}{colon(language)}{item.item.of(language)}{standing}"


def lines_of(item: Answered, language: Language) -> Iterator[str]:
    """Yield what the record says of an item, and what it does not."""
    for fact in item.facts:
        label = fact.label.of(language)
        for words in fact.says:
            yield f"{label}{colon(language)}{words.of(language)}"
        if not fact.says:
            fields = ", ".join(f"`{name}`" for name in fact.fields)
            yield say("forms.absent", language, what=label, fields=fields)
    if item.rest is not None:
        yield say("forms.beyond", language, what=item.rest.of(language))


def foot_of(checklist: Checklist, language: Language) -> str:
    """Say where the items come from, and of which plan they were answered."""
    source = say("forms.source", language, version=checklist.version, url=checklist.url)
    plan = f"`{checklist.preregistration_id}`"
    return f"{source}\n\n{plan}" + (f", SHA-256 `{checklist.plan_sha256}`" if checklist.plan_sha256 else "")


def _item(item: Answered, language: Language) -> Iterator[str]:
    yield f"- {MARKS[item.standing]} **{head_of_item(item, language)}**"
    for line in lines_of(item, language):
        yield f"  - {sentence(' '.join(line.split()))}"


def _line(text: str) -> str:
    return write_item(" ".join(text.split()))
