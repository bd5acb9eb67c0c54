"""Whether the claim follows where the rule holds, on many simulated data sets, as `verdicts.claim` sees to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from service.domain.plans.plan import Plan
from service.domain.power.enumerated.truth_sets import FALSE, TRUE, Sets
from service.domain.power.procedure.data import Side
from service.domain.power.procedure.evidence import Bools, Evidence
from service.domain.rules.claims.assertion import States, states
from service.domain.rules.claims.claim import TIE, WANTED, Target
from service.domain.rules.claims.clauses import Reader, meaning_of, weighs_clusters
from service.domain.rules.rule import Clause, Comparison, Excludes, FieldName, Quantity
from service.domain.rules.settings import Setting
from service.domain.verdicts.claim import lacking
from service.stats.shared.declaring.shows import PValue

FOLLOWS, MISSED, BARE = 0, 1, 2
"""Of a rule that holds: its claim follows, the observed difference misses it, or nothing shows it."""

TRUTHS = {TRUE: True, FALSE: False}


def shortfalls(
    plan: Plan, setting: Setting, sets: Mapping[Clause, Sets], evidence: Evidence, side: Side, held: Bools
) -> NDArray[np.uint8]:
    """Where the rule holds, what its claim lacks; data sets that are alike for that are looked at once."""
    found = np.zeros(len(held), dtype=np.uint8)
    rule, rows = setting.rule, np.flatnonzero(held)
    if rule is None or not len(rows):
        return found
    target, reader = Target.of(plan, setting.hypothesis), Reader.of(plan, setting)
    alike = any(
        use is not None and weighs_clusters(use, clause)
        for clause in setting.clauses
        for use in (setting.uses.get(clause.field.test or ""),)
    )
    observed = evidence.observed(side, clusters_alike=alike)[rows]
    named = tuple(sets)
    lies = {each: _lies(each, evidence, side, rows) for each in named if isinstance(each, Excludes)}
    leans = dict(_leans(setting, named, evidence, side, rows))
    cuts = np.array(sorted(_cuts(setting, target, reader)))
    columns: list[NDArray[np.int64]] = [
        *(sets[each][rows].astype(np.int64) for each in named),
        *lies.values(),
        *leans.values(),
        np.searchsorted(cuts, observed, "left").astype(np.int64),
        np.searchsorted(cuts, observed, "right").astype(np.int64),
    ]
    _, first, back = np.unique(np.column_stack(columns), axis=0, return_index=True, return_inverse=True)
    gaps = []
    for row in first.tolist():
        truths = {each: TRUTHS.get(int(sets[each][rows[row]])) for each in named}
        sides: dict[Clause, int | None] = {each: int(column[row]) or None for each, column in lies.items()}
        sides |= {each: int(column[row]) for each, column in leans.items()}
        gaps.append(lacking(target, rule, reader, truths, Fraction(float(observed[row])), sides))
    codes = np.array([FOLLOWS if gap is None else BARE if gap == "bound" else MISSED for gap in gaps])
    found[rows] = codes[back.reshape(-1)]
    return found


def _cuts(setting: Setting, target: Target, reader: Reader) -> set[float]:
    """Every observed difference at which what a rule shows can change."""
    found = {Fraction(0)}
    if target.size is not None:
        found.add(target.good * (target.size - TIE))

    def noted(clause: Clause) -> States:
        ways = reader(clause)
        for way in ways:
            if way.low is not None:
                found.add(way.low.at - TIE)
            if way.high is not None:
                found.add(way.high.at + TIE)
            margins = {each.margin or target.sesoi or Fraction(0) for each in way.shown}
            margins |= {target.margin or Fraction(0)}
            found.update(
                sign * k * margin for margin in margins for _, k in WANTED[target.claim] for sign in (1, -1)
            )
        return ways

    if setting.rule is not None:
        states(setting.rule, noted)
    return {float(each) for each in found}


def _lies(clause: Excludes, evidence: Evidence, side: Side, rows: NDArray[np.intp]) -> NDArray[np.int64]:
    """Whether an interval lies above (1) or below (-1) what it excludes; 0 where that is not known."""
    low = FieldName(test=clause.field.test, path=(*clause.field.path, "low"))
    above = evidence.truths(Comparison(field=low, operator=">", value=clause.value), side)
    if above is None:
        return np.zeros(len(rows), dtype=np.int64)
    return np.where(above[rows] == TRUE, 1, np.where(above[rows] == FALSE, -1, 0))


def _leans(
    setting: Setting, named: Iterable[Clause], evidence: Evidence, side: Side, rows: NDArray[np.intp]
) -> Iterator[tuple[Clause, NDArray[np.int64]]]:
    """For whom two-sided tests speak (1, -1, or 0: neither), where that is not what the observed difference tells."""
    zero = Quantity(text="0")
    for clause in named:
        use = setting.use_of(clause)
        meaning = None if use is None else meaning_of(use, clause.field.path)[0]
        if not isinstance(clause, Comparison) or not isinstance(meaning, PValue) or meaning.lean is None:
            continue
        field = FieldName(test=clause.field.test, path=meaning.lean)
        above, below = (
            evidence.truths(Comparison(field=field, operator=operator, value=zero), side)
            for operator in (">", "<")
        )
        if above is not None and below is not None:
            yield clause, (above[rows] == TRUE).astype(np.int64) - (below[rows] == TRUE)
