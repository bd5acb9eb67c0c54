"""The authors of a preregistration: one entry each, with labels, or a line of prose with the iD and the institution."""

from __future__ import annotations

import re

from service.reports.prereg.blocks import Item
from service.reports.prereg.gaps import Entry
from service.reports.prereg.said import Heard, Said
from service.reports.prereg.sections import Draft, name_entry

_ORCID = r"\(?\s*(?:orcid(?:\s*id)?\s*:?\s*)?(?:https?://)?(?:orcid\.org/)?([0-9]{4}(?:-[0-9]{4}){2}-[0-9]{3}[0-9xX])\s*\)?"
_BESIDE = re.compile(r"\(([^()]+)\)")


def author(draft: Draft, said: Said, _item: Item, name: Said, entry: Entry) -> bool:
    """`**Ada Lovelace**` with labels below, or `Ada Lovelace (University of Somewhere), 0000-0002-1825-0097`."""
    orcid = said.search(_ORCID)
    if orcid is not None:
        draft.assume("authors", entry, "orcid", Heard(orcid[1].upper(), said, (orcid.span(1),)))
        said.take(orcid)
    rest = said.untaken()
    beside = _BESIDE.search(rest)
    if beside is not None and beside[1].strip():
        where = Heard(" ".join(beside[1].split()), said, (said.span(*beside.span()),))
        draft.assume("authors", entry, "affiliation", where)
    if name.raw:
        name_entry(entry, "name", name)
    else:
        alone = " ".join(_BESIDE.sub(" ", rest).split()).strip(" ,;")
        if not alone:
            return False
        draft.assume("authors", entry, "name", alone)
        said.take_all()
    draft.value.setdefault("authors", []).append(entry)
    return True
