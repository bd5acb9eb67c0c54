"""A verdict with every test that a plan may use, read in Chinese: no sentence is English."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import pytest

from forelock.text import verdict_text
from forelock.words import Say as TerminalSay
from service.api.examples.common import PLAN, VERDICT
from service.api.examples.made import read_json
from service.domain.notes.notes import sentences
from service.domain.plans.plan import Plan
from service.domain.verdicts.records import Verdict
from service.reports.verdict import content
from service.reports.verdict.content import Report
from service.reports.verdict.html import print_html
from service.reports.verdict.latex import print_latex
from service.reports.verdict.markdown import print_markdown
from service.reports.verdict.pdf import pdf_content
from service.stats.shared.declaring import registry
from service.web.html.speech import Say
from service.web.preregistrations.hypothesis_view import hypotheses_view
from service.web.preregistrations.views import JudgedView

ENGLISH = re.compile(r"(?:[A-Za-z][A-Za-z'’-]*[ ,;:]+){3,}[A-Za-z][A-Za-z'’-]*")
"""Four Latin words in a row: names, units and symbols stand alone or in pairs."""
NOT_READ = re.compile(r"<(code|style|script)[ >].*?</\1>|<[^>]*>|`[^`]*`|\\[a-z]+\{[^{}]*\}", re.DOTALL)
OWN = "乙优于甲。"
OLD = "The candidate is ahead of the baseline by +2.00 points, says a release that nobody runs any more."


@cache
def plan() -> Plan:
    hypotheses = [{**PLAN["hypotheses"][0], "statement": OWN}]
    return Plan.from_dict(PLAN | {"title": "甲与乙", "hypotheses": hypotheses})


@cache
def stored() -> dict[str, Any]:
    """What every test that a plan may use says of its example."""
    answers = {}
    for name in sorted(registry.latest()):
        test = registry.find(name)
        if test.plan is not None:
            request = test.request.model_validate(dict(test.example))
            answers[name] = json.loads(test.answer(request).model_dump_json(by_alias=True))
    return answers


def verdict(**analyses: Any) -> Verdict:
    hypothesis = {**VERDICT["hypotheses"][0], "analyses": analyses or stored()}
    return Verdict.model_validate(VERDICT | {"hypotheses": [hypothesis], "voided_batches": []})


def report() -> Report:
    written = read_json("report")
    tests = [
        found.model_dump(mode="json", by_alias=True)
        for found in content._list_tests(plan(), verdict().hypotheses[0])
    ]
    hypothesis = {**written["hypotheses"][0], "statement": OWN, "tests": tests}
    return Report.model_validate(written | {"title": "甲与乙", "authors": [], "hypotheses": [hypothesis]})


def pieces_of(value: Any) -> str:
    """All texts of the PDF's content but code."""
    if isinstance(value, dict):
        return "" if value.get("code") else " | ".join(map(pieces_of, value.values()))
    return " | ".join(map(pieces_of, value)) if isinstance(value, list | tuple) else str(value)


FORMS = {
    "md": lambda found: print_markdown(found, "zh"),
    "html": lambda found: print_html(found, (), "zh"),
    "tex": lambda found: print_latex(found, "zh").partition("\\begin{document}")[2],
    "pdf": lambda found: pieces_of(pdf_content(found, "zh")),
}


@pytest.mark.parametrize("form", FORMS)
def test_no_sentence_of_a_report_is_english(form: str) -> None:
    text = FORMS[form](report())
    assert "候选组" in text or form == "tex"  # which has tables and the rule's sentence
    assert not ENGLISH.findall(NOT_READ.sub(" | ", text))


def judged_in_chinese(read: Verdict) -> JudgedView | None:
    """The first hypothesis, as its page shows it."""
    judged = {hypothesis.id: hypothesis for hypothesis in read.hypotheses}
    return hypotheses_view(plan(), judged, (), Say("zh"))[0].judged


def test_every_test_is_told_in_chinese_on_the_page() -> None:
    judged = judged_in_chinese(verdict())
    assert judged is not None
    assert {analysis.name for analysis in judged.analyses} == set(stored())
    for analysis in judged.analyses:
        assert not analysis.english
        assert not ENGLISH.search(analysis.sentence), analysis.sentence


def test_the_terminal_tells_them_too() -> None:
    read = verdict()
    words = {"hypotheses": [said.model_dump(mode="json") for said in sentences(plan(), read, {})]}
    text = verdict_text(read.model_dump(mode="json", by_alias=True), words, say=TerminalSay("zh"))
    assert text.count("候选组") > 12
    assert not ENGLISH.findall(NOT_READ.sub(" | ", " ".join(text.split())))


def test_what_another_release_said_stands_in_english_and_says_so() -> None:
    read = verdict(mcnemar={"test": "mcnemar", "version": 1, "analysis": {"sentence": OLD}})
    (said,) = sentences(plan(), read, {})
    assert said.tests[0].says.en == OLD
    assert said.tests[0].says.zh == f"{OLD}（由其他版本记录，只有英文）"
    judged = judged_in_chinese(read)
    assert judged is not None
    assert [analysis.english for analysis in judged.analyses] == [True]


def test_english_readers_are_told_the_stored_sentences() -> None:
    (said,) = sentences(plan(), verdict(), {})
    assert {answer.id: answer.says.en for answer in said.tests} == {
        name: answer["analysis"]["sentence"] for name, answer in stored().items()
    }
