"""Help in the reader's language: every text has its words, and nothing of the parser's own stays English."""

from __future__ import annotations

import argparse
import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import forelock
from forelock import cli, help_words, topics
from forelock.words import LANGUAGES, language_asked, width_of, without_language
from service.words.catalogue import HOME

HELP = Path(forelock.__file__).parent / "words" / "help"
OTHERS = [language for language in LANGUAGES if language != "en"]
CHINESE = re.compile("[\u4e00-\u9fff]")
WORDS = re.compile(r"(?:[A-Za-z][a-z'’-]+ ){2,}[A-Za-z][a-z'’-]+")
NAMES = re.compile(
    r"Every Eval Ever|Hugging Face Hub|Model Context Protocol|OSF Preregistration|EVAL_ID/RUN_ID"
)
VALUES = re.compile(r"%(?:\(\w+\))?[sr]|%%")
GLOSSARY = tomllib.loads((HOME / "glossary.toml").read_text("utf-8"))
OF_PROGRAMMERS = (
    "merge", "conflict", "callable", "mutually exclusive", "subparser", "dest=", "invalid option string", "unexpected",
    "'required' is", "not defined", "with mode", "subcommands", "version number", "%(default)s", "%(heading)s:",
)  # fmt: skip
"""Sentences of argparse about a parser that is wrong itself, and what a language says by its marks."""


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A parser and all below it."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from parsers(below)


def texts_of(parser: argparse.ArgumentParser) -> Iterator[str | None]:
    yield from (parser.description, parser.epilog)
    for group in parser._action_groups:
        yield from (group.title, group.description)
    for action in parser._actions:
        yield action.help
        if isinstance(action, argparse._SubParsersAction):
            yield from (choice.help for choice in action._choices_actions)


@pytest.fixture(scope="module")
def said() -> set[str]:
    """Every text that some help shows."""
    purposes = {topic.purpose for topic in topics.TOPICS.values()}
    texts = {text for parser in parsers(cli.whole()) for text in texts_of(parser) if text}
    return {*texts, *purposes}


def of_argparse() -> set[str]:
    """What this release of argparse asks a translation of."""
    source = ast.parse(Path(argparse.__file__).read_text("utf-8"))
    calls = [node for node in ast.walk(source) if isinstance(node, ast.Call)]
    asked = [call.args for call in calls if getattr(call.func, "id", "") in ("_", "ngettext")]
    return {
        argument.value
        for arguments in asked
        for argument in arguments
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }


def of_the_client() -> set[str]:
    """What the client itself asks a translation of, word for word."""
    asked = set()
    for path in (Path(forelock.__file__).parent).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                asked.add(node.value)
    return asked


@pytest.mark.parametrize("language", OTHERS)
def test_every_text_of_help_has_its_words_and_no_other_has(language: str, said: set[str]) -> None:
    words = tomllib.loads((HELP / f"{language}.toml").read_text("utf-8"))
    parsers_own = words.pop("argparse")
    assert sorted(said - {*words, *parsers_own}) == [], f"client/forelock/words/help/{language}.toml"
    asked = {text for text in of_argparse() if not any(part in text for part in OF_PROGRAMMERS)}
    assert sorted(asked - {*parsers_own}) == []
    assert sorted({*words} - said - of_the_client()) == []


@pytest.mark.parametrize("language", OTHERS)
def test_words_of_help_keep_values_and_have_the_marks_and_names_of_their_language(language: str) -> None:
    for english, text in help_words._texts(language).items():
        assert sorted(VALUES.findall(english)) == sorted(VALUES.findall(text)), english
        assert english.endswith("\n") == text.endswith("\n"), english
        prose = re.sub(r"`[^`]*`|%\(\w+\)[sr]|%[sr%]|(?<=\w):(?=\d)", "", text)
        assert not (
            CHINESE.search(text)
            and re.search(r"[\u4e00-\u9fff] ?[,:;?!()]|[,;:?!()] ?[\u4e00-\u9fff]", prose)
        ), text
        assert not re.search(
            r"[\u4e00-\u9fff][A-Za-z0-9`]|[A-Za-z0-9`][\u4e00-\u9fff]", re.sub("`[^`]*`", "``", text)
        ), text
        for term in GLOSSARY.values():
            assert not any(other in text for other in term["never"]), text


@pytest.mark.parametrize("language", OTHERS)
def test_help_of_every_command_has_no_english_sentence(language: str) -> None:
    with help_words.speaking(language):
        for parser in parsers(cli.whole()):
            usage, _, rest = parser.format_help().partition("\n\n")
            lines = [line for line in rest.splitlines() if not line.startswith("  forelock ")]
            left = WORDS.findall(NAMES.sub("", "\n".join(lines)))
            assert left == [], parser.prog
            assert usage.startswith("用法：forelock")
            assert "选项：\n" in rest


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plan", "create"), "forelock plan create：错误：缺少以下参数：file\n"),
        (("gate", "a", "b", "--missing", "all"), "参数 --missing：没有选项 'all'（可选："),
        (("gate", "a", "b", "--margni", "2pp"), "无法识别的参数：--margni 2pp；是否指 --margin？"),
        (("gatee",), "没有命令 'gatee'；是否指 `forelock gate`？"),
        (("plan", "zzzzzz"), "没有命令 'zzzzzz'；`forelock plan --help` 列出全部命令"),
        (("help", "gatt"), "没有主题或命令 'gatt'；是否指 `forelock help gate`？"),
        (("gate", "a", "--margin"), "参数 --margin：需要一个值"),
        (("audit", "-a", "65"), "参数 -a/--candidate：65 不是比例：请写成 0.65 或 65%"),
        (("submit", "ID", "f", "--batch-size", "0"), "须为 1 或以上"),
        (("gate", "a", "b", "--width", "9"), "'9' 不是宽度：请写 40 至 400 的毫米数"),
    ],
)
def test_what_is_wrong_with_a_command_line_is_said_in_chinese(
    capsys, monkeypatch, arguments, said: str
) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main((*arguments, "--lang", "en") if arguments[0] == "gate" else ("lock", "--json"))
    assert not CHINESE.search(capsys.readouterr().err)
    assert argparse._("usage: ") == "usage: "  # type: ignore[attr-defined]


@pytest.mark.parametrize("arguments", [("--help",), ("help",), ("help", "all"), ("help", "plans")])
def test_screens_of_help_are_chinese_where_they_are_asked_so(capsys, monkeypatch, arguments) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    assert cli.main(arguments) == 0
    assert not CHINESE.search(capsys.readouterr().out)
    assert cli.main((*arguments, "--lang", "zh")) == 0
    screen = capsys.readouterr().out
    shown = [line for line in screen.splitlines() if not line.startswith("  forelock ")]
    assert WORDS.findall(NAMES.sub("", "\n".join(shown)).replace("forelock help all", "")) == []


def test_the_language_of_help_is_what_is_asked_else_the_terminals(monkeypatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert language_asked(["gate", "--help"]) == "zh"
    assert language_asked(["gate", "--help", "--lang", "en"]) == "en"
    assert language_asked(["gate", "--lang=en"]) == "en"
    assert language_asked(["gate", "--json"]) == "en"
    assert language_asked(["gate", "--lang", "xx"]) == "zh"
    monkeypatch.setenv("LC_ALL", "C")
    assert language_asked(["gate", "--lang", "zh"]) == "zh"
    assert without_language(["help", "--lang", "zh", "gate", "--lang=en"]) == ("help", "gate")


def test_lines_break_between_chinese_characters_and_not_before_their_marks() -> None:
    text = "结果文件（也可以是 `a.csv` 与 b.csv），一个回答。"
    for width in range(10, 60):
        lines = help_words.wrap(text, width)
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")
        assert all(width_of(line) <= width for line in lines)
        assert not any(line[0] in "，。）、：；" or line[-1] == "（" for line in lines)
