"""From two arms' rows to pairs by item id, and what did not pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from service.domain.comparison.request import ArmRows, ComparisonRequest
from service.domain.faults import Faults
from service.errors import InvalidData
from service.stats.shared.data.score_range import ScoreRange

if TYPE_CHECKING:
    from service.domain.comparison.records import Unpaired

Floats = NDArray[np.float64]
SHOWN = 5
"""Ids of each kind that an answer names."""
_LABELS = ("clusters", "slices", "tasks")


@dataclass(frozen=True, eq=False)
class Pairs:
    """Items that both arms have a result of: columns of shape (n,)."""

    item_ids: Sequence[str]
    baseline: Floats
    candidate: Floats
    clusters: Sequence[str] | None
    slices: Sequence[str | None] | None
    averaged: bool
    """Some item has several runs, of which the mean is taken."""
    tasks: Sequence[str] | None = None

    @property
    def n(self) -> int:
        """How many items have a result in both arms."""
        return len(self.item_ids)

    @property
    def binary(self) -> bool:
        """Every outcome is 0 or 1."""
        both = np.concatenate([self.baseline, self.candidate])
        return bool(np.all((both == 0) | (both == 1)))

    def of_slice(self, name: str) -> Pairs:
        """Return the items of one slice."""
        rows = [row for row, label in enumerate(self.slices or ()) if label == name]
        return Pairs(
            [self.item_ids[row] for row in rows],
            self.baseline[rows],
            self.candidate[rows],
            None if self.clusters is None else [self.clusters[row] for row in rows],
            None,
            self.averaged,
        )


@dataclass(frozen=True, slots=True)
class ItemsOfArm:
    """An arm by item: the results there are, of items without one none; and how many runs an item has."""

    values: dict[str, list[float]]
    labels: Mapping[str, dict[str, str]]
    runs: int

    def mean(self, item_id: str, *, fail: bool) -> float:
        """Return the mean of an item that has a result; where a missing one fails, of all runs, and 0 without any.

        A run without a row is as one whose result is empty: what an item of the arm has, all of them have.
        """
        values = self.values.get(item_id, [])
        return sum(values) / (self.runs if fail else len(values))


@dataclass(frozen=True, eq=False)
class Everything:
    """Every item that some row names, with what each arm has of it."""

    item_ids: Sequence[str]
    arms: tuple[ItemsOfArm, ItemsOfArm]
    clusters: Mapping[str, str]
    slices: Mapping[str, str]
    tasks: Mapping[str, str]

    def has(self, arm: int, item_id: str) -> bool:
        """Tell whether the arm has a result of the item."""
        return bool(self.arms[arm].values.get(item_id))

    @cached_property
    def paired(self) -> list[str]:
        """Items of which both arms have a result."""
        return [item_id for item_id in self.item_ids if self.has(0, item_id) and self.has(1, item_id)]

    @cached_property
    def known(self) -> list[str]:
        """Items of which some arm has a result; of the others nothing is known, least of all that the arms agree."""
        return [item_id for item_id in self.item_ids if self.has(0, item_id) or self.has(1, item_id)]

    @property
    def one_sided(self) -> bool:
        """Whether some item has a result in one arm alone."""
        return len(self.paired) < len(self.known)

    @cached_property
    def outcomes(self) -> tuple[float, float]:
        """The least and the greatest outcome there is, 0 and 1 where all are one of them."""
        values = {value for arm in self.arms for of_item in arm.values.values() for value in of_item}
        return (0.0, 1.0) if values <= {0.0, 1.0} else (min(values), max(values))

    def least(self, declared: ScoreRange | None) -> float:
        """Return the worst score there can be, as far as is known."""
        return self.outcomes[0] if declared is None else declared.low

    def zero_is_worst(self, declared: ScoreRange | None) -> bool:
        """Tell whether 0 is a score there can be, and none is worse."""
        least = self.least(declared)
        return least == 0 or (least > 0 and declared is None)

    def require_zero_worst(self, declared: ScoreRange | None, *, lower: bool) -> None:
        """Refuse to count what is missing as 0 where 0 is no score there can be, or scores can be worse.

        `lower`: the outcomes are turned round, since lower ones are better.

        Raises:
            InvalidData: some result is missing, and 0 would not speak against the arm that lacks it.
        """
        every = all(
            len(arm.values.get(item_id, ())) >= arm.runs for arm in self.arms for item_id in self.known
        )
        if every or self.zero_is_worst(declared):
            return
        least, what = self.least(declared), "is better than the worst score"
        if lower:
            seen = f"scores reach {-least:.10g}"
        else:
            what = what if least < 0 else "is no score there can be"
            seen = f"scores begin at {least:.10g}"
        raise InvalidData.field(
            "missing",
            f"counts what has no result as 0, which {what}: {seen}",
            "leave such items out (exclude_pair), or send the score of a failure as their value",
        )

    def fill(self, instead: tuple[float, float], *, fail: bool, alone: float | None = None) -> Pairs:
        """Pair all items, with one outcome for what the baseline has no result of, and one for the candidate.

        `alone`: the outcome where the other arm has a result. An item that says no cluster is one of its own: it may
        be none of the items that are compared.
        """
        clusters = [self.clusters.get(item_id, f"{item_id} alone") for item_id in self.item_ids]
        return self.pairs(self.item_ids, clusters if self.clusters else None, instead, fail=fail, alone=alone)

    def pairs(
        self,
        item_ids: Sequence[str],
        clusters: Sequence[str] | None,
        instead: tuple[float, float] = (0.0, 0.0),
        *,
        fail: bool,
        alone: float | None = None,
    ) -> Pairs:
        """Pair these items, with one outcome for what the baseline has no result of, and one for the candidate.

        `alone`: the outcome where the other arm has a result.
        """

        def outcome(at: int, item_id: str) -> float:
            if self.has(at, item_id):
                return self.arms[at].mean(item_id, fail=fail)
            return instead[at] if alone is None or not self.has(1 - at, item_id) else alone

        columns = [
            np.array([outcome(at, item_id) for item_id in item_ids], dtype=np.float64) for at in (0, 1)
        ]
        return Pairs(
            item_ids,
            columns[0],
            columns[1],
            clusters,
            [self.slices.get(item_id) for item_id in item_ids] if self.slices else None,
            any(arm.runs > 1 for arm in self.arms),
            [self.tasks[item_id] for item_id in item_ids] if self.tasks else None,
        )


def pair(request: ComparisonRequest, *, lower: bool) -> tuple[Pairs, Unpaired, Everything]:
    """Pair by item id, in the order of the baseline's rows.

    A result that is absent, empty or null is one thing: the item is left out, or counts as 0 where `missing` is `fail`
    and the other arm has a result. `lower`: the outcomes are turned round.

    Raises:
        InvalidData: an item twice in an arm (or twice in a run of it), an item in two clusters or slices, or only
            some items with a cluster; or what is missing counts as 0 and scores can be worse.
    """
    faults = Faults()
    before = group_by_item(request.baseline, "baseline.", faults)
    after = group_by_item(request.candidate, "candidate.", faults)
    every = list(dict.fromkeys([*before.values, *after.values]))
    labels = {kind: _agree(kind, every, (before, after), faults) for kind in _LABELS}
    faults.raise_if_any()
    require_tasks(every, labels["tasks"], "baseline.")
    everything = Everything(every, (before, after), **labels)
    fail = request.missing == "fail"
    if fail:
        everything.require_zero_worst(request.range, lower=lower)
    items = everything.known if fail else everything.paired
    pairs = everything.pairs(items, _complete(items, everything.clusters), fail=fail)
    return pairs, _describe_unpaired(everything, before, after, fail=fail), everything


def _describe_unpaired(
    everything: Everything, before: ItemsOfArm, after: ItemsOfArm, *, fail: bool
) -> Unpaired:
    """Return what became of the items that are not in both arms."""
    # a score, which groups items too, answers sooner without
    from service.domain.comparison.records import Unpaired

    paired, known = set(everything.paired), set(everything.known)
    lone = [
        [value for value in arm.values if value in known and value not in other.values]
        for arm, other in ((before, after), (after, before))
    ]
    without = [
        item_id
        for item_id in everything.known
        if item_id in before.values and item_id in after.values and item_id not in paired
    ]
    neither = [item_id for item_id in everything.item_ids if item_id not in known]
    return Unpaired(
        counted="as_0" if fail else "left_out",
        only_baseline=len(lone[0]),
        only_baseline_ids=tuple(lone[0][:SHOWN]),
        only_candidate=len(lone[1]),
        only_candidate_ids=tuple(lone[1][:SHOWN]),
        missing=len(without),
        missing_ids=tuple(without[:SHOWN]),
        neither=len(neither),
        neither_ids=tuple(neither[:SHOWN]),
    )


def group_by_item(rows: ArmRows, path: str, faults: Faults) -> ItemsOfArm:
    """Group one arm's rows by item; faults name columns after `path`."""
    values_by_item: dict[str, list[float]] = {}
    count: Counter[str] = Counter(rows.item_ids)
    seen: set[tuple[str, int]] = set()
    columns = {kind: column for kind in _LABELS if (column := getattr(rows, kind)) is not None}
    labels: dict[str, dict[str, str]] = {kind: {} for kind in columns}
    for row, (item_id, value) in enumerate(zip(rows.item_ids, rows.values, strict=True)):
        key = item_id, 1 if rows.replicates is None else rows.replicates[row]
        if key in seen:
            fix = "send an item once, or number its runs in replicates"
            if rows.tasks is not None:
                fix += "; items of two tasks need ids of their own, such as task/item"
            faults.row(f"{path}item_ids", row, f"has item '{item_id}' again", fix)
        seen.add(key)
        values = values_by_item.setdefault(item_id, [])
        if value is not None:
            values.append(value)
        for kind, column in columns.items():
            label = column[row]
            if label is not None and labels[kind].setdefault(item_id, label) != label:
                faults.row(f"{path}{kind}", row, f"puts item '{item_id}' elsewhere", "send one for each item")
    return ItemsOfArm(values_by_item, labels, max(count.values()))


def require_tasks(items: Sequence[str], tasks: Mapping[str, str], path: str) -> None:
    """Refuse items without a task where others have one.

    Raises:
        InvalidData: with the first of them.
    """
    lacking = [item_id for item_id in items if item_id not in tasks] if tasks else []
    if lacking:
        message = f"{len(lacking)} of {len(items)} items have no task, the first is '{lacking[0]}'"
        raise InvalidData.field(f"{path}tasks", message, "name a task for every item, or for no item")


def _agree(kind: str, items: Sequence[str], arms: Sequence[ItemsOfArm], faults: Faults) -> dict[str, str]:
    """Return each item's cluster or slice: either arm may say it, and both have to agree."""
    labels_by_arm = [arm.labels.get(kind, {}) for arm in arms]
    agreed: dict[str, str] = {}
    for item_id in items:
        stated = {labels[item_id] for labels in labels_by_arm if item_id in labels}
        if len(stated) > 1:
            faults.add(
                f"candidate.{kind}", f"puts item '{item_id}' elsewhere than the baseline does", "mend one"
            )
        elif stated:
            agreed[item_id] = stated.pop()
    return agreed


def _complete(items: Sequence[str], clusters: Mapping[str, str]) -> list[str] | None:
    """Clusters of all items or of none: an item without one would count as independent unseen."""
    if not clusters:
        return None
    lacking = [item for item in items if item not in clusters]
    if lacking:
        raise InvalidData.field(
            "baseline.clusters",
            f"{len(lacking)} of {len(items)} items have no cluster, the first is '{lacking[0]}'",
            "name a cluster for every item, one of its own where it shares none, or for no item",
        )
    return [clusters[item] for item in items]
