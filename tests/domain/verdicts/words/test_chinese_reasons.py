"""Every reason that a Chinese sentence can give has Chinese words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import service.domain
import service.stats
from service.domain.notes.notes import sentences
from service.domain.rules.claims.claim import Target
from service.domain.rules.claims.words import claimed
from service.domain.verdicts.outcomes import Outcomes
from service.domain.verdicts.words.chinese_reasons import ELSEWHERE, known, reason_zh
from service.errors import InvalidData
from tests.domain import sample
from tests.stats.shared.test_shows import IN_PLANS, requests

STATS, DOMAIN = (Path(each.__path__[0]) for each in (service.stats, service.domain))
CHINESE = re.compile("[\u4e00-\u9fff]")
SAMPLE = "7"
"""Stands for what a sentence fills in."""


def text_of(node: ast.AST) -> list[str]:
    """The texts that an expression of constants, formats and choices can be."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr():
            parts = [str(each.value) if isinstance(each, ast.Constant) else SAMPLE for each in node.values]
            return ["".join(parts)]
        case ast.IfExp():
            return text_of(node.body) + text_of(node.orelse)
        case _:
            return []


def reasons_in(path: Path) -> list[str]:
    """What a module stores under `reasons`, in the ways they do."""
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Assign(targets=targets, value=value):
                stored = [
                    each.value.id
                    for each in targets
                    if isinstance(each, ast.Subscript) and isinstance(each.value, ast.Name)
                ]
                names = [each.id for each in targets if isinstance(each, ast.Name)]
                if "reasons" in stored or {"reason", "why", "too_large", "no_spread", "EMPTY", "UNVARIED"} & {
                    *names
                }:
                    found += text_of(value)
    return list(filter(None, found))


MODULES = [*sorted({test.request.__module__.rsplit(".", 1)[1] for test in IN_PLANS}),
    "anytime", "clustering", "looks", "resampling", "samples"
]  # fmt: skip


@pytest.mark.parametrize("module", MODULES)
def test_reasons_that_tests_of_plans_write_down(module: str) -> None:
    for reason in reasons_in(next(STATS.rglob(f"{module}.py"))):
        assert known(reason) or reason == "infinite", reason


def raised(path: Path, name: str) -> list[str]:
    """What a module says as it raises an error of that name."""
    calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
    return [
        text
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id == name
        for text in text_of(call.args[-1])
    ]


def test_reasons_why_results_break_the_plan() -> None:
    found = raised(DOMAIN / "verdicts" / "outcomes.py", "PlanViolatedError")
    assert len(found) >= 10
    for reason in found:
        assert known(reason), reason
    for path in DOMAIN.rglob("*.py"):
        assert path.name == "outcomes.py" or not raised(path, "PlanViolatedError"), path


@pytest.mark.parametrize("claim", ["superiority", "minimum_effect", "non_inferiority", "equivalence"])
def test_reasons_why_a_rule_that_holds_bears_out_no_claim(claim: str) -> None:
    plan = sample.plan({"hypotheses.0.claim": claim})
    hypothesis, endpoint = plan.hypotheses[0], plan.endpoints[0]  # type: ignore[index]
    says = claimed(Target.of(plan, hypothesis), hypothesis, endpoint)
    assert known(f"nothing in it shows {says}")
    for size in ("2 pp", "-2 pp", "0.5"):
        told = reason_zh(f"the observed difference does not reach the {size} that the statement names")
        assert size.split()[0] in told
        assert known("the observed difference does not go the way of the claim")


@pytest.mark.parametrize("test", IN_PLANS, ids=lambda test: test.name)
@pytest.mark.parametrize("kind", ["binary", "continuous"])
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
        if number % 7 == 0:
            yield parameters | columns
            for n in (1, 2, 3):
                yield parameters | {name: column[:n] for name, column in columns.items()}


def test_a_reason_of_another_version_is_said_to_stand_elsewhere() -> None:
    assert reason_zh("something that nobody says any more") == ELSEWHERE == reason_zh(None)


@pytest.mark.parametrize(
    ("changes", "arms", "says"),
    [
        ({"missing": "fail"}, (np.array([np.nan, *np.ones(59)]), np.zeros(60)), "臂“C1”有 1 个结果不正常"),
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
