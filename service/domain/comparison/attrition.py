"""Items without a result in one arm: what they could change, and which claims do not stand without them.

Results are rarely missing by chance: a run that broke off, an answer that could not be read. What is told of the items
that are left is therefore put beside the worst case, in which every missing outcome speaks against it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from service.domain.comparison.claims import Claims, claims_of
from service.domain.comparison.evidence import weigh
from service.domain.comparison.pairing import Everything, Pairs
from service.domain.comparison.records import Outcome, ScaleTaken
from service.domain.comparison.scale import scale_of
from service.stats.shared.data.score_range import ScoreRange
from service.stats.shared.declaring.common import Interval, StatWarning
from service.stats.shared.declaring.sentences import amount, level_text

MOST = 0.05
"""Share of an arm's items above which a claim has to hold in its worst case too."""
_WORDS: dict[Outcome, str] = {
    "better": "better",
    "no_worse": "no worse",
    "worse": "worse",
    "cannot_tell": "cannot tell",
}


@dataclass(frozen=True, slots=True)
class Extreme:
    """What the comparison would answer if all missing outcomes spoke for one side."""

    delta: float
    ci: Interval
    claims: Claims


@dataclass(frozen=True, eq=False)
class Attrition:
    """Results that are missing among some items. `has` (items, 2): which arm has a result of which item."""

    has: NDArray[np.bool_]
    against: Pairs
    """The items with all missing outcomes the worst there could be for the candidate."""
    in_favour: Pairs
    """The same for the baseline."""
    margin: float | None
    alpha: float
    scale: ScaleTaken | None
    """Between what the outcomes of all items lie."""
    left_out: bool
    """The items are left out; else what is missing counts as 0."""

    @cached_property
    def worst(self) -> Extreme:
        """For the candidate."""
        return self._of(self.against)

    @cached_property
    def best(self) -> Extreme:
        """For the candidate."""
        return self._of(self.in_favour)

    def _of(self, pairs: Pairs) -> Extreme:
        evidence = weigh(pairs, self.margin, self.alpha, self.scale)
        delta = float((pairs.candidate - pairs.baseline).mean())
        return Extreme(delta, evidence.ci, claims_of(evidence, self.margin))

    @cached_property
    def share(self) -> float:
        """The larger of the arms' shares of items that have no partner."""
        both = self.has.all(axis=1).sum()
        own = self.has.sum(axis=0)
        return float(max((own - both) / np.maximum(own, 1), default=0.0)) if len(self.has) else 0.0

    @property
    def complete(self) -> bool:
        """Whether no result is missing."""
        return bool(self.has.all())

    def standing(self, claims: Claims) -> Claims:
        """The claims that stand: with more than `MOST` left out, those that hold in their worst case too."""
        if self.complete or not self.left_out or self.share <= MOST:
            return claims
        worst, best = self.worst.claims, self.best.claims
        return Claims(
            better=claims.better and worst.better,
            no_worse=None if claims.no_worse is None else claims.no_worse and bool(worst.no_worse),
            worse=claims.worse and best.worse,
        )

    def of_slice(self, name: str) -> Attrition:
        """The same of one slice."""
        rows = np.array([each == name for each in self.against.slices or ()], dtype=bool)
        against, in_favour = self.against.of_slice(name), self.in_favour.of_slice(name)
        return replace(self, has=self.has[rows], against=against, in_favour=in_favour)

    @property
    def reason(self) -> str:
        """Why a claim that the pairs would carry does not stand."""
        return f"{self.told}, and the worst case of what is missing does not carry as much"

    def warnings(self, claims: Claims, *, points: bool) -> tuple[StatWarning, ...]:
        """What is missing and what it could change: of more than `MOST`, and wherever the answer would be another.

        `claims` are those of the pairs, whether they stand or not.
        """
        extreme = self.best if claims.outcome == "worse" else self.worst
        changes = extreme.claims.outcome != claims.outcome
        if self.share <= MOST and not changes:
            return ()
        favour = "baseline" if claims.outcome == "worse" else "candidate"
        low, high, level = extreme.ci.low, extreme.ci.high, level_text(extreme.ci.level)
        ends = f"no {level} interval"
        if low is not None and high is not None:
            ends = f"{level} interval {amount(low, binary=points)} to {amount(high, binary=points)}"
        became = "are left out" if self.left_out else "count as 0 there"
        delta, still = amount(extreme.delta, binary=points), "" if changes else "still "
        warning = StatWarning(
            code="MISSING_RESULTS",
            severity="serious" if changes else "caution",
            message=f"{self.told} {became}. If every missing outcome were the worst there could be for the {favour}, "
            f"the difference would be {delta} ({ends}) and the answer {still}'{_WORDS[extreme.claims.outcome]}'.",
            citation="Horowitz & Manski (2000), JASA 95:77",
        )
        return (warning,)

    @property
    def told(self) -> str:
        """How many items have no result, and where."""
        lacking, n = ~self.has, len(self.has)
        counts = {
            "the baseline": int((lacking[:, 0] & ~lacking[:, 1]).sum()),
            "the candidate": int((lacking[:, 1] & ~lacking[:, 0]).sum()),
            "either arm": int(lacking.all(axis=1).sum()),
        }
        parts = [f"{count} in {where}" for where, count in counts.items() if count]
        return f"{int(lacking.any(axis=1).sum())} of {n} items without a result ({', '.join(parts)})"


def attrition_of(
    everything: Everything, margin: float | None, alpha: float, declared: ScoreRange | None, *, left_out: bool
) -> Attrition | None:
    """None where both arms have a result of every item. What is missing lies between the ends of the declared range."""
    if len(everything.paired) == len(everything.item_ids):
        return None
    low, high = everything.outcomes if declared is None else (declared.low, declared.high)
    has = np.array([[everything.has(arm, each) for arm in (0, 1)] for each in everything.item_ids])
    fail = not left_out
    worst, best = (everything.filled(ends, fail=fail) for ends in ((high, low), (low, high)))
    return Attrition(has, worst, best, margin, alpha, scale_of(worst, declared), left_out)
