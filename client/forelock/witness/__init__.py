"""Stamps of outside witnesses: proof that bytes existed by a time, which does not rest on who runs the service."""

from __future__ import annotations

from forelock.witness.chain import read_certificates
from forelock.witness.checking import verify
from forelock.witness.found import KINDS, Found, Kind, Stamp, State, WitnessFault
from forelock.witness.saved import Checked, check_saved

__all__ = [
    "KINDS",
    "Checked",
    "Found",
    "Kind",
    "Stamp",
    "State",
    "WitnessFault",
    "check_saved",
    "read_certificates",
    "verify",
]
