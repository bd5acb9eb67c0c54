"""Whether a rule that holds bears out its claim with the difference that was observed, on many data sets.

Lint sees to that before the lock; plans locked by earlier versions are seen to here.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from service.domain.decision.evidence import NOT_KNOWN, Bools, Evidence, Sides
from service.domain.rules.claims.assertion import Facts, States, observe_states, states
from service.domain.rules.claims.claim import TIE, WANTED, Gap, Target
from service.domain.rules.claims.clauses import Reader, weighs_clusters
from service.domain.rules.rule import Clause, Excludes, Rule
from service.domain.rules.settings import Setting
from service.domain.rules.truth import TRUTH_OF, Column, Sets, Truth

GAPS: tuple[Gap | None, ...] = (None, "opposite", "bound", "direction", "size")
"""By code: what a rule that holds lacks for its claim; None where the claim follows."""


def weighs_alike(setting: Setting) -> bool:
    """Tell whether the rule speaks of the mean of the clusters' means, so that the claim is about that difference."""
    uses = ((setting.use_of(clause), clause) for clause in setting.clauses)
    return any(use is not None and weighs_clusters(use, clause) for use, clause in uses)


def claim_gaps(
    rule: Rule, evidence: Evidence, way: int, truths: Mapping[Clause, Sets], held: Bools
) -> NDArray[np.uint8]:
    """What the claim of a rule lacks in the data sets in which it `held`, (D,) codes of `GAPS`; 0 in all others."""
    setting, gaps, rows = evidence.setting, np.zeros(len(held), dtype=np.uint8), np.flatnonzero(held)
    if setting.endpoint is None or not len(rows):
        return gaps
    observed = evidence.observed(way, clusters_alike=weighs_alike(setting))
    if observed.dtype == object:
        # Where no item is left to compare, nothing speaks against what other endpoints show.
        rows = rows[[observed[row] is not None for row in rows.tolist()]]
    if not len(rows):
        return gaps
    observed, target, reader = observed[rows], Target.of(setting), Reader.of(setting)
    sides = {
        clause: np.broadcast_to(known, held.shape)[rows] for clause, known in sides_of(evidence, way).items()
    }
    observed_truths = {clause: sets[rows] for clause, sets in truths.items()}
    first, back = _kinds(observed_truths, sides, observed, target, reader, rule)
    missed = []
    for row in first:
        difference = Fraction(observed[row])
        of_row = {clause: TRUTH_OF.get(int(sets[row])) for clause, sets in observed_truths.items()}
        facts = known_facts(rule, reader, of_row, difference, sides, row)
        missed.append(target.find_gap(difference, facts))
    gaps[rows] = np.array([GAPS.index(gap) for gap in missed], dtype=np.uint8)[back]
    return gaps


def sides_of(evidence: Evidence, way: int) -> dict[Clause, Sides]:
    """Return the sides that clauses show, of those whose side the observed difference does not tell."""
    sides = {clause: evidence.side(clause, way) for clause in dict.fromkeys(evidence.setting.clauses)}
    return {clause: known for clause, known in sides.items() if known is not None}


def _kinds(
    truths: Mapping[Clause, Sets],
    sides: Mapping[Clause, Sides],
    observed: Column,
    target: Target,
    reader: Reader,
    rule: Rule,
) -> tuple[list[int], NDArray[np.intp]]:
    """Data sets that are alike for a claim: the first of every kind, and the kind of each. Exact facts cost time."""
    if len(observed) == 1:
        return [0], np.zeros(1, dtype=np.intp)
    cuts = np.array(sorted(_cuts(target, reader, rule)))
    columns = [
        *truths.values(),
        *sides.values(),
        # Left and right together tell on which side of every cut a difference lies, and whether it lies on one.
        np.searchsorted(cuts, observed, "left"),
        np.searchsorted(cuts, observed, "right"),
    ]
    table = np.column_stack([column.astype(np.int64) for column in columns])
    _, first, back = np.unique(table, axis=0, return_index=True, return_inverse=True)
    return first.tolist(), back.reshape(-1)


def _cuts(target: Target, reader: Reader, rule: Rule) -> set[float]:
    """Return every observed difference at which what a rule shows can change."""
    cuts = {Fraction(0)}
    if target.size is not None:
        cuts.add(target.good * (target.size - TIE))

    def note(clause: Clause) -> States:
        ways = reader(clause)
        for way in ways:
            if way.low is not None:
                cuts.add(way.low.at - TIE)
            if way.high is not None:
                cuts.add(way.high.at + TIE)
            margins = {fact.margin or target.sesoi or Fraction(0) for fact in way.shown}
            margins |= {target.margin or Fraction(0)}
            cuts.update(
                sign * k * margin for margin in margins for _, k in WANTED[target.claim] for sign in (1, -1)
            )
        return ways

    states(rule, note)
    return {float(cut) for cut in cuts}


def known_facts(
    rule: Rule,
    reader: Reader,
    truths: Mapping[Clause, Truth],
    observed: Fraction,
    sides: Mapping[Clause, Sides],
    row: int = 0,
) -> Facts:
    """Return what all clauses that hold show together in one data set; ways that its values rule out are dropped.

    Args:
        truths: of the clauses, in this data set.
        observed: the difference in it.
        sides: on which side of a value an interval lies that excludes it, and for whom a two-sided test speaks; 0 of a
            test that speaks for both, and so for neither.
        row: the data set among those that `sides` has.
    """
    known_sides = {clause: int(side[row]) for clause, side in sides.items() if side[row] != NOT_KNOWN}
    # by field: under a `not` it is the turned clause that is looked at
    leans = {clause.field: side for clause, side in known_sides.items() if not isinstance(clause, Excludes)}

    def read_seen(clause: Clause) -> States:
        ways = reader(clause)
        side = known_sides.get(clause) if isinstance(clause, Excludes) else leans.get(clause.field)
        if len(ways) > 1 and side is not None:
            on_its_side = [
                way for way in ways if side == 0 or all(fact.side == side for fact in way.shown | way.may)
            ]
            if not isinstance(clause, Excludes):
                # its own side counts, not that of the observed difference, and of neither side both do
                return (
                    Facts(
                        shown=frozenset(fact for way in on_its_side for fact in way.shown),
                        may=frozenset(fact for way in on_its_side for fact in way.may),
                    ),
                )
            ways = tuple(on_its_side)
        near = [way for way in ways if not _far(way, observed)]
        return tuple(near) or ways

    ways = observe_states(rule, read_seen, truths)
    return reduce(Facts.join, ways) if ways else Facts()


def _far(facts: Facts, observed: Fraction) -> bool:
    """Tell whether the observed difference lies clearly outside the limits of a state."""
    below = facts.low is not None and observed < facts.low.at - TIE
    above = facts.high is not None and observed > facts.high.at + TIE
    return below or above
