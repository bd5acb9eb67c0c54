"""Rules about one arm: what lint promises of level and power, and how often verdicts come out so.

`python -m tests.simulation.one_arm` writes it to docs/simulations.md, in a few minutes. What lint computes goes by many
data sets at once and by p-values; here every data set is one request to the locked test, whose interval is read.
Clusters and items are drawn otherwise than lint draws them: their chances take two values instead of a beta's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.domain.plans.plan import Plan
from service.stats.shared.declaring import registry
from tests.domain import sample
from tests.simulation.promises import Row, promises_of, read_promises
from tests.simulation.record import ONE_ARM, write_section

Floats = NDArray[np.float64]
SETS = 300


@dataclass(frozen=True)
class Case:
    """A plan, and the true values at which it is judged."""

    name: str
    n: int
    reference: float
    truth: float
    clusters: int = 0
    icc: float = 0.0
    runs: int = 1
    about: str | None = None
    k: int = 0
    estimand: str | None = None

    def plan(self) -> Plan:
        """As it is locked."""
        percent = 100 * self.reference
        rule = {"pass_hat_k": "t.pass_hat_k.ci.low", "every_item": "t.least_low"}.get(
            self.about or "", "t.ci.low"
        )
        hypothesis = {
            "id": "H1", "claim": "at_least", "statement": "the arm reaches it", "population": "one", "candidate": "C2",
            "reference": {"value": percent, "unit": "%"}, "endpoint": "accuracy", "rule": f"{rule} >= {percent:g}%",
        }  # fmt: skip
        changes: dict[str, Any] = {
            "populations.0.n": self.n,
            "hypotheses.0": hypothesis | ({"about": self.about} if self.about else {}),
            "tests": [
                {"id": "t", "test": self.test, "version": 1, "parameters": {"k": [self.k]} if self.k else {}}
            ],
            "assumptions": {"effect": {"value": 100 * (self.truth - self.reference), "unit": "pp"}},
        }
        if self.runs > 1:
            changes["endpoints.0.replicates"] = self.runs
        if self.estimand:
            changes["endpoints.0.estimand"] = self.estimand
        if self.clusters:
            changes |= {
                "populations.0.independence": None,
                "populations.0.clusters": {"key": "c", "n": self.clusters},
            }
            changes["assumptions"]["icc"] = self.icc
        return sample.plan(changes)

    @property
    def test(self) -> str:
        """The test that is locked."""
        return "reliability" if self.about else "one-sample-mean"

    def draw(self, rng: np.random.Generator, value: float) -> Floats:
        """Runs of every item, (n, r), where this is true."""
        chance = np.full(self.n, value)
        if self.about == "every_item":
            if value <= self.reference:
                chance[1:] = 1.0
        elif self.about == "pass_hat_k":  # items that never fail, and items that fail half of the time
            share = (value - 0.5**self.k) / (1 - 0.5**self.k)
            chance = np.where(rng.random(self.n) < share, 1.0, 0.5)
        elif self.estimand:  # every item has a chance of its own, as far from one another as the mean allows
            away = 0.6 * min(value, 1 - value)
            chance = value + away * np.where(np.arange(self.n) % 2, 1.0, -1.0)
        elif self.clusters:
            away = math.sqrt(self.icc * value * (1 - value))
            up = min(away, 1 - value)
            down = away**2 / up
            share = down / (up + down)
            of_cluster = np.where(rng.random(self.clusters) < share, value + up, max(value - down, 0.0))
            chance = of_cluster[np.arange(self.n) % self.clusters]
        return (rng.random((self.n, self.runs)) < chance[:, None]).astype(np.float64)

    def holds(self, runs: Floats) -> bool:
        """What the locked test says of one data set."""
        test = registry.find(self.test, 1)
        labels = {"clusters": [f"c{at % self.clusters}" for at in range(self.n)]} if self.clusters else {}
        values = runs.tolist() if self.about or self.estimand else runs[:, 0].tolist()
        more = {"k": [self.k]} if self.k else {}
        body = {
            "values": values,
            "range": {"low": 0.0, "high": 1.0},
            "in_clusters": "furthest",
            **labels,
            **more,
            **({"estimand": self.estimand} if self.estimand else {}),
        }
        analysis: Any = test.compute(test.request.model_validate(body))
        if self.about == "every_item":
            return bool(analysis.least_low >= self.reference - 1e-9)
        ci = analysis.pass_hat_k.ci if self.about else analysis.ci
        return ci is not None and ci.low >= self.reference - 1e-9

    def share(self, value: float, seed: int) -> float:
        """How often the rule holds."""
        rng = np.random.default_rng([seed, self.n])
        return float(np.mean([self.holds(self.draw(rng, value)) for _ in range(SETS)]))


CASES = (
    Case("50 items", 50, 0.75, 0.9),
    Case("36 items", 36, 0.9, 0.99),
    Case("400 items", 400, 0.9, 0.94),
    Case("20 clusters of 10", 200, 0.8, 0.9, clusters=20, icc=0.05),
    Case("50 clusters of 10", 500, 0.9, 0.94, clusters=50, icc=0.05),
    Case("50 clusters of 10, alike", 500, 0.9, 0.95, clusters=50, icc=0.3),
    Case("100 clusters of 5", 500, 0.95, 0.98, clusters=100, icc=0.05),
    Case("pass^4 of 8 runs, 60 items", 60, 0.6, 0.8, runs=8, about="pass_hat_k", k=4),
    # k has no say in it, and one k keeps each answer cheap
    Case("every one of 12 items, 150 runs", 12, 0.9, 0.985, runs=150, about="every_item", k=1),
    Case("these 20 items, 10 runs", 20, 0.8, 0.88, runs=10, estimand="these_items"),
)


def promised(case: Case) -> tuple[float | None, str, float | None]:
    """What lint says of a plan: its level, how that was worked out, and its power at the true value."""
    level, power = promises_of(case.plan())
    return level.level, level.method or "", power


def rows() -> Iterator[str]:
    """One line per plan."""
    for seed, case in enumerate(CASES):
        level, method, power = promised(case)
        told = "–" if level is None else f"{level:.3f} ({method})"
        yield (
            f"| {case.name} | {100 * case.reference:g}% | {told} | {case.share(case.reference, seed):.3f} | "
            f"{100 * case.truth:g}% | {'–' if power is None else f'{power:.2f}'} | "
            f"{case.share(case.truth, seed + 100):.2f} |"
        )


INTRODUCTION = f"""{ONE_ARM}

<!-- Made by `python -m tests.simulation.one_arm`. -->

What lint promises of [rules about one arm](one-arm.md), and how often the locked test made them hold in {SETS} data
sets whose true value is the reference (level, nominal .025), and in {SETS} at the value that the plan assumes (power).
Items and clusters are drawn otherwise than lint draws them: their chances take two values instead of a beta's. A
realised share p has a standard error of sqrt(p (1 - p) / {SETS}).

| plan | reference | level, promised | realised | true value | power, promised | realised |
| --- | --- | --- | --- | --- | --- | --- |
"""


def recorded() -> Iterator[Row]:
    """Rows of the page."""
    return read_promises(ONE_ARM, {case.name for case in CASES})


if __name__ == "__main__":
    write_section(ONE_ARM, INTRODUCTION, rows())
