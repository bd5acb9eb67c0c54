"""The worked example."""

from __future__ import annotations


def worked_example(n_clusters):
    """Two hypotheses on an item-level and a clustered population, with equivalence as the fall-back."""
    return {
        "populations.0.n": 500,
        "populations.1": {
            "id": "two",
            "dataset": "LoCoMo",
            "n": 764,
            "clusters": {"key": "conversation", "n": n_clusters},
        },
        "hypotheses.0.rule": "delta >= 2.0 pp and m.p_value < 0.05 and bootstrap.ci excludes 0",
        "hypotheses.1": {
            "id": "H2",
            "claim": "superiority",
            "statement": "C4 improves paired accuracy over C3 by at least 2 pp",
            "population": "two",
            "baseline": "C3",
            "candidate": "C4",
            "endpoint": "accuracy",
            "rule": "delta >= 2.0 pp and clustered.p_value < 0.05 and clustered_bootstrap.ci excludes 0",
            "equivalence": "equivalence",
        },
        "endpoints.1": {"id": "token_f1", "kind": "continuous", "role": "secondary"},
        "tests.1": {
            "id": "bootstrap",
            "test": "paired-bootstrap",
            "version": 1,
            "parameters": {"level": 0.95},
        },
        "tests.2": {
            "id": "clustered",
            "test": "clustered-mcnemar",
            "version": 1,
            "parameters": {"method": "sign_flip"},
        },
        "tests.3": {
            "id": "clustered_bootstrap",
            "test": "cluster-bootstrap",
            "version": 1,
            "parameters": {"level": 0.95},
        },
        "tests.4": {
            "id": "equivalence",
            "test": "equivalence",
            "version": 1,
            "parameters": {"method": "tango"},
        },
    }
