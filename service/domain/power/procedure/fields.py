"""Fields of statistical tests on many simulated data sets at once, and the truth of clauses on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.domain.power.enumerated.enumerated_tests import BinaryTest
from service.domain.power.enumerated.region import truths_of
from service.domain.rules.feeding import parameter, takes_clusters
from service.domain.rules.labelled import takes_labels
from service.domain.rules.rule import Clause
from service.domain.rules.settings import Setting, Use
from service.domain.rules.truth import Sets, clause_truths
from service.domain.verdicts.worst_case import extremes
from service.stats.shared.declaring.cell_lines import ABOVE, BELOW, EQUAL, EndLines, Line, exact_delta
from service.stats.shared.declaring.common import Margin
from service.stats.shared.declaring.shows import Estimate, Path
from service.stats.shared.declaring.simulated import FieldRequest, Units, Value

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NOT_SIMULATED = "the rule has a field that is not simulated here"


@dataclass(frozen=True)
class SimulatedSets:
    """T data sets, and the hypothesis whose rule is read on them."""

    setting: Setting
    sesoi: Margin | None
    units: Units

    def truths(self, clause: Clause) -> Sets | None:
        """Return the clause's truth in every data set; None when its field is not simulated."""
        use = self.setting.uses.get(clause.field.test or "")
        if use is not None and use.beside:
            return None
        if self._counts_alone(use):
            return self._by_counts(clause, use)
        value = self.units.delta if use is None else self.value_of(use, clause.field.path)
        return None if value is None else clause_truths(clause, value)

    def _by_counts(self, clause: Clause, use: Use | None) -> Sets | None:
        """The truth of a clause from the total counts alone, as exact as the test; alike data sets are asked once."""
        line = self._line(use, clause.field.path)
        if line is None:
            return None
        b, m, back = self._cells
        return truths_of(clause, line, b, m)[back]

    def _line(self, use: Use | None, path: Path) -> Line | EndLines | None:
        n = int(self.units.sizes.sum())
        if use is None:
            return exact_delta(n)
        if self.setting.endpoint is None:
            return None
        return BinaryTest(use, self.setting.endpoint, n, self.sesoi).line_of(path)

    @cached_property
    def _cells(self) -> tuple[Ints, Ints, NDArray[np.intp]]:
        """The distinct (b, m) among the data sets, and which of them each has."""
        won, lost = (counts.sum(axis=1) for counts in self.units.won or ())
        cells, back = np.unique(np.stack([won, won + lost], axis=1), axis=0, return_inverse=True)
        return cells[:, 0], cells[:, 1], back.reshape(-1)

    def p_value(self, use: Use, path: Path, steps: Sequence[Fraction]) -> Floats | None:
        """Return a p-value (T,); from counts it is only known between which of the `steps` (ascending) it lies.

        Whatever compares it with the steps gets the answer that the test's own p would get.
        """
        if not self._counts_alone(use):
            value = self.value_of(use, path)
            return None if isinstance(value, tuple) else value
        line = self._line(use, path)
        if not isinstance(line, Line):
            return None
        b, m, back = self._cells
        ends = [0.0, *(float(step) for step in steps), 1.0]
        between = [(low + high) / 2 for low, high in pairwise(ends)]
        p = np.full(len(b), np.nan)

        def place(cells: NDArray[np.intp], low: int, high: int) -> None:
            """Return the cells whose p-values lie between the steps before `low` and from `high` on."""
            if low == high or not len(cells):
                p[cells] = between[low]
                return
            # Bisection over the thresholds: log2 of them are compared exactly, instead of every p being computed.
            at = (low + high) // 2
            side = line.sides(b[cells], m[cells], steps[at], (0, 1))
            p[cells[side == EQUAL]] = float(steps[at])
            place(cells[side == BELOW], low, at)
            place(cells[side == ABOVE], at + 1, high)

        place(np.arange(len(b)), 0, len(steps))
        return p[back]

    def _counts_alone(self, use: Use | None) -> bool:
        """Tell whether the counts of items won and lost decide a field."""
        if self.units.won is None:
            return False
        return use is None or not (self._by_cluster(use) or takes_labels(use.test))

    def _by_cluster(self, use: Use) -> bool:
        population = self.setting.population
        return population is not None and takes_clusters(use.test, population)

    def value_of(self, use: Use, path: Path) -> Value | None:
        """Return a field of a test; None when it is not simulated."""
        if self.units.clustered and not self._by_cluster(use):
            return None  # it would see the items, and these are sums
        plan = use.test.plan
        whole = path[:-1] if path[-1] in ("low", "high") else path
        value = None
        if plan is not None and plan.simulated is not None:
            value = plan.simulated.fields(self.units, self._ask(use), whole)
        if isinstance(value, tuple):
            return value if path[-1] not in ("low", "high") else value[path[-1] == "high"]
        estimates = plan is not None and isinstance(plan.shows.get("delta"), Estimate)
        return self.units.delta if value is None and estimates and path == ("delta",) else value

    def _ask(self, use: Use) -> FieldRequest:
        own: Any = use.use.parameters.get("margin")
        margin = self.sesoi if own is None else Margin.model_validate(own)
        ends = None if self.setting.endpoint is None else extremes(self.setting.endpoint)
        return FieldRequest(
            partial(parameter, use.use),
            None if margin is None else float(margin.exact()),
            None if ends is None else ends.high - ends.low,
        )


def looks_at_items(use: Use) -> bool:
    """Tell whether a test takes single items of clusters, and not their sums alone."""
    plan = use.test.plan
    return (
        plan is not None and plan.simulated is not None and plan.simulated.items(partial(parameter, use.use))
    )
