"""What is simulated: batches of data sets on which one test is run, and what is counted of its answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from service.stats.shared.declaring import registry
from tests.simulation.record import Key, Record
from tests.simulation.worlds import WORLDS, Body

Quantity = Literal["type I error", "coverage", "size at the margin", "power"]
ALPHA = 0.05
LEVEL = 0.95
SEED = 20_240_601
FIRST = 50
"""Data sets whose warnings are counted."""
OFTEN = 0.5
"""A warning documents a row when at least this share of them carry it."""


@dataclass(frozen=True)
class Read:
    """One thing counted: a field that rejects, or an interval that covers `truth` (null: the effect).

    `design`: the power that the test `power` predicts for it takes the place of `nominal`. `judge`: looks at the whole
    analysis instead of one field, where the truth is more than a number.
    """

    quantity: Quantity
    path: str
    nominal: float = ALPHA
    truth: float | None = None
    label: str = ""
    design: Mapping[str, object] | None = None
    judge: Callable[[Any], bool] | None = None

    def expected(self) -> float:
        """The rate that the test promises."""
        if self.design is None:
            return self.nominal
        power = registry.find("power")
        return float(power.compute(power.request.model_validate(self.design)).power)

    def hits(self, analysis: object, effect: float) -> bool:
        """Whether this answer counts."""
        if self.judge is not None:
            return self.judge(analysis)
        found: Any = analysis
        for name in self.path.split("."):
            if isinstance(found, dict | list):
                found = found[int(name) if isinstance(found, list) else name]
            else:
                found = getattr(found, name)
        if self.quantity == "coverage":
            return covers(found, effect if self.truth is None else self.truth)
        return rejects(found)


@dataclass(frozen=True)
class Measured:
    """Share of data sets that count, one per read, and the share of the first ones that carried each warning."""

    rates: tuple[float, ...]
    warned: Mapping[str, float]


@dataclass(frozen=True)
class Batch:
    """One test with its options on many data sets of one world. `compute`: a faster way to the same answer."""

    world: str
    test: str
    reads: tuple[Read, ...]
    options: Mapping[str, object] = field(default_factory=dict)
    effect: float = 0.0
    simulations: int = 2_000
    compute: Callable[[Any], Any] | None = None

    @property
    def id(self) -> str:
        """A name for pytest."""
        words = (self.world, self.test, self.shown, self.reads[0].quantity, f"{self.effect:g}")
        return "-".join(" ".join(words).replace(",", "").split())

    @property
    def shown(self) -> str:
        """The options as the table prints them; the margin is the world's."""
        return ", ".join(f"{name} {value}" for name, value in self.options.items() if name != "margin")

    def row_keys(self) -> list[Key]:
        """World, test, options and what is counted: names each row of the table."""
        return [
            (self.world, self.test, self.shown, f"{read.quantity} {read.label}".strip())
            for read in self.reads
        ]

    def bodies(self) -> Iterator[Body]:
        """Data sets, each from a seed of its own: the same for every test, and however many are asked for."""
        world, number = WORLDS[self.world], list(WORLDS).index(self.world)
        for index in range(self.simulations):
            seed = np.random.SeedSequence([SEED, number, index])
            yield {**world.draw(np.random.default_rng(seed), self.effect), **self.options}

    def measure(self) -> Measured:
        """Run the test on every data set; data sets that are only counts are computed once."""
        test = registry.find(self.test)
        compute = self.compute or test.compute
        known: dict[str, tuple[list[bool], list[str]]] = {}
        hits, warned = np.zeros(len(self.reads)), dict[str, int]()
        for index, body in enumerate(self.bodies()):
            key = json.dumps(body) if "both_correct" in body else str(index)
            if key not in known:
                analysis = compute(test.request.model_validate(body))
                codes = sorted({warning.code for warning in analysis.warnings})
                known[key] = [read.hits(analysis, self.effect) for read in self.reads], codes
            hits += known[key][0]
            for code in known[key][1] if index < FIRST else ():
                warned[code] = warned.get(code, 0) + 1
        share = min(self.simulations, FIRST)
        rates = tuple(float(count) / self.simulations for count in hits)
        return Measured(rates, {code: count / share for code, count in sorted(warned.items())})

    def records(self) -> list[Record]:
        """Measure; a row that misses its nominal value names the warnings that most of its data sets carry."""
        measured = self.measure()
        often = tuple(code for code, share in measured.warned.items() if share >= OFTEN)
        rows = [
            Record(key, self.simulations, round(read.expected(), 4), round(rate, 4))
            for key, read, rate in zip(self.row_keys(), self.reads, measured.rates, strict=True)
        ]
        return [replace(row, warnings=often) if row.missed else row for row in rows]


def covers(interval: Any, truth: float) -> bool:
    """True when the truth lies in the interval; a null end has no limit, no interval covers nothing."""
    if interval is None:
        return False
    low, high = interval.low, interval.high
    return (low is None or low <= truth + 1e-12) and (high is None or truth <= high + 1e-12)


def rejects(found: Any) -> bool:
    """A truth value as it is, a count above 0, a p-value below alpha; what is undefined rejects nothing."""
    if found is None or isinstance(found, int):  # bool is an int
        return bool(found)
    return bool(found < ALPHA)
