"""The report of a verdict as one HTML file: styles and pictures inside, no script, nothing loaded."""

from __future__ import annotations

import re
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from service.reports.figures import mark_up_with_numbers, set_numbers
from service.reports.verdict import words
from service.reports.verdict.columns import numbers_in
from service.reports.verdict.content import Report
from service.words import Language, punctuation

_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent.parent),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


_TEMPLATES.filters["quoted"] = mark_up_with_numbers
_TEMPLATES.filters["numbers"] = set_numbers


def template(name: str) -> Template:
    """Return a template of the reports, by its room and name."""
    return _TEMPLATES.get_template(name)


_OF_THE_ENGINE = re.compile(
    r'(?: aria-label="[^"]*")? role="graphics-[a-z]+" aria-roledescription="[^"]*"(?: aria-label="[^"]*")?'
)


def _let_texts_speak(picture: str, language: Language) -> str:
    """A picture without what its engine says of axes and marks to who listens: it says so in English alone."""
    return picture if language == "en" else _OF_THE_ENGINE.sub("", picture)


def print_html(report: Report, pictures: tuple[str, ...] = (), language: Language = "en") -> str:
    """Return the whole report. `pictures` are SVG documents that this service drew: they go in as they are."""
    return template("verdict/report.html").render(
        report=report,
        language=language,
        words=words,
        marks=punctuation,
        numbers_in=numbers_in,
        embargo_line=lambda day: words.embargo_line(day, language),
        say=lambda key, **values: words.say(key, language, **values),
        of=lambda text: text.of(language),
        pictures=[Markup(_let_texts_speak(picture, language)) for picture in pictures],  # noqa: S704 - drawn here, from a spec whose text is escaped
    )
