"""What the service refuses in English is read back by its catalogue, so that pages say it in every language."""

from __future__ import annotations

import ast
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import service
from forelock.questions.tables import comparable
from service.domain.multiverse.words import sentence
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.descriptions import describe
from service.words import say
from service.words.catalogue import templates
from service.words.refusals import translate_multiverse, translate_refusal

HOME = Path(service.__file__).parent
ROOMS = (
    "stats", "domain/comparison", "domain/score", "domain/resolution", "ingest", "api/parsing",
    "api/http/requests", "domain/plans",
)  # fmt: skip
"""Where a refusal reaches a page from: tests, questions to files, forms."""
REFUSING = {
    **dict.fromkeys(
        ("field", "add", "Fault", "malformed", "unmapped", "_matching", "PydanticCustomError"), (1, 2)
    ),
    "row": (2, 3),
    **dict.fromkeys(("InvalidData", "NotFound", "Conflict", "UnsupportedMediaType", "RequestTimeout"), (0,)),
}
"""By what a refusal is made with, the places of its sentences among the arguments."""
VALUES = ("7", "a", "line 7", "is empty", "")
"""What a field of a sentence may hold: a number, a word, a place, another sentence."""


def sentences_of(node: ast.expr) -> list[str]:
    """The sentences that an argument may be, with every choice of values; none where it is no text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [] if "{has}" in node.value else [re.sub(r"\{\w+\}", "7", node.value)]
    if isinstance(node, ast.Dict):  # what goes with an error of a model, its way out among it
        pairs = zip(node.keys, node.values, strict=True)
        return [
            one for key, value in pairs if getattr(key, "value", "") == "fix" for one in sentences_of(value)
        ]
    if isinstance(node, ast.IfExp):
        return [*sentences_of(node.body), *sentences_of(node.orelse)]
    if isinstance(node, ast.JoinedStr):
        parts = [
            VALUES if isinstance(part, ast.FormattedValue) else (str(part.value),)
            for part in node.values
            if isinstance(part, ast.FormattedValue | ast.Constant)
        ]
        return ["".join(chosen) for chosen in itertools.islice(itertools.product(*parts), 5**5)]
    return []


def refusals() -> Iterator[tuple[str, list[str]]]:
    """Every sentence that is refused with in the rooms, by its place, as it reads with each of the values."""
    for room in ROOMS:
        for path in sorted((HOME / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Call):
                    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                    for place in REFUSING.get(name, ()):
                        sentences = sentences_of(node.args[place]) if place < len(node.args) else []
                        if (
                            sentences and " " in sentences[-1].strip()
                        ):  # of two words at least, without values
                            yield f"{path.relative_to(HOME)}:{node.lineno}", sentences


def test_every_refusal_that_reaches_a_page_is_read_back() -> None:
    unread = [
        (place, sentences[0])
        for place, sentences in refusals()
        if all(translate_refusal(sentence, "zh") is None for sentence in sentences)
    ]
    assert unread == []


def test_a_refusal_that_nobody_makes_is_not_read() -> None:
    assert translate_refusal("nobody says this of anything", "zh") is None
    assert translate_refusal("nobody says this of anything", "en") == "nobody says this of anything"


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("baseline has 2 values where candidate has 3", None),
        ("has 2 values where candidate has 3", "有 2 个值，而 candidate 有 3 个"),
        ("row 3 is not a number", "第 3 行不是数"),
        ("x.csv: has no column 'v'; it has a, b; leave --cluster out, or add it",
         "x.csv：没有“v”列；现有 a、b；请去掉 `--cluster`，或加上该列"),
        ("x.csv: has no column 'v': add --metric a or --set item_id=b (if every row is an item of its own)",
         "x.csv：没有“v”列：请加上 `--metric a`，或 `--set item_id=b`（如果每一行各是一个题目）"),
        ("items that share a source are not independent: --cluster repo (17) if they do",
         "同源的题目并不独立：若确有同源的，请用 `--cluster repo`（17 个）"),
        ("send a, b and 3 more", "请发送 a、b 和另外 3 个"),
        ("FEW_LABELS: nobody says this", None),
    ],
)  # fmt: skip
def test_a_refusal_is_said_in_its_pieces(english: str, chinese: str | None) -> None:
    assert translate_refusal(english, "zh") == chinese


def test_the_model_of_every_test_is_in_the_catalogue_as_the_test_says_it() -> None:
    told = {name: _paragraphs(describe(test).model) for name, test in registry.latest().items()}
    written = {name: say(f"models.{name}") for name in templates("en", "models")}
    other = [
        f"{name} = {json.dumps(told.get(name))}"
        for name in told | written
        if told.get(name) != written.get(name)
    ]
    assert not other, "\n".join(["service/words/en/models.toml has to say, and zh beside it:", *other])


def _paragraphs(model: str) -> str:
    return "\n\n".join(" ".join(part.replace("``", "`").split()) for part in model.split("\n\n"))


def test_what_files_may_differ_in_has_its_words() -> None:
    said = {f"aspect_{name}": words for name, words in comparable.WORDS.items()}
    known = {code: template.source for code, template in templates("en", "faults").items() if code in said}
    assert known == said


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("plan.json: does not hold a JSON object", "plan.json：其中不是 JSON 对象"),
        ("http://s does not answer (ConnectError)", "http://s 没有应答（ConnectError）"),
        ("must be at least 1000", "不得小于 1000"),
        (
            "preregistration p1 is judged, and an amendment needs one that is locked or draft; allowed now: "
            "read the verdict (`GET /verdict`), withdraw (`POST /withdrawal`)",
            "预注册 p1 的状态为“已判定”，而此操作所要求的状态是：已锁定、草稿；现在可以："
            "查看结论（`GET /verdict`），撤回（`POST /withdrawal`）",
        ),
    ],
)
def test_what_a_terminal_is_refused_with_is_said_in_chinese(english: str, chinese: str) -> None:
    assert translate_refusal(english, "zh") == chinese


def test_what_many_choices_decide_is_said_in_chinese() -> None:
    english = sentence("H1", passes=2, universes=7, total=9, planned=True, decided_by=tuple("abcdef"))
    assert english.endswith("a; b; c; d; e and others.")
    assert (translate_multiverse(english, "zh") or "").endswith("：a; b; c; d; e 等。")
