"""The catalogues of all languages side by side: the same codes, the same fields, and one name for one thing."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.words import (
    LANGUAGES,
    Stored,
    catalogue,
    list_values,
    message,
    read,
    say,
    speak,
    speaking,
    spoken,
    text_of,
)
from service.words.catalogue import HOME, Template, templates

ROOMS = sorted(path.stem for path in (HOME / "en").glob("*.toml"))
OTHERS = [language for language in LANGUAGES if language != "en"]
READ_BACK = ("findings", "multiplicity", "reasons", "faults")
"""Rooms whose English is stored."""
WITHOUT_WORDS = {"comparison.score", "findings.also_at", "faults.way"}
"""A number, a list or an option by itself."""
CHINESE = re.compile("[\u4e00-\u9fff]")
GLOSSARY: dict[str, dict[str, Any]] = tomllib.loads((HOME / "glossary.toml").read_text("utf-8"))
OWN_MARKS = {("notes", "opened")}
"""What an author wrote ends with its own mark, and the next sentence begins behind a blank."""
VALUES = {
    "number": "1,007",
    "amount": "2 pp",
    "word": "x.p_value",
    "json": '{"id": "m", "test": "mcnemar"}',
    "list": "a, b",
    "several": "an SD of 0.5, an ICC of 0.1",
    "several;": "an SD of 0.5; an ICC of 0.1",
    "": "C1-“new”{0}",
}


@cache
def texts_of(language: str, room: str) -> dict[str, str]:
    """The texts of a room as they are written."""
    return tomllib.loads((HOME / language / f"{room}.toml").read_text("utf-8"))


def entries(room: str) -> list[tuple[str, str, Template]]:
    """Every English template of a room with its text as it is written."""
    source = texts_of("en", room)
    return [(code, source[code], template) for code, template in templates("en", room).items()]


def sentence_of(room: str) -> str:
    """The shortest text of a room that has no values."""
    return min((text for _, text, template in entries(room) if not template.parts[0][1]), key=len)


def filled(room: str, template: Template, count: str = "7") -> tuple[str, dict[str, str]]:
    """A template with a value of its kind in each of its fields, and these values."""
    values = {}
    for name, spec in template.specs.items():
        inner = catalogue.room_of(spec, room)
        values[name] = VALUES[spec] if inner is None else sentence_of(inner)
    counted = {name: count for _, name, spec in template.parts if name is not None and "|" in spec}
    return template.fill({**values, **counted}), {**values, **dict.fromkeys(counted, count)}


@pytest.mark.parametrize("language", OTHERS)
def test_every_language_has_the_same_rooms(language: str) -> None:
    assert sorted(path.stem for path in (HOME / language).glob("*.toml")) == ROOMS


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("room", ROOMS)
def test_every_language_has_the_same_codes_in_the_same_order(room: str, language: Any) -> None:
    file, own, english = (
        f"service/words/{language}/{room}.toml",
        [*templates(language, room)],
        [*templates("en", room)],
    )
    assert not set(english) - set(own), f"{file} lacks {', '.join(sorted(set(english) - set(own)))}"
    assert not set(own) - set(english), f"{file}: English has no {', '.join(sorted(set(own) - set(english)))}"
    assert own == english, f"{file}: put its codes in the order of English"


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("room", ROOMS)
def test_no_language_asks_for_a_value_that_english_does_not_have(room: str, language: Any) -> None:
    for code, template in templates(language, room).items():
        assert template.names <= templates("en", room)[code].names, code


@pytest.mark.parametrize("room", [room for room in ROOMS if room != "lists"])
def test_code_stands_as_code_in_both_languages(room: str) -> None:
    source = texts_of("zh", room)
    for code, text, _ in entries(room):
        quoted = {each for each in re.findall("`([^`]+)`", text) if "{" not in each} - {"code"}
        assert quoted <= set(re.findall("`([^`]+)`", source[code])), code


@cache
def prose_of(text: str) -> str:
    """What is left of a text without code and fields."""
    return re.sub(r"`[^`]*`|\{[^}|]*\}", "", text)


@pytest.mark.parametrize("name", GLOSSARY)
def test_no_text_uses_another_name_of_a_thing(name: str) -> None:
    for room in ROOMS:
        texts = texts_of("zh", room)
        for code, text in texts.items():
            assert not any(other in text for other in GLOSSARY[name]["never"]), (room, code, text)


@pytest.mark.parametrize("name", GLOSSARY)
def test_a_thing_that_english_names_has_its_name_in_chinese(name: str) -> None:
    term = GLOSSARY[name]
    names = (term["zh"], *term.get("or", ()))
    asked = re.compile(rf"\b(?:{'|'.join(map(re.escape, term['en']))})\b") if term["en"] else None
    lacking = []
    for room in ROOMS:
        texts = texts_of("zh", room)
        for code, english, _ in entries(room):
            if (
                asked is not None
                and asked.search(prose_of(english))
                and not any(other in texts[code] for other in names)
            ):
                lacking.append((f"{room}.{code}", english, texts[code]))
    assert [entry for entry in lacking if entry[0] not in term.get("unsaid", ())] == []


@pytest.mark.parametrize("room", ROOMS)
def test_chinese_sentences_have_full_width_marks(room: str) -> None:
    """Outside code and fields no half-width mark is left, except between digits and within a JSON value."""
    wrong = []
    for code, text in texts_of("zh", room).items():
        prose = re.sub(r"`[^`]*`|\{\{.*?\}\}|\{[^}]*\}|\d,\d", "", text)
        narrow = CHINESE.search(text) and re.search(r"[,:;?!()\"']|[\u4e00-\u9fff]\.", prose)
        quoted_apart = re.search(r"[\u4e00-\u9fff] “|” [\u4e00-\u9fff]", text)
        if narrow or quoted_apart or re.search(r" [，：；（）。？！]|[，：；（）。？！] ", text):
            wrong.append((code, text))
    assert [entry for entry in wrong if (room, entry[0]) not in OWN_MARKS] == []


@pytest.mark.parametrize("room", ROOMS)
def test_a_blank_stands_between_chinese_and_latin(room: str) -> None:
    for code, text in texts_of("zh", room).items():
        prose = re.sub(r"\{[^}]*\}", "\0", re.sub("`[^`]*`", "``", text))
        assert not re.search(
            r"[\u4e00-\u9fff][A-Za-z0-9`]|[A-Za-z0-9`][\u4e00-\u9fff]|[\u4e00-\u9fff] [\u4e00-\u9fff]", prose
        ), (
            code,
            text,
        )


@pytest.mark.parametrize("room", READ_BACK)
@pytest.mark.parametrize("count", ["1", "7"])
def test_the_template_that_gave_a_stored_sentence_reads_it_back(room: str, count: str) -> None:
    for code, _, template in entries(room):
        text, values = filled(room, template, count)
        known = read(room, text)
        assert known is not None, text
        assert known.code == f"{room}.{code}"
        for name, spec in template.specs.items():
            if catalogue.room_of(spec, room) is None:
                assert text_of(known.values[name], "en") == values[name]
        assert CHINESE.search(known.text("zh")) or known.code in WITHOUT_WORDS, code


@given(st.text(alphabet="ab '`{}7", max_size=40), st.text(alphabet="ab {}", min_size=1, max_size=10))
def test_what_is_read_gives_the_same_sentence_again(arm: str, population: str) -> None:
    text = say("reasons.no_results", arm=arm, endpoint="e", population=population)
    known = read("reasons", text)
    assert known is not None
    assert known.text("en") == text


def test_a_sentence_that_no_template_gives_is_not_read() -> None:
    assert read("reasons", "something that nobody says any more") is None
    stored = Stored("something that nobody says any more", "reasons", "reasons.elsewhere")
    assert stored.text("en") == "something that nobody says any more"
    assert stored.text("zh") == say("reasons.elsewhere", "zh")


def test_a_sentence_inside_a_sentence_is_read_as_well() -> None:
    inner = say("reasons.no_bounds", endpoint="f1")
    known = read("reasons", say("reasons.no_worst_case", why=inner))
    assert known is not None
    assert known.code == "reasons.no_worst_case"
    assert known.text("zh").startswith("端点“f1”")
    assert read("reasons", "nobody says so, and the plan's missing policy is `worst_case`") is None


@pytest.mark.parametrize(
    ("margin", "sentence"),
    [
        ("±2.00 个百分点", "无法判定，因为包含 0，且不在 ±2.00 个百分点之内"),
        ("-0.5", "无法判定，因为包含 0，且不在 -0.5 之内"),
        ("此界值", "无法判定，因为包含 0，且不在此界值之内"),
        ("（无）", "无法判定，因为包含 0，且不在（无）之内"),
    ],
)
def test_a_field_of_a_chinese_sentence_has_the_blanks_of_its_value(margin: str, sentence: str) -> None:
    assert say("verdicts.holds_0_not_within", "zh", margin=margin) == sentence


@given(st.text(alphabet="a0 ，中（）-`", max_size=12), st.text(alphabet="a0 ，中（）-`", max_size=12))
def test_a_sentence_changes_nothing_but_the_blanks_around_its_values(arm: str, endpoint: str) -> None:
    for language in LANGUAGES:
        text = say("reasons.no_results", language, arm=arm, endpoint=endpoint, population="p")
        plain = templates(language, "reasons")["no_results"]
        asked = "".join(
            literal + {"arm": arm, "endpoint": endpoint, "population": "p", None: ""}[name]
            for literal, name, _ in plain.parts
        )
        assert text.replace(" ", "") == asked.replace(" ", "")
        assert text == asked or language == "zh"


def test_points_of_a_chinese_sentence_are_chinese_and_those_of_code_stay() -> None:
    assert say("power.sized", "zh", name="SESOI", size="2 pp") == "SESOI（2 个百分点）"
    assert say("findings.unit_without_difference", "zh", field="x", text="2 pp").endswith("`2 pp`，不带 pp")
    assert say("reasons.no_test", "zh", test="at 2 pp") == "计划中没有检验“at 2 pp”"


def test_names_in_a_row_have_the_marks_of_their_language() -> None:
    assert say("faults.send", "zh", names="a, b and 3 more") == "请发送 a、b 和另外 3 个"
    assert say("faults.send", names="a, b and 3 more") == "send a, b and 3 more"
    assert read("faults", "send one or the other thing") is None


def test_numbers_are_printed_as_their_template_says() -> None:
    assert "misses about 12% of the time" in say("warnings.BOOTSTRAP_FEW_VALUES", n=7, rate=0.123)
    assert "1,000 of 20,000 outcomes" in say("warnings.GAPS", count=1000, cells=20000, common=3, n=4)
    assert "约有 12% 的情形" in say("warnings.BOOTSTRAP_FEW_VALUES", "zh", n=7, rate=0.123)


def test_what_is_said_inside_is_in_the_language_that_is_spoken() -> None:
    assert spoken() == "en"
    with speaking("zh"):
        assert speak("comparison.no_item").startswith("无法判定")
        with speaking("en"):
            assert speak("comparison.no_item").startswith("Cannot tell")
        assert spoken() == "zh"
    assert spoken() == "en"


def test_values_stand_as_they_are() -> None:
    assert "{0.__class__}" in say("reasons.no_test", "zh", test="{0.__class__}")
    assert say("verdicts.left_out", count=1) == ", 1 pair left out"
    assert say("verdicts.left_out", count=2) == ", 2 pairs left out"
    assert say("notes.then", step=message("notes.results_lacking", count=3)).startswith(" Find out")
    assert list_values(["a", "b"], "lists.comma").text("zh") == "a、b"


def test_an_unknown_code_and_a_missing_value_are_refused() -> None:
    with pytest.raises(KeyError):
        say("reasons.nobody")
    with pytest.raises(KeyError):
        say("reasons.no_test")
    with pytest.raises(FileNotFoundError):
        say("nowhere.nothing")


def test_a_hostile_text_is_read_in_linear_time() -> None:
    assert read("reasons", "arm '" * 20_000) is None
    assert catalogue.read("multiplicity", "a" * 100_000) is None


def test_a_chinese_word_between_two_values_has_the_blanks_of_its_neighbours() -> None:
    points = [message("units.points", value="+1.00"), message("units.points", value="+2.00")]
    assert list_values(points, "runs.between_ends").text("zh") == "+1.00 个百分点至 +2.00 个百分点"
    assert list_values(["0.1", "0.2"], "runs.between_ends").text("zh") == "0.1 至 0.2"
    assert list_values(["0.1", "0.2"], "runs.between_ends").text("en") == "0.1 to 0.2"
    assert list_values([], "runs.between_ends").text("zh") == ""


LEADS = [
    ("headlines", "ship_lead", "ship_"),
    ("notes", "known_lead", "known"),
    ("notes", "next_lead", "next"),
    *(
        ("evidence", f"{part}_lead", part)
        for part in (
            "shown_by_log",
            "shown_against_operator",
            "kept_outside",
            "not_shown",
        )
    ),
]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("room", "lead", "sentences"), LEADS)
def test_a_sentence_that_pages_set_apart_begins_with_its_lead(room, lead, sentences, language):
    source = tomllib.loads((HOME / language / f"{room}.toml").read_text("utf-8"))
    english = tomllib.loads((HOME / "en" / f"{room}.toml").read_text("utf-8"))
    led = [
        code
        for code, text in english.items()
        if code != lead and code.startswith(sentences) and text.startswith(english[lead])
    ]
    assert led
    assert [code for code in led if not source[code].startswith(source[lead])] == []


@pytest.mark.parametrize("language", OTHERS)
def test_what_begins_with_next_does_so_in_every_language(language):
    notes = {
        name: tomllib.loads((HOME / name / "notes.toml").read_text("utf-8")) for name in ("en", language)
    }
    led = {
        name: {code for code, text in texts.items() if text.startswith(texts["next_lead"])}
        for name, texts in notes.items()
    }
    assert led["en"] == led[language]
