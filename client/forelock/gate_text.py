"""A comparison for a terminal or a pull request: words first, a picture, the numbers, and what to do next."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from forelock.text import WIDTH, hanging, plain

Json = Mapping[str, Any]
EXITS: dict[str, int] = {"better": 0, "no_worse": 0, "worse": 10, "cannot_tell": 12}
COLUMNS = 61
LINES = ("├", "─", "●", "┤", "│", "┊")
ASCII = ("[", "-", "o", "]", "|", ":")
METHODS = {
    "tango": "Tango score",
    "cr2_t": "CR2 t",
    "t": "t",
    "sign_flip": "sign flips",
    "gaffke": "Gaffke",
    "furthest": "furthest of several",
    "bootstrap": "exact bootstrap",  # of a service of an earlier version
    "percentile": "exact bootstrap",
    "exact": "exact",
    "clopper-pearson": "Clopper-Pearson",
    "wilson": "Wilson",
    "jeffreys": "Jeffreys",
    "korn-graubard": "Korn-Graubard",
    "cr0_z": "CR0",
}


def exit_code(answer: Json) -> int:
    """0 better or no worse, 10 worse (or a slice that is shown worse, or to lose the margin), 12 cannot tell."""
    slices = answer.get("slices") or {}
    lost = slices.get("outcome") == "fail" or any(each["shown_worse"] for each in slices.get("results", ()))
    return 10 if lost else EXITS[str(answer["outcome"])]


def gate_text(answer: Json, remarks: Iterable[str] = (), *, encoding: str | None = "utf-8") -> str:
    """The answer as text; lines are drawn in ASCII where the encoding has no others."""
    blocks = [hanging(plain(answer["sentence"]), "")]
    drawn = picture(answer, LINES if prints(encoding) else ASCII)
    blocks += [drawn] if drawn else []
    blocks.append("\n".join(_numbers(answer)))
    slices = "\n".join(_slices(answer))
    blocks += [slices] if slices else []
    blocks.append("\n".join([*_warnings(answer), *(hanging(plain(remark), "note: ") for remark in remarks)]))
    blocks.append(hanging(plain(answer["next"]), "next: ") + f"\n{plain(answer['status'])}")
    return "\n\n".join(block for block in blocks if block)


def picture(answer: Json, marks: Sequence[str]) -> str:
    """The interval against 0 and the margin, to scale; empty where there is no interval."""
    low, high, delta, margin = answer["ci"]["low"], answer["ci"]["high"], answer["delta"], answer["margin"]
    if low is None or high is None or delta is None:
        return ""
    *_, zero, edge = marks
    bounds = [(0.0, zero, "0")]
    if margin is not None:
        loss = margin if answer.get("prefers") == "lower" else -margin
        bounds = sorted([*bounds, (loss, edge, _amount(answer, loss))])
    return draw_intervals([(low, delta, high, "")], bounds, marks)


def draw_intervals(
    rows: Sequence[tuple[float, float, float, str]],
    bounds: Sequence[tuple[float, str, str]],
    marks: Sequence[str],
) -> str:
    """Intervals (low, estimate, high, what it is) on one scale, among values with their marks and labels, ascending."""
    least = min(*(low for low, *_ in rows), *(value for value, *_ in bounds))
    most = max(*(high for _, _, high, _ in rows), *(value for value, *_ in bounds))
    pad = 0.06 * (most - least) or 1e-9
    least, most = least - pad, most + pad

    def column(value: float) -> int:
        at: int = round((value - least) / (most - least) * (COLUMNS - 1))
        return at

    start, line, dot, end, *_ = marks
    lines = []
    for low, estimate, high, words in rows:
        cells = [" "] * COLUMNS
        for value, mark, _ in bounds:
            cells[column(value)] = mark
        for at in range(column(low), column(high) + 1):
            cells[at] = line if cells[at] == " " else cells[at]
        cells[column(low)], cells[column(high)] = start, end
        cells[column(estimate)] = dot
        lines.append(f"  {''.join(cells)}  {words}".rstrip())
    labels = [" "] * (COLUMNS + 24)
    taken = -1
    for value, _, told in bounds:
        at = max(column(value) - len(told) // 2, taken + 1, 0)
        labels[at : at + len(told)] = told
        taken = at + len(told)
    return "\n".join([*lines, f"  {''.join(labels).rstrip()}"])


def prints(encoding: str | None) -> bool:
    """Whether an encoding has the characters that pictures are drawn with."""
    try:
        "".join(LINES).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _numbers(answer: Json) -> Iterator[str]:
    if answer["delta"] is not None:
        means = [_level(answer, answer[f"{side}_mean"]) for side in ("baseline", "candidate")]
        amount = _amount(answer, answer["delta"])
        yield f"  difference  {amount}, {_ends(answer, answer['ci'])}"
        yield f"  means       baseline {means[0]}, candidate {means[1]}"
    clusters = "" if answer["n_clusters"] is None else f" in {answer['n_clusters']} clusters"
    yield f"  paired      {answer['n']} items{clusters}"
    left = answer["unpaired"]
    failed = "as worst" if answer.get("prefers") == "lower" else "counted 0"
    for name, words in (
        ("only_baseline", "only in the baseline"),
        ("only_candidate", "only in the candidate"),
        ("missing", "without a result in one arm"),
        ("neither", "without a result in both arms"),
    ):
        if left.get(name):
            ids = ", ".join(plain(each) for each in left[f"{name}_ids"])
            became = failed if left.get("counted") == "as_0" and name != "neither" else "left out"
            yield f"  {became:<9}   {left[name]} {words}: {ids}{', …' if left[name] > len(left[f'{name}_ids']) else ''}"
    for each in answer["tests"]:
        p = "decides nothing" if each["p_value"] is None else f"p {each['bound'] or _p(each['p_value'])}"
        method = METHODS.get(each["method"], each["method"])
        ends = "" if each["ci"] is None else f", {_ends(answer, each['ci'])}"
        yield f"  test        {plain(each['test'])} ({method}): {p}{ends}"
    yield textwrap.fill(
        plain(answer["rule"]), WIDTH, initial_indent="  rule        ", subsequent_indent=" " * 14
    )


def _slices(answer: Json) -> Iterator[str]:
    slices = answer.get("slices")
    if not slices:
        return
    width = max((len(plain(each["name"])) for each in slices["results"]), default=0)
    for each in slices["results"]:
        outcome = "WORSE (Holm)" if each["shown_worse"] else each["outcome"].replace("_", " ")
        yield (
            f"  slice {plain(each['name']):<{width}}  {outcome:<12}  {_amount(answer, each['delta'])}, "
            f"{_ends(answer, each['ci'])}, n = {each['n']}"
        )
    if slices["left_out"]:
        yield f"  too small to weigh: {', '.join(plain(each) for each in slices['left_out'])}"
    yield from _of_all(slices)


def _of_all(slices: Json) -> Iterator[str]:
    """The slices together: the margin, and a change of sides."""
    words = {
        "pass": "pass: every slice is shown to lose less than the margin",
        "fail": "fail: a slice is shown to lose more than the margin, after Holm's correction",
        "cannot_tell": "cannot tell: it is not shown of every slice that it loses less than the margin",
    }
    if slices.get("outcome") is not None:
        yield f"  {words[slices['outcome']]}"
    elif slices["none_worse"] is not None:  # of a service of an earlier version
        yield f"  {words['pass' if slices['none_worse'] else 'cannot_tell']}"
    reversal = slices.get("reversal")
    if reversal is None:
        return
    if reversal["p_value"] is None:
        yield hanging(f"change of sides between slices: cannot tell, {plain(reversal['reason'])}", "  ")
    else:
        says = "shown" if reversal["shown"] else "not shown"
        yield f"  change of sides between slices: {says} (Gail and Simon: p {_p(reversal['p_value'])})"


def _warnings(answer: Json) -> Iterator[str]:
    for each in answer["warnings"]:
        yield hanging(f"{each['code']}: {plain(each['message'])}", "")


def _ends(answer: Json, ci: Json) -> str:
    level = f"{100 * ci['level']:g}%"
    if ci["low"] is None or ci["high"] is None:
        return f"no {level} interval"
    method = METHODS.get(ci["method"], plain(ci["method"]))
    return f"{level} {method} interval {_amount(answer, ci['low'])} to {_amount(answer, ci['high'])}"


def _amount(answer: Json, value: float) -> str:
    return f"{100 * value:+.2f} pp" if answer["points"] else f"{value:+.4g}"


def _level(answer: Json, value: float) -> str:
    return f"{100 * value:.2f}%" if answer["points"] else f"{value:.4g}"


def _p(p: float) -> str:
    return f"= {p:.3f}" if p >= 0.001 else f"= {p:.1e}"


def markdown(answer: Json, remarks: Iterable[str] = ()) -> str:
    """The same as a comment on a pull request."""
    mark = {"better": "✅", "no_worse": "✅", "worse": "❌", "cannot_tell": "❔"}[answer["outcome"]]
    lines = [f"### {mark} {escaped(answer['sentence'])}", "", "| | |", "|---|---|"]
    lines += [f"| {key} | {escaped(value.strip())} |" for key, value in _cells(answer)]
    for each in (answer.get("slices") or {}).get("results", ()):
        outcome = "**worse**" if each["shown_worse"] else each["outcome"].replace("_", " ")
        told = f"{outcome}: {_amount(answer, each['delta'])}, {_ends(answer, each['ci'])}, n = {each['n']}"
        lines.append(f"| slice {escaped(each['name'])} | {told} |")
    if answer.get("slices"):
        lines += [f"| slices | {escaped(each.strip())} |" for each in _of_all(answer["slices"])]
    warned = [f"- {escaped(each['code'])}: {escaped(each['message'])}" for each in answer["warnings"]]
    lines += ["", *warned] if warned else []
    lines += ["", f"**Next:** {escaped(answer['next'])}", "", f"<sub>{escaped(answer['status'])}.</sub>"]
    lines += ["", *(f"- {escaped(remark)}" for remark in remarks)]
    return "\n".join(lines).rstrip() + "\n"


def _cells(answer: Json) -> Iterator[tuple[str, str]]:
    for line in _numbers(answer):
        text = " ".join(line.split())
        key, _, value = text.partition(" ")
        for both in ("left out", "counted 0", "as worst"):
            if text.startswith(both):
                key, value = both, text.removeprefix(f"{both} ")
        yield key, value


def escaped(text: object) -> str:
    """Text that is no Markdown: names of files and items are not ours."""
    told = plain(text)
    for each in "\\`*_[]<>|#@":
        told = told.replace(each, f"\\{each}")
    return told
