"""Estimates of cost: finite, positive, and growing with what makes a request long; too long is refused."""

from __future__ import annotations

import json
import math

import pytest

from service.errors import InvalidData
from service.stats.shared.declaring import registry
from tests.drawing import one_in
from tests.stats.bodies import counted, flips, values
from tests.stats.cases import declared

LEAST_GROWTH = 3.0
"""Of the estimate when a request grows a hundredfold."""


LONGER = [
    pytest.param(registry.find(name), body, id=f"{name}-{place}")
    for name, cases in declared().items()
    if not isinstance(cases.growing, str)
    for place, body in enumerate(cases.growing)
]


def cost_of(test, body):
    return test.cost(test.request.model_validate_json(json.dumps(body)))


@pytest.mark.parametrize(("test", "body"), one_in(3, LONGER))
def test_an_estimate_grows_with_its_request(test, body):
    small, large = cost_of(test, body(1)), cost_of(test, body(100))
    assert 0 < small < math.inf
    assert math.isfinite(large)
    assert large > LEAST_GROWTH * small


def test_an_estimate_that_need_not_grow_has_a_reason():
    assert all(cases.growing for cases in declared().values())


def test_agreement_is_estimated_by_its_tests():
    test = registry.find("pas")
    one = dict(test.example)
    assert cost_of(test, {**one, "tests": one["tests"] * 50}) > LEAST_GROWTH * cost_of(test, one)


def test_a_detectable_difference_that_is_simulated_costs_as_much_as_all_that_is_tried():
    plain = flips(n=1000, n_simulations=100_000)
    one, all_tried = (cost_of(registry.find("power"), {**plain, "solve_effect": it}) for it in (False, True))
    assert 6 * one < all_tried < 8 * one


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("power", flips(n=[1_000_000] * 500, n_simulations=100_000)),
        ("paired-bootstrap", {**counted(120_000), "n_resamples": 1_000_000, "method": "studentized"}),
        (
            "type-one-error",
            {"test": "bootstrap-basic", **values(2000), "sizes": [1000] * 200, "n_splits": 200_000},
        ),
    ],
)
def test_what_would_compute_for_hours_is_refused_at_once(name, body):
    test = registry.find(name)
    request = test.request.model_validate_json(json.dumps(body))
    for ask in (test.answer, test.block_count):
        with pytest.raises(InvalidData, match="hours") as refused:
            ask(request)
        assert refused.value.problem_code == "too_long"
