"""Arms that a criterion leaves open: what may be named, and what lint asks of the words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from service.domain.lint.lint import lint
from service.domain.plans.naming import (
    Naming,
    describe_named,
    named_arms,
    open_arms,
    require_nameable,
    require_named,
)
from service.domain.plans.plan import Plan
from service.errors import Conflict, InvalidData
from service.reports.prereg.markdown import parse_plan
from service.reports.prereg.print import print_plan
from tests.journeys.plans import small_plan

CRITERION = "the first model of the family X that is released after the lock"
EVIDENCE = {"text": "released on 2027-02-11, and none before"}


def plan(**card: Any) -> Plan:
    return Plan.from_dict(
        small_plan(6) | {"arms": [{"id": "A"}, {"id": "B", "criterion": CRITERION, **card}]}
    )


def naming(evidence: Any = None, **card: Any) -> Naming:
    said = {"card": {"model": {"name": "x-2"}, **card}, "evidence": evidence or EVIDENCE}
    return Naming.model_validate_json(json.dumps(said))


def test_a_card_without_a_criterion_has_the_bytes_it_had() -> None:
    described = Plan.from_dict(small_plan(6) | {"arms": [{"id": "B", "model": {"name": "m"}}]})
    assert '"arms":[{"id":"B","model":{"name":"m"},"on_difference":"flag"}]' in described.canonical_text()
    assert open_arms(described) == {}
    assert describe_named(described, {}) is described


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_criterion_is_read_back_from_markdown(language: Any) -> None:
    left_open = plan(prompt_sha256="a" * 64, criterion="the first\nof 2027")
    text = print_plan(left_open, language)
    assert ("Criterion" if language == "en" else "选定条件") in text
    assert parse_plan(text)[0] == left_open


@pytest.mark.parametrize(
    ("criterion", "word"),
    [
        (CRITERION, None),
        ("the checkpoint that the release job of 2027-03-01 makes", None),
        ("锁定之后 X 系列首个发布的模型", None),
        ("the latest model of family X on 2027-03-01", None),
        ("the best model of family X released after the lock", "'best'"),
        ("a suitable model, first come", "'suitable'"),
        ("锁定之后发布的最好的模型", "'最好'"),
        ("a model of family X", "picks one"),
        ("the newest model of family X", "'newest'"),
    ],
)
def test_lint_asks_for_words_that_can_be_checked(criterion: str, word: str | None) -> None:
    findings = [each for each in lint(plan(criterion=criterion), {}) if "CRITERION" in each.code]
    assert [(each.code, each.path, each.asks) for each in findings] == (
        [] if word is None else [("CRITERION_VAGUE", "arms[1].criterion", True)]
    )
    assert word is None or word in findings[0].message


def test_a_criterion_and_a_model_contradict_and_a_criterion_is_no_gap() -> None:
    (finding,) = [each for each in lint(plan(model={"name": "m"}), {}) if "CRITERION" in each.code]
    assert (finding.code, finding.severity) == ("CRITERION_AND_MODEL", "error")
    full = {"prompt_sha256": "a" * 64, "decoding": {}, "harness": {"name": "h"}}
    (gap,) = [each for each in lint(plan(**full), {}) if each.code == "ARM_UNDESCRIBED"]
    assert "B" not in gap.message.split(":")[1]


def test_what_was_named_is_what_results_are_held_against() -> None:
    locked = plan(decoding={"temperature": 0}, on_difference="invalid")
    named = describe_named(locked, {"B": naming(decoding={"top_p": 0.5}, tools=["a"]).card})
    (card,) = [each for each in named.arm_cards or () if each.id == "B"]
    assert card.text() == "model.name x-2, decoding.temperature 0, decoding.top_p 0.5, tools a"
    assert card.line().startswith(f'criterion "{CRITERION}", model.name x-2')
    assert (card.on_difference, card.differs({"model.name": "y"})) == ("invalid", ("model.name",))
    assert named_arms(locked) == frozenset()
    assert named_arms(named) == {"B"}


def test_results_of_an_arm_wait_until_it_is_named() -> None:
    with pytest.raises(Conflict) as refused:
        require_named(plan(), (), "B")
    assert refused.value.problem_code == "arm_unnamed"
    assert "forelock name-arm" in refused.value.detail
    require_named(plan(), {"B"}, "B")
    require_named(plan(), (), "A")


def test_an_arm_is_named_once_with_a_model_and_within_what_is_locked() -> None:
    locked = plan(prompt_sha256="a" * 64)
    require_nameable(locked, (), "B", naming(prompt_sha256="a" * 64))
    with pytest.raises(Conflict) as twice:
        require_nameable(locked, {"B"}, "B", naming())
    assert twice.value.problem_code == "arm_named"
    for arm, wrong, says in (
        ("A", naming(), "'B'"),
        ("B", naming(prompt_sha256="b" * 64), "prompt_sha256"),
        ("B", naming(model=None), "card.model"),
        ("B", naming(more={f"x{n}": "長" * 300 for n in range(50)}), "32000 bytes"),
    ):
        with pytest.raises(InvalidData) as refused:
            require_nameable(locked, (), arm, wrong)
        assert says in str([refused.value.detail, refused.value.faults])


@pytest.mark.parametrize("evidence", [{"text": ""}, {"url": "ftp://x"}, {"sha256": "A" * 64}, {"other": "x"}])
def test_evidence_says_something(evidence: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        naming(evidence)
    with pytest.raises(ValidationError):
        Naming.model_validate({"card": {"model": {"name": "x"}}, "evidence": {}})
