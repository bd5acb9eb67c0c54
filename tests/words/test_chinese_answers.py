"""What is answered in Chinese holds no English sentence, over every statistical test."""

from __future__ import annotations

import re
from itertools import islice

import pytest

from service.errors import ForelockError
from service.stats.shared.declaring import registry
from service.words import speaking
from tests.stats.cases import cases_of

ENGLISH = re.compile(r"(?:[A-Za-z][A-Za-z'’-]*[ ,;:]+){2,}[A-Za-z][A-Za-z'’-]*")
"""Three Latin words or more in a row: names and symbols stand alone or in pairs."""
CHINESE = re.compile("[\u4e00-\u9fff]")
CASES = 4
SECONDS = 0.2


def test_an_english_sentence_is_noticed() -> None:
    assert ENGLISH.search("没有给出区间，因为 a single value has no SD")
    assert not ENGLISH.search("McNemar 检验（exact，双侧）：p = 0.070；Miettinen-Nurminen 区间")


@pytest.mark.parametrize("name", sorted(registry.latest()))
def test_every_test_answers_in_the_language_that_is_spoken(name: str) -> None:
    test = registry.find(name)
    for body in [dict(test.example), *islice(cases_of(name).degenerate(), CASES)]:
        try:
            request = test.request.model_validate(body)
            if test.cost(request) > SECONDS:
                continue
            with speaking("zh"):
                answer = test.answer(request)
        except (ForelockError, ValueError):
            continue
        said = answer.analysis.sentence
        assert CHINESE.search(said)
        for text in (said, *(warning.message for warning in answer.warnings)):
            assert not ENGLISH.search(text), text
