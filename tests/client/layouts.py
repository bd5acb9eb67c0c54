"""Tables as people keep them: every layout that a first hour may begin with, as bytes by file name."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

FILES = Path(__file__).parents[1] / "ingest" / "files"
"""What harnesses and trackers wrote."""
N = 24
BASELINE = [int(at % 3 > 0) for at in range(N)]
CANDIDATE = [int(at % 4 > 0) for at in range(N)]
Side = Callable[[Sequence[int]], str]


def lines(header: str, row: Callable[[int, int], str]) -> Side:
    """A table with this header, and a row of each item's place and outcome."""
    return lambda values: "\n".join([header, *(row(at, value) for at, value in enumerate(values))]) + "\n"


SIDES: dict[str, tuple[str, Side]] = {
    "long": ("csv", lines("item_id,value", lambda at, value: f"q{at},{value}")),
    "pandas index": ("csv", lines(",question,score", lambda at, value: f"{at},what {at},{value}")),
    "pandas index alone": ("csv", lines(",score", lambda at, value: f"{at},{value}")),
    "pandas unnamed": ("csv", lines("Unnamed: 0,id,value", lambda at, value: f"{at},q{at},{value}")),
    "pandas index saved twice": ("csv", lines(",Unnamed: 0,score", lambda at, value: f"{at},{at},{value}")),
    "semicolons": ("csv", lines("item_id;value", lambda at, value: f"q{at};{value}")),
    "tabs": ("tsv", lines("item_id\tvalue", lambda at, value: f"q{at}\t{value}")),
    "tabs named csv": ("csv", lines("item_id\tvalue", lambda at, value: f"q{at}\t{value}")),
    "text": ("txt", lines("item_id,value", lambda at, value: f"q{at},{value}")),
    "percent": ("csv", lines("item_id,value", lambda at, value: f"q{at},{value}%")),
    "decimal comma": ("csv", lines("item_id,value", lambda at, value: f'q{at},"{value},5"')),
    "words": ("csv", lines("item_id,verdict", lambda at, value: f"q{at},{('bad', 'good')[value]}")),
    "true and false": ("csv", lines("id,correct", lambda at, value: f"{at},{bool(value)}")),
    "two ids": ("csv", lines("id,question_id,accuracy,f1", lambda at, value: f"{at},q{at},{value},{value / 2}")),
    "no id": ("csv", lines("accuracy,f1", lambda _at, value: f"{value},{value / 2}")),
    "topics": ("csv", lines("item_id,value,topic", lambda at, value: f"q{at},{value},t{at % 4}")),
    "a timeout": ("csv", lines("item_id,value", lambda at, value: f"q{at},{'timeout' if at == 7 else value}")),
    "duplicate ids": ("csv", lines("item_id,value", lambda at, value: f"q{at // 2},{value}")),
    "empty": ("csv", lambda _values: ""),
    "header alone": ("csv", lambda _values: "item_id,value\n"),
    "one item": ("csv", lambda values: f"item_id,value\nq1,{values[1]}\n"),
    "ragged": ("csv", lambda _values: "item_id,value\nq0,1,1\nq1\n"),
    "open quote": ("csv", lambda _values: 'item_id,value\n"q0,1\n'),
    "column twice": ("csv", lambda _values: "item_id,value,value\nq0,1,1\n"),
    "json array": (
        "json", lambda values: json.dumps([{"item_id": f"q{at}", "value": v} for at, v in enumerate(values)]),
    ),
    "json array of numbered ids": (
        "json", lambda values: json.dumps([{"id": at, "score": v} for at, v in enumerate(values)]),
    ),
    "json columns": ("json", lambda values: json.dumps({"item_ids": [f"q{at}" for at in range(N)], "values": values})),
    "json lines": ("jsonl", lines("", lambda at, value: json.dumps({"item_id": f"q{at}", "value": value}))),
    "json lines of numbered ids": ("jsonl", lines("", lambda at, value: json.dumps({"id": at, "score": value}))),
    "json lines nested": ("jsonl", lines("", lambda at, value: json.dumps({"id": f"q{at}", "scores": {"a": value}}))),
}  # fmt: skip
"""Of one arm each: the suffix, and the text from the arm's outcomes."""
ENCODED = {"utf-16": "utf-16", "latin-1": "latin-1", "byte order mark": "utf-8-sig"}


def pairs() -> dict[str, dict[str, bytes]]:
    """Layouts of two files, the baseline's and the candidate's."""
    found = {
        name: {f"base.{suffix}": side(BASELINE).encode(), f"cand.{suffix}": side(CANDIDATE).encode()}
        for name, (suffix, side) in SIDES.items()
    }
    _, plain = SIDES["long"]
    for name, encoding in ENCODED.items():
        texts = {"base.csv": plain(BASELINE), "cand.csv": plain(CANDIDATE)}
        found[name] = {file: text.replace("q", "é").encode(encoding) for file, text in texts.items()}
    return found


def _long(arms: int, header: str = "item_id,arm,value", runs: int = 1) -> str:
    rows = [
        f"q{at},m{arm},{(at * (arm + 3) + run) % 5 % 2}"
        for at in range(N)
        for arm in range(arms)
        for run in range(runs)
    ]
    return "\n".join([header, *rows]) + "\n"


def _wide(header: str, first: Callable[[int], str], arms: int = 2) -> str:
    rows = [",".join([first(at), *(str((at * (arm + 2)) % 5 % 2) for arm in range(arms))]) for at in range(N)]
    return "\n".join([header, *(row.removeprefix(",") if not first(0) else row for row in rows)]) + "\n"


def _columns(names: Sequence[str], **more: list[str]) -> bytes:
    arms = {name: [(at * (arm + 2)) % 5 % 2 for at in range(N)] for arm, name in enumerate(names)}
    return json.dumps({**more, **arms}, indent=1).encode()


COLUMNS: dict[str, bytes] = {
    "json columns of two": _columns(["m 0", "m 1"]),
    "json columns of three with ids": _columns(["a", "b", "c"], item_id=[f"q{at}" for at in range(N)]),
    "json columns of a pilot": _columns(
        ["baseline", "candidate"], cluster=[f"c{at // 4}" for at in range(N)]
    ),
}
"""Those that are one JSON object."""
SINGLES: dict[str, bytes] = {
    **COLUMNS,
    "long of two": _long(2).encode(),
    "long of three": _long(3).encode(),
    "long of 25": _long(25).encode(),
    "long of 25 by other names": _long(25, "question_id,model,score").encode(),
    "long with runs that nothing numbers": _long(2, runs=2).encode(),
    "wide": _wide("item_id,gpt,claude", lambda at: f"q{at}").encode(),
    "wide of three": _wide("item_id,gpt,claude,llama", lambda at: f"q{at}", 3).encode(),
    "wide by questions": _wide("question,gpt,claude", lambda at: f"what {at}").encode(),
    "wide with a pandas index": _wide(",gpt,claude", str).encode(),
    "wide of 25": _wide(
        "item_id," + ",".join(f"m{at}" for at in range(25)), lambda at: f"q{at}", 25
    ).encode(),
    "a pilot without ids": _wide("baseline,candidate", lambda _at: "").encode(),
}
"""Layouts of one file that holds all arms."""


def harness_inputs() -> list[tuple[str, ...]]:
    """Every file of every reader alone, and every baseline's beside its candidate's."""
    files = sorted(
        path for path in FILES.rglob("*") if path.is_file() and path.name not in ("truth.csv", "README.md")
    )
    alone = [(str(path.relative_to(FILES)),) for path in files]
    folders = sorted(path for path in FILES.rglob("*baseline*") if path.is_dir())
    beside = [
        (str(path.relative_to(FILES)), str(other.relative_to(FILES)))
        for path in [*files, *folders]
        if "baseline" in path.name
        for other in [path.with_name(path.name.replace("baseline", "candidate"))]
        if other.exists()
    ]
    return [*alone, *beside]
