"""A record that is calibrated, and about what."""

from __future__ import annotations

ABOUT = {"preregistration_id": "p1", "plan_sha256": "0" * 64, "data": "record", "left_out": []}
