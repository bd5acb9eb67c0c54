"""Example bodies of calibrations for OpenAPI."""

from __future__ import annotations

from typing import Any

from service.api.examples.common import JOB

PILOT: dict[str, Any] = {
    "runs": 1000,
    "seed": 1,
    "pilot": [
        {
            "population": "longmemeval",
            "baseline": [0, 1, 0, 0, 1, 0, 1, 0, 0, 1],
            "candidate": [1, 1, 0, 1, 1, 0, 0, 1, 0, 1],
        }
    ],
}
QUEUED: dict[str, Any] = JOB | {"kind": "calibration"}
