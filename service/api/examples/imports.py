"""Examples of imports for OpenAPI."""

from __future__ import annotations

from typing import Any

_AT = "2027-01-20T09:00:00Z"

REPORT: dict[str, Any] = {
    "number": 1,
    "format": "inspect",
    "population": "longmemeval",
    "batches": [
        {
            "arm": "C3",
            "endpoint": "accuracy",
            "rows": 499,
            "unknown": 0,
            "unknown_ids": [],
            "missing": 1,
            "missing_ids": ["q-0499"],
            "batch": 2,
            "n": 499,
            "skipped": 0,
            "receipt": {
                "sequence": 7,
                "kind": "batch",
                "leaf_sha256": "5c3a" * 16,
                "checkpoint": None,
                "proof": None,
            },
        }
    ],
    "received": 999,
    "expected": 1000,
    "state": "collecting",
}
IMPORTS: dict[str, Any] = {
    "items": [
        {
            "number": 1,
            "format": "inspect",
            "reader_version": 1,
            "batches": [2],
            "received_at": _AT,
            "key_id": "0" * 32,
            "sha256": None,
            "size": None,
            "statuses": None,
            "events": None,
        }
    ],
    "next_cursor": None,
}
FILE: dict[str, Any] = {
    "survey": {
        "format": "csv",
        "samples": 2,
        "partial": None,
        "events": {},
        "measures": {"value": {"n": 2, "texts": [], "least": 0, "greatest": 1, "binary": True, "events": {}}},
        "replicates": 1,
        "ids": {"item_id": 2},
        "clusters": {},
        "arms": {},
        "section": {"format": "csv"},
        "about": {},
        "lower": [],
        "system": {},
    },
    "table": None,
    "problem": None,
}
ARTEFACTS: dict[str, Any] = {
    "items": [
        {
            "number": 1,
            "format": "inspect",
            "received_at": _AT,
            "sha256": "9f86" * 16,
            "size": 1_204_331,
            "kept": True,
        }
    ],
    "next_cursor": None,
}
