"""Stamps of outside witnesses: proof that bytes existed by a time, which does not rest on who runs the service.

What reads them, `checking` and `chain`, takes its time to load: whoever only names a stamp does without.
"""

from __future__ import annotations

from forelock.witness.stamp import KINDS, Kind, Stamp, StampResult, State, WitnessFault

__all__ = ["KINDS", "Kind", "Stamp", "StampResult", "State", "WitnessFault"]
