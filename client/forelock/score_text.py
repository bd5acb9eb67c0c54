"""A score for a terminal or a pull request: words first, a picture, the numbers, and what to do next."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from forelock.gate_text import ASCII, LINES, METHODS, draw_intervals, escaped, prints
from forelock.text import WIDTH, hanging, plain

Json = Mapping[str, Any]
EXITS: dict[str, int] = {"estimate": 0, "meets": 0, "falls_short": 10, "cannot_tell": 12}
_MARKS = {"estimate": "📏", "meets": "✅", "falls_short": "❌", "cannot_tell": "❔"}


def exit_code(answer: Json) -> int:
    """0 meets, or nothing was asked; 10 falls short, or a slice is shown to; 12 cannot tell."""
    slices = answer["slices"] or {}
    return 10 if slices.get("outcome") == "falls_short" else EXITS[str(answer["outcome"])]


def score_text(answer: Json, remarks: Iterable[str] = (), *, encoding: str | None = "utf-8") -> str:
    """The answer as text; lines are drawn in ASCII where the encoding has no others."""
    blocks = [hanging(plain(answer["sentence"]), "")]
    blocks.append(picture(answer, LINES if prints(encoding) else ASCII))
    rows = ((f"  {key:<12}{value}") for key, value in _numbers(answer))
    blocks.append("\n".join([*rows, _rule(answer)]))
    blocks.append("\n".join(f"  slice {line}" for line in _slices(answer)))
    warned = [hanging(f"{each['code']}: {plain(each['message'])}", "") for each in answer["warnings"]]
    blocks.append("\n".join([*warned, *(hanging(plain(remark), "note: ") for remark in remarks)]))
    blocks.append(hanging(plain(answer["next"]), "next: ") + f"\n{plain(answer['status'])}")
    return "\n\n".join(block for block in blocks if block)


def picture(answer: Json, marks: Sequence[str]) -> str:
    """The interval, to scale, against the threshold; below it the one that independent items would have."""
    ci, clusters = answer["ci"], answer["clusters"]
    if not _has_ends(ci):
        return ""
    edge = marks[-1]
    rows = [(ci["low"], answer["mean"], ci["high"], "")]
    if clusters is not None and _has_ends(clusters["independent"]):
        flat = clusters["independent"]
        rows = [(*rows[0][:3], "in clusters"), (flat["low"], answer["mean"], flat["high"], "if independent")]
    if answer["against"] is not None:
        threshold = answer["against"]["threshold"]
        return draw_intervals(rows, [(threshold, edge, _show(answer, threshold))], marks)
    ends = sorted({ci["low"], ci["high"]})
    return draw_intervals(rows, [(end, " ", _show(answer, end)) for end in ends], marks)


def _numbers(answer: Json) -> Iterator[tuple[str, str]]:
    """Name and value of every line."""
    spread = "" if answer["se"] is None else f"; standard error {_show(answer, answer['se'])}"
    yield "score", f"{_show(answer, answer['mean'])}, {_ends(answer, answer['ci'])}{spread}"
    runs = "" if answer["n_values"] == answer["n"] else f", {answer['n_values']} runs"
    clusters = answer["clusters"]
    yield (
        "items",
        f"{answer['n']}{runs}" + ("" if clusters is None else f" in {clusters['n_clusters']} clusters"),
    )
    if clusters is not None:
        yield from _clusters(answer, clusters)
    for name, interval in answer["intervals"].items():
        if answer["ci"] is None or name != answer["ci"]["method"]:
            says = " (as many harnesses print)" if name == "cr0_z" else ""
            yield "beside", _ends(answer, interval) + says
    these = answer["these_items"]
    if these is not None and these["ci"] is not None:
        yield (
            "these items",
            f"{_ends(answer, these['ci'])}; standard error {_show(answer, these['se'])} (runs alone)",
        )
    yield from _against(answer)
    left = answer["missing"]
    if left is not None:
        became = "left out" if left["counted"] == "left_out" else "as worst"
        ids = ", ".join(plain(each) for each in left["item_ids"])
        yield (
            became,
            f"{left['n']} without a result: {ids}{', …' if left['n'] > len(left['item_ids']) else ''}",
        )


def _clusters(answer: Json, clusters: Json) -> Iterator[tuple[str, str]]:
    told = [f"the largest holds {clusters['largest_share']:.1%}"]
    if clusters["design_effect"] is not None:
        told.append(f"design effect {clusters['design_effect']:.2f}")
    if clusters["icc"] is not None:
        told.append(f"intraclass correlation {clusters['icc']:.3f}")
    if clusters["effective_n"] is not None:
        told.append(f"as {clusters['effective_n']:.0f} independent items")
    yield "clusters", ", ".join(told)
    if clusters["independent"] is not None:
        yield "unclustered", f"{_ends(answer, clusters['independent'])}, if items were independent"


def _against(answer: Json) -> Iterator[tuple[str, str]]:
    against = answer["against"]
    if against is None:
        return
    bar = "at least" if answer["prefers"] == "higher" else "at most"
    told = [f"{bar} {_show(answer, against['threshold'])}"]
    for name, words in (("p_meets", "meets"), ("p_falls_short", "falls short")):
        if against[name] is not None:
            told.append(f"p of '{words}' {_p(against[name])}")
    if against["posterior"] is not None:
        told.append(f"posterior {against['posterior']:.4f} (Jeffreys)")
    yield "threshold", ", ".join(told)


def _rule(answer: Json) -> str:
    return textwrap.fill(
        plain(answer["rule"]), WIDTH, initial_indent="  rule        ", subsequent_indent=" " * 14
    )


def _slices(answer: Json) -> Iterator[str]:
    slices = answer["slices"]
    if slices is None:
        return
    width = max((len(plain(each["name"])) for each in slices["results"]), default=0)
    for each in slices["results"]:
        words = "" if each["outcome"] == "estimate" else f"{_outcome(each):<22}"
        told = f"{_show(answer, each['mean'])}, {_ends(answer, each['ci'])}, n = {each['n']}"
        yield f"{plain(each['name']):<{width}}  {words}{told}"
    if slices["left_out"]:
        yield f"not weighed: {', '.join(plain(each) for each in slices['left_out'])}"
    if slices["outcome"] is not None:
        yield {
            "meets": "together: every slice meets it",
            "falls_short": "together: a slice is shown to fall short, after Holm's correction",
            "cannot_tell": "together: cannot tell whether every slice meets it",
        }[slices["outcome"]]


def _outcome(each: Json) -> str:
    return "FALLS SHORT (Holm)" if each["shown_short"] else str(each["outcome"]).replace("_", " ")


def markdown(answer: Json, remarks: Iterable[str] = ()) -> str:
    """The same as a comment on a pull request."""
    lines = [f"### {_MARKS[answer['outcome']]} {escaped(answer['sentence'])}", "", "| | |", "|---|---|"]
    lines += [f"| {key} | {escaped(value)} |" for key, value in (*_numbers(answer), ("rule", answer["rule"]))]
    lines += [f"| slice | {escaped(' '.join(line.split()))} |" for line in _slices(answer)]
    warned = [f"- {escaped(each['code'])}: {escaped(each['message'])}" for each in answer["warnings"]]
    lines += ["", *warned] if warned else []
    lines += ["", f"**Next:** {escaped(answer['next'])}", "", f"<sub>{escaped(answer['status'])}.</sub>"]
    lines += ["", *(f"- {escaped(remark)}" for remark in remarks)]
    return "\n".join(lines).rstrip() + "\n"


def _ends(answer: Json, ci: Json | None) -> str:
    if ci is None or not _has_ends(ci):
        return "no interval"
    method = METHODS.get(ci["method"], plain(ci["method"]))
    level = f"{100 * ci['level']:.10g}%"
    return f"{level} {method} interval {_show(answer, ci['low'])} to {_show(answer, ci['high'])}"


def _has_ends(ci: Json | None) -> bool:
    return ci is not None and ci["low"] is not None and ci["high"] is not None


def _show(answer: Json, value: float) -> str:
    return f"{100 * value:.2f}%" if answer["points"] else f"{value:.4g}"


def _p(p: float) -> str:
    return f"{p:.3f}" if p >= 0.001 else f"{p:.1e}"
