"""The tipping point: how few doubtful items would have to turn out otherwise to change the outcome.

Doubtful items are the missing ones (a result is not ok), the left out (a deviation excludes them)
and the disputed (a deviation contests their outcomes). Each begins as it stands in the judgement:
missing and left-out items outside it, disputed ones with the values that were stored; under the
missing policy `worst_case` a missing item begins inside, filled in as a verdict fills it in: against what is
about to be claimed, which differs between a rule and an equivalence test. Each may then
take any pair of values that agrees with what is known of it: for a missing item the result that is
ok stays. Pushing one item after the other the same way gives a filling that changes the outcome, if
one does; then every filling of fewer items is tried, from one item up, so the answer is exact. Items
that the rule cannot tell apart (same start, same possible values, same cluster) are counted rather
than enumerated. A search that grows too long ends with the bounds it has proved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from service.domain.deviations.as_run import seconds, verdicts_of
from service.domain.plans.plan import Plan, TestUse
from service.domain.plans.sections.hypothesis import Hypothesis
from service.domain.rules.claims.claim import good_direction
from service.domain.rules.rule import All, Comparison
from service.domain.rules.settings import Setting, resolve
from service.domain.rules.truth import holds
from service.domain.verdicts.outcomes import LEFT_OUT, NOT_RECEIVED, OK, Cell, Outcomes, Rows
from service.domain.verdicts.records import HypothesisVerdict, Outcome
from service.domain.verdicts.stopping import is_sequential
from service.domain.verdicts.validity import invalidating
from service.domain.verdicts.worst_case import Extremes, against, fill, why_no_worst_case
from service.records import Record
from service.stats.shared.declaring import registry
from service.words import say

Key = tuple[str, str, str]
"""Population, arm and endpoint."""
Pair = tuple[int, int]
"""(baseline, candidate) of one item."""
PAIRS: tuple[Pair, ...] = ((0, 0), (0, 1), (1, 0), (1, 1))

MAX_EVALUATIONS = 5_000
"""Fillings that one search judges."""
MAX_FILLINGS = 25_000
"""Fillings that one search looks at; most are refuted by their difference alone."""

FEWEST = 20
"""Below that many there is no search."""

_FIELDS = {"delta", "p_value", "ci", "n", "n_discordant", "n_clusters"}


class Filling(Record):
    """Some items that take these values."""

    items: int
    baseline: int | None = Field(description="Null where there is one arm.")
    candidate: int


class Bound(Record):
    """The hypothesis with every doubtful item at one extreme."""

    delta: float | None
    outcome: Outcome


class TippingPoint(Record):
    """What the doubtful items of a hypothesis could do to its outcome."""

    hypothesis: str
    missing: int = Field(description="Items with a result that is not ok.")
    left_out: int = Field(description="Items that deviations leave out.")
    disputed: int = Field(description="Items that stay in and whose outcomes a deviation contests.")
    outcome: Outcome = Field(
        description="With left-out items outside and disputed ones as stored; missing ones outside, or at their "
        "worst value under `worst_case`."
    )
    items: int | None = Field(
        description="The fewest doubtful items whose values change the outcome; null: no filling does, or see `reason`."
    )
    at_least: int | None = Field(description="No filling of fewer items changes it.")
    at_most: int | None = Field(description="Some filling of that many items changes it: `filling`.")
    outcome_then: Outcome | None = Field(description="What it becomes.")
    filling: tuple[Filling, ...] = Field(description="A filling of that many items that does it.")
    robust: bool | None = Field(description="True: no filling changes the outcome. Null: not settled.")
    worst: Bound | None = Field(description="Every doubtful item against the candidate.")
    best: Bound | None = Field(description="Every doubtful item for the candidate.")
    evaluations: int = Field(description="Fillings judged by the whole rule.")
    reason: str | None = Field(description="Why something here is null.")


@dataclass(frozen=True, slots=True)
class _Kind:
    """Doubtful items that the rule cannot tell apart."""

    positions: tuple[int, ...]
    start: Pair | None
    """None: outside the judgement, or filled in by what is about to be claimed."""
    targets: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class Doubts:
    """Masks over the items of a hypothesis' population, shape (items,)."""

    left_out: NDArray[np.bool_]
    disputed: NDArray[np.bool_]


class _Search:
    """Judges a hypothesis under fillings of its doubtful items."""

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
        self.values = self._fill_values(setting) if self.filled else self.stored
        inside = ~self.outside
        self.n, self.total = int(np.count_nonzero(inside)), int(np.diff(self.values[:, inside], axis=0).sum())
        has_fallback = hypothesis.equivalence is not None
        self.both_ways = self.filled and (has_fallback or hypothesis.claim == "equivalence")
        """True where a missing item has no one value that it begins with."""
        self.delta_clauses = () if has_fallback or self.both_ways else _delta_clauses(setting)
        self.evaluations = 0

    def _fill_values(self, setting: Setting) -> NDArray[np.float64]:
        """The values that the rule is judged on, missing ones against its claim; of two ways, the first."""
        way = against(setting)[0]
        ends, ok = Extremes(0.0, 1.0), (self.ok[0], self.ok[1])
        return np.stack(fill(self.stored[0], self.stored[1], ok, way=way, ends=ends))

    @property
    def doubtful(self) -> NDArray[np.intp]:
        """Positions of the items in doubt."""
        return np.flatnonzero(self.missing | self.outside | self.disputed)

    def judge(self, filling: Mapping[int, Pair]) -> HypothesisVerdict:
        """The hypothesis with these items at these values and the other ones where they begin."""
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
        """The outcome under a filling; a rule that the difference alone refutes needs no test."""
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
        """The pairs an item may have: all of them, or those that keep the result that is ok."""
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
        """Both arms' outcomes at an item before anything is changed; None where they are open."""
        if self.outside[position] or (self.both_ways and self.missing[position]):
            return None
        return int(self.values[0, position]), int(self.values[1, position])

    def kinds(self, ties_alike: bool) -> list[_Kind]:
        """The doubtful items by kind, each with the values that would make a difference."""
        clusters = self.rows.manifests[self.hypothesis.population].clusters
        grouped: dict[tuple[object, ...], list[int]] = {}
        for position in map(int, self.doubtful):
            start, cluster = self.start(position), None if clusters is None else clusters[position]
            targets = _different(self.possible(position), start, ties_alike)
            known = (
                tuple(self.statuses[:, position]) if self.both_ways and not self.left_out[position] else None
            )
            grouped.setdefault((start, targets, cluster, known, self._beside(position)), []).append(position)
        return [_Kind(tuple(members), start, targets) for (start, targets, *_), members in grouped.items()]  # type: ignore[arg-type]

    def _beside(self, position: int) -> tuple[tuple[float, bool], ...]:
        """What an item holds for the hypotheses that decide with this one.

        Items that agree here may differ there: signs are shared by an item (`max_t`), and so are arms.
        """
        beside: list[tuple[float, bool]] = []
        for key in sorted(self.others):
            cell = self.rows.outcomes.cells[key]
            ok = cell.statuses[position] == OK
            beside += zip(np.where(ok, cell.values[position], 0.0).tolist(), ok.tolist(), strict=True)
        return tuple(beside)

    def steps(self, sign: int) -> list[tuple[int, Pair]]:
        """Every doubtful item as far down (-1) or up (+1) in its difference as it may be, the largest steps first."""
        steps = []
        for position in map(int, self.doubtful):
            start = self.start(position)
            pair = max(self.possible(position), key=lambda pair: sign * (pair[1] - pair[0]))
            if pair != start:
                before = 0 if start is None else start[1] - start[0]
                steps.append((sign * (before - pair[1] + pair[0]), position, pair))
        return [(position, pair) for _, position, pair in sorted(steps)]

    def extreme(self, sign: int) -> Bound:
        """The hypothesis with every doubtful item against (-1) or for (+1) the candidate, as the endpoint is better."""
        endpoint = self.rows.plan.endpoint(self.hypothesis.endpoint)
        extreme = self.judge(dict(self.steps(sign * good_direction(endpoint))))
        return Bound(delta=extreme.delta, outcome=extreme.outcome)


def tipping_point(
    rows: Rows, hypothesis: Hypothesis, doubts: Doubts, *, budget: float
) -> TippingPoint | None:
    """Search for the tipping point of a hypothesis; None without doubtful items.

    Args:
        budget: seconds that the judgements may take by the costs their tests state, so that the same
            request always ends at the same filling.
    """
    setting = rows.resolved.require(hypothesis.id)
    refused = _refusal(rows, setting)
    if refused is not None:
        return refused
    search = _Search(rows, setting, doubts)
    if not len(search.doubtful):
        return None
    per_filling = seconds(search.rows)
    allowed = min(MAX_EVALUATIONS, int(budget / max(per_filling, 1e-6)))
    start = search.outcome({})
    kinds = search.kinds(_ties_alike(setting))
    affordable = allowed >= FEWEST
    change = _smallest_change(search, kinds, start, allowed) if affordable else _Change(None, None, 1, False)
    known = None if change.filling is None else len(change.filling)
    return TippingPoint(
        hypothesis=hypothesis.id,
        missing=int(np.count_nonzero(search.missing & ~search.left_out)),
        left_out=int(np.count_nonzero(search.left_out)),
        disputed=int(np.count_nonzero(search.disputed)),
        outcome=start,
        items=known if change.settled else None,
        at_least=change.at_least if known is not None or not change.settled else None,
        at_most=known,
        outcome_then=change.outcome,
        filling=_count_fillings(change.filling or {}, one_arm=search.one_arm),
        robust=known is None if change.settled or known is not None else None,
        worst=search.extreme(-1) if affordable else None,
        best=search.extreme(1) if affordable else None,
        evaluations=search.evaluations,
        reason=None if change.settled else "the search ended before every smaller filling was tried",
    )


@dataclass(frozen=True, slots=True)
class _Change:
    filling: Mapping[int, Pair] | None
    """The smallest one known to change the outcome."""
    outcome: Outcome | None
    at_least: int
    """No filling of fewer items changes it; all of them and one more: none does."""
    settled: bool


def _smallest_change(search: _Search, kinds: Sequence[_Kind], start: Outcome, allowed: int) -> _Change:
    """The straight way's filling, unless one of the fillings of fewer items, all of them tried, does it too."""
    most = sum(len(kind.positions) for kind in kinds if kind.targets)
    known = _straight_way(search, start)
    below = most + 1 if known is None else len(known[0])
    filling, outcome = known or (None, None)
    looked = 0
    for size in range(1, below):
        for attempt in fillings(kinds, size):
            if search.evaluations >= allowed or looked >= MAX_FILLINGS:
                return _Change(filling, outcome, size, False)
            looked += 1
            reached = search.outcome(attempt)
            if reached != start:
                return _Change(attempt, reached, size, True)
    return _Change(filling, outcome, below, True)


def _straight_way(search: _Search, start: Outcome) -> tuple[Mapping[int, Pair], Outcome] | None:
    """A filling that changes the outcome by pushing one item after the other the same way; None if neither way does.

    Bisection finds the least number of steps where steps only ever help; what it returns changes the
    outcome whether they do or not.
    """
    ways = [pushed for sign in (-1, 1) if (pushed := _pushed(search, start, sign)) is not None]
    return min(ways, key=lambda way: len(way[0]), default=None)


def _pushed(search: _Search, start: Outcome, sign: int) -> tuple[Mapping[int, Pair], Outcome] | None:
    steps = search.steps(sign)
    low, high = 0, len(steps)
    outcome = search.outcome(dict(steps))
    if outcome == start:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        reached = search.outcome(dict(steps[:middle]))
        if reached == start:
            low = middle
        else:
            high, outcome = middle, reached
    return dict(steps[:high]), outcome


def fillings(kinds: Sequence[_Kind], size: int) -> Iterator[dict[int, Pair]]:
    """One filling for every way to give `size` items other values; items of a kind are not told apart."""
    if not kinds:
        if size == 0:
            yield {}
        return
    first, *rest = kinds
    for taken in range(min(size, len(first.positions)) + 1):
        for counts in _splits(taken, len(first.targets)):
            values = [pair for pair, count in zip(first.targets, counts, strict=True) for _ in range(count)]
            here = dict(zip(first.positions, values, strict=False))
            for others in fillings(rest, size - taken):
                yield here | others


def _splits(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Every way to write `total` as that many counts, in order."""
    if parts == 0:
        if total == 0:
            yield ()
        return
    for first in range(total, -1, -1):
        for rest in _splits(total - first, parts - 1):
            yield first, *rest


def _different(possible: Sequence[Pair], start: Pair | None, ties_alike: bool) -> tuple[Pair, ...]:
    """The pairs that are not where the item begins; of (0, 0) and (1, 1) one, where the rule sees differences."""
    if not ties_alike:
        return tuple(pair for pair in possible if pair != start)
    seen = set() if start is None else {start[1] - start[0]}
    targets = []
    for pair in possible:
        if pair[1] - pair[0] not in seen:
            seen.add(pair[1] - pair[0])
            targets.append(pair)
    return tuple(targets)


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


def _ties_alike(setting: Setting) -> bool:
    """True when everything the rule reads depends on the differences alone."""
    if setting.hypothesis.equivalence is not None:
        return False
    uses = [setting.plan.test(name) for name in setting.tests]
    fields = [clause.field.path[0] for clause in setting.clauses]
    multiplicity = setting.plan.multiplicity
    return (
        all(use is not None and _of_differences(use) for use in uses)
        and all(name in _FIELDS for name in fields)
        and (multiplicity is None or multiplicity.policy == "none")
    )


def _of_differences(use: TestUse) -> bool:
    plan = registry.find(use.test, use.version).plan
    alone = plan is not None and plan.differences_alone
    return alone and not {"metric", "ci_method"} & set(use.parameters)


def _refusal(rows: Rows, setting: Setting) -> TippingPoint | None:
    """Where the search does not apply, and why."""
    hypothesis, endpoint = setting.hypothesis, setting.endpoint
    keys = list(product((hypothesis.population,), hypothesis.arms, (hypothesis.endpoint,)))
    mark = invalidating(rows.marks, hypothesis.id)
    reason = None
    if mark is not None:
        reason = f"the outcome is invalid whatever the doubtful items would have been: {mark.says}"
    elif setting.suite is not None:
        reason = say("reasons.tipping_of_suite")
    elif len(rows.plan.endpoints_asked(hypothesis)) > 1:
        reason = "the search fills in one endpoint, and the rule speaks of several"
    elif endpoint is None or endpoint.kind != "binary" or endpoint.replicates != 1:
        reason = "the search fills in 0 and 1, and the endpoint is not binary with one result per item"
    elif rows.plan.missing != "worst_case" and _never_came(rows.outcomes, keys):
        reason = "the outcome is invalid whatever the doubtful items would have been: the collection was closed early"
    elif rows.plan.missing == "worst_case" and (why := why_no_worst_case(setting)):
        reason = why
    elif is_sequential(rows.plan):
        reason = "under a sequential stopping rule other outcomes could have ended it at another look"
    elif any(key not in rows.outcomes.cells for key in keys):
        reason = "no results of this endpoint were planned"
    if reason is None:
        return None
    return TippingPoint(
        hypothesis=hypothesis.id,
        missing=0,
        left_out=0,
        disputed=0,
        outcome=verdicts_of(rows)[hypothesis.id].outcome,
        items=None,
        at_least=None,
        at_most=None,
        outcome_then=None,
        filling=(),
        robust=None,
        worst=None,
        best=None,
        evaluations=0,
        reason=reason,
    )


def _never_came(outcomes: Outcomes, keys: Sequence[Key]) -> bool:
    """True where the collection was closed before all results of these cells were in."""
    cells = (outcomes.cells[key] for key in keys if key in outcomes.cells)
    return outcomes.closed and any(np.any(cell.statuses == NOT_RECEIVED) for cell in cells)


def _count_fillings(filling: Mapping[int, Pair], *, one_arm: bool) -> tuple[Filling, ...]:
    return tuple(
        Filling(items=count, baseline=None if one_arm else baseline, candidate=candidate)
        for (baseline, candidate), count in sorted(Counter(filling.values()).items())
    )
