"""Rules about these items alone: what lint promises of level and power, and how often the locked test makes them hold.

`python -m tests.simulation.fixed_item_plans` writes it to docs/simulations.md, in half a minute. Lint draws items whose
chances are quantiles of a beta distribution, and normal runs of scores; here chances take two values, and runs of
scores are even within three halves of a point or so around their item's mean. The items stay the same in all data sets.
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
from tests.simulation.record import FIXED, write_section

Floats = NDArray[np.float64]
SETS = 400
HIGH = 10.0
"""The greatest score."""


@dataclass(frozen=True)
class Case:
    """A plan, and what is true of its items."""

    name: str
    n: int
    runs: int
    truth: float
    """Candidate minus baseline, or minus the reference, over endless runs: a proportion, or score units."""
    mean: float
    """The baseline's, or the reference."""
    sd: float | None = None
    """Of an item's runs of scores; None of right and wrong."""
    one_arm: bool = False

    def plan(self) -> Plan:
        """As it is locked."""
        scores = self.sd is not None
        size = {"value": self.truth, "unit": "score"} if scores else {"value": 100 * self.truth, "unit": "pp"}
        endpoint: dict[str, Any] = {
            "id": "accuracy", "kind": "continuous" if scores else "binary", "role": "primary", "replicates": self.runs,
            "estimand": "these_items",
        }  # fmt: skip
        assumed: dict[str, Any] = {"effect": size}
        if self.sd is not None:
            endpoint["bounds"] = {"low": 0, "high": HIGH}
            assumed["sd"] = self.sd * math.sqrt(2)  # of the difference of two runs
        else:
            assumed["baseline_mean"] = self.mean
        changes: dict[str, Any] = {
            "populations.0.n": self.n,
            "endpoints.0": endpoint,
            "tests": [{"id": "t", "test": "fixed-items", "version": 2}],
            "hypotheses.0.statement": "C2 is better than C1 on these items",
            "hypotheses.0.rule": "t.ci.low > 0",
            "sesoi": {"accuracy": size},
            "assumptions": assumed,
        }
        if self.one_arm:
            changes["hypotheses.0"] = {
                "id": "H1", "claim": "at_least", "statement": "these items reach it", "population": "one",
                "candidate": "C2", "reference": {"value": self.mean, "unit": "score"}, "endpoint": "accuracy",
                "rule": f"t.ci.low >= {self.mean:g}",
            }  # fmt: skip
        return sample.plan(changes)

    def _arm(self, rng: np.random.Generator, mean: float) -> Floats:
        """Runs of these items, (n, r), whose means over endless runs have this mean."""
        half = np.where(np.arange(self.n) % 2, 1.0, -1.0)
        if self.sd is not None:
            around = (mean + half)[:, None]  # items a point from their mean, either way
            return around + rng.uniform(-1, 1, (self.n, self.runs)) * self.sd * math.sqrt(3)
        away = math.sqrt(0.5 * mean * (1 - mean))
        chances = mean + away * half
        if away > 1 - mean:  # some items never fail, and a few fail about half of the time
            fail = round(self.n * (1 - mean) ** 2 / ((1 - mean) ** 2 + away**2))
            chances = np.where(np.arange(self.n) < fail, 1 - (1 - mean) * self.n / fail, 1.0)
        return (rng.random((self.n, self.runs)) < chances[:, None]).astype(np.float64)

    def holds(self, rng: np.random.Generator, truth: float) -> bool:
        """What the locked test says of one data set."""
        after = self._arm(rng, self.mean + truth).tolist()
        arms = (
            {"values": after}
            if self.one_arm
            else {"baseline": self._arm(rng, self.mean).tolist(), "candidate": after}
        )
        test = registry.find("fixed-items", 2)
        body = arms | {"range": {"low": 0.0, "high": 1.0 if self.sd is None else HIGH}}
        analysis: Any = test.compute(test.request.model_validate(body))
        return bool(analysis.ci.low >= self.mean - 1e-9 if self.one_arm else analysis.ci.low > 0)

    def share(self, truth: float, seed: int) -> float:
        """How often the rule holds."""
        rng = np.random.default_rng([seed, self.n])
        return float(np.mean([self.holds(rng, truth) for _ in range(SETS)]))


CASES = (
    Case("60 items, 4 runs", 60, 4, 0.12, 0.5),
    Case("200 items, 3 runs", 200, 3, 0.07, 0.5),
    Case("100 items, 5 runs, rare failures", 100, 5, 0.04, 0.92),
    Case("40 items, 3 runs of scores", 40, 3, 0.5, 5.0, sd=1.0),
    Case("one arm, 30 items, 4 runs of scores", 30, 4, 0.4, 6.0, sd=1.0, one_arm=True),
)


def promised(case: Case) -> tuple[float | None, float | None]:
    """What lint says of a plan: its level, and its power at the true value."""
    level, power = promises_of(case.plan())
    return level.level, power


def rows() -> Iterator[str]:
    """One line per plan."""
    for seed, case in enumerate(CASES, 1):
        level, power = promised(case)
        size = f"{100 * case.truth:g} pp" if case.sd is None else f"{case.truth:g}"
        yield (
            f"| {case.name} | {'–' if level is None else f'{level:.3f}'} | {case.share(0.0, seed):.3f} | {size} | "
            f"{'–' if power is None else f'{power:.2f}'} | {case.share(case.truth, seed + 100):.2f} |"
        )


INTRODUCTION = f"""{FIXED}

<!-- Made by `python -m tests.simulation.fixed_item_plans`. -->

What lint promises of [rules about these items alone](one-arm.md#these-items-or-items-like-these), and how often the
locked test made them hold in {SETS} data sets without a difference, or at the reference (level, nominal .025), and in
{SETS} with the one that the plan assumes (power). Items are the same in all data sets, their chances take two values
instead of a beta's, and runs of scores are even, not normal. A realised share p has a standard error of
sqrt(p (1 - p) / {SETS}).

| plan | level, promised | realised | true difference | power, promised | realised |
| --- | --- | --- | --- | --- | --- |
"""


def recorded() -> Iterator[Row]:
    """Rows of the page."""
    return read_promises(FIXED, {case.name for case in CASES})


if __name__ == "__main__":
    write_section(FIXED, INTRODUCTION, rows())
