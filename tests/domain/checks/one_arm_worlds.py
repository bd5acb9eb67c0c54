"""Plans about one arm and data for the search over rules: every bound, side, threshold and collapse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.domain.checks.claim import asserts_claim
from service.domain.checks.rule import rule_findings
from service.domain.lint.estimand import estimand_findings, items_findings
from service.domain.lint.labels import label_findings, label_use_findings
from service.domain.plans.plan import Plan
from service.domain.rules.settings import resolve
from service.domain.verdicts.outcomes import NOT_DRAWN, OK, Cell, Outcomes
from service.domain.verdicts.records import HypothesisVerdict
from tests.domain import sample
from tests.domain.checks.opposite_worlds import one_of

Floats = NDArray[np.float64]
N, RUNS, REFERENCE = 30, 6, 0.7
FIELDS = {
    "score": ("mean", "ci", "against.p_meets", "against.p_falls_short", "intervals.t", "intervals.cr0_z"),
    "reliability": ("pass_hat_k.ci", "pass_hat_k.value", "least_low"),
    "ppi": ("ci", "ci", "labels_ci", "estimate", "judge_alone"),
}
LABELS = 20
"""Items that people label, where a judge scores all."""
ABOUT = (None, None, "pass_hat_k", "every_item")


def clause(rng: np.random.Generator, test: str) -> str:
    """A clause of one test, on any side of any threshold."""
    path = one_of(rng, FIELDS[test])
    name = f"{test}.{path}"
    if "p_" in path.rpartition(".")[2]:
        return f"{name} {one_of(rng, ('<', '<=', '>'))} {one_of(rng, ('0.025', '0.2', '0.6'))}"
    at = one_of(rng, (70, 70, 71, 60, 85))
    if path.endswith("ci") or path.startswith("intervals"):
        return f"{name}{one_of(rng, (' excludes', '.low >', '.low >=', '.high <', '.high <='))} {at}%"
    return f"{name} {one_of(rng, ('>', '>=', '<'))} {at}%"


def draw(rng: np.random.Generator) -> dict[str, Any]:
    """Changes of the sample; most do not lint."""
    labelled = rng.random() < 0.25
    runs = not labelled and rng.random() < 0.6
    tests = ["score", "ppi"] if labelled else ["score", "reliability"] if runs else ["score"]
    rule = "score.ci.low >= 70%" if rng.random() < 0.4 else clause(rng, one_of(rng, tests))
    for _ in range(int(rng.integers(0, 3))):
        rule = f"({rule}) {one_of(rng, ('and', 'and', 'or', 'and not'))} {clause(rng, one_of(rng, tests))}"
    endpoint: dict[str, Any] = {
        "id": "accuracy", "kind": "binary", "role": "primary", "better": one_of(rng, ("higher", "higher", "lower")),
    }  # fmt: skip
    if runs:
        endpoint["replicates"] = RUNS
        if rng.random() < 0.4:
            endpoint |= {"collapse": "all_of_k", "k": one_of(rng, (2, RUNS))}
        if rng.random() < 0.4:
            endpoint["estimand"] = one_of(rng, ("these_items", "these_items", "items_like_these"))
    hypothesis = {
        "id": "H1", "claim": "at_least", "statement": "C2 reaches 70 %", "population": "one", "candidate": "C2",
        "reference": {"value": 70, "unit": "%"}, "endpoint": "accuracy", "rule": rule,
    }  # fmt: skip
    about = one_of(rng, ABOUT if not labelled else ("labels", "labels", None))
    if about is not None:
        hypothesis["about"] = about
    names = {"score": "one-sample-mean", "reliability": "reliability", "ppi": "prediction-powered"}
    parameters = {
        "score": {},
        "reliability": {"k": [one_of(rng, (2, 3))]},
        "ppi": one_of(rng, ({}, {}, {"weight": 1}, {"level": 0.8})),
    }
    audit: dict[str, Any] = {}
    if labelled:
        endpoint["judge"] = {"model": "j"}
        audit["endpoints.1"] = {
            "id": "accuracy.audit", "kind": "binary", "role": "secondary", "better": endpoint["better"],
            "labels": {"n": LABELS, "seed": 1},
        }  # fmt: skip
    return audit | {
        "populations.0.n": N,
        "endpoints.0": endpoint,
        "hypotheses.0": hypothesis,
        "tests": [
            {"id": each, "test": names[each], "version": 1, "parameters": parameters[each]} for each in tests
        ],
    }


def lints(plan: Plan) -> bool:
    """True where nothing blocks the lock, but that the rule may never pass; what would mend it is not looked for."""
    (setting,) = resolve(plan).settings
    findings = [*rule_findings(setting), *items_findings(plan), *estimand_findings(setting)]
    findings += [*label_findings(plan), *label_use_findings(setting)]
    return not any(each.severity == "error" for each in findings) and asserts_claim(setting)


def worlds(rng: np.random.Generator, runs: int) -> Iterator[Floats]:
    """Right and wrong by item and run: near the reference, far from it, and with items that always fail."""
    for mean in (0.05, 0.6, 0.69, 0.7, 0.75, 0.9, 1.0):
        for spread in (0.0, 0.6):
            chance = np.full(N, mean)
            if spread and 0 < mean < 1:
                chance = rng.beta(mean * (1 / spread - 1), (1 - mean) * (1 / spread - 1), N)
            yield (rng.random((N, runs)) < chance[:, None]).astype(np.float64)


def judge(changes: dict[str, Any], values: Floats, rng: np.random.Generator) -> HypothesisVerdict:
    """The verdict on a world; people find what the judge finds, something else, or the opposite."""
    held = {("one", "C2", "accuracy"): sample.cell(values)}
    if "endpoints.1" in changes:
        turned, asked = one_of(rng, (0.0, 0.1, 0.5, 0.9, 1.0)), rng.permutation(N)[:LABELS]
        said = np.full((N, 1), np.nan)
        statuses = np.full((N, 1), NOT_DRAWN, dtype=np.uint8)
        said[asked] = np.where(rng.random((LABELS, 1)) < turned, 1 - values[asked], values[asked])
        statuses[asked] = OK
        held["one", "C2", "accuracy.audit"] = Cell(said, statuses)
    return sample.verdict_of(changes, Outcomes(held), N).hypotheses[0]


def opposite(changes: dict[str, Any], verdict: HypothesisVerdict, values: Floats) -> str | None:
    """How the data show the opposite of a claim that is supported; None where they do not."""
    endpoint, hypothesis = changes["endpoints.0"], changes["hypotheses.0"]
    good = -1 if endpoint["better"] == "lower" else 1
    about, seen = hypothesis.get("about"), float(verdict.mean or 0.0)
    if about == "labels":
        seen = float(verdict.analyses["ppi"]["analysis"]["estimate"])  # type: ignore[index, call-overload, arg-type]
    elif about == "every_item":
        seen = float((values.mean(axis=1) * good).min() * good)
    elif about == "pass_hat_k":
        k = changes["tests"][-1]["parameters"]["k"][0]
        right = values.sum(axis=1)
        seen = float(np.mean([np.prod([(c - j) / (values.shape[1] - j) for j in range(k)]) for c in right]))
    return f"{seen} does not reach {REFERENCE}" if good * (seen - REFERENCE) <= 0 else None
