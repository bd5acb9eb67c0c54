"""Result files of one system as the body of a score: read as a gate reads them, with one arm in place of two."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from forelock.columns import listed
from forelock.gate_ways import Asked, Opened
from forelock.gating import (
    TRIED_BYTES,
    Rows,
    columns_of_arm,
    open_sides,
    place_of,
    range_of,
    remarks_of,
    require_told,
    section_of,
    tables_of,
    with_shared_source,
)
from forelock.hints import MOST_TRIED, Refused, Way, helped
from forelock.problem import FileFault

if TYPE_CHECKING:
    from forelock.client import Client
    from forelock.local import Local

Json = dict[str, Any]


def rows_of_one(asked_of: Client | Local, paths: Sequence[str], asked: Asked) -> Rows:
    """The rows of one system, from one file or several; of a file that holds more, those of the arm `asked` names.

    Options that a refusal or a remark names were tried: with them these files give an answer.

    Raises:
        FileFault: a file that is not read, a measure that is not there, or several systems and none named.
    """
    opened: dict[str | None, Opened] = {}

    def rows(wanted: Asked) -> Rows:
        if wanted.form not in opened:
            opened[wanted.form] = open_sides(asked_of, [paths], wanted)
        return _rows(asked_of, opened[wanted.form], wanted)

    def answer(wanted: Asked) -> None:
        body = rows(wanted).body
        guessed = wanted.fields.get("item_id") != asked.fields.get("item_id")
        items = len(set(body["item_ids"]))
        if guessed and items < len(body["item_ids"]) / items:
            raise FileFault("a column whose values repeat more often than there are of them tells no items")
        asked_of.score(body)

    try:
        read_rows = rows(asked)
    except Refused as refused:
        size = sum(each.size for each in opened.values())
        most = MOST_TRIED if size <= TRIED_BYTES else 1
        raise helped(answer, refused, most) from None
    return with_shared_source(read_rows, opened[asked.form], asked, lambda wanted: [rows(wanted).body])


def _rows(asked_of: Client | Local, opened: Opened, asked: Asked) -> Rows:
    section = section_of(opened, asked)
    require_told(opened, section, asked, wide=False)
    table = _one(tables_of(asked_of, opened, 0, section, asked), opened, asked)
    by_slice = None
    if asked.slice is not None:
        within = {**section, "cluster": place_of(asked.slice, opened.surveys)}
        by_slice = _one(tables_of(asked_of, opened, 0, within, asked), opened, asked)
    name = str(table["arm"])
    if name == opened.paths[0]:
        name = name.rstrip("/").rpartition("/")[2]
    body = columns_of_arm(name, table, by_slice, clustered=asked.cluster is not None)
    if asked.range is not None:
        body["range"] = range_of(asked.range)
    return Rows(body, section, tuple(remarks_of(opened.surveys, section, asked)))


def _one(tables: Sequence[Json], opened: Opened, asked: Asked) -> Json:
    """The system that is asked for, or the only one there is."""
    held = {str(table["arm"]): table for table in tables}
    if asked.arms is not None and asked.arms in held:
        return held[asked.arms]
    if asked.arms is None and len(held) == 1:
        return next(iter(held.values()))
    if not held:
        raise FileFault(f"{opened.name}: holds no results")
    ways = [Way(f"--arm {shlex.quote(name)}", replace(asked, arms=name)) for name in held]
    if asked.arms is not None:
        raise Refused(f"{opened.name}: has no system '{asked.arms}'; it has {listed(list(held))}", ways)
    raise Refused(
        f"{opened.name}: holds {len(held)} systems, and a score is of one: {listed(list(held))}", ways
    )


def threshold_of(text: str) -> float:
    """`95%`, `0.95` or, of scores, `3.5`."""
    number, percent, rest = text.strip().partition("%")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if rest or not math.isfinite(value):
        raise FileFault(f"the threshold '{text}' is none: write one such as 95% or 0.95, or of scores 3.5")
    return value / 100 if percent else value
