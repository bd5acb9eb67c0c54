"""Stamps of outside witnesses in a bundle: that the lock existed by a time, on somebody else's word."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forelock.bundles.container import Reader
from forelock.bundles.faults import Broken
from forelock.bundles.findings import Report, State
from forelock.witness import Kind, Stamp, WitnessFault
from forelock.witness.checking import verify
from forelock.witness.stamp import MAX_STAMP_BYTES

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

STAMP = re.compile(r"checkpoints/([0-9]{1,19})\.(tsr|ots)")
KINDS: Mapping[str, Kind] = {"tsr": "rfc3161", "ots": "opentimestamps"}


@dataclass(frozen=True, slots=True)
class Witnesses:
    """Whose word a reader takes: roots of time stamp authorities, and Bitcoin block headers that he got himself."""

    roots: Sequence[Certificate] = ()
    headers: Sequence[bytes] = ()


def check_stamps(
    reader: Reader, notes: Mapping[int, bytes], lock: int, witnesses: Witnesses, report: Report
) -> None:
    """Check every stamp of a checkpoint; a whole one that nobody trusted vouches for is told as not checked.

    Raises:
        Broken: a stamp without its checkpoint.
    """
    for name in reader.members:
        match = STAMP.fullmatch(name)
        if match is None:
            continue
        size = int(match[1])
        if size not in notes:
            raise Broken(f"{name} is of a checkpoint that the bundle does not hold")
        holds = "the lock and " if lock < size else ""
        try:
            attested = verify(
                Stamp(KINDS[match[2]], reader.read(name, MAX_STAMP_BYTES)),
                notes[size],
                witnesses.roots,
                witnesses.headers,
            )
        except WitnessFault as fault:
            report.add("time stamp", "fail", f"{name}: {fault}")
            continue
        state: State = "pass" if attested.state == "verified" else "not_checked"
        sentences = " ".join(attested.sentences)
        report.add("time stamp", state, f"{name}, of {holds}everything before entry {size}: {sentences}")
