"""The tipping point against every filling there is, on cases small enough to try them all."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.domain.deviations.doubtful_items import Doubts
from service.domain.deviations.fillings import PAIRS, Kind, fillings
from service.domain.deviations.tipping_point import tipping_point
from service.domain.rules.settings import resolve
from service.domain.verdicts.outcomes import NOT_RECEIVED, Rows
from tests.domain import sample
from tests.drawing import draws, mostly_slow

RULES = {
    "differences": ("delta >= 10 pp and m.p_value < 0.05", "mcnemar", {}, {}),
    "interval": ("m.ci excludes 0", "mcnemar", {}, {}),
    "marginals": ("m.baseline_rate < 0.5 and delta > 0", "paired-difference", {}, {}),
    "bootstrap": ("m.ci excludes 0 and delta > 0", "paired-bootstrap", {}, {}),
    "equivalent": ("delta >= 40 pp", "equivalence", {"method": "t"}, {"hypotheses.0.equivalence": "m"}),
}


FEWER = "delta <= -10 pp and m.p_value < 0.05"


def case(kind: str, baseline, candidate, left_out=(), disputed=(), clusters: int | None = None, **changes):
    """Rows, their hypothesis and the doubts."""
    rule, test, parameters, more = RULES[kind]
    n = len(baseline)
    found = {
        "populations.0.n": n,
        "hypotheses.0.rule": rule,
        "tests": [{"id": "m", "test": test, "version": 1, "parameters": parameters}],
        "sesoi": {"accuracy": {"value": 30, "unit": "pp"}},
        **more,
        **changes,
    }
    if clusters:
        found |= {
            "populations.0.clusters": {"key": "c", "n": clusters},
            "populations.0.independence": None,
            "tests": [{"id": "m", "test": "clustered-mcnemar", "version": 1, "parameters": {}}],
        }
    plan = sample.plan(found)
    rows = Rows(resolve(plan), sample.manifests(plan), sample.outcomes(baseline, candidate))
    masks = [np.isin(np.arange(n), list(positions)) for positions in (left_out, disputed)]
    return rows, plan.hypotheses[0], Doubts(*masks)


def brute_force(rows, hypothesis, doubts):
    """Least number of doubtful items that change the outcome, over every filling of every one of them."""
    before, after = (rows.outcomes.cells["one", arm, "accuracy"] for arm in ("C1", "C2"))
    values = np.column_stack([before.values[:, 0], after.values[:, 0]])
    missing = np.isnan(values).any(axis=1)
    outside = missing | doubts.left_out
    doubtful = np.flatnonzero(outside | doubts.disputed)

    def outcome(filling):
        filled = values.copy()
        filled[outside] = np.nan
        for position, pair in filling.items():
            filled[position] = pair
        return sample_outcome(rows, filled)

    def choices(position):
        if doubts.left_out[position] or (doubts.disputed[position] and not missing[position]):
            allowed = PAIRS
        else:
            allowed = [
                p
                for p in PAIRS
                if all(np.isnan(v) or v == x for v, x in zip(values[position], p, strict=True))
            ]
        start = None if outside[position] else tuple(values[position])
        return [None, *(pair for pair in allowed if pair != start)]

    start, best = outcome({}), None
    for chosen in itertools.product(*(choices(position) for position in doubtful)):
        filling = {p: pair for p, pair in zip(doubtful, chosen, strict=True) if pair is not None}
        if (best is None or len(filling) < best) and outcome(filling) != start:
            best = len(filling)
    return start, best


def sample_outcome(rows, filled):
    results = sample.outcomes(filled[:, 0], filled[:, 1])
    plan = rows.plan.model_copy(update={"missing": "exclude_pair"})
    return sample.judged(plan, rows.manifests, results).hypotheses[0].outcome


@pytest.mark.parametrize("kind", mostly_slow(RULES, 2))
@settings(max_examples=draws(20), suppress_health_check=list(HealthCheck))
@given(wins=st.integers(0, 9), losses=st.integers(0, 3), data=st.data())
def test_the_search_agrees_with_trying_every_filling(kind, wins, losses, data):
    doubtful = data.draw(st.integers(1, 2 if kind == "equivalent" else 3))
    baseline, candidate = sample.binary(16, 16 - wins - losses - 2, wins, losses)
    kinds = data.draw(
        st.lists(
            st.sampled_from(["missing", "half", "out", "disputed"]), min_size=doubtful, max_size=doubtful
        )
    )
    positions = data.draw(st.lists(st.integers(0, 15), min_size=doubtful, max_size=doubtful, unique=True))
    groups = {"out": [], "disputed": []}
    for each, position in zip(kinds, positions, strict=True):
        if each in groups:
            groups[each].append(position)
        else:
            candidate[position] = np.nan
            if each == "missing":
                baseline[position] = np.nan
    made = case(kind, baseline, candidate, groups["out"], groups["disputed"])
    found = tipping_point(*made, budget=1e9)
    start, least = brute_force(*made)
    assert found is not None
    assert (found.outcome, found.items) == (start, least)
    assert found.robust is (least is None)
    assert (found.at_least, found.at_most) == (least, least)
    assert sum(each.items for each in found.filling) == (least or 0)


def test_the_search_agrees_with_trying_every_filling_of_clusters():
    baseline, candidate = sample.binary(16, 4, 9, 1)
    baseline[[1, 6]], candidate[[6, 11]] = np.nan, np.nan
    for left_out in ((), (5,), (3, 12)):
        made = case("differences", baseline, candidate, left_out, (), 8)
        found = tipping_point(*made, budget=1e9)
        assert (found.outcome, found.items) == brute_force(*made), left_out


def test_nine_wins_to_none_tip_with_two_of_five_missing_items():
    """9:0 is p = .0039 and 9:1 is .021; 9:2 is .065."""
    baseline, candidate = sample.binary(40, 10, 9, 0)
    baseline[30:35] = np.nan
    candidate[30:35] = np.nan
    found = tipping_point(*case("differences", baseline, candidate), budget=1e9)
    assert (found.outcome, found.items, found.outcome_then) == ("supported", 2, "not_supported")
    assert [each.model_dump() for each in found.filling] == [{"items": 2, "baseline": 1, "candidate": 0}]
    assert (found.missing, found.left_out, found.disputed, found.robust) == (5, 0, 0, False)
    assert found.worst.model_dump() == {"delta": (9 - 5) / 40, "outcome": "not_supported"}
    assert found.best.model_dump() == {"delta": (9 + 5) / 40, "outcome": "supported"}


def test_what_is_known_of_a_missing_item_stays():
    """Both baselines are wrong: those items can only tie or speak for the candidate."""
    baseline, candidate = sample.binary(40, 10, 9, 0)
    candidate[38:] = np.nan
    found = tipping_point(*case("differences", baseline, candidate), budget=1e9)
    assert (found.items, found.robust) == (None, True)
    assert (found.worst.delta, found.best.delta) == (9 / 40, 11 / 40)


def test_the_worst_is_against_the_candidate_where_less_is_better():
    """The arms changed about, on an endpoint of errors: the same evidence, so the same worst and best outcome."""
    candidate, baseline = sample.binary(40, 10, 9, 0)
    baseline[30:35] = np.nan
    rows, hypothesis, doubts = case(
        "differences", baseline, candidate, **{"endpoints.0.better": "lower", "hypotheses.0.rule": FEWER}
    )
    found = tipping_point(rows, hypothesis, doubts, budget=1e9)
    assert found.worst.model_dump() == {"delta": -9 / 40, "outcome": "supported"}
    assert found.best.model_dump() == {"delta": -(9 + 5) / 40, "outcome": "supported"}


def test_disputed_items_begin_as_they_were_stored():
    baseline, candidate = sample.binary(40, 10, 9, 0)
    found = tipping_point(*case("differences", baseline, candidate, (), range(10, 19)), budget=1e9)
    assert (found.outcome, found.items) == ("supported", 2)
    assert (found.worst.delta, found.best.delta) == (-9 / 40, 9 / 40)


def test_many_items_of_one_kind_are_counted_and_not_enumerated():
    baseline, candidate = sample.binary(200, 100, 3, 0)
    baseline[160:], candidate[160:] = np.nan, np.nan
    found = tipping_point(*case("differences", baseline, candidate), budget=1e9)
    assert found.outcome == "not_supported"
    assert found.items == 15  # 18 wins of 178 are the first 10 pp, whatever their p-value
    assert found.evaluations < 1_000


def test_a_search_that_ends_early_keeps_the_bounds_it_proved():
    """Three wins of 160: with 15 items more the difference reaches 10 pp, and smaller fillings are many."""
    baseline, candidate = sample.binary(200, 100, 3, 0)
    baseline[160:], candidate[160:] = np.nan, np.nan
    rule = {"hypotheses.0.rule": "m.p_value < 0.05 and m.delta >= 10 pp"}
    found = tipping_point(*case("marginals", baseline, candidate, **rule), budget=0.2)
    assert (found.items, found.robust, found.at_most) == (None, False, 15)
    assert 1 <= found.at_least < 15
    assert "the search ended before" in found.reason
    assert sum(each.items for each in found.filling) == 15


def test_what_the_difference_refutes_is_not_judged():
    """The same rule on `delta` itself: every filling of fewer items is refuted without a test."""
    baseline, candidate = sample.binary(200, 100, 3, 0)
    baseline[160:], candidate[160:] = np.nan, np.nan
    rule = {"hypotheses.0.rule": "m.p_value < 0.05 and delta >= 10 pp"}
    found = tipping_point(*case("marginals", baseline, candidate, **rule), budget=0.2)
    assert (found.items, found.at_least, found.robust) == (15, 15, False)
    assert found.evaluations < 20


def test_a_search_that_proves_nothing_says_so():
    baseline, candidate = sample.binary(40, 10, 9, 0)
    made = case("differences", baseline, candidate, [1])
    found = tipping_point(*made, budget=0.0)
    assert (found.items, found.at_least, found.at_most, found.robust) == (None, 1, None, None)
    assert found.worst is found.best is None


def test_nothing_in_doubt_has_no_tipping_point():
    baseline, candidate = sample.binary(40, 10, 9, 0)
    assert tipping_point(*case("differences", baseline, candidate), budget=1.0) is None


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"endpoints.0.kind": "continuous", "sesoi": {"accuracy": {"value": 1, "unit": "score"}}},
            "not binary",
        ),
        ({"missing": "worst_case", "hypotheses.0.rule": "m.p_value < 0.05"}, "which arm it favours"),
    ],
)
def test_where_the_search_does_not_apply_it_says_why(changes, why):
    baseline, candidate = sample.binary(40, 10, 9, 0)
    made = case("differences", baseline, candidate, [1], **changes)
    found = tipping_point(*made, budget=1.0)
    assert found.items is found.worst is found.robust is None
    assert why in found.reason


def test_the_same_result_missing_under_fail_has_bounds_too():
    baseline, candidate = sample.binary(40, 10, 9, 0)
    candidate[39] = np.nan
    found = tipping_point(*case("differences", baseline, candidate, missing="fail"), budget=1e9)
    assert (found.outcome, found.robust) == ("supported", True)


def test_fillings_are_all_ways_to_count():
    kinds = [Kind((1, 2), None, PAIRS), Kind((7,), (0, 1), ((1, 0),))]
    for size in range(5):
        found = list(fillings(kinds, size))
        assert all(len(each) == size for each in found)
        counted = {tuple(sorted((p == 7, pair) for p, pair in each.items())) for each in found}
        assert len(counted) == len(found)
    assert [len(list(fillings(kinds, size))) for size in range(5)] == [1, 5, 14, 10, 0]


@pytest.mark.parametrize("posted", [True, False])
def test_an_early_close_leaves_a_search_to_hypotheses_whose_results_are_in(posted):
    baseline, candidate = sample.binary(40, 10, 9, 0)
    baseline[30:35] = np.nan
    candidate[30:35] = np.nan
    rows, hypothesis, doubts = case("differences", baseline, candidate)
    if not posted:
        rows.outcomes.cells["one", "C2", "accuracy"].statuses[39] = NOT_RECEIVED
    closed = replace(rows, outcomes=replace(rows.outcomes, closed=True))
    found = tipping_point(closed, hypothesis, doubts, budget=1e9)
    assert found.outcome == ("supported" if posted else "invalid")
    assert found.items == (2 if posted else None)
    assert ("closed early" in (found.reason or "")) is not posted
