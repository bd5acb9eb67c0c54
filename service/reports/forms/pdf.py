"""A filled checklist as PDF: its content as texts, set by a fixed template of Typst. Slow: run it in a calculator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from service.reports.forms.checklist import Checklist
from service.reports.forms.markdown import MARKS, about, foot_of, head_of, head_of_item, lines_of
from service.reports.verdict.pdf import in_pieces
from service.words import Language

CHECKLIST = Path(__file__).parent / "checklist.typ"


def checklist_content(checklist: Checklist, language: Language) -> dict[str, Any]:
    """Return what the template shows, as texts."""
    return {
        "language": language,
        "title": head_of(checklist, language),
        "of": checklist.title,
        "authors": list(checklist.authors),
        "about": [in_pieces(line) for line in about(checklist, language)],
        "sections": [
            {
                "title": section.title.of(language),
                "items": [
                    {
                        "head": f"{MARKS[item.standing]} {head_of_item(item, language)}",
                        "lines": [in_pieces(line) for line in lines_of(item, language)],
                    }
                    for item in section.items
                ],
            }
            for section in checklist.sections
        ],
        "foot": [in_pieces(line) for line in foot_of(checklist, language).split("\n\n")],
    }
