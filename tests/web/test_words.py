"""Every page in English and Chinese: nothing that a visitor reads is left untranslated."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import service.web
from service.web.calculations.catalogue import HEADINGS
from service.web.html.rendering import drawn_here
from service.web.html.speech import Say, choose_language, warning_in
from service.web.preregistrations.hypothesis_view import TRUTHS
from service.words import say
from service.words.catalogue import templates

WEB = Path(service.web.__file__).parent
TEMPLATES = sorted((WEB / "templates").rglob("*.html"))
PAGES = templates("zh", "pages")
SPOKEN = ("aria-label", "alt", "placeholder", "title", "content", "label", "value")
NAMES = {
    "Forelock", "SHA-256", "JSON", "width=device-width, initial-scale=1", "light dark", "English", "中文",
    "CSV", "Markdown", "CITATION.cff", "BibTeX",
}  # fmt: skip
"""Names and formats, which are the same in both languages."""


def every_code() -> set[str]:
    """Every code of the pages' words that a template or a module of the pages names."""
    sources = [path.read_text() for path in (*TEMPLATES, *WEB.rglob("*.py"))]
    return {code for source in sources for code in re.findall(r"""["']pages\.(\w+)["']""", source)}


def test_what_is_said_has_words_and_nothing_else_has():
    told = every_code() | set(TRUTHS.values()) | set(HEADINGS.values())
    assert sorted(told - set(templates("en", "pages"))) == []
    assert sorted(set(templates("en", "pages")) - told) == []


def test_chinese_is_chinese():
    texts = {
        code: say(f"pages.{code}", "zh", **dict.fromkeys(each.names, "")) for code, each in PAGES.items()
    }
    assert [code for code, text in texts.items() if not re.search("[\u4e00-\u9fff]", text)] == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_writes_no_words_of_its_own(path):
    """What stands between expressions is markup: letters in texts and in attributes that are read aloud are said."""
    markup = re.sub(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", "\0", path.read_text(), flags=re.S)
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
    assert choose_language(header) == language


def test_parts_are_put_in_as_they_are():
    assert Say("en")("pages.n_shown_that_match", n="{x}") == "{x} shown that match."
    assert "3" in Say("zh")("pages.n_shown_that_match", n=3)


def test_what_was_not_translated_is_refused_in_chinese():
    with pytest.raises(KeyError):
        Say("zh")("pages.nobody_said_this")
    assert drawn_here(b"<svg/>") == "<svg/>"


def test_a_warning_that_was_stored_without_leading_zeros_is_told_in_chinese():
    now = templates("en", "warnings")["BOOTSTRAP_FEW_RUNS"].fill({"n": 5, "rate": 0.12})
    before = now.replace("0.", ".")
    assert before != now
    told = warning_in("BOOTSTRAP_FEW_RUNS", before, "zh")
    assert (told, told.lang) == (warning_in("BOOTSTRAP_FEW_RUNS", now, "zh"), "")
    assert "0.19" in told.text
