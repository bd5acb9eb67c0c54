"""Suites of a preregistration: one entry each, with labels, or a line that names the tasks and how they are weighed."""

from __future__ import annotations

from service.reports.prereg import prose
from service.reports.prereg.blocks import Item
from service.reports.prereg.gaps import Entry
from service.reports.prereg.passage import Passage
from service.reports.prereg.sections import Draft, name_entry

EQUAL = r"\b(?:weighted\s+equally|equal(?:ly)?\s+weight(?:s|ed)?|macro(?:[\s-]average)?)\b|等权|宏平均"
ITEMS = r"\b(?:weighted\s+by\s+(?:their\s+)?items|micro(?:[\s-]average)?)\b|按题目数加权|微平均"


def suite(draft: Draft, text: Passage, _item: Item, name: Passage, entry: Entry) -> bool:
    """Read `**bench**` with labels below, or `**bench**: code, maths, weighted equally`."""
    if not name.raw:
        return False
    name_entry(entry, "id", name)
    known = draft.by_dataset() | {one: one for one in draft.ids("populations")}
    tasks = list(prose.find_mentioned(text, list(known)))
    if tasks:
        # in the order of the text, which is how people count tasks
        tasks.sort(key=lambda heard: heard.spans[0])
        draft.assume(
            "suites", entry, "populations", list(dict.fromkeys(known[heard.value] for heard in tasks))
        )
        for heard in tasks:
            heard.take()
    for weights, words in (("equal", EQUAL), ("items", ITEMS)):
        mention = text.search(words)
        if mention is not None:
            draft.assume("suites", entry, "weights", weights)
            text.take(mention)
            break
    draft.entries("suites").append(entry)
    return True
