"""Answers in the language that was asked for: `--lang`, else what LANG says; for programs English unless they ask."""

from __future__ import annotations

import json
import re
import string
import tomllib
from pathlib import Path

import pytest

from forelock.cli import main
from forelock.local import Local
from forelock.problem import ForelockProblem
from forelock.text import problem_text
from forelock.words import LANGUAGES, Say, pad, texts, width_of
from service.words.catalogue import HOME

CHINESE = re.compile("[\u4e00-\u9fff]")
GLOSSARY = tomllib.loads((HOME / "glossary.toml").read_text("utf-8"))
RIGHT = "item_id,value,kind\n" + "".join(f"q{at},{int(at % 3 > 0)},k{at % 2}\n" for at in range(60))
MORE = "item_id,value,kind\n" + "".join(f"q{at},{int(at % 5 > 0)},k{at % 2}\n" for at in range(60))


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "a.csv").write_text(RIGHT)
    (tmp_path / "b.csv").write_text(MORE)
    (tmp_path / "c.csv").write_text(
        "item_id,x,y\n" + "".join(f"q{at},{at % 2},{int(at % 3 > 0)}\n" for at in range(40))
    )
    both = [f"q{at},{arm},{int((at + len(arm)) % 9 > 0)}" for at in range(60) for arm in ("one", "three")]
    (tmp_path / "both.csv").write_text("\n".join(["item_id,arm,value", *both]))


def fields(text):
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def test_both_languages_have_the_same_words_and_fields():
    english, chinese = texts("en"), texts("zh")
    assert list(english) == list(chinese)
    for code in english:
        assert fields(english[code]) == fields(chinese[code]), code


def test_chinese_words_have_full_width_marks_and_one_name_a_thing():
    for code, text in texts("zh").items():
        prose = re.sub(r"`[^`]*`|\{[^}]*\}|\*\*", "", text)
        assert not (CHINESE.search(text) and re.search(r"[,:;?!()]", prose)), code
        for term in GLOSSARY.values():
            assert not any(other in text for other in term["never"]), (code, text)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("gate", "a.csv", "b.csv", "--margin", "2pp", "--slice", "kind"),
         ("无法判定 b.csv 是否不劣于 a.csv（界值 2.00 个百分点）", "不能排除", "下一步：")),
        (("score", "a.csv", "--at-least", "50%"), ("a.csv 达到 50.0%：", "分数", "阈值", "不低于 50.00%")),
        (("rank", "a.csv", "b.csv"), ("可以区分", "两两比较", "最好")),
        (("items", "a.csv", "b.csv"), ("以上只描述这些系统，不作检验。", "没有题目与其余题目反向")),
        (("resolve", "a.csv", "b.csv"), ("80% 功效下的最小差异", "两组")),
        (("audit", "-n", "500", "-a", "76%", "-b", "70%"), ("不一致的题目", "探索性")),
        (("noise", "a.csv"), ("未表明再运行一次会怎样。", "请把每个题目运行多次")),
        (("noise", "a.csv", "b.csv"), ("单次评审的方差", "题目，两组相同", "标准误：观测值", "请在每组把一些")),
        (("score", "both.csv", "--at-least", "50%"), ("2 个系统中，", "每个区间只针对其所属的系统", "系统 ", "达到")),
        (("gate", "a.csv", "b.csv", "--suite", "kind", "--margin", "2pp"), ("2 个任务，权重相同", "合并", "权重 0.5")),
    ],
)  # fmt: skip
def test_every_question_is_answered_in_chinese_where_that_is_asked(shell, arguments, said):
    _, output, errors = shell(*arguments, "--lang", "zh")
    assert errors == ""
    for words in said:
        assert words in output, output


def test_the_terminal_says_which_language_it_is_read_in(shell, monkeypatch):
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert "b.csv 比 a.csv 更好还是更差" in shell("gate", "a.csv", "b.csv")[1]
    assert "Cannot tell" in shell("gate", "a.csv", "b.csv", "--lang", "en")[1]
    assert "differs from" in json.loads(shell("gate", "a.csv", "b.csv", "--json")[1])["sentence"]
    asked = json.loads(shell("gate", "a.csv", "b.csv", "--json", "--lang", "zh")[1])
    assert CHINESE.search(asked["sentence"])
    monkeypatch.setenv("LC_ALL", "C")
    assert "Cannot tell" in shell("gate", "a.csv", "b.csv")[1]


def test_numbers_are_the_same_in_every_language(shell):
    english, chinese = (
        json.loads(shell("gate", "a.csv", "b.csv", "--json", "--lang", language)[1]) for language in LANGUAGES
    )
    for name in ("delta", "ci", "outcome", "tests", "answer"):
        assert english[name] == chinese[name]


def test_an_answer_leaves_the_next_one_in_its_own_language():
    body = {"baseline": [1, 0, 1, 1, 0, 1], "candidate": [1, 1, 1, 0, 0, 1]}
    assert CHINESE.search(Local("zh").resolve(body)["sentence"])
    assert not CHINESE.search(Local().resolve(body)["sentence"])


def test_the_blank_beside_a_method_is_that_of_its_script():
    ends = {"level": "95%", "low": "1%", "high": "2%"}
    say = Say("zh")
    assert say("method_interval", method=say.method("whole-cluster"), **ends) == "95% 整聚类区间 1% 至 2%"
    assert say("method_interval", method="CR2 t", **ends) == "95% CR2 t 区间 1% 至 2%"


def test_columns_of_ranks_and_reasons_of_slices_are_chinese_too(shell):
    ranks = shell("rank", "a.csv", "b.csv", "--lang", "zh")[1]
    assert "  梯队  系统" in ranks
    assert "个百分点" in ranks.splitlines()[0]
    assert " pp" in shell("rank", "a.csv", "b.csv", "--lang", "en")[1].splitlines()[0]
    rows = (row.split(",") for row in RIGHT.splitlines()[1:])
    clustered = "\n".join(
        ["item_id,value,kind,repo", *(f"{a},{b},{c},r{int(a[1:]) // 4}" for a, b, c in rows)]
    )
    Path("c.csv").write_text(clustered)
    output = shell("gate", "c.csv", "c.csv", "--cluster", "repo", "--slice", "kind", "--lang", "zh")[1]
    assert "优劣随切片反转：无法判定，有聚类的题目分属多个切片" in output


def test_a_chinese_name_of_a_line_takes_two_columns_a_character():
    assert width_of("差异") == 4
    assert width_of(pad(Say("zh").name("difference"), 12)) == 12


def test_a_comment_is_in_the_language_of_the_answer(shell):
    shell("gate", "a.csv", "b.csv", "--lang", "zh", "--markdown", "out.md")
    comment = Path("out.md").read_text()
    assert "**下一步：**" in comment
    assert "| 均值 |" in comment


@pytest.mark.parametrize(
    ("arguments", "english", "chinese"),
    [
        (
            ("score", "x.csv"),
            "forelock: x.csv: has no column 'item_id', and which one stands for it is not plain; it has a, b; "
            "call the column that tells the items 'item_id' in the first line, or add one",
            "forelock: x.csv：没有“item_id”列，也看不出哪一列可以代替它；现有 a、b；"
            "请在第一行把标明题的列称为“item_id”，或加上这一列",
        ),
        (
            ("score", "nosuch.csv"),
            "forelock: nosuch.csv: No such file or directory",
            "forelock: nosuch.csv：没有这个文件或目录",
        ),
        (
            ("run", "mcnemar", "r.json"),
            "validation_failed: both_correct must be at least 0\n"
            "  both_correct: must be at least 0; send a whole number at least 0 and at most 1000000000 or null",
            "validation_failed：both_correct：不得小于 0\n"
            "  both_correct：不得小于 0；请发送不小于 0 且不大于 1000000000 的整数或 null",
        ),
    ],
)
def test_a_refusal_is_in_the_language_of_the_terminal(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    english: str,
    chinese: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    (tmp_path / "r.json").write_text(
        '{"both_correct": -1, "only_baseline": 1, "only_candidate": 1, "both_wrong": 1}'
    )
    for locale, told in (("en_GB.UTF-8", english), ("zh_CN.UTF-8", chinese)):
        monkeypatch.setenv("LANG", locale)
        assert main(arguments) != 0
        assert capsys.readouterr().err.rstrip("\n") == told


def test_a_refusal_that_nobody_has_words_for_stays_as_it_is() -> None:
    assert problem_text(ForelockProblem(422, "odd", "nobody says this"), str) == "odd: nobody says this"


def test_behind_a_full_width_bracket_no_blank_stands() -> None:
    told = Say("zh")("right_in_one", name="a.csv", figures="75.00%（95% 置信区间 19.41% 至 99.37%）")
    assert told == "a.csv 单次运行答对 75.00%（95% 置信区间 19.41% 至 99.37%）的题目"
    assert Say("zh")("right_in_one", name="a.csv", figures="75.00%") == "a.csv 单次运行答对 75.00% 的题目"


def test_how_files_were_read_is_said_in_the_language_of_the_answer(shell):
    files = ("gate", "a.csv", "b.csv", "--margin", "2pp")
    assert "note: nothing in the files says whether they are of the same" in shell(*files)[1]
    said = shell(*files, "--lang", "zh")[1]
    assert "说明：文件没有说明两者的任务、数据集、题和评分器是否相同" in said
    assert "nothing in the files" not in said
    assert "各列即系统" in shell("rank", "c.csv", "--lang", "zh")[1]
