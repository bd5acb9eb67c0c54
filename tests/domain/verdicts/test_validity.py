"""What stands against a verdict, whatever its rows say."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from service.domain.canonical import canonical
from service.domain.deviations.as_run import verdicts_of
from service.domain.deviations.doubtful_items import Doubts
from service.domain.deviations.tipping_point import tipping_point
from service.domain.evidence.record import of_record
from service.domain.notes.notes import marks_in_words, sentences
from service.domain.rules.settings import resolve
from service.domain.verdicts.outcomes import Rows
from service.domain.verdicts.records import Verdict
from service.domain.verdicts.validity import Mark, flags, invalidating, mark_unblinded
from service.reports.evidence_card import print_card
from service.words import read
from tests.domain import sample
from tests.domain.evidence.claims_known import known as known_of

MARKS: tuple[Mark, ...] = (
    mark_unblinded(sample.NOW, ()),
    mark_unblinded(sample.NOW, (3,)),
    mark_unblinded(sample.NOW, (), closed=True),
    mark_unblinded(sample.NOW, (3, 4, 7)),
)
"""One of every sentence that there is."""
RESULTS = sample.outcomes(*sample.binary(100, 50, 20, 2))


def judged(*marks: Mark, **changes: Any) -> Verdict:
    return sample.verdict_of({}, RESULTS, marks=marks, **changes)


def test_an_outcome_is_what_the_rule_says_where_nothing_stands_against_it() -> None:
    assert judged().hypotheses[0].outcome == "supported"


@pytest.mark.parametrize("mark", [each for each in MARKS if each.effect == "invalid"])
def test_a_mark_makes_an_outcome_invalid_and_leaves_its_numbers_on_record(mark: Mark) -> None:
    plain, marked = judged().hypotheses[0], judged(mark).hypotheses[0]
    assert (marked.outcome, marked.reason) == ("invalid", mark.says)
    same = {"clauses", "analyses", "delta", "delta_exact", "n", "rule_holds", "reading"}
    assert marked.model_dump(include=same) == plain.model_dump(include=same)
    assert judged(mark).primary_outcomes == {"invalid": 1}


@pytest.mark.parametrize("mark", [each for each in MARKS if each.effect == "invalid"])
def test_an_invalid_sentence_tells_no_number(mark: Mark) -> None:
    found = judged(mark).hypotheses[0]
    assert mark.says in found.sentence
    assert not re.search(r"\d", found.sentence.replace(mark.says, "").replace("H1", ""))


@pytest.mark.parametrize("mark", [each for each in MARKS if each.effect == "flag"])
def test_a_flag_leaves_the_outcome_and_ends_its_sentence(mark: Mark) -> None:
    plain, marked = judged().hypotheses[0], judged(mark).hypotheses[0]
    assert marked.outcome == plain.outcome
    assert marked.sentence == f"{plain.sentence} It is marked: {mark.says}."


def test_a_mark_concerns_the_hypotheses_that_it_names() -> None:
    mark = MARKS[1].model_copy(update={"hypotheses": ("H2",)})
    assert judged(mark).hypotheses[0].outcome == "supported"
    assert invalidating([mark], "H1") is None
    assert invalidating([mark], "H2") == mark
    assert flags([MARKS[0].model_copy(update={"hypotheses": ("H2",)})], "H1") == ()


def test_results_that_break_the_plan_are_the_first_reason() -> None:
    changes = {"missing": "fail"}
    results = sample.outcomes([1.0, float("nan")], [1.0, 0.0])
    found = sample.verdict_of(changes, results, marks=(MARKS[1],)).hypotheses[0]
    assert found.outcome == "invalid"
    assert "are not ok" in (found.reason or "")


@pytest.mark.parametrize("mark", MARKS)
def test_every_mark_has_words_in_both_languages(mark: Mark) -> None:
    assert read("reasons", mark.says) is not None
    verdict = judged(mark)
    (said,) = marks_in_words(verdict)
    assert mark.says in said.en
    (words,) = sentences(sample.plan({"populations.0.n": 100}), verdict, {})
    assert words.sentences.en == verdict.hypotheses[0].sentence
    assert ("无效" if mark.effect == "invalid" else "带有标记") in words.sentences.zh


def test_a_verdict_without_marks_has_the_bytes_that_it_had_before_there_were_any() -> None:
    text = json.loads(canonical(judged().model_dump(mode="json")))
    assert "marks" not in text
    marked = judged(MARKS[1])
    again = Verdict.model_validate_json(canonical(marked.model_dump(mode="json")))
    assert again == marked
    assert again.sha256() == marked.sha256()


def test_what_is_computed_again_is_as_invalid_as_the_verdict() -> None:
    plan = sample.plan({"populations.0.n": 100})
    rows = Rows(resolve(plan), sample.manifests(plan), RESULTS, (MARKS[1],))
    assert verdicts_of(rows)["H1"].outcome == "invalid"
    nothing = sample.outcomes(*sample.binary(100, 50, 20, 2)).cells["one", "C1", "accuracy"].values[:, 0] > 2
    found = tipping_point(rows, plan.hypotheses[0], Doubts(nothing, ~nothing), budget=1.0)
    assert found is not None
    assert (found.items, found.outcome) == (None, "invalid")
    assert MARKS[1].says in (found.reason or "")


@pytest.mark.parametrize(("language", "word"), [("en", "opened"), ("zh", "打开")])
def test_the_card_prints_every_mark(language: Any, word: str) -> None:
    marked = known_of(judged=True)
    assert marked.verdict is not None
    verdict = marked.verdict.model_copy(update={"marks": MARKS})
    card = of_record(type(marked)(**{**vars_of(marked), "verdict": verdict}))
    assert len(card.marks) == len(MARKS)
    assert print_card(card, language).count("**!**") == len(MARKS)
    assert word in print_card(card, language)


def vars_of(known: Any) -> dict[str, Any]:
    return {name: getattr(known, name) for name in known.__dataclass_fields__}
