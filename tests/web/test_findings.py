"""What lint says of a plan, on the pages of either language."""

from __future__ import annotations

import re

import pytest

from service.domain.lint.lint import SECTIONS, lint
from service.domain.plans.findings import name_at, warning
from service.reports.findings import translate
from service.web.preregistrations.findings_view import merge_findings
from service.words import say
from tests.domain.sample import VALUE, findings, manifest, plan

FIGURE = re.compile(r"(?<![A-Za-z])\d+(?:,\d{3})*(?:\.\d+)?")


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"assumptions": {"discordance": 0.2}},
        {"hypotheses.0.rule": "delta > 0 and m.p_value < 0.05", "hypotheses.0.statement": "C2 beats C1"},
        {"hypotheses.0.rule": "delta > 0 and m.p_value < 0.05", "sesoi.accuracy.value": 3},
        {"hypotheses.0.rule": "delta > 0 and nobody.p_value < 0.05"},
        {"hypotheses.0.rule": "delta > 0 and m.p_valu < 0.05"},
        {"hypotheses.0.candidate": "C1"},
        {"hypotheses.0.claim": "equivalence", "hypotheses.0.rule": "m.p_value > 0.05"},
        {"populations.0.n": 20},
        {"populations.0.n": 4},
        {"populations.0.n": 4, "multiplicity.policy": "none"},
        {"hypotheses.0.rule": "delta > 0.3 and delta < 0.1 and m.p_value < 0.05"},
        {"hypotheses.0.rule": "delta > -2 and m.p_value < 2"},
        {"hypotheses.0.claim": "non_inferiority", "hypotheses.0.rule": "delta > 0"},
        {"hypotheses.0.rule": "m.p_value < 0.2 and delta > 0"},
        {"populations.0.clusters": {"key": "c", "n": 5}, "populations.0.independence": None},
        dict.fromkeys(SECTIONS),
    ],
)
def test_what_lint_says_of_a_plan_is_said_in_chinese(changes: dict[str, object]) -> None:
    for facts in ({}, {"one": manifest(500).facts()}):
        for finding in lint(plan(changes), facts):
            words = translate(finding.code, finding.message, "zh")
            assert any(letter >= "\u4e00" for letter in words.text), finding.message
            assert words.english == "", finding.message
            assert {*FIGURE.findall(words.text)} == {*FIGURE.findall(finding.message)}, words.text


def test_a_finding_is_said_in_the_language_of_the_page() -> None:
    (missing,) = findings({"title": None})
    assert translate(missing.code, missing.message, "en").text == missing.message
    assert translate(missing.code, missing.message, "zh").text == "计划没有标题：请给计划起一个标题"
    hostile = translate("SAME_ARM", "'{0.__class__}' is compared with itself: name two arms", "zh")
    assert hostile.text == "“{0.__class__}”与自身比较：请写两个不同的组"


def test_a_message_that_no_template_gave_stands_beside_what_its_code_means() -> None:
    words = translate("UNIT", "an earlier release said so", "zh")
    assert words.text == say("codes.UNIT", "zh")
    assert words.english == "an earlier release said so"
    later = translate("NO_SUCH_CODE", "a later release said so", "zh")
    assert (later.text, later.english) == ("", "a later release said so")
    assert translate("UNIT", "x" * 3000, "zh").english == "x" * 3000


def test_what_is_said_of_several_hypotheses_stands_once_with_their_names() -> None:
    first = VALUE["hypotheses"][0]
    two = plan({"hypotheses.1": first | {"id": "H2"}, "multiplicity.family": ["H1", "H2"]})
    alike = [warning("SIZE_NOT_TESTED", f"hypotheses[{at}].rule", "of both") for at in range(2)]
    of_data = warning("CAUTION", "populations[0].clusters", "of the data")
    whole = warning("UNIT", "", "of the plan")
    views = merge_findings(two, [alike[0], of_data, alike[1], whole])
    assert [(each.message, each.of) for each in views] == [
        ("of both", ("H1", "H2")),
        ("of the data", ("one",)),
        ("of the plan", ()),
    ]
    assert views[0].paths == ("hypotheses[0].rule", "hypotheses[1].rule")


@pytest.mark.parametrize(
    "path", ["hypotheses[7].rule", "stopping", "thresholds[0]", "title[0]", "__class__[0]"]
)
def test_a_path_that_leads_to_nothing_with_an_id_names_nothing(path: str) -> None:
    assert name_at(plan(), path) == ""
