"""Simulated labels: the moments of many data sets give what the test says of each, and the worlds are what they say."""

from __future__ import annotations

import math

import numpy as np
import pytest

from service.domain.power.levels.level import levels
from service.domain.power.procedure.data import World
from service.domain.power.procedure.fields import SimulatedSets
from service.domain.power.procedure.labelled_sets import draw_labelled
from service.domain.power.rule_power import rule_powers
from service.domain.rules.settings import resolve
from service.kernels.effects.prediction_powered import estimate_powered
from service.kernels.planning.labelled_pairs import (
    LabelledSets,
    draw_signs,
    judge_chances,
    of_scores,
    powered_interval,
    powered_p,
    powered_sets,
)
from service.stats.prediction_powered import prediction_powered
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.simulated import Units
from tests.domain.sample import plan

LABELS = {
    "endpoints.0": {
        "id": "accuracy", "kind": "binary", "role": "primary",
        "judge": {"model": "j", "version": "1", "prompt_sha256": "a" * 64},
    },
    "endpoints.1": {
        "id": "accuracy.audit", "kind": "binary", "role": "secondary", "labels": {"n": 160, "seed": 3},
    },
    "tests": [{"id": "ppi", "test": "prediction-powered", "version": 1}],
    "hypotheses.0.about": "labels",
    "hypotheses.0.statement": "C2 is better than C1 as people see it",
    "hypotheses.0.rule": "ppi.ci.low > 0",
}  # fmt: skip


def scores(seed: int, sets: int = 6, n: int = 20, many: int = 50):
    rng = np.random.default_rng(seed)
    people = rng.normal(0.2, 1, (sets, n))
    every = np.hstack([people, rng.normal(0.2, 1, (sets, many))])
    return people, every + rng.normal(0, 0.5, every.shape)


@pytest.mark.parametrize("weight", [None, 0.0, 0.7, 1.0])
def test_every_data_set_is_what_one_alone_would_be(weight):
    people, judge = scores(1)
    found = powered_sets(of_scores(people, judge), weight)
    low, high = powered_interval(found, 0.95)
    for at, (labels, said) in enumerate(zip(people, judge, strict=True)):
        one = estimate_powered(labels, said[:20], said[20:], weight)
        assert (found.estimate[at], found.se[at], found.df[at]) == pytest.approx(
            (one.estimate, math.sqrt(one.variance), one.df)
        )
        arm = {"people": labels.tolist(), "judge": said[:20].tolist(), "unlabelled": said[20:].tolist()}
        none = {name: [0.0] * len(values) for name, values in arm.items()}
        request = registry.find("prediction-powered").request.model_validate(
            {"candidate": arm, "baseline": none, "weight": weight}
        )
        analysis = prediction_powered(request)
        assert (low[at], high[at], powered_p(found)[at]) == pytest.approx(
            (analysis.ci.low, analysis.ci.high, analysis.p_value)
        )


def test_counts_are_the_moments_of_their_items():
    sets, won, lost = draw_signs(np.random.default_rng(2), 200, 40, 90, (0.2, 0.1, 0.7), 0.85)
    totals = sets.judge * 40 + sets.unlabelled * 90
    assert totals == pytest.approx((won - lost)[:, 0])
    people, judge, rest = (np.round(each).astype(int) for each in (sets.people * 40, sets.judge * 40, totals))
    assert np.all(np.abs(people) <= 40)
    assert np.all(np.abs(judge) <= 40)
    assert np.all(np.abs(rest) <= 130)
    # by items: of one data set drawn by hand
    signs = np.array([1] * 5 + [-1] * 3 + [0] * 12), np.array([1] * 4 + [-1] + [-1] * 2 + [0] + [0] * 12)
    moments = of_scores(signs[0][None].astype(float), np.append(signs[1], [1, 0, -1, 0])[None].astype(float))
    assert moments.of_people[0] == pytest.approx(signs[0].var(ddof=1))
    assert moments.both[0] == pytest.approx(np.cov(*signs)[0, 1])


def test_a_judge_errs_as_often_as_is_said():
    """By brute force over the answers of both arms, each turned round with chance 1 - agreement."""
    agreement = 0.83
    expected = np.zeros((3, 3))
    place = {1: 0, -1: 1, 0: 2}
    weights = {(0, 1): 1.0, (1, 0): 1.0, (1, 1): 0.5, (0, 0): 0.5}
    for (before, after), weight in weights.items():
        for turn_before in (0, 1):
            for turn_after in (0, 1):
                chance = (1 - agreement if turn_before else agreement) * (
                    1 - agreement if turn_after else agreement
                )
                said = (after ^ turn_after) - (before ^ turn_before)
                expected[place[after - before], place[said]] += weight * chance
    assert judge_chances(agreement) == pytest.approx(expected)
    assert judge_chances(1.0) == pytest.approx(np.eye(3))


def test_nothing_that_varies_is_undefined():
    none = np.zeros(1)
    found = powered_sets(LabelledSets(5, 9, none, none, none, none, none, none, none), None)
    assert found.se[0] == 0
    assert np.isnan(powered_p(found)[0])
    assert np.isnan(powered_interval(found, 0.95)[0][0])


def test_fields_of_a_rule_are_those_of_the_test():
    (setting,) = resolve(plan(LABELS)).settings
    block = draw_labelled(
        np.random.default_rng(4), 8, 300, 100, World(0.05, 0.2, agreement=0.9), policy="exclude_pair"
    )
    side = block.down
    units = Units(block.sizes, side.sums, side.won, False, 1, labelled=side.labelled)
    sets = SimulatedSets(setting, setting.sesoi, units)
    low, _ = powered_interval(powered_sets(side.labelled, None), 0.95)
    (clause,) = setting.clauses
    assert (sets.truths(clause) == 1).tolist() == (low > 0).tolist()


def test_scores_correlate_as_they_agree():
    rng = np.random.default_rng(6)
    people = rng.normal(0.0, 2.0, (1, 40_000))
    block = draw_labelled(rng, 1, 40_000, 20_000, World(0.0, 2.0, agreement=0.7), policy=None, people=people)
    sets = block.down.labelled
    rho = sets.both[0] / math.sqrt(sets.of_people[0] * sets.of_judge[0])
    assert rho == pytest.approx(0.7, abs=0.02)


def test_more_labels_give_more_power_and_no_effect_little():
    (one,) = rule_powers(plan(LABELS), {})
    assert one.method == "simulated"
    assert one.reference.agreement == 0.9
    assert [each.labels for each in one.labels] == [40, 80, 160, 320, 498]
    powers = [each.power for each in one.labels]
    assert powers[0] < powers[2] < powers[-1]
    assert "people label 160 items" in one.assumptions
    (level,) = levels(plan(LABELS), {})
    assert level.level < 0.025 + 3 * level.standard_error


def test_power_is_close_to_the_variance_of_the_paper():
    """Var = var(people) / n (1 - rho^2 N / (n + N)), and a normal estimate."""
    world = {"discordance": 0.2, "agreement": 0.95, "effect": {"value": 10, "unit": "pp"}}
    (one,) = rule_powers(plan(LABELS | {"assumptions": world}), {})
    n, many, truth = 160, 340, 0.1
    joint = np.array([0.15, 0.05, 0.8])[:, None] * judge_chances(0.95)
    values = np.array([1.0, -1.0, 0.0])
    people, judge = joint.sum(axis=1), joint.sum(axis=0)
    var_y = float(people @ values**2 - (people @ values) ** 2)
    var_f = float(judge @ values**2 - (judge @ values) ** 2)
    rho2 = float(values @ joint @ values - (people @ values) * (judge @ values)) ** 2 / (var_y * var_f)
    se = math.sqrt(var_y / n * (1 - rho2 * many / (n + many)))
    expected = 0.5 * math.erfc(-(truth / se - 1.96) / math.sqrt(2))
    assert one.reference.truth == truth
    assert one.reference.power == pytest.approx(expected, abs=0.03)
    assert one.stated


def test_scores_are_simulated_too():
    changes = LABELS | {"sesoi": {"accuracy": {"value": 0.5, "unit": "score"}}}
    for at in (0, 1):
        changes[f"endpoints.{at}"] = LABELS[f"endpoints.{at}"] | {"kind": "continuous"}
    (one,) = rule_powers(plan(changes), {})
    assert one.method == "simulated"
    assert one.reference.power is not None
    (level,) = levels(plan(changes), {})
    assert level.worlds["normal"] < 0.045
    assert level.level == max(level.worlds.values()), "skewed scores err more often, and lint says so"


def test_clusters_say_that_they_are_not_simulated():
    changes = LABELS | {
        "populations.0.independence": None,
        "populations.0.clusters": {"key": "c", "n": 50},
    }
    (one,) = rule_powers(plan(changes), {})
    assert one.reference is None or one.reference.power is None
