"""A rule that compares a drawn p with a threshold needs enough resamples to tell them apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from service.domain.checks.tests import use_findings
from service.domain.rules.settings import resolve
from service.stats.shared.declaring.certainty import draws_below, draws_beyond, of_share
from tests.domain import sample


def plan(test: str, rule: str, kind: str = "continuous", **parameters: Any) -> dict[str, Any]:
    return {
        "endpoints.0.kind": kind,
        "populations.0.n": 84,
        "hypotheses.0.rule": rule,
        "hypotheses.0.statement": "C2 and C1 compare",
        "tests": [{"id": "t0", "test": test, "version": 1, "parameters": parameters}],
        "sesoi": {"accuracy": {"value": 0.05, "unit": "score" if kind == "continuous" else "proportion"}},
    }


def severities(changes: dict[str, Any]) -> list[str]:
    checked = sample.plan(changes)
    (setting,) = resolve(checked).settings
    return [finding.severity for finding in use_findings(checked, setting) if finding.code == "RESAMPLES"]


@pytest.mark.parametrize(
    ("test", "draws", "threshold", "severity"),
    [
        ("paired-bootstrap", 1000, "0.01", ["error"]),
        ("paired-bootstrap", 1000, "0.05", ["warning"]),
        ("paired-bootstrap", 1300, "0.05", []),
        ("paired-bootstrap", None, "0.001", []),
        ("bootstrap-difference", 10_000, "0.001", ["error"]),
        ("bootstrap-difference", 10_000, "0.01", []),
    ],
)
def test_named_resamples_have_to_tell_p_from_its_threshold(test, draws, threshold, severity):
    parameters = {} if draws is None else {"n_resamples": draws}
    assert severities(plan(test, f"t0.p_value < {threshold} and delta > 0", **parameters)) == severity


@pytest.mark.parametrize(
    ("draws", "level", "refused"), [(600, 0.95, True), (700, 0.95, False), (700, 0.99, True)]
)
def test_an_end_of_an_interval_needs_draws_beyond_it(draws, level, refused):
    changes = plan("paired-bootstrap", "t0.ci.low > 0", n_resamples=draws, level=level)
    assert severities(changes) == (["error"] if refused else [])


@pytest.mark.parametrize(("draws", "refused"), [(300, True), (400, False)])
def test_equivalence_by_resamples_needs_draws_beyond_the_ends_it_compares(draws, refused):
    margin = {"value": 0.05, "unit": "score"}
    by = {"n_resamples": draws, "margin": margin}
    assert severities(plan("equivalence", "t0.equivalent is true", method="bootstrap_ci", **by)) == (
        ["error"] if refused else []
    )
    assert severities(plan("equivalence", "t0.equivalent is true", method="t", **by)) == []


def test_an_end_of_fewer_resamples_than_lint_asks_for_is_known_of_no_clear_gain():
    """One item of 84 lost all, the others gained .3."""
    gains = 0.3 * np.random.default_rng(1).uniform(0.95, 1.05, 84)
    gains[0] = -1.0
    arms = sample.outcomes(np.zeros(84), gains)
    for draws, holds in ((500, None), (draws_beyond(0.025), True)):
        changes = plan("paired-bootstrap", "t0.ci.low > 0", n_resamples=draws)
        assert sample.verdict_of(changes, arms).hypotheses[0].rule_holds is holds


def test_what_has_an_exact_distribution_needs_none():
    assert severities(plan("paired-bootstrap", "t0.p_value < 0.01", "binary", n_resamples=1000)) == []
    assert severities(plan("randomization", "t0.p_value < 0.01", n_resamples=1000)) == []
    assert severities(plan("paired-bootstrap", "t0.ci.low > 0", n_resamples=1000)) == []


def test_a_rule_that_lint_refuses_does_not_hold_of_clear_data_and_does_with_as_many_as_it_asks_for():
    """One item of 84 lost all, the others gained .05: p is .004."""
    gains = 0.053 * np.linspace(0.95, 1.05, 84)
    gains[0] = -1.0
    arms = sample.outcomes(np.zeros(84), gains)
    for draws, holds in ((1000, False), (draws_below(0.01), True)):
        changes = plan("paired-bootstrap", "t0.p_value < 0.01 and delta > 0", n_resamples=draws)
        assert (sample.verdict_of(changes, arms).hypotheses[0].rule_holds is True) == holds


@pytest.mark.parametrize("threshold", [0.1, 0.05, 0.01, 0.001])
def test_so_many_draws_tell_half_a_threshold_from_it_and_few_less_do_not(threshold):
    enough = draws_below(threshold)
    assert of_share(threshold / 2, enough)[1] <= threshold
    assert of_share(threshold / 2, int(0.9 * enough) - 100)[1] > threshold
