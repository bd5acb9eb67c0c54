"""Every reason that a Chinese sentence can give has Chinese words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from service.domain.notes.notes import sentences
from service.domain.rules.claims.claim import Target
from service.domain.rules.claims.words import describe_claim
from service.domain.rules.settings import resolve
from service.domain.verdicts.outcomes import Outcomes
from service.domain.verdicts.words.reasons import reason_message
from service.errors import InvalidData
from service.words import read, say
from tests.domain import sample
from tests.drawing import one_in
from tests.stats.shared.declared import IN_PLANS, requests

CHINESE = re.compile("[\u4e00-\u9fff]")
OF_COLUMNS = [test for test in IN_PLANS if "tasks" not in test.request.model_fields]
"""A suite asks of every value which task it is of."""


def known(reason: str) -> bool:
    """True for a reason that other languages have words for."""
    return read("reasons", reason) is not None


@pytest.mark.parametrize("claim", ["superiority", "minimum_effect", "non_inferiority", "equivalence"])
def test_reasons_why_a_rule_that_holds_bears_out_no_claim(claim: str) -> None:
    plan = sample.plan({"hypotheses.0.claim": claim})
    hypothesis, endpoint = plan.hypotheses[0], plan.endpoints[0]  # type: ignore[index]
    says = describe_claim(Target.of(resolve(plan).settings[0]), hypothesis, endpoint)
    assert known(f"nothing in it shows {says}")
    for size in ("2 pp", "-2 pp", "0.5"):
        reason = f"the observed difference does not reach the {size} that the statement names"
        assert size.split()[0] in reason_message(reason).text("zh")
        assert known("the observed difference does not go the way of the claim")


@pytest.mark.parametrize("test", OF_COLUMNS, ids=lambda test: test.name)
@pytest.mark.parametrize("kind", one_in(3, ["binary", "continuous"]))
def test_reasons_that_tests_give_on_odd_data(test: Any, kind: str) -> None:
    for body in odd(test, kind):
        try:
            analysis = test.answer(test.request.model_validate(body)).analysis
        except InvalidData as refused:
            assert known(refused.detail), refused.detail
            continue
        for reason in {**analysis.reasons, **analysis.undecided}.values():
            assert known(reason) or reason == "infinite", reason


def odd(test: Any, kind: str) -> Iterator[dict[str, Any]]:
    """Some of the worlds of `test_shows`, and their first items alone."""
    for number, (parameters, columns) in enumerate(requests(test, kind)):
        if "values" in test.request.model_fields:  # of one arm
            columns = {"values": columns["baseline"]}
        if number % 7 == 0:
            yield parameters | columns
            for n in (1, 2, 3):
                yield parameters | {name: first(column, n) for name, column in columns.items()}


def first(column: Any, n: int) -> Any:
    """The first items of a column, or of the columns of an arm."""
    return {name: inner[:n] for name, inner in column.items()} if isinstance(column, dict) else column[:n]


def test_a_reason_of_another_version_is_said_to_stand_elsewhere() -> None:
    elsewhere = say("reasons.elsewhere", "zh")
    assert reason_message("something that nobody says any more").text("zh") == elsewhere
    assert reason_message(None).text("zh") == elsewhere


@pytest.mark.parametrize(
    ("changes", "arms", "says"),
    [
        ({"missing": "fail"}, (np.array([np.nan, *np.ones(59)]), np.zeros(60)), "“C1”组有 1 个结果不正常"),
        ({}, (np.full(5, np.nan), np.zeros(5)), "没有可供比较的题目"),
        (
            {
                "hypotheses.0.rule": "delta > 0 and b.p_value < 0.001",
                "tests.0": {"id": "b", "test": "paired-bootstrap", "version": 1},
            },
            sample.binary(15, 0, 9, 0),
            "没有任何重抽样达到差异的两倍",
        ),
    ],
)
def test_chinese_sentences_quote_no_english_reason(changes: Any, arms: Any, says: str) -> None:
    results: Outcomes = sample.outcomes(*arms)
    verdict = sample.verdict_of(changes, results)
    plan = sample.plan({"populations.0.n": len(arms[0]), **changes})
    (found,) = sentences(plan, verdict, {})
    assert says in found.sentences.zh
    outside = re.sub(r"`[^`]*`", "", found.sentences.zh)
    assert not re.search(r"[A-Za-z]{2,} [a-z]{2,}", outside), outside
    assert CHINESE.search(outside)
