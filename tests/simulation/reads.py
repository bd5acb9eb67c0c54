"""What is counted in simulations, by the words that the tests' own declarations use."""

from __future__ import annotations

from tests.simulation.rows import ALPHA, LEVEL, Batch, Read
from tests.simulation.worlds import WORLDS

BINARY = {"binary-low": 0.04, "binary-high": 0.30, "small-n": 0.40}
"""Worlds of right/wrong items, and their share of discordant ones."""
SCORES = ("small-n-scores", "skewed", "lopsided")
RUNS = ("five-runs", "twenty-runs", "skewed-runs")
CLUSTERED = ("few-clusters", "unequal-clusters", "many-clusters")
MEMOISED = 10_000
"""Simulations where data are four counts, most of them seen before."""


def errors(path: str = "p_value", label: str = "") -> Read:
    """Type I error of a p-value."""
    return Read("type I error", path, ALPHA, label=label)


def coverage(path: str = "ci", label: str = "", truth: float | None = None) -> Read:
    """Coverage of an interval."""
    return Read("coverage", path, LEVEL, truth, label)


def size(world: str, test: str, simulations: int = 2_000, **options: object) -> Batch:
    """How often equivalence is claimed when the true difference is the margin itself."""
    value, unit = WORLDS[world].margin, WORLDS[world].unit
    margin = {"value": round(value * 100, 6) if unit == "pp" else value, "unit": unit}
    read = Read("size at the margin", "equivalent", ALPHA)
    return Batch(world, test, (read,), {**options, "margin": margin}, value, simulations)


def predicted(world: str, test: str, effect: float, design: dict[str, object], **options: object) -> Batch:
    """How often a rule of one clause holds, against what the test `power` says of that design."""
    path = "equivalent" if test == "equivalence" else "p_value"
    return Batch(world, test, (Read("power", path, design=design),), options, effect, 4_000)
