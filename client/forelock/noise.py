"""Repeated runs of two arms, or of one, from one long table, as the request of a test; and its answer in lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forelock import text
from forelock.columns import fitting, named
from forelock.problem import FileFault
from forelock.rows import cell_in, join_cluster, number_in, read_table
from forelock.text import plain

Json = dict[str, Any]
Cell = dict[str, dict[str, float]]
"""Run to judge to value."""

NEEDED, MAY = ("item_id", "arm", "run", "value"), ("judge", "cluster")
WORDS = {
    "item": "items, the same in both arms (cancels)",
    "item_by_arm": "items that suit one arm better",
    "run": "runs",
    "judge": "judgements",
}
BUYS = {
    "items": "more items",
    "runs": "more runs of every item",
    "judgements": "judging every run more often",
}


def request_of(
    path: str, arms: str | None, given: Mapping[str, str] | None = None
) -> tuple[Json, tuple[str, ...]]:
    """`baseline`, `candidate` and perhaps `clusters`; and what was taken for what, in sentences.

    Columns are item_id, arm, run, value, judge and cluster, or have obvious other names; `given` names them by what
    they are for. `arms`: BASELINE,CANDIDATE; without it the arm that comes first is the baseline. Of one arm, the one
    there is or the one that is named, `item_ids` and `values` take the place of both.

    Raises:
        FileFault: naming the line, the arm or the item.
    """
    read, given = read_table(path), given or {}
    columns_there = list(read[0].cells)
    alone = "arm" not in given and not fitting("arm", columns_there)
    needed = [role for role in NEEDED if role != "arm" or not alone]
    chosen = named(columns_there, path, needed, MAY, given)
    rows = chosen.rows(read)
    cells: dict[str, dict[str, Cell]] = {}
    clusters: dict[str, str] = {}
    for row in rows:
        item_id, number = (cell_in(row, name, path) for name in ("item_id", "run"))
        arm = "" if alone else cell_in(row, "arm", path)
        run = cells.setdefault(arm, {}).setdefault(item_id, {}).setdefault(number, {})
        judge = str(row.cells.get("judge") or "")
        if judge in run:
            raise FileFault(
                f"{path} {row.place}: has run '{number}' of item '{item_id}' in arm '{arm}' again"
                + (f" by judge '{judge}'" if judge else "; name who judged in a column 'judge'")
            )
        run[judge] = number_in(row, "value", path, "leave a run out that has none")
        join_cluster(row, item_id, clusters, path)
    if alone or arms in cells or (arms is None and len(cells) == 1):
        own = cells["" if alone else arms or next(iter(cells))]
        values = [[sum(run) / len(run) for run in _runs(own[each])] for each in own]
        request: Json = {"item_ids": list(own), "values": values, **_clusters(list(own), clusters, path)}
        return request, (*chosen.said(), *chosen.unread())
    baseline, candidate = _two(list(cells), arms, path)
    items = list(cells[baseline])
    for one, other in ((baseline, candidate), (candidate, baseline)):
        missing = [each for each in cells[other] if each not in cells[one]]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise FileFault(
                f"{path}: arm '{one}' lacks item '{missing[0]}'{more}; both arms take the same items"
            )
    columns: Json = {
        "baseline": [_runs(cells[baseline][item]) for item in items],
        "candidate": [_runs(cells[candidate][item]) for item in items],
    }
    columns |= _clusters(items, clusters, path)
    order = (
        ()
        if arms is not None
        else (f"the baseline is '{baseline}', which the file has first; {_turned(candidate, baseline)}",)
    )
    return columns, (*order, *chosen.said(), *chosen.unread())


def _clusters(items: Sequence[str], clusters: Mapping[str, str], path: str) -> Json:
    """The column of clusters, where there is one."""
    if not clusters:
        return {}
    without = [item for item in items if item not in clusters]
    if without:
        raise FileFault(f"{path}: item '{without[0]}' has no cluster, and others have")
    return {"clusters": [clusters[item] for item in items]}


def _turned(baseline: str, candidate: str) -> str:
    return f"--arms {baseline},{candidate} turns them round"


def _two(arms_: list[str], arms: str | None, path: str) -> tuple[str, str]:
    named = arms_ if arms is None else arms.split(",", 1)
    if len(named) != 2 or len(set(named)) != 2:
        raise FileFault(f"{path}: holds {len(arms_)} arms; name two with --arms BASELINE,CANDIDATE")
    absent = [each for each in named if each not in arms_]
    if absent:
        raise FileFault(f"{path}: has no arm '{absent[0]}', but {', '.join(arms_)}")
    return named[0], named[1]


def _runs(cell: Cell) -> list[list[float]]:
    return [list(run.values()) for run in cell.values()]


def noise_text(answer: Mapping[str, Any], remarks: Sequence[str] = ()) -> str:
    """Words, then the numbers, then what to do next."""
    analysis = answer["analysis"]
    lines = [text.wrapped(analysis["sentence"]), "", *_numbers(analysis), ""]
    lines += [f"{each['code']}: {plain(each['message'])}" for each in answer.get("warnings") or ()]
    lines += [text.wrapped(f"note: {plain(remark)}") for remark in remarks]
    return "\n".join(
        [*lines, f"next: {_next(analysis)}", "exploratory: no plan was locked before these data"]
    )


def _numbers(analysis: Mapping[str, Any]) -> Iterator[str]:
    yield "  variance of one judgement"
    for name, words in WORDS.items():
        part = analysis["components"][name]
        if part["variance"] is None:
            reason = analysis["reasons"].get(f"components.{name}", "")
            yield f"    {words:<40} not measured: {plain(reason)}"
            continue
        low, high = ("?" if part[end] is None else f"{part[end]:.3g}" for end in ("low", "high"))
        yield f"    {words:<40} {part['variance']:.3g} ({low} to {high})"
    for arm in ("baseline", "candidate"):
        each = analysis[f"flips_{arm}"]
        if each["rate"] is not None:
            yield (
                f"  {arm}: {each['rate']:.1%} of {each['n_items']} items change between runs; "
                f"two runs of an item differ with chance {each['two_runs']:.1%}"
            )
    yield f"  standard error {analysis['se']:.3g} observed, {analysis['error']['se']:.3g} by these variances"


def _next(analysis: Mapping[str, Any]) -> str:
    best, bought = analysis["next_unit"]["best"], analysis["allocation"]
    if best is None:
        return "nothing varies here; other items may"
    if analysis["components"]["run"]["variance"] is None:
        return "run some items twice in each arm: until then noise of runs cannot be told from items"
    told = f"spend on {BUYS[best]}"
    if bought is None:
        return told
    return told + (
        f"; a budget of {bought['budget']:.6g} is spent best on {bought['items']} items, {bought['runs']} runs each "
        f"and {bought['judgements']} judgements of a run (standard error {bought['se']:.3g}, if variances are as found)"
    )
