"""What one hypothesis shows on many simulated data sets, looked at once: truths of clauses, p-values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from service.domain.decision.evidence import NOT_KNOWN, Bools, Fallback, Floats, Sides
from service.domain.power.procedure.data import Block, Side
from service.domain.power.procedure.fields import SimulatedSets
from service.domain.power.procedure.steps import alpha_of
from service.domain.rules.claims.clauses import meaning_of
from service.domain.rules.rule import Clause, Comparison, Excludes, FieldName, Is, Operator, Quantity
from service.domain.rules.settings import Setting, Use
from service.domain.rules.truth import FALSE, TRUE, Sets, clause_truths
from service.kernels.planning.simulated_pairs import SharedResamples
from service.stats.shared.declaring.shows import PValue
from service.stats.shared.declaring.simulated import Units

EQUIVALENT = ("equivalent",)
ZERO = Quantity(text="0")


@dataclass(frozen=True)
class FixedEvidence:
    """Tests of one look at all the data."""

    setting: Setting
    block: Block
    sides: tuple[Side, ...]
    """The fillings that the rule is read from: against the claim, and both for a claim of equivalence."""
    clustered: bool
    steps: Sequence[Fraction]
    """P-values are told apart at these alone."""
    seed: int
    shared: dict[str, SharedResamples] = field(default_factory=dict, repr=False)
    _sets: dict[int, SimulatedSets] = field(default_factory=dict, repr=False)
    _p: dict[tuple[Clause, int], Floats | None] = field(default_factory=dict, repr=False)

    @property
    def ways(self) -> int:
        """Fillings that the rule is read from."""
        return len(self.sides)

    def truths(self, clause: Clause, way: int, adjusted: Floats | None = None) -> Sets | None:
        """Return the truth of a clause on all data sets, as the verdict reads it."""
        return (
            self._sets_of(self.sides[way]).truths(clause)
            if adjusted is None
            else clause_truths(clause, adjusted[0])
        )

    def p_value(self, clause: Clause, way: int) -> Floats | None:
        """Return the p-value of a clause, (1, D), since simulated ones have no range; None: not simulated."""
        key = clause, way
        if key not in self._p:
            use = self.setting.use_of(clause)
            # these data are of its own endpoint alone
            known = None if use is None or use.beside else self._p_of(self.sides[way], use, clause.field.path)
            self._p[key] = None if known is None else known[None]
        return self._p[key]

    def observed(self, way: int, *, clusters_alike: bool) -> Floats:
        """Return the difference of the data as they were drawn, (D,), without filling what is missing."""
        estimand = "cluster_weighted" if clusters_alike else "item_weighted"
        sums, sizes = self._sets_of(self.sides[way]).units.weigh(estimand)
        return np.asarray(sums.sum(axis=1) / sizes.sum())

    def side(self, clause: Clause, way: int) -> Sides | None:
        """Return the sides that a clause shows, as far as the fields that tell them are simulated."""
        return side_of(clause, self.setting, lambda about: self.truths(about, way))

    @cached_property
    def fallback(self) -> Fallback | None:
        """Equivalence is shown only where it is shown filled against either arm."""
        use = self.setting.uses.get(self.setting.hypothesis.equivalence or "")
        if use is None:
            return None
        fillings = [self._shows(side, use) for side in self.block.both]
        known = [filling for filling in fillings if filling is not None]
        if len(known) < len(fillings):
            return None
        holds, p = zip(*known, strict=True)
        return Fallback(np.logical_and.reduce(holds), np.maximum.reduce(p)[None], float(alpha_of(use)))

    def _shows(self, side: Side, use: Use) -> tuple[Bools, Floats] | None:
        truths = self._sets_of(side).truths(Is(field=FieldName(test=use.use.id, path=EQUIVALENT), value=True))
        p = self._p_of(side, use, ("p_value",))
        if truths is None:
            return None
        holds = truths == TRUE
        # Without a simulated p the finding itself stands for it: 0 where it holds passes every correction.
        return holds, np.where(holds, 0.0, 1.0) if p is None else p

    def _p_of(self, side: Side, use: Use, path: tuple[str, ...]) -> Floats | None:
        return self._sets_of(side).p_value(use, path, self.steps)

    def _sets_of(self, side: Side) -> SimulatedSets:
        """Return the simulated sets of one side of the block, made once."""
        if id(side) not in self._sets:
            units = Units(
                self.block.sizes,
                side.sums,
                side.won,
                self.clustered,
                self.seed,
                self.shared,
                items=side.items,
                labelled=side.labelled,
            )
            self._sets[id(side)] = SimulatedSets(self.setting, self.setting.sesoi, units)
        return self._sets[id(side)]


def side_of(clause: Clause, setting: Setting, truths: Callable[[Clause], Sets | None]) -> Sides | None:
    """Return an interval's side that excludes a value, and for whom a two-sided test speaks, by `truths` about it."""
    use = setting.use_of(clause)
    meaning = None if use is None else meaning_of(use, clause.field.path)[0]
    if isinstance(clause, Excludes):
        above = truths(_compare(clause, (*clause.field.path, "low"), ">", clause.value))
        if above is None:
            return np.full(1, NOT_KNOWN)
        return np.where(above == TRUE, 1, np.where(above == FALSE, -1, NOT_KNOWN))
    if not isinstance(clause, Comparison) or not isinstance(meaning, PValue) or meaning.lean is None:
        return None
    above, below = (truths(_compare(clause, meaning.lean, operator, ZERO)) for operator in (">", "<"))
    if above is None or below is None:
        return None
    return np.asarray((above == TRUE).astype(np.int64) - (below == TRUE))


def _compare(clause: Clause, path: tuple[str, ...], operator: Operator, value: Quantity) -> Comparison:
    return Comparison(field=FieldName(test=clause.field.test, path=path), operator=operator, value=value)
