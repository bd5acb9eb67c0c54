"""What the locked rule of a hypothesis decides on D data sets: by the family's p-values, its claim and its fallback.

A rule that is unknown is inconclusive. One that is true bears out its claim, as long as the claim follows from what
holds (`decision.claim`). One that is false is equivalent where the equivalence test beside it finds so, else not
supported. A claim that must stand several fillings of what is missing is read from that which is hardest for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.domain.decision.evidence import Bools, Evidence, Floats
from service.domain.decision.family import Family
from service.domain.decision.gaps import GAPS, claim_gaps
from service.domain.rules.rule import Clause
from service.domain.rules.truth import FALSE, TRUE, UNKNOWN, Column, Sets, combine_sets

HELD, EQUIVALENT, NOT_SUPPORTED, INCONCLUSIVE = range(4)
"""The rule holds and its claim follows; it is false and the fallback shows equivalence; neither; not known."""


@dataclass(frozen=True, slots=True)
class RuleRead:
    """A rule on one filling of what is missing."""

    truths: Mapping[Clause, Sets]
    adjusted: Mapping[Clause, Floats]
    """The p-values of the clauses that the family's policy adjusts, (C, D)."""
    whole: Sets
    """The truth of the whole rule, (D,)."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One hypothesis on D data sets."""

    reads: tuple[RuleRead, ...]
    """The rule read from each filling of what is missing."""
    way: NDArray[np.intp]
    """The way that is hardest for the claim, (D,)."""
    truth: Sets
    """The truth of the rule that way, (D,)."""
    gap: NDArray[np.uint8]
    """What the claim of a rule that holds lacks, by `GAPS`."""
    equivalent: Bools
    """What the equivalence test beside the rule shows, where it may decide."""

    @property
    def outcome(self) -> NDArray[np.uint8]:
        """`HELD`, `EQUIVALENT`, `NOT_SUPPORTED` or `INCONCLUSIVE`, (D,)."""
        bare = self.gap == GAPS.index("bound")  # nothing shows the claim, which is not the same as against it
        claimed = np.where(self.gap == 0, HELD, np.where(bare, INCONCLUSIVE, NOT_SUPPORTED))
        denied = np.where(self.equivalent, EQUIVALENT, NOT_SUPPORTED)
        return np.select([self.truth == TRUE, self.truth == FALSE], [claimed, denied], INCONCLUSIVE).astype(
            np.uint8
        )


def decide(evidence: Evidence, family: Family) -> Decision | None:
    """The decision on every data set; None where the rule has a field that is not known here."""
    reads = [_read(evidence, family, way) for way in range(evidence.ways)]
    known = tuple(read for read in reads if read is not None)
    if len(known) < len(reads):
        return None
    way = _hardest(evidence, known)
    truth = np.choose(way, [read.whole for read in known])
    gap = np.zeros(len(truth), dtype=np.uint8)
    for at, read in enumerate(known):
        # Every data set has one hardest way, so that at most one of these codes is not 0: `|=` puts them together.
        gap |= claim_gaps(evidence, at, read.truths, (truth == TRUE) & (way == at))
    return Decision(known, way, truth, gap, family.shows_equivalence(evidence))


def _read(evidence: Evidence, family: Family, way: int) -> RuleRead | None:
    setting = evidence.setting
    if setting.rule is None:
        return None
    sets: dict[Clause, Sets] = {}
    adjusted: dict[Clause, Floats] = {}
    for clause in dict.fromkeys(setting.clauses):
        if family.corrects(setting.hypothesis.id, clause):
            p = evidence.p_value(clause, way)
            if p is None:
                return None
            adjusted[clause] = family.adjust(setting.hypothesis.id, p)
        truths = evidence.truths(clause, way, adjusted.get(clause))
        if truths is None:
            return None
        sets[clause] = truths
    return RuleRead(sets, adjusted, combine_sets(setting.rule, sets))


HARDNESS = np.zeros(UNKNOWN + 1, dtype=np.int64)
"""By truth: a claim of equivalence must stand every way, so false counts before unknown, and unknown before true."""
HARDNESS[[TRUE, UNKNOWN, FALSE]] = 0, 1, 2


def _hardest(evidence: Evidence, reads: tuple[RuleRead, ...]) -> NDArray[np.intp]:
    """The way by which the truth is hardest for the claim, and of those alike the one with the larger difference."""
    way = np.zeros(len(reads[0].whole), dtype=np.intp)
    if len(reads) == 1:
        return way
    hardness = HARDNESS[reads[0].whole]
    distance = _distance(evidence, 0)
    for at, read in enumerate(reads[1:], start=1):
        other, far = HARDNESS[read.whole], _distance(evidence, at)
        harder = (other > hardness) | ((other == hardness) & (far > distance).astype(np.bool_))
        way[harder] = at
        hardness, distance = np.where(harder, other, hardness), np.where(harder, far, distance)
    return way


def _distance(evidence: Evidence, way: int) -> NDArray[Any]:
    observed: Column = evidence.observed(way, clusters_alike=False)
    if observed.dtype == object:
        # Where there is no difference, since nothing is left of a task, no way has one.
        observed = np.array([0 if value is None else value for value in observed], dtype=object)
    return np.abs(observed)
