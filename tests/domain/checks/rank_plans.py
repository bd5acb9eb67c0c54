"""Plans whose rules ask tests of ranks and quantiles, and data on which these and the means part."""

from __future__ import annotations

import numpy as np

from service.domain.checks.claim import claim_findings
from service.domain.rules.settings import resolve
from tests.domain import sample

N = 200
BASE = np.random.default_rng(1).normal(0.5, 0.1, N)
MOST_LOSE = np.where(np.arange(N) < 160, -0.3, 1.25) + np.random.default_rng(2).normal(0, 0.01, N)
MOST_LOSE += 0.008 - MOST_LOSE.mean()
"""Four of five items are worse, and the mean is a little better."""
TESTS = {
    "wilcoxon": {},
    "mann-whitney": {},
    "quantile-difference": {"n_resamples": 1000, "seed": 1},
}


def scores(rule, test, parameters=None, **more):
    return {
        "populations.0.n": N,
        "endpoints.0": {"id": "accuracy", "kind": "continuous", "role": "primary"},
        "sesoi": {"accuracy": {"value": 0.02, "unit": "score"}},
        "hypotheses.0.statement": "C2 scores higher than C1",
        "hypotheses.0.rule": rule,
        "tests": [
            {
                "id": "w",
                "test": test,
                "version": 1,
                "parameters": {**TESTS.get(test, {}), **(parameters or {})},
            },
            {"id": "t", "test": "t-test", "version": 1, "parameters": {"method": "paired"}},
        ],
        **more,
    }


def said(changes):
    plan = sample.plan(changes)
    (setting,) = resolve(plan).settings
    return [each for each in claim_findings(plan, setting) if each.severity == "error"]


def judged(changes, difference=MOST_LOSE):
    return sample.verdict_of(changes, sample.outcomes(BASE, BASE + difference)).hypotheses[0]
