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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from pydantic import Field

from service.domain.deviations.as_run import seconds, verdicts_of
from service.domain.deviations.doubtful_items import DoubtfulItems, Doubts, Key
from service.domain.deviations.fillings import Kind, Pair, fillings
from service.domain.plans.plan import TestUse
from service.domain.plans.sections.hypothesis import Hypothesis
from service.domain.rules.settings import Setting
from service.domain.verdicts.outcomes import NOT_RECEIVED, Outcomes, Rows
from service.domain.verdicts.records import Outcome
from service.domain.verdicts.stopping import is_sequential
from service.domain.verdicts.validity import invalidating
from service.domain.verdicts.worst_case import why_no_worst_case
from service.records import Record
from service.stats.shared.declaring import registry
from service.words import say

MAX_EVALUATIONS = 5_000
"""Fillings that one search judges."""
MAX_FILLINGS = 25_000
"""Fillings that one search looks at; most are refuted by their difference alone."""

FEWEST = 20
"""Fillings that the budget has to allow for a search to begin."""

_OF_DIFFERENCES = {"delta", "p_value", "ci", "n", "n_discordant", "n_clusters"}
"""Fields that depend on the items' differences alone, where their test does."""


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
    items = DoubtfulItems(rows, setting, doubts)
    if not len(items.positions):
        return None
    per_filling = seconds(items.rows)
    allowed = min(MAX_EVALUATIONS, int(budget / max(per_filling, 1e-6)))
    start = items.outcome({})
    kinds = items.kinds(_ties_alike(setting))
    affordable = allowed >= FEWEST
    change = _smallest_change(items, kinds, start, allowed) if affordable else _Change(None, None, 1, False)
    known = None if change.filling is None else len(change.filling)
    return TippingPoint(
        hypothesis=hypothesis.id,
        missing=int(np.count_nonzero(items.missing & ~items.left_out)),
        left_out=int(np.count_nonzero(items.left_out)),
        disputed=int(np.count_nonzero(items.disputed)),
        outcome=start,
        items=known if change.settled else None,
        at_least=change.at_least if known is not None or not change.settled else None,
        at_most=known,
        outcome_then=change.outcome,
        filling=_count_fillings(change.filling or {}, one_arm=items.one_arm),
        robust=known is None if change.settled or known is not None else None,
        worst=_bound(items, -1) if affordable else None,
        best=_bound(items, 1) if affordable else None,
        evaluations=items.evaluations,
        reason=None if change.settled else "the search ended before every smaller filling was tried",
    )


def _bound(items: DoubtfulItems, sign: int) -> Bound:
    extreme = items.judge_extreme(sign)
    return Bound(delta=extreme.delta, outcome=extreme.outcome)


@dataclass(frozen=True, slots=True)
class _Change:
    """A filling that changes the outcome, as far as the search came."""

    filling: Mapping[int, Pair] | None
    """The smallest one known to change the outcome."""
    outcome: Outcome | None
    at_least: int
    """No filling of fewer items changes it; all of them and one more: none does."""
    settled: bool
    """Whether every filling of fewer items was tried."""


def _smallest_change(items: DoubtfulItems, kinds: Sequence[Kind], start: Outcome, allowed: int) -> _Change:
    """The filling by pushing one way, unless one of the fillings of fewer items, all of them tried, does it too."""
    most = sum(len(kind.positions) for kind in kinds if kind.targets)
    known = _push_either_way(items, start)
    below = most + 1 if known is None else len(known[0])
    filling, outcome = known or (None, None)
    looked = 0
    for size in range(1, below):
        for attempt in fillings(kinds, size):
            if items.evaluations >= allowed or looked >= MAX_FILLINGS:
                return _Change(filling, outcome, size, False)
            looked += 1
            reached = items.outcome(attempt)
            if reached != start:
                return _Change(attempt, reached, size, True)
    return _Change(filling, outcome, below, True)


def _push_either_way(items: DoubtfulItems, start: Outcome) -> tuple[Mapping[int, Pair], Outcome] | None:
    """A filling that changes the outcome by pushing one item after the other the same way; None if neither way does.

    Bisection finds the least number of steps where steps only ever help; what it returns changes the
    outcome whether they do or not.
    """
    ways = [pushed for sign in (-1, 1) if (pushed := _push(items, start, sign)) is not None]
    return min(ways, key=lambda way: len(way[0]), default=None)


def _push(items: DoubtfulItems, start: Outcome, sign: int) -> tuple[Mapping[int, Pair], Outcome] | None:
    """By bisection a number of steps down (-1) or up (+1) that changes the outcome; None where all of them do not."""
    steps = items.steps(sign)
    low, high = 0, len(steps)
    outcome = items.outcome(dict(steps))
    if outcome == start:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        reached = items.outcome(dict(steps[:middle]))
        if reached == start:
            low = middle
        else:
            high, outcome = middle, reached
    return dict(steps[:high]), outcome


def _ties_alike(setting: Setting) -> bool:
    """Tell whether everything the rule reads depends on the differences alone."""
    if setting.hypothesis.equivalence is not None:
        return False
    uses = [setting.plan.test(name) for name in setting.tests]
    fields = [clause.field.path[0] for clause in setting.clauses]
    multiplicity = setting.plan.multiplicity
    return (
        all(use is not None and _sees_differences_alone(use) for use in uses)
        and all(name in _OF_DIFFERENCES for name in fields)
        and (multiplicity is None or multiplicity.policy == "none")
    )


def _sees_differences_alone(use: TestUse) -> bool:
    """Tell whether a test's answer is the same for (0, 0) as for (1, 1), with the parameters of this use."""
    plan = registry.find(use.test, use.version).plan
    alone = plan is not None and plan.differences_alone
    return alone and not {"metric", "ci_method"} & set(use.parameters)


def _refusal(rows: Rows, setting: Setting) -> TippingPoint | None:
    """Return where the search does not apply, and why."""
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
    """Tell whether the collection was closed before all results of these cells were in."""
    cells = (outcomes.cells[key] for key in keys if key in outcomes.cells)
    return outcomes.closed and any(np.any(cell.statuses == NOT_RECEIVED) for cell in cells)


def _count_fillings(filling: Mapping[int, Pair], *, one_arm: bool) -> tuple[Filling, ...]:
    """Return how many items take each pair of values."""
    return tuple(
        Filling(items=count, baseline=None if one_arm else baseline, candidate=candidate)
        for (baseline, candidate), count in sorted(Counter(filling.values()).items())
    )
