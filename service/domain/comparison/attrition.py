"""Items without a result in one arm or both: what they could change, and which claims do not stand without them.

Results are rarely missing by chance: a run that broke off, an answer that could not be read. What is told of the items
that are left is therefore put beside the worst case, in which every missing outcome speaks against it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.domain.comparison.claims import Claims, claims_of
from service.domain.comparison.left_out import MOST, most_of_a_task
from service.domain.comparison.pairing import Everything, Pairs
from service.domain.comparison.request import ComparisonRequest
from service.domain.comparison.scale import scale_of
from service.domain.comparison.sentences import difference, interval
from service.domain.comparison.warning_kinds import MISSING_RESULTS
from service.domain.comparison.weighing import Weighing, delta_of, weigh
from service.stats.shared.declaring.common import Interval, StatWarning
from service.words import Message, message, speak


@dataclass(frozen=True, slots=True)
class Extreme:
    """What the comparison would answer if all missing outcomes spoke for one side."""

    delta: float
    ci: Interval
    claims: Claims


@dataclass(frozen=True, eq=False)
class Filling:
    """All items, what is missing filled with the worst there could be for one side or the other."""

    against: Pairs
    """For the candidate."""
    in_favour: Pairs
    """For the baseline."""
    weighing: Weighing

    @cached_property
    def worst(self) -> Extreme:
        """What the answer would be if every missing result spoke against the candidate."""
        return self._of(self.against)

    @cached_property
    def best(self) -> Extreme:
        """What the answer would be if every missing result spoke for the candidate."""
        return self._of(self.in_favour)

    def _of(self, pairs: Pairs) -> Extreme:
        evidence = weigh(pairs, self.weighing)
        delta = delta_of(pairs, evidence) or 0.0
        return Extreme(delta, evidence.ci, claims_of(evidence, self.weighing.margin))

    def of_slice(self, name: str) -> Filling:
        """Return what is filled in, for the pairs of one slice."""
        return Filling(self.against.of_slice(name), self.in_favour.of_slice(name), self.weighing)


@dataclass(frozen=True, eq=False)
class Attrition:
    """Results that are missing among some items. `has` (items, 2): which arm has a result of which item."""

    has: NDArray[np.bool_]
    every: Filling
    """All that is missing is filled."""
    left_out: Filling
    """Only what is left out is; what one arm alone lacks may count as 0."""
    counts_as_0: bool
    """An item that one arm lacks counts as 0, and only what both lack is left out; else all of it is."""

    @cached_property
    def share(self) -> float:
        """Of the items, how many lack a result. Of items that no row names nothing is known."""
        return _share(~self.has.all(axis=1))

    @property
    def complete(self) -> bool:
        """Whether both arms have a result of every item."""
        return bool(self.has.all())

    def standing(self, claims: Claims) -> Claims:
        """Return the claims that stand: with more than `MOST` left out, those that hold in their worst case too.

        A claim for the candidate does not stand either on more than `MOST` results that the baseline alone lacks: they
        count as 0, which is no failure of the candidate's making. What the candidate lacks stays a failure of its own.
        """
        gone = ~self.has.any(axis=1) if self.counts_as_0 else ~self.has.all(axis=1)
        lost_alone = gone | ~self.has[:, 0]
        left_out, alone = self._is_much(gone), self.counts_as_0 and self._is_much(lost_alone)
        worst = (self.every if alone else self.left_out).worst.claims if left_out or alone else claims
        return Claims(
            better=claims.better and worst.better,
            no_worse=None if claims.no_worse is None else claims.no_worse and bool(worst.no_worse),
            worse=claims.worse and (not left_out or self.left_out.best.claims.worse),
        )

    def _is_much(self, gone: Any) -> bool:
        """Tell whether so many items are gone, of all or of a single task, that claims need their worst case."""
        tasks = self.every.against.tasks
        return _share(gone) > MOST or (
            tasks is not None and most_of_a_task(tasks, np.asarray(gone).tolist()) > MOST
        )

    def of_slice(self, name: str) -> Attrition:
        """Return what is missing of the items of one slice."""
        rows = np.array([label == name for label in self.every.against.slices or ()], dtype=bool)
        every = self.every.of_slice(name)
        left_out = every if self.left_out is self.every else self.left_out.of_slice(name)
        return replace(self, has=self.has[rows], every=every, left_out=left_out)

    @property
    def reason(self) -> str:
        """Why a claim that the pairs would carry does not stand."""
        return speak("comparison.missing_withheld", missing=self._missing_counts)

    def warnings(self, claims: Claims, *, points: bool, sign: int = 1) -> tuple[StatWarning, ...]:
        """Say what is missing and what it could change: of more than `MOST`, and where the answer would be another.

        `claims` are those of the pairs, whether they stand or not. `sign`: -1 where the outcomes were turned round.
        """
        extreme = self.every.best if claims.outcome == "worse" else self.every.worst
        changes = extreme.claims.outcome != claims.outcome
        if self.share <= MOST and not changes:
            return ()
        favour = "baseline" if claims.outcome == "worse" else "candidate"
        warning = StatWarning(
            code=MISSING_RESULTS.code,
            severity="serious" if changes else "caution",
            message=speak(
                "comparison.attrition" if changes else "comparison.attrition_still",
                missing=self._missing_counts,
                fate=self._fate(sign),
                favour=message(f"comparison.{favour}"),
                delta=difference(sign * extreme.delta, points=points),
                interval=interval(extreme.ci, points=points, sign=sign),
                answer=message(f"comparison.outcome_{extreme.claims.outcome}"),
            ),
            citation=MISSING_RESULTS.citation,
        )
        return (warning,)

    def _fate(self, sign: int) -> Message:
        """Return what became of the items."""
        both = int((~self.has.any(axis=1)).sum())
        if not self.counts_as_0 or both == int((~self.has.all(axis=1)).sum()):
            return message("comparison.fate_left_out")
        counted = "fate_0" if sign == 1 else "fate_worst"
        return message(f"comparison.{counted}_both_left_out" if both else f"comparison.{counted}")

    @property
    def _missing_counts(self) -> Message:
        """How many items lack a result, and in which arms, as a sentence."""
        lacking, n = ~self.has, len(self.has)
        counts = {
            "baseline": int((lacking[:, 0] & ~lacking[:, 1]).sum()),
            "candidate": int((lacking[:, 1] & ~lacking[:, 0]).sum()),
            "both": int(lacking.all(axis=1).sum()),
        }
        parts = [message(f"comparison.in_{arms}", count=count) for arms, count in counts.items() if count]
        *before, where = parts or [message("comparison.in_both", count=0)]
        for part in reversed(before):
            where = message("comparison.in_several", first=part, rest=where)
        return message("comparison.missing", lacking=int(lacking.any(axis=1).sum()), n=n, where=where)


def _share(rows: Any) -> float:
    return float(np.mean(rows)) if len(rows) else 0.0


def attrition_of(everything: Everything, request: ComparisonRequest, weighing: Weighing) -> Attrition | None:
    """Return what is missing, between the ends of the declared range; None where both arms have every result."""
    if len(everything.paired) == len(everything.item_ids):
        return None
    declared, fail = request.range, request.missing == "fail"
    low, high = everything.outcomes if declared is None else (declared.low, declared.high)
    has = np.array([[everything.has(arm, item_id) for arm in (0, 1)] for item_id in everything.item_ids])

    def filling(alone: float | None) -> Filling:
        worst, best = (everything.fill(ends, fail=fail, alone=alone) for ends in ((high, low), (low, high)))
        return Filling(worst, best, replace(weighing, scale=scale_of(worst, declared)))

    every = filling(None)
    return Attrition(has, every, filling(0.0) if fail else every, fail)
