"""What lint promises of a plan, beside what docs/simulations.md says that locked tests gave of many data sets."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

from service.domain.plans.plan import Plan
from service.domain.power.answers.level_records import RuleLevel
from service.domain.power.levels.level import levels
from service.domain.power.rule_power import rule_powers
from tests.domain import sample
from tests.simulation.record import PAGE, section_of

Row = tuple[str, float | None, float, float | None, float]
"""Name, level promised and realised, power promised and realised."""


def promises_of(plan: Plan) -> tuple[RuleLevel, float | None]:
    """What lint says of the first hypothesis: its level, and its power at the true value."""
    facts = {name: manifest.facts() for name, manifest in sample.manifests(plan).items()}
    power = rule_powers(plan, facts)[0].reference
    return levels(plan, facts)[0], None if power is None else power.power


def read_promises(heading: str, names: Collection[str]) -> Iterator[Row]:
    """The rows of these plans in a section of the page."""
    for line in section_of(PAGE.read_text("utf-8"), heading).splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) < 6 or cells[0] not in names:
            continue
        # Counted from the end: some sections tell more of a plan before these. How a level was worked out stands
        # behind it.
        level, power = (None if cells[at] == "–" else float(cells[at].split()[0]) for at in (-5, -2))
        yield cells[0], level, float(cells[-4]), power, float(cells[-1])


def standard_error(share: float, sets: int) -> float:
    """Of a share of so many data sets; of a share near 0 or 1 that of one in a hundred."""
    return math.sqrt(max(share * (1 - share), 0.01) / sets)
