"""One corpus of hostile texts through every report and every picture: words stay words."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from service.reports.charts import draw
from service.reports.charts.arms import arms
from service.reports.charts.discordance import discordance
from service.reports.charts.forest import Panel, forest
from service.reports.charts.units import Unit
from service.reports.rows_csv import COLUMNS, write_rows
from service.reports.verdict.html import print_html
from service.reports.verdict.latex import escape, print_latex
from service.reports.verdict.markdown import print_markdown
from service.reports.verdict.pdf import pdf_content, set_pdf
from tests.reports.hostile import CORPUS, hostile


class Elements(HTMLParser):
    """Names and attributes of the elements of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "code" and not attrs:  # what a sentence quotes, and nothing that does anything
            return
        self.found.append((tag, tuple(name for name, _ in attrs)))


@pytest.mark.parametrize("text", CORPUS)
def test_html_has_the_elements_of_its_template_alone(text: str) -> None:
    plain, page = (Elements(print_html(each)).found for each in (hostile("x"), hostile(text)))
    assert page == plain


@pytest.mark.parametrize("text", CORPUS)
def test_markdown_begins_nothing_that_the_report_does_not_begin(text: str) -> None:
    plain, page = (print_markdown(each).split("\n") for each in (hostile("x"), hostile(text)))
    assert len(page) == len(plain)
    begins = re.compile(r"^(#+ |\| |- |\d+\. |  - |)")
    assert [begins.match(line)[0] for line in page] == [begins.match(line)[0] for line in plain]  # type: ignore[index]
    columns = re.compile(r"(?<!\\)\|")
    assert [len(columns.findall(line)) for line in page if line.startswith("| ")] == [
        len(columns.findall(line)) for line in plain if line.startswith("| ")
    ]
    outside = re.sub(r"(?<!\\)(`+)(?!`).+?(?<!`)\1(?!`)", "", "\n".join(page))
    assert not re.search(r"(?<!\\)<[a-zA-Z/!]|(?<!\\)\]\(", outside)


@pytest.mark.parametrize("text", CORPUS)
def test_latex_runs_no_command_of_others(text: str) -> None:
    commands = re.compile(r"\\[a-zA-Z]+")
    ours = set(commands.findall(print_latex(hostile("x")))) | set(
        commands.findall(escape("\\{}$&#%_^~<>|\"`'−∞±"))
    )
    page = print_latex(hostile(text))
    assert set(commands.findall(page)) <= ours
    assert len(page.split("\n")) == len(print_latex(hostile("x")).split("\n"))
    bare = re.sub(r"\\[{}$&#%_]", "", page.partition("\\begin{document}")[2])
    assert not re.search(r"[$#~^%_]", bare)
    assert bare.count("{") == bare.count("}")


def test_escapes_by_definition() -> None:
    assert escape(r"100% \input{x}") == r"100\% \textbackslash{}input\{x\}"
    assert escape("a\x00b\u202e") == "a?b?"


def test_the_pdf_of_hostile_words_is_set_and_runs_nothing() -> None:
    words = " ".join(each.replace("\x00", "") for each in CORPUS)
    assert set_pdf(pdf_content(hostile(words)), {}).startswith(b"%PDF")


def test_pictures_of_hostile_words_draw_nothing_but_text() -> None:
    rows = tuple(
        {"label": text, "delta": 0.1, "low": 0.0, "high": 0.2, "level": 0.95, "method": text, "read": False}
        for text in map(str, CORPUS)
    )
    counts = dict.fromkeys(("both_correct", "only_baseline", "only_candidate", "both_wrong"), 3)
    everything = " ".join(CORPUS)
    for spec in (
        forest([Panel(everything, Unit(True), 0.02, rows)], title=everything, subtitle=everything),
        arms([{"arm": text, "n": 1, "mean": 0.5, "low": None, "high": None} for text in CORPUS], binary=True),
        discordance(counts, baseline=CORPUS[0], candidate=CORPUS[1], title=everything, subtitle=CORPUS[9]),
    ):
        drawn = ElementTree.fromstring(draw.draw(json.loads(json.dumps(spec)), "svg"))
        names = {each.tag.rpartition("}")[2] for each in drawn.iter()}
        assert names <= {"svg", "g", "path", "text", "rect", "line", "defs", "clipPath", "tspan", "title"}, (
            names
        )
        attributes = {name.rpartition("}")[2] for each in drawn.iter() for name in each.attrib}
        assert not {name for name in attributes if name.startswith("on") or name in ("href", "style")}


FORMULAS = (
    "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "\uff1d1", "|calc", "'=1", "''", "%x", "a\n=1",
    'x",=1',
)  # fmt: skip


@pytest.mark.parametrize("text", [*CORPUS, *FORMULAS])
def test_a_spreadsheet_computes_nothing_of_rows(text: str) -> None:
    row = dict.fromkeys(COLUMNS, text) | {"replicate": 1, "value": -0.5, "batch": 2, "observed_at": None}
    file = io.BytesIO()
    assert write_rows([row], file) == len(file.getvalue())
    header, cells = csv.reader(io.StringIO(file.getvalue().decode(), newline=""))
    assert tuple(header) == COLUMNS
    read = dict(zip(header, cells, strict=True))
    assert (read["value"], read["replicate"], read["batch"], read["observed_at"]) == ("-0.5", "1", "2", "")
    shown = read["item_id"]
    assert shown.lstrip()[:1] not in {*"=+-@|%", "\uff1d"}
    assert shown.removeprefix("'") == text  # and what was put before can be taken off again
