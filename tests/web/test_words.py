"""Every page in English and Chinese: nothing that a visitor reads is left untranslated."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from string import Formatter

import pytest
from jinja2 import Environment, nodes

import service.web
from service.web.rendering import drawn_here
from service.web.words.speech import CHINESE, Say, accepted

WEB = Path(service.web.__file__).parent
TEMPLATES = sorted((WEB / "templates").rglob("*.html"))
SPOKEN = ("aria-label", "alt", "placeholder", "title", "content", "label", "value")
NAMES = {
    "Forelock", "SHA-256", "JSON", "width=device-width, initial-scale=1", "light dark", "English", "中文",
    "CSV", "Markdown",
}  # fmt: skip
"""Names and formats, which are the same in both languages."""


def said_in_template(path: Path) -> list[str]:
    """Every text that a template says."""
    tree = Environment(autoescape=True).parse(path.read_text())
    return [
        call.args[0].value
        for call in tree.find_all(nodes.Call)
        if isinstance(call.node, nodes.Name)
        and call.node.name == "say"
        and isinstance(call.args[0], nodes.Const)
    ]


def said_in_module(path: Path) -> list[str]:
    """Every text that a module says or marks."""
    calls = [each for each in ast.walk(ast.parse(path.read_text())) if isinstance(each, ast.Call)]
    return [
        text.value
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id in ("say", "worded") and call.args
        for text in call.args[:1]
        if isinstance(text, ast.Constant) and isinstance(text.value, str)
    ]


def every_text() -> set[str]:
    found = {text for path in TEMPLATES for text in said_in_template(path)}
    return found | {text for path in WEB.rglob("*.py") for text in said_in_module(path)}


def fields_of(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def test_what_is_said_has_its_chinese_and_nothing_else_has():
    said = every_text()
    assert sorted(said - set(CHINESE)) == []
    assert sorted(set(CHINESE) - said) == []


def test_both_languages_have_the_same_parts_and_the_same_code():
    for english, chinese in CHINESE.items():
        assert fields_of(english) == fields_of(chinese), english
        assert sorted(re.findall("`[^`]+`", english)) == sorted(re.findall("`[^`]+`", chinese)), english


def test_chinese_is_chinese():
    latin = [text for text, said in CHINESE.items() if not re.search("[\u4e00-\u9fff]", said)]
    assert latin == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_writes_no_words_of_its_own(path):
    """What stands between expressions is markup: letters in texts and in attributes that are read aloud are said."""
    tree = Environment(autoescape=True).parse(path.read_text())
    data = [each.data for each in tree.find_all(nodes.TemplateData)]
    markup = "\0".join(data)
    texts = re.sub(
        r"<[^>]*(>|$)|^[^<]*>", "\0", re.sub(r"<code>.*?</code>", "", _closed(path.read_text()), flags=re.S)
    )
    words = {each.strip(" \n·:,()") for each in texts.split("\0")} - NAMES
    assert [each for each in words if re.search(r"[^\W\d_]", each)] == []
    for name, value in re.findall(r'([a-z-]+)="([^"{]*)"', markup):
        if name in SPOKEN and name not in ("value", "content"):
            assert not re.search(r"[^\W\d_]", value), (name, value)


def _closed(source: str) -> str:
    """The template without its tags and expressions."""
    return re.sub(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", "", source, flags=re.S)


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("en-US,zh;q=0.9", "en"),
        ("de, zh;q=0.5, en;q=0.4", "zh"),
        ("zh;q=0, en;q=0.1", "en"),
        ("*;q=0.5, zh;q=0.4", "en"),
        ("zh;q=9; x", "en"),
        ("q" * 5000, "en"),
    ],
)
def test_the_language_is_the_heaviest_that_is_spoken(header, language):
    assert accepted(header) == language


def test_parts_are_put_in_as_they_are():
    assert Say("en")("{n} shown that match.", n="{x}") == "{x} shown that match."
    assert "3" in Say("zh")("{n} shown that match.", n=3)


def test_what_was_not_translated_is_refused_in_chinese():
    with pytest.raises(KeyError):
        Say("zh")("nobody said this")
    assert drawn_here(b"<svg/>") == "<svg/>"
