"""Examples of unblinding and erasure, for OpenAPI."""

from __future__ import annotations

from typing import Any

REASON: dict[str, Any] = {"reason": "The data set holds personal data that has to go."}
REQUEST: dict[str, Any] = {
    "reason": "The judge answered nonsense: its rows have to be seen.",
    "endpoint": "accuracy",
}
_WHO = {"at": "2027-01-04T09:00:00Z", "by": "Ada", "by_key": "9d0f3a5c1b7e4d2f8a6c5b4e3d2f1a0b"}
_LEAF = "b0b5d5a2c0d1cf9d3b2f3a0f1b8f0f5c4c7c9d1a2e3f4a5b6c7d8e9f0a1b2c3d"


def _make_receipt(kind: str) -> dict[str, Any]:
    return {
        "sequence": 41,
        "kind": kind,
        "leaf_sha256": _LEAF,
        "leaf": None,
        "checkpoint": None,
        "proof": None,
    }


UNBLINDING: dict[str, Any] = {
    "unblinding": _WHO | {"population": None, "received": 120, "expected": 200} | REQUEST,
    "job_id": "5b2c9f5d3a0e4c0f8d4e3a1b2c3d4e5f",
    "receipt": _make_receipt("unblinding"),
}
ERASURE: dict[str, Any] = {
    "erasure": _WHO | REASON,
    "can_check": ["that the plan is the one that was locked, and its place in the ledger"],
    "cannot_check": ["that the verdict follows from the rows"],
    "receipt": _make_receipt("erasure"),
}
