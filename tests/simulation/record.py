"""docs/simulations.md: written from measurements, and read back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from scipy import stats

from tests.simulation.worlds import WORLDS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "simulations.md"
ONE_ARM = "## Claims about one arm"
"""Where the section of `one_arm` begins; those of other plans come after it."""
LABELLED = "## Values corrected by people's labels"
"""Where the section of `labelled_plans` begins."""
FIXED = "## Claims about these items"
"""Where the section of `fixed_item_plans` begins."""
CONFIDENCE = 0.999
Key = tuple[str, str, str, str]

INTRODUCTION = """\
<!-- Made by `python -m tests.simulation`; ./do simulate compares it with what it measures. -->

# Simulations

How often the statistical tests err where the truth is known. In each world below data are drawn again and again, and
every test with a p-value or an interval is run on them:

- **type I error**: share of data sets without any difference in which p < .05. Nominal: .05.
- **coverage**: share of data sets whose interval holds the true value. Nominal: .95.
- **size at the margin**: share in which equivalence is claimed although the true difference is the margin itself.
  Nominal: .05.
- **power**: share in which the rule holds, against what the test `power` predicts.

The band is where a share would lie in 99.9% of such simulations if the nominal value were true. A result reads
`within` the band; `cautious`, when the test errs less often than it may, as exact tests of few counts must; or
`liberal`, when it errs more often. Beside a liberal one stands the [warning](warnings.md) that the service gives on
such data, or, where it gives none, a note below the table. Every data set has a seed of its own, so the numbers are
the same on every run. How often a loss of the margin is called *no worse* where losses are rare stands on
[a page of its own](rare-losses.md), and so do [the interval of one score in clusters](score-coverage.md), [that of
a suite of tasks](suites-coverage.md), [claims about one arm](one-arm.md#how-often-a-bound-errs-in-clusters), and
[false alarms of series](series.md#how-often-it-errs-and-how-soon-it-sees)
with [comparisons that grow](series.md#one-comparison-that-grows).
"""


@dataclass(frozen=True)
class Record:
    """One row of the table."""

    key: Key
    simulations: int
    nominal: float
    rate: float
    warnings: tuple[str, ...] = ()

    @property
    def band(self) -> tuple[float, float]:
        """Where the rate would lie if the nominal value were true."""
        return band(self.nominal, self.simulations)

    @property
    def reading(self) -> str:
        """`within`, `cautious` or `liberal`; of power `within` or `off`."""
        low, high = self.band
        if low <= self.rate <= high:
            return "within"
        quantity = self.key[3].split()[0]
        if quantity == "power":
            return "off"
        return "liberal" if (self.rate > high) == (quantity != "coverage") else "cautious"

    @property
    def missed(self) -> bool:
        """The test errs more often than it may, or is not as strong as predicted."""
        return self.reading in ("liberal", "off")


def band(nominal: float, simulations: int) -> tuple[float, float]:
    """The 99.9% binomial band of a share."""
    low, high = stats.binom.interval(CONFIDENCE, simulations, nominal)
    return float(low) / simulations, float(high) / simulations


def render(rows: Iterable[Record], notes: Mapping[Key, str]) -> str:
    """The page."""
    parts = [INTRODUCTION]
    for name, members in groupby(rows, key=lambda row: row.key[0]):
        world = WORLDS[name]
        lines = [
            f"## {world.title}\n\n`{name}`: {world.text}\n",
            "| test | options | what | data sets | nominal | measured | band | reads | warning |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        ]
        below = []
        for row in members:
            low, high = row.band
            lines.append(
                f"| `{row.key[1]}` | {row.key[2]} | {row.key[3]} | {row.simulations} | {row.nominal:.4g} | "
                f"{row.rate:.4f} | {low:.4f} to {high:.4f} | {row.reading} | "
                f"{', '.join(f'`{code}`' for code in row.warnings)} |"
            )
            if row.key in notes:
                options = f" ({row.key[2]})" if row.key[2] else ""
                below.append(f"- `{row.key[1]}`{options}, {row.key[3]}: {notes[row.key]}")
        parts.append("\n".join(lines) + "\n" + ("\n" + "\n".join(below) + "\n" if below else ""))
    return "\n".join(parts)


def split_page(text: str) -> tuple[str, str]:
    """The part that is made of `Record`s, and those on whole plans and on one arm."""
    before, heading, after = text.partition("## Power of whole plans")
    return before.rstrip("\n") + "\n", heading + after


def section_of(text: str, heading: str) -> str:
    """What stands from a heading to the next of its level; empty where the page does not have it."""
    _, known, after = text.partition(f"{heading}\n")
    return "" if not known else f"{heading}\n{after.partition(chr(10) + '## ')[0]}"


def replace_section(text: str, heading: str, section: str) -> str:
    """The page with another section of that heading, which is its last where there was none."""
    before, known, after = text.partition(f"{heading}\n")
    _, more, rest = after.partition("\n## ") if known else ("", "", "")
    end = f"\n## {rest}" if more else ""
    return before.rstrip("\n") + f"\n\n{section.rstrip(chr(10))}\n{end}"


def write_section(heading: str, introduction: str, rows: Iterable[str]) -> None:
    """Put a table of rows that take minutes into docs/simulations.md, and show each when it is there."""
    lines = []
    for line in rows:
        print(line, flush=True)
        lines.append(line)
    section = introduction + "\n".join(lines) + "\n"
    PAGE.write_text(replace_section(PAGE.read_text("utf-8"), heading, section), "utf-8")


def read_page(text: str) -> dict[Key, Record]:
    """The rows of the page by key."""
    rows: dict[Key, Record] = {}
    world = ""
    for line in text.splitlines():
        if found := re.match(r"^`([a-z0-9-]+)`: ", line):
            world = found[1]
        cells = [cell.strip() for cell in line.strip("|").split(" | ")] if line.startswith("| `") else []
        if cells:
            test, options, what, simulations, nominal, rate = cells[:6]
            key = (world, test.strip("`"), options, what)
            codes = tuple(re.findall(r"`([A-Z_]+)`", cells[8] if len(cells) > 8 else ""))
            rows[key] = Record(key, int(simulations), float(nominal), float(rate), codes)
    return rows
