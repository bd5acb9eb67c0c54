"""A filled checklist as one HTML file: no script, nothing loaded."""

from __future__ import annotations

from service.reports.forms.checklist import Checklist
from service.reports.forms.markdown import MARKS, about, foot_of, head_of, head_of_item, lines_of
from service.reports.verdict.html import template
from service.words import Language


def print_html(checklist: Checklist, language: Language) -> str:
    """Print the whole checklist as HTML."""
    return template("forms/checklist.html").render(
        checklist=checklist,
        language=language,
        head=head_of(checklist, language),
        about=list(about(checklist, language)),
        foot=foot_of(checklist, language).split("\n\n"),
        marks=MARKS,
        of=lambda words: words.of(language),
        head_of=lambda item: head_of_item(item, language),
        lines_of=lambda item: list(lines_of(item, language)),
    )
