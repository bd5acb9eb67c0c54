"""What the locked rule of a hypothesis decides on D data sets: by the family's p-values, its claim and its fallback.

A rule that is unknown is inconclusive. One that is true bears out its claim, as long as the claim follows from what
holds (`decision.gaps`). One that is false is equivalent where the equivalence test beside it finds so, else not
supported. A claim that must stand several fillings of what is missing is read from that which is hardest for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.domain.decision.evidence import Evidence
from service.domain.decision.family import Family
from service.domain.decision.gaps import GAPS, claim_gaps
from service.domain.rules.rule import Clause, Rule
from service.domain.rules.truth import FALSE, TRUE, UNKNOWN, Column, Sets, combine_sets

HELD, EQUIVALENT, NOT_SUPPORTED, INCONCLUSIVE = range(4)
"""The rule holds and its claim follows; it is false and the fallback shows equivalence; neither; not known."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One hypothesis on D data sets."""

    way: NDArray[np.intp]
    """The way that is hardest for the claim, (D,)."""
    truth: Sets
    """The truth of the rule that way, (D,)."""
    gap: NDArray[np.uint8]
    """What the claim of a rule that holds lacks, by `GAPS`."""
    outcome: NDArray[np.uint8]
    """`HELD`, `EQUIVALENT`, `NOT_SUPPORTED` or `INCONCLUSIVE`, (D,)."""


def decide(
    rule: Rule, evidence: Evidence, truths: Sequence[Mapping[Clause, Sets]], family: Family
) -> Decision:
    """Decide the hypothesis by its rule on every data set.

    Args:
        truths: by way, those of the rule's clauses, (D,) each, read on p-values as the family adjusts them.
    """
    wholes = [combine_sets(rule, of_way) for of_way in truths]
    way = _hardest(evidence, wholes)
    truth = np.choose(way, wholes)
    gap = np.zeros(len(truth), dtype=np.uint8)
    for at, of_way in enumerate(truths):
        # Every data set has one hardest way, so that at most one of these codes is not 0: `|=` puts them together.
        gap |= claim_gaps(rule, evidence, at, of_way, (truth == TRUE) & (way == at))
    bare = gap == GAPS.index("bound")  # nothing shows the claim, which is not the same as against it
    claimed = np.where(gap == 0, HELD, np.where(bare, INCONCLUSIVE, NOT_SUPPORTED))
    fallback, denied = evidence.fallback, np.array([NOT_SUPPORTED])
    if fallback is not None:
        denied = np.where(family.shows_equivalence(evidence.setting, fallback), EQUIVALENT, NOT_SUPPORTED)
    outcome = np.select([truth == TRUE, truth == FALSE], [claimed, denied], INCONCLUSIVE)
    return Decision(way, truth, gap, outcome.astype(np.uint8))


HARDNESS = np.zeros(UNKNOWN + 1, dtype=np.int64)
"""By truth: a claim of equivalence must stand every way, so false counts before unknown, and unknown before true."""
HARDNESS[[TRUE, UNKNOWN, FALSE]] = 0, 1, 2


def _hardest(evidence: Evidence, wholes: Sequence[Sets]) -> NDArray[np.intp]:
    """The way by which the truth is hardest for the claim, and of those alike the one with the larger difference.

    `wholes` has the truth of the rule by way.
    """
    way = np.zeros(len(wholes[0]), dtype=np.intp)
    if len(wholes) == 1:
        return way
    hardness = HARDNESS[wholes[0]]
    distance = _distance(evidence, 0)
    for at, whole in enumerate(wholes[1:], start=1):
        other, far = HARDNESS[whole], _distance(evidence, at)
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
