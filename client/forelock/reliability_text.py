"""One system's reliability over runs for a terminal: words, curves, the items that cannot be relied on, what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forelock.gate_text import ASCII, LINES, draw_intervals, prints
from forelock.text import hanging, plain, wrapped

Json = Mapping[str, Any]
NAMED = 10
"""Items of a list that are named."""


def reliability_text(
    answer: Json, item_ids: Sequence[str], remarks: Sequence[str] = (), *, encoding: str | None = "utf-8"
) -> str:
    """The answer as text; items go by their ids."""
    found = answer["analysis"]
    marks = LINES if prints(encoding) else ASCII
    lines = [wrapped(found["sentence"]), "", *_curves(found, marks), "", *_items(found, item_ids), ""]
    lines += [hanging(f"{each['code']}: {plain(each['message'])}", "") for each in answer["warnings"]]
    lines += [hanging(plain(each), "note: ") for each in remarks]
    lines += [hanging(_next(found), "next: "), "exploratory: no plan was locked before these data"]
    return "\n".join(lines)


def _curves(found: Json, marks: Sequence[str]) -> Iterator[str]:
    """Both curves as a picture, where every point has an interval, and in numbers."""
    share = found["least_share"] is not None
    sides = {"worst": "pass^{k}" if share else "worst of {k}", "best": "pass@{k}" if share else "best of {k}"}
    points = [
        (words.format(k=each["k"]), each[side]) for side, words in sides.items() for each in found["curve"]
    ]
    if share and all(_has_ends(point) for _, point in points):
        rows = [(point["ci"]["low"], point["value"], point["ci"]["high"], name) for name, point in points]
        yield draw_intervals(rows, [(0.0, marks[4], "0%"), (1.0, marks[4], "100%")], marks)
        yield ""
    for name, point in points:
        ends = "no interval"
        if _has_ends(point):
            low, high = (_show(point["ci"][end], share=share) for end in ("low", "high"))
            ends = f"{100 * point['ci']['level']:.10g}% interval {low} to {high}"
        yield f"  {name:<12}{_show(point['value'], share=share)}, {ends}"


def _items(found: Json, item_ids: Sequence[str]) -> Iterator[str]:
    yield f"  items       {found['n']}, {found['n_values']} runs"
    if found["n_flaky"]:
        names = _named(found["flaky"], found["n_flaky"], item_ids)
        yield hanging(f"{found['n_flaky']}: {names}", "  flaky       ", " " * 14)
    if found["least_share"] is None:
        return
    rate = f"at least {100 * found['least_share']:.10g}%"
    yield f"  reliable    {found['n_reliable']} shown to be right {rate} of the time"
    yield f"  every item  right at least {100 * found['least_low']:.1f}% of the time, as the runs show"
    if found["n_unreliable"]:
        names = _named(found["unreliable"], found["n_unreliable"], item_ids)
        yield hanging(f"{found['n_unreliable']}: {names}", "  unreliable  ", " " * 14)
    yield f"  undecided   {found['n_undecided']}"


def _named(items: Sequence[Json], total: int, item_ids: Sequence[str]) -> str:
    """The first items, with how many of their runs are right, or with their mean."""
    told = [f"{plain(item_ids[each['item']])} ({_of_runs(each)})" for each in items[:NAMED]]
    more = f" and {total - NAMED} more (--json names them)" if total > NAMED else ""
    return ", ".join(told) + more


def _of_runs(item: Json) -> str:
    if item["standing"] is None:
        return f"mean {item['mean']:.4g} of {item['runs']}"
    return f"{round(item['mean'] * item['runs'])} of {item['runs']}"


def _next(found: Json) -> str:
    if found["most_runs"] == 1:
        return "run every item several times: one run tells nothing of another"
    if found["n_flaky"]:
        return "look at the flaky items, the most variable first: they pass or fail by chance"
    needed = found["runs_needed"]
    if needed is not None and needed > found["least_runs"]:
        return f"no run differed from another of its item; {needed} runs of each would show them reliable"
    return "no run differed from another of its item: report it with the number of runs"


def _has_ends(point: Json) -> bool:
    return point["ci"] is not None and point["ci"]["low"] is not None and point["ci"]["high"] is not None


def _show(value: float, *, share: bool) -> str:
    return f"{100 * value:.1f}%" if share else f"{value:.4g}"
