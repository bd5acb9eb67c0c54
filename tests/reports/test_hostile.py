"""One corpus of hostile texts through every report and every picture: words stay words."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest

from service.api.examples.made import of_json
from service.reports.charts import draw
from service.reports.charts.arms import arms
from service.reports.charts.discordance import discordance
from service.reports.charts.forest import Panel, forest
from service.reports.charts.units import Unit
from service.reports.rows_csv import COLUMNS, write_rows
from service.reports.verdict.content import Report
from service.reports.verdict.html import print_html
from service.reports.verdict.latex import escape, print_latex
from service.reports.verdict.markdown import print_markdown
from service.reports.verdict.pdf import pdf_content, set_pdf

CORPUS = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>",
    "</title></svg><svg onload=alert(3)><a href='javascript:alert(4)'>x</a>",
    "]]><!ENTITY x SYSTEM 'file:///etc/passwd'>&x;&#x3c;script&#x3e;",
    "[click](javascript:alert(5)) ![x](http://127.0.0.1/x) <http://127.0.0.1/>",
    "# heading\n- list\n| cell | cell |\n```\ncode\n```",
    r"\input{/etc/passwd}\write18{id} % comment $x_1^2$ {\bf & # ~ `''",
    "=cmd|' /C calc'!A0",
    '#panic("typst") #read("/etc/passwd") #import "@preview/x:1.0.0" $ x $ `raw` *bold* @label',
    "{{ 7 * 7 }} {% raw %} ${7*7} datum.value signal(x)",
    "\x00\x1b[2J\u202egnirts\u2028line\ufffe \U000e0041",
    "假设 <b>粗体</b> 🙂 " + "x" * 300,
)
PROSE = (
    "title",
    "statement",
    "multiplicity",
    "sentence",
    "en",
    "zh",
    "arm",
    "baseline",
    "candidate",
    "id",
    "method",
)


SLICES = {
    "by": "stratum", "of": "topic", "no_worse_than": 0.05, "alpha": 0.05, "level": 0.9, "method": "tango",
    "outcome": "cannot_tell",
    "slices": [
        {"slice": "", "outcome": outcome, "n": 40, "n_clusters": None, "delta": 0.02, "ci": {"low": low, "high": high},
         "p_value": 0.01, "p_holm": 0.02, "p_loss": 0.9, "p_loss_holm": 1.0, "reason": None}
        for outcome, low, high in (("pass", -0.01, 0.05), ("fail", -0.2, -0.1), ("cannot_tell", None, 0.3))
    ],
    "reversal": {"p_value": 0.01, "shown": True, "gains": 9.0, "losses": 8.0, "slices": 3, "reason": None},
    "reason": None,
}  # fmt: skip


def hostile(text: str) -> Report:
    """The example report with this text wherever words of others stand."""
    text = text.replace("\x00", "")

    def spoiled(value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: spoiled(each, key) for key, each in value.items()}
        if isinstance(value, list):
            return [spoiled(each, name) for each in value]
        return (
            f"{text}"
            if isinstance(value, str) and name in PROSE and value not in ("clopper_pearson",)
            else value
        )

    found = spoiled(of_json("report"))
    found["hypotheses"][0]["slices"] = SLICES | {
        "slices": [each | {"slice": text} for each in SLICES["slices"]]
    }
    found["deviations"] = [
        {
            "number": 1,
            "title": text,
            "reason": text,
            "standing": "accept",
            "classification": "reject",
            "rule": {"ruleset": 1, "id": "otherwise", "says": "Nobody knows."},
            "decided_by": text,
        }
    ]
    found["warnings"] = [{"code": "CAUTION", "path": "", "says": {"en": text, "zh": text}}]
    return Report.model_validate_json(json.dumps(found))


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
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    " =1",
    "\uff1d1",
    "|calc",
    "'=1",
    "''",
    "%x",
    "a\n=1",
    'x",=1',
)


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
