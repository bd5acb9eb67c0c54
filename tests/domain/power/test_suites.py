"""Power and level of rules about suites."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from service.domain.power.levels.level import levels
from service.domain.power.rule_power import rule_powers
from service.domain.power.suites.simulated_suite import SimulatedSuite
from service.domain.power.suites.truths import holding
from service.domain.rules.settings import resolve
from tests.domain.suites_sample import facts, outcomes, suite_plan, verdict

SIZES = {"one": 300, "two": 80}


def power(changes=None, sizes=SIZES):
    plan = suite_plan(changes, sizes)
    return rule_powers(plan, facts(plan))[0]


def level(changes=None, sizes=SIZES):
    plan = suite_plan(changes, sizes)
    return levels(plan, facts(plan))[0]


EVERY = {
    "hypotheses.0.claim": "non_inferiority",
    "hypotheses.0.about": "every_task",
    "hypotheses.0.statement": "C2 loses no task by 5 pp",
    "hypotheses.0.rule": "suite.every.low > -5 pp",
    "sesoi.accuracy": {"value": 5, "unit": "pp"},
}


def test_power_is_that_of_a_normal_mean_of_the_tasks():
    of_suite = power({"assumptions": {"discordance": 0.3, "effect": {"value": 8, "unit": "pp"}}})
    at = next(row for row in of_suite.power if row.truth == 0.08)
    variance = sum((0.3 - 0.08**2) / n for n in SIZES.values()) / 4
    expected = stats.norm.sf(1.96 - 0.08 / np.sqrt(variance))
    assert at.power == pytest.approx(expected, abs=0.03)
    assert of_suite.lead.effect == "sesoi"
    assert "every task has the same true difference" in of_suite.assumptions


def test_the_smallest_task_governs_what_is_shown_of_every_task():
    few = power({**EVERY, "assumptions": {"discordance": 0.1}}).reference.power
    many = power({**EVERY, "assumptions": {"discordance": 0.1}}, {"one": 300, "two": 800}).reference.power
    assert few < many / 2
    product = [stats.norm.cdf(0.05 / np.sqrt(0.1 / n) - 1.96) for n in (300, 800)]
    # bounds that know of losses not seen ask for a little more than the normal law does
    assert np.prod(product) - 0.1 < many < np.prod(product) + 0.02


def test_levels_are_of_the_worst_task_at_the_margin():
    known = level(EVERY, {"one": 400, "two": 200})
    assert known.truth == -0.05
    assert 0.005 < known.level < 0.035
    assert level(None, {"one": 400, "two": 200}).level < 0.035


def test_a_rule_holds_on_the_sets_where_the_verdict_says_so():
    plan = suite_plan({**EVERY, "suites.0.weights": "items"}, {"one": 40, "two": 25})
    setting = resolve(plan).settings[0]
    suite = SimulatedSuite.of(setting, facts(plan))
    # drawn anew item by item from the same counts
    generator = np.random.default_rng(7)
    sets = suite.two_arms(generator, 12, [0.3, 0.4], 0.0, 0.5)
    held = holding(setting, sets)
    for at in range(12):
        values = {}
        for task, (name, n) in enumerate((("one", 40), ("two", 25))):
            lost, won = (round(side.mean[at, task] * n) for side in sets.sets.sides)
            before = np.r_[np.ones(lost), np.zeros(n - lost)]
            after = np.r_[np.zeros(lost), np.ones(won), np.zeros(n - lost - won)]
            values[name] = {"C1": before, "C2": after}
        (one,) = verdict(plan, outcomes(plan, values)).hypotheses
        assert one.rule_holds == bool(held[at])
    assert 0 < held.sum() < 12


def test_clusters_cost_power():
    alone = power({"assumptions": {"discordance": 0.3, "effect": {"value": 15, "unit": "pp"}}})
    clustered = {
        "populations.0.clusters": {"key": "document", "n": 30},
        "populations.0.independence": None,
        "assumptions": {"discordance": 0.3, "icc": 0.3, "effect": {"value": 15, "unit": "pp"}},
    }
    plan = suite_plan(clustered, SIZES)
    known = facts(plan)
    known["one"] = known["one"].model_copy(update={"n_clusters": 30, "cluster_sizes": (10,) * 30})
    of_clusters = rule_powers(plan, known)[0]
    by_truth = [{row.truth: row.power for row in one.power} for one in (alone, of_clusters)]
    assert by_truth[1][0.15] < by_truth[0][0.15]
    assert "no cluster spans tasks" in of_clusters.assumptions


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"suites.0.estimand": "new_tasks"}, "tasks like these are not simulated"),
        ({"missing": "worst_case", "assumptions": {"missing": 0.1}}, "filled in"),
        ({"endpoints.0.replicates": 3}, "a mean of replicates"),
    ],
)
def test_what_is_not_simulated_is_said(changes, says):
    assert says in power(changes).reason


def test_a_family_shares_its_error():
    second = {
        "id": "H2",
        "claim": "superiority",
        "statement": "C2 is more often right than C1 on one",
        "population": "one",
        "baseline": "C1",
        "candidate": "C2",
        "endpoint": "accuracy",
        "rule": "m.p_value < 0.05 and delta > 0",
    }
    both = {
        "hypotheses.0.rule": "suite.p_above < 0.025",
        "hypotheses.1": second,
        "tests.1": {"id": "m", "test": "mcnemar", "version": 1},
        "assumptions": {"discordance": 0.3, "effect": {"value": 8, "unit": "pp"}},
    }
    alone = power({**both, "multiplicity": {"policy": "none", "family": ["H1", "H2"]}})
    shared = power({**both, "multiplicity": {"policy": "holm", "family": ["H1", "H2"]}})
    at = [next(row.power for row in one.power if row.truth == 0.08) for one in (alone, shared)]
    assert at[1] < at[0]
    assert "no less than this" in shared.assumptions
