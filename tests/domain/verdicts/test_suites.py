"""Verdicts about suites: several tasks under locked weights."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from service.domain.notes.next_steps import describe_next
from service.domain.plans.items.suite_items import find_population, manifest_of
from service.domain.rules.settings import resolve
from service.domain.verdicts.outcomes import LEFT_OUT
from service.domain.verdicts.words.headline import headline
from service.stats.shared.declaring import registry
from service.words import text_of
from tests.domain.suites_sample import SIZES, by_counts, manifests, outcomes, suite_plan, verdict

GOLDEN = {"large": (525, 500), "middle": (50, 58), "small": (20, 30)}
"""Differences of -2.5, +8 and +20 pp: over the tasks alike +8.5 pp, over the items -.61 pp."""

EQUIVALENT_UNDER_WORST_CASE = {
    "missing": "worst_case",
    "hypotheses.0.claim": "equivalence",
    "hypotheses.0.rule": "suite.ci within (-30 pp, 30 pp)",
    "sesoi.accuracy": {"value": 30, "unit": "pp"},
}


def judged(plan, counts=GOLDEN, lacking=()):
    (one,) = verdict(plan, outcomes(plan, by_counts(plan, counts), lacking)).hypotheses
    return one


def test_the_difference_is_that_of_the_tasks_under_their_weights():
    one = judged(suite_plan())
    assert Fraction(one.delta_exact) == Fraction(85, 1000)
    analysis = one.analyses["suite"]["analysis"]
    assert analysis["estimate"] == pytest.approx(0.085)
    assert analysis["item_weighted"] == pytest.approx((-25 + 8 + 10) / 1150)
    assert one.n == one.n_planned == 1150
    assert "over all items alike, which is another quantity, it is -0.61 pp" in one.sentence
    assert "'large' stands worst, at -2.50 pp (n = 1000)" in one.sentence


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ("items", Fraction(-7, 1150)),
        ({"large": 1, "middle": 2, "small": 1}, Fraction(-25, 4000) + Fraction(8, 200) + Fraction(1, 20)),
    ],
)
def test_weights_are_those_of_the_plan(weights, expected):
    plan = suite_plan({"suites.0.weights": weights})
    one = judged(plan)
    assert Fraction(one.delta_exact) == expected
    assert one.analyses["suite"]["analysis"]["estimate"] == pytest.approx(float(expected))


def test_a_test_is_asked_what_anybody_would_ask_it():
    weights = {"large": 2, "middle": 1, "small": 1}
    plan = suite_plan({"suites.0.weights": weights})
    values = by_counts(plan, GOLDEN)
    one = judged(plan)
    columns = {"tasks": [], "baseline": [], "candidate": []}
    for name, n in SIZES.items():
        columns["tasks"] += [name] * n
        columns["baseline"] += values[name]["C1"].tolist()
        columns["candidate"] += values[name]["C2"].tolist()
    test = registry.find("suite", 1)
    alone = test.compute(test.request.model_validate({**columns, "weights": weights})).model_dump(mode="json")
    for field in ("estimate", "ci", "every", "p_value", "item_weighted"):
        assert one.analyses["suite"]["analysis"][field] == alone[field]


def test_rescaled_tasks_count_from_their_floor():
    scale = {"small": {"floor": 0.25, "ceiling": 0.75}}
    one = judged(suite_plan({"suites.0.rescale": scale}))
    # the difference of 20 pp on half of the scale counts twice
    expected = (Fraction(-25, 1000) + Fraction(8, 100) + Fraction(40, 100)) / 3
    assert Fraction(one.delta_exact) == expected
    assert one.analyses["suite"]["analysis"]["estimate"] == pytest.approx(float(expected))
    by_task = {effect.stratum: effect.delta for effect in one.strata.effects}
    assert by_task["small"] == pytest.approx(0.4)


def test_one_arm_is_held_against_its_reference():
    plan = suite_plan(
        {
            "hypotheses.0": {
                "id": "H1",
                "claim": "at_least",
                "statement": "C2 reaches 40 % over the tasks",
                "population": "bench",
                "candidate": "C2",
                "reference": {"value": 40, "unit": "%"},
                "endpoint": "accuracy",
                "rule": "suite.ci.low >= 40%",
            },
            "suites.0.rescale": {"small": {"floor": 0.2, "ceiling": 1}},
        }
    )
    values = {name: {"C2": column["C2"]} for name, column in by_counts(suite_plan(), GOLDEN).items()}
    (one,) = verdict(plan, outcomes(plan, values)).hypotheses
    mean = (Fraction(1, 2) + Fraction(58, 100) + (Fraction(3, 5) - Fraction(1, 5)) / Fraction(4, 5)) / 3
    assert one.mean == pytest.approx(float(mean))
    assert one.analyses["suite"]["analysis"]["estimate"] == pytest.approx(float(mean))
    assert one.outcome == "supported"
    assert one.baseline is None


def test_every_task_by_itself_decides_a_claim_about_every_task():
    changes = {
        "hypotheses.0.claim": "non_inferiority",
        "hypotheses.0.about": "every_task",
        "hypotheses.0.statement": "C2 loses no task by more than 2 pp",
        "hypotheses.0.rule": "suite.every.low > -2 pp",
    }
    plan = suite_plan(changes)
    # over the tasks far better, and one task is not shown to lose less
    one = judged(plan, {"large": (500, 800), "middle": (40, 80), "small": (25, 25)})
    assert one.outcome == "not_supported"
    assert one.reading_of == "suite.every"
    tasks = one.analyses["suite"]["analysis"]["tasks"]
    every = one.analyses["suite"]["analysis"]["every"]
    # an interval of every single task is of other errors than the mean's: no size is told from them
    assert "plan of about" not in describe_next(plan, one).says.text("en")
    assert every["low"] == min(task["ci"]["low"] for task in tasks)
    assert every["high"] == max(task["ci"]["high"] for task in tasks)
    held = judged(plan, {"large": (500, 800), "middle": (40, 80), "small": (10, 40)})
    assert held.outcome == "supported"
    ship = headline(resolve(plan).require(held.id), held).ship
    assert text_of(ship, "en").endswith("or more is ruled out on every single task.")
    # the interval is of the tasks, and does not stand behind the mean as if it were the mean's
    line = text_of(headline(resolve(plan).require(held.id), held).line, "en")
    low, high = (f"{100 * held.analyses['suite']['analysis']['every'][end]:+.2f}" for end in ("low", "high"))
    assert f" pp; every single task {low} to {high} pp (95% CI), rule met" in line


def test_what_is_missing_changes_no_weight_and_a_task_without_items_no_suite():
    plan = suite_plan({"suites.0.weights": "items", "missing": "exclude_pair"})
    given = outcomes(plan, by_counts(plan, GOLDEN))
    cell = given.cells["large", "C1", "accuracy"]
    cell.statuses[:500] = 2
    (one,) = verdict(plan, given).hypotheses
    kept = Fraction(0 - 25, 500)
    assert Fraction(one.delta_exact) == (1000 * kept + 8 + 10) / 1150
    assert one.excluded.pairs == 500
    gone = judged(plan, lacking=("middle",))
    assert gone.outcome == "inconclusive"
    assert "no item is left of middle: a suite without a task is another suite" in gone.sentence
    assert gone.delta is None


@pytest.mark.parametrize(("policy", "outcome"), [("fail", "invalid"), ("worst_case", "not_supported")])
def test_a_missing_task_is_taken_as_the_policy_says(policy, outcome):
    plan = suite_plan({"missing": policy})
    one = judged(plan, {"large": (400, 600), "middle": (10, 90), "small": (20, 30)}, lacking=("middle",))
    assert one.outcome == outcome
    if policy == "worst_case":
        assert one.excluded.filled == 100
        assert Fraction(one.delta_exact) == (Fraction(2, 10) - 1 + Fraction(2, 10)) / 3


def test_of_a_claim_of_equivalence_the_harder_filling_is_by_the_weights():
    plan = suite_plan(EQUIVALENT_UNDER_WORST_CASE)
    # over the items the difference is negative, over the tasks positive: filled in upwards it is further from 0
    given = outcomes(plan, by_counts(plan, GOLDEN))
    given.cells["middle", "C2", "accuracy"].statuses[:10] = 2
    (one,) = verdict(plan, given).hypotheses
    assert one.delta > 0.085 - 0.1


def test_of_a_claim_of_equivalence_a_task_without_items_leaves_no_way_a_difference():
    plan = suite_plan(EQUIVALENT_UNDER_WORST_CASE)
    given = outcomes(plan, by_counts(plan, GOLDEN))
    given.cells["small", "C2", "accuracy"].statuses[:] = LEFT_OUT
    given.cells["middle", "C2", "accuracy"].statuses[:10] = 2
    (one,) = verdict(plan, given).hypotheses
    assert (one.outcome, one.delta, one.excluded.filled) == ("inconclusive", None, 10)


def test_clusters_span_tasks_where_their_key_and_label_are_the_same():
    key = {"key": "document", "n": 10}
    changes = {}
    for at in range(2):
        changes |= {f"populations.{at}.clusters": key, f"populations.{at}.independence": None}
    plan = suite_plan(changes, {"one": 40, "two": 20, "alone": 30})
    labels = {"one": [f"d{at % 10}" for at in range(40)], "two": [f"d{at % 10}" for at in range(20)]}
    items = manifests(plan, labels)
    whole = manifest_of(plan, "bench", items)
    assert whole.n_clusters == 10 + 30
    assert find_population(plan, "bench").n == 90
    generator = np.random.default_rng(4)
    values = {
        name: {arm: (generator.random(n) < p).astype(float) for arm, p in (("C1", 0.3), ("C2", 0.8))}
        for name, n in (("one", 40), ("two", 20), ("alone", 30))
    }
    (one,) = verdict(plan, outcomes(plan, values), items).hypotheses
    analysis = one.analyses["suite"]["analysis"]
    assert analysis["n_clusters"] == 40
    assert analysis["n_spanning"] == 10
    apart = suite_plan(
        {**changes, "populations.1.clusters": {"key": "page", "n": 10}}, {"one": 40, "two": 20, "alone": 30}
    )
    assert manifest_of(apart, "bench", items).n_clusters == 10 + 10 + 30


def test_a_manifest_that_is_not_the_locked_one_breaks_the_plan():
    plan = suite_plan({"populations.1.items_sha256": "0" * 64})
    one = judged(plan)
    assert one.outcome == "invalid"
    assert "'middle'" in one.sentence or "middle" in one.sentence
