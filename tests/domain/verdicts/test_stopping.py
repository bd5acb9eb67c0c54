"""Stopping rules in the plan: the locked order, planned looks, and readings at any time."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from service.domain.deviations.as_run import why_not
from service.domain.deviations.changes import ExcludedItems
from service.domain.deviations.doubtful_items import Doubts
from service.domain.deviations.tipping_point import tipping_point
from service.domain.plans.items.unit_order import in_order, look_units, ranks
from service.domain.rules.settings import resolve
from service.domain.verdicts.analyses import analyse
from service.domain.verdicts.outcomes import NOT_RECEIVED, Cell, Outcomes, PlanViolatedError, Rows
from service.domain.verdicts.pairs import pair_up
from service.domain.verdicts.sequential_reading import reading_of
from service.domain.verdicts.stopping import (
    at_look,
    everywhere,
    first,
    look_due,
    read,
    units_in,
    up_to_stop,
)
from service.kernels.numeric.order import permutation
from service.stats.shared.declaring import registry
from tests.domain import sample

SEED = 77
N = 200
GROUP = {
    "populations.0.n": N,
    "populations.0.order_seed": SEED,
    "stopping": {"kind": "group_sequential", "looks": 4, "spending": "obrien_fleming"},
    "missing": "fail",
    "hypotheses.0.rule": "delta > 0 and s.p_value < 0.05",
    "tests": [{"id": "s", "test": "sequential", "version": 1, "parameters": {"method": "group_sequential"}}],
}
ANYTIME = {
    **GROUP,
    "stopping": {"kind": "anytime_valid"},
    "tests": [{"id": "s", "test": "sequential", "version": 1, "parameters": {"method": "e_process"}}],
}
CLUSTERS = {"populations.0.clusters": {"key": "c", "n": 40}, "populations.0.independence": None}


def arms(plan, differences):
    """Arms with these differences along the locked order, and every item otherwise right in both."""
    population, manifest = plan.populations[0], sample.manifests(plan)["one"]
    baseline, candidate = np.ones(N), np.ones(N)
    order = in_order(population, manifest)
    for place, difference in differences.items():
        (candidate if difference < 0 else baseline)[order[place]] = 0
    return baseline, candidate


def case(changes, differences, only_first=None):
    """Plan, manifests, and outcomes of which perhaps only the first places along the order are in."""
    plan = sample.plan(changes)
    manifests = sample.manifests(plan)
    baseline, candidate = arms(plan, differences)
    statuses = np.zeros((N, 1), dtype=np.uint8)
    if only_first is not None:
        late = in_order(plan.populations[0], manifests["one"])[only_first:]
        statuses[late] = NOT_RECEIVED
        baseline[late] = candidate[late] = np.nan
    cells = {
        ("one", arm, "accuracy"): Cell(values[:, None], statuses.copy())
        for arm, values in (("C1", baseline), ("C2", candidate))
    }
    return plan, manifests, Outcomes(cells)


def verdict_of(plan, manifests, outcomes):
    return sample.judged(plan, manifests, outcomes)


def test_the_order_is_the_permutation_of_the_locked_seed():
    plan = sample.plan(GROUP)
    population, manifest = plan.populations[0], sample.manifests(plan)["one"]
    assert in_order(population, manifest).tolist() == permutation(N, SEED).tolist()
    assert (ranks(population, manifest)[in_order(population, manifest)] == np.arange(N)).all()


def test_clusters_move_as_a_whole():
    plan = sample.plan({**GROUP, **CLUSTERS})
    population, manifest = plan.populations[0], sample.manifests(plan)["one"]
    places = ranks(population, manifest)
    assert sorted(set(places)) == list(range(40))
    for cluster in set(manifest.clusters):
        assert len({places[k] for k in range(N) if manifest.clusters[k] == cluster}) == 1
    assert look_units(population, 4) == (10, 20, 30, 40)


def test_looks_are_equal_steps_rounded_up():
    population = sample.plan({**GROUP, "populations.0.n": 10}).populations[0]
    assert look_units(population, 4) == (3, 5, 8, 10)


def test_units_count_only_without_a_gap():
    plan, manifests, outcomes = case(GROUP, {}, only_first=120)
    order = in_order(plan.populations[0], manifests["one"])
    assert units_in(plan, manifests, everywhere(outcomes)) == {"one": 120}
    assert look_due(plan, {"one": 120}) == 2
    outcomes.cells["one", "C2", "accuracy"].statuses[order[60]] = NOT_RECEIVED
    assert units_in(plan, manifests, everywhere(outcomes)) == {"one": 60}
    assert look_due(plan, {"one": 60}) == 1
    assert look_due(plan, {"one": 49}) == 0


@pytest.mark.parametrize(("changes", "units"), [({}, N), (CLUSTERS, 40)])
def test_without_a_gap_every_unit_is_in(changes, units):
    plan, manifests, outcomes = case({**GROUP, **changes}, {})
    assert units_in(plan, manifests, everywhere(outcomes)) == {"one": units}
    assert look_due(plan, {"one": 200}) == 3, "the end of the plan is no look before it"


def test_a_look_sees_the_first_items_alone():
    """Whatever comes later cannot change what a look answers."""
    early = dict.fromkeys(range(40, 60), 1)
    for later in ({}, dict.fromkeys(range(120, 180), -1)):
        plan, manifests, outcomes = case(GROUP, early | later)
        assert (
            read(Rows(resolve(plan), manifests, outcomes), at_look(plan, 1)).answers["H1"]["s"]["analysis"][
                "n"
            ]
            == 50
        )
        assert not read(Rows(resolve(plan), manifests, outcomes), at_look(plan, 1)).stop
        assert read(Rows(resolve(plan), manifests, outcomes), at_look(plan, 2)).stop


def test_the_plan_feeds_the_test_its_order_and_its_looks():
    plan, manifests, outcomes = case(
        GROUP, dict.fromkeys(range(0, 24, 3), 1) | dict.fromkeys(range(1, 9, 4), -1)
    )
    found = analyse(Rows(resolve(plan), manifests, outcomes)).evidence["H1"].by_policy["s"]["analysis"]
    test = registry.find("sequential")
    baseline, candidate = arms(plan, dict.fromkeys(range(0, 24, 3), 1) | dict.fromkeys(range(1, 9, 4), -1))
    expected = test.compute(
        test.request(
            method="group_sequential",
            looks=[50, 100, 150, 200],
            boundary="obrien_fleming_spending",
            baseline=baseline.tolist(),
            candidate=candidate.tolist(),
            order_seed=SEED,
        )
    )
    assert found["p_value"] == pytest.approx(expected.p_value, rel=1e-12)
    assert [each["z"] for each in found["looks"]] == pytest.approx([each.z for each in expected.looks])
    assert found["order_used"] == "locked_seed"


def test_a_plan_that_its_rule_stops_is_judged_up_to_that_look():
    wins = dict.fromkeys(range(45, 75), 1)
    whole = verdict_of(*case(GROUP, wins | dict.fromkeys(range(150, 190), -1)))
    early = verdict_of(*case(GROUP, wins, only_first=110))
    for found in (whole, early):
        (hypothesis,) = found.hypotheses
        assert (found.stopped.early, found.stopped.look, found.stopped.looks) == (True, 2, 4)
        assert found.stopped.units == {"one": 100}
        assert (hypothesis.n, hypothesis.n_planned) == (100, 200)
        assert hypothesis.delta_exact == str(Fraction(30, 100))
        assert hypothesis.outcome == "supported"
        assert hypothesis.analyses["s"]["analysis"]["stopped_at"] == 100
    assert whole.hypotheses == early.hypotheses


def test_a_plan_that_is_not_stopped_needs_every_result():
    few = dict.fromkeys(range(0, 12, 3), 1)
    found = verdict_of(*case(GROUP, few))
    assert (found.stopped.early, found.stopped.look) == (False, 4)
    assert found.hypotheses[0].n == N
    with pytest.raises(PlanViolatedError, match="planned results are not in"):
        verdict_of(*case(GROUP, few, only_first=110))


def test_every_primary_hypothesis_has_to_end_and_secondary_ones_do_not_hold_it_up():
    """C3 against C1 never differs: as a primary hypothesis it keeps the plan going, as a secondary one not."""
    second = dict(
        sample.VALUE["hypotheses"][0], id="H2", candidate="C3", endpoint="speed", rule="s.p_value < 0.05"
    )
    for role, stops in (("primary", False), ("secondary", True)):
        changes = {
            **GROUP,
            "hypotheses.1": second,
            "endpoints.1": {"id": "speed", "kind": "binary", "role": role},
        }
        plan, manifests, outcomes = case(changes, dict.fromkeys(range(40), 1))
        same = Cell(np.ones((N, 1)), np.zeros((N, 1), dtype=np.uint8))
        cells = {("one", arm, end): same for arm in ("C1", "C2", "C3") for end in ("accuracy", "speed")}
        outcomes = Outcomes({**cells, **outcomes.cells})
        reading = read(Rows(resolve(plan), manifests, outcomes), at_look(plan, 1))
        assert reading.decided == {"H1": True, "H2": False}
        assert reading.stop is stops


def test_results_that_break_the_plan_go_on():
    plan, manifests, outcomes = case(GROUP, dict.fromkeys(range(40), 1))
    order = in_order(plan.populations[0], manifests["one"])
    outcomes.cells["one", "C2", "accuracy"].statuses[order[3]] = 1
    assert not read(Rows(resolve(plan), manifests, outcomes), at_look(plan, 1)).stop
    assert verdict_of(plan, manifests, outcomes).hypotheses[0].outcome == "invalid"


def test_what_fails_after_the_stop_does_not_count():
    plan, manifests, outcomes = case(GROUP, dict.fromkeys(range(40), 1))
    order = in_order(plan.populations[0], manifests["one"])
    outcomes.cells["one", "C2", "accuracy"].statuses[order[130]] = 1
    found = verdict_of(plan, manifests, outcomes)
    assert (found.hypotheses[0].outcome, found.hypotheses[0].excluded.candidate.error) == ("supported", 0)


def test_clustered_plans_look_at_whole_clusters():
    changes = {**GROUP, **CLUSTERS}
    rng = np.random.default_rng(5)
    plan, manifests, outcomes = case(
        changes, dict.fromkeys((place for place in range(N) if rng.random() < 0.5), 1)
    )
    seen = at_look(plan, 1)
    paired = pair_up(resolve(plan).settings[0], first(Rows(resolve(plan), manifests, outcomes), seen))
    assert paired.n == 50
    answer = read(Rows(resolve(plan), manifests, outcomes), seen).answers["H1"]["s"]["analysis"]
    assert (answer["n_clusters"], [each["n_units"] for each in answer["looks"]]) == (10, [10, 20, 30, 40])


def test_anytime_valid_plans_are_read_wherever_they_are():
    wins = dict.fromkeys(range(0, 36, 2), 1)
    for only_first, stop in ((12, False), (37, True)):
        plan, manifests, outcomes = case(ANYTIME, wins, only_first=only_first)
        reading = read(
            Rows(resolve(plan), manifests, outcomes), units_in(plan, manifests, everywhere(outcomes))
        )
        assert reading.units == {"one": only_first}
        assert reading.stop is stop
    found = verdict_of(plan, manifests, outcomes)
    assert (found.stopped.early, found.stopped.units, found.hypotheses[0].n) == (True, {"one": 37}, 37)
    assert found.hypotheses[0].outcome == "supported"
    with pytest.raises(PlanViolatedError):
        verdict_of(*case(ANYTIME, wins, only_first=12))
    whole = verdict_of(*case(ANYTIME, wins))
    assert (whole.stopped.early, whole.hypotheses[0].n) == (False, N)


def test_a_confidence_sequence_can_end_a_plan_by_equivalence():
    changes = {
        **ANYTIME,
        "hypotheses.0.claim": "equivalence",
        "hypotheses.0.rule": "s.equivalent is true",
        "sesoi": {"accuracy": {"value": 30, "unit": "pp"}},
        "tests": [
            {"id": "s", "test": "sequential", "version": 1, "parameters": {"method": "confidence_sequence"}}
        ],
    }
    assert not [each for each in sample.codes(changes) if each[0] != "FEW_CLUSTERS"]
    found = verdict_of(*case(changes, {}))
    assert found.hypotheses[0].outcome == "equivalent"


def test_scores_bet_on_their_bounds_and_clusters_on_their_largest():
    changes = {
        **ANYTIME,
        **CLUSTERS,
        "endpoints.0.kind": "continuous",
        "endpoints.0.bounds": {"low": 0.0, "high": 4.0},
        "sesoi": {"accuracy": {"value": 1, "unit": "score"}},
    }
    assert sample.codes(changes) == []
    plan, manifests, _ = case(changes, {})
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 9, (2, N)) / 2
    outcomes = sample.outcomes(*scores)
    answer = analyse(Rows(resolve(plan), manifests, outcomes)).evidence["H1"].by_policy["s"]
    assert answer["analysis"]["e_process"]["kind"] == "betting"
    without = {name: value for name, value in changes.items() if name != "endpoints.0.bounds"}
    assert ("BOUNDS", "endpoints[0].bounds") in sample.codes(without)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, None),
        ({"populations.0.order_seed": None}, ("ORDER_SEED", "populations[0].order_seed")),
        ({"stopping": {"kind": "group_sequential"}}, ("STOPPING", "stopping.looks")),
        ({"stopping": {"kind": "group_sequential", "looks": 31}}, ("STOPPING", "stopping.looks")),
        ({"populations.0.n": 4}, ("STOPPING", "stopping.looks")),
        ({**CLUSTERS, "populations.0.clusters": {"key": "c", "n": 60}}, None),
        ({**CLUSTERS, "populations.0.clusters": {"key": "c", "n": 56}}, ("STOPPING", "stopping.looks")),
        ({"missing": "exclude_pair"}, ("STOPPING", "missing")),
        ({"stopping": {"kind": "fixed_n"}}, ("SEQUENTIAL_TEST", "hypotheses[0].rule")),
        ({"stopping": {"kind": "anytime_valid"}}, ("SEQUENTIAL_TEST", "hypotheses[0].rule")),
        ({"hypotheses.0.rule": "delta > 0"}, ("SEQUENTIAL_TEST", "hypotheses[0].rule")),
        (
            {"tests": sample.VALUE["tests"], "hypotheses.0.rule": "m.p_value < 0.05"},
            ("SEQUENTIAL_TEST", "hypotheses[0].rule"),
        ),
        (
            {"tests": sample.VALUE["tests"], "hypotheses.0.rule": "m.ci excludes 0"},
            ("SEQUENTIAL_TEST", "hypotheses[0].rule"),
        ),
        (
            {"tests.0.parameters": {"method": "group_sequential", "looks": [1, 2]}},
            ("TEST_PARAMETERS", "tests[0].parameters.looks"),
        ),
    ],
)
def test_lint_wants_an_order_and_tests_made_for_it(changes, expected):
    base = dict(GROUP)
    if "populations.0.order_seed" in changes:
        del base["populations.0.order_seed"]
        changes = {}
    found = [each for each in sample.codes({**base, **changes}) if each[0] != "CAUTION"]
    assert found == [] if expected is None else expected in found


def test_what_other_outcomes_would_have_done_is_not_searched():
    plan, manifests, outcomes = case(GROUP, dict.fromkeys(range(40), 1))
    rows, _ = up_to_stop(Rows(resolve(plan), manifests, outcomes))
    none = np.zeros(N, dtype=bool)
    found = tipping_point(rows, plan.hypotheses[0], Doubts(none, none), budget=1.0)
    assert "another look" in found.reason
    assert found.outcome == "supported"
    change = ExcludedItems(kind="exclude_items", population="one", item_ids=("item 1",))
    assert "locked order" in why_not(plan, change)
    assert rows.outcomes.judged["one"].sum() == 50


def test_missing_results_do_not_end_a_collection_as_equivalent():
    """45 wins and 45 missing of 150: as losses they make a sequence around 0, as wins one around +60 pp."""
    changes = {
        **ANYTIME,
        "missing": "worst_case",
        "hypotheses.0.rule": "delta > 0 and s.ci.low > 0",
        "hypotheses.0.equivalence": "s",
        "tests.0.parameters": {"method": "confidence_sequence"},
        "sesoi": {"accuracy": {"value": 50, "unit": "pp"}},
    }
    plan, items, outcomes = case(changes, dict.fromkeys(range(0, 90, 2), 1))
    lost = in_order(plan.populations[0], items["one"])[np.arange(1, 90, 2)]
    for cell in outcomes.cells.values():
        cell.statuses[lost] = 2
        cell.values[lost] = np.nan
    found = read(Rows(resolve(plan), items, outcomes), {"one": 150})
    assert found.answers["H1"]["s"]["analysis"]["equivalent"] is True
    assert (found.equivalent["H1"], found.decided["H1"], found.stop) == (False, False, False)
    assert reading_of(plan, found).hypotheses[0].tests["s"].equivalent is False
    whole = {**changes, "missing": "fail"}
    plan, items, outcomes = case(whole, {})
    found = read(Rows(resolve(plan), items, outcomes), {"one": 150})
    assert (found.equivalent["H1"], found.decided["H1"], found.stop) == (True, True, True)
    assert reading_of(plan, found).hypotheses[0].tests["s"].equivalent is True


@pytest.mark.parametrize(("won_by", "outcome"), [(1, "supported"), (-1, "not_supported")])
def test_an_e_process_bears_out_the_claim_of_whom_it_was_won_for(won_by, outcome):
    """Won by the baseline, and a difference that ends above 0: "supported", by the sign of the difference."""
    then = 40 if won_by < 0 else 10
    places = {**dict.fromkeys(range(25), won_by), **dict.fromkeys(range(25, 25 + then), -won_by)}
    plan, manifests, outcomes = case(ANYTIME, places)
    # another hypothesis kept the collection going, so that all rows count
    found = sample.judged(plan, manifests, outcomes).hypotheses[0]
    assert found.rule_holds
    assert found.delta > 0
    assert found.outcome == outcome
    if outcome != "supported":
        assert found.reason == "what it tests shows the opposite of the claim"


def test_an_e_process_that_both_arms_win_bears_out_neither():
    places = {**dict.fromkeys(range(25), -1), **dict.fromkeys(range(25, 180), 1)}
    plan, manifests, outcomes = case(ANYTIME, places)
    # another hypothesis kept the collection going, so that all rows count
    found = sample.judged(plan, manifests, outcomes).hypotheses[0]
    assert found.rule_holds
    assert found.delta > 0
    assert (found.outcome, found.reason) == ("not_supported", "what it tests shows the opposite of the claim")
