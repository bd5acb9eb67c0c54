"""Verdicts as run: the stored rows under a deviation's change, beside the verdict as planned."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from service.domain.deviations.as_run import apply, as_run, gain_of, verdicts_of, why_not
from service.domain.deviations.changes import (
    OTHER,
    DisputedItems,
    EndpointChange,
    ExcludedClusters,
    ExcludedItems,
    MissingPolicyChange,
    RuleChange,
    SampleSize,
    SesoiChange,
)
from service.domain.deviations.consequences import consequences, nothing
from service.domain.deviations.direction import measure_direction
from service.domain.rules.settings import resolve
from service.domain.verdicts.outcomes import Rows
from service.stats.shared.declaring.common import Margin
from tests.domain import sample

N = 40
BASELINE, CANDIDATE = sample.binary(N, 10, 9, 0)  # nine wins on items 10 to 18, no loss


def rows(baseline=BASELINE, candidate=CANDIDATE, clusters=None, **changes) -> Rows:
    found = {"populations.0.n": len(baseline)} | changes
    if clusters is not None:
        found |= {
            "populations.0.clusters": {"key": "conversation", "n": clusters},
            "populations.0.independence": None,
        }
    plan = sample.plan(found)
    manifests = sample.manifests(plan)
    return Rows(
        resolve(plan.with_items({name: each.facts() for name, each in manifests.items()})),
        manifests,
        sample.outcomes(baseline, candidate),
    )


def leave_out(*positions: int) -> ExcludedItems:
    ids = tuple(f"item {position}" for position in positions)
    return ExcludedItems(kind="exclude_items", population="one", item_ids=ids)


def outcome(found: Rows) -> str:
    return verdicts_of(found)["H1"].outcome


def test_leaving_items_out_judges_what_is_left():
    planned = rows()
    kept = np.ones(N, dtype=bool)
    kept[[10, 11, 12, 13]] = False
    run = apply(planned, [leave_out(10, 11, 12, 13)])
    by_hand = rows(BASELINE[kept], CANDIDATE[kept])
    assert (outcome(planned), outcome(run), outcome(by_hand)) == (
        "supported",
        "not_supported",
        "not_supported",
    )
    assert verdicts_of(run)["H1"].clauses == verdicts_of(by_hand)["H1"].clauses
    assert gain_of(run, run.plan.hypotheses[0]) == Fraction(5, 36)
    assert run.manifests["one"].n == run.plan.populations[0].n == 36


@pytest.mark.parametrize(("better", "direction"), [("higher", "conservative"), ("lower", "aggressive")])
def test_the_rows_show_a_direction_in_which_the_endpoint_is_better(better, direction):
    # nine items on which C2 alone has a 1: a loss where less is better, and leaving them out hides it
    planned = rows(**{"endpoints.0.better": better})
    run = apply(planned, [leave_out(*range(10, 16))])
    shown = measure_direction(*(gain_of(each, planned.plan.hypotheses[0]) for each in (planned, run)))
    assert shown["superiority"] == direction


def test_the_rows_and_the_plan_as_planned_stay_as_they_are():
    planned = rows()
    before, text = verdicts_of(planned), planned.plan.canonical_text()
    apply(planned, [leave_out(1, 2), MissingPolicyChange(kind="missing_policy", missing="fail")])
    assert verdicts_of(planned) == before
    assert planned.plan.canonical_text() == text


def test_clusters_leave_with_all_their_items():
    change = ExcludedClusters(kind="exclude_clusters", population="one", clusters=("c0", "c3"))
    tests = [{"id": "m", "test": "clustered-mcnemar", "version": 1, "parameters": {}}]
    run = apply(rows(clusters=8, tests=tests), [change])
    assert run.plan.populations[0].clusters.n == run.manifests["one"].n_clusters == 6
    assert set(run.manifests["one"].clusters) == {"c1", "c2", "c4", "c5", "c6", "c7"}
    verdict = verdicts_of(run)["H1"]
    assert verdict.n == 30
    assert verdict.analyses["m"]["analysis"]["n_clusters"] == 6


def test_nothing_left_is_inconclusive_and_no_error():
    verdict = verdicts_of(apply(rows(), [leave_out(*range(N))]))["H1"]
    assert (verdict.outcome, verdict.n, verdict.delta) == ("inconclusive", 0, None)


def test_another_missing_policy_decides_what_the_planned_one_could_not():
    candidate = CANDIDATE.copy()
    candidate[39] = np.nan
    planned = rows(candidate=candidate, missing="fail")
    run = apply(planned, [MissingPolicyChange(kind="missing_policy", missing="exclude_pair")])
    assert (outcome(planned), outcome(run)) == ("invalid", "supported")


def test_another_rule_or_margin_or_endpoint_is_judged_on_the_same_rows():
    planned = rows(
        **{"tests.1": {"id": "e", "test": "equivalence", "version": 1, "parameters": {"method": "tango"}}},
        **{"hypotheses.0.equivalence": "e"},
    )
    strict = RuleChange(kind="rule", hypothesis="H1", rule="delta >= 30 pp")
    wide = SesoiChange(kind="sesoi", endpoint="accuracy", margin=Margin(value=60, unit="pp"))
    assert outcome(apply(planned, [strict])) == "not_supported"
    assert outcome(apply(planned, [strict, wide])) == "equivalent"
    other = EndpointChange(kind="endpoint", hypothesis="H1", endpoint="f1")
    assert "no results of the endpoint 'f1'" in (why_not(planned.plan, other) or "")
    assert apply(planned, [other]).plan == planned.plan


def test_a_hypothesis_on_another_endpoint_leaves_the_family_as_it_was_locked():
    # two hypotheses with p = .031: by Bonferroni .062, whichever endpoint one of them is judged by as run
    baseline, candidate = sample.binary(N, 10, 6, 0)
    first = sample.VALUE["hypotheses"][0] | {"rule": "delta > 0 and m.p_value < 0.05"}
    plan = sample.plan(
        {
            "populations.0.n": N,
            "endpoints.1": {"id": "f1", "kind": "binary", "role": "secondary"},
            "hypotheses": [first, first | {"id": "H2"}],
            "multiplicity": {"policy": "bonferroni", "family": []},
        }
    )
    arms = (("C1", baseline), ("C2", candidate))
    cells = {("one", arm, each): sample.cell(values) for arm, values in arms for each in ("accuracy", "f1")}
    planned = Rows(resolve(plan), sample.manifests(plan), sample.Outcomes(cells))
    run = verdicts_of(apply(planned, [EndpointChange(kind="endpoint", hypothesis="H1", endpoint="f1")]))
    assert {name: each.outcome for name, each in verdicts_of(planned).items()} == dict.fromkeys(
        run, "not_supported"
    )
    assert {name: each.outcome for name, each in run.items()} == dict.fromkeys(run, "not_supported")
    assert [each.family.size for each in run.values()] == [2, 2]
    assert run["H1"].role == "secondary"


@pytest.mark.parametrize("change", [OTHER, SampleSize(kind="n", population="one", n=400)])
def test_changes_that_the_rows_were_made_under_are_not_applied(change):
    planned = rows()
    assert why_not(planned.plan, change) is not None
    assert as_run(planned, {1: change}, {}).deviations == ()


def test_as_run_shows_both_outcomes():
    found = as_run(rows(), {3: leave_out(10, 11, 12, 13), 4: OTHER}, {"H1": "supported"})
    assert found.deviations == (3,)
    (only,) = found.hypotheses
    assert (only.outcome_planned, only.outcome, only.rule_holds, only.n) == (
        "supported",
        "not_supported",
        False,
        36,
    )


# --- all of it together ---


def test_consequences_tell_deviations_apart_and_join_them():
    changes = {1: leave_out(10, 11), 2: leave_out(12, 13), 3: OTHER}
    found = consequences(rows(), changes, {"H1": "supported"})
    assert found.as_run is not None
    assert found.as_run.deviations == (1, 2)
    assert [each.deviations for each in found.one_by_one] == [(1,), (2,)]
    assert [each.hypotheses[0].n for each in (found.as_run, *found.one_by_one)] == [36, 38, 38]
    assert [each.deviation for each in found.not_computed] == [3]
    (tipping,) = found.tipping_points
    assert (tipping.left_out, tipping.missing, tipping.disputed) == (4, 0, 0)
    assert found.reasons == ()


def test_a_record_without_deviations_and_missing_items_has_no_consequences():
    found = consequences(rows(), {}, {"H1": "supported"})
    assert found == nothing("x").model_copy(update={"reasons": ()})


def test_missing_items_have_a_tipping_point_without_any_deviation():
    candidate = CANDIDATE.copy()
    candidate[39] = np.nan
    (tipping,) = consequences(rows(candidate=candidate), {}, {"H1": "supported"}).tipping_points
    assert tipping.missing == 1


def test_work_beyond_the_budget_says_so():
    changes = {
        1: leave_out(10),
        2: DisputedItems(kind="disputed_items", population="one", item_ids=("item 1",)),
    }
    found = consequences(rows(), changes, {"H1": "supported"}, budget=0.0)
    assert found.as_run is None
    assert found.one_by_one == ()
    assert "the verdicts as run would take about" in found.reasons[0]
    (tipping,) = found.tipping_points
    assert (tipping.items, tipping.robust, tipping.worst) == (None, None, None)
    assert tipping.reason
