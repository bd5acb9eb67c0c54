"""The missing policy `worst_case`: what is not ok takes the value that hurts the claim most."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.domain.deviations.as_run import apply, verdicts_of, why_not
from service.domain.deviations.changes import MissingPolicyChange
from service.domain.deviations.doubtful_items import Doubts
from service.domain.deviations.tipping_point import tipping_point
from service.domain.results.batches import ReceivedBatch, place_batch
from service.domain.results.secret_rows import SecretRows
from service.domain.rules.settings import resolve
from service.domain.verdicts.outcomes import PlanViolatedError, Rows
from service.domain.verdicts.pairs import pair_up
from service.errors import InvalidData
from tests.domain import sample
from tests.drawing import draws

WORST = {"missing": "worst_case"}
SCORES = {
    "endpoints.0.kind": "continuous",
    "endpoints.0.bounds": {"low": -1.0, "high": 5.0},
    "sesoi": {"accuracy": {"value": 1, "unit": "score"}},
    "hypotheses.0.rule": "delta >= 1",
}
NAN = np.nan


def paired(baseline, candidate, changes=None):
    changed = sample.plan({"populations.0.n": len(baseline), **WORST, **(changes or {})})
    results = sample.outcomes(baseline, candidate)
    return pair_up((locked := resolve(changed)).settings[0], Rows(locked, sample.manifests(changed), results))


def test_a_missing_candidate_is_wrong_and_a_missing_baseline_right():
    found = paired([1, 0, NAN, NAN, 1], [NAN, 1, 1, NAN, 1])
    assert found.baseline.tolist() == [1, 0, 1, 1, 1]
    assert found.candidate.tolist() == [0, 1, 1, 0, 1]
    assert found.delta == Fraction(-1, 5)
    assert (found.n, found.excluded.pairs, found.excluded.filled) == (5, 0, 3)
    assert (found.excluded.baseline.missing, found.excluded.candidate.missing) == (2, 2)


@pytest.mark.parametrize(
    ("rule", "method", "favoured"),
    [
        ("delta >= 2 pp", {}, 1),
        ("delta <= -2 pp", {}, -1),
        ("m.ci.low > -2 pp", {}, 1),
        ("m.ci.high < 2 pp and m.p_value < 0.05", {}, -1),
        ("m.p_value < 0.05", {"alternative": "greater"}, 1),
        ("m.p_value < 0.05", {"alternative": "less"}, -1),
        ("m.p_value < 0.05 and m.ci excludes 0", {}, None),
        ("delta >= -2 pp and delta <= 2 pp", {}, None),
        ("delta >= 2 pp or m.p_value < 0.05", {}, None),
        ("not delta >= 2 pp", {}, -1),
        ("not (delta < 2 pp or m.p_value > 0.05)", {}, 1),
    ],
)
def test_the_rule_says_which_arm_it_favours(rule, method, favoured):
    changes = {"hypotheses.0.rule": rule, "tests.0.parameters": method, **WORST}
    refused = ("WORST_CASE", "hypotheses[0].rule") in sample.codes(changes)
    assert refused is (favoured is None)
    if favoured is None:
        with pytest.raises(PlanViolatedError, match="does not say which arm it favours"):
            paired([1, NAN], [1, 1], changes)
    else:
        assert paired([NAN], [NAN], changes).delta == -favoured


def test_a_plan_without_missing_results_needs_no_direction():
    assert paired([1, 0], [1, 1], {"hypotheses.0.rule": "m.p_value < 0.05"}).delta == Fraction(1, 2)


ROWS = st.lists(st.tuples(*[st.sampled_from([0.0, 1.0, NAN])] * 2), min_size=1, max_size=4)
FEW_PAIRS = ROWS.map(lambda rows: [list(arm) for arm in zip(*rows, strict=True)])


def possible_sums(baseline, candidate):
    """Candidate minus baseline for every way to fill what is missing."""
    for before in itertools.product(*([0, 1] if np.isnan(x) else [x] for x in baseline)):
        for after in itertools.product(*([0, 1] if np.isnan(x) else [x] for x in candidate)):
            yield int(sum(after) - sum(before))


@settings(max_examples=draws(60))
@given(FEW_PAIRS)
def test_no_other_values_give_a_smaller_difference(arms):
    least = Fraction(min(possible_sums(*arms)), len(arms[0]))
    assert paired(*arms, {"hypotheses.0.rule": "delta > 0"}).delta == least


@settings(max_examples=draws(60))
@given(FEW_PAIRS)
def test_equivalence_takes_the_way_with_the_larger_difference(arms):
    most = Fraction(max(map(abs, possible_sums(*arms))), len(arms[0]))
    changes = {"hypotheses.0.claim": "equivalence", "hypotheses.0.rule": "m.ci within (-2 pp, 2 pp)"}
    assert abs(paired(*arms, changes).delta) == most


def test_scores_take_the_ends_of_their_scale():
    found = paired([2.0, NAN, 1.0], [NAN, 3.0, 1.5], SCORES)
    assert found.baseline.tolist() == [2.0, 5.0, 1.0]
    assert found.candidate.tolist() == [-1.0, 3.0, 1.5]
    assert found.delta == Fraction(-9, 6)


def test_each_replicate_is_filled_before_they_collapse():
    changes = {"endpoints.0.replicates": 2, "endpoints.0.collapse": "mean", "hypotheses.0.rule": "delta > 0"}
    found = paired([[1, NAN], [0, 0]], [[1, NAN], [NAN, NAN]], changes)
    assert found.baseline.tolist() == [1.0, 0.0]
    assert found.candidate.tolist() == [0.5, 0.0]
    assert found.excluded.filled == 2


def test_scores_without_bounds_have_no_worst_case():
    changes = {name: value for name, value in SCORES.items() if name != "endpoints.0.bounds"}
    assert ("WORST_CASE", "endpoints[0].bounds") in sample.codes({**changes, **WORST})
    assert ("WORST_CASE", "endpoints[0].bounds") not in sample.codes(changes)
    assert ("WORST_CASE", "endpoints[0].bounds") not in sample.codes({**SCORES, **WORST})
    with pytest.raises(PlanViolatedError, match="has no bounds"):
        paired([1.0, NAN], [1.0, 1.0], changes)


def test_bounds_belong_to_scores():
    assert ("BOUNDS", "endpoints[0].bounds") in sample.codes(
        {"endpoints.0.bounds": {"low": 0.0, "high": 1.0}}
    )


def test_a_value_outside_the_bounds_is_refused_when_it_is_posted_and_when_it_is_judged():
    plan = sample.plan({**SCORES, "populations.0.n": 3})
    batch = ReceivedBatch(
        population=None,
        arm="C1",
        endpoint="accuracy",
        run=None,
        item_ids=("item 0", "item 1", "item 2"),
        replicates=np.ones(3, dtype=np.uint16),
        rows=SecretRows(np.array([5.0, 5.5, NAN]), np.array([0, 0, 2], dtype=np.uint8)),
    )
    with pytest.raises(InvalidData, match="outside the endpoint's bounds, -1 to 5") as refused:
        place_batch(batch, plan, sample.manifests(plan))
    assert [each.path for each in refused.value.faults] == ["value"]
    assert "row 2" in refused.value.faults[0].message
    assert "5.5" not in str(refused.value.detail)
    with pytest.raises(PlanViolatedError, match="outside the bounds"):
        paired([5.5], [1.0], SCORES)


def test_a_verdict_counts_what_was_filled_in():
    baseline, candidate = sample.binary(500, 300, 40, 10)
    candidate[-4:] = NAN
    (kept,) = sample.verdict_of({}, sample.outcomes(baseline, candidate)).hypotheses
    (worst,) = sample.verdict_of(WORST, sample.outcomes(baseline, candidate)).hypotheses
    assert (kept.n, kept.excluded.pairs, kept.excluded.filled) == (496, 4, 0)
    assert (worst.n, worst.excluded.pairs, worst.excluded.filled) == (500, 0, 4)
    baseline[-4:] = NAN
    (both,) = sample.verdict_of(WORST, sample.outcomes(baseline, candidate)).hypotheses
    assert both.delta_exact == str(Fraction(40 - 10 - 4, 500))


@pytest.mark.parametrize(
    ("rule", "lost", "gained", "filled", "delta"),
    [
        ("delta >= -2 pp and delta <= 2 pp", 22, 6, "down", "-11/250"),
        ("delta >= -2 pp and delta <= 2 pp", 6, 22, "up", "11/250"),
        # taken down it is further from 0 and holds; taken up the rule is false, and that way counts
        ("delta >= -5 pp and delta <= 1 pp", 22, 6, "up", "3/250"),
    ],
)
def test_of_a_claim_of_equivalence_without_a_test_the_way_is_named_that_delta_is_of(
    rule, lost, gained, filled, delta
):
    baseline, candidate = sample.binary(500, 300, 10, 10)
    candidate[:lost] = NAN  # right in the baseline's arm
    candidate[-gained:] = NAN  # wrong there
    (found,) = sample.verdict_of(
        {**WORST, "hypotheses.0.claim": "equivalence", "hypotheses.0.rule": rule},
        sample.outcomes(baseline, candidate),
    ).hypotheses
    assert (found.filled, found.delta_exact, found.outcome) == (filled, delta, "not_supported")
    assert found.excluded.filled == lost + gained


def rows(baseline, candidate, **changes) -> Rows:
    plan = sample.plan({"populations.0.n": len(baseline), **changes})
    return Rows(resolve(plan), sample.manifests(plan), sample.outcomes(baseline, candidate))


def test_a_deviation_to_worst_case_is_applied_where_the_worst_case_is_known():
    baseline, candidate = sample.binary(100, 50, 12, 0)
    baseline[-6:] = candidate[-6:] = NAN
    planned = rows(baseline, candidate)
    change = MissingPolicyChange(kind="missing_policy", missing="worst_case")
    assert why_not(planned.plan, change) is None
    assert verdicts_of(planned)["H1"].outcome == "supported"
    assert verdicts_of(apply(planned, [change]))["H1"].outcome == "not_supported"
    undirected = rows(baseline, candidate, **{"hypotheses.0.rule": "m.p_value < 0.05"})
    assert "does not say which arm" in why_not(undirected.plan, change)
    assert apply(undirected, [change]).plan.missing == "exclude_pair"


def test_under_worst_case_missing_items_begin_at_their_worst():
    """Nine wins and one missing item, counted a loss, are p .021; a second loss gives .065."""
    baseline, candidate = sample.binary(40, 10, 9, 0)
    baseline[39] = candidate[39] = NAN
    made = rows(baseline, candidate, **WORST, **{"hypotheses.0.rule": "delta > 0 and m.p_value < 0.05"})
    none = np.zeros(40, dtype=bool)
    found = tipping_point(made, made.plan.hypotheses[0], Doubts(none, none), budget=1e9)
    assert (found.outcome, found.robust, found.missing) == ("supported", True, 1)
    assert (found.worst.delta, found.best.delta) == (8 / 40, 10 / 40)
    assert found.outcome == verdicts_of(made)["H1"].outcome


@settings(max_examples=draws(30), deadline=None)
@given(st.data())
def test_the_tipping_point_from_the_worst_case_agrees_with_trying_everything(data):
    wins, losses = data.draw(st.integers(5, 9)), data.draw(st.integers(0, 1))
    baseline, candidate = sample.binary(16, 16 - wins - losses - 3, wins, losses)
    positions = sample.some_missing(data, baseline, candidate)
    rule = {"hypotheses.0.rule": "delta > 0 and m.p_value < 0.05"}
    made = rows(baseline, candidate, **WORST, **rule)
    none = np.zeros(16, dtype=bool)
    found = tipping_point(made, made.plan.hypotheses[0], Doubts(none, none), budget=1e9)
    start = verdicts_of(made)["H1"].outcome
    worst = pair_up(made.resolved.settings[0], made)

    def changes(filling):
        before, after = worst.baseline.copy(), worst.candidate.copy()
        for position, pair in filling.items():
            before[position], after[position] = pair
        return verdicts_of(rows(before, after, **rule))["H1"].outcome != start

    def pairs(position):
        return itertools.product(
            *([0.0, 1.0] if np.isnan(arm[position]) else [arm[position]] for arm in (baseline, candidate))
        )

    least = min(
        (
            sum(
                (worst.baseline[p], worst.candidate[p]) != pair
                for p, pair in zip(positions, chosen, strict=True)
            )
            for chosen in itertools.product(*(pairs(p) for p in positions))
            if changes(dict(zip(positions, chosen, strict=True)))
        ),
        default=None,
    )
    assert (found.outcome, found.items) == (start, least)
