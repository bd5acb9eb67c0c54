"""Every row that is simulated, by family of worlds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tests.simulation.rows import Row
from tests.simulation.worlds import WORLDS

BINARY = ("binary-low", "binary-high", "small-n")
SCORES = ("small-n-scores", "skewed", "lopsided")
RUNS = ("five-runs", "twenty-runs", "skewed-runs")
CLUSTERED = ("few-clusters", "unequal-clusters", "many-clusters")
MEMOISED = 10_000
"""Simulations where the data are four counts, most of them seen before."""


def margin(world: str) -> dict[str, object]:
    """The world's margin as a request has it."""
    value, unit = WORLDS[world].margin, WORLDS[world].unit
    return {"margin": {"value": round(value * 100, 6) if unit == "pp" else value, "unit": unit}}


def errors(world: str, test: str, simulations: int = 2_000, **options: object) -> Row:
    """Type I error of the p-value."""
    return Row(world, test, "type I error", options, simulations=simulations)


def coverage(world: str, test: str, simulations: int = 2_000, read: str = "ci", **options: object) -> Row:
    """Coverage of an interval at level .95."""
    return Row(world, test, "coverage", options, read, nominal=0.95, simulations=simulations)


def size(world: str, simulations: int = 2_000, **options: object) -> Row:
    """How often equivalence is claimed when the true difference is the margin."""
    options = {**options, **margin(world)}
    return Row(world, "equivalence", "size at the margin", options, "equivalent", simulations=simulations)


def binary(world: str) -> Iterator[Row]:
    """Right/wrong pairs."""
    for method in ("exact", "midp", "asymptotic", "corrected"):
        yield errors(world, "mcnemar", MEMOISED, method=method)
    discordant = {"binary-low": 0.04, "binary-high": 0.30, "small-n": 0.40}[world]
    effect = WORLDS[world].effect
    yield replace(
        coverage(world, "mcnemar", MEMOISED, read="odds_ratio.ci"),
        truth=(discordant + effect) / (discordant - effect),
    )
    yield errors(world, "paired-difference", MEMOISED)
    for method in ("tango", "newcombe", "wald"):
        yield coverage(world, "paired-difference", MEMOISED, method=method)
    for alternative in ("greater", "two-sided"):
        yield errors(world, "paired-bootstrap", MEMOISED, alternative=alternative)
    yield errors(world, "paired-bootstrap", MEMOISED, comparison="strict")
    for method in ("percentile", "basic"):
        yield coverage(world, "paired-bootstrap", MEMOISED, method=method)
    for method in ("tango", "t", "bootstrap_ci"):
        yield size(world, 4_000, method=method)
    yield size(world, 4_000, method="bootstrap_ci", bounds="seed")


def scores(world: str) -> Iterator[Row]:
    """Paired scores."""
    yield errors(world, "t-test", method="paired")
    yield coverage(world, "t-test", method="paired")
    if world != "lopsided":  # the hypothesis of symmetry is false there
        for method in ("auto", "asymptotic", "corrected"):
            yield errors(world, "wilcoxon", method=method)
        yield coverage(world, "wilcoxon")
    yield errors(world, "paired-bootstrap")
    for method in ("percentile", "basic"):
        yield coverage(world, "paired-bootstrap", method=method)
    yield size(world, method="t")
    yield size(world, method="bootstrap_ci")


def runs(world: str) -> Iterator[Row]:
    """Independent runs."""
    for method in ("welch", "student"):
        yield errors(world, "t-test", method=method)
        yield coverage(world, "t-test", method=method)
    for method in ("auto", "asymptotic", "corrected"):
        yield errors(world, "mann-whitney", method=method)
    yield coverage(world, "mann-whitney")
    for method in ("percentile", "basic", "bca"):
        yield errors(world, "bootstrap-difference", method=method, n_resamples=2_000)
        yield coverage(world, "bootstrap-difference", method=method, n_resamples=2_000)
    for variance in ("welch", "student"):
        yield size(world, design="independent", method="t", variance=variance)
    if world != "skewed-runs":  # the interval of d is that of normal scores
        yield coverage(world, "effect-size", read="cohens_d_ci")
        yield coverage(world, "effect-size", read="hedges_g_ci")


def clustered(world: str) -> Iterator[Row]:
    """Right/wrong pairs in clusters."""
    forms = ("sign_flip", "obuchowski", "durkalski", "yang", "eliasziw_donner", "cr1_t", "cr2_t", "cv3_t")
    for method in forms:
        yield errors(world, "clustered-mcnemar", method=method)
    for method in ("cr1_t", "cr2_t", "cv3_t", "durkalski"):
        yield coverage(world, "clustered-mcnemar", method=method)
    yield errors(world, "randomization")
    yield coverage(world, "randomization")
    yield errors(world, "cluster-bootstrap")
    for method in ("percentile", "basic"):
        yield coverage(world, "cluster-bootstrap", method=method)
    for variance in ("cr2", "cv3"):
        yield size(world, method="t", cluster_variance=variance)
    if world != "unequal-clusters":  # its distribution takes seconds per data set
        yield size(world, method="bootstrap_ci")


def others() -> Iterator[Row]:
    """Worlds of their own."""
    yield errors("documents", "randomization", 1_000, n_resamples=1_000)
    yield coverage("documents", "randomization")
    yield coverage("one-column", "describe", method="t")
    for method in ("percentile", "basic", "bca"):
        yield coverage("one-column", "describe", 1_000, method=method, n_resamples=2_000)
    yield coverage("small-n-scores", "effect-size", design="paired")
    yield coverage("tables", "effect-conversion")
    yield coverage("profiles", "ecs")
    for method in ("bonferroni", "holm", "hochberg", "hommel", "bh", "by", "fixed_sequence"):
        yield Row(
            "ten-nulls", "multiple-comparisons", "type I error", {"method": method}, "n_rejected",
            simulations=MEMOISED,
        )  # fmt: skip


def rows() -> Iterator[Row]:
    """All of them, in the order of the table."""
    for world in BINARY:
        yield from binary(world)
    for world in SCORES:
        yield from scores(world)
    for world in RUNS:
        yield from runs(world)
    for world in CLUSTERED:
        yield from clustered(world)
    yield from others()
