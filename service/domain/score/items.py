"""From one arm's rows to items with their runs, and what has no result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from service.domain.comparison.pairing import group_by_item, require_tasks
from service.domain.faults import Faults
from service.domain.score.request import ScoreRequest
from service.errors import InvalidData


@dataclass(frozen=True, slots=True)
class Items:
    """Items in the order of the rows: their ids, the outcomes of their runs (none without a result), and labels."""

    item_ids: Sequence[str]
    runs: Sequence[Sequence[float]]
    clusters: Sequence[str] | None
    slices: Sequence[str | None] | None
    most_runs: int
    """Runs of the item with the most, whether they have a result or not."""
    tasks: Sequence[str] | None = None

    @property
    def lacking(self) -> list[str]:
        """Ids of the items without a result."""
        return [item_id for item_id, runs in zip(self.item_ids, self.runs, strict=True) if not runs]

    @property
    def scored(self) -> Items:
        """The items that have a result."""
        return self.where([bool(runs) for runs in self.runs])

    def of_slice(self, name: str) -> Items:
        """Return the items of one slice."""
        return self.where([label == name for label in self.slices or ()])

    def fill(self, value: float) -> Items:
        """Fill every item up to as many runs as the one with the most; those without a result have `value`."""
        return replace(self, runs=[[*runs, *[value] * (self.most_runs - len(runs))] for runs in self.runs])

    def where(self, kept: Sequence[bool]) -> Items:
        """Return the same columns of those items alone."""
        rows = [row for row, keep in enumerate(kept) if keep]
        return replace(
            self,
            item_ids=[self.item_ids[row] for row in rows],
            runs=[self.runs[row] for row in rows],
            clusters=None if self.clusters is None else [self.clusters[row] for row in rows],
            slices=None if self.slices is None else [self.slices[row] for row in rows],
            tasks=None if self.tasks is None else [self.tasks[row] for row in rows],
        )


def group(request: ScoreRequest) -> Items:
    """Return the rows by item.

    Raises:
        InvalidData: an item twice (or twice in a run), in two clusters or slices, or only some items with a cluster.
    """
    faults = Faults()
    arm = group_by_item(request, "", faults)
    faults.raise_if_any()
    item_ids = list(arm.values)
    clusters, slices = arm.labels.get("clusters"), arm.labels.get("slices")
    tasks = arm.labels.get("tasks", {})
    require_tasks(item_ids, tasks, "")
    lacking = [] if not clusters else [item_id_ for item_id_ in item_ids if item_id_ not in clusters]
    if lacking:
        raise InvalidData.field(
            "clusters",
            f"{len(lacking)} of {len(item_ids)} items have no cluster, the first is '{lacking[0]}'",
            "name a cluster for every item, one of its own where it shares none, or for no item",
        )
    return Items(
        item_ids,
        list(arm.values.values()),
        [clusters[item_id_] for item_id_ in item_ids] if clusters else None,
        [slices.get(item_id_) for item_id_ in item_ids] if slices else None,
        arm.runs,
        [tasks[item_id_] for item_id_ in item_ids] if tasks else None,
    )
