"""The doubtful items of a hypothesis: where they begin, what values they may take, and the outcome under them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from service.domain.deviations.as_run import verdicts_of
from service.domain.deviations.fillings import PAIRS, Kind, Pair, list_targets
from service.domain.plans.plan import Plan
from service.domain.plans.sections.hypothesis import Hypothesis
from service.domain.rules.claims.claim import good_direction
from service.domain.rules.rule import All, Comparison
from service.domain.rules.settings import Setting, resolve
from service.domain.rules.truth import holds
from service.domain.verdicts.outcomes import LEFT_OUT, OK, Cell, Outcomes, Rows
from service.domain.verdicts.records import HypothesisVerdict, Outcome
from service.domain.verdicts.worst_case import Extremes, against, fill

Key = tuple[str, str, str]
"""Population, arm and endpoint."""


@dataclass(frozen=True, slots=True)
class Doubts:
    """Masks over the items of a hypothesis' population, shape (items,)."""

    left_out: NDArray[np.bool_]
    disputed: NDArray[np.bool_]


class DoubtfulItems:
    """The doubtful items of one hypothesis, and its outcome under any filling of them."""

    def __init__(self, rows: Rows, setting: Setting, doubts: Doubts) -> None:
        hypothesis = self.hypothesis = setting.hypothesis
        self.keys = [(hypothesis.population, arm, hypothesis.endpoint) for arm in hypothesis.arms]
        self.one_arm = hypothesis.baseline is None
        plan = rows.plan
        self.filled = plan.missing == "worst_case"
        update: dict[str, object] = {} if self.filled else {"missing": "exclude_pair"}
        if plan.multiplicity is None or plan.multiplicity.policy == "none":
            update["hypotheses"] = (hypothesis,)  # nothing else bears on it
        self.rows = replace(rows, resolved=resolve(plan.model_copy(update=update)))
        self.others = _cells_beside(self.rows.plan, hypothesis, self.keys) & rows.outcomes.cells.keys()
        cells = [rows.outcomes.cells[key] for key in self.keys]
        if self.one_arm:  # nothing stands in the place of another arm, and is never in doubt
            n = len(cells[0].values)
            cells.insert(0, Cell(np.zeros((n, 1)), np.full((n, 1), OK, dtype=np.uint8)))
        self.stored = np.stack([cell.values[:, 0] for cell in cells])
        self.statuses = np.stack([cell.statuses[:, 0] for cell in cells])
        self.ok = self.statuses == OK
        self.missing = ~self.ok.all(axis=0)
        self.left_out = doubts.left_out
        self.disputed = doubts.disputed & ~doubts.left_out & ~self.missing
        self.outside = self.left_out if self.filled else self.missing | self.left_out
        self.values = self._fill_missing(setting) if self.filled else self.stored
        inside = ~self.outside
        self.n, self.total = int(np.count_nonzero(inside)), int(np.diff(self.values[:, inside], axis=0).sum())
        has_fallback = hypothesis.equivalence is not None
        self.both_ways = self.filled and (has_fallback or hypothesis.claim == "equivalence")
        """True where a missing item has no one value that it begins with."""
        self.delta_clauses = () if has_fallback or self.both_ways else _delta_clauses(setting)
        self.evaluations = 0

    def _fill_missing(self, setting: Setting) -> NDArray[np.float64]:
        """Return the values that the rule is judged on, missing ones against its claim; of two ways, the first."""
        way = against(setting)[0]
        ends, ok = Extremes(0.0, 1.0), (self.ok[0], self.ok[1])
        return np.stack(fill(self.stored[0], self.stored[1], ok, way=way, ends=ends))

    @property
    def positions(self) -> NDArray[np.intp]:
        """Positions of the items in doubt."""
        return np.flatnonzero(self.missing | self.outside | self.disputed)

    def judge(self, filling: Mapping[int, Pair]) -> HypothesisVerdict:
        """Return the hypothesis with these items at these values and the other ones where they begin."""
        self.evaluations += 1
        values, statuses = self.stored.copy(), self.statuses.copy()
        statuses[:, self.outside] = LEFT_OUT
        for position, pair in filling.items():
            values[:, position] = pair
            statuses[:, position] = OK
        cells = {
            key: Cell(values[arm][:, None], statuses[arm][:, None])
            for arm, key in enumerate(self.keys, start=1 if self.one_arm else 0)
        }
        outcomes = Outcomes({**self.rows.outcomes.cells, **cells})
        return verdicts_of(replace(self.rows, outcomes=outcomes))[self.hypothesis.id]

    def outcome(self, filling: Mapping[int, Pair]) -> Outcome:
        """Return the outcome under a filling; a rule that the difference alone refutes needs no test."""
        if self.delta_clauses:
            total, n = self.total, self.n
            for position, (baseline, candidate) in filling.items():
                before = self.start(position)
                total += candidate - baseline - (0 if before is None else before[1] - before[0])
                n += before is None
            delta = Fraction(total, n) if n else None
            if any(holds(clause, delta) is False for clause in self.delta_clauses):
                return "not_supported"
        return self.judge(filling).outcome

    def possible(self, position: int) -> tuple[Pair, ...]:
        """Return the pairs an item may have: all of them, or those that keep the result that is ok."""
        if self.left_out[position] or self.disputed[position]:
            return PAIRS[:2] if self.one_arm else PAIRS
        known = [
            int(value) if ok else None
            for value, ok in zip(self.values[:, position], self.ok[:, position], strict=True)
        ]
        return tuple(
            pair for pair in PAIRS if all(want in (None, has) for want, has in zip(known, pair, strict=True))
        )

    def start(self, position: int) -> Pair | None:
        """Return both arms' outcomes at an item before anything is changed; None where they are open."""
        if self.outside[position] or (self.both_ways and self.missing[position]):
            return None
        return int(self.values[0, position]), int(self.values[1, position])

    def kinds(self, ties_alike: bool) -> list[Kind]:
        """Return the doubtful items by kind, each with the values that would make a difference."""
        clusters = self.rows.manifests[self.hypothesis.population].clusters
        grouped: dict[tuple[object, ...], list[int]] = {}
        for position in map(int, self.positions):
            start, cluster = self.start(position), None if clusters is None else clusters[position]
            targets = list_targets(self.possible(position), start, ties_alike)
            known = (
                tuple(self.statuses[:, position]) if self.both_ways and not self.left_out[position] else None
            )
            grouped.setdefault((start, targets, cluster, known, self._beside(position)), []).append(position)
        return [Kind(tuple(members), start, targets) for (start, targets, *_), members in grouped.items()]  # type: ignore[arg-type]

    def _beside(self, position: int) -> tuple[tuple[float, bool], ...]:
        """Return what an item holds for the hypotheses that decide with this one.

        Items that agree here may differ there: signs are shared by an item (`max_t`), and so are arms.
        """
        beside: list[tuple[float, bool]] = []
        for key in sorted(self.others):
            cell = self.rows.outcomes.cells[key]
            ok = cell.statuses[position] == OK
            beside += zip(np.where(ok, cell.values[position], 0.0).tolist(), ok.tolist(), strict=True)
        return tuple(beside)

    def steps(self, sign: int) -> list[tuple[int, Pair]]:
        """List doubtful items as far down (-1) or up (+1) in their difference as may be, the largest steps first."""
        steps = []
        for position in map(int, self.positions):
            start = self.start(position)
            pair = max(self.possible(position), key=lambda pair: sign * (pair[1] - pair[0]))
            if pair != start:
                before = 0 if start is None else start[1] - start[0]
                steps.append((sign * (before - pair[1] + pair[0]), position, pair))
        return [(position, pair) for _, position, pair in sorted(steps)]

    def judge_extreme(self, sign: int) -> HypothesisVerdict:
        """Judge with every doubtful item against (-1) or for (+1) the candidate, as the endpoint is better."""
        endpoint = self.rows.plan.endpoint(self.hypothesis.endpoint)
        return self.judge(dict(self.steps(sign * good_direction(endpoint))))


def _cells_beside(plan: Plan, hypothesis: Hypothesis, own: Sequence[Key]) -> set[Key]:
    """The other cells of hypotheses whose p-values an item of this one may bear on: on its arms, or under `max_t`."""
    shared = plan.multiplicity is not None and plan.multiplicity.policy == "max_t"
    cells: set[Key] = set()
    for other in plan.hypotheses or ():
        keys = {
            (other.population, arm, endpoint)
            for arm in other.arms
            for endpoint in plan.endpoints_asked(other)
        }
        if other.population == hypothesis.population and (shared or keys & set(own)):
            cells |= keys - set(own)
    return cells


def _delta_clauses(setting: Setting) -> tuple[Comparison, ...]:
    """Clauses on the difference without which the rule cannot hold."""
    parts = setting.rule.parts if isinstance(setting.rule, All) else (setting.rule,)
    return tuple(part for part in parts if isinstance(part, Comparison) and part.field.test is None)
