"""Writes `examples/gate`, two files to compare, and `docs/pictures/gate.svg`: their gate, as a terminal shows it."""

from __future__ import annotations

import contextlib
import csv
import io
import os
from html import escape
from pathlib import Path

from forelock.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "gate.md"
PICTURE = ROOT / "docs" / "pictures" / "gate.svg"
FILES = ROOT / "examples" / "gate"
COMMAND = ("gate", "words.csv", "bm25.csv", "--margin", "2pp", "--cluster", "module")
LINES = 12
"""Of the answer; the numbers below it are for those who ask."""
_WIDTH, _HEIGHT, _LEFT, _TOP = 8.43, 20, 16, 46


def answer() -> list[str]:
    """The first lines that the command prints: the answer and its interval."""
    here, printed = Path.cwd(), io.StringIO()
    columns = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "96"
    os.chdir(FILES)
    try:
        with contextlib.redirect_stdout(printed):
            main(COMMAND)
    finally:
        os.chdir(here)
        if columns is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = columns
    return printed.getvalue().rstrip().splitlines()[:LINES]


def write_arms(directory: Path) -> None:
    """Two of the systems of the shipped evaluation, as a harness would leave them."""
    place = ROOT / "examples" / "stdlib_retrieval" / "stdlib"
    with (place / "items.csv").open(encoding="utf-8", newline="") as file:
        module = {row["item_id"]: row["cluster"] for row in csv.DictReader(file)}
    with (place / "results.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for arm in ("words", "bm25"):
        with (directory / f"{arm}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("item_id", "value", "module"))
            writer.writerows((row["item_id"], row[f"{arm}.hit"], module[row["item_id"]]) for row in rows)
    with (directory / "systems.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        systems = ("words", "char_ngrams", "bm25")
        writer.writerow(("item_id", *systems, "cluster"))
        writer.writerows(
            (row["item_id"], *(row[f"{system}.hit"] for system in systems), module[row["item_id"]])
            for row in rows
        )


def page_with(lines: list[str]) -> str:
    """The page of the gate, with what its first command prints."""
    before, command, after = PAGE.read_text("utf-8").partition(
        f"forelock {' '.join(COMMAND)}\n```\n\n```text\n"
    )
    return before + command + "\n".join(lines) + after[after.index("\n```") :]


def picture(lines: list[str]) -> str:
    """The lines as an SVG of a terminal, dark, readable at any size."""
    typed = "$ forelock " + " ".join(COMMAND)
    shown = [typed, "", *lines]
    width = round(2 * _LEFT + _WIDTH * max(map(len, shown)))
    height = _TOP + _HEIGHT * len(shown)
    kinds = ["typed", *["said"] * (len(shown) - 1)]
    texts = "".join(
        f'<text class="{kind}" x="{_LEFT}" y="{_TOP + _HEIGHT * number}" xml:space="preserve">{escape(line)}</text>\n'
        for number, (kind, line) in enumerate(zip(kinds, shown, strict=True))
        if line
    )
    dots = "".join(f'<circle cx="{_LEFT + 4 + 18 * n}" cy="18" r="5"/>' for n in range(3))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{escape(typed)}">\n'
        "<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
        "fill:#dde3ea}.typed{fill:#8fd3a8}circle{fill:#4a5361}</style>\n"
        f'<rect width="{width}" height="{height}" rx="8" fill="#171b21"/>\n{dots}\n{texts}</svg>\n'
    )


if __name__ == "__main__":
    FILES.mkdir(exist_ok=True)
    write_arms(FILES)
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(picture(answer()), "utf-8")
    PAGE.write_text(page_with(answer()), "utf-8")
