from __future__ import annotations

from dataclasses import fields
from datetime import timedelta

import pytest

from service.actions.verdicts.overviews import Judged
from service.domain.plans.findings import Finding
from service.domain.verdicts.pairs import Excluded
from service.domain.verdicts.validity import mark_unblinded
from service.store.plans.record_lists import RecordLine
from service.web.html.speech import ENGLISH
from service.web.preregistrations import hypothesis_view, record_view, views
from service.words import message
from tests.web.samples import NOW, PLAN, RULE, draft_of, hypothesis_verdict, verdict_of


def judged_page(**changes):
    record = draft_of("project1").model_copy(update={"state": "judged", "judged_at": NOW})
    return record_view.page_of(record, verdict_of("p1", hypothesis_verdict(**changes)), None)


def test_a_plan_is_shown_in_its_canonical_words():
    page = record_view.page_of(draft_of("project1"), None, None)
    (hypothesis,) = page.hypotheses
    assert hypothesis.rule == RULE
    assert hypothesis.comparison == "superiority: C3 against C1, accuracy on dev"
    assert page.populations == (
        "dev: Dev set (4 items, independent: one conversation per question)",
        "talks: Talks (40 items in 8 clusters by conversation)",
    )
    assert page.plan_sha256 == ""


def test_a_rule_that_does_not_parse_is_shown_as_written():
    hypotheses = [{**PLAN["hypotheses"][0], "rule": "delta is nice"}]
    page = record_view.page_of(draft_of("project1", plan={**PLAN, "hypotheses": hypotheses}), None, None)
    assert page.hypotheses[0].rule == "delta is nice"


def test_an_empty_draft_has_a_page():
    page = record_view.page_of(draft_of("project1", plan={}), None, None)
    assert (page.title, page.hypotheses, page.populations) == ("Without title", (), ())


def test_nothing_is_judged_without_a_verdict():
    page = record_view.page_of(draft_of("project1"), None, views.Progress(3, 8))
    assert [each.judged for each in page.hypotheses] == [None]
    assert page.multiplicity == ""


def test_clauses_speak_the_unit_of_their_field():
    judged = judged_page().hypotheses[0].judged
    assert [(each.observed, each.threshold, each.truth) for each in judged.clauses] == [
        ("+25.00 pp", "2.0 pp", "holds"),
        ("0.625", "0.05", "fails"),
        ("-50.00 pp to unbounded", "0", "unknown"),
    ]
    assert judged.clauses[2].reason == "an end is undefined"


def test_an_adjusted_p_stands_beside_the_tests_own():
    clauses = hypothesis_verdict().clauses
    adjusted = clauses[1].model_copy(update={"observed": 0.625, "unadjusted": 0.3125})
    judged = judged_page(clauses=(clauses[0], adjusted, clauses[2])).hypotheses[0].judged
    assert judged.clauses[1].observed == "0.625 (0.3125 unadjusted)"


def test_what_was_filled_in_is_counted_and_what_is_next_is_said():
    judged = judged_page(n=4, excluded=Excluded(filled=3)).hypotheses[0].judged
    assert judged.n == "4 of 4 planned items, 3 of them filled in"
    assert judged.next.startswith("Next: ")


def test_scores_are_no_percentage_points():
    endpoints = [{"id": "accuracy", "kind": "continuous", "role": "primary"}]
    record = draft_of("project1", plan={**PLAN, "endpoints": endpoints})
    page = record_view.page_of(record, verdict_of("p1"), None)
    assert page.hypotheses[0].judged.clauses[0].observed == "0.25"


def test_an_undefined_observation_is_said():
    clauses = hypothesis_verdict().clauses
    undefined = clauses[1].model_copy(update={"observed": None, "holds": None})
    judged = judged_page(clauses=(clauses[0], undefined, clauses[2])).hypotheses[0].judged
    assert (judged.clauses[1].observed, judged.clauses[1].truth) == ("undefined", "unknown")


def test_what_is_true_or_false_is_said_by_its_word():
    clauses = hypothesis_verdict().clauses
    asked = clauses[1].model_copy(
        update={"text": "e.equivalent is true", "observed": False, "threshold": True, "holds": False}
    )
    judged = judged_page(clauses=(clauses[0], asked, clauses[2])).hypotheses[0].judged
    assert (judged.clauses[1].observed, judged.clauses[1].threshold) == ("false", "true")


def test_an_invalid_hypothesis_has_no_clauses_and_a_reason():
    judged = judged_page(outcome="invalid", clauses=(), analyses={}, reason="rows came after unblinding")
    shown = judged.hypotheses[0].judged
    assert (shown.label, shown.clauses, shown.reason) == ("Invalid", (), "rows came after unblinding")


def test_items_left_out_are_counted():
    assert judged_page().hypotheses[0].judged.n == "3 of 4 planned items, 1 left out"
    assert judged_page(n=4).hypotheses[0].judged.n == "4 of 4 planned items"


def test_what_a_plan_with_looks_did_not_come_to_was_not_left_out():
    plan = {**PLAN, "stopping": {"kind": "anytime_valid"}}
    record = draft_of("project1", plan=plan).model_copy(update={"state": "judged", "judged_at": NOW})
    verdict = verdict_of("p1", hypothesis_verdict(n=2, excluded=Excluded(pairs=1)))
    (hypothesis,) = record_view.page_of(record, verdict, None).hypotheses
    assert hypothesis.judged.n == "2 of 4 planned items, 1 left out"


def test_tests_speak_for_themselves():
    analyses = judged_page().hypotheses[0].judged.analyses
    assert [(each.name, each.sentence) for each in analyses] == [
        ("mcnemar", "They differ by +25.00 pp."),
        ("broken", "all values are equal"),
    ]


def test_only_warnings_are_listed_as_acknowledged():
    findings = (
        Finding(code="A", severity="warning", path="", message="take care"),
        Finding(code="B", severity="error", path="", message="no"),
    )
    record = draft_of("project1").model_copy(update={"lint": findings})
    assert [each.code for each in record_view.page_of(record, None, None).warnings] == ["A"]


def test_the_timeline_tells_what_happened():
    times = {"locked_at": NOW + timedelta(hours=1), "complete_at": NOW + timedelta(hours=2)}
    record = draft_of("project1").model_copy(update={"state": "complete", **times})
    first = NOW + timedelta(minutes=90)
    timeline = record_view.page_of(record, None, None, first_result=first).timeline
    assert [(each.what, each.iso) for each in timeline] == [
        ("Created", "2027-01-04T09:00:00+00:00"),
        ("Locked", "2027-01-04T10:00:00+00:00"),
        ("First result in", "2027-01-04T10:30:00+00:00"),
        ("Last result in", "2027-01-04T11:00:00+00:00"),
    ]
    assert timeline[0].text == "2027-01-04 09:00:00 UTC"


@pytest.mark.parametrize("outcome", sorted(hypothesis_view.OUTCOMES))
def test_every_outcome_has_a_label(outcome):
    record = draft_of("project1")
    shown = {"title": record.plan.title, "altered": False}
    listed = RecordLine(
        **{each.name: getattr(record, each.name, None) for each in fields(RecordLine)} | shown
    )
    line = record_view.line_of(listed, (Judged("H1a", outcome, None),))
    assert line.outcomes == (
        views.OutcomeView(
            "H1a", outcome, ENGLISH(hypothesis_view.OUTCOMES[outcome]), unsettled=False, headline=""
        ),
    )


@pytest.mark.parametrize(
    ("how", "label", "unsettled"),
    [
        ("", "Equivalent", False),
        ("_uncorrected", "Equivalent only uncorrected", True),
        ("_narrowly", "Equivalent, narrowly", True),
    ],
)
def test_an_equivalence_is_called_what_its_headline_says_of_it(how: str, label: str, unsettled: bool) -> None:
    record = draft_of("project1")
    shown = {"title": record.plan.title, "altered": False}
    listed = RecordLine(
        **{each.name: getattr(record, each.name, None) for each in fields(RecordLine)} | shown
    )
    rule = message(f"headlines.rule_not_met_but_equivalent{how}", margin="")
    line = message("headlines.line_without_figures", says="B is equivalent to A", scope="", rule=rule)
    (view,) = record_view.line_of(listed, (Judged("H1a", "equivalent", line),)).outcomes
    assert (view.label, view.unsettled) == (label, unsettled)
    assert rule.text("en") in view.headline


def test_a_failed_computation_is_said():
    record = draft_of("project1").model_copy(update={"state": "complete"})
    assert "failed" in record_view.page_of(record, None, None, failed=True).state_sentence
    assert "failed" not in record_view.page_of(record, None, None).state_sentence


def test_what_stands_against_a_verdict_is_said_first():
    record = draft_of("project1").model_copy(update={"state": "judged", "judged_at": NOW})
    verdict = verdict_of("p1", hypothesis_verdict()).model_copy(
        update={"marks": (mark_unblinded(NOW, (2,)),)}
    )
    (said,) = record_view.page_of(record, verdict, None).marks
    assert said == "Outcomes are invalid: 1 batch came in after outcomes had been opened."


def test_a_draft_says_when_it_was_made():
    assert [each.what for each in record_view.page_of(draft_of("project1"), None, None).timeline] == [
        "Created"
    ]
