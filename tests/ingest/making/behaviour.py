"""What two imaginary systems do on twenty items: the truth behind the files that trackers wrote.

`python -m tests.ingest.making.TOOL OUT`, in an environment that has the tool, writes its files anew. No tool is
imported here: a script makes its mock system act as this module says, and `truth.csv` is written from it alone.
"""

from __future__ import annotations

import csv
import hashlib
import re
from pathlib import Path

ARMS = ("baseline", "candidate")
CLUSTERS = ("algebra", "biology", "chemistry", "droit", "économie", "физика", "地理", "history")
INDICES = (0, 1, 3, 7, 8, 13, 14, 19, 20, 21, 26, 27, 32, 33, 38, 39, 40, 45, 46, 47)
ODD_IDS = {
    3: "algebra/mul-03",
    7: 'biologie, "quoted"-07',
    13: "chimie é-13",
    20: "droit 20 ",
    26: "économie-26",
    32: "физика-32",
    38: "地理-38",
    39: "地理-\U0001f5fb-39",
    45: "=history-45",
    46: "46",
}
"""Ids that break naive readers: a slash, commas and quotes, other letters, a space, a formula, digits."""
CRASHES, GRADER_CRASHES, LEFT_OUT = 8, 19, 47
"""Of the candidate: the item whose answer raises, the one whose scorer `digits` raises, the one never asked."""
RATE = {"baseline": 0.50, "candidate": 0.68}
HEADER = ("file", "arm", "endpoint", "item_id", "replicate", "cluster", "value", "status", "note")


def item_id(index: int) -> str:
    return ODD_IDS.get(index, f"item-{index:03d}")


def index_of(name: str) -> int:
    return next(index for index in INDICES if item_id(index) == name)


def cluster(index: int) -> str:
    return CLUSTERS[index // 6]


def question(index: int) -> str:
    return f"What is {3 + index % 17} times {11 + (index * 7) % 23}?"


def answer(index: int) -> str:
    return str((3 + index % 17) * (11 + (index * 7) % 23))


def unit(*parts: object) -> float:
    digest = hashlib.sha256("|".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def is_right(arm: str, index: int, replicate: int = 1) -> bool:
    ease = 0.7 * unit("item", index) + 0.3 * unit("run", arm, index, replicate)
    return ease < RATE[arm]


def reply(arm: str, index: int, replicate: int = 1) -> str:
    """What the system says: wrong by its last digit, or altogether."""
    right = answer(index)
    if is_right(arm, index, replicate):
        return right
    if unit("miss", arm, index, replicate) < 0.4:
        return right[:-1] + ("0" if right[-1] != "0" else "1")
    return "I do not know."


def crashes(arm: str, index: int) -> bool:
    return arm == "candidate" and index == CRASHES


def grader_crashes(arm: str, index: int) -> bool:
    return arm == "candidate" and index == GRADER_CRASHES


def asked(arm: str) -> tuple[int, ...]:
    return tuple(index for index in INDICES if not (arm == "candidate" and index == LEFT_OUT))


def exact(text: str, index: int) -> bool:
    return text == answer(index)


def digits(text: str, index: int) -> float:
    """The share of the answer's digits that stand in their place."""
    right = answer(index)
    return round(sum(a == b for a, b in zip(text, right, strict=False)) / len(right), 4)


def without_paths(text: str) -> str:
    """Tracebacks name the places of the machine that wrote them: kept are the package's own."""
    text = re.sub(r"/[^\s\"\\]*?/(site-packages|lib/python3\.\d+)/", r"\1/", text)
    return text.replace(f"{Path.cwd()}/", "")


class Truth:
    """Rows of `truth.csv`."""

    def __init__(self) -> None:
        self.rows: list[tuple[object, ...]] = []

    def add(self, file, arm, endpoint, index, value, status="ok", *, replicate=1, note="") -> None:
        shown = "" if value is None else repr(float(value))
        self.rows.append(
            (file, arm, endpoint, item_id(index), replicate, cluster(index), shown, status, note)
        )

    def add_run(self, file, arm, *, replicates=1, graded="error", crashed="error") -> None:
        """What a run of `arm` did: `exact` and `digits` of every item.

        `graded` is the status of a scorer that raised; `crashed` that of an answer: `missing` where it is not there.
        """
        for index in INDICES:
            for replicate in range(1, replicates + 1):
                for endpoint in ("exact", "digits"):
                    place = {"replicate": replicate}
                    if index not in asked(arm):
                        self.add(file, arm, endpoint, index, None, "missing", note="not in the file", **place)
                    elif crashes(arm, index):
                        note = (
                            "the answer raised"
                            if crashed == "error"
                            else "not in the file: the answer raised"
                        )
                        self.add(file, arm, endpoint, index, None, crashed, note=note, **place)
                    elif endpoint == "digits" and grader_crashes(arm, index):
                        self.add(file, arm, endpoint, index, None, graded, note="the scorer raised", **place)
                    else:
                        text = reply(arm, index, replicate)
                        value = exact(text, index) if endpoint == "exact" else digits(text, index)
                        self.add(file, arm, endpoint, index, value, **place)

    def write(self, folder: Path) -> None:
        with (folder / "truth.csv").open("w", newline="", encoding="utf-8") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(HEADER)
            writer.writerows(self.rows)
