"""Several systems from one table, long or wide, as the request of a leaderboard; and its answer in lines."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from forelock.columns import Named, Unnamed, fitting, named
from forelock.hints import Refused, Way
from forelock.problem import FileFault
from forelock.rows import Row, cell_in, join_cluster, number_in, read_table
from forelock.text import plain, wrapped

Json = dict[str, Any]
LONG = ("item_id", "arm", "value")
NOT_ARMS = ("item_id", "cluster")
SHOWN = 20
MOST_COLUMNS = 12
"""Columns that are tried where one has to be named."""
_NO_NAME = re.compile(r"|Unnamed: [0-9]+")
OTHERWISE = "a leaderboard takes items that all arms have"


def request_of(path: str, given: Mapping[str, str] | None = None) -> tuple[Json, tuple[str, ...]]:
    """The request of a file, and what was taken for what, in sentences. `given` names columns by what they are for.

    Raises:
        Refused: columns have to be named, with those that may be meant.
        FileFault: naming the line.
    """
    given, rows = given or {}, read_table(path)
    try:
        columns, by_role = columns_of(rows, path, given)
    except Unnamed as unnamed:
        role = unnamed.roles[0]
        others = [name for name in rows[0].cells if name and name not in given.values()]
        ways = [
            Way(f"--set {shlex.quote(f'{role}={name}')}", {**given, role: name})
            for name in others[:MOST_COLUMNS]
        ]
        raise Refused(unnamed.found, ways, f"call the column of the {role} so in the first line") from None
    return columns, (*by_role.said(), *by_role.unread(_is_cluster(rows, path, given, by_role.shared)))


def _is_cluster(rows: list[Row], path: str, given: Mapping[str, str], column: str | None) -> bool:
    """Whether a column would be taken for clusters."""
    if column is None:
        return False
    try:
        columns_of(rows, path, {**given, "cluster": column})
    except FileFault:
        return False
    return True


def columns_of(rows: list[Row], path: str, given: Mapping[str, str] | None = None) -> tuple[Json, Named]:
    """`arms`, and `clusters` where there is such a column; and which column was taken for what, or not read.

    Long: columns item_id, arm, value. Wide: one column for each arm, and item_id where it likes. Items that some arm
    lacks cannot be compared over all pairs, so they are refused. `path` is what faults call the table.

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
        values[item_id] = number_in(row, "value", path, OTHERWISE)
        join_cluster(row, item_id, clusters, path)
    item_ids = list(dict.fromkeys(item_id for values in arms.values() for item_id in values))
    for name, values in arms.items():
        lacking = [item_id_ for item_id_ in item_ids if item_id_ not in values]
        if lacking:
            more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
            raise FileFault(
                f"{path}: arm '{name}' lacks item '{lacking[0]}'{more}; all arms take the same items"
            )
    columns: Json = {
        "arms": {name: [values[item_id_] for item_id_ in item_ids] for name, values in arms.items()}
    }
    if clusters:
        columns["clusters"] = [_cluster(clusters.get(item_id_), item_id_, path) for item_id_ in item_ids]
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
    columns: Json = {"arms": {name: [number_in(row, name, path, OTHERWISE) for row in rows] for name in arms}}
    if "cluster" in names:
        columns["clusters"] = [_cluster(row.cells["cluster"], row.place, path) for row in rows]
    return columns


def _cluster(label: object, item: str, path: str) -> str:
    if not label:
        raise FileFault(
            f"{path}: {item} has no cluster, and others have; name one for every item or for none"
        )
    return str(label)


def ranked_text(answer: Mapping[str, Any], remarks: Sequence[str] = ()) -> str:
    """The sentence, then the arms with the ranks that are left open, then what is tied."""
    analysis = answer["analysis"]
    lines = [wrapped(analysis["sentence"]), ""]
    width = max(len(plain(each["name"])) for each in analysis["arms"])
    for each in analysis["arms"]:
        ranks = (
            f"{each['rank_low']}"
            if each["rank_low"] == each["rank_high"]
            else f"{each['rank_low']}-{each['rank_high']}"
        )
        best = "  may be the best" if each["may_be_best"] else ""
        lines.append(
            f"  {each['rank']:>3}  {plain(each['name']):<{width}}  {each['mean']:.4g}  rank {ranks}{best}"
        )
    tied = [", ".join(map(plain, names)) for names in analysis["tied_sets"] if len(names) > 1]
    lines += ["", *(f"  not told apart: {each}" for each in tied[:SHOWN])] if tied else []
    lines += [f"{each['code']}: {plain(each['message'])}" for each in answer.get("warnings") or ()]
    lines += ["", *(wrapped(f"note: {plain(remark)}") for remark in remarks)] if remarks else []
    return "\n".join([*lines, "", "exploratory: no plan was locked before these data"])
