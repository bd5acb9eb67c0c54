"""A lock or a verdict as it is cited: CITATION.cff (version 1.2.0) and BibTeX, with the ledger's checkpoint."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

from service.domain.plans.plan import Plan

CitationForm = Literal["cff", "bib"]
MEDIA_TYPES: dict[CitationForm, str] = {
    "cff": "application/yaml",
    "bib": "application/x-bibtex; charset=utf-8",
}
MESSAGE = "If you rely on this preregistered record, please cite it as below."
_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\textbraceleft{}", "}": r"\textbraceright{}", "$": r"\$", "&": r"\&",
    "#": r"\#", "%": r"\%", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    '"': r"\textquotedbl{}",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cited:
    """What is cited: a locked plan, or with `headlines` its verdict, and where the ledger has it."""

    record: str
    plan: Plan
    version: int
    plan_sha256: str
    verdict_sha256: str | None
    """None: there is no verdict yet, and the lock is cited."""
    headlines: tuple[str, ...]
    on: date
    """Of the lock, or of the verdict."""
    project: str
    """Whose record it is, for a plan that names no authors."""
    leaf: int
    checkpoint: str
    """Origin, size and root hash of a signed tree that holds the leaf."""
    page: str | None
    withdrawn: bool

    @property
    def title(self) -> str:
        """The plan's title, and what of it is cited."""
        what = "preregistration" if self.verdict_sha256 is None else "preregistration and verdict"
        state = ", withdrawn" if self.withdrawn else ""
        return f"{self.plan.title or self.record} ({what}{state})"


def print_citation(cited: Cited, form: CitationForm) -> bytes:
    """Return the citation in that form."""
    return _cff(cited) if form == "cff" else _bib(cited).encode()


def _cff(cited: Cited) -> bytes:
    """Return a file that validates against the schema of the Citation File Format 1.2.0.

    Authors stand as entities: which part of a name is the family's, no record says.
    """
    import yaml

    authors: list[dict[str, str]] = [
        {"name": author.name} | ({"orcid": f"https://orcid.org/{author.orcid}"} if author.orcid else {})
        for author in cited.plan.authors or ()
    ]
    document: dict[str, Any] = {
        "cff-version": "1.2.0",
        "message": MESSAGE,
        "type": "dataset",
        "title": cited.title,
        "authors": authors or [{"name": cited.project}],
        "version": str(cited.version),
        "date-released": cited.on.isoformat(),
        "identifiers": [
            {"type": "other", "value": f"sha256:{value}", "description": description}
            for value, description in _hashes(cited)
        ]
        + [{"type": "other", "value": cited.checkpoint, "description": _of_ledger(cited)}],
    }
    if cited.headlines:
        document["abstract"] = "\n".join(cited.headlines)
    if cited.page is not None:
        document["url"] = cited.page
    text: str = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=10_000)
    return text.encode()


def _bib(cited: Cited) -> str:
    """Return an entry that BibTeX and biber read."""
    names = [author.name for author in cited.plan.authors or ()] or [cited.project]
    hashes = "; ".join(f"{description} {value}" for value, description in _hashes(cited))
    fields = {
        "title": f"{{{_tex(cited.title)}}}",
        "author": " and ".join(f"{{{_tex(name)}}}" for name in names),
        "year": f"{cited.on:%Y}",
        "month": f"{cited.on:%m}",
        "version": str(cited.version),
        "note": f"{_tex(hashes)}; {_tex(_of_ledger(cited))}: {_tex(cited.checkpoint)}",
    }
    if cited.page is not None:
        fields["url"] = _tex(cited.page)
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
    return "\n".join([f"@misc{{forelock-{cited.record[:12]},", *lines, "}"]) + "\n"


def _hashes(cited: Cited) -> list[tuple[str, str]]:
    hashes = [(cited.plan_sha256, "SHA-256 of the locked plan")]
    if cited.verdict_sha256 is not None:
        hashes.append((cited.verdict_sha256, "SHA-256 of the verdict"))
    return hashes


def _of_ledger(cited: Cited) -> str:
    return f"Checkpoint of the ledger that holds leaf {cited.leaf}"


def _tex(text: str) -> str:
    """Text that closes no brace (BibTeX counts escaped ones too); what no line holds becomes a question mark."""
    line = " ".join(text.split())
    return "".join(
        _SPECIAL.get(letter, letter) if unicodedata.category(letter)[0] != "C" else "?" for letter in line
    )
