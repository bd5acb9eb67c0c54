"""Slices of a plan stand in every form of a verdict's report, in both languages, from one source."""

from __future__ import annotations

import re
from typing import Any

import pytest

from service.api.examples.made import read_json
from service.reports.verdict.content import Report
from service.reports.verdict.html import print_html
from service.reports.verdict.latex import escape, print_latex
from service.reports.verdict.markdown import print_markdown
from service.reports.verdict.pdf import pdf_content, set_pdf
from service.reports.verdict.words import slices_table
from service.words import Language
from tests.reports.hostile import SLICES
from tests.reports.sentences import in_languages

NAMES = ("code", "math", "prose")
REVERSAL = in_languages(
    "The arms change sides between slices (Gail and Simon: p = 0.010).",
    "两组的优劣随切片反转（Gail-Simon 检验：p = 0.010）。",
)


def report(**changes: Any) -> Report:
    """The example report, with three slices of one hypothesis."""
    found = read_json("report")
    slices = [each | {"slice": name} for each, name in zip(SLICES["slices"], NAMES, strict=True)]
    found["hypotheses"][0]["slices"] = SLICES | {"slices": slices} | changes
    return Report.model_validate(found)


def typst(found: Report, language: Language) -> str:
    """What the PDF shows of the slices."""
    told = pdf_content(found, language)["hypotheses"][0]["slices"]
    line = "".join(piece["text"] for piece in told["line"])
    return " ".join([*told["head"], *(cell for row in told["rows"] for cell in row), line])


FORMS = {
    "md": lambda found, language: re.sub(r"\\(.)", r"\1", print_markdown(found, language)),
    "html": lambda found, language: print_html(found, (), language),
    "tex": print_latex,
    "pdf": typst,
}


def as_machines_write(text: str) -> str:
    """A text of which pages and PDFs have set the numbers, with plain blanks and hyphens."""
    return text.replace("\u00a0", " ").replace("−", "-")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_shows_the_table_and_whether_the_arms_change_sides(form: str, language: Language) -> None:
    found = report()
    text = FORMS[form](found, language)
    head, rows = slices_table(found.hypotheses[0], language)
    standings = {"en": ("pass", "fail", "cannot tell"), "zh": ("通过", "不通过", "无法判定")}[language]
    assert [(row[0], row[1], row[-1]) for row in rows] == [
        (name, "40", told) for name, told in zip(NAMES, standings, strict=True)
    ]
    assert head[3] == {"en": "Interval; margin 5.00 pp", "zh": "区间；界值 5.00 个百分点"}[language]
    write = escape if form == "tex" else str
    for cell in (*head, *(cell for row in rows for cell in row), REVERSAL[language]):
        said = write(cell) if form != "html" else cell.replace("<", "&lt;").replace(">", "&gt;")
        assert as_machines_write(said) in as_machines_write(text), cell


@pytest.mark.parametrize("form", FORMS)
def test_without_a_table_the_reason_is_said(form: str) -> None:
    found = report(slices=[], reason="the items have no strata", outcome="cannot_tell")
    said = "No slice is to lose 5.00 pp or more (one-sided alpha = 0.05 each): "
    said += "cannot tell, since the items have no strata."
    assert (escape(said) if form == "tex" else said) in as_machines_write(FORMS[form](found, "en"))


def test_a_plan_that_asks_nothing_of_slices_has_no_such_part() -> None:
    plain = Report.model_validate(read_json("report"))
    assert "### Slices" not in print_markdown(plain)
    assert "<h3>Slices" not in print_html(plain)
    assert "\\paragraph{Slices}" not in print_latex(plain)
    assert typst(plain, "en").endswith("Standing ")


def test_the_pdf_is_set_with_them() -> None:
    assert set_pdf(pdf_content(report(), "zh"), {}).startswith(b"%PDF")
