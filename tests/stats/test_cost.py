"""Estimates of cost: finite, positive, and growing with what makes a request long; too long is refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from service.errors import InvalidData
from service.stats import registry

LEAST_GROWTH = 3.0
"""Of the estimate when a request grows a hundredfold."""


def scores(n):
    rng = np.random.default_rng(n)
    baseline = rng.normal(size=n)
    return {"baseline": baseline.tolist(), "candidate": (baseline + rng.normal(size=n)).tolist()}


def pairs(n):
    rng = np.random.default_rng(n)
    return {arm: rng.integers(0, 2, n).tolist() for arm in ("baseline", "candidate")}


def clustered(n):
    return {**scores(n), "clusters": (np.arange(n) // 4).tolist()}


def counted(n):
    rng = np.random.default_rng(n)
    arms = [{name: rng.integers(0, 50, n).tolist() for name in ("tp", "fp", "fn")} for _ in range(2)]
    return {"metric": "f1", "baseline": arms[0], "candidate": arms[1]}


def values(n, **options):
    return {"values": scores(n)["baseline"], **options}


def flips(**options):
    design = {"p_only_baseline": 0.05, "p_only_candidate": 0.2, "cluster_size": 10, "icc": 0.1}
    return {"test": "sign-flip", **design, **options}


SIZES = {
    "bootstrap-difference": [
        lambda k: {**scores(100 * k), "n_resamples": 1000},
        lambda k: {**scores(300), "n_resamples": 1000 * k},
    ],
    "cluster-bootstrap": [
        lambda k: clustered(400 * k),
        lambda k: {**clustered(400), "method": "studentized", "n_resamples": 1000 * k},
        lambda k: {**clustered(400), "convention": "seed", "n_resamples": 1000 * k},
    ],
    "clustered-mcnemar": [lambda k: {**pairs(400 * k), "clusters": [i // 4 for i in range(400 * k)]}],
    "cumulative-effect": [lambda k: scores(2000 * k), lambda k: clustered(400 * k)],
    "describe": [lambda k: values(1000 * k), lambda k: values(50, method="bca", n_resamples=10_000 * k)],
    "ecs": [lambda k: {"human": [0.1, 0.4] * (20 * k), "agent": [0.2, 0.3] * (20 * k)}],
    "effect-size": [lambda k: scores(5000 * k)],
    "equivalence": [
        lambda k: {
            **scores(2000 * k),
            "method": "bootstrap_ci",
            "margin": {"value": 1, "unit": "score"},
        },
        lambda k: {**scores(2000 * k), "method": "t", "margin": {"value": 1, "unit": "score"}},
        lambda k: {**pairs(2000 * k), "margin": {"value": 1, "unit": "pp"}},
    ],
    "mann-whitney": [lambda k: scores(500 * k)],
    "mcnemar": [lambda k: pairs(2000 * k)],
    "multiple-comparisons": [lambda k: {"p_values": [0.5] * (50 * k)}],
    "outliers": [lambda k: values(2000 * k)],
    "paired-bootstrap": [
        lambda k: scores(2000 * k),
        lambda k: pairs(2000 * k),
        lambda k: counted(100 * k),
        lambda k: {**counted(100), "n_resamples": 1000 * k},
        lambda k: {**scores(100), "method": "studentized", "n_resamples": 1000 * k},
        lambda k: {**scores(100), "convention": "seed", "n_resamples": 1000 * k},
    ],
    "paired-difference": [lambda k: pairs(2000 * k)],
    "pass-at-k": [lambda k: {"correct": [1, 2] * (1000 * k), "attempts": 5, "k": [1]}],
    "power": [
        lambda k: flips(n=20 * k),
        lambda k: flips(n=20, n_simulations=1000 * k),
        lambda k: {"test": "welch", "delta": 1, "sd_baseline": 1, "sd_candidate": 1, "n": [10] * (5 * k)},
    ],
    "randomization": [
        lambda k: scores(2000 * k),
        lambda k: counted(100 * k),
        lambda k: {**counted(100), "n_resamples": 1000 * k},
    ],
    "sample-size": [
        lambda k: flips(n_simulations=1000 * k),
        lambda k: {
            "test": "tango",
            "p_only_baseline": 0.2,
            "p_only_candidate": 0.2,
            "margin": {"value": 10 / k**0.5, "unit": "pp"},
        },
    ],
    "sequential": [lambda k: {"method": "e_process", **pairs(2000 * k)}],
    "t-test": [lambda k: scores(5000 * k)],
    "type-one-error": [
        lambda k: {"test": "bootstrap-basic", **values(60), "sizes": [20], "n_splits": 100 * k},
        lambda k: {"test": "bootstrap-basic", **values(60), "sizes": [20], "n_resamples": 100 * k},
        lambda k: {"test": "welch", **values(60), "sizes": [20], "n_splits": 1000 * k},
        lambda k: {"test": "paired-t", **scores(400), "n_splits": 1000 * k},
        lambda k: {"test": "sign-flip", **scores(400 * k)},
    ],
    "variance-components": [lambda k: {"values": [[0.1, 0.4, 0.2]] * (500 * k)}],
    "wilcoxon": [lambda k: scores(500 * k)],
}
BOUNDED = {"bayes-factor", "effect-conversion", "pas"}
"""A number or a hundred thousand of them: what their example costs is what they cost, or counted per test."""

CASES = [
    pytest.param(registry.find(name), body, id=f"{name}-{place}")
    for name, bodies in SIZES.items()
    for place, body in enumerate(bodies)
]


def cost_of(test, body):
    return test.cost(test.request.model_validate_json(json.dumps(body)))


@pytest.mark.parametrize(("test", "body"), CASES)
def test_an_estimate_grows_with_its_request(test, body):
    small, large = cost_of(test, body(1)), cost_of(test, body(100))
    assert 0 < small < math.inf
    assert math.isfinite(large)
    assert large > LEAST_GROWTH * small


def test_every_test_has_a_size_here():
    assert set(registry.latest()) == set(SIZES) | BOUNDED


def test_agreement_is_estimated_by_its_tests():
    test = registry.find("pas")
    one = dict(test.example)
    assert cost_of(test, {**one, "tests": one["tests"] * 50}) > LEAST_GROWTH * cost_of(test, one)


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
