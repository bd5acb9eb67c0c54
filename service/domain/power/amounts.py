"""What a rule asks of a positive endpoint (costs, seconds, tokens), on simulated log-normal amounts.

Amounts of both arms are log-normal with one coefficient of variation, correlate item by item, and are independent of
every other endpoint. The baseline's mean is 1: what is true is a ratio.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.plan import Plan
from service.domain.plans.sections.assumptions import AssumedAmounts
from service.domain.plans.sections.population import Population
from service.domain.power.answers.level_records import RuleLevel
from service.domain.power.divided import share_out
from service.domain.power.holding import rule_holds
from service.domain.power.procedure.fields import SimulatedSets
from service.domain.power.procedure.procedure import cluster_sizes
from service.domain.power.search import MOST_ITEMS
from service.domain.power.worlds import ICCS, Corner
from service.domain.rules.feeding import parameter
from service.domain.rules.fields import RATIO
from service.domain.rules.rule import Clause, Comparison, Excludes, Within
from service.domain.rules.settings import Parts, Setting, on_endpoint, own_part
from service.kernels.planning.cluster_power import simulated_power
from service.stats.shared.declaring.simulated import Units
from service.words import say

Floats = NDArray[np.float64]
Side = Literal[1, -1]

CVS: Mapping[Corner, float] = {"low": 2.0, "reference": 1.0, "high": 0.5}
"""Coefficients of variation of an arm's amounts."""

CORRELATION = 0.5
"""Of both arms' log amounts at the same item."""

UNNAMED_RATIO = 0.8
"""The true ratio where a rule asks for less than the baseline and names no size."""

SETS, MOST_VALUES, FEWEST = 1000, 500_000, 100
"""Data sets of an entry, the values that may be drawn for them, and the fewest all the same."""
PER_ITEM = 150.0
"""Nanoseconds to draw both arms at an item."""

RESAMPLES = 2_000_000.0
"""Nanoseconds of a data set whose tests resample."""

SEED = 20_270_103
NOTHING_STATED = AssumedAmounts()
TOO_LARGE = f"amounts are simulated up to {MOST_ITEMS} items"
NOT_SIMULATED = "the rule has a field of '{}' that is not simulated here"
NOTHING_TO_DRAW = "amounts are simulated from at least two items or clusters"


@dataclass(frozen=True, slots=True)
class Chance:
    """How often a part of a rule holds; null beside a reason."""

    power: float | None
    error: float = 0.0
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class World:
    """What is true of both arms' amounts; the correlation within clusters is on the log scale."""

    ratio: float
    cv: float
    correlation: float
    icc: float


@dataclass(frozen=True)
class Amounts:
    """The part of a rule that speaks of one positive endpoint, as a rule of its own there."""

    setting: Setting
    facts: Mapping[str, ManifestFacts]
    assumed: AssumedAmounts = NOTHING_STATED

    @property
    def cvs(self) -> Mapping[Corner, float]:
        """Coefficients of variation by corner: the plan's, else a range."""
        stated = self.assumed.cv
        return CVS if stated is None else dict.fromkeys(CVS, stated)

    @property
    def correlation(self) -> float:
        """The correlation of both arms' log amounts at an item: the plan's, else a half."""
        return CORRELATION if self.assumed.correlation is None else self.assumed.correlation

    @property
    def endpoint(self) -> str:
        """The id of the endpoint whose amounts are compared."""
        return self.setting.hypothesis.endpoint

    @property
    def n(self) -> int:
        """How many items are planned."""
        population = self.setting.population
        known = None if population is None else self.facts.get(population.id)
        return known.n if known is not None else population.n if population is not None else 0

    @property
    def n_sets(self) -> int:
        """How many data sets are drawn of one world."""
        return max(min(SETS, MOST_VALUES // max(self.n, 1)), FEWEST)

    @property
    def cost(self) -> float:
        """What one call of `at` costs, in nanoseconds."""
        drawn = any(use.test.plan and use.test.plan.simulated and use.test.plan.simulated.effort(
            partial(parameter, use.use)) == "resampled" for use in self.setting.uses.values())  # fmt: skip
        return self.n_sets * (2 * PER_ITEM * self.n + (RESAMPLES if drawn else 0.0))

    def share_out(self, by: int) -> Amounts:
        """Return these amounts with every threshold of a small p-value shared out among `by`."""
        rule = self.setting.rule
        return (
            self if rule is None else replace(self, setting=replace(self.setting, rule=share_out(rule, by)))
        )

    def enlarge_to(self, population: Population, facts: Mapping[str, ManifestFacts]) -> Amounts:
        """Return these amounts on a population of so many items."""
        return replace(self, setting=replace(self.setting, population=population), facts=facts)

    def goal(self) -> float:
        """Return the ratio that the plan takes to be true, else one at which the part should come out.

        That is twice as far from 1 as it asks, in logs; 1 for a margin.
        """
        if self.assumed.ratio is not None:
            return self.assumed.ratio
        limits = tuple(_ratio_limits(self.setting))
        below = min((at for side, at in limits if side < 0), default=None)
        above = max((at for side, at in limits if side > 0), default=None)
        if below is not None and above is not None:
            return math.sqrt(below * above)
        if below is not None:
            return 1.0 if below > 1 else UNNAMED_RATIO if below == 1 else below * below
        if above is not None:
            return 1.0 if above < 1 else 1 / UNNAMED_RATIO if above == 1 else above * above
        return UNNAMED_RATIO

    def boundaries(self) -> tuple[float, ...]:
        """Return the ratios at which a clause of the part only just fails."""
        return tuple(dict.fromkeys(at for _, at in _ratio_limits(self.setting))) or (1.0,)

    def at(
        self, corner: Corner, ratio: float | None = None, cv: float | None = None, stream: int = 0
    ) -> Chance:
        """Return how often it holds under a true ratio; that of `goal` unless given."""
        population = self.setting.population
        clustered = population is not None and population.clusters is not None
        truth = self.goal() if ratio is None else ratio
        return self._compute_chance(
            truth, self.cvs[corner] if cv is None else cv, ICCS[corner] if clustered else 0.0, stream
        )

    def level(self, base: RuleLevel) -> RuleLevel:
        """Return the greatest chance that it holds where it only just should not."""
        population = self.setting.population
        clustered = population is not None and population.clusters is not None
        best: tuple[float, float, dict[str, object]] | None = None
        cvs = dict.fromkeys((self.cvs["high"], self.cvs["low"]))
        for ratio, cv, icc in product(self.boundaries(), cvs, (0.05, 0.2) if clustered else (0.0,)):
            held = self._compute_chance(ratio, cv, icc, 0)
            if held.power is None:
                return base.model_copy(update={"level": None, "reason": held.reason})
            where: dict[str, object] = {
                "ratio": ratio,
                "cv": cv,
                "icc": icc if clustered else None,
                "truth": ratio - 1,
            }
            if best is None or held.power > best[0]:
                best = held.power, held.error, where
        assert best is not None  # noqa: S101 - there is a boundary
        level, error, where = best
        return base.model_copy(
            update={"level": level, "method": "simulated", "standard_error": error, "reason": None, **where}
        )

    def _compute_chance(self, ratio: float, cv: float, icc: float, stream: int) -> Chance:
        """Return how often the part holds on amounts drawn from one world; null with its reason where none can be."""
        sizes, codes = self._units()
        if len(sizes) < 2 or sizes.min() < 1:
            return Chance(None, reason=NOTHING_TO_DRAW)
        n_sets = self.n_sets
        if self.n > MOST_ITEMS:
            return Chance(None, reason=TOO_LARGE)
        clustered = codes is not None
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        before, after = (
            np.add.reduceat(amounts, starts, axis=1) if clustered else amounts
            for amounts in _draw_amounts(
                n_sets, int(sizes.sum()), codes, World(ratio, cv, self.correlation, icc), stream
            )
        )
        units = Units(sizes, after - before, None, clustered, SEED, {}, (before, after))
        sets = SimulatedSets(self.setting, None, units)
        held = rule_holds(self.setting, sets.truths)
        if held is None:
            return Chance(None, reason=NOT_SIMULATED.format(self.endpoint))
        return Chance(*simulated_power(held))

    def _units(self) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
        """Sizes of the units, and every item's cluster where there are clusters."""
        sizes = cluster_sizes(self.setting, self.facts)
        if sizes is None:
            return np.ones(self.n, dtype=np.int64), None
        return sizes, np.repeat(np.arange(len(sizes)), sizes)


def beside_words(part: Amounts) -> str:
    """Return what power takes for granted of another endpoint."""
    return say(
        "power.assumed_log_normal",
        endpoint=part.endpoint,
        cv=f"{part.cvs['reference']:g}",
        correlation=f"{part.correlation:g}",
        times=f"{part.goal():.3g}",
    )


def asks_amounts(setting: Setting) -> bool:
    """Tell whether the rule asks of its hypothesis' own endpoint what only amounts have."""
    return bool(setting.endpoint and setting.endpoint.positive) and any(
        not use.beside and use.test.plan is not None and use.test.plan.positive
        for use in setting.uses.values()
    )


def amounts_of(
    plan: Plan, facts: Mapping[str, ManifestFacts], setting: Setting, parts: Parts | None
) -> tuple[Amounts, ...] | str:
    """Return the rule's parts on positive endpoints, its own first if it asks amounts there; or why there are none."""
    if parts is None:
        return say("power.joined_otherwise")
    assumed: Mapping[str, AssumedAmounts] = {}
    if plan.assumptions is not None:
        assumed = plan.assumptions.of(setting.hypothesis.id).amounts or {}
    amounts = []
    if asks_amounts(setting) and parts.own is not None:
        own = own_part(setting, parts.own)
        amounts.append(Amounts(own, facts, assumed.get(setting.hypothesis.endpoint, NOTHING_STATED)))
    for name in parts.others:
        there = on_endpoint(setting, name)
        if there.endpoint is None or not there.endpoint.positive:
            return say("power.beside_positive_alone", name=name)
        amounts.append(Amounts(there, facts, assumed.get(name, NOTHING_STATED)))
    return tuple(amounts)


def _ratio_limits(setting: Setting) -> Iterator[tuple[Side, float]]:
    """Yield which way and past which ratio each clause asks."""
    lower = setting.endpoint is not None and setting.endpoint.better == "lower"
    for clause in setting.clauses:
        use = setting.use_of(clause)
        if clause.field.path[0] == RATIO:
            yield from _list_ratios(clause, lower=lower)
        elif use is not None and clause.field.path == ("p_value",):
            value = partial(parameter, use.use)
            null = value("null")
            at = float(null) if isinstance(null, int | float) else 1.0
            side = {"less": -1, "greater": 1}.get(str(value("alternative")), -1 if lower else 1)
            yield (-1 if side < 0 else 1), at
        else:
            yield (-1 if lower else 1), 1.0


def _list_ratios(clause: Clause, *, lower: bool) -> Iterator[tuple[Side, float]]:
    match clause:
        case Comparison():
            yield (-1 if clause.operator in ("<", "<=") else 1), float(clause.value.exact())
        case Excludes():
            yield (-1 if lower else 1), float(clause.value.exact())
        case Within():
            yield 1, float(clause.low.exact())
            yield -1, float(clause.high.exact())


def _draw_amounts(
    n_sets: int, n: int, codes: NDArray[np.int64] | None, world: World, stream: int
) -> tuple[Floats, Floats]:
    """Amounts of both arms, (T, n) each: exp of normal values whose parts are shared by both arms and own.

    A log-normal law has the squared coefficient of variation exp(sigma^2) - 1 and the mean exp(mu + sigma^2 / 2), so
    sigma^2 = log(1 + cv^2), and mu = -sigma^2 / 2 makes the baseline's mean 1.
    """
    sigma = math.sqrt(math.log1p(world.cv * world.cv))
    shared, *own = _draw_noise(n_sets, n, codes, world.icc, stream)
    common, rest = math.sqrt(world.correlation), math.sqrt(1 - world.correlation)
    before, after = (np.exp(sigma * (common * shared + rest * noise) - sigma * sigma / 2) for noise in own)
    return before, world.ratio * after


def _draw_noise(
    n_sets: int, n: int, codes: NDArray[np.int64] | None, icc: float, stream: int
) -> Iterator[Floats]:
    """Three arrays (T, n) of standard normal noise, in which items of one cluster correlate by `icc`.

    What both arms share and what is each arm's own. They are drawn in this order whatever is true, so that worlds
    under one stream have the same noise and differ by their truth alone.
    """
    generator = np.random.default_rng([SEED, stream])
    for _ in range(3):
        noise = generator.standard_normal((n_sets, n))
        if codes is None:
            yield noise
            continue
        cluster = generator.standard_normal((n_sets, int(codes[-1]) + 1))[:, codes]
        yield math.sqrt(icc) * cluster + math.sqrt(1 - icc) * noise
