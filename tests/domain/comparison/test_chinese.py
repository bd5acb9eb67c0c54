"""What a comparison says is read back from its English and said in Chinese, with the same numbers and names."""

from __future__ import annotations

import re
from itertools import product

import pytest

from service.domain.comparison.compare import compare
from service.domain.comparison.records import Comparison, More, UnpairedArms
from service.domain.comparison.request import ComparisonRequest
from service.domain.comparison.sentences import next_step, sentence
from service.words import read, say
from tests.domain.comparison.worlds import body
from tests.drawing import mostly_slow

BASE = compare(
    ComparisonRequest.model_validate(body([0.0, 1.0] * 20, [1.0] * 30 + [0.0, 1.0] * 5, None, None))
)
WITHHELD = (
    "3 of 43 items without a result (2 in the baseline, 1 in both arms), "
    "and the worst case of what is missing does not carry as much"
)
MORE = (
    More(claim="better", assuming="observed_difference", truth=0.02, total=1234, more=1194, power=0.8),
    More(claim="no_worse", assuming="no_difference", truth=0.0, total=41, more=1, power=0.9),
)
ARMS = UnpairedArms(
    n_baseline=50, n_candidate=40, missing_baseline=0, missing_candidate=0, covariates=("length",),
    unadjusted=0.1, items_saved=0.2, pairing=None,
)  # fmt: skip
ENDS = ((0.02, 0.1), (-0.01, 0.1), (-0.3, -0.2), (-0.3, -0.01), (-0.2, 0.1), (None, None))


def numbers(text: str) -> list[str]:
    return sorted(re.findall(r"[+-]?\d[\d.]*\d|\d", text))


def comparisons() -> list[Comparison]:
    """Every outcome with every interval and what may go with it, whether or not data could give it."""
    made = []
    for outcome, prefers, margin, ends, points in product(
        ("better", "no_worse", "worse", "cannot_tell"), ("higher", "lower"), (None, 0.05), ENDS, (True, False)
    ):
        if (ends[0] is None and outcome != "cannot_tell") or (margin is None and outcome == "no_worse"):
            continue
        ci = BASE.ci.model_copy(update={"low": ends[0], "high": ends[1]})
        changes = {"outcome": outcome, "prefers": prefers, "margin": margin, "ci": ci, "points": points}
        made += [
            BASE.model_copy(update={**changes, **beside})
            for beside in (
                {"reasons": {}},
                {"reasons": {"outcome": WITHHELD}, "n_clusters": 1, "unit": "clusters"},
                {"reasons": {"ci": say("comparison.too_few_clusters", units=4)}, "more": MORE[:1], "n": 1},
                {"reasons": {}, "more": MORE, "arms": ARMS, "worse": outcome == "no_worse"},
            )
        ]
    return made


@pytest.mark.parametrize(
    "names", mostly_slow(map(pytest.param, [("base.csv", "cand.csv"), ("基线 1", "it's (new); by 2")]))
)
def test_every_sentence_is_read_back_and_has_its_numbers_in_chinese(names: tuple[str, str]) -> None:
    for comparison in comparisons():
        english = sentence(comparison, *names)
        known = read("comparison", english)
        assert known is not None, english
        assert known.text("en") == english
        chinese = known.text("zh")
        assert names[0] in chinese
        assert names[1] in chinese
        assert numbers(english.replace(names[0], "").replace(names[1], "")) == numbers(
            chinese.replace(names[0], "").replace(names[1], "")
        ), (english, chinese)
        assert not re.search(
            r"[a-z]{3}", chinese.replace(names[0], "").replace(names[1], "").replace("length", "")
        )


@pytest.mark.parametrize("can_fail", [False, True])
def test_every_next_step_is_read_back(can_fail: bool) -> None:
    for comparison in comparisons():
        english = next_step(comparison, can_fail=can_fail)
        known = read("comparison", english.replace("BASE CAND", "a.csv 'b c.csv'"))
        assert known is not None, english
        assert numbers(known.text("zh")) == numbers(english)
    assert read("comparison", next_step(BASE.model_copy(update={"delta": None}))) is not None


def test_a_sentence_that_names_break_apart_is_not_said_otherwise() -> None:
    assert read("comparison", sentence(BASE, "a by b", "c differs from d")) is None
