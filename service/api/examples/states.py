"""Example bodies of what happens to a locked record, for OpenAPI: they are real, and the tests run them."""

from __future__ import annotations

from typing import Any

from service.api.examples.common import FAMILY_PLACE, LOCKED, PLAN, RECEIPT

_ID: str = LOCKED["id"]
_SHA: str = LOCKED["plan_sha256"]
_PRIOR = "7d865e959b2466918c9863afca942d0fb89d7c9ac0c99bafc3749504ded97730"
_AT: str = LOCKED["locked_at"]

WITHDRAWAL: dict[str, Any] = {"reason": "The dataset was retired before the runs began."}
WITHDRAWN: dict[str, Any] = LOCKED | {
    "state": "withdrawn",
    "withdrawn": {
        "at": _AT,
        "state": "locked",
        "reason": WITHDRAWAL["reason"],
        "receipt": RECEIPT | {"sequence": 44, "kind": "withdrawal"},
    },
}
CLOSE: dict[str, Any] = {"reason": "The budget for the judge is spent.", "deviation": 1}
CLOSED: dict[str, Any] = LOCKED | {
    "state": "complete",
    "complete_at": _AT,
    "closed": {
        "at": _AT,
        "reason": CLOSE["reason"],
        "deviation": 1,
        "received": 840,
        "expected": 1000,
        "receipt": RECEIPT | {"sequence": 45, "kind": "close"},
    },
}
AMENDMENT: dict[str, Any] = {
    "reason": "The deadline moved before any result came in.",
    "changes": {"title": "Failure-triggered synthesis, second draft"},
    "acknowledge": "all",
}
AMENDED: dict[str, Any] = LOCKED | {
    "version": 2,
    "plan": PLAN | {"title": AMENDMENT["changes"]["title"]},
    "receipt": RECEIPT | {"sequence": 46, "kind": "plan_amended"},
}
VERSIONS: dict[str, Any] = {
    "items": [
        {
            "version": 1,
            "plan_sha256": _PRIOR,
            "prior_sha256": None,
            "reason": None,
            "locked_at": _AT,
            "receipt": RECEIPT,
        },
        {
            "version": 2,
            "plan_sha256": _SHA,
            "prior_sha256": _PRIOR,
            "reason": AMENDMENT["reason"],
            "locked_at": _AT,
            "receipt": RECEIPT | {"sequence": 46, "kind": "plan_amended"},
        },
    ]
}
NAMING: dict[str, Any] = {
    "card": {"model": {"name": "openai/gpt-5.5", "revision": "2027-02-11"}},
    "evidence": {
        "text": "Released on 2027-02-11; the list of releases has no other one of the family since the lock.",
        "url": "https://example.org/releases/gpt-5.5",
    },
}
NAMED: dict[str, Any] = LOCKED | {
    "named_arms": [
        {
            "arm": "C3",
            "criterion": "the first model of the family GPT-5 that is released after the lock",
            "card": NAMING["card"],
            "evidence": NAMING["evidence"],
            "at": _AT,
            "receipt": RECEIPT | {"sequence": 48, "kind": "arm_named"},
        }
    ]
}
BINDING: dict[str, Any] = {
    "arm": "C1",
    "models": {"generator": "m-2027-01-04"},
    "environment": {"harness": "inspect-0.4.2", "commit": "5d1ce31"},
}
RUN: dict[str, Any] = {
    "run": "c1-seed-0",
    "number": 1,
    "arm": "C1",
    "models": BINDING["models"],
    "environment": BINDING["environment"],
    "judges": {},
    "started_at": None,
    "plan_sha256": _SHA,
    "bound_by": "eval job",
    "bound_at": _AT,
    "run_sha256": _PRIOR,
    "receipt": RECEIPT | {"sequence": 47, "kind": "run"},
}
LABELS: dict[str, Any] = {
    "items": [
        {
            "population": "longmemeval",
            "arm": "C3",
            "endpoint": "accuracy.audit",
            "item_id": "q3",
            "received": False,
        }
    ],
    "next_cursor": None,
}
RUNS: dict[str, Any] = {"items": [RUN], "next_cursor": None, "marks": []}
FAMILY: dict[str, Any] = {
    "id": FAMILY_PLACE["id"],
    "items_sha256": [_SHA],
    "of": 9,
    "states": {"judged": 4, "withdrawn": 3, "collecting": 2},
    "tried": 12,
    "overlapping": 1,
    "items": [
        {
            "registration": 7,
            "preregistration_id": _ID,
            "title": PLAN["title"],
            "state": "judged",
            "version": 1,
            "plan_sha256": _SHA,
            "locked_at": _AT,
            "judged_at": _AT,
            "outcomes": {"H1a": "not_supported"},
            "altered": False,
            "tried": 12,
        }
    ],
    "next_cursor": None,
}
