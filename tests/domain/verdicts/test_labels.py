"""People's labels under the plan's missing policy: a label has no worst value, so an item without one is left out."""

from __future__ import annotations

import numpy as np
import pytest

from service.domain.rules.settings import resolve
from service.domain.verdicts.outcomes import MISSING, NOT_RECEIVED, OK, Outcomes, PlanViolatedError, Rows
from service.domain.verdicts.pairs import pair_up
from tests.domain.sample import manifests, plan

N, LABELLED = 8, 4
BY_PEOPLE = {
    "populations.0.n": N,
    "endpoints.0.judge": {"model": "j", "version": "1", "prompt_sha256": "a" * 64},
    "endpoints.1": {
        "id": "accuracy.audit",
        "kind": "binary",
        "role": "secondary",
        "labels": {"n": LABELLED, "seed": 3},
    },
    "tests": [{"id": "ppi", "test": "prediction-powered", "version": 1}],
    "hypotheses.0.about": "labels",
    "hypotheses.0.rule": "ppi.ci.low > 0",
}
POLICIES = ("fail", "exclude_pair", "worst_case")


def pair_labels(missing: str, status: int = OK):
    """The pairs of a plan whose results are all 1, but for one of the candidate's labels; and which item that is of."""
    locked = resolve(plan({**BY_PEOPLE, "missing": missing}))
    results = Outcomes.empty(locked.plan)
    for cell in results.cells.values():
        expected = cell.statuses == NOT_RECEIVED
        cell.values[expected], cell.statuses[expected] = 1.0, OK
    labels = results.cells["one", "C2", "accuracy.audit"]
    item = int(np.flatnonzero(labels.statuses == OK)[0])
    labels.statuses[item] = status
    labels.values[item] = 1.0 if status == OK else np.nan
    return pair_up(locked.settings[0], Rows(locked, manifests(locked.plan), results)), item


@pytest.mark.parametrize("missing", POLICIES)
def test_an_item_that_was_not_drawn_stands_under_every_policy(missing):
    pairs, _item = pair_labels(missing)
    assert pairs.n == N
    assert [int(np.isfinite(of_arm).sum()) for of_arm in pairs.labels] == [LABELLED, LABELLED]


@pytest.mark.parametrize("missing", ["exclude_pair", "worst_case"])
def test_an_item_without_its_label_is_left_out_of_both_arms(missing):
    pairs, item = pair_labels(missing, MISSING)
    assert np.flatnonzero(~pairs.kept).tolist() == [item]
    assert (pairs.excluded.pairs, pairs.excluded.filled) == (1, 0)
    assert [int(np.isfinite(of_arm).sum()) for of_arm in pairs.labels] == [LABELLED - 1, LABELLED - 1]


def test_under_fail_a_missing_label_breaks_the_plan():
    with pytest.raises(PlanViolatedError, match="arm 'C2' are not ok"):
        pair_labels("fail", MISSING)


@pytest.mark.parametrize(
    ("missing", "says"),
    [("fail", "are not ok"), ("exclude_pair", "were never posted"), ("worst_case", "were never posted")],
)
def test_a_label_that_was_never_posted_breaks_the_plan_under_every_policy(missing, says):
    with pytest.raises(PlanViolatedError, match=f"arm 'C2' {says}"):
        pair_labels(missing, NOT_RECEIVED)
