"""Rules about suites: what lint promises of level and power, and how often the locked test makes them hold.

`python -m tests.simulation.suite_plans` writes it to docs/simulations.md, in a few minutes. Lint draws counts of won
and lost items of many data sets at once; here every item is drawn by itself, half of them easy and half of them hard,
each data set is one request to the locked test, and clusters may span tasks, which lint does not know.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.domain.plans.plan import Plan
from service.domain.power.levels.level import levels
from service.domain.power.rule_power import rule_powers
from service.stats.shared.declaring import registry
from tests.domain.suites_sample import facts, suite_plan
from tests.simulation.promises import Row, read_promises
from tests.simulation.record import write_section

Floats = NDArray[np.float64]
SETS = 300
HEADING = "## Suites in plans"
EASY, HARD = 0.75, 0.25
DISCORDANCE = 0.375
"""Of two arms that answer items of these chances independently, whatever their difference."""
ICC = 0.05


@dataclass(frozen=True)
class Case:
    """A plan about a suite, and the true values at which it is judged."""

    name: str
    sizes: tuple[int, ...]
    truth: float
    """Difference of every task, or of one arm its mean."""
    every: bool = False
    weights: str = "equal"
    margin: float = 0.1
    documents: int = 0
    """Clusters that all tasks share; 0: items are independent."""
    reference: float | None = None

    @property
    def tasks(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(f"t{at}" for at in range(len(self.sizes)))

    @property
    def limit(self) -> float:
        """What the bound is compared with, where the claim only just fails."""
        if self.reference is not None:
            return self.reference
        return -self.margin if self.every else 0.0

    def plan(self) -> Plan:
        """As it is locked."""
        field, limit = "every" if self.every else "ci", 100 * self.limit
        assumed: dict[str, Any] = {} if self.reference is not None else {"discordance": DISCORDANCE}
        effect = self.truth - (self.reference or 0.0)
        assumed["effect"] = {"value": round(100 * effect, 6), "unit": "pp"}
        changes: dict[str, Any] = {
            "suites.0.weights": self.weights,
            "hypotheses.0.rule": f"suite.{field}.low > {limit:g} pp",
            "hypotheses.0.claim": "non_inferiority" if self.every else "superiority",
            "sesoi.accuracy": {"value": 100 * self.margin, "unit": "pp"},
            "assumptions": assumed,
        }
        if self.reference is not None:
            changes["hypotheses.0"] = {
                "id": "H1", "claim": "at_least", "statement": "the arm reaches it", "population": "bench",
                "candidate": "C2", "reference": {"value": limit, "unit": "%"}, "endpoint": "accuracy",
                "rule": f"suite.{field}.low >= {limit:g}%",
            }  # fmt: skip
            changes = {name: value for name, value in changes.items() if not name.startswith("hypotheses.0.")}
        if self.every and self.reference is None:
            changes["hypotheses.0.about"] = "every_task"
        elif self.every:
            changes["hypotheses.0"]["about"] = "every_task"
        if self.documents:
            for at in range(len(self.sizes)):
                changes[f"populations.{at}.clusters"] = {"key": "document", "n": self.documents}
                changes[f"populations.{at}.independence"] = None
            assumed["icc"] = ICC
        return suite_plan(changes, dict(zip(self.tasks, self.sizes, strict=True)))

    def truths(self, value: float, *, level: bool) -> list[float]:
        """Of every task: alike, but where a claim about every task only just fails, which one task does."""
        if not (level and self.every):
            return [value] * len(self.sizes)
        far = 0.95 if self.reference is not None else 0.2
        return [value, *[far] * (len(self.sizes) - 1)]

    def request(self, rng: np.random.Generator, truths: list[float]) -> dict[str, Any]:
        """One data set, as the locked test is asked."""
        columns: dict[str, list[Any]] = {"tasks": [], "baseline": [], "candidate": [], "clusters": []}
        shift = np.sqrt(ICC * DISCORDANCE) * rng.choice((-1.0, 1.0), max(self.documents, 1))
        for task, n, value in zip(self.tasks, self.sizes, truths, strict=True):
            chance = np.where(np.arange(n) % 2, EASY, HARD)
            if self.reference is not None:  # one arm: items about its mean
                away = 0.6 * min(value, 1 - value)
                after = value + away * np.where(np.arange(n) % 2, 1.0, -1.0)
            else:
                after = chance + value
            document = np.arange(n) // 2 % max(self.documents, 1)
            if self.documents:
                after = after + shift[document]
            columns["tasks"] += [task] * n
            columns["baseline"] += (rng.random(n) < chance).astype(float).tolist()
            columns["candidate"] += (rng.random(n) < after).astype(float).tolist()
            columns["clusters"] += [f"d{at}" for at in document]
        weights = dict(
            zip(self.tasks, self.sizes if self.weights == "items" else [1] * len(self.sizes), strict=True)
        )
        body: dict[str, Any] = {
            "tasks": columns["tasks"],
            "weights": weights,
            "range": {"low": 0.0, "high": 1.0},
        }
        if self.documents:
            body["clusters"] = columns["clusters"]
        if self.reference is not None:
            return body | {"values": columns["candidate"]}
        return body | {"baseline": columns["baseline"], "candidate": columns["candidate"]}

    def share(self, value: float, seed: int, *, level: bool) -> float:
        """How often the rule holds."""
        rng, test = np.random.default_rng([seed, sum(self.sizes)]), registry.find("suite", 1)
        held, truths = 0, self.truths(value, level=level)
        for _ in range(SETS):
            analysis: Any = test.compute(test.request.model_validate(self.request(rng, truths)))
            interval = analysis.every if self.every else analysis.ci
            held += interval is not None and interval.low > self.limit + 1e-9
        return held / SETS


CASES = (
    Case("mean of 400, 150 and 60 items", (400, 150, 60), 0.12),
    Case("the same, weighed by items", (400, 150, 60), 0.08, weights="items"),
    Case("mean of 20 tasks of 40", (40,) * 20, 0.06),
    Case("mean of 5 tasks of 8", (8,) * 5, 0.2),
    Case("every one of 600, 400 and 300 items", (600, 400, 300), 0.0, every=True),
    Case("every one of 8 tasks of 300", (300,) * 8, 0.02, every=True),
    Case("mean of 3 tasks of 120 in 60 shared documents", (120,) * 3, 0.12, documents=60),
    Case("one arm, mean of 200, 100 and 60 items", (200, 100, 60), 0.7, reference=0.6),
    Case("one arm, every one of 200, 100 and 60 items", (200, 100, 60), 0.8, every=True, reference=0.6),
)


def promised(case: Case) -> tuple[float | None, float | None]:
    """What lint says of a plan: its level, and its power at the true value that the plan assumes."""
    plan = case.plan()
    level, power = levels(plan, facts(plan))[0], rule_powers(plan, facts(plan))[0]
    truth = case.truth - (case.reference or 0.0)
    at = [row.power for row in power.power if abs(row.truth - truth) < 1e-9]
    return level.level, at[0] if at else None


def rows() -> Iterator[str]:
    """One line per plan."""
    for seed, case in enumerate(CASES):
        level, power = promised(case)
        told = ["–" if value is None else f"{value:.{digits}f}" for value, digits in ((level, 3), (power, 2))]
        truth = f"{100 * case.truth:g}%" if case.reference is not None else f"{100 * case.truth:+g} pp"
        yield (
            f"| {case.name} | {told[0]} | {case.share(case.limit, seed, level=True):.3f} | {truth} | "
            f"{told[1]} | {case.share(case.truth, seed + 100, level=False):.2f} |"
        )


INTRODUCTION = f"""{HEADING}

<!-- Made by `python -m tests.simulation.suite_plans`. -->

What lint promises of [rules about suites](suites.md#in-a-plan), and how often the locked test made them hold in {SETS}
data sets in which the claim only just fails (level, nominal .025), and in {SETS} at the value that the plan assumes
(power). Of claims about every task only one task just fails, the first, and the others are far ahead. Items are drawn
one by one, easy and hard; documents are shared by all tasks, which lint does not know. A realised share p has a
standard error of sqrt(p (1 - p) / {SETS}).

| plan | level, promised | realised | true value | power, promised | realised |
| --- | --- | --- | --- | --- | --- |
"""


def recorded() -> Iterator[Row]:
    """Rows of the page."""
    return read_promises(HEADING, {case.name for case in CASES})


if __name__ == "__main__":
    write_section(HEADING, INTRODUCTION, rows())
