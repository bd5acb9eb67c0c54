"""Stamps of outside witnesses: proof that bytes existed by a time, which does not rest on who runs the service."""

from __future__ import annotations

from forelock.witness.chain import read_certificates
from forelock.witness.checking import verify
from forelock.witness.found import KINDS, Found, Kind, Stamp, State, WitnessFault

__all__ = [
    "KINDS",
    "Found",
    "Kind",
    "Stamp",
    "State",
    "WitnessFault",
    "read_certificates",
    "verify",
]
