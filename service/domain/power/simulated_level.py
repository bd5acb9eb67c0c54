"""How often a rule holds on simulated data where its claim only just fails: clusters, scores, and looks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import product

import numpy as np
from numpy.typing import NDArray

from service.domain.plans.plan import Plan
from service.domain.plans.population import ManifestFacts
from service.domain.power.enumerated.truth_sets import TRUE, Sets, combine_sets
from service.domain.power.least_p import Size
from service.domain.power.level_records import SLACK, RuleLevel, exceeds
from service.domain.power.procedure.data import World, draw
from service.domain.power.procedure.fields import NOT_SIMULATED, SimulatedSets
from service.domain.power.procedure.procedure import Group, Procedure
from service.domain.power.procedure.sequential import SequentialEvidence
from service.domain.power.search import MOST_ITEMS
from service.domain.rules.rule import Clause
from service.domain.rules.settings import Setting
from service.domain.verdicts.worst_case import extremes
from service.kernels.simulated_pairs import SharedResamples, draw_binary, draw_continuous
from service.stats.shared.common import Margin
from service.stats.shared.simulated import Units

ICCS = (0.05, 0.2)
SPREADS = (2.0, 10.0)
"""SD of the item differences in units of the SESOI."""

SHARES = (0.05, 0.3)
DATA_SETS, MOST_VALUES, FEWEST_SETS = 2000, 500_000, 100
FEW_UNITS, MORE = 30, 5
"""Up to that many units a level that may lie above alpha is told more closely, by so many times the data sets."""

LOOKED_AT = 4000
"""Data sets of plans with looks: their tests are cheap, and their levels close to alpha."""

SEED = 20_270_102
NOTHING_TO_DRAW = "it is simulated from a SESOI and at least two units"

Truths = tuple[float, ...]


def fixed_level(
    base: RuleLevel,
    setting: Setting,
    sesoi: Margin | None,
    size: Size,
    known: ManifestFacts | None,
    truths: Truths,
) -> RuleLevel:
    """Of a rule that is read once, from all units."""
    clustered = setting.population is not None and setting.population.clusters is not None
    sizes = np.ones(size.n, dtype=np.int64)
    if clustered:
        g = size.n_clusters or 1
        equal = np.full(g, size.n // g) + (np.arange(g) < size.n % g)
        sizes = np.array(known.cluster_sizes) if known and known.cluster_sizes else equal
    if sesoi is None or len(sizes) < 2 or sizes.min() < 1:
        return base.model_copy(update={"reason": NOTHING_TO_DRAW})
    n_sets = min(DATA_SETS, MOST_VALUES // len(sizes))
    if n_sets < FEWEST_SETS:
        return base.model_copy(update={"reason": "too many units to simulate at lint"})
    binary = setting.endpoint is not None and setting.endpoint.collapsed_kind == "binary"
    shared: dict[str, SharedResamples] = {}

    def held(world: World, stream: int) -> float | None:
        generator, won = np.random.default_rng([SEED, stream] if stream else SEED), None
        if binary:
            won = draw_binary(generator, n_sets, sizes, world.shares()[:2], world.icc)
            sums = (won[0] - won[1]).astype(np.float64)
        else:
            sums = draw_continuous(generator, n_sets, sizes, world.truth, world.scale, world.icc)
        sets = SimulatedSets(setting, sesoi, Units(sizes, sums, won, clustered, SEED, shared))
        return _held(setting, sets.truths)

    worlds = _worlds(float(sesoi.exact()), truths, binary=binary, clustered=clustered)
    more = MORE if len(sizes) <= FEW_UNITS else 0
    return _greatest(base, worlds, held, n_sets, more, binary=binary, clustered=clustered)


def sequential_level(
    base: RuleLevel, plan: Plan, facts: Mapping[str, ManifestFacts], setting: Setting, truths: Truths
) -> RuleLevel:
    """Of a rule that is read at looks, or after every unit, up to where its tests end."""
    (group,) = Procedure.of(plan, facts, (setting.hypothesis.id,)).groups
    order, sesoi = group.order, group.sesoi
    if order is None or sesoi is None or group.sizes.sum() < 2 or group.sizes.min() < 1:
        return base.model_copy(update={"reason": NOTHING_TO_DRAW})
    if len(group.sizes) > MOST_ITEMS:
        return base.model_copy(update={"reason": f"levels are simulated up to {MOST_ITEMS} units"})
    n_sets = max(min(LOOKED_AT, MOST_VALUES // len(group.sizes)), FEWEST_SETS)

    def held(world: World, _stream: int) -> float | None:
        evidence = _drawn(group, setting, plan, world, n_sets)
        evidence.stop = np.minimum(evidence.ended, len(order.looks) - 1)
        return _held(setting, lambda clause: evidence.truths(clause, evidence.sides[0]))

    scale = float(sesoi.exact())
    worlds = _worlds(scale, truths, binary=group.binary, clustered=group.clustered)
    return _greatest(base, worlds, held, n_sets, 0, binary=group.binary, clustered=group.clustered)


def _drawn(group: Group, setting: Setting, plan: Plan, world: World, n_sets: int) -> SequentialEvidence:
    """Complete data sets: nothing has to be filled in."""
    assert group.order is not None  # noqa: S101 - callers have one
    block = draw(
        np.random.default_rng(SEED),
        n_sets,
        group.sizes,
        world,
        policy=plan.missing,
        binary=group.binary,
        ends=None if setting.endpoint is None else extremes(setting.endpoint),
    )
    return SequentialEvidence(setting, group.sesoi, block, (block.down,), group.order)


def _worlds(unit: float, truths: Truths, *, binary: bool, clustered: bool) -> Iterator[World]:
    scales = [max(each, 2 * unit) for each in SHARES] if binary else [each * unit for each in SPREADS]
    for scale, icc, truth in product(scales, ICCS if clustered else (0.0,), truths):
        yield World(truth, scale, icc)


def _greatest(
    base: RuleLevel,
    worlds: Iterator[World],
    held: Callable[[World, int], float | None],
    n_sets: int,
    more: int,
    *,
    binary: bool,
    clustered: bool,
) -> RuleLevel:
    """`more`: how often as many data sets are drawn anew where the first leave open whether alpha is exceeded."""
    found: list[tuple[float, World]] = []
    for world in worlds:
        level = held(world, 0)
        if level is None:
            return base.model_copy(update={"reason": NOT_SIMULATED})
        found.append((level, world))
    level, world = max(found, key=lambda each: each[0])
    if level > SLACK * base.alpha and not exceeds(level, _error(level, n_sets), base.alpha):
        again = [each for stream in range(1, more + 1) if (each := held(world, stream)) is not None]
        if again:
            level, n_sets = sum(again) / len(again), n_sets * len(again)
    return base.model_copy(
        update={
            "level": level,
            "method": "simulated",
            "standard_error": _error(level, n_sets),
            "discordance": world.scale if binary else None,
            "spread": None if binary else world.scale,
            "icc": world.icc if clustered else None,
            "truth": world.truth,
        }
    )


def _error(level: float, n_sets: int) -> float:
    return math.sqrt(max(level * (1 - level), 1 / n_sets) / n_sets)


def _held(setting: Setting, truths: Callable[[Clause], Sets | None]) -> float | None:
    """The share of data sets in which the rule holds; None where a clause is not simulated."""
    assert setting.rule is not None  # noqa: S101 - callers have one
    found: dict[Clause, NDArray[np.uint8]] = {}
    for clause in dict.fromkeys(setting.clauses):
        known = truths(clause)
        if known is None:
            return None
        found[clause] = known
    return float((combine_sets(setting.rule, found) == TRUE).mean())
