"""Example bodies for OpenAPI: they are real, and the tests run them."""

from __future__ import annotations

from typing import Any

_HYPOTHESIS: dict[str, Any] = {
    "id": "H1a",
    "claim": "superiority",
    "statement": "C3 improves paired accuracy over C1 by at least 2 pp",
    "population": "longmemeval",
    "baseline": "C1",
    "candidate": "C3",
    "endpoint": "accuracy",
}
PLAN: dict[str, Any] = {
    "title": "Failure-triggered synthesis over zero-build retrieval",
    "populations": [
        {
            "id": "longmemeval",
            "dataset": "LongMemEval-S",
            "n": 500,
            "independence": "one conversation per question",
        }
    ],
    "hypotheses": [
        {**_HYPOTHESIS, "rule": "delta >= 2.0 pp and mcnemar.p_value < 0.05 and bootstrap.ci excludes 0"}
    ],
    "endpoints": [{"id": "accuracy", "kind": "binary", "role": "primary"}],
    "tests": [
        {"id": "mcnemar", "test": "mcnemar", "version": 1, "parameters": {"method": "exact"}},
        {"id": "bootstrap", "test": "paired-bootstrap", "version": 1, "parameters": {"level": 0.95}},
    ],
    "sesoi": {"accuracy": {"value": 2, "unit": "pp"}},
    "thresholds": [],
    "stopping": {"kind": "fixed_n"},
    "missing": "exclude_pair",
    "multiplicity": {"policy": "none", "family": ["H1a"]},
}

RESULTS: dict[str, Any] = {
    "population": "longmemeval",
    "arm": "C1",
    "endpoint": "accuracy",
    "item_ids": ["q1", "q2", "q3"],
    "values": [1, 0, None],
    "status": ["ok", "ok", "error"],
}

_ID = "9d0f3c0f6d0b4a4f9c7c3f8f5f0b1c2d"
_SHA = "b1946ac92492d2347c6235b4d2611184b1946ac92492d2347c6235b4d2611184"
_AT = "2027-01-04T09:00:00Z"

RECEIPT: dict[str, Any] = {
    "sequence": 41,
    "kind": "plan_locked",
    "leaf_sha256": _SHA,
    "checkpoint": None,
    "proof": None,
}
DRAFT: dict[str, Any] = {
    "id": _ID,
    "state": "draft",
    "version": 1,
    "plan": PLAN,
    "plan_sha256": None,
    "lint": None,
    "acknowledged": [],
    "created_at": _AT,
    "locked_at": None,
    "complete_at": None,
    "judged_at": None,
    "results_due": None,
    "overdue": False,
    "closed": None,
    "withdrawn": None,
    "family": None,
    "receipt": None,
}
FAMILY_PLACE: dict[str, Any] = {"id": "4f1c2a90b7d84c6e8a3f5d1207c9be64", "registration": 7, "of": 9}
LOCKED: dict[str, Any] = DRAFT | {
    "state": "locked",
    "plan_sha256": _SHA,
    "lint": [],
    "locked_at": _AT,
    "family": FAMILY_PLACE,
    "receipt": RECEIPT,
}
RECORDS: dict[str, Any] = {
    "items": [
        {
            "id": _ID,
            "title": PLAN["title"],
            "state": "locked",
            "version": 1,
            "plan_sha256": _SHA,
            "created_at": _AT,
            "locked_at": _AT,
            "judged_at": None,
            "results_due": "2027-03-31",
            "overdue": False,
        }
    ],
    "next_cursor": None,
}
FINDINGS: dict[str, Any] = {
    "findings": [
        {
            "code": "FEW_CLUSTERS",
            "severity": "warning",
            "path": "populations[0].clusters",
            "message": "8 clusters: intervals and tests by cluster are unreliable below 10.",
        }
    ]
}
LINT_PILOT: dict[str, Any] = {"pilot": [{"baseline": [1, 0, 1, 1, None, 0], "candidate": [1, 1, 1, 0, 1, 1]}]}
ITEMS: dict[str, Any] = {"item_ids": ["q1", "q2", "q3"], "clusters": ["conv-1", "conv-1", "conv-2"]}
ITEMS_FACTS: dict[str, Any] = {"n": 3, "items_sha256": _SHA, "n_clusters": 2}
BATCH_RECEIPT: dict[str, Any] = {
    "batch": 1,
    "n": 3,
    "skipped": 0,
    "received": 3,
    "expected": 1000,
    "state": "collecting",
    "receipt": RECEIPT | {"sequence": 42, "kind": "batch"},
}
CHECKED_BATCH: dict[str, Any] = {"population": "longmemeval", "arm": "C1", "endpoint": "accuracy", "n": 3}
BATCHES: dict[str, Any] = {
    "items": [
        {
            "batch": 1,
            "population": "longmemeval",
            "arm": "C1",
            "endpoint": "accuracy",
            "run": None,
            "n": 3,
            "commitment_sha256": _SHA,
            "status_counts": {"ok": 2, "error": 1, "missing": 0},
            "received_at": _AT,
            "key_id": _ID,
            "void_reason": None,
            "voided_at": None,
        }
    ],
    "next_cursor": None,
}
VOIDED: dict[str, Any] = RECEIPT | {"sequence": 43, "kind": "batch_voided"}
PROGRESS: dict[str, Any] = {
    "state": "collecting",
    "received": 3,
    "expected": 1000,
    "cells": [
        {"population": "longmemeval", "arm": "C1", "endpoint": "accuracy", "received": 3, "expected": 500},
        {"population": "longmemeval", "arm": "C3", "endpoint": "accuracy", "received": 0, "expected": 500},
    ],
    "status_counts": {"ok": 2, "error": 1, "missing": 0},
    "batches": 1,
    "overdue": False,
}
ROWS: dict[str, Any] = {
    "items": [
        {
            "population": "longmemeval",
            "arm": "C1",
            "endpoint": "accuracy",
            "run": None,
            "item_id": "q1",
            "replicate": 1,
            "value": 1,
            "status": "ok",
            "observed_at": None,
            "batch": 1,
        }
    ],
    "next_cursor": "1-1",
}
VERDICTS: dict[str, Any] = {
    "items": [
        {
            "preregistration_id": _ID,
            "title": PLAN["title"],
            "hypothesis": "H1a",
            "outcome": "not_supported",
            "headline": "C3 did not beat C1: +0.40 pp, rule not met",
            "judged_at": _AT,
        }
    ],
    "next_cursor": None,
}
VERDICT: dict[str, Any] = {
    "preregistration_id": _ID,
    "title": PLAN["title"],
    "plan_sha256": _SHA,
    "judged_at": _AT,
    "multiplicity": "1 hypothesis; p-values are uncorrected",
    "hypotheses": [
        {
            **_HYPOTHESIS,
            "outcome": "not_supported",
            "reason": None,
            "sentence": "The locked rule does not hold.",
            "rule": "delta >= 2.0 pp",
            "rule_holds": False,
            "clauses": [
                {
                    "text": "delta >= 2.0 pp",
                    "observed": 0.012,
                    "threshold": 0.02,
                    "holds": False,
                    "reason": None,
                }
            ],
            "delta": 0.012,
            "delta_exact": "3/250",
            "n": 500,
            "n_planned": 500,
            "excluded": {
                "pairs": 0,
                "baseline": {"error": 0, "missing": 0, "not_received": 0},
                "candidate": {"error": 0, "missing": 0, "not_received": 0},
            },
            "reading": None,
            "reading_of": None,
            "analyses": {},
        }
    ],
    "voided_batches": [{"batch": 1, "reason": "posted under the wrong arm"}],
    "versions": {"numpy": "2.4.6"},
}
JOB: dict[str, Any] = {
    "id": _ID,
    "kind": "verdict",
    "state": "queued",
    "progress": None,
    "eta_seconds": None,
    "result": None,
    "error": None,
    "created_at": _AT,
    "finished_at": None,
}
