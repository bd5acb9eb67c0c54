"""What is simulated: one row per world, test, options and quantity."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import SimpleNamespace
from typing import Literal

import numpy as np

from service.kernels.bootstrap_draws import draw_ratios
from service.stats import registry
from service.stats.cluster_bootstrap import ClusterBootstrapRequest
from service.stats.resampling import Reading
from tests.simulation.worlds import WORLDS, Body

Quantity = Literal["type I error", "coverage", "size at the margin", "power"]
ALPHA = 0.05
WARMUP = 20
"""Data sets on which the warning that documents a deviation is looked for."""


@dataclass(frozen=True)
class Measured:
    """Share of data sets that hit, how many there were, and which warnings the first ones carried."""

    rate: float
    simulations: int
    warned: Mapping[str, float]


@dataclass(frozen=True)
class Row:
    """One measurement. `truth`: what the interval should cover, where it is not the world's effect."""

    world: str
    test: str
    quantity: Quantity
    options: Mapping[str, object] = field(default_factory=dict)
    read: str = "p_value"
    nominal: float = ALPHA
    simulations: int = 2_000
    truth: float | None = None

    @property
    def id(self) -> str:
        """A name that pytest and the table share."""
        return " ".join((self.world, self.test, self.quantity, self.shown)).strip()

    @property
    def shown(self) -> str:
        """Options and the field read, as the table prints them."""
        options = {name: value for name, value in self.options.items() if name != "margin"}
        parts = [f"{name} {value}" for name, value in options.items()]
        if self.read not in ("p_value", "ci", "equivalent"):
            parts.append(self.read)
        return ", ".join(parts)

    @cached_property
    def effect(self) -> float:
        """The true difference: none where errors of the first kind are counted."""
        world = WORLDS[self.world]
        if self.quantity == "size at the margin":
            return world.margin
        return 0.0 if self.quantity == "type I error" else world.effect

    def bodies(self) -> Iterator[Body]:
        """Data sets, each from a seed of its own: the same whatever the row's length."""
        world = WORLDS[self.world]
        number = list(WORLDS).index(self.world)
        for index in range(self.simulations):
            seeds = np.random.SeedSequence([20_240_601, number, index])
            yield {**world.draw(np.random.default_rng(seeds), self.effect), **self.options}

    def measure(self) -> Measured:
        """Run the test on every data set; data sets that are only counts are computed once."""
        known: dict[str, tuple[bool, frozenset[str]]] = {}
        hits, warned = 0, []
        for index, body in enumerate(self.bodies()):
            key = json.dumps(body) if "both_correct" in body else str(index)
            if key not in known:
                known[key] = self.outcome(body)
            hit, codes = known[key]
            hits += hit
            if index < WARMUP:
                warned.append(codes)
        return Measured(
            hits / self.simulations,
            self.simulations,
            {code: sum(code in codes for codes in warned) / WARMUP for code in frozenset().union(*warned)},
        )

    def outcome(self, body: Body) -> tuple[bool, frozenset[str]]:
        """Whether one data set rejects, or its interval covers the truth, and the codes of the warnings."""
        test = registry.find(self.test)
        request = test.request.model_validate(body)
        if self.test == "cluster-bootstrap" and request.pairs.groups.n_clusters == 30:
            analysis = by_draws(request)
        else:
            analysis = test.compute(request)
        codes = frozenset(warning.code for warning in analysis.warnings)
        found = analysis
        for name in self.read.split("."):
            found = getattr(found, name)
        if self.quantity == "coverage":
            return covers(found, self.effect if self.truth is None else self.truth), codes
        return rejects(found), codes


def covers(interval: object, truth: float) -> bool:
    """True when the truth lies in the interval; a null end has no limit."""
    if interval is None:
        return False
    low, high = interval.low, interval.high
    return (low is None or low <= truth + 1e-12) and (high is None or truth <= high + 1e-12)


def rejects(found: object) -> bool:
    """A truth value as it is, a count above 0, a p-value below alpha; undefined rejects nothing."""
    if found is None or isinstance(found, bool | int):
        return bool(found)
    return found < ALPHA


def by_draws(request: ClusterBootstrapRequest) -> SimpleNamespace:
    """The answer of `cluster-bootstrap` from draws: of unequal clusters the exact one takes seconds."""
    groups = request.pairs.groups
    drawn = draw_ratios(groups.sums, groups.sizes, 2_000, seed=1)
    read = Reading(request, groups.item_weighted, 1 / 2_000).fields(drawn)
    return SimpleNamespace(ci=read["ci"], p_value=read["p_value"], warnings=request.pairs.warnings())
