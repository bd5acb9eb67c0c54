"""Examples of looks before the end, for OpenAPI."""

from __future__ import annotations

from typing import Any

from service.api.examples.common import JOB

LOOKS: dict[str, Any] = {
    "state": "collecting",
    "planned": {"longmemeval": [125, 250, 375, 500]},
    "units": {"longmemeval": 260},
    "taken": [{"look": 1, "decision": "continue", "units": {"longmemeval": 125}}],
    "due": 2,
}
LOOK_JOB = JOB | {"kind": "look"}
MONITOR_JOB = JOB | {"kind": "monitor"}
READING: dict[str, Any] = {
    "preregistration_id": JOB["id"],
    "read_at": JOB["created_at"],
    "reading": {
        "units": {"longmemeval": 260},
        "stop": False,
        "hypotheses": [
            {
                "hypothesis": "H1a",
                "decided": False,
                "tests": {
                    "e": {
                        "decision": "continue",
                        "e_value": 3.1,
                        "p_value": 0.21,
                        "ci": None,
                        "equivalent": None,
                        "stopped_at": None,
                        "reason": None,
                    }
                },
            }
        ],
    },
}
ORDER: dict[str, Any] = {"items": [{"place": 0, "item_id": "q-17", "cluster": None}], "next_cursor": "1000"}
