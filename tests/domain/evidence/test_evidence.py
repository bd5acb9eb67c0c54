"""The five pieces of evidence: a record scores what it proves, a paper what somebody found in it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

import pytest

from service.domain.evidence.card import PieceId
from service.domain.evidence.paper_checklist import BELONGS, PaperChecklist, of_paper
from service.domain.evidence.record import EvidenceCard, of_record
from service.domain.notes.said import Words
from service.domain.power.rule_power import rule_powers
from service.domain.results.unblinding import Unblinding
from service.reports.evidence_card import print_card
from tests.domain.evidence.claims_known import known
from tests.domain.sample import NOW, VALUE, facts_of, plan

EQUIVALENCE = {
    "tests.1": {"id": "eq", "test": "equivalence", "version": 1, "parameters": {"method": "tango"}},
    "hypotheses.0.equivalence": "eq",
}
CLUSTERED = {
    **EQUIVALENCE,
    "populations.0.clusters": {"key": "conversation", "n": 50},
    "populations.0.independence": None,
    "hypotheses.0.rule": "delta >= 2.0 pp and m.p_value < 0.05 and m.ci excludes 0",
    "tests.0": {"id": "m", "test": "clustered-mcnemar", "version": 1, "parameters": {}},
}

OPENED = Unblinding(
    at=NOW,
    by="Ada",
    by_key="k",
    reason="The judge broke.",
    population=None,
    endpoint=None,
    received=4,
    expected=1000,
)

BY_ITEM = {
    "populations.0.clusters": {"key": "conversation", "n": 50},
    "populations.0.independence": None,
}
"""Clusters are declared, and the tests of the rule pass them over."""


def scores(card: EvidenceCard) -> dict[str, int | None]:
    return {each.id: each.score for each in card.pieces}


def test_a_judged_record_that_proves_everything_has_all_ten() -> None:
    card = of_record(known(CLUSTERED, judged=True))
    assert scores(card) == dict.fromkeys(get_args(PieceId), 2)
    assert (card.score, card.most) == (10, 10)
    (hypothesis,) = card.hypotheses
    assert hypothesis.outcome == "supported"
    assert hypothesis.sentences is not None


def test_before_the_verdict_computed_things_are_unknown_and_score_as_planned() -> None:
    card = of_record(known(CLUSTERED))
    assert scores(card) == {
        "preregistration": 2, "paired_test": 1, "equivalence": 1, "clustered_interval": 1, "no_optional_stopping": 1,
    }  # fmt: skip
    (hypothesis,) = card.hypotheses
    assert (hypothesis.outcome, hypothesis.sentences, hypothesis.notes) == (None, None, ())
    unknown = [check for piece in card.pieces for check in piece.checks if check.holds is None]
    assert len(unknown) == 4


def test_the_card_before_the_verdict_does_not_depend_on_anything_but_counts() -> None:
    """Results in, but no verdict: the same card whatever the outcomes, since none enters."""
    card = of_record(known(CLUSTERED, received=1000, first_batch_sequence=4, first_result_at=NOW))
    assert all(each.outcome is None for each in card.hypotheses)
    assert scores(card)["no_optional_stopping"] == 1


def test_a_draft_has_nothing() -> None:
    draft = known(CLUSTERED)
    record = draft.record.model_copy(update={"state": "draft", "locked_at": None})
    card = of_record(replace(draft, record=record, lock_sequence=None))
    assert card.score == 0


@pytest.mark.parametrize(
    ("changes", "more", "piece", "score"),
    [
        (CLUSTERED, {"lock_sequence": 9}, "preregistration", 1),
        (CLUSTERED, {"unblindings": (OPENED,)}, "preregistration", 1),
        (CLUSTERED, {"unblindings": (OPENED,)}, "no_optional_stopping", 0),
        (CLUSTERED, {"standing": ("accept", "needs_review")}, "no_optional_stopping", 1),
        (CLUSTERED, {"standing": ("accept",)}, "no_optional_stopping", 2),
        (CLUSTERED, {"standing": ("accept", "reject")}, "no_optional_stopping", 0),
        (CLUSTERED, {"standing": ("new_registration",)}, "no_optional_stopping", 0),
        (CLUSTERED, {"received": 999}, "no_optional_stopping", 1),
        ({}, {}, "equivalence", 0),
        ({}, {}, "clustered_interval", 1),
        ({"hypotheses.0.rule": "delta >= 2.0 pp"}, {}, "paired_test", 0),
        ({"hypotheses.0.rule": "delta >= 2.0 pp"}, {}, "clustered_interval", 0),
        (BY_ITEM, {}, "clustered_interval", 0),
    ],
)  # fmt: skip
def test_a_piece_never_scores_more_than_the_record_proves(
    changes: dict[str, Any], more: dict[str, Any], piece: str, score: int
) -> None:
    card = of_record(replace(known(changes, judged=True), **more))
    assert scores(card)[piece] == score


@pytest.mark.parametrize(
    ("delay", "score", "says"),
    [
        (
            timedelta(milliseconds=3),
            1,
            "(it came less than a second after it: any run that took longer than that began",
        ),
        (timedelta(minutes=59), 1, "(it came 59 minutes after it: any run"),
        (
            timedelta(hours=1),
            2,
            "all results came 1 hour after the lock, which does not show that the runs were",
        ),
        (timedelta(days=3), 2, "all results came 3 days after the lock, which does not show that"),
    ],
)
def test_results_that_came_soon_after_the_lock_are_no_full_proof_of_it(
    delay: timedelta, score: int, says: str
) -> None:
    judged = known(CLUSTERED, judged=True)
    record = judged.record.model_copy(update={"complete_at": NOW + delay})
    card = of_record(replace(judged, record=record))
    assert scores(card)["preregistration"] == score
    (piece,) = (piece for piece in card.pieces if piece.id == "preregistration")
    assert says in piece.checks[-1].says.en
    assert piece.checks[-1].holds is (score == 2)
    assert piece.title.en.endswith("that the runs were made after it is not shown")


def test_a_check_that_does_not_hold_of_every_hypothesis_names_those() -> None:
    second = {**VALUE["hypotheses"][0], "id": "H2"}
    card = of_record(known({**EQUIVALENCE, "hypotheses.1": second}, judged=True))
    (piece,) = (piece for piece in card.pieces if piece.id == "equivalence")
    lacking = [check.says for check in piece.checks if not check.holds]
    assert [says.en for says in lacking] == [
        "every primary hypothesis names an equivalence test; H2 does not"
    ]
    assert "H2" in lacking[0].zh


def test_a_plan_that_cannot_be_judged_yet_still_has_a_card() -> None:
    card = of_record(known({"hypotheses.0.rule": "the reviewers like it"}))
    assert scores(card)["paired_test"] == 0
    (hypothesis,) = card.hypotheses
    assert hypothesis.power is None
    assert hypothesis.power_reason


def test_a_paper_is_as_good_as_the_weaker_of_two_answers() -> None:
    best = dict.fromkeys(BELONGS, "checkable")
    card = of_paper(PaperChecklist.model_validate(best))
    assert (card.score, card.most) == (10, 10)
    for name, of in BELONGS.items():
        for answer, score in (("stated", 1), ("absent", 0)):
            weaker = of_paper(PaperChecklist.model_validate({**best, name: answer}))
            assert {each.id: each.score for each in weaker.pieces}[of] == score
            assert weaker.score == 8 + score


def test_questions_left_out_count_as_absent_and_those_that_do_not_apply_count_for_nothing() -> None:
    assert of_paper(PaperChecklist()).score == 0
    best: dict[str, Any] = dict.fromkeys(BELONGS, "checkable")
    card = of_paper(PaperChecklist.model_validate({**best, "equivalence_tested": "not_applicable"}))
    assert (card.score, card.most) == (10, 10)
    both = {**best, "equivalence_tested": "not_applicable", "margin_set_beforehand": "not_applicable"}
    card = of_paper(PaperChecklist.model_validate(both))
    assert (card.score, card.most) == (8, 8)


def test_every_piece_of_a_paper_has_two_questions() -> None:
    asked = list(BELONGS.values())
    assert sorted(asked) == sorted([*get_args(PieceId), *get_args(PieceId)])
    assert set(PaperChecklist.model_fields) == {"title", *BELONGS}


def test_the_page_describes_every_piece_and_question() -> None:
    page = (Path(__file__).parents[3] / "docs" / "evidence.md").read_text("utf-8")
    assert re.findall(r"^\| `([a-z_]+)` \|", page, re.MULTILINE) == list(get_args(PieceId))
    (example,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    assert of_paper(PaperChecklist.model_validate_json(example, strict=True)).most == 10
    assert set(json.loads(example)) == set(PaperChecklist.model_fields)


def entry(changes: dict[str, Any], truth: float) -> float | None:
    """The power that lint's table has at a true difference, at its reference."""
    changed = plan(changes)
    (found,) = rule_powers(changed, facts_of(changed))
    return next(each.power for each in found.power if (each.discordance, each.truth) == (0.1, truth))


@pytest.mark.parametrize(
    ("changes", "truth", "name"),
    [
        ({}, 0.02, "the SESOI, 2 pp"),
        ({"assumptions": {"effect": {"value": 4, "unit": "pp"}}}, 0.02, "the SESOI, 2 pp"),
        (
            {
                "tests.1": {"id": "eq", "test": "equivalence", "version": 1},
                "hypotheses.0.claim": "non_inferiority",
                "hypotheses.0.rule": "eq.noninferior is true",
            },
            0.0,
            "no difference",
        ),
        (
            {
                "tests.1": {"id": "eq", "test": "equivalence", "version": 1},
                "hypotheses.0.claim": "minimum_effect",
                "hypotheses.0.rule": "eq.minimum_effect is true",
            },
            0.04,
            "2 x SESOI, 4 pp",
        ),
    ],
)
def test_the_card_names_the_difference_that_its_power_is_at(
    changes: dict[str, Any], truth: float, name: str
) -> None:
    (card,) = of_record(known(changes)).hypotheses
    assert card.power_at is not None
    assert card.power_at.en == name
    assert card.power == pytest.approx(entry(changes, truth), abs=1e-12)
    page = print_card(of_record(known(changes)))
    assert f"power at {name}: {100 * card.power:.0f} %" in page
    chinese = print_card(of_record(known(changes)), "zh")
    assert f"{card.power_at.zh}时的功效为 {100 * card.power:.0f} %" in chinese
    judged = card.model_copy(update={"outcome": "not_supported"})
    told = print_card(of_record(known(changes)).model_copy(update={"hypotheses": (judged,)}), "zh")
    assert "，未得到支持（`not_supported`）" in told


def test_the_card_shows_other_differences_as_a_curve_and_the_limit_of_the_rule() -> None:
    (card,) = of_record(known()).hypotheses
    assert [each.truth for each in card.power_curve] == [0.0, 0.04]
    assert [each.power for each in card.power_curve] == [entry({}, 0.0), entry({}, 0.04)]
    assert card.power_limit is not None
    assert "asks for an observed difference of 2 pp or beyond" in card.power_limit.en
    page = print_card(of_record(known()))
    assert (
        "25 % (11 % to 43 % over what the plan leaves open); at a true difference of 0 pp: 2 %, 4 pp: 79 %"
        in page
    )
    (free,) = of_record(known({"hypotheses.0.rule": "delta > 0 and m.p_value < 0.05"})).hypotheses
    assert free.power_limit is None


def test_a_sentence_of_the_card_shows_the_names_of_the_plan_as_they_are() -> None:
    card = of_record(known())
    said = Words(en="H: <b>a_b</b> *better* [here](x)", zh="H: <b>a_b</b> *好*")
    (hypothesis,) = card.hypotheses
    changed = card.model_copy(update={"hypotheses": (hypothesis.model_copy(update={"sentences": said}),)})
    assert r"  - H: \<b>a_b\</b> \*better\* \[here\](x)" in print_card(changed)
    assert r"  - H: \<b>a_b\</b> \*好\*" in print_card(changed, "zh")


@pytest.mark.parametrize(
    ("interval", "holds"),
    [
        ({"low": 0.01, "high": 0.05}, True),
        ({"low": 0.01, "high": None}, True),
        ({"low": None, "high": 0.05}, True),
        ({"low": None, "high": None}, False),
        (None, False),
    ],
)
def test_an_interval_is_computed_where_it_has_an_end(interval: dict[str, Any] | None, holds: bool) -> None:
    base = known(CLUSTERED, judged=True)
    assert base.verdict is not None
    (hypothesis, *others) = base.verdict.hypotheses
    analyses = {
        test: {**answer, "analysis": {**answer["analysis"], "ci": interval}}
        for test, answer in hypothesis.analyses.items()
    }
    altered = hypothesis.model_copy(update={"analyses": analyses})
    card = of_record(
        replace(base, verdict=base.verdict.model_copy(update={"hypotheses": (altered, *others)}))
    )
    (piece,) = [each for each in card.pieces if each.id == "clustered_interval"]
    assert piece.checks[-1].holds is holds
