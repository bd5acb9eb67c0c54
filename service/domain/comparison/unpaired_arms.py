"""Arms on items of their own: the outcomes, clusters and covariates of each, and which items have no result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.domain.comparison.pairing import ItemsOfArm, group_by_item
from service.domain.comparison.records import PairingSaves
from service.domain.comparison.request import ArmRows, ComparisonRequest
from service.domain.faults import Faults
from service.errors import InvalidData

Floats = NDArray[np.float64]

LEAST_SHARED = 20
"""Items in both arms from which the correlation of their outcomes is measured."""
USUAL = 0.5
"""The correlation that stands for one that was not."""


@dataclass(frozen=True, eq=False)
class Arm:
    """The items of one arm that have a result, and those that have none."""

    item_ids: Sequence[str]
    values: Floats
    clusters: Sequence[str] | None
    covariates: Mapping[str, Sequence[float]]
    lacking: Mapping[str, str]
    """Each with its cluster, one of its own where none is told."""

    def fill(self, value: float) -> Arm:
        """Return the arm with one outcome for every item that has none, in its cluster; without covariates."""
        values = np.concatenate([self.values, np.full(len(self.lacking), value)])
        clusters = None if self.clusters is None else [*self.clusters, *self.lacking.values()]
        return Arm([*self.item_ids, *self.lacking], values, clusters, {}, {})


def arms_of(request: ComparisonRequest, *, lower: bool) -> tuple[Arm, Arm]:
    """Return baseline and candidate. `lower`: the outcomes are turned round.

    Raises:
        InvalidData: an item twice in an arm, clusters of some items alone, or what is missing counts as 0 and scores
            can be worse.
    """
    faults = Faults()
    grouped = [
        group_by_item(rows, f"{side}.", faults)
        for side, rows in (("baseline", request.baseline), ("candidate", request.candidate))
    ]
    faults.raise_if_any()
    before, after = (
        _build_arm(rows, of_items, request, side, lower=lower)
        for side, rows, of_items in zip(
            ("baseline", "candidate"), (request.baseline, request.candidate), grouped, strict=True
        )
    )
    if (before.clusters is None) != (after.clusters is None):
        lacks = "baseline" if before.clusters is None else "candidate"
        fix = "name a cluster for every item of both arms, or for none"
        raise InvalidData.field(f"{lacks}.clusters", "has none where the other arm has", fix)
    return before, after


def _build_arm(
    rows: ArmRows, of_items: ItemsOfArm, request: ComparisonRequest, side: str, *, lower: bool
) -> Arm:
    """One arm's items with their means, clusters and covariates, and the items without a result."""
    fail = request.missing == "fail"
    if fail and any(len(values) < of_items.runs for values in of_items.values.values()):
        _require_zero_worst(of_items, request, lower=lower)
    lacking = [item_id for item_id, values in of_items.values.items() if not values and not fail]
    item_ids = [item_id for item_id, values in of_items.values.items() if values or fail]
    values = [of_items.mean(item_id, fail=fail) for item_id in item_ids]
    cluster_of = of_items.labels.get("clusters", {})
    without = [item_id for item_id in item_ids if item_id not in cluster_of]
    if cluster_of and without:
        raise InvalidData.field(
            f"{side}.clusters",
            f"{len(without)} of {len(item_ids)} items have no cluster, the first is '{without[0]}'",
            "name a cluster for every item, one of its own where it shares none, or for no item",
        )
    place = {item_id: row for row, item_id in enumerate(rows.item_ids)}
    covariates = {
        name: [column[place[item_id]] for item_id in item_ids]
        for name, column in (rows.covariates or {}).items()
    }
    clusters = [cluster_of[item_id] for item_id in item_ids] if cluster_of else None
    alone = {item_id: cluster_of.get(item_id, f"{item_id} alone") for item_id in lacking}
    return Arm(item_ids, np.array(values, dtype=np.float64), clusters, covariates, alone)


def _require_zero_worst(of_items: ItemsOfArm, request: ComparisonRequest, *, lower: bool) -> None:
    """Refuse to count what is missing as 0 where scores can be worse."""
    known = [value for values in of_items.values.values() for value in values]
    least = min(known, default=0.0) if request.range is None else request.range.low
    if lower or least < 0 or (least > 0 and request.range is not None):
        raise InvalidData.field(
            "missing",
            "counts what has no result as 0, which is not the worst score there can be",
            "leave such items out (exclude_pair), or send the score of a failure as their value",
        )


def pairing_saves(baseline: Arm, candidate: Arm) -> PairingSaves | None:
    """Estimate what the same items save of the variance (s0^2 + s1^2) / n of unpaired arms: 2 r s0 s1 / n."""
    if min(len(baseline.values), len(candidate.values)) < 2:
        return None
    s0, s1 = float(baseline.values.std(ddof=1)), float(candidate.values.std(ddof=1))
    if s0 * s1 == 0:
        return None
    places = {item_id: row for row, item_id in enumerate(baseline.item_ids)}
    shared = [(places[item_id], row) for row, item_id in enumerate(candidate.item_ids) if item_id in places]
    correlation, measured = USUAL, None
    if len(shared) >= LEAST_SHARED:
        before, after = (np.array(rows) for rows in zip(*shared, strict=True))
        x, y = baseline.values[before], candidate.values[after]
        if x.std() > 0 and y.std() > 0:
            correlation, measured = float(np.corrcoef(x, y)[0, 1]), len(shared)
    needed = 1 - 2 * correlation * s0 * s1 / (s0**2 + s1**2)
    return PairingSaves(correlation=correlation, items_needed=needed, measured_on=measured)
