"""EXPERIMENTS_PREREG.md into a draft: what is labelled is taken as it is, prose is read and said to be assumed.

Nothing is passed over in silence: every line that no part of the draft holds is a gap.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from service.domain.canonical import canonical
from service.domain.plans.plan import Plan
from service.domain.plans.sections.endpoint import MAX_LIST
from service.errors import InvalidData
from service.reports.prereg import hypotheses, prose, sections
from service.reports.prereg.authors import author
from service.reports.prereg.blocks import Block, Item, blocks
from service.reports.prereg.gaps import Entry, Notes, fit
from service.reports.prereg.labels import (
    NO_SECTION,
    SECTIONS,
    TITLE,
    Kind,
    beyond_name,
    field_of,
    glosses,
    plain,
    section_of,
)
from service.reports.prereg.passage import Passage
from service.reports.prereg.sections import Draft
from service.reports.prereg.suites import suite
from service.reports.prereg.text import keepable, outside, raw_spans, read, spans
from service.words import LANGUAGES, say

_HEAD = re.compile(r"\*\*((?:\\.|[^*\\])+)\*\*\s*(?:[:：]\s*)?(.*)", re.DOTALL)
_LABELLED = re.compile(r"(?:`([^`]+)`|([^`:：*]{1,60}?))\s*[:：]\s*(.*)", re.DOTALL)
_UNREAD = "no part of a plan holds this; it will not be locked"
_NOTHING = {
    plain(word)
    for word in (*(say("prereg.none", language) for language in LANGUAGES), "none", "无", "没有", "n/a")
}
_TITLES = {plain(name) for name in (*TITLE.names(), "experiments prereg", "experiments_prereg.md")}
_TITLE = "|".join(TITLE.of(language) for language in LANGUAGES)
_NOTES = {plain(say("prereg.note", language)) for language in LANGUAGES}


PROSE: Mapping[str, Callable[..., bool]] = MappingProxyType(
    {
        "authors": author,
        "populations": sections.population,
        "suites": suite,
        "arms": sections.arm,
        "endpoints": sections.endpoint,
        "sesoi": sections.sesoi,
        "tests": sections.test,
        "thresholds": sections.threshold,
        "hypotheses": hypotheses.hypothesis,
        "rules": hypotheses.rule,
        "stopping": sections.setting("stopping", "kind", prose.stopping),
        "multiplicity": sections.setting("multiplicity", "policy", prose.family_policy),
        "missing": sections.setting("missing", "missing", prose.missing_policy),
        "import": sections.setting("import", "format", sections.import_format),
    }
)
"""Who reads what is not labelled; False: nothing in it belongs to the section."""


def read_plan(text: str) -> tuple[Plan, Entry, Notes]:
    """Return the draft a file describes, the lines its parts were read from, and what was found on the way."""
    draft = Draft(Entry(1), Notes())
    for block in _in_order(list(blocks(text))):
        _read_block(draft, *block)
    hypotheses.finish(draft)
    return fit(draft.value, draft.notes), draft.value, draft.notes


def _in_order(document: list[Block]) -> Iterator[tuple[str | None, Block]]:
    """Sections in the order they build on one another; sub-headings belong to the section they stand in."""
    order = ["populations", "suites", "endpoints", "sesoi", "tests", "hypotheses", "rules"]
    placed: list[tuple[str | None, Block]] = []
    current: str | None = NO_SECTION
    for block in document:
        section = section_of(block.heading) if block.level else NO_SECTION
        if section is not None:
            current = section
        elif block.level == 1:
            current = NO_SECTION
        elif block.level == 2:
            current = None
        placed.append((current, block))
    first = (None, NO_SECTION)
    yield from sorted(
        placed,
        key=lambda item: -1 if item[0] in first else order.index(item[0]) if item[0] in order else len(order),
    )


def _read_block(draft: Draft, section: str | None, block: Block) -> None:
    """Read what stands under one heading into the draft; what is not read is noted with its line."""
    if block.unclosed:
        draft.notes.add(
            "UNREAD", "", block.unclosed, "a comment begins here and never ends: nothing after it is read"
        )
    if section is None:
        draft.notes.add("UNREAD", "", block.line, f"no section of a plan has this heading; {_UNREAD}")
        for item in block.items:
            _unread(draft, "", item)
        return
    if section == NO_SECTION:
        _front(draft, block)
        return
    target = "hypotheses" if section == "rules" else section
    draft.value.lines.setdefault(target, block.line)
    if section_of(block.heading) is None and block.heading:
        draft.notes.add("UNREAD", target, block.line, f"this heading is none of ours; {_UNREAD}")
    elif block.heading:
        draft.leave(target, block.line, Passage(beyond_name(block.heading)).list_left())
    if len(block.items) == 1 and plain(block.items[0].text) in _NOTHING and section != "rules":
        draft.nothing(section)
        for child in block.items[0].children:
            _unread(draft, section, child)
    elif SECTIONS[section].listed:
        draft.begin(section)
        for item in block.items[:MAX_LIST]:
            _read_entry(draft, section, item)
        if len(block.items) > MAX_LIST:
            line = block.items[MAX_LIST].line
            draft.notes.add(
                "INVALID", target, line, f"a plan has {MAX_LIST} of these at most; the others are left out"
            )
    else:
        _settings(draft, section, block)


def _front(draft: Draft, block: Block) -> None:
    """What stands before the first section: a title, and labelled lines."""
    if block.level and plain(block.heading) not in _TITLES:
        heading = re.sub(rf"^(?:{_TITLE})\s*[:：]\s*", "", block.heading, flags=re.IGNORECASE)
        if block.level > 1:
            draft.notes.add("UNREAD", "", block.line, f"no section of a plan has this heading; {_UNREAD}")
        elif not draft.value.put_labelled("title", read(heading), block.line):
            _note_repeated(draft, "", block.line, "title")
    for item in block.items:
        if plain(item.text) in _NOTES:  # our own line: what somebody put under it is theirs
            for child in item.children:
                _unread(draft, "", child)
        elif not _take_labelled(draft, NO_SECTION, draft.value, item):
            _unread(draft, "", item)


def _settings(draft: Draft, section: str, block: Block) -> None:
    """A section that holds fields rather than entries."""
    if section in draft.value and block.items:
        _note_repeated(draft, section, block.line, "section")
        for item in block.items:
            _unread(draft, section, item)
        return
    holder = draft.value if section == "missing" else Entry(block.line)
    prosaic = [item for item in block.items if not _take_labelled(draft, section, holder, item)]
    if section != "missing" and holder:
        draft.value.put(section, holder, block.line)
    structured = bool(holder) if section != "missing" else "missing" in holder
    for item in prosaic:
        text = Passage(item.text)
        if structured or not PROSE[section](draft, text, item):
            _unread(draft, section, item, children=False)
        else:
            draft.leave(section, item.line, text.list_left())
        for child in item.children:
            _unread(draft, section, child)


def _read_entry(draft: Draft, section: str, item: Item) -> None:
    """One entry: its head, what stands under it, and prose where required members are not labelled."""
    head = _HEAD.fullmatch(item.text)
    entry = Entry(item.line)
    name, text = Passage(head[1] if head else ""), Passage(head[2] if head else item.text)
    bare = section in ("rules", "sesoi")  # entries of one line: nothing under it belongs to them
    loose = [child for child in item.children if bare or not _take_labelled(draft, section, entry, child)]
    if PROSE[section](draft, text, item, name, entry):
        target = "hypotheses" if section == "rules" else section
        unsaid = (
            [] if section == "rules" and id(text) in map(id, draft.sentences.values()) else text.list_left()
        )
        draft.leave(target, item.line, [*name.list_left(), *unsaid], entry)
        for child in loose:
            _unread(draft, section, child)
    else:
        draft.notes.drop(entry)
        _unread(draft, section, item)


def _take_labelled(draft: Draft, section: str, entry: Entry, item: Item) -> bool:
    """Take a `Label: value` line into the entry; False when it is none."""
    match = _LABELLED.fullmatch(item.text)
    if match is None:
        return False
    if match[1] is not None:
        name, kind, text = match[1], "json", match[3]
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            return False
    else:
        known = field_of(section, match[2])
        if known is None:
            return False
        (name, kind), text = known, match[3]
    try:
        value = _value(kind, text)
        if entry.put_labelled(name, value, item.line):
            draft.leave(section, item.line, Passage(_beside(kind, name, value, text)).list_left(), entry)
        else:
            _note_repeated(draft, section, item.line, name)
    except (ValueError, TypeError, RecursionError):
        draft.notes.add("INVALID", section, item.line, f"{name} is left out: its value cannot be read")
    for child in item.children:
        _unread(draft, section, child)
    return True


def _note_repeated(draft: Draft, section: str, line: int, name: str) -> None:
    draft.notes.add("INVALID", section, line, f"this {name} is left out: there is one above; give one")


def _beside(kind: Kind | str, name: str, value: Any, text: str) -> str:
    """Return what a labelled line says beside its value, without our own explanation of the value."""
    match kind:
        case "text" | "rule":
            return ""
        case "tokens" | "numbers":
            return outside(text) if raw_spans(text) else ""
        case "token" if not raw_spans(text):
            rest = text.strip()[len(value) :]
        case _ if not raw_spans(text):
            return ""
        case _:
            rest = outside(text, 1)
    label = plain(rest).strip("() ")
    return "" if label in map(plain, glosses(name, value)) else rest


def _value(kind: Kind | str, text: str) -> Any:
    """Return a value as its label says it is written.

    Raises:
        ValueError, TypeError: it is not written so.
    """
    inside = spans(text)
    match kind:
        case "text" | "rule":
            return read(text)
        case "token" if text.lstrip(" `").startswith("{"):  # weights by task
            return _check(json.loads((raw_spans(text) or [text.strip()])[0]))
        case "token":
            return inside[0] if inside else re.split("[((]", text, maxsplit=1)[0].strip()
        case "tokens":
            return inside or _split_list(text)
        case "numbers":
            return [_json(span) for span in raw_spans(text) or _split_list(text.strip(" []"))]
        case "number":
            return _json((raw_spans(text) or [text.strip()])[0])
        case _:
            return _check(json.loads((raw_spans(text) or [text.strip()])[0]))


def _split_list(text: str) -> list[str]:
    return [name.strip() for name in re.split("[,、,;]", text)]


def _json(text: str) -> Any:
    value = json.loads(text)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError("not a number")
    return value


def _check(value: Any) -> Any:
    """Refuse JSON that a plan's canonical text could not hold, or that spells out what no database keeps."""
    try:
        canonical([[[[value]]]])  # as deep as it stands in a plan
    except InvalidData:
        raise ValueError("no canonical form") from None
    if not keepable(json.dumps(value, ensure_ascii=False).replace("\\u0000", "\0")):
        raise ValueError("text that cannot be kept")
    return value


def _unread(draft: Draft, section: str, item: Item, *, children: bool = True) -> None:
    draft.notes.add("UNREAD", section, item.line, _UNREAD)
    for child in item.children if children else ():
        _unread(draft, section, child)
