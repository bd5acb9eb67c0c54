"""Sentences of tests that were stored in English: told in Chinese they are what the test would have said."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.errors import ForelockError
from service.stats.shared.declaring import registry
from service.words import name_of_method, retell, say, speaking
from service.words.retelling import take_apart
from tests.drawing import draws
from tests.stats.cases import cases_of

NEVER_STORED = ("run-series",)
"""A calculator whose page and command say its answer in the reader's language: it judges no plan and is no job."""
CASES = 2
SECONDS = 0.05


@pytest.mark.parametrize("name", sorted({*registry.latest()} - {*NEVER_STORED}))
def test_a_stored_sentence_is_told_as_the_test_says_it(name: str) -> None:
    test, compared = registry.find(name), 0
    use = cases_of(name)
    options = [{}, *(dict(one) for arms in use.mirrored.values() for one in arms[:1])][:2]
    bodies = [dict(test.example), *islice(use.degenerate(), CASES)]
    for body in [{**body, **option} for body in bodies for option in options]:
        try:
            request = test.request.model_validate(body)
            if test.cost(request) > SECONDS:
                continue
            english = test.answer(request).analysis.sentence
            with speaking("zh"):
                chinese = test.answer(request).analysis.sentence
        except (ForelockError, ValueError):
            continue
        compared += 1
        if "none, " not in english:  # a look without an end, of boundaries that no data were given for
            assert retell(english, "zh") == chinese
    assert compared or test.cost(test.request.model_validate(dict(test.example))) > SECONDS


def test_names_of_an_author_may_hold_what_templates_hold() -> None:
    name = "a' share the best mean (1), 'b"
    opening = say(
        "boards.opening", arms=2, where="12 items", gaps="", ahead=f"'{name}'", count=1, kind="mean", mean="0.5",
        best=say("boards.any_best", level="95%"),
    )  # fmt: skip
    pairs = say("boards.pairs_none", told=0, pairs=1, alpha="0.05", closest="")
    told = retell(f"{opening} {pairs}", "zh")
    assert told is not None
    assert name in told
    assert told.startswith("12 个题目上的 2 个组中")


def test_what_no_template_says_is_not_told() -> None:
    assert retell("Something that nobody says any more, p = 0.05.", "zh") is None
    assert retell("Something that nobody says any more.", "en") == "Something that nobody says any more."
    assert take_apart("") is None


def test_a_hostile_sentence_is_given_up() -> None:
    assert retell("Of 2 arms on 2 items, " + "'a', " * 700, "zh") is None
    assert retell("x" * 100_000, "zh") is None


@settings(max_examples=draws(75))
@given(st.text(alphabet="n=( );,'p0", max_size=60))
def test_no_text_breaks_the_reader(tail: str) -> None:
    english = "The candidate differs from the baseline by +1.00 pp (" + tail
    known = retell(english, "zh")
    assert known is None or "候选组" in known


@pytest.mark.parametrize(
    ("code", "english", "chinese"),
    [
        ("percentile", "percentile", "百分位"),
        ("cluster percentile", "cluster percentile", "聚类百分位"),
        ("clopper-pearson", "Clopper–Pearson", "Clopper–Pearson"),
        ("cr2_t", "CR2 t", "CR2 t"),
        ("a method of nobody", "a method of nobody", "a method of nobody"),
    ],
)
def test_a_method_of_an_interval_has_one_name_in_a_language(code: str, english: str, chinese: str) -> None:
    assert (name_of_method(code, "en"), name_of_method(code, "zh")) == (english, chinese)


@pytest.mark.parametrize(
    ("english", "names"),
    [
        (
            "The candidate differs from the baseline by -0.66 pp (item_weighted; 95% CI -2.27 pp to +0.96 pp by cr2_t; "
            "n = 3191 in 134 clusters); clustered McNemar sign_flip, two-sided, gives p = 0.448, so a mean difference "
            "of zero is not rejected at alpha 0.05, which does not show equality.",
            ("按题目加权", "CR2 t", "符号翻转"),
        ),
        (
            "The candidate differs from the baseline by -0.66 pp (item_weighted; 95% percentile cluster-bootstrap CI "
            "-2.15 pp to +0.96 pp, n = 3191 in 134 clusters); bootstrap greater, p = 0.804, so a difference of zero is "
            "not rejected at alpha 0.05, which does not show equality.",
            ("按题目加权", "百分位"),
        ),
    ],
)
def test_a_stored_sentence_is_told_with_the_names_of_its_methods(
    english: str, names: tuple[str, ...]
) -> None:
    told = retell(english, "zh")
    assert told is not None
    assert [name for name in names if name not in told] == []
    assert "_" not in told
