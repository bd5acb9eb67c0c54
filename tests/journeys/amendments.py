"""Changes of a plan."""

from __future__ import annotations

SMALLER = {"kind": "n", "population": "p", "n": 4, "dropped_favour": "neither"}
