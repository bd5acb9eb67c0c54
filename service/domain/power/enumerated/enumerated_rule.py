"""The rule of a hypothesis over every outcome of n independent binary pairs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

import numpy as np

from service.domain.power.attainable.attainability import clause_truth, field_bounds
from service.domain.power.attainable.least_p import Size
from service.domain.power.enumerated.enumerated_tests import BinaryTest
from service.domain.power.enumerated.region import Region, region
from service.domain.rules.feeding import takes_clusters
from service.domain.rules.rule import Clause, Is, Quantity, Within
from service.domain.rules.settings import Setting
from service.domain.rules.truth import FALSE, FREE, TRUE, UNKNOWN
from service.kernels.numeric import binomial
from service.kernels.planning.rule_enumeration import Ints
from service.stats.shared.declaring.cell_lines import EndLines, Line, exact_delta
from service.stats.shared.declaring.common import Margin

LEAST_THRESHOLD = 1e-9
"""Tails for many cells are accurate to less than this; p-values below are left free."""

MOST_ROWS = 6000
"""Discordant counts that are looked at in the search for an outcome that passes."""

FIRST_ROWS = 256


@dataclass(frozen=True)
class EnumeratedRule:
    """A rule with its tests, for sizes of n; `settled` holds clauses that are true or false throughout."""

    setting: Setting
    sesoi: Margin | None
    _lines: dict[int, dict[str, Line | EndLines]] = field(default_factory=dict, repr=False)
    _likely: dict[tuple[int, tuple[float, ...]], Region] = field(default_factory=dict, repr=False)

    @cached_property
    def unknown(self) -> dict[Clause, str]:
        """The clauses that the discordant counts do not decide, and why."""
        return {
            clause: reason
            for clause in dict.fromkeys(self.setting.clauses)
            if (reason := self._why_free(clause)) is not None
        }

    def reach(self, n: int, discordances: tuple[float, ...]) -> tuple[bool | None, int | None]:
        """Tell whether some outcome of n items passes, and with how few discordant items; None: not known.

        The likely rows come first: power needs them anyway.
        """
        maybe = False
        for cut_region in chain([self.likely(n, discordances)], (self.on(n, rows) for rows in _growing(n))):
            if cut_region.passes.any():
                return True, None if self.unknown else self._least(cut_region)
            maybe = maybe or bool(cut_region.may_pass.any())
        return None if maybe or n > MOST_ROWS else False, None

    def _least(self, region: Region) -> int:
        """Return the first row that passes; between rows that were looked at, sought in ever finer steps."""
        while True:
            at = int(np.argmax(region.passes))
            first, before = int(region.m[at]), int(region.m[max(at - 1, 0)])
            if first - before <= 1:
                return first
            finer = np.unique(np.linspace(before, first, FIRST_ROWS + 1).astype(np.int64))
            region = self.on(region.n, finer)

    def likely(self, n: int, discordances: tuple[float, ...]) -> Region:
        """Return the first rows, and all that are not rarer than 1e-16 under one of these discordances."""
        if (n, discordances) not in self._likely:
            windows = [
                (0, min(n, FIRST_ROWS)),
                *(binomial.window(n, discordance) for discordance in discordances),
            ]
            rows = np.unique(np.concatenate([np.arange(low, high + 1) for low, high in windows]))
            self._likely[n, discordances] = self.on(n, rows)
        return self._likely[n, discordances]

    def around(self, n: int, discordance: float) -> Region:
        """Return the rows that are likely under one discordance: all but about 1e-9 of the mass."""
        # Beyond 6 SD a normal law has 2e-9; 10 rows more, since a binomial of few events is skewed.
        reach = 6 * math.sqrt(n * discordance * (1 - discordance)) + 10
        low, high = math.floor(n * discordance - reach), math.ceil(n * discordance + reach)
        return self.on(n, np.arange(max(low, 0), min(high, n) + 1))

    def on(self, n: int, rows: Ints) -> Region:
        """Return the region of these numbers of discordant items."""
        rule = self.setting.rule
        assert rule is not None  # noqa: S101 - callers have a rule
        if n not in self._lines:
            self._lines[n] = self._make_lines(n)
        fixed = {clause: self._bound_value(clause, n) for clause in self.unknown}
        return region(rule, self._lines[n], n, rows, fixed)

    def _bound_value(self, clause: Clause, n: int) -> int:
        """What a clause that is not decided by the counts can be: bounds of its field may tell."""
        clusters = self.setting.population.clusters if self.setting.population else None
        bounds = field_bounds(self.setting, Size(n, None if clusters is None else clusters.n))
        truth = clause_truth(clause, bounds)
        return FREE if truth is None else TRUE if truth else FALSE | UNKNOWN

    def _make_lines(self, n: int) -> dict[str, Line | EndLines]:
        return {
            str(clause.field): line
            for clause in self.setting.clauses
            if clause not in self.unknown and (line := self._line(clause, n)) is not None
        }

    def _line(self, clause: Clause, n: int) -> Line | EndLines | None:
        use = self.setting.uses.get(clause.field.test or "")
        if clause.field.test is None:
            return exact_delta(n)
        if use is None or use.beside or self.setting.endpoint is None:
            return None
        return BinaryTest(use, self.setting.endpoint, n, self.sesoi).line_of(clause.field.path)

    def _why_free(self, clause: Clause) -> str | None:
        """Say why a clause is not decided by the discordant counts; None where it is."""
        use, population = self.setting.uses.get(clause.field.test or ""), self.setting.population
        if use is not None and use.beside:
            return f"`{clause.field}` is of another endpoint"
        if use is not None and population is not None and takes_clusters(use.test, population):
            return f"`{clause.field}` depends on the clusters"
        line = self._line(clause, population.n if population else 1)
        if line is None:
            return f"`{clause.field}` is not decided by the discordant counts, or has to be drawn"
        low = min((abs(float(threshold.exact())) for threshold in _thresholds(clause)), default=1.0)
        if low < LEAST_THRESHOLD and clause.field.path[-1].startswith("p_"):
            return f"`{clause}` asks for a probability that is not resolved here"
        return None


def _thresholds(clause: Clause) -> tuple[Quantity, ...]:
    if isinstance(clause, Is):
        return ()
    return (clause.low, clause.high) if isinstance(clause, Within) else (clause.value,)


def _growing(n: int) -> Iterator[Ints]:
    """0 .. n in growing stretches; of very many, evenly spread ones first, and every small one."""
    if n > MOST_ROWS:
        yield np.unique(np.linspace(FIRST_ROWS, n, 256).astype(np.int64))
    low, high = 0, FIRST_ROWS
    while low <= min(n, MOST_ROWS):
        yield np.arange(low, min(high, n + 1, MOST_ROWS + 1))
        low, high = high, 4 * high
