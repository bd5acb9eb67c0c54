"""Rules about one arm before the lock: level and power by the binomial, and what so many items can show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from service.domain.power.answers.records import RulePower
from service.domain.power.levels.level import levels
from service.domain.power.one_arm.arm import Arm
from service.domain.power.one_arm.attainability import Best, can_pass, least_units
from service.domain.power.rule_power import rule_powers
from service.domain.rules.settings import resolve
from tests.domain import sample
from tests.drawing import mostly_slow


def planned(n: int, percent: float, rule: str, level: float = 0.95, **changes: Any) -> Any:
    """One arm that is to reach so many per cent."""
    hypothesis = {
        "id": "H1", "claim": "at_least", "statement": "it reaches it", "population": "one", "candidate": "C2",
        "reference": {"value": percent, "unit": "%"}, "endpoint": "accuracy", "rule": rule,
    }  # fmt: skip
    tests = [{"id": "score", "test": "one-sample-mean", "version": 1, "parameters": {"level": level}}]
    return sample.plan({"populations.0.n": n, "hypotheses.0": hypothesis, "tests": tests, **changes})


def power_of(plan: Any) -> tuple[RulePower, Any]:
    """Power and level of its rule."""
    facts = sample.facts_of(plan)
    return rule_powers(plan, facts)[0], levels(plan, facts)[0]


@pytest.mark.parametrize(("n", "percent", "rule"), mostly_slow([
    (50, 75, "score.ci.low >= 75%"), (36, 90, "score.ci.low >= 90%"), (120, 80, "score.against.p_meets < 0.025"),
]))  # fmt: skip
def test_by_definition_level_and_power_are_binomial_tails(n: int, percent: float, rule: str) -> None:
    power, level = power_of(planned(n, percent, rule))
    q = percent / 100
    least = next(x for x in range(n + 1) if x and stats.beta.ppf(0.025, x, n - x + 1) >= q)
    assert level.level == pytest.approx(stats.binom.sf(least - 1, n, q), abs=1e-12)
    assert level.level <= 0.025
    for at in power.power:
        assert at.mean is not None
        assert at.power == pytest.approx(stats.binom.sf(least - 1, n, at.mean), abs=1e-12)
    assert power.method == "exact"


@pytest.mark.parametrize(("level", "least"), [(0.9, 29), (0.95, 36)])
def test_three_of_three_never_show_90_per_cent(level: float, least: int) -> None:
    plan = planned(3, 90, "score.ci.low >= 90%", level)
    (setting,) = resolve(plan).settings
    arm = Arm.of(setting, {})
    assert arm is not None
    best = Best(setting, arm)
    assert can_pass(best) is False
    assert least_units(best) == least
    assert power_of(plan)[0].can_pass is False
    assert power_of(planned(least, 90, "score.ci.low >= 90%", level))[0].can_pass is True


def test_clusters_keep_their_level() -> None:
    changes = {"populations.0.independence": None, "populations.0.clusters": {"key": "c", "n": 50}}
    power, level = power_of(planned(500, 90, "score.ci.low >= 90%", **changes))
    assert level.method == "simulated"
    assert level.level is not None
    assert level.level <= 0.025 + 4 * level.standard_error
    assert power.reference is not None
    assert power.reference.standard_error is not None


def test_missing_results_cost_power_by_their_policy() -> None:
    rule, powers = "score.ci.low >= 80%", {}
    for policy in ("exclude_pair", "worst_case", "fail"):
        changes = {"missing": policy, "assumptions": {"missing": 0.05, "effect": {"value": 10, "unit": "pp"}}}
        reference = power_of(planned(200, 80, rule, **changes))[0].reference
        assert reference is not None
        assert reference.power is not None
        powers[policy] = reference.power
    assert powers["fail"] < 0.01 < powers["worst_case"] < powers["exclude_pair"]


@pytest.mark.parametrize(("n", "runs", "percent"), [(12, 4, 90), (20, 5, 80)])
def test_of_these_items_every_run_is_a_unit(n: int, runs: int, percent: float) -> None:
    items = {
        "id": "accuracy",
        "kind": "binary",
        "role": "primary",
        "replicates": runs,
        "estimand": "these_items",
    }
    power, level = power_of(planned(n, percent, f"score.ci.low >= {percent}%", **{"endpoints.0": items}))
    alone, of_alone = power_of(planned(n * runs, percent, f"score.ci.low >= {percent}%"))
    assert level.level == of_alone.level
    assert [(at.mean, at.power) for at in power.power] == [(at.mean, at.power) for at in alone.power]
    assert not power.required, "items and runs are not told apart"


def test_clusters_have_no_say_of_these_items() -> None:
    items = {
        "id": "accuracy",
        "kind": "binary",
        "role": "primary",
        "replicates": 4,
        "estimand": "these_items",
    }
    clustered = {"populations.0.clusters": {"key": "topic", "n": 10}, "populations.0.independence": None}
    in_clusters = planned(40, 80, "score.ci.low >= 80%", **{"endpoints.0": items}, **clustered)
    apart = planned(40, 80, "score.ci.low >= 80%", **{"endpoints.0": items})
    assert power_of(in_clusters)[0].power == power_of(apart)[0].power


@pytest.mark.parametrize("mean", [0.3, 0.8])
def test_where_every_run_is_to_be_right_drawn_items_are_so_as_often_as_is_true(mean: float) -> None:
    """pass^3 of items whose chances vary: an item's share of threes of its runs that are all right, on average."""
    plan = planned(200, 50, "score.ci.low >= 50%")
    plan = sample.plan(
        {
            "populations.0.n": 200,
            "hypotheses.0": plan.hypotheses[0].model_dump(exclude_none=True)
            | {"about": "pass_hat_k", "rule": "r.pass_hat_k.ci.low >= 50%"},
            "endpoints.0": {"id": "accuracy", "kind": "binary", "role": "primary", "replicates": 4},
            "tests": [{"id": "r", "test": "reliability", "version": 1, "parameters": {"k": [3]}}],
        }
    )
    (setting,) = resolve(plan).settings
    arm = Arm.of(setting, {})
    assert arm is not None
    sets = arm.draw(np.random.default_rng(1), 200, mean, 0.0, 0.5)
    assert sets.runs is not None
    right = sets.runs.sum(axis=2)
    all_right = (right * (right - 1) * (right - 2) / (4 * 3 * 2)).mean()
    assert all_right == pytest.approx(mean, abs=0.008)
