"""How often a rule holds on simulated data where its claim only just fails: clusters, scores, and looks.

Scores are simulated over shapes (`shapes`). All worlds are drawn at once with few data sets each; the two in which the
rule holds most often are drawn anew with many, so that the level that is told is not the luckiest of several.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.plan import Plan
from service.domain.power.answers.level_records import RuleLevel
from service.domain.power.attainable.least_p import Size
from service.domain.power.attainable.level_bound import reckons_with_items
from service.domain.power.distributions.shapes import Centre, Shape, by_mean, every_shape, sums_of
from service.domain.power.distributions.unseen import Unseen, unseen_worlds
from service.domain.power.holding import rule_holds
from service.domain.power.procedure.cost import of_test
from service.domain.power.procedure.data import Block, Side, World, draw
from service.domain.power.procedure.fields import NOT_SIMULATED, SimulatedSets, looks_at_items
from service.domain.power.procedure.labelled_sets import draw_labelled, label_budget
from service.domain.power.procedure.procedure import Group, Procedure
from service.domain.power.procedure.sequential import SequentialEvidence
from service.domain.power.search import MOST_ITEMS
from service.domain.rules.claims.about import effect_of
from service.domain.rules.claims.assertion import states
from service.domain.rules.claims.claim import Target
from service.domain.rules.claims.clauses import Reader, meaning_of
from service.domain.rules.feeding import parameter
from service.domain.rules.rule import Clause, Comparison, Excludes
from service.domain.rules.settings import Setting, Use
from service.domain.rules.truth import Sets
from service.domain.verdicts.worst_case import extremes
from service.kernels.planning.draws_in_clusters import draw_binary
from service.kernels.planning.simulated_pairs import SharedResamples
from service.stats.shared.declaring.common import Margin
from service.stats.shared.declaring.shows import Effect, PValue, Share
from service.stats.shared.declaring.simulated import Units

ICCS = (0.05, 0.2)
"""Intraclass correlations at which a level is looked at."""
WHOLE_CLUSTERS = 1.0
"""Items of a cluster are alike: it is lost as a whole, or not at all."""

SPREADS = (2.0, 10.0)
"""SD of the item differences in units of the SESOI."""

SHARES = (0.05, 0.3)
"""Shares of items on which right and wrong arms differ, likewise."""
JUDGES = (0.8, 0.98)
"""Shares of answers on which a judge agrees with people who label some of them."""
DATA_SETS, MOST_VALUES, FEWEST_SETS = 2000, 500_000, 100
"""Data sets of a world, the values that may be drawn for them, and the fewest all the same."""
MOST_ITEM_VALUES = 2_000_000
"""Items that are drawn one by one for all data sets of a world."""
FEW_UNITS, MORE = 30, 5
"""Up to that many units a level is told more closely, by so many times the data sets."""

FIRST_SETS, FEWEST_FIRST, FEWEST_SECOND = 500, 60, 400
FIRST_COST, SECOND_COST = 0.35e9, 0.6e9
"""Data sets of a world in the first round and of those drawn anew, and nanoseconds of all of them together."""

ANEW, MOST_ANEW = 2, 4
"""Worlds that are drawn anew: the worst two, and up to four where the others still seem worse."""

LOOKED_AT = 4000
"""Data sets of plans with looks: their tests are cheap, and their levels close to alpha."""

OF_ITEMS = 0.5
"""SD of the baseline's items in units of that of the differences, for tests that see two arms."""

SEED = 20_270_102
NOTHING_TO_DRAW = "it is simulated from a SESOI and at least two units"

Truths = tuple[float, ...]
Shapes = tuple[Shape, ...] | None
"""None: all of those that are plausible."""


@dataclass(frozen=True)
class Null:
    """A world in which the claim only just fails."""

    world: World
    shape: Shape | Unseen | None = None
    """Of the differences of scores, in place: its centre is the truth."""

    @property
    def baseline_sd(self) -> float:
        """The SD of the baseline's items, for tests that see two arms."""
        return self.shape.baseline_sd if isinstance(self.shape, Unseen) else OF_ITEMS * self.world.scale


def fixed_level(
    base: RuleLevel,
    setting: Setting,
    sesoi: Margin | None,
    size: Size,
    known: ManifestFacts | None,
    truths: Truths,
    shapes: Shapes,
) -> RuleLevel:
    """Return the level of a rule that is read once, from all units."""
    clustered = setting.clustered
    sizes = np.ones(size.n, dtype=np.int64)
    if clustered:
        g = size.n_clusters or 1
        # As even as n items in g clusters can be.
        equal = np.full(g, size.n // g) + (np.arange(g) < size.n % g)
        sizes = np.array(known.cluster_sizes) if known and known.cluster_sizes else equal
    if sesoi is None or len(sizes) < 2 or sizes.min() < 1:
        return base.model_copy(update={"reason": NOTHING_TO_DRAW})
    binary = setting.endpoint is not None and setting.endpoint.collapsed_kind == "binary"
    labels = None if clustered else label_budget(setting.plan, setting)
    # Right and wrong with labels are counts alone, however many items there are.
    n_units = 1 if labels is not None and binary else len(sizes)
    n_sets = min(DATA_SETS, MOST_VALUES // n_units)
    if n_sets < FEWEST_SETS:
        return base.model_copy(update={"reason": "too many units to simulate at lint"})
    nulls = tuple(
        _list_nulls(setting, float(sesoi.exact()), truths, shapes, binary=binary, clustered=clustered)
    )
    items = clustered and not binary and any(looks_at_items(use) for use in setting.uses.values())
    if items:
        n_sets = min(n_sets, MOST_ITEM_VALUES // size.n)
        if n_sets < FEWEST_SETS:
            return base.model_copy(update={"reason": "too many items to simulate at lint"})
    arms = not binary and not clustered and any(not pairs(use) for use in setting.uses.values())
    held = _Simulation(setting, sesoi, sizes, labels, items=items, arms=arms).share_holding
    of_clusters = size.n if clustered else None
    cost = sum(of_test(use, n_units, binary=binary, items=of_clusters) for use in setting.uses.values())
    # Nanoseconds: drawing a unit takes about 100 of them.
    cost += 100 * n_units
    first = int(np.clip(FIRST_COST / (len(nulls) * cost), FEWEST_FIRST, min(FIRST_SETS, n_sets)))
    most = n_sets * (MORE if n_units <= FEW_UNITS and not items else 1)
    second = int(np.clip(SECOND_COST / (ANEW * cost), min(FEWEST_SECOND, most), most))
    return _greatest(base, nulls, held, (first, second), binary=binary, clustered=clustered)


@dataclass(frozen=True)
class _Simulation:
    """Data sets on which a rule that is read once is simulated, in any world."""

    setting: Setting
    sesoi: Margin
    sizes: NDArray[np.int64]
    """Of the clusters; 1 of every item where there are none."""
    labels: int | None
    """How many items people label; None: none are."""
    items: bool
    """A test looks at the items of clusters, and not at their sums alone."""
    arms: bool
    """A test looks at both arms, and not at their differences alone."""
    shared: dict[str, SharedResamples] = field(default_factory=dict)

    def share_holding(self, null: Null, n_sets: int, stream: int) -> float | None:
        """Tell in what share of data sets of a world the rule holds; None where that is not simulated."""
        # Within a stream every world begins with the same numbers, so that worlds differ by what is true in them and
        # not by luck.
        generator = np.random.default_rng([SEED, stream] if stream else SEED)
        draw_units = self._draw if self.labels is None else self._draw_labelled
        units = draw_units(generator, null, n_sets)
        return _share_holding(self.setting, SimulatedSets(self.setting, self.sesoi, units).truths)

    def _draw(self, generator: np.random.Generator, null: Null, n_sets: int) -> Units:
        """Draw the units of every data set: right and wrong, or scores of items, of clusters, or of both arms."""
        won = sides = values = None
        if null.shape is None:
            won = draw_binary(generator, n_sets, self.sizes, null.world.shares()[:2], null.world.icc)
            sums = (won[0] - won[1]).astype(np.float64)
        elif self.items:
            values = null.shape.draw_items(generator, n_sets, self.sizes, null.world.icc)
            sums = sums_of(values, self.sizes)
        else:
            sums = null.shape.draw_sums(generator, n_sets, self.sizes, null.world.icc)
            if self.arms:
                before = generator.standard_normal(sums.shape) * null.baseline_sd
                sides = before, before + sums
        return Units(self.sizes, sums, won, self.setting.clustered, SEED, self.shared, sides, values)

    def _draw_labelled(self, generator: np.random.Generator, null: Null, n_sets: int) -> Units:
        """Draw units that a judge scored, of which people label some."""
        assert self.labels is not None  # noqa: S101 - asked for where people label some
        people = None if null.shape is None else null.shape.draw_sums(generator, n_sets, self.sizes, 0.0)
        block = draw_labelled(
            generator, n_sets, len(self.sizes), self.labels, null.world, policy=None, people=people
        )
        side = block.down
        return Units(block.sizes, side.sums, side.won, False, SEED, self.shared, labelled=side.labelled)


def sequential_level(
    base: RuleLevel,
    plan: Plan,
    facts: Mapping[str, ManifestFacts],
    setting: Setting,
    truths: Truths,
    shapes: Shapes,
) -> RuleLevel:
    """Return the level of a rule that is read at looks, or after every unit, up to where its tests end."""
    (group,) = Procedure.of(setting.within, facts, (setting.hypothesis.id,)).groups
    order, sesoi = group.order, group.sesoi
    if order is None or sesoi is None or group.sizes.sum() < 2 or group.sizes.min() < 1:
        return base.model_copy(update={"reason": NOTHING_TO_DRAW})
    if len(group.sizes) > MOST_ITEMS:
        return base.model_copy(update={"reason": f"levels are simulated up to {MOST_ITEMS} units"})
    n_sets = max(min(LOOKED_AT, MOST_VALUES // len(group.sizes)), FEWEST_SETS)

    def held(null: Null, n_drawn: int, stream: int) -> float | None:
        evidence = _draw_sets(group, setting, plan, null, n_drawn, stream)
        evidence.stop = np.minimum(evidence.ended, len(order.looks) - 1)
        return _share_holding(setting, lambda clause: evidence.truths(clause, 0))

    scale = float(sesoi.exact())
    nulls = tuple(_list_nulls(setting, scale, truths, shapes, binary=group.binary, clustered=group.clustered))
    first = max(min(FIRST_SETS, 2 * n_sets // len(nulls)), FEWEST_FIRST)
    return _greatest(base, nulls, held, (first, n_sets), binary=group.binary, clustered=group.clustered)


def _draw_sets(
    group: Group, setting: Setting, plan: Plan, null: Null, n_sets: int, stream: int
) -> SequentialEvidence:
    """Complete data sets: nothing has to be filled in."""
    assert group.order is not None  # noqa: S101 - callers have one
    generator = np.random.default_rng([SEED, stream] if stream else SEED)
    if null.shape is None:
        ends = None if setting.endpoint is None else extremes(setting.endpoint)
        block = draw(
            generator, n_sets, group.sizes, null.world, policy=plan.missing, binary=group.binary, ends=ends
        )
    else:
        side = Side(null.shape.draw_sums(generator, n_sets, group.sizes, null.world.icc), None)
        block = Block(group.sizes, side, side, np.arange(len(group.sizes)))
    return SequentialEvidence(setting, block, (block.down,), group.order)


def _list_nulls(
    setting: Setting, unit: float, truths: Truths, shapes: Shapes, *, binary: bool, clustered: bool
) -> Iterator[Null]:
    """Yield the worlds in which a claim only just fails: by discordance or shape and spread, correlation and judge."""
    iccs = ICCS if clustered else (0.0,)
    if binary:
        judges = [None] if label_budget(setting.plan, setting) is None or clustered else [*JUDGES]
        shares = [max(share, 2 * unit) for share in SHARES]
        for share, icc, truth, agreement in product(shares, iccs, truths, judges):
            yield Null(World(truth, share, icc, agreement=agreement))
        return
    ends = None if setting.endpoint is None else extremes(setting.endpoint)
    span = None if ends is None else ends.high - ends.low
    centre = centre_of(setting, unit)
    # of ranks and quantiles a single value that many items share has no place where a claim only just fails
    candidates: Sequence[Shape] = shapes or every_shape()
    spreads = SPREADS[:1] if truths == (0.0,) and _only_signs(setting) else SPREADS
    if centre is not by_mean:
        candidates = [
            shape for shape in candidates if (shape.smooth and not shape.tied) or truths == (centre(shape),)
        ]
    for shape, spread, icc, truth in product(candidates or every_shape()[:1], spreads, iccs, truths):
        placed = shape.at(truth, spread * unit, span, centre)
        yield Null(World(truth, placed.sd, icc), placed)
    if shapes is None and centre is by_mean:
        yield from _unseen(setting, unit, truths, span, iccs)


def _unseen(
    setting: Setting, unit: float, truths: Truths, span: float | None, iccs: tuple[float, ...]
) -> Iterator[Null]:
    """Losses too rare to be seen; clusters lost as a whole too, but where every way reckons with single items."""
    assert setting.rule is not None  # noqa: S101 - callers have one
    ways = states(setting.rule, Reader(setting.uses, Fraction(repr(unit))))
    if setting.clustered and not reckons_with_items(setting):
        iccs = (*iccs, WHOLE_CLUSTERS)
    for truth, icc in product(truths, iccs):
        for world in unseen_worlds(ways, truth, unit, span):
            yield Null(World(truth, world.sd, icc), world)


def centre_of(setting: Setting, unit: float) -> Centre:
    """Return where a shape lies by the rule's effect: the mean, unless all of it is about one other effect."""
    assert setting.rule is not None  # noqa: S101 - callers have one
    reader = Reader(setting.uses, Fraction(repr(unit)))
    tests = {fact.of for way in states(setting.rule, reader) for fact in way.shown}
    bearing = Target.of(setting).bearing
    tests = tests if bearing is None else {test for test in tests if test in bearing}
    effects = {Effect() if name is None else effect_of(setting.uses[name]) for name in tests}
    effect = next(iter(effects)) if len(effects) == 1 else Effect()
    match effect.kind:
        case "ranks":
            return lambda shape: shape.pseudo_median
        case "shift":
            return lambda shape: shape.shift(OF_ITEMS)
        case "quantile_of_differences":
            return partial(_quantile, q=effect.q or 0.5)
        case _:
            return by_mean


def _quantile(shape: Shape, q: float) -> float:
    return shape.quantile(q)


def _only_signs(setting: Setting) -> bool:
    """Tell whether nothing in the rule has a size, so that the spread of scores does not matter."""
    for clause in setting.clauses:
        use = setting.uses.get(clause.field.test or "")
        if use is not None and isinstance(meaning_of(use, clause.field.path)[0], PValue | Share):
            continue
        if not isinstance(clause, Comparison | Excludes) or clause.value.exact() != 0:
            return False
    return True


def pairs(use: Use) -> bool:
    """Tell whether a test sees the differences of items, rather than two arms."""
    return use.test.plan is None or use.test.plan.pairs(partial(parameter, use.use))


def _greatest(
    base: RuleLevel,
    nulls: Sequence[Null],
    held: Callable[[Null, int, int], float | None],
    sets: tuple[int, int],
    *,
    binary: bool,
    clustered: bool,
) -> RuleLevel:
    """Return all worlds with few data sets, and the worst anew with many."""
    first, second = sets
    values: list[float] = []
    for null in nulls:
        level = held(null, first, 0)
        if level is None:
            return base.model_copy(update={"reason": NOT_SIMULATED})
        values.append(level)
    anew: dict[int, float] = {}
    # until none that was seen with few data sets alone lies above the worst
    while len(anew) < min(MOST_ANEW, len(values)):
        rest = [index for index in range(len(values)) if index not in anew]
        at = max(rest, key=values.__getitem__)
        if len(anew) >= ANEW and values[at] <= max(anew.values()):
            break
        anew[at] = values[at] = held(nulls[at], second, 1 + len(anew)) or 0.0
    at = max(anew, key=anew.__getitem__)
    level = anew[at]
    null = nulls[at]
    by_world: dict[str, float] = {}
    for tried, value in zip(nulls, values, strict=True):
        if tried.shape is not None:
            by_world[tried.shape.name] = max(by_world.get(tried.shape.name, 0.0), value)
    return base.model_copy(
        update={
            "level": level,
            "method": "simulated",
            "standard_error": _error(level, second),
            "discordance": null.world.scale if binary else None,
            "spread": None if binary else null.world.scale,
            "icc": null.world.icc if clustered else None,
            "truth": null.world.truth,
            "world": None if null.shape is None else null.shape.name,
            "worlds": {name: round(worst, 4) for name, worst in by_world.items()} or None,
        }
    )


def _error(level: float, n_sets: int) -> float:
    # No less than 1 / n: a rule that held in none of n data sets may still hold in one of n.
    return math.sqrt(max(level * (1 - level), 1 / n_sets) / n_sets)


def _share_holding(setting: Setting, truths: Callable[[Clause], Sets | None]) -> float | None:
    """Return the share of data sets in which the rule holds; None where a clause is not simulated."""
    held = rule_holds(setting, truths)
    return None if held is None else float(held.mean())
