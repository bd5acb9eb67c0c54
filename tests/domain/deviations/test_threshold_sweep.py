"""Sweeps of thresholds: other values are other runs, under secondary endpoints with a name of their own."""

from __future__ import annotations

import numpy as np
import pytest

from service.domain.deviations.as_run import verdicts_of
from service.domain.deviations.changes import Fourfold, SweepPoint, ThresholdChange
from service.domain.deviations.consequences import consequences
from service.domain.deviations.threshold_sweep import endpoint_at, evaluate, judgements, list_sweeps
from service.domain.multiverse.multiverse import multiverse
from service.domain.plans.plan import Multiplicity
from service.domain.plans.sections.hypothesis import Hypothesis
from service.domain.rules.settings import resolve
from service.domain.verdicts.outcomes import Rows
from service.stats.mcnemar import McNemarRequest, mcnemar
from tests.domain import sample

N = 60
WINS = {"accuracy": 9, "accuracy.tau.0.3": 12, "accuracy.tau.0.5": 1}


ARMS = {"H1": "C2", "H2": "C3"}


def rows(thresholds) -> Rows:
    endpoints = [
        {"id": name, "kind": "binary", "role": "primary" if name == "accuracy" else "secondary"}
        for name in WINS
    ]
    plan = sample.plan({"populations.0.n": N, "endpoints": endpoints, "thresholds": thresholds})
    outcomes = sample.Outcomes(
        {
            ("one", arm, endpoint): sample.cell(values)
            for endpoint, wins in WINS.items()
            for arm, values in zip(("C1", "C2"), sample.binary(N, 20, wins, 0), strict=True)
        }
    )
    return Rows(resolve(plan), sample.manifests(plan), outcomes)


PLANNED = [
    {"name": "tau", "population": "one", "value": 0.4, "chosen_by": "p30", "sweep": [0.5, 0.3, 0.4, 0.35]},
    {"name": "temperature", "value": 0.0, "chosen_by": "habit"},
]


def found(rows: Rows, changes=None):
    return consequences(rows, changes or {}, {"H1": "supported"}).sweeps


def test_a_planned_sweep_shows_every_value_with_results():
    (sweep,) = found(rows(PLANNED))
    assert (sweep.threshold, sweep.deviation, sweep.hypothesis, sweep.run_value) == ("tau", None, "H1", 0.4)
    assert [(each.value, each.endpoint, each.delta, each.outcome) for each in sweep.points] == [
        (0.3, "accuracy.tau.0.3", 12 / N, "supported"),
        (0.35, None, None, None),
        (0.4, "accuracy", 9 / N, "supported"),
        (0.5, "accuracy.tau.0.5", 1 / N, "not_supported"),
    ]
    assert "accuracy.tau.0.35" in sweep.points[1].reason
    assert (sweep.computed, sweep.delta_low, sweep.delta_high, sweep.same_outcome) == (
        3,
        1 / N,
        12 / N,
        False,
    )


@pytest.mark.parametrize("policy", ["none", "bonferroni", "holm", "fixed_sequence"])
@pytest.mark.parametrize("family", [[], ["H2", "H1"]])
def test_the_value_that_was_run_says_what_the_verdict_says_and_others_what_the_multiverse_says(
    policy, family
):
    # 6 wins, p = .031: whether that supports H1 hangs on the family, which is the same at every value
    first = sample.VALUE["hypotheses"][0] | {"rule": "delta > 0 and m.p_value < 0.05"}
    planned = rows(PLANNED)
    plan = planned.plan.model_copy(
        update={
            "hypotheses": tuple(
                Hypothesis(**{**first, "id": each, "candidate": arm}) for each, arm in ARMS.items()
            ),
            "multiplicity": Multiplicity(policy=policy, family=tuple(family)),
        }
    )
    six, twelve = (dict(zip(("C1", "C2"), sample.binary(N, 20, wins, 0), strict=True)) for wins in (6, 12))
    cells = dict(planned.outcomes.cells)
    for endpoint in WINS:
        cells["one", "C1", endpoint] = sample.cell(six["C1"])
        cells["one", "C2", endpoint] = sample.cell(six["C2"])
        cells["one", "C3", endpoint] = sample.cell(twelve["C2"] if endpoint == "accuracy" else six["C2"])
    planned = Rows(resolve(plan), planned.manifests, sample.Outcomes(cells))
    verdict = verdicts_of(planned)
    universes = multiverse(planned, {}, tuple(verdict.values())).universes
    for sweep in found(planned):
        at = {each.value: each.outcome for each in sweep.points if each.outcome is not None}
        assert at[0.4] == verdict[sweep.hypothesis].outcome
        for universe in universes[1:]:
            (chosen,) = universe.choices.values()
            assert at[float(chosen.removeprefix("tau = "))] == universe.hypotheses[sweep.hypothesis].outcome


def test_intervals_are_those_of_the_hypothesis_test():
    (sweep,) = found(rows(PLANNED))
    for point, wins in zip((sweep.points[0], sweep.points[2]), (12, 9), strict=True):
        counts = {"both_correct": 20, "only_baseline": 0, "only_candidate": wins, "both_wrong": N - 20 - wins}
        ci = mcnemar(McNemarRequest.model_validate(counts)).ci
        assert (point.ci.low, point.ci.high) == pytest.approx((ci.low, ci.high))


def change(**changes) -> ThresholdChange:
    points = tuple(SweepPoint(value=value) for value in (0.3, 0.4, 0.47))
    return ThresholdChange(
        **{
            "kind": "threshold",
            "name": "tau",
            "population": "one",
            "value": 0.47,
            "chosen_on": "separate_split",
        }
        | {"sweep": points}
        | changes
    )


def test_after_a_deviation_the_endpoint_holds_the_new_value():
    planned, deviated = found(rows(PLANNED), {2: change()})
    assert (planned.run_value, deviated.run_value, deviated.deviation) == (0.47, 0.47, 2)
    assert [point.delta for point in deviated.points] == [12 / N, None, 9 / N]
    assert [point.delta for point in planned.points] == [12 / N, None, None, 1 / N]
    assert "accuracy.tau.0.4'" in deviated.points[1].reason


def test_attached_counts_stand_where_no_results_do():
    counts = Fourfold(both_correct=5, only_baseline=4, only_candidate=1, both_wrong=10)
    points = (
        SweepPoint(value=0.3, counts=counts),
        SweepPoint(value=0.4, counts=counts),
        SweepPoint(value=0.47),
        SweepPoint(
            value=0.6, counts=Fourfold(both_correct=0, only_baseline=0, only_candidate=0, both_wrong=0)
        ),
    )
    _, sweep = found(rows(PLANNED), {1: change(sweep=points)})
    sources = [(point.source, point.delta, point.outcome) for point in sweep.points]
    assert sources == [
        ("results", 12 / N, "supported"),
        ("attached", -3 / 20, None),
        ("results", 9 / N, "supported"),
        ("attached", None, None),
    ]
    assert sweep.points[1].ci is not None
    assert sweep.points[3].reason == "the attached counts hold no item"


def test_a_deviation_for_another_population_leaves_this_one():
    made = rows(PLANNED)
    elsewhere = change(population="two")
    assert [each.run_value for each in list_sweeps(made.plan, {1: elsewhere})] == [0.4, 0.47]
    assert [each.threshold for each in found(made, {1: elsewhere})] == ["tau"]


def test_an_endpoint_holds_each_value_once():
    made = rows(PLANNED)
    sweeps = list(list_sweeps(made.plan, {}))
    assert judgements(made, sweeps) == 3
    before = made.plan.canonical_text()
    evaluate(made, sweeps[0], made.plan.hypotheses[0])
    assert made.plan.canonical_text() == before


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.35, "0.35"), (0.30, "0.3"), (2.0, "2"), (100.0, "100"), (1e-7, "0.0000001"), (-0.5, "-0.5")],
)
def test_values_are_named_by_their_shortest_decimal(value, text):
    assert endpoint_at("accuracy", "tau", value) == f"accuracy.tau.{text}"


def test_sweeps_beyond_the_budget_are_refused():
    result = consequences(rows(PLANNED), {}, {"H1": "supported"}, budget=0.001)
    assert result.sweeps == ()
    assert "the sweeps would take" in result.reasons[0]


def test_missing_results_at_a_value_are_left_out_as_the_plan_says():
    made = rows(PLANNED)
    made.outcomes.cells["one", "C2", "accuracy.tau.0.3"].values[20] = np.nan
    made.outcomes.cells["one", "C2", "accuracy.tau.0.3"].statuses[20] = 2
    (sweep,) = found(made)
    assert (sweep.points[0].n, sweep.points[0].delta) == (N - 1, 11 / (N - 1))
