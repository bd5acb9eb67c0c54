"""Example bodies of deviations for OpenAPI: they are real, and the tests run them."""

from __future__ import annotations

from typing import Any

_AT = "2027-01-04T09:00:00Z"
_SHA = "b1946ac92492d2347c6235b4d2611184b1946ac92492d2347c6235b4d2611184"

FILING: dict[str, Any] = {
    "title": "H1a sample size 500 to 400",
    "original": "n = 500 paired items.",
    "actual": "n = 400; multi-session and temporal-reasoning items were truncated from 133 to 83 each.",
    "reason": "The API budget. The truncated categories are those where a cache would help most.",
    "impact": "Fewer items, and fewer of those that favour C3: the claim is harder to reach.",
    "direction": "conservative",
    "outcomes_seen": False,
    "change": {"kind": "n", "population": "longmemeval", "n": 400, "dropped_favour": "candidate"},
}
DEVIATION: dict[str, Any] = {
    "deviation": 1,
    **FILING,
    "direction": {
        "stated": "conservative",
        "agrees": True,
        "hypotheses": [
            {
                "hypothesis": "H1a",
                "claim": "superiority",
                "direction": "conservative",
                "null_direction": "aggressive",
                "measured": False,
            }
        ],
    },
    "author": "ada",
    "author_key": "9d0f3a5c1b7e4d2f8a6c5b4e3d2f1a0b",
    "filed_at": _AT,
    "facts": {
        "state": "collecting",
        "results_received": 3,
        "results_expected": 1000,
        "judged": False,
        "unblinded": False,
        "outcomes_seen": False,
    },
    "classification": "accept",
    "rule": {
        "ruleset": 1,
        "id": "conservative-and-blind",
        "says": "No outcome could be read, and the change makes no claim easier to reach.",
    },
    "standing": "accept",
    "decisions": [],
    "plan_sha256": _SHA,
    "deviation_sha256": _SHA,
}
del DEVIATION["outcomes_seen"]
_RECEIPT: dict[str, Any] = {
    "sequence": 44,
    "kind": "deviation",
    "leaf_sha256": _SHA,
    "checkpoint": None,
    "proof": None,
}
FILED: dict[str, Any] = DEVIATION | {"receipt": _RECEIPT}
DECISION: dict[str, Any] = {"classification": "reject", "note": "The categories were chosen too late."}
DECIDED: dict[str, Any] = FILED | {
    "standing": "reject",
    "decisions": [
        {
            "number": 1,
            "classification": "reject",
            "note": "The categories were chosen too late.",
            "reviewer": "grace",
            "reviewer_key": "2c8e5b7a9d1f4e3b8a7c6d5e4f3a2b1c",
            "gentler": False,
            "decided_at": _AT,
        }
    ],
}
DEVIATIONS: dict[str, Any] = {"items": [DEVIATION], "next_cursor": None, "consequences": None}
