"""The authors of a preregistration: one entry each, with labels, or a line of prose with the iD and the institution."""

from __future__ import annotations

import re

from service.reports.prereg.blocks import Item
from service.reports.prereg.gaps import Entry
from service.reports.prereg.passage import Heard, Passage
from service.reports.prereg.sections import Draft, name_entry

_ORCID = r"\(?\s*(?:orcid(?:\s*id)?\s*:?\s*)?(?:https?://)?(?:orcid\.org/)?([0-9]{4}(?:-[0-9]{4}){2}-[0-9]{3}[0-9xX])\s*\)?"
_BESIDE = re.compile(r"\(([^()]+)\)")


def author(draft: Draft, text: Passage, _item: Item, name: Passage, entry: Entry) -> bool:
    """Read `**Ada Lovelace**` with labels below, or `Ada Lovelace (University of Nowhere), 0000-0002-1825-0097`."""
    orcid = text.search(_ORCID)
    if orcid is not None:
        draft.assume("authors", entry, "orcid", Heard(orcid[1].upper(), text, (orcid.span(1),)))
        text.take(orcid)
    rest = text.untaken()
    beside = _BESIDE.search(rest)
    if beside is not None and beside[1].strip():
        where = Heard(" ".join(beside[1].split()), text, (text.span(*beside.span()),))
        draft.assume("authors", entry, "affiliation", where)
    if name.raw:
        name_entry(entry, "name", name)
    else:
        alone = " ".join(_BESIDE.sub(" ", rest).split()).strip(" ,;")
        if not alone:
            return False
        draft.assume("authors", entry, "name", alone)
        text.take_all()
    draft.value.setdefault("authors", []).append(entry)
    return True
