"""Plans about suites and data for the search over rules: claims about the mean and every task, scales, weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.domain.checks.claim import asserts_claim
from service.domain.checks.rule import rule_findings
from service.domain.checks.tests import use_findings
from service.domain.lint.reference import reference_findings
from service.domain.lint.suites import suite_findings, suite_use_findings
from service.domain.plans.plan import Plan
from service.domain.rules.settings import resolve
from service.domain.verdicts.records import HypothesisVerdict
from tests.domain import suites_sample
from tests.domain.checks.opposite_worlds import one_of

Values = dict[str, dict[str, NDArray[np.float64]]]
SIZES = {"large": 60, "middle": 30, "small": 20}
MARGIN, REFERENCE = 0.1, 0.6
FIELDS = (
    "estimate", "ci", "ci", "every", "every", "p_value", "p_above", "p_below", "losses.none_loses.p_value",
)  # fmt: skip
CLAIMS = ("superiority", "non_inferiority", "minimum_effect", "equivalence", "at_least")


def clause(rng: np.random.Generator, *, one_arm: bool) -> str:
    """A clause of the test of suites, on any side of any threshold."""
    path = one_of(rng, FIELDS)
    if not one_arm and rng.random() < 0.1:
        return f"delta {one_of(rng, ('>', '>=', '<'))} {one_of(rng, (-10, 0, 10))} pp"
    name = f"suite.{path}"
    if "p_" in path.rpartition(".")[2]:
        return f"{name} {one_of(rng, ('<', '<=', '>'))} {one_of(rng, ('0.025', '0.05', '0.6'))}"
    limit = f"{one_of(rng, (50, 60, 60, 70))}%" if one_arm else f"{one_of(rng, (-20, -10, -10, 0, 0, 10))} pp"
    if path == "estimate":
        return f"{name} {one_of(rng, ('>', '>=', '<'))} {limit}"
    return f"{name}{one_of(rng, (' excludes', '.low >', '.low >', '.low >=', '.high <', '.high <='))} {limit}"


def draw(rng: np.random.Generator) -> dict[str, Any]:
    """Changes of the sample about suites; most do not lint."""
    claim = one_of(rng, CLAIMS)
    one_arm = claim == "at_least"
    rule = clause(rng, one_arm=one_arm)
    for _ in range(int(rng.integers(0, 3))):
        rule = f"({rule}) {one_of(rng, ('and', 'and', 'or', 'and not'))} {clause(rng, one_arm=one_arm)}"
    hypothesis = {
        "id": "H1", "claim": claim, "statement": "C2 is as the claim says over the tasks", "population": "bench",
        "candidate": "C2", "endpoint": "accuracy", "rule": rule,
    }  # fmt: skip
    hypothesis |= {"reference": {"value": 60, "unit": "%"}} if one_arm else {"baseline": "C1"}
    if rng.random() < 0.5:
        hypothesis["about"] = "every_task"
    suite: dict[str, Any] = {"id": "bench", "populations": list(SIZES)}
    suite["weights"] = one_of(rng, ("equal", "items", {"large": 1, "middle": 3, "small": 2}))
    if rng.random() < 0.3:
        suite["rescale"] = {"small": {"floor": 0.25, "ceiling": 1.0}}
    return {
        "hypotheses.0": hypothesis,
        "suites.0": suite,
        "endpoints.0.better": one_of(rng, ("higher", "higher", "lower")),
        "sesoi.accuracy": {"value": 10, "unit": "pp"},
    }


def plan_of(changes: dict[str, Any]) -> Plan:
    """The plan with these changes."""
    return suites_sample.suite_plan(changes, SIZES)


def lints(plan: Plan) -> bool:
    """True where nothing blocks the lock, but that the rule may never pass; what would mend it is not looked for."""
    (setting,) = resolve(plan).settings
    findings = [
        *rule_findings(setting),
        *use_findings(plan, setting),
        *reference_findings(setting),
        *suite_findings(plan, {}),
        *suite_use_findings(plan, setting),
    ]
    return not any(each.severity == "error" for each in findings) and asserts_claim(setting)


def worlds(rng: np.random.Generator) -> Iterator[Values]:
    """Right and wrong by task and arm: tasks alike, one far behind, one far ahead, and arms that are equal."""
    for gains in (
        (0.0, 0.0, 0.0),
        (0.3, 0.3, 0.3),
        (0.6, 0.6, 0.6),
        (0.6, 0.6, -0.4),
        (-0.1, -0.1, 0.6),
        (-0.5, -0.5, -0.5),
        (0.6, -0.3, 0.6),
    ):
        for shared in (0.0, 0.9):
            world: Values = {}
            for (name, n), gain in zip(SIZES.items(), gains, strict=True):
                chance = np.clip(0.35 + gain, 0.0, 1.0)
                before, after = rng.random((2, n))
                after = np.where(rng.random(n) < shared, before, after)
                world[name] = {"C1": (before < 0.35).astype(float), "C2": (after < chance).astype(float)}
            yield world


def judge(changes: dict[str, Any], values: Values) -> HypothesisVerdict:
    """The verdict on a world."""
    plan = plan_of(changes)
    arms = {name: {arm: held[arm] for arm in plan.arms(name)} for name, held in values.items()}
    hypothesis: HypothesisVerdict = suites_sample.verdict(
        plan, suites_sample.outcomes(plan, arms)
    ).hypotheses[0]
    return hypothesis


def opposite(changes: dict[str, Any], values: Values) -> str | None:
    """How the data show the opposite of a claim that is borne out; None where they do not."""
    hypothesis, suite = changes["hypotheses.0"], changes["suites.0"]
    claim, one_arm = hypothesis["claim"], hypothesis["claim"] == "at_least"
    good = -1 if changes["endpoints.0.better"] == "lower" else 1
    tasks = {}
    for name, held in values.items():
        scale = suite.get("rescale", {}).get(name, {"floor": 0.0, "ceiling": 1.0})
        length = scale["ceiling"] - scale["floor"]
        tasks[name] = (
            (held["C2"].mean() - scale["floor"]) / length - REFERENCE
            if one_arm
            else (held["C2"].mean() - held["C1"].mean()) / length
        )
    weights = suite["weights"]
    if isinstance(weights, str):
        weights = {name: 1 if weights == "equal" else n for name, n in SIZES.items()}
    mean = sum(weights[name] * tasks[name] for name in SIZES) / sum(weights.values())
    every = hypothesis.get("about") == "every_task"
    seen = [good * value for value in (tasks.values() if every else (mean,))]
    bound = {"superiority": 0.0, "at_least": 0.0, "minimum_effect": MARGIN}.get(claim, -MARGIN)
    if min(seen) <= bound + 1e-12:
        return f"{min(seen)} is not above {bound}"
    if claim == "equivalence" and max(seen) >= MARGIN - 1e-12:
        return f"{max(seen)} is not below {MARGIN}"
    return None
