"""What the error of a difference is made of, what one more unit of cost takes off it, and the best use of a budget."""

from __future__ import annotations

import math
from dataclasses import dataclass

from service.kernels.planning import allocation
from service.kernels.planning.allocation import Costs, Spread
from service.kernels.repeats.repeated_runs import RepeatedRuns
from service.stats.repeated.repeats import BestAllocation, ErrorParts, NextUnit


@dataclass(frozen=True, slots=True)
class Spending:
    """Variances by source, in the unit of the computation, and what there is of each source at what cost."""

    spread: Spread
    costs: Costs
    counts: tuple[float, float, float]
    """Items, runs of an item in an arm, judgements of a run."""
    size: float
    """What the unit of the computation is in scores."""
    ran: bool
    """Runs were repeated: else they have no variance of their own."""
    judged: bool
    """Judgements were."""

    def split_error(self, data: RepeatedRuns, reasons: dict[str, str]) -> ErrorParts:
        """Return the variance of the mean difference, every cell with its own counts."""
        # A run weighs 1 / (R_i n) in its arm's mean, and its variance the square of that; arms add up.
        per_run = 1 / data.runs[data.cells] ** 2 / data.n**2
        parts = Spread(
            2 * self.spread.item_by_arm / data.n,
            self.spread.run * float(per_run.sum()),
            self.spread.judge * float((per_run / data.repeats).sum()),
        )
        if not self.ran:
            reasons["error.run"] = "runs were not repeated: it is inside `item_by_arm`"
        if not self.judged:
            reasons["error.judge"] = "judgements were not repeated: it is inside `run`"
        return ErrorParts(
            item_by_arm=parts.item_by_arm * self.size * self.size,
            run=parts.run * self.size * self.size if self.ran else None,
            judge=parts.judge * self.size * self.size if self.judged else None,
            se=math.sqrt(sum(parts)) * self.size,
        )

    def find_next(self, reasons: dict[str, str]) -> NextUnit:
        """Return what a unit of cost takes off the variance, by what it is spent on, and where it takes off most."""
        per_cost = allocation.gains(self.spread, self.costs, *self.counts)
        gains = {
            "items": per_cost.item,
            "runs": per_cost.run if self.ran else None,
            "judgements": per_cost.judge if self.judged else None,
        }
        known = {name: gain for name, gain in gains.items() if gain is not None}
        top = max(known, key=lambda name: known[name])
        for name, gain in gains.items():
            if gain is None:
                reasons[f"next_unit.{name}"] = "their variance was not measured: nothing was repeated there"
        if known[top] <= 0:
            reasons["next_unit.best"] = "nothing varies, so nothing is left to buy"
        unit = self.size * self.size
        return NextUnit(
            items=per_cost.item * unit,
            runs=per_cost.run * unit if self.ran else None,
            judgements=per_cost.judge * unit if self.judged else None,
            best=top if known[top] > 0 else None,
        )

    def allocate(
        self, budget: float | None, most_items: int | None, reasons: dict[str, str]
    ) -> BestAllocation | None:
        """Find the numbers of least error for the budget, by default what these data cost; None where it buys none."""
        if self.spread.item_by_arm <= 0:
            reasons["allocation"] = (
                "no variance of items in the difference was found, so the formula would drop nearly all: keep them"
            )
            return None
        budget = budget or allocation.cost(self.costs, *self.counts)
        bought = allocation.best(
            self.spread,
            self.costs,
            budget,
            most_items=most_items,
            most_runs=allocation.MOST if self.ran else 1,
            most_judgements=allocation.MOST if self.judged else 1,
        )
        if bought is None:
            reasons["allocation"] = "the budget does not reach for two items"
            return None
        return BestAllocation(
            budget=budget,
            items=bought.items,
            runs=bought.runs,
            judgements=bought.judgements,
            cost=bought.cost,
            se=math.sqrt(bought.variance) * self.size,
        )
