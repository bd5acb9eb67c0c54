"""Arm cards: what is said, what differs, and plans that have none keep their bytes."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from service.domain.lint.lint import lint
from service.domain.plans.plan import Plan
from service.domain.plans.sections.arms import ArmCard
from service.reports.prereg.markdown import parse_plan
from service.reports.prereg.print import print_plan
from tests.journeys.plans import small_plan

FULL: dict[str, Any] = {
    "id": "B",
    "model": {"name": "gpt-4.1", "revision": "2027-01-04", "checkpoint_sha256": "a" * 64},
    "prompt_sha256": "b" * 64,
    "decoding": {"temperature": 0.7, "top_p": 1, "max_tokens": 512, "seed": "one per run"},
    "tools": ["search", "a, b"],
    "harness": {"name": "inspect_ai", "version": "0.3.285", "config_sha256": "c" * 64},
    "system": "two agents\nand a critic",
    "more": {"image": "x"},
    "on_difference": "invalid",
}


def card(**members: Any) -> ArmCard:
    (made,) = Plan.from_dict({"arms": [{"id": "B", **members}]}).arm_cards or ()
    return made


def test_a_plan_without_cards_has_the_bytes_it_had() -> None:
    assert '"arms"' not in Plan.from_dict(small_plan(6)).canonical_text()


@pytest.mark.parametrize(
    ("said", "told", "differs"),
    [
        ({"model": {"name": "m"}}, {}, ()),
        ({"model": {"name": "m"}}, {"model.name": "m", "model.revision": "2"}, ()),
        ({"model": {"name": "m"}}, {"model.name": "n"}, ("model.name",)),
        ({"decoding": {"temperature": 0}}, {"decoding.temperature": 0.0}, ()),
        ({"decoding": {"temperature": 0.7}}, {"decoding.temperature": "0.70"}, ()),
        ({"decoding": {"temperature": 0.7}}, {"decoding.temperature": "warm"}, ("decoding.temperature",)),
        ({"decoding": {"seed": "17"}}, {"decoding.seed": 17}, ()),
        ({"tools": ["b", "a"]}, {"tools": "a, b"}, ()),
        ({"tools": []}, {"tools": ["a"]}, ("tools",)),
        ({"more": {"image": "x"}}, {"more.image": "y"}, ("more.image",)),
    ],
)
def test_only_what_both_say_can_differ(
    said: dict[str, Any], told: dict[str, Any], differs: tuple[str, ...]
) -> None:
    assert card(**said).differs(told) == differs


def test_a_card_is_one_line_of_its_fields() -> None:
    assert card(model={"name": "m"}, decoding={"temperature": 0, "top_p": 0.5}, tools=[]).text() == (
        "model.name m, decoding.temperature 0, decoding.top_p 0.5, tools -"
    )


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("members", [{}, {"tools": []}, FULL])
def test_cards_are_read_back_from_markdown(language: Any, members: dict[str, Any]) -> None:
    plan = Plan.from_dict(small_plan(6) | {"arms": [{"id": "A"}, {"id": "B", **members}]})
    read, gaps = parse_plan(print_plan(plan, language))
    assert read == plan
    assert not [gap for gap in gaps if gap.code in ("ASSUMED", "UNREAD", "INVALID", "INCOMPLETE")]


def test_what_a_card_says_in_prose_is_a_gap() -> None:
    _, gaps = parse_plan("## Arms\n\n- **A**: the old prompt\n- the new one\n")
    assert [gap.line for gap in gaps if gap.code == "UNREAD"] == [3, 4]


def test_lint_says_once_what_cards_leave_open_and_asks_for_nothing() -> None:
    def told(*cards: dict[str, Any]) -> list[tuple[str, str, str]]:
        plan = Plan.from_dict(small_plan(6) | {"arms": list(cards)})
        return [(each.code, each.path, each.message) for each in lint(plan, {}) if "arms" in each.path]

    assert told(FULL | {"id": "A"}, FULL) == []
    ((code, path, message),) = told({"id": "A"}, FULL | {"harness": None})
    assert (code, path) == ("ARM_UNDESCRIBED", "arms")
    assert "A (model, prompt_sha256, decoding, harness), B (harness)" in message
    assert [code for code, _, _ in told(FULL | {"id": "A"}, FULL, FULL | {"id": "C9"})] == ["UNKNOWN_NAME"]
    assert not [each for each in lint(Plan.from_dict(small_plan(6)), {}) if each.code == "ARM_UNDESCRIBED"]


@pytest.mark.parametrize(
    "members",
    [
        {"prompt_sha256": "B" * 64},
        {"decoding": {"temperature": -1}},
        {"decoding": {"top_p": 0}},
        {"on_difference": "ignore"},
        {"more": {}},
        {"model": {}},
    ],
)
def test_what_no_card_holds_is_refused(members: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        card(**members)
