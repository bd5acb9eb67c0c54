"""From two arms' rows to pairs by item id, and what did not pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.domain.comparison.records import Unpaired
from service.domain.comparison.request import ArmRows, ComparisonRequest
from service.domain.faults import Faults
from service.errors import InvalidData

Floats = NDArray[np.float64]
SHOWN = 5
"""Ids of each kind that an answer names."""


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

    @property
    def n(self) -> int:
        """Items."""
        return len(self.item_ids)

    @property
    def binary(self) -> bool:
        """Every outcome is 0 or 1."""
        both = np.concatenate([self.baseline, self.candidate])
        return bool(np.all((both == 0) | (both == 1)))

    def of_slice(self, name: str) -> Pairs:
        """The items of one slice."""
        kept = [row for row, each in enumerate(self.slices or ()) if each == name]
        return Pairs(
            [self.item_ids[row] for row in kept],
            self.baseline[kept],
            self.candidate[kept],
            None if self.clusters is None else [self.clusters[row] for row in kept],
            None,
            self.averaged,
        )


@dataclass(frozen=True, slots=True)
class _Arm:
    """An arm by item: the mean of the results there are, or None."""

    values: dict[str, float | None]
    labels: Mapping[str, dict[str, str]]
    averaged: bool


def pair(request: ComparisonRequest) -> tuple[Pairs, Unpaired]:
    """Pair by item id, in the order of the baseline's rows.

    Raises:
        InvalidData: an item twice in an arm (or twice in a run of it), an item in two clusters or slices, or only
            some items with a cluster.
    """
    faults = Faults()
    arms = [
        _by_item(getattr(request, name), name, fail=request.missing == "fail", faults=faults)
        for name in ("baseline", "candidate")
    ]
    before, after = arms
    shared = [each for each in before.values if each in after.values]
    labels = {kind: _agreed(kind, shared, arms, faults) for kind in ("clusters", "slices")}
    faults.raise_if_any()
    there = [each for each in shared if before.values[each] is not None and after.values[each] is not None]
    clusters = _complete(there, labels["clusters"])
    slices = labels["slices"]
    pairs = Pairs(
        there,
        _column(before, there),
        _column(after, there),
        clusters,
        [slices.get(each) for each in there] if slices else None,
        any(arm.averaged for arm in arms),
    )
    kept = set(there)
    lone = [
        [each for each in arm.values if each not in other.values]
        for arm, other in ((before, after), (after, before))
    ]
    without = [each for each in shared if each not in kept]
    return pairs, Unpaired(
        only_baseline=len(lone[0]),
        only_baseline_ids=tuple(lone[0][:SHOWN]),
        only_candidate=len(lone[1]),
        only_candidate_ids=tuple(lone[1][:SHOWN]),
        missing=len(without),
        missing_ids=tuple(without[:SHOWN]),
    )


def _by_item(rows: ArmRows, name: str, *, fail: bool, faults: Faults) -> _Arm:
    found: dict[str, list[float]] = {}
    seen: set[tuple[str, int]] = set()
    columns = {kind: column for kind in ("clusters", "slices") if (column := getattr(rows, kind)) is not None}
    labels: dict[str, dict[str, str]] = {kind: {} for kind in columns}
    for row, (item_id, value) in enumerate(zip(rows.item_ids, rows.values, strict=True)):
        key = item_id, 1 if rows.replicates is None else rows.replicates[row]
        if key in seen:
            fix = "send an item once, or number its runs in replicates"
            faults.row(f"{name}.item_ids", row, f"has item '{item_id}' again", fix)
        seen.add(key)
        values = found.setdefault(item_id, [])
        if value is not None or fail:
            values.append(value or 0.0)
        for kind, column in columns.items():
            label = column[row]
            if label is not None and labels[kind].setdefault(item_id, label) != label:
                faults.row(
                    f"{name}.{kind}", row, f"puts item '{item_id}' elsewhere", "send one for each item"
                )
    means = {item_id: sum(values) / len(values) if values else None for item_id, values in found.items()}
    return _Arm(means, labels, len(rows.item_ids) > len(found))


def _agreed(kind: str, shared: Sequence[str], arms: Sequence[_Arm], faults: Faults) -> dict[str, str]:
    """Each shared item's cluster or slice: either arm may say it, and both have to agree."""
    told = [arm.labels.get(kind, {}) for arm in arms]
    agreed: dict[str, str] = {}
    for item_id in shared:
        said = {labels[item_id] for labels in told if item_id in labels}
        if len(said) > 1:
            faults.add(
                f"candidate.{kind}", f"puts item '{item_id}' elsewhere than the baseline does", "mend one"
            )
        elif said:
            agreed[item_id] = said.pop()
    return agreed


def _complete(items: Sequence[str], clusters: Mapping[str, str]) -> list[str] | None:
    """Clusters of all items or of none: an item without one would count as independent unseen."""
    if not clusters:
        return None
    lacking = [each for each in items if each not in clusters]
    if lacking:
        raise InvalidData.field(
            "baseline.clusters",
            f"{len(lacking)} of {len(items)} items have no cluster, the first is '{lacking[0]}'",
            "name a cluster for every item, one of its own where it shares none, or for no item",
        )
    return [clusters[each] for each in items]


def _column(arm: _Arm, items: Sequence[str]) -> Floats:
    return np.array([arm.values[each] for each in items], dtype=np.float64)
