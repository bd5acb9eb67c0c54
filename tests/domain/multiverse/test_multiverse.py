"""The multiverse: every choice both ways, each universe judged as if it had been the plan."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from service.domain.deviations.as_run import apply, as_run, verdicts_of
from service.domain.deviations.changes import (
    OTHER,
    ExcludedItems,
    MissingPolicyChange,
    RuleChange,
    SweepPoint,
    ThresholdChange,
)
from service.domain.multiverse.multiverse import as_planned_alone, multiverse
from service.domain.rules.settings import resolve
from service.domain.verdicts.outcomes import Rows
from service.domain.verdicts.validity import Mark
from tests.domain import sample

N = 60
WINS = {"accuracy": 9, "accuracy.tau.0.3": 12, "accuracy.tau.0.5": 1}
TAU = [{"name": "tau", "population": "one", "value": 0.4, "chosen_by": "p30", "sweep": [0.5, 0.3, 0.4, 0.35]}]


def rows(thresholds=TAU, **changes) -> Rows:
    endpoints = [
        {"id": name, "kind": "binary", "role": "primary" if name == "accuracy" else "secondary"}
        for name in WINS
    ]
    plan = sample.plan({"populations.0.n": N, "endpoints": endpoints, "thresholds": thresholds} | changes)
    cells = {
        ("one", arm, endpoint): sample.cell(values)
        for endpoint, wins in WINS.items()
        for arm, values in zip(("C1", "C2"), sample.binary(N, 20, wins, 0), strict=True)
    }
    return Rows(resolve(plan), sample.manifests(plan), sample.Outcomes(cells))


def leave_out(*positions: int) -> ExcludedItems:
    ids = tuple(f"item {position}" for position in positions)
    return ExcludedItems(kind="exclude_items", population="one", item_ids=ids)


FEWER = leave_out(20, 21, 22, 23)  # four of the nine wins
STRICT = RuleChange(kind="rule", hypothesis="H1", rule="m.p_value < 0.001")
EASY = RuleChange(kind="rule", hypothesis="H1", rule="delta > 0")


def found(here: Rows, changes=None, **more):
    return multiverse(here, changes or {}, tuple(verdicts_of(here).values()), **more)


def passing(universes):
    return {tuple(each.choices.values()): each.hypotheses["H1"].passes for each in universes}


def test_every_combination_is_judged_as_if_it_had_been_the_plan():
    here, changes = rows(thresholds=[]), {1: FEWER, 2: leave_out(0, 1), 4: STRICT}
    result = found(here, changes)
    assert (result.total, result.computed, len(result.universes)) == (8, 8, 8)
    seen = passing(result.universes)
    for picked in product((0, 1), repeat=3):
        alone = apply(here, [each for each, taken in zip(changes.values(), picked, strict=True) if taken])
        key = tuple("as deviated" if taken else "as planned" for taken in picked)
        assert seen[key] is verdicts_of(alone)["H1"].rule_holds
    (hypothesis,) = result.hypotheses
    assert hypothesis.passes == sum(seen.values()) == 2
    assert hypothesis.share == 2 / 8
    assert hypothesis.outcomes == {"supported": 2, "not_supported": 6}
    assert hypothesis.decided_by == ("deviation 1", "deviation 4")


def test_the_nearest_universes_come_first_and_say_what_they_are():
    result = found(rows(thresholds=[]), {1: FEWER, 2: leave_out(0, 1), 4: STRICT})
    assert [(each.position, each.departures) for each in result.universes] == [
        ("as_planned", 0),
        ("as_run", 3),
        ("one_choice", 1),
        ("one_choice", 1),
        ("one_choice", 1),
        ("one_reversed", 2),
        ("one_reversed", 2),
        ("one_reversed", 2),
    ]
    assert [each.number for each in result.universes] == list(range(1, 9))


def test_as_run_is_what_the_deviations_page_shows():
    here, changes = rows(thresholds=[]), {1: FEWER, 2: EASY}
    run = as_run(here, changes, {"H1": "supported"}).hypotheses[0]
    (universe,) = [each for each in found(here, changes).universes if each.position == "as_run"]
    seen = universe.hypotheses["H1"]
    assert (seen.outcome, seen.passes, seen.delta, seen.n) == (run.outcome, run.rule_holds, run.delta, run.n)


def test_sweeps_are_choices_at_every_value_with_results():
    result = found(rows(), {3: FEWER})
    assert [each.id for each in result.choices] == ["deviation-3", "sweep-tau@one"]
    assert result.choices[1].options == ("tau = 0.4", "tau = 0.3", "tau = 0.5")
    assert result.values_without_results == ("tau = 0.35",)
    deltas = {tuple(each.choices.values()): each.hypotheses["H1"].delta for each in result.universes}
    assert deltas["as planned", "tau = 0.3"] == 12 / N
    assert deltas["as deviated", "tau = 0.3"] == 8 / (N - 4)
    assert passing(result.universes) == {
        ("as planned", "tau = 0.4"): True,
        ("as planned", "tau = 0.3"): True,
        ("as planned", "tau = 0.5"): False,
        ("as deviated", "tau = 0.4"): False,
        ("as deviated", "tau = 0.3"): True,
        ("as deviated", "tau = 0.5"): False,
    }
    (hypothesis,) = result.hypotheses
    assert (hypothesis.passes, hypothesis.share) == (3, 0.5)
    assert hypothesis.decided_by == ("deviation 3", "tau = 0.5")
    assert hypothesis.sentence == (
        "H1 passes in 3 of the 6 universes that were computed, and passes as planned; any one of these alone "
        "decides it: deviation 3; tau = 0.5."
    )


def test_a_swept_primary_hypothesis_stays_in_its_family():
    corrected = {
        "multiplicity": {"policy": "holm"},
        "hypotheses.1": dict(sample.VALUE["hypotheses"][0], id="H2"),
    }
    here = rows(**corrected)
    result = found(here)
    at = {next(iter(each.choices.values())): each.hypotheses for each in result.universes}
    twelve = rows(thresholds=[], **corrected)
    cells = {key: twelve.outcomes.cells[key[0], key[1], "accuracy.tau.0.3"] for key in twelve.outcomes.cells}
    by_hand = verdicts_of(Rows(resolve(twelve.plan), twelve.manifests, sample.Outcomes(cells)))
    assert {name: seen.delta for name, seen in at["tau = 0.3"].items()} == {"H1": 12 / N, "H2": 12 / N}
    assert [at["tau = 0.3"][name].passes for name in ("H1", "H2")] == [
        by_hand[name].rule_holds for name in ("H1", "H2")
    ]


def test_a_deviation_brings_a_sweep_and_the_same_threshold_is_one_choice():
    points = tuple(SweepPoint(value=value) for value in (0.3, 0.47))
    change = ThresholdChange(
        kind="threshold", name="tau", population="one", value=0.47, chosen_on="separate_split", sweep=points
    )
    result = found(rows(), {1: change})
    (choice,) = result.choices
    assert choice.options == ("tau = 0.47", "tau = 0.3", "tau = 0.5")
    assert [each.deviation for each in result.not_computed] == [1]


def test_a_hypothesis_without_results_at_a_value_is_not_counted_there():
    other = dict(sample.VALUE["hypotheses"][0], id="H2", endpoint="accuracy.tau.0.5")
    result = found(rows(**{"hypotheses.1": other}))
    at = {next(iter(each.choices.values())): each.hypotheses["H2"] for each in result.universes}
    assert at["tau = 0.3"].outcome is None
    assert "accuracy.tau.0.5.tau.0.3" in at["tau = 0.3"].reason
    assert [each.universes for each in result.hypotheses] == [3, 1]


def test_no_choice_leaves_the_verdict_alone():
    result = found(rows(thresholds=[]), {1: OTHER})
    assert (result.total, result.computed, result.choices) == (1, 1, ())
    assert result.hypotheses[0].sentence == "H1 passes as planned; no other universe was computed."
    assert [each.deviation for each in result.not_computed] == [1]


def test_all_and_none():
    sure = found(rows(thresholds=[]), {1: leave_out(0), 2: leave_out(1)}).hypotheses[0]
    assert sure.sentence == (
        "H1 passes in all 4 universes that were computed: none of the choices decides it."
    )
    never = found(rows(thresholds=[], **{"hypotheses.0.rule": "delta > 50 pp"}), {1: leave_out(0)})
    assert never.hypotheses[0].sentence == (
        "H1 passes in none of the 2 universes that were computed: no choice makes it pass."
    )


def test_several_choices_may_decide_only_together():
    two = {1: leave_out(20, 21), 2: leave_out(22, 23)}
    (seen,) = found(rows(thresholds=[]), two).hypotheses
    assert (seen.passes, seen.decided_by) == (3, ())
    assert seen.sentence.endswith("no single choice that was computed decides it, several together do.")


def test_beyond_the_cap_those_nearest_to_the_plan_are_kept():
    many = {number: leave_out(number) for number in range(1, 80)}
    result = found(rows(thresholds=[]), many, cap=100, budget=1e9)
    assert (result.total, result.computed) == (None, 100)
    assert result.universes[1].position == "as_run"
    assert [each.position for each in result.universes[2:81]] == ["one_choice"] * 79
    assert any("at most 100" in reason for reason in result.reasons)
    easy = {number: leave_out(number) for number in range(1, 9)}
    (seen,) = found(rows(thresholds=[]), easy, cap=4).hypotheses
    assert seen.sentence == "H1 passes in all 4 of 256 universes that were computed: the others are open."


def test_beyond_the_budget_the_verdict_as_planned_stays():
    result = found(rows(), {1: FEWER}, budget=0.001)
    assert (result.computed, result.universes[0].position) == (1, "as_planned")
    assert result.reasons == ("5 more universes would take longer than 0.001 s together",)


def test_closed_rows_leave_the_verdict_as_planned():
    result = as_planned_alone(tuple(verdicts_of(rows()).values()), "the rows were erased")
    assert (result.computed, result.reasons) == (1, ("the rows were erased",))
    assert result.hypotheses[0].passes == 1


def test_an_invalid_universe_does_not_pass():
    here = rows(thresholds=[])
    cell = here.outcomes.cells["one", "C2", "accuracy"]
    cell.values[59], cell.statuses[59] = np.nan, 2
    change = MissingPolicyChange(kind="missing_policy", missing="fail")
    (seen,) = found(here, {1: change}).hypotheses
    assert seen.outcomes == {"supported": 1, "invalid": 1}
    assert (seen.passes, seen.decided_by) == (1, ("deviation 1",))


def test_no_universe_passes_where_a_mark_makes_the_verdict_invalid():
    mark = Mark(code="unblinded", effect="invalid", says="outcomes were opened", at=sample.NOW)
    here = replace(rows(), marks=(mark,))
    assert all(each.rule_holds for each in verdicts_of(here).values())
    (seen,) = found(here).hypotheses
    assert (seen.passes, seen.share, seen.passes_planned, seen.decided_by) == (0, 0.0, None, ())
    assert seen.sentence.startswith("H1 passes in none of the 3 universes")


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_rules_that_deviate_twice_count_in_the_order_filed(order):
    changes = {number: {1: STRICT, 2: EASY}[which] for number, which in zip((1, 2), order, strict=True)}
    result = found(rows(thresholds=[]), changes)
    (run,) = [each for each in result.universes if each.position == "as_run"]
    assert run.hypotheses["H1"].passes is (order == (1, 2))
