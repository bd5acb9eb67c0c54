"""The report of a verdict as one HTML file: styles and pictures inside, no script, nothing loaded."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from service.reports.prereg.labels import Language
from service.reports.verdict import words
from service.reports.verdict.content import Report

_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def print_html(report: Report, pictures: tuple[str, ...] = (), language: Language = "en") -> str:
    """The whole report. `pictures` are SVG documents that this service drew: they go in as they are."""
    return _TEMPLATES.get_template("report.html").render(
        report=report,
        language=language,
        words=words,
        say=lambda key: words.say(key, language),
        of=lambda each: each.zh if language == "zh" else each.en,
        pictures=[Markup(each) for each in pictures],  # noqa: S704 - drawn here, from a spec whose text is escaped
    )
