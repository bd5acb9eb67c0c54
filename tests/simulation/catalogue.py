"""Everything that is simulated."""

from __future__ import annotations

from collections.abc import Iterator

from tests.simulation import shortcuts
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


def size(world: str, test: str = "equivalence", simulations: int = 2_000, **options: object) -> Batch:
    """How often equivalence is claimed when the true difference is the margin itself."""
    value, unit = WORLDS[world].margin, WORLDS[world].unit
    margin = {"value": round(value * 100, 6) if unit == "pp" else value, "unit": unit}
    read = Read("size at the margin", "equivalent", ALPHA)
    return Batch(world, test, (read,), {**options, "margin": margin}, value, simulations)


def binary(world: str) -> Iterator[Batch]:
    """Right/wrong pairs: errors without an effect, coverage with one."""
    effect, discordant = WORLDS[world].effect, BINARY[world]
    for method in ("exact", "midp", "asymptotic", "corrected"):
        yield Batch(world, "mcnemar", (errors(),), {"method": method}, simulations=MEMOISED)
    yield Batch(world, "paired-difference", (errors(),), simulations=MEMOISED)
    for alternative in ("greater", "two-sided"):
        options: dict[str, object] = {"alternative": alternative}
        yield Batch(world, "paired-bootstrap", (errors(),), options, simulations=MEMOISED)
    yield Batch(world, "paired-bootstrap", (errors(),), {"comparison": "strict"}, simulations=MEMOISED)
    odds = (discordant + effect) / (discordant - effect)
    ratio = coverage("odds_ratio.ci", "of the odds ratio", odds)
    yield Batch(world, "mcnemar", (ratio,), {}, effect, MEMOISED)
    for method in ("tango", "newcombe", "wald"):
        yield Batch(world, "paired-difference", (coverage(),), {"method": method}, effect, MEMOISED)
    for method in ("percentile", "basic"):
        yield Batch(world, "paired-bootstrap", (coverage(),), {"method": method}, effect, MEMOISED)
    for method in ("tango", "t", "bootstrap_ci"):
        yield size(world, simulations=4_000, method=method)
    yield size(world, simulations=4_000, method="bootstrap_ci", bounds="seed")


def scores(world: str) -> Iterator[Batch]:
    """Paired scores. The methods move with the data, so coverage of 0 is coverage of any difference."""
    yield Batch(world, "t-test", (errors(), coverage()), {"method": "paired"})
    if world != "lopsided":  # its differences are not symmetric, which is what wilcoxon tests
        yield Batch(world, "wilcoxon", (errors(), coverage()))
        for method in ("asymptotic", "corrected"):
            yield Batch(world, "wilcoxon", (errors(),), {"method": method})
    both = tuple(coverage(f"intervals.{method}", method) for method in ("percentile", "basic"))
    yield Batch(world, "paired-bootstrap", (errors(), *both))
    yield Batch(world, "randomization", (errors(), coverage()))
    yield size(world, method="t")
    yield size(world, method="bootstrap_ci")


def runs(world: str) -> Iterator[Batch]:
    """Independent runs."""
    for method in ("welch", "student"):
        yield Batch(world, "t-test", (errors(), coverage()), {"method": method})
    yield Batch(world, "mann-whitney", (errors(), coverage()))
    for method in ("asymptotic", "corrected"):
        yield Batch(world, "mann-whitney", (errors(),), {"method": method})
    methods = ("percentile", "basic", "bca")
    if world == "five-runs":
        for method in methods:
            yield Batch(world, "bootstrap-difference", (errors(), coverage()), {"method": method})
    else:
        reads = [
            read
            for method in methods
            for read in (errors(f"p_values.{method}", method), coverage(f"intervals.{method}", method))
        ]
        yield Batch(world, "bootstrap-difference", tuple(reads), compute=shortcuts.bootstrap_difference)
    for variance in ("welch", "student"):
        yield size(world, design="independent", method="t", variance=variance)
    if world != "skewed-runs":  # the interval of d is that of normal scores
        effects = coverage("cohens_d_ci", "of d"), coverage("hedges_g_ci", "of g")
        yield Batch(world, "effect-size", effects, effect=WORLDS[world].effect)


def clustered(world: str) -> Iterator[Batch]:
    """Right/wrong pairs in clusters."""
    effect = WORLDS[world].effect
    for method in (
        "sign_flip",
        "obuchowski",
        "durkalski",
        "yang",
        "eliasziw_donner",
        "cr1_t",
        "cr2_t",
        "cv3_t",
    ):
        yield Batch(world, "clustered-mcnemar", (errors(),), {"method": method})
    for method in ("cr1_t", "cr2_t", "cv3_t", "durkalski"):
        yield Batch(world, "clustered-mcnemar", (coverage(),), {"method": method}, effect)
    yield Batch(world, "randomization", (errors(),))
    yield Batch(world, "randomization", (coverage(),), {}, effect)
    both = tuple(coverage(f"intervals.{method}", method) for method in ("percentile", "basic"))
    drawn = shortcuts.cluster_bootstrap if world == "unequal-clusters" else None
    yield Batch(world, "cluster-bootstrap", (errors(),), compute=drawn)
    yield Batch(world, "cluster-bootstrap", both, {}, effect, compute=drawn)
    for variance in ("cr2", "cv3"):
        yield size(world, method="t", cluster_variance=variance)
    if world != "unequal-clusters":  # seconds per data set
        yield size(world, method="bootstrap_ci")


def looking() -> Iterator[Batch]:
    """Designs that look more than once. Planned looks err at most alpha; an anytime-valid one much less."""
    looks = [50, 100, 150, 200]
    for boundary in ("obrien_fleming_spending", "pocock_spending"):
        design: dict[str, object] = {"method": "group_sequential", "looks": looks, "boundary": boundary}
        yield Batch("peeking", "sequential", (errors(), coverage()), design)
        found = coverage(label="with an effect")
        yield Batch("peeking", "sequential", (found,), design, WORLDS["peeking"].effect)
    yield Batch("peeking", "sequential", (errors(),), {"method": "e_process"})
    effect = WORLDS["peeking"].effect
    for truth, label in ((0.0, "at all n at once"), (effect, "at all n at once, with an effect")):
        sequence = {"method": "confidence_sequence"}
        yield Batch("peeking", "sequential", (coverage(label=label),), sequence, truth)
    last = coverage(label="at the last n")
    yield Batch("peeking", "cumulative-effect", (last,), {}, effect, simulations=1_000)


def others() -> Iterator[Batch]:
    """Worlds of their own."""
    drawn: dict[str, object] = {"metric": "f1", "n_resamples": 1_000}
    yield Batch("documents", "randomization", (errors(), coverage()), drawn, simulations=1_000)
    for method in ("t", "percentile", "basic", "bca"):
        yield Batch("one-column", "describe", (coverage(),), {"method": method}, 0.5)
    yield Batch("small-n-scores", "effect-size", (coverage(),), {"design": "paired"}, 0.5)
    yield Batch("attempts", "pass-at-k", (coverage("estimates.0.ci"),), {}, WORLDS["attempts"].effect)
    yield Batch("tables", "effect-conversion", (coverage(),), {}, WORLDS["tables"].effect)
    yield Batch("profiles", "ecs", (coverage(),), {}, WORLDS["profiles"].effect)
    for method in ("bonferroni", "holm", "hochberg", "hommel", "bh", "by", "fixed_sequence"):
        yield Batch(
            "ten-nulls", "multiple-comparisons", (errors("n_rejected"),), {"method": method},
            simulations=MEMOISED,
        )  # fmt: skip


def batches() -> Iterator[Batch]:
    """All of them, in the order of the table."""
    for world in BINARY:
        yield from binary(world)
    for world in SCORES:
        yield from scores(world)
    for world in RUNS:
        yield from runs(world)
    for world in CLUSTERED:
        yield from clustered(world)
    yield from looking()
    yield from others()
    yield from powers()


def predicted(world: str, test: str, effect: float, design: dict[str, object], **options: object) -> Batch:
    """How often a rule of one clause holds, against what the test `power` says of that design."""
    path = "equivalent" if test == "equivalence" else "p_value"
    return Batch(world, test, (Read("power", path, design=design),), options, effect, 4_000)


def powers() -> Iterator[Batch]:
    """Rules of one clause: `p_value < 0.05`, or `equivalent`."""
    many = {"test": "mcnemar", "p_only_baseline": 0.125, "p_only_candidate": 0.175, "n": 500}
    yield predicted("binary-high", "mcnemar", 0.05, many)
    margin = {"value": 2.0, "unit": "pp"}
    few = {"test": "tango", "p_only_baseline": 0.02, "p_only_candidate": 0.02, "n": 500, "margin": margin}
    yield predicted("binary-low", "equivalence", 0.0, few, margin=margin)
    pairs = {"test": "paired-t", "delta": 0.5, "sd_difference": 1.0, "n": 15}
    yield predicted("small-n-scores", "t-test", 0.5, pairs, method="paired")
    arms = {"test": "welch", "delta": 0.8, "sd_baseline": 1.0, "sd_candidate": 1.0, "n": 20}
    yield predicted("twenty-runs", "t-test", 0.8, arms, method="welch")
    shares = {"p_only_baseline": 0.1, "p_only_candidate": 0.2, "cluster_size": 10, "icc": 0.2}
    flips = {"test": "sign-flip", "n": 60, "n_simulations": 20_000, **shares}
    yield predicted("many-clusters", "clustered-mcnemar", 0.1, flips)


NOT_SIMULATED: dict[str, str] = {}
"""Tests with a p-value or an interval that no world is for, and why."""

NOTES: dict[tuple[str, str, str, str], str] = {}
"""What a reader has to know of liberal rows for which the service has no warning."""
