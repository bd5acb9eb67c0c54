"""Five kinds of deviation and the answers reviewers give them, three real ones, and who may overrule."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from pydantic import ValidationError

from service.domain.access import Key
from service.domain.deviations.classification import RULES, STRICTNESS, Facts, gentler
from service.domain.deviations.deviation import (
    Deviation,
    Filing,
    Person,
    judge_filing,
    require_may_decide,
    require_person,
    standing,
)
from service.domain.deviations.scope import check, find_touched
from service.errors import Forbidden, InvalidData
from tests.domain import sample

WORDS = {
    "title": "Something",
    "original": "As planned.",
    "actual": "Otherwise.",
    "reason": "It had to be.",
    "impact": "Small.",
    "direction": "conservative",
    "outcomes_seen": False,
}
SWEEP = [{"value": value} for value in (0.30, 0.35, 0.40, 0.45, 0.50, 0.55)]
TAU = {
    "kind": "threshold",
    "name": "tau",
    "population": "locomo",
    "value": 0.47,
    "chosen_on": "separate_split",
    "sweep": SWEEP,
}
PLAN = sample.plan(
    {
        "populations.0.id": "longmemeval",
        "populations.1": {
            "id": "locomo",
            "dataset": "L",
            "n": 764,
            "clusters": {"key": "conversation", "n": 8},
        },
        "hypotheses.0.population": "longmemeval",
        "hypotheses.1": sample.VALUE["hypotheses"][0] | {"id": "H2", "population": "locomo"},
        "endpoints.1": {"id": "f1", "kind": "continuous", "role": "secondary"},
        "thresholds": [
            {"name": "tau", "population": "longmemeval", "value": 0.40, "chosen_by": "p30", "split": "dev"}
        ],
    }
)


def filing(change: dict[str, Any], **words: Any) -> Filing:
    return Filing.model_validate_json(json.dumps(WORDS | words | {"change": change}), strict=True)


def facts(*, received: int = 0, judged: bool = False, unblinded: bool = False, seen: bool = False) -> Facts:
    return Facts(
        state="judged" if judged else "collecting" if received else "locked",
        results_received=received,
        results_expected=1000,
        judged=judged,
        unblinded=unblinded,
        outcomes_seen=seen,
    )


BEFORE, SEALED, JUDGED = facts(), facts(received=12), facts(received=1000, judged=True)
UNBLINDED, SEEN = facts(received=12, unblinded=True), facts(received=12, seen=True)


def decided(change: dict[str, Any], at: Facts) -> tuple[str, str]:
    _, classification, rule = judge_filing(PLAN, filing(change), at)
    return classification, rule.id


# --- the five answers of reviewers ---


@pytest.mark.parametrize("at", [BEFORE, SEALED])
@pytest.mark.parametrize("dropped", ["candidate", "neither"])
def test_a_smaller_sample_conservative_and_blind_is_accepted(at, dropped):
    change = {"kind": "n", "population": "longmemeval", "n": 400, "dropped_favour": dropped}
    assert decided(change, at) == ("accept", "conservative-and-blind")


@pytest.mark.parametrize("at", [BEFORE, SEALED])
def test_a_threshold_recalibrated_on_a_split_apart_with_a_sweep_is_accepted(at):
    assert decided(TAU, at) == ("accept", "threshold-recalibrated-with-sweep")


@pytest.mark.parametrize("at", [BEFORE, SEALED, UNBLINDED, SEEN, JUDGED])
def test_a_switched_primary_endpoint_is_rejected(at):
    change = {"kind": "endpoint", "hypothesis": "H1", "endpoint": "f1"}
    assert decided(change, at) == ("reject", "primary-endpoint-switched")


@pytest.mark.parametrize("at", [SEALED, UNBLINDED, SEEN, JUDGED])
@pytest.mark.parametrize(
    "change",
    [{"kind": "arm_removed", "arm": "C2"}, {"kind": "hypothesis", "hypothesis": "H2", "how": "dropped"}],
)
def test_an_arm_removed_after_results_is_rejected(change, at):
    assert decided(change, at) == ("reject", "comparison-dropped-after-results")


@pytest.mark.parametrize("at", [SEALED, UNBLINDED, SEEN, JUDGED])
@pytest.mark.parametrize(
    "change",
    [
        {"kind": "hypothesis", "hypothesis": "H1", "how": "reshaped"},
        {"kind": "rule", "hypothesis": "H1", "rule": "delta >= 1 pp"},
        {"kind": "sesoi", "endpoint": "accuracy", "margin": {"value": 5, "unit": "pp"}},
    ],
)
def test_a_hypothesis_reshaped_after_results_needs_a_new_registration(change, at):
    assert decided(change, at) == ("new_registration", "hypothesis-reshaped-after-results")


# --- three deviations as they were really filed ---


def test_a_hypothesis_split_before_any_result_waits_for_a_reviewer():
    """Two chances where the plan had one: harmless for the null that was reported, not for the claim."""
    directions, classification, rule = judge_filing(
        PLAN, filing({"kind": "hypothesis", "hypothesis": "H1", "how": "split"}), BEFORE
    )
    assert (classification, rule.id) == ("needs_review", "otherwise")
    assert [(each.hypothesis, each.direction, each.null_direction) for each in directions] == [
        ("H1", "aggressive", "conservative")
    ]


def test_a_threshold_recalibrated_for_the_second_population_is_accepted():
    found = filing(TAU, direction="neutral")
    check(PLAN, found.change, {})
    directions, classification, _ = judge_filing(PLAN, found, SEALED)
    assert classification == "accept"
    assert [(each.hypothesis, each.direction) for each in directions] == [("H2", "neutral")]


def test_a_truncated_sample_is_conservative_for_the_claim_and_aggressive_for_the_null():
    """The author called it conservative for the null result; it is the claim that it makes harder."""
    change = {"kind": "n", "population": "longmemeval", "n": 400, "dropped_favour": "candidate"}
    directions, classification, _ = judge_filing(PLAN, filing(change), SEALED)
    assert classification == "accept"
    (only,) = directions
    assert (only.direction, only.null_direction, only.measured) == ("conservative", "aggressive", False)


# --- facts come before the author's word ---


def test_the_author_s_word_counts_only_against_the_author():
    change = {"kind": "n", "population": "longmemeval", "n": 400, "dropped_favour": "neither"}
    assert decided(change, SEALED)[0] == "accept"
    assert decided(change, SEEN)[0] == "needs_review"
    assert decided(change, JUDGED)[0] == "needs_review", "outcomes_seen false does not close what is open"


@pytest.mark.parametrize("at", [UNBLINDED, SEEN, JUDGED])
def test_aggressive_changes_are_rejected_once_outcomes_could_be_read(at):
    change = {"kind": "n", "population": "longmemeval", "n": 400, "dropped_favour": "baseline"}
    assert decided(change, at) == ("reject", "aggressive-after-outcomes")
    assert decided(change, SEALED) == ("needs_review", "otherwise")


def test_directions_that_rows_show_replace_those_of_the_change():
    change = {
        "kind": "exclude_items",
        "population": "longmemeval",
        "item_ids": ["item 1"],
        "dropped_favour": "candidate",
    }
    shown = {"H1": {"superiority": "aggressive", "null": "conservative"}}
    directions, classification, _ = judge_filing(PLAN, filing(change), JUDGED, shown)
    assert (directions[0].direction, directions[0].measured, classification) == ("aggressive", True, "reject")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"sweep": None}, ("needs_review", "threshold-without-sweep")),
        ({"sweep": SWEEP[:2]}, ("needs_review", "threshold-without-sweep")),
        ({"sweep": [{"value": 0.45}, {"value": 0.47}]}, ("needs_review", "threshold-without-sweep")),
        ({"chosen_on": "evaluation_items"}, ("reject", "threshold-tuned-on-evaluation-items")),
    ],
)
def test_a_threshold_is_accepted_with_its_sweep_and_its_split_alone(changes, expected):
    assert decided({k: v for k, v in (TAU | changes).items() if v is not None}, SEALED) == expected


def test_a_threshold_set_anew_after_outcomes_could_be_read_is_not_accepted():
    for at in (UNBLINDED, SEEN, JUDGED):
        assert decided(TAU, at)[0] == "needs_review"


def test_the_same_arm_may_go_before_any_result_with_a_reviewer():
    assert decided({"kind": "arm_removed", "arm": "C2"}, BEFORE) == ("needs_review", "otherwise")


def test_every_rule_has_a_name_of_its_own_and_decides_something_real():
    assert len({rule.id for rule in RULES}) == len(RULES)
    assert {rule.decides for rule in RULES} == set(STRICTNESS)


# --- what a filing must say ---


@pytest.mark.parametrize("lacking", ["original", "actual", "reason", "impact", "direction", "outcomes_seen"])
def test_a_filing_without_reason_impact_or_direction_is_refused(lacking):
    with pytest.raises(ValidationError, match=lacking):
        Filing.model_validate({name: value for name, value in WORDS.items() if name != lacking})


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"kind": "n", "population": "other", "n": 4}, "change.population"),
        ({"kind": "n", "population": "locomo", "n": 764}, "change.n"),
        ({"kind": "exclude_items", "population": "locomo", "item_ids": ["none"]}, "change.item_ids[0]"),
        (
            {"kind": "exclude_clusters", "population": "locomo", "clusters": ["c0", "c99"]},
            "change.clusters[1]",
        ),
        ({"kind": "exclude_clusters", "population": "longmemeval", "clusters": ["c0"]}, "change.clusters[0]"),
        ({"kind": "disputed_items", "population": "other", "item_ids": ["item 1"]}, "change.population"),
        ({"kind": "missing_policy", "missing": "exclude_pair"}, "change.missing"),
        (TAU | {"name": "temperature"}, "change.name"),
        (TAU | {"population": "longmemeval", "value": 0.4}, "change.value"),
        ({"kind": "endpoint", "hypothesis": "H9", "endpoint": "f1"}, "change.hypothesis"),
        ({"kind": "endpoint", "hypothesis": "H1", "endpoint": "accuracy"}, "change.endpoint"),
        ({"kind": "hypothesis", "hypothesis": "H9", "how": "split"}, "change.hypothesis"),
        ({"kind": "rule", "hypothesis": "H1", "rule": "delta is big"}, "change.rule"),
        ({"kind": "rule", "hypothesis": "H1", "rule": PLAN.hypotheses[0].rule}, "change.rule"),
        ({"kind": "sesoi", "endpoint": "accuracy", "margin": {"value": 2, "unit": "pp"}}, "change.margin"),
        ({"kind": "judge", "endpoint": "other"}, "change.endpoint"),
        ({"kind": "test", "test": "other"}, "change.test"),
        ({"kind": "arm_removed", "arm": "C9"}, "change.arm"),
        ({"kind": "multiplicity", "policy": "none"}, "change.policy"),
    ],
)
def test_a_change_that_does_not_fit_the_plan_is_refused(change, path):
    with pytest.raises(InvalidData) as refused:
        check(PLAN, filing(change).change, sample.manifests(PLAN))
    assert [fault.path for fault in refused.value.faults] == [path]


def test_changes_touch_the_hypotheses_they_speak_of():
    def ids(change):
        return [each.id for each in find_touched(PLAN, filing(change).change)]

    assert ids({"kind": "n", "population": "locomo", "n": 5}) == ["H2"]
    assert ids(TAU) == ["H2"]
    assert ids({"kind": "judge", "endpoint": "accuracy"}) == ["H1", "H2"]
    assert ids({"kind": "test", "test": "m"}) == ["H1", "H2"]
    assert ids({"kind": "rule", "hypothesis": "H1", "rule": "delta > 0"}) == ["H1"]
    assert ids({"kind": "hypothesis", "hypothesis": "H9", "how": "added"}) == []
    assert ids({"kind": "other"}) == ["H1", "H2"]


# --- who may decide what ---


def deviation(classification: str = "needs_review", author: str = "Ada") -> Deviation:
    found = filing({"kind": "other"})
    directions, _, rule = judge_filing(PLAN, found, SEALED)
    return Deviation(
        preregistration_id="p",
        number=1,
        plan_sha256="x",
        filing=found,
        author=author,
        facts=SEALED,
        directions=directions,
        classification=classification,
        rule=rule,
        filed_at=sample.NOW,
    )


ADA = Person("Ada")


@pytest.mark.parametrize(
    ("standing_now", "wanted"), list(itertools.product(STRICTNESS, ["accept", "new_registration", "reject"]))
)
def test_an_author_may_be_stricter_and_never_gentler(standing_now, wanted):
    milder = STRICTNESS.index(wanted) < STRICTNESS.index(standing_now)
    assert gentler(wanted, standing_now) is milder
    for name in ("Ada", " ada ", "\uff21DA"):
        if milder:
            with pytest.raises(Forbidden) as refused:
                require_may_decide(ADA, Person(name), standing_now, wanted, "because")
            assert refused.value.problem_code == "reviewer_is_author"
        else:
            assert require_may_decide(ADA, Person(name), standing_now, wanted, None) is False


def test_another_person_may_be_gentler_with_a_note():
    with pytest.raises(InvalidData) as refused:
        require_may_decide(ADA, Person("Grace"), "reject", "accept", None)
    assert refused.value.faults[0].path == "note"
    assert require_may_decide(ADA, Person("Grace"), "reject", "accept", "the log shows why") is True


def test_a_job_is_nobody():
    key = Key(
        id="k", project_id="p", name="ci", kind="job", scopes=("read",), prefix="x", created_at=sample.NOW
    )
    with pytest.raises(Forbidden) as refused:
        require_person(key, "a decision")
    assert refused.value.problem_code == "person_required"
    require_person(key.model_copy(update={"kind": "person"}), "a decision")


def test_names_are_compared_as_people_write_them():
    assert Person("Ada  Lovelace").may_be(Person("ada lovelace"))
    assert not Person("Ada").may_be(Person("Adam"))


def test_a_key_and_those_it_made_are_one_person():
    ada, grace = Person("Ada", "a", frozenset({"root"})), Person("Grace", "g", frozenset({"root"}))
    puppet = Person("Nobody", "p", frozenset({"a", "root"}))
    root, unknown = Person("Root", "root"), Person("Earlier")
    pairs = {
        (one.name, other.name)
        for one in (ada, grace, puppet, root, unknown)
        for other in (ada, grace)
        if one.may_be(other)
    }
    assert pairs == {
        ("Ada", "Ada"),
        ("Grace", "Grace"),
        ("Nobody", "Ada"),
        ("Root", "Ada"),
        ("Root", "Grace"),
    }
    assert all(
        one.may_be(other) == other.may_be(one)
        for one in (ada, grace, puppet, root)
        for other in (ada, grace, unknown)
    )


def test_without_decisions_the_rules_stand():
    assert standing(deviation("reject"), ()) == "reject"
