"""Plans on bounded scores: the range is the endpoint's, and verdicts know of losses too rare to be seen."""

from __future__ import annotations

import numpy as np
import pytest

from tests.domain import sample

SCORES = {
    "endpoints.0": {
        "id": "accuracy",
        "kind": "continuous",
        "role": "primary",
        "bounds": {"low": 1, "high": 5},
    },
    "sesoi": {"accuracy": {"value": 0.2, "unit": "score"}},
    "hypotheses.0.claim": "non_inferiority",
    "hypotheses.0.statement": "C2 is not worse than C1 by more than 0.2",
}
TESTS = {
    "bounded-difference": ("ci.low > -0.2", {}),
    "equivalence": ("noninferior is true", {"method": "bounded"}),
}


def plan(test, **changes):
    clause, parameters = TESTS[test]
    return {
        **SCORES,
        "hypotheses.0.rule": f"b.{clause}",
        "tests.0": {"id": "b", "test": test, "version": 1, "parameters": parameters},
        **changes,
    }


def holds(changes, difference):
    arms = sample.outcomes(np.full(len(difference), 3.0), 3.0 + np.asarray(difference))
    return sample.verdict_of({**changes, "populations.0.n": len(difference)}, arms).hypotheses[0].rule_holds


@pytest.mark.parametrize("test", TESTS)
def test_most_items_that_tie_show_no_more_than_they_can(test):
    few, many = np.r_[np.zeros(35), np.full(5, 0.5)], np.zeros(150)
    assert holds(plan(test), few) is False
    assert holds(plan(test), many) is True
    # on a wider scale an item that was not seen can lose more
    wider = {"endpoints.0.bounds": {"low": 0, "high": 20}}
    assert holds(plan(test, **wider), many) is False


def test_t_would_have_called_it_shown():
    few = np.r_[np.zeros(35), np.full(5, 0.5)]
    by_t = plan("equivalence", **{"tests.0.parameters": {"method": "t"}})
    assert holds(by_t, few) is True


@pytest.mark.parametrize("test", TESTS)
def test_a_plan_without_bounds_is_told_to_declare_them(test):
    told = [
        each for each in sample.findings(plan(test, **{"endpoints.0.bounds": None})) if each.code == "BOUNDS"
    ]
    assert told
    assert told[0].severity == "error"
    assert "declare them as its `bounds`" in told[0].message
    assert "BOUNDS" not in [code for code, _ in sample.codes(plan(test))]
    assert "TEST_PARAMETERS" not in [code for code, _ in sample.codes(plan(test))]
