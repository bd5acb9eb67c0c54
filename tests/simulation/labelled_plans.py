"""Rules on corrected values: what lint promises of level and power, and how often the locked test makes them hold.

`python -m tests.simulation.labelled_plans` writes it to docs/simulations.md, in a minute. Lint draws items won, lost
and tied with a judge whose errors are alike; here answers are drawn one by one, items by the plan's own draw, and some
judges prefer the candidate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forelock.bundles.draws import draw_items
from service.domain.plans.plan import Plan
from service.domain.rules.labelled import labelled_columns
from service.stats.shared.declaring import registry
from tests.domain import sample
from tests.simulation.promises import Row, promises_of, read_promises
from tests.simulation.record import LABELLED, write_section

Floats = NDArray[np.float64]
SETS = 300


@dataclass(frozen=True)
class Case:
    """A plan, and what people and judge say in it."""

    name: str
    n: int
    labels: int
    truth: float
    """Candidate minus baseline by people: a proportion, or score units."""
    spread: float
    """Share of discordant items by people, or SD of the differences of scores."""
    agreement: float
    scores: bool = False
    prefers: float = 0.0
    """How much more often the judge calls the candidate's wrong answers right than it errs elsewhere."""
    reference: float | None = None
    """Of a claim about the candidate alone, whose share of right answers by people is this and the `truth`."""

    def plan(self) -> Plan:
        """As it is locked."""
        kind = "continuous" if self.scores else "binary"
        if self.reference is not None:
            return self._of_one_arm(self.reference)
        judge = {"model": "j", "version": "1", "prompt_sha256": "a" * 64}
        effect = (
            {"value": self.truth, "unit": "score"}
            if self.scores
            else {"value": 100 * self.truth, "unit": "pp"}
        )
        return sample.plan(
            {
                "populations.0.n": self.n,
                "endpoints.0": {"id": "accuracy", "kind": kind, "role": "primary", "judge": judge},
                "endpoints.1": {
                    "id": "accuracy.audit", "kind": kind, "role": "secondary", "labels": {"n": self.labels, "seed": 1},
                },
                "tests": [{"id": "ppi", "test": "prediction-powered", "version": 1}],
                "hypotheses.0.about": "labels",
                "hypotheses.0.statement": "C2 is better than C1 as people see it",
                "hypotheses.0.rule": "ppi.ci.low > 0",
                "sesoi": {"accuracy": {"value": 0.2, "unit": "score"} if self.scores else {"value": 2, "unit": "pp"}},
                "assumptions": {
                    "effect": effect,
                    "agreement": self.agreement,
                    "sd" if self.scores else "discordance": self.spread,
                },
            }
        )  # fmt: skip

    def _of_one_arm(self, reference: float) -> Plan:
        percent = 100 * reference
        hypothesis = {
            "id": "H1", "claim": "at_least", "statement": "people call so many right", "population": "one",
            "candidate": "C2", "about": "labels", "reference": {"value": percent, "unit": "%"}, "endpoint": "accuracy",
            "rule": f"ppi.ci.low >= {percent:g}%",
        }  # fmt: skip
        return sample.plan(
            {
                "populations.0.n": self.n,
                "endpoints.0": {
                    "id": "accuracy", "kind": "binary", "role": "primary",
                    "judge": {"model": "j", "version": "1", "prompt_sha256": "a" * 64},
                },
                "endpoints.1": {
                    "id": "accuracy.audit", "kind": "binary", "role": "secondary",
                    "labels": {"n": self.labels, "seed": 1},
                },
                "tests": [{"id": "ppi", "test": "prediction-powered", "version": 1}],
                "hypotheses.0": hypothesis,
                "assumptions": {
                    "effect": {"value": 100 * self.truth, "unit": "pp"}, "agreement": self.agreement,
                },
            }
        )  # fmt: skip

    def arms(self, rng: np.random.Generator, truth: float) -> tuple[Floats, Floats, Floats, Floats]:
        """What people, then what the judge says of both arms' items, (n,) each; of one arm twice the same."""
        if self.reference is not None:
            right = (rng.random(self.n) < self.reference + truth).astype(np.float64)
            errs = rng.random(self.n) < 1 - self.agreement
            said_of_one = np.where(
                errs | ((right == 0) & (rng.random(self.n) < self.prefers)), 1 - right, right
            )
            return right, right, said_of_one, said_of_one
        if self.scores:
            before = rng.normal(0, 1, self.n)
            after = before + truth + rng.normal(0, self.spread, self.n)
            # An error in each arm, of together so much that the differences correlate by the agreement.
            error = self.spread * math.sqrt((1 / self.agreement**2 - 1) / 2)
            said = [values + rng.normal(0, error, self.n) for values in (before, after)]
            return before, after, said[0], said[1] + self.prefers
        won, lost = (self.spread + truth) / 2, (self.spread - truth) / 2
        place = rng.random(self.n)
        base = (rng.random(self.n) < 0.5).astype(np.float64)
        before = np.where(place < won, 0.0, np.where(place < won + lost, 1.0, base))
        after = np.where(place < won, 1.0, np.where(place < won + lost, 0.0, base))
        said = [
            np.where(rng.random(self.n) < 1 - self.agreement, 1 - values, values)
            for values in (before, after)
        ]
        fooled = (after == 0) & (rng.random(self.n) < self.prefers)
        return before, after, said[0], np.where(fooled, 1.0, said[1])

    def holds(self, rng: np.random.Generator, truth: float, seed: int) -> bool:
        """What the locked test says of one data set."""
        before, after, judged_before, judged_after = self.arms(rng, truth)
        asked = np.zeros(self.n, dtype=np.bool_)
        asked[list(draw_items(f"{seed:064x}", 1, self.n, self.labels))] = True
        people = tuple(np.where(asked, values, np.nan).tolist() for values in (before, after))
        test = registry.find("prediction-powered", 1)
        arms = {"baseline": judged_before.tolist(), "candidate": judged_after.tolist()}
        asks: dict[str, Any] = {}
        if self.reference is not None:
            del arms["baseline"]
            asks["ends"] = "share"
        columns = labelled_columns(arms, None, (people[0], people[1]))
        analysis: Any = test.compute(test.request.model_validate(columns | asks))
        if self.reference is not None:
            return bool(analysis.ci.low >= self.reference - 1e-9)
        return analysis.ci.low is not None and analysis.ci.low > 0

    def share(self, truth: float, seed: int) -> float:
        """How often the rule holds."""
        rng = np.random.default_rng([seed, self.n])
        return float(np.mean([self.holds(rng, truth, 10_000 * seed + at) for at in range(SETS)]))


CASES = (
    Case("100 of 500 items", 500, 100, 0.15, 0.3, 0.9),
    Case("150 of 500 items, a good judge", 500, 150, 0.1, 0.2, 0.97),
    Case("300 of 2,000 items", 2000, 300, 0.08, 0.2, 0.95),
    Case("300 of 2,000 items, a poor judge", 2000, 300, 0.08, 0.2, 0.75),
    Case("300 of 2,000 items, a judge who prefers the candidate", 2000, 300, 0.08, 0.2, 0.95, prefers=0.1),
    Case("60 of 300 scores", 300, 60, 0.3, 0.8, 0.8, scores=True),
    Case(
        "150 of 1,000 scores, a judge who prefers the candidate",
        1000,
        150,
        0.2,
        1.0,
        0.9,
        scores=True,
        prefers=0.5,
    ),
    Case("one arm against 80%: 60 of 300 items", 300, 60, 0.12, 0.0, 0.9, reference=0.8),
    Case("one arm against 80%: 200 of 1,000 items, a good judge", 1000, 200, 0.06, 0.0, 0.97, reference=0.8),
    Case("one arm against 95%: 200 of 1,000 items", 1000, 200, 0.03, 0.0, 0.95, reference=0.95),
    Case(
        "one arm against 90%: 150 of 600 items, a judge who flatters",
        600,
        150,
        0.05,
        0.0,
        0.95,
        prefers=0.5,
        reference=0.9,
    ),
)


def promised(case: Case) -> tuple[float | None, float | None]:
    """What lint says of a plan: its level (of scores over all shapes), and its power at the true value."""
    level, power = promises_of(case.plan())
    return level.level, power


def rows() -> Iterator[str]:
    """One line per plan."""
    for seed, case in enumerate(CASES, 1):
        level, power = promised(case)
        size = f"{case.truth:g}" if case.scores else f"{100 * case.truth:g} pp"
        yield (
            f"| {case.name} | {case.agreement:g} | {'–' if level is None else f'{level:.3f}'} | "
            f"{case.share(0.0, seed):.3f} | {size} | {'–' if power is None else f'{power:.2f}'} | "
            f"{case.share(case.truth, seed + 100):.2f} |"
        )


INTRODUCTION = f"""{LABELLED}

<!-- Made by `python -m tests.simulation.labelled_plans`. -->

What lint promises of [rules on a judge's values that people's labels correct](labels.md), and how often the locked
test made them hold in {SETS} data sets without a difference (level, nominal .025), and in {SETS} with the one that the
plan assumes (power); of one arm without a difference from its reference. What is true is what people would say. Answers
are drawn one by one and items by the plan's own draw; a judge who prefers the candidate calls one in ten of its wrong
answers right beside the errors that lint knows of, or adds half a point to every score, and one who flatters calls half
of all wrong answers right. A realised share p has a standard error of sqrt(p (1 - p) / {SETS}).

| plan | agreement | level, promised | realised | true difference | power, promised | realised |
| --- | --- | --- | --- | --- | --- | --- |
"""


def recorded() -> Iterator[Row]:
    """Rows of the page."""
    return read_promises(LABELLED, {case.name for case in CASES})


if __name__ == "__main__":
    write_section(LABELLED, INTRODUCTION, rows())
