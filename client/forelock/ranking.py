"""Several systems from the text of one table, long or wide, as the request of a leaderboard."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from forelock.columns import Named, fitting, named
from forelock.problem import FileFault
from forelock.rows import Row, cell_in, join_cluster, number_in

Json = dict[str, Any]
LONG = ("item_id", "arm", "value")
NOT_ARMS = ("item_id", "cluster")
_NO_NAME = re.compile(r"|Unnamed: [0-9]+")
OTHERWISE = "leave the cell empty where there is no result"


def columns_of(rows: list[Row], path: str, given: Mapping[str, str] | None = None) -> tuple[Json, Named]:
    """`arms`, and `clusters` where there is such a column; and which column was taken for what, or not read.

    Long: columns item_id, arm, value. Wide: one column for each arm, and item_id where it likes. An outcome that is not
    there is None. `path` is what faults call the table.

    Raises:
        FileFault: naming the line.
    """
    given = given or {}
    columns = list(rows[0].cells)
    if {"arm", "value"} & set(given) or all(fitting(role, columns) for role in ("arm", "value")):
        chosen = named(columns, path, LONG, ("cluster",), given)
        return _long(chosen.rows(rows), path), chosen
    chosen = named(columns, path, (), NOT_ARMS, given)
    return _wide(chosen.rows(rows), path), replace(chosen, left=())


def _long(rows: list[Row], path: str) -> Json:
    arms: dict[str, dict[str, float]] = {}
    clusters: dict[str, str] = {}
    for row in rows:
        item_id, arm = (cell_in(row, name, path) for name in ("item_id", "arm"))
        values = arms.setdefault(arm, {})
        if item_id in values:
            fault = f"{path} {row.place}: has item '{item_id}' of arm '{arm}' again"
            raise FileFault(f"{fault}; leave one of them, or the mean of its runs")
        if _has(row, "value"):
            values[item_id] = number_in(row, "value", path, OTHERWISE)
        join_cluster(row, item_id, clusters, path)
    item_ids = list(dict.fromkeys(item_id for values in arms.values() for item_id in values))
    columns: Json = {
        "arms": {name: [values.get(item_id) for item_id in item_ids] for name, values in arms.items()}
    }
    if clusters:
        columns["clusters"] = [_cluster(clusters.get(item_id), item_id, path) for item_id in item_ids]
    return columns


def _wide(rows: list[Row], path: str) -> Json:
    names = list(rows[0].cells)
    arms = [name for name in names if name not in NOT_ARMS]
    if len(arms) < 2:
        raise FileFault(
            f"{path}: needs columns item_id, arm and value, or a column for each of two arms or more"
        )
    if any(_NO_NAME.fullmatch(name) for name in names):
        raise FileFault(
            f"{path}: has a column without a name, as data frames write their index; name it, or leave it out"
        )
    columns: Json = {
        "arms": {
            name: [number_in(row, name, path, OTHERWISE) if _has(row, name) else None for row in rows]
            for name in arms
        }
    }
    if "cluster" in names:
        columns["clusters"] = [_cluster(row.cells["cluster"], row.place, path) for row in rows]
    return columns


def _has(row: Row, column: str) -> bool:
    """Whether there is a result: an empty cell is none."""
    return bool(str(row.cells[column] or "").strip())


def _cluster(label: object, item: str, path: str) -> str:
    if not label:
        raise FileFault(
            f"{path}: {item} has no cluster, and others have; name one for every item or for none"
        )
    return str(label)
