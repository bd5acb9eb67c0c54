"""What one hypothesis shows on many simulated data sets, looked at once: truths of clauses, p-values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from service.domain.power.enumerated.truth_sets import TRUE, Sets
from service.domain.power.procedure.data import Block, Side
from service.domain.power.procedure.fields import SimulatedSets
from service.domain.rules.feeding import parameter
from service.domain.rules.rule import Clause, FieldName, Is
from service.domain.rules.settings import Setting, Use
from service.kernels.planning.simulated_pairs import SharedResamples
from service.stats.shared.declaring.common import Margin
from service.stats.shared.declaring.simulated import Units

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

EQUIVALENT = ("equivalent",)


@dataclass(frozen=True, slots=True)
class Fallback:
    """What the equivalence test of a hypothesis says: its own decision, and its p-value with alpha."""

    holds: Bools
    p: Floats
    alpha: Fraction


class Evidence(Protocol):
    """One hypothesis on T data sets."""

    @property
    def sides(self) -> tuple[Side, ...]:
        """The fillings that the rule is read from: against the claim, and both for a claim of equivalence."""

    def truths(self, clause: Clause, side: Side) -> Sets | None:
        """A clause's truth in every data set; None when its field is not simulated."""

    def p_value(self, clause: Clause, steps: Sequence[Fraction], side: Side) -> Floats | None:
        """The p-value that a clause asks for, told apart at the steps; NaN where undefined."""

    def observed(self, side: Side, *, clusters_alike: bool) -> Floats:
        """The difference of all items at the end of the collection, or of cluster means."""

    def fallback(self, steps: Sequence[Fraction]) -> Fallback | None:
        """What `equivalence` says; None without such a test, or where it is not simulated."""


@dataclass(frozen=True)
class FixedEvidence:
    """Tests of one look at all the data."""

    setting: Setting
    sesoi: Margin | None
    block: Block
    sides: tuple[Side, ...]
    clustered: bool
    seed: int
    shared: dict[str, SharedResamples] = field(default_factory=dict, repr=False)
    _sets: dict[int, SimulatedSets] = field(default_factory=dict, repr=False)

    def truths(self, clause: Clause, side: Side) -> Sets | None:
        """As the verdict reads a clause that nothing adjusts."""
        return self._of(side).truths(clause)

    def p_value(self, clause: Clause, steps: Sequence[Fraction], side: Side) -> Floats | None:
        """Of one filling."""
        use = self.setting.uses.get(clause.field.test or "")
        return None if use is None else self._of(side).p_value(use, clause.field.path, steps)

    def observed(self, side: Side, *, clusters_alike: bool) -> Floats:
        """As drawn."""
        estimand = "cluster_weighted" if clusters_alike else "item_weighted"
        sums, sizes = self._of(side).units.weighted(estimand)
        return np.asarray(sums.sum(axis=1) / sizes.sum())

    def fallback(self, steps: Sequence[Fraction]) -> Fallback | None:
        """Equivalence is shown only where it is shown filled against either arm."""
        name = self.setting.hypothesis.equivalence
        use = self.setting.uses.get(name or "")
        if name is None or use is None:
            return None
        found = [_shown(self._of(side), use, name, steps) for side in self.block.both]
        known = [each for each in found if each is not None]
        if len(known) < len(found):
            return None
        holds, p = zip(*known, strict=True)
        return Fallback(np.logical_and.reduce(holds), np.maximum.reduce(p), alpha_of(use))

    def _of(self, side: Side) -> SimulatedSets:
        if id(side) not in self._sets:
            units = Units(self.block.sizes, side.sums, side.won, self.clustered, self.seed, self.shared)
            self._sets[id(side)] = SimulatedSets(self.setting, self.sesoi, units)
        return self._sets[id(side)]


def alpha_of(use: Use) -> Fraction:
    """The level of an equivalence test."""
    return Fraction(repr(float(parameter(use.use, "alpha"))))  # type: ignore[arg-type]


def _shown(
    sets: SimulatedSets, use: Use, name: str, steps: Sequence[Fraction]
) -> tuple[Bools, Floats] | None:
    truths = sets.truths(Is(field=FieldName(test=name, path=EQUIVALENT), value=True))
    p = sets.p_value(use, ("p_value",), steps)
    if truths is None:
        return None
    holds = truths == TRUE
    return holds, np.where(holds, 0.0, 1.0) if p is None else p
