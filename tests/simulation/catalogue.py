"""Everything that is simulated: what the statistical tests declare in their `CASES`, world by world."""

from __future__ import annotations

from tests.simulation.rows import Batch
from tests.simulation.worlds import WORLDS
from tests.stats.cases import declared


def batches() -> list[Batch]:
    """All of them, in the order of the table."""
    worlds = list(WORLDS)
    found = [batch for cases in declared().values() for batch in cases.simulated()]
    return sorted(found, key=lambda batch: worlds.index(batch.world))


NOTES: dict[tuple[str, str, str, str], str] = {}
"""What a reader has to know of liberal rows for which the service has no warning."""
