"""Several systems from one table, long or wide, as the request of a leaderboard; and its answer in lines."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from typing import Any

from forelock import files
from forelock.problem import FileFault
from forelock.text import plain

Json = dict[str, Any]
LONG = ("item_id", "arm", "value")
NOT_ARMS = ("item_id", "cluster")
SHOWN = 20


def request_of(path: str) -> Json:
    """`arms`, and `clusters` where there is such a column.

    Long: columns item_id, arm, value. Wide: one column for each arm, and item_id where it likes. Items that some arm
    lacks cannot be compared over all pairs, so they are refused.

    Raises:
        FileFault: naming the line.
    """
    reader = csv.DictReader(io.StringIO(files.read_text(path), newline=""), strict=True)
    try:
        rows = list(reader)
    except csv.Error as error:
        raise FileFault(f"{path} line {reader.line_num}: is not CSV ({error})") from None
    names = list(reader.fieldnames or ())
    if not rows:
        raise FileFault(f"{path}: holds no row")
    return _long(rows, path) if set(LONG) <= set(names) else _wide(rows, names, path)


def _long(rows: list[dict[str, str]], path: str) -> Json:
    arms: dict[str, dict[str, float]] = {}
    clusters: dict[str, str] = {}
    for line, row in enumerate(rows, start=2):
        where, item_id = f"{path} line {line}", row["item_id"]
        values = arms.setdefault(row["arm"], {})
        if item_id in values:
            raise FileFault(f"{where}: has item '{item_id}' of arm '{row['arm']}' again")
        values[item_id] = _number(row["value"], f"{where}: value")
        if row.get("cluster") and clusters.setdefault(item_id, row["cluster"]) != row["cluster"]:
            raise FileFault(f"{where}: puts item '{item_id}' into another cluster")
    item_ids = list(dict.fromkeys(item_id for values in arms.values() for item_id in values))
    for name, values in arms.items():
        lacking = [each for each in item_ids if each not in values]
        if lacking:
            more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
            raise FileFault(
                f"{path}: arm '{name}' lacks item '{lacking[0]}'{more}; all arms take the same items"
            )
    columns: Json = {"arms": {name: [values[each] for each in item_ids] for name, values in arms.items()}}
    if clusters:
        columns["clusters"] = [_cluster(clusters.get(each), each, path) for each in item_ids]
    return columns


def _wide(rows: list[dict[str, str]], names: list[str], path: str) -> Json:
    arms = [name for name in names if name not in NOT_ARMS]
    if len(arms) < 2:
        raise FileFault(
            f"{path}: needs columns item_id, arm and value, or a column for each of two arms or more"
        )
    columns: Json = {
        "arms": {
            name: [
                _number(row[name], f"{path} line {line}: {name}") for line, row in enumerate(rows, start=2)
            ]
            for name in arms
        }
    }
    if "cluster" in names:
        columns["clusters"] = [
            _cluster(row["cluster"], f"line {line}", path) for line, row in enumerate(rows, start=2)
        ]
    return columns


def _cluster(label: str | None, item: str, path: str) -> str:
    if not label:
        raise FileFault(
            f"{path}: {item} has no cluster, and others have; name one for every item or for none"
        )
    return label


def _number(cell: str | None, where: str) -> float:
    try:
        found = float(cell or "")
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise FileFault(f"{where} is no number; a leaderboard takes items that all arms have")
    return found


def ranked_text(answer: Mapping[str, Any]) -> str:
    """The sentence, then the arms with the ranks that are left open, then what is tied."""
    found = answer["analysis"]
    lines = [plain(found["sentence"]), ""]
    width = max(len(plain(each["name"])) for each in found["arms"])
    for each in found["arms"]:
        ranks = (
            f"{each['rank_low']}"
            if each["rank_low"] == each["rank_high"]
            else f"{each['rank_low']}-{each['rank_high']}"
        )
        best = "  may be the best" if each["may_be_best"] else ""
        lines.append(
            f"  {each['rank']:>3}  {plain(each['name']):<{width}}  {each['mean']:.4g}  rank {ranks}{best}"
        )
    tied = [", ".join(map(plain, names)) for names in found["tied_sets"] if len(names) > 1]
    lines += ["", *(f"  not told apart: {each}" for each in tied[:SHOWN])] if tied else []
    lines += [f"{each['code']}: {plain(each['message'])}" for each in answer.get("warnings") or ()]
    return "\n".join([*lines, "", "exploratory: no plan was locked before these data"])
