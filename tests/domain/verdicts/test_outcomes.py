"""Pairs of a hypothesis under the plan's policies."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.exact_sums import exact_sum
from service.domain.plans.sections.endpoint import Endpoint
from service.domain.results.batches import BatchHead, PlacedBatch
from service.domain.results.secret_rows import SecretRows
from service.domain.rules.grammar import parse
from service.domain.rules.settings import resolve
from service.domain.verdicts.mean_difference import collapse
from service.domain.verdicts.outcomes import NOT_RECEIVED, Cell, Outcomes, PlanViolatedError, Rows
from service.domain.verdicts.pairs import pair_up
from tests.domain.rules.evaluated import evaluate
from tests.domain.sample import binary, cell, manifest, manifests, outcomes, plan
from tests.strategies import exact_mean_difference, paired_binary, paired_scores

CONTINUOUS = {"endpoints.0.kind": "continuous", "sesoi": {"accuracy": {"value": 2, "unit": "score"}}}


def paired(results, changes=None):
    size = len(next(iter(results.cells.values())).values)
    changed = plan({"populations.0.n": size, **(changes or {})})
    return pair_up((locked := resolve(changed)).settings[0], Rows(locked, manifests(changed), results))


@given(paired_binary())
def test_binary_delta_is_the_fraction_of_counts(arms):
    before, after = arms
    found = paired(outcomes(before, after))
    assert found.delta == Fraction(int(after.sum()) - int(before.sum()), len(before))
    assert found.excluded.pairs == 0
    np.testing.assert_array_equal(found.baseline, before)


@given(paired_scores())
def test_continuous_delta_is_exact(arms):
    assert paired(outcomes(*arms), CONTINUOUS).delta == exact_mean_difference(*arms)


def shifted_by_two_points(n, right):
    """`right` items correct before, exactly 2 pp more of them after, and others at that."""
    before, after = np.zeros(n), np.zeros(n)
    before[:right] = 1
    after[n - right - n // 50 :] = 1
    return before, after


@pytest.mark.slow
def test_exactly_two_points_pass_for_every_baseline():
    """With floats, one baseline in four fails this."""
    rule = parse("delta >= 2.0 pp")
    passed = [
        evaluate(rule, {"delta": (exact_sum(after) - exact_sum(before)) / n})
        for n in range(100, 1001, 50)
        for before, after in (shifted_by_two_points(n, right) for right in range(n - n // 50 + 1))
    ]
    assert len(passed) > 10_000
    assert set(passed) == {True}


@pytest.mark.slow
def test_exactly_two_points_are_paired_exactly():
    changed = plan({"populations.0.n": 500})
    items = {"one": manifest(500)}
    for right in range(0, 491, 7):
        results = outcomes(*shifted_by_two_points(500, right))
        assert pair_up(
            (locked := resolve(changed)).settings[0], Rows(locked, items, results)
        ).delta == Fraction(1, 50)


@given(paired_binary(), st.data())
def test_exclude_pair_drops_the_item_from_both_arms(arms, data):
    n = len(arms[0])
    statuses = [
        np.asarray(data.draw(st.lists(st.sampled_from([0, 0, 1, 2]), min_size=n, max_size=n))) for _ in arms
    ]
    cells = [
        cell(np.where(status == 0, arm, np.nan), status) for arm, status in zip(arms, statuses, strict=True)
    ]
    found = paired(outcomes(*cells))
    kept = (statuses[0] == 0) & (statuses[1] == 0)
    np.testing.assert_array_equal(found.kept, kept)
    np.testing.assert_array_equal(found.candidate, arms[1][kept])
    assert found.n == kept.sum()
    assert found.excluded.pairs == n - kept.sum()
    assert found.excluded.baseline.error == (statuses[0] == 1).sum()
    assert found.excluded.candidate.missing == (statuses[1] == 2).sum()
    assert found.delta == (exact_mean_difference(arms[0][kept], arms[1][kept]) if kept.any() else None)


def test_fail_refuses_any_result_that_is_not_ok():
    results = outcomes([1, 0, 1], [1, np.nan, np.nan])
    with pytest.raises(PlanViolatedError, match="2 results of arm 'C2' are not ok"):
        paired(results, {"missing": "fail"})
    assert paired(results).n == 1


def test_what_was_never_received_is_carried_by_the_worst_case_alone():
    lacking = outcomes([1, 1], cell([1, np.nan], [0, NOT_RECEIVED]))
    found = paired(lacking, {"missing": "worst_case"})
    assert (found.excluded.candidate.not_received, found.excluded.filled) == (1, 1)
    assert float(found.delta) == -0.5
    with pytest.raises(PlanViolatedError, match="are not ok"):
        paired(lacking, {"missing": "fail"})
    with pytest.raises(PlanViolatedError, match="never posted"):
        paired(lacking, {"missing": "exclude_pair"})


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("mean", [1.0, 0.5, 0.25, 0.75]),
        (None, [1.0, 0.5, 0.25, 0.75]),
        ("first", [1, 1, 0, 0]),
        ("majority", [1, 0, 0, 1]),
    ],
)
def test_replicates_collapse(how, expected):
    values = np.asarray([[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 1], [0, 1, 1, 1]], dtype=float)
    endpoint = Endpoint(id="e", kind="binary", role="primary", replicates=4, collapse=how)
    np.testing.assert_array_equal(collapse(values, endpoint), expected)


@pytest.mark.parametrize(
    ("how", "delta"), [("mean", Fraction(1, 6)), ("first", Fraction(-1, 2)), ("majority", Fraction(1, 2))]
)
def test_delta_follows_the_collapse(how, delta):
    results = outcomes([[1, 0, 0], [0, 0, 1]], [[0, 1, 1], [0, 1, 0]])
    assert paired(results, {"endpoints.0.replicates": 3, "endpoints.0.collapse": how}).delta == delta


def test_an_item_needs_every_replicate():
    results = outcomes([[1, np.nan, 1], [0, 0, 0]], [[1, 1, 1], [1, 1, 1]])
    found = paired(results, {"endpoints.0.replicates": 3, "endpoints.0.collapse": "first"})
    assert found.kept.tolist() == [False, True]


@pytest.mark.parametrize(
    ("results", "message"),
    [
        (Outcomes({("one", "C1", "accuracy"): cell([1, 0])}), "no results of arm 'C2'"),
        (outcomes([1, 0], [1, 0, 1]), "are not the planned"),
        (outcomes([1, 0], [[1, 0], [1, 0]]), "are not the planned"),
        (outcomes([1, 0], [1, 0.5]), "values other than 0 and 1"),
        (outcomes([1, 0], cell([1, np.nan], [0, 0])), "without a finite value"),
        (outcomes([1, 0], cell([1, np.inf], [0, 0])), "without a finite value"),
    ],
)
def test_data_that_break_the_plan_are_named(results, message):
    with pytest.raises(PlanViolatedError, match=message):
        paired(results)


def test_another_manifest_than_the_locked_one_breaks_the_plan():
    locked = resolve(plan({"populations.0.n": 2, "populations.0.items_sha256": "0" * 64}))
    with pytest.raises(PlanViolatedError, match="not the one the plan is locked to"):
        pair_up(locked.settings[0], Rows(locked, manifests(locked.plan), outcomes([1, 0], [1, 0])))
    with pytest.raises(PlanViolatedError):
        pair_up(locked.settings[0], Rows(locked, {}, outcomes([1, 0], [1, 0])))


def test_batches_fill_the_expected_cells():
    changed = plan({"populations.0.n": 3, "endpoints.0.replicates": 2})
    empty = Outcomes.empty(changed)
    assert set(empty.cells) == {("one", "C1", "accuracy"), ("one", "C2", "accuracy")}
    empty.place(
        PlacedBatch(
            BatchHead("one", "C2", "accuracy", None),
            positions=np.asarray([2, 0], dtype=np.int32),
            replicates=np.asarray([1, 2], dtype=np.uint16),
            rows=SecretRows(np.asarray([1.0, np.nan]), np.asarray([0, 1], dtype=np.uint8)),
        )
    )
    filled = empty.cells["one", "C2", "accuracy"]
    assert filled.statuses.tolist() == [[255, 1], [255, 255], [0, 255]]
    assert filled.values[2, 0] == 1
    assert np.isnan(filled.values[0, 1])
    assert np.all(empty.cells["one", "C1", "accuracy"].statuses == NOT_RECEIVED)


def test_representations_hold_no_outcome():
    results = outcomes(*binary(20, 5, 4, 1))
    assert "array" not in repr(results)
    assert "array" not in repr(paired(results))
    assert "Fraction" not in repr(paired(results))
    assert isinstance(results.cells["one", "C1", "accuracy"], Cell)
