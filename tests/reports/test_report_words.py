"""A verdict's report in every form: warnings, rules of deviations, code as code, and no estimate that is none."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from service.api.examples.made import read_json
from service.domain.deviations.classification import RULES
from service.domain.evidence.card import title
from service.domain.plans.findings import Finding
from service.domain.rules.rule import Quantity
from service.domain.verdicts.parts import Span
from service.domain.verdicts.records import ClauseVerdict
from service.reports.charts.draw import draw
from service.reports.charts.on_page import set_on_page
from service.reports.figures import set_numbers
from service.reports.prereg.text import sentence
from service.reports.quoting import command_marked_up, mark_up, pieces
from service.reports.verdict import content, words
from service.reports.verdict.content import DeviationLine, Report
from service.reports.verdict.html import print_html
from service.reports.verdict.latex import escape, print_latex
from service.reports.verdict.markdown import print_markdown
from service.reports.verdict.pdf import fit_pictures, pdf_content, set_pdf
from service.words import Language
from service.words.catalogue import templates
from service.words.punctuation import colon
from tests.domain.sample import plan
from tests.drawing import mostly_slow
from tests.reports.charts.samples import specs
from tests.reports.sentences import in_languages


def report(**changes: Any) -> Report:
    return Report.model_validate(read_json("report") | changes)


def texts(value: Any) -> str:
    """All texts of the PDF's content."""
    if isinstance(value, dict):
        return f"`{value['text']}`" if value.get("code") else " ".join(map(texts, value.values()))
    if isinstance(value, list | tuple):
        return (
            "".join(map(texts, value)) + " "
            if value and isinstance(value[0], dict)
            else " ".join(map(texts, value))
        )
    return str(value)


FORMS = {
    "md": lambda found, language: re.sub(r"\\(.)", r"\1", print_markdown(found, language)),
    "html": lambda found, language: re.sub(r"</?code>", "`", print_html(found, (), language)),
    "tex": lambda found, language: re.sub(r"\\texttt\{([^{}]*)\}", r"`\1`", print_latex(found, language)),
    "pdf": lambda found, language: texts(pdf_content(found, language)),
}
LANGUAGES = pytest.mark.parametrize("language", ["en", "zh"])
EVERY_FORM = pytest.mark.parametrize("form", FORMS)


@LANGUAGES
@EVERY_FORM
def test_warnings_that_stood_at_the_lock_stand_in_the_report(form: str, language: Language) -> None:
    finding = Finding(
        code="LEVEL_EXCEEDED", severity="warning", path="hypotheses[0].rule", message="it errs too often"
    )
    warning = content._make_acknowledged(plan(), finding)
    page = FORMS[form](report(warnings=[warning.model_dump()]), language)
    assert f"`{escape('LEVEL_EXCEEDED') if form == 'tex' else 'LEVEL_EXCEEDED'}` H1{colon(language)}" in page
    assert words.say("acknowledged", language) in page
    write = escape if form == "tex" else str
    assert write("LEVEL_EXCEEDED") in page
    assert write("it errs too often") in page
    if language == "zh":
        assert "主张为假时" in page
    assert words.say("acknowledged", language) not in FORMS[form](report(warnings=[]), language)


def test_a_warning_of_several_hypotheses_stands_once_with_their_names() -> None:
    def warning(at: int, message: str) -> dict[str, Any]:
        path = f"hypotheses[{at}].rule"
        says = in_languages(message)
        return {"code": "LOW_POWER", "path": path, "of": f"H{at}", "says": says}

    found = report(warnings=[warning(1, "few"), warning(2, "few"), warning(1, "few"), warning(2, "none")])
    assert words.warning_lines(found, "en") == ["`LOW_POWER` H1, H2: few", "`LOW_POWER` H2: none"]


@LANGUAGES
@EVERY_FORM
def test_the_report_ends_with_the_commands_that_check_it(form: str, language: Language) -> None:
    found = report()
    page = FORMS[form](found, language)
    assert words.say("check_title", language) in page
    write = escape if form == "tex" else str
    for command in (
        f"forelock bundle {found.preregistration_id}",
        f"forelock verify {found.preregistration_id}.zip",
    ):
        assert f"`{write(command)}`" in page


@LANGUAGES
@pytest.mark.parametrize("form", ["md", "html", "pdf"])  # a paper's file has no evidence card
def test_evidence_that_scores_less_says_what_it_lacks(form: str, language: Language) -> None:
    lacks = in_languages("every one names an equivalence test; H1a does not", "都指定了等价性检验")
    says = in_languages("the items are independent", "题目相互独立")
    piece = {"title": in_languages("Equivalence", "等价"), "score": 0, "lacks": [lacks], "declared": [says]}
    page = FORMS[form](report(evidence=[piece]), language)
    assert words.say("lacks", language, what=lacks[language]) in page
    assert words.say("declared", language, what=says[language]) in page
    assert "0 / 2" in page


@LANGUAGES
@EVERY_FORM
@pytest.mark.parametrize("decided_by", [None, "Reviewer B"])
def test_a_deviation_stands_with_the_rule_that_rejected_it(
    form: str, language: Language, decided_by: str | None
) -> None:
    rule = next(each for each in RULES if each.id == "primary-endpoint-switched")
    line = DeviationLine(
        number=1,
        title="F1 instead of accuracy",
        reason="it is finer",
        standing="reject" if decided_by is None else "accept",
        rule={"ruleset": 1, "id": rule.id, "says": rule.says},  # type: ignore[arg-type]
        classification="reject",
        decided_by=decided_by,
    )
    page = FORMS[form](report(deviations=[line.model_dump()]), language)
    assert rule.id in page
    assert ("换成另一个端点" if language == "zh" else "another one answers another question") in page
    assert words.standing_word("reject", language) in page
    assert decided_by is None or decided_by in page


def test_every_rule_of_deviations_is_said_in_chinese() -> None:
    assert {key for key in templates("zh", "reports") if key.startswith("rule_")} == {
        f"rule_{each.id.replace('-', '_')}" for each in RULES
    }


@LANGUAGES
@EVERY_FORM
def test_what_a_sentence_quotes_is_code_and_no_backtick_is_printed(form: str, language: Language) -> None:
    found = read_json("report")
    said = "H1 is not supported: `t.p_value < 0.05` does not hold & <b> [x] 50% *y*"
    for hypothesis in found["hypotheses"]:
        hypothesis["sentences"] = hypothesis["next"] = in_languages(said)
        for test in hypothesis["tests"]:
            test["sentence"] = said
    found["marks"] = [in_languages(said)]
    found["multiplicity"] = "the policy is `none`"
    made = Report.model_validate(found)
    raw = {
        "md": print_markdown(made, language),
        "html": print_html(made, (), language),
        "tex": print_latex(made, language),
        "pdf": json.dumps(pdf_content(made, language), ensure_ascii=False),
    }[form]
    code = {
        "md": "`t.p_value < 0.05`",
        "html": "<code>t.p_value &lt; 0.05</code>",
        "tex": r"\texttt{t.p\_value \textless{} 0.05}",
        "pdf": '{"text": "t.p_value < 0.05", "code": true}',
    }[form]
    assert raw.count(code) >= 2
    literal = {"md": r"\`", "html": "`", "tex": "textasciigrave", "pdf": "`"}[form]
    assert literal not in raw


def test_pieces_by_definition() -> None:
    assert pieces("a `b` c") == [("a ", False), ("b", True), (" c", False)]
    assert pieces("``b``") == [("b", True)]
    assert pieces("a ` b") == [("a ` b", False)]
    assert "".join(text for text, _ in pieces("x `y` `z")) == "x y `z"
    assert sentence("# `a|b` *c*") == r"\# `a|b` \*c\*"


def test_no_option_of_a_command_is_torn_at_its_dashes() -> None:
    assert mark_up("Add `--checkpoint FILE` <to> both") == (
        'Add <code><span class="option">--checkpoint</span> FILE</code> &lt;to&gt; both'
    )
    assert mark_up("`a--b <c>`") == "<code>a--b &lt;c&gt;</code>"
    assert command_marked_up("gate a--b.csv --margin=2pp") == (
        'gate a--b.csv <span class="option">--margin=2pp</span>'
    )


def test_a_p_says_what_it_is_of() -> None:
    sides = ("two-sided", "greater", "less", "both", None)
    report = with_tests(*({"p_value": 0.25, "delta": 0.0, "sides": each} for each in sides))
    told = [row[-1] for row in words.rows_of_tests(report.hypotheses[0], "en")]
    assert told == [
        "p = 0.250 (two-sided)", "p = 0.250 (one-sided, for more)", "p = 0.250 (one-sided, for less)",
        "p = 0.250 (two one-sided tests)", "p = 0.250",
    ]  # fmt: skip


def test_a_clause_says_the_level_of_its_interval_beside_tests_of_another() -> None:
    interval = {"low": -0.03, "high": 0.05, "level": 0.95, "method": "percentile"}
    narrow = {**interval, "level": 0.9}
    report = with_tests({"id": "t", "ci": interval, "delta": 0.01}, {"id": "eq", "ci": narrow, "delta": 0.01})
    clause = ClauseVerdict(
        text="t.ci excludes 0", observed=Span(low=-0.03, high=0.05), threshold=0.0, holds=False, reason=None
    )
    judged = report.hypotheses[0].model_copy(update={"clauses": (clause,)})
    assert words.clause_rows(judged, "en")[0][1].endswith("], 95%")
    alone = judged.model_copy(update={"tests": judged.tests[:1]})
    assert words.clause_rows(alone, "en")[0][1].endswith("]")


def with_tests(*tests: dict[str, Any]) -> Report:
    found = read_json("report")
    found["hypotheses"] = found["hypotheses"][:1]
    found["hypotheses"][0]["tests"] = [
        {"id": "t", "test": "welch", "delta": None, "ci": None, "p_value": None, "p_bound": None, "statistics": {},
         "effects": {}, "sentence": "It says so.", "says": in_languages("It says so.", "如此。")} | each
        for each in tests
    ]  # fmt: skip
    return Report.model_validate(found)


RATIO = {"low": 0.61, "high": 0.93, "level": 0.95, "method": "fieller"}


@LANGUAGES
@EVERY_FORM
def test_a_ratio_has_its_own_estimate_and_interval(form: str, language: Language) -> None:
    found = with_tests(
        {"id": "ratio", "endpoint": "tokens", "binary": False, "delta": -120.0, "p_value": 0.01,
         "estimates": [{"name": "ratio", "value": 0.75, "ci": RATIO}]},
    )  # fmt: skip
    page = FORMS[form](found, language)
    ends = escape("[0.61, 0.93]") if form == "tex" else "[0.61, 0.93]"
    assert ends in page
    assert "0.75" in page
    assert words.say("ratio", language) in page
    assert not re.search(r"ratio[^\n]{0,12}–\W*–", page)


@LANGUAGES
def test_no_row_of_tests_is_made_of_dashes(language: Language) -> None:
    undefined = {"low": None, "high": None, "level": 0.95, "method": "t"}
    found = with_tests({"id": "gone"}, {"id": "flat", "delta": 0.5, "ci": undefined}, {"id": "half", "delta": 0.5,
                        "ci": {**undefined, "low": 0.1}})  # fmt: skip
    rows = words.rows_of_tests(found.hypotheses[0], language)
    assert [row[0] for row in rows] == ["gone", "flat", "half"]
    assert not any("–" in cell for row in rows for cell in row)
    assert rows[0][1] == rows[1][2] == words.say("undefined", language)
    assert "∞]" in rows[2][2]


def test_an_interval_without_ends_is_none_and_an_open_end_is_infinite() -> None:
    assert content._interval({"low": None, "high": None, "level": 0.95, "method": "t"}) is None
    assert words.span(None, None, binary=False) == "not defined"
    assert words.span(None, None, binary=False, language="zh") == "未定义"
    assert words.span(None, 0.1, binary=False) == "[−∞, +0.1]"


def test_points_of_a_chinese_table_are_said_in_chinese_and_once_of_an_interval() -> None:
    assert words.value(-0.0066, binary=True, signed=True) == "-0.66 pp"
    assert words.value(-0.0066, binary=True, signed=True, language="zh") == "-0.66 个百分点"
    assert words.span(-0.0227, 0.0096, binary=True) == "[-2.27 pp, +0.96 pp]"
    assert words.span(-0.0227, 0.0096, binary=True, language="zh") == "[-2.27, +0.96] 个百分点"
    assert words.span(None, 0.0096, binary=True, language="zh") == "[−∞, +0.96] 个百分点"
    at_least = Quantity(text="2.0", unit="pp")
    assert [words.quantity_text(at_least, language) for language in ("en", "zh")] == [
        "2.0 pp",
        "2.0 个百分点",
    ]
    assert words.quantity_text(Quantity(text="0.05"), "zh") == "0.05"


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (print_markdown, "p = 3.2 × 10⁻⁶"),
        (print_html, "p\u00a0=\u00a03.2\u00a0×\u00a010⁻⁶"),
        (print_latex, r"& 3.2 \ensuremath{\times} 10\textsuperscript{\ensuremath{-}}\textsuperscript{6}"),
    ],
)
def test_a_very_small_p_is_no_power_of_a_machine(write: Any, said: str) -> None:
    found = with_tests({"id": "tiny", "delta": 0.5, "p_value": 3.2e-6, "ci": RATIO})
    text = write(found)
    assert said in text
    assert "3.2e-06" not in text


def test_results_that_failed_are_in_and_how_few_were_judged_stands_beside_the_points() -> None:
    found = with_tests({"id": "any", "delta": 0.5})
    (piece,) = [each for each in found.evidence if each.title == title("no_optional_stopping")]
    all_in = piece.model_copy(update={"score": 2, "lacks": ()})
    whole = found.hypotheses[0].model_copy(update={"n": 30, "n_planned": 30})
    few = found.hypotheses[0].model_copy(update={"n": 1, "n_planned": 30})
    name = few.id
    told = words.lacks_line(found.model_copy(update={"hypotheses": (few,)}), all_in, "en")
    assert told == f"A result that failed is in as well: {name} was judged on 1 of 30 planned items."
    told = words.lacks_line(found.model_copy(update={"hypotheses": (few,)}), all_in, "zh")
    assert told == f"失败的结果也算已收到：{name} 依据计划的 30 个题目中的 1 个判定。"
    assert words.lacks_line(found.model_copy(update={"hypotheses": (whole,)}), all_in, "en") == ""


def test_the_pdf_is_set_with_all_of_it() -> None:
    found = with_tests({"id": "ratio", "estimates": [{"name": "ratio", "value": 0.75, "ci": RATIO}]})
    warning = {"code": "CAUTION", "path": "", "says": in_languages("`a` few", "`a` 少")}
    whole = Report.model_validate(found.model_dump() | {"warnings": [warning]})
    for language in ("en", "zh"):
        assert io.BytesIO(set_pdf(pdf_content(whole, language), {})).read(5) == b"%PDF-"  # type: ignore[arg-type]


@LANGUAGES
@EVERY_FORM
def test_how_soon_results_were_in_stands_above_the_first_hypothesis(form: str, language: Language) -> None:
    arrival = in_languages("Every result was there at once.", "全部结果立刻到达。")
    page = FORMS[form](report(arrival=arrival), language)
    headline = report().hypotheses[0].headline.of(language)
    assert 0 < page.index(arrival[language]) < page.index(headline[:12])


@LANGUAGES
@EVERY_FORM
def test_a_next_study_is_a_table_in_every_form(form: str, language: Language) -> None:
    found = report()
    (sizes,) = [each.next_sizes for each in found.hypotheses]
    assert sizes is not None
    head, rows = words.sizes_table(sizes, language)
    said = [sizes.lead.of(language), *head, *(cell for row in rows for cell in row)]
    write = (lambda text: set_numbers(escape(text))) if form == "tex" else set_numbers
    page = set_numbers(FORMS[form](found, language))
    plain = [text for text in said if "`" not in text and "'" not in text]
    assert len(plain) > len(said) // 2
    assert [text for text in plain if write(text) not in page] == []


@LANGUAGES
@EVERY_FORM
def test_numbers_of_leaves_that_do_not_follow_one_another_are_accounted_for(
    form: str, language: Language
) -> None:
    (leaf,) = read_json("report")["ledger"]
    line = words.say("leaves_between", language)
    near, far = ([leaf, leaf | {"sequence": leaf["sequence"] + step}] for step in (1, 2))
    assert line not in FORMS[form](report(ledger=near), language)
    assert (line in FORMS[form](report(ledger=far), language)) is (form != "tex")  # which has no timeline


@pytest.mark.parametrize("language", mostly_slow(["en", "zh"], 1))
def test_two_hypotheses_with_their_pictures_are_two_pages_and_name_their_rules(language: Language) -> None:
    (one,) = read_json("report")["hypotheses"]
    long = " ".join(["as long as what lint says of a rule's chance in English"] * 6)
    warnings = [{"code": "CAUTION", "path": str(at), "says": in_languages(f"{at} {long}")} for at in range(7)]
    found = pdf_content(report(hypotheses=[one, one | {"id": "H1b"}], warnings=warnings), language)
    drawn = fit_pictures({"forest": specs(language)["forest"], "cumulative": specs(language)["cumulative"]})
    pages = set_pdf(found, {name: draw(spec, "svg").decode() for name, spec in drawn.items()})
    assert re.findall(rb"/Count (\d+)", pages) == [b"2"]
    assert found["rule"] == words.say("rule", language) + colon(language)


def test_a_curve_beside_text_is_drawn_as_narrow_as_on_a_phone() -> None:
    curve = specs()["cumulative"]
    (fitted,) = fit_pictures({"cumulative": curve}).values()
    assert fitted["width"] < curve["width"] / 1.8
    assert fit_pictures({}) == {}


def test_a_pdf_is_set_of_a_hypothesis_whose_rows_are_not_open() -> None:
    (one,) = read_json("report")["hypotheses"]
    closed = pdf_content(report(hypotheses=[one | {"arms": []}]))
    assert closed["hypotheses"][0]["statistics"]["rows"] == []
    assert set_pdf(closed, {}).startswith(b"%PDF-")


def test_a_pdf_is_set_though_the_working_directory_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, picture = pdf_content(report()), draw(specs()["forest"], "svg").decode()
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert set_pdf(content, {}).startswith(b"%PDF-")
    assert set_on_page(picture, "pdf").startswith(b"%PDF-")
