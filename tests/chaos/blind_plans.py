"""Plans of every kind that keep results sealed, of which two worlds of other outcomes are compared."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

from tests.journeys import plans
from tests.journeys.plans import items, small_plan

N = 40
"""Items of each plan."""
DAY = date(2099, 12, 31)
"""Until when a plan that names an embargo keeps its record to the project."""
RUNS = 20
"""Of every item where one arm is claimed about: enough to show each of them by itself."""


def blind_plans() -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Every policy of what is missing, clusters, and every way to stop; and the manifest where it is not plain."""
    for missing in ("fail", "worst_case", "exclude_pair"):
        yield small_plan(N, missing=missing), None
    clustered = small_plan(N, missing="fail")
    clustered["populations"][0] |= {"clusters": {"key": "document", "n": 20}}
    clustered["populations"][0].pop("independence", None)
    clustered["hypotheses"][0]["rule"] = "delta >= 2.0 pp and test.p_value < 0.05"
    clustered["tests"] = [{"id": "test", "test": "clustered-mcnemar", "version": 1, "parameters": {}}]
    yield clustered, {"item_ids": items(N), "clusters": [f"c{i // 2}" for i in range(N)]}
    for kind, method in (("group_sequential", "group_sequential"), ("anytime_valid", "e_process")):
        plan = small_plan(N, missing="fail")
        plan["populations"][0]["order_seed"] = 5
        plan["hypotheses"][0]["rule"] = "delta >= 2 pp and seq.p_value < 0.05"
        plan["tests"] = [{"id": "seq", "test": "sequential", "version": 1, "parameters": {"method": method}}]
        plan["stopping"] = {"kind": kind} | ({"looks": 4} if kind == "group_sequential" else {})
        yield plan, None
    labelled = small_plan(N, missing="exclude_pair", endpoints=plans.LABELLED)
    labelled["endpoints"] = [
        labelled["endpoints"][0],
        labelled["endpoints"][1] | {"labels": {"n": 30, "seed": 4}},
    ]
    labelled["arms"] = [
        {"id": "A", "model": {"name": "x-1"}},
        {"id": "B", "criterion": "the first after the lock"},
    ]
    labelled["tried"] = {"n": 3, "on": "another dataset"}
    alone = {
        "id": "H9", "claim": "at_least", "about": "labels", "statement": "people call half of B right",
        "population": "p", "candidate": "B", "reference": {"value": 50, "unit": "%"}, "endpoint": "accuracy",
        "rule": "ppi.ci.low >= 50%",
    }  # fmt: skip
    labelled["hypotheses"] = [*labelled["hypotheses"], alone]
    labelled["tests"] = [*labelled["tests"], {"id": "ppi", "test": "prediction-powered", "version": 1}]
    yield labelled, None
    yield suite(N), None
    yield one_arm(N, missing="worst_case", embargo_until=str(DAY)), None


def one_arm(n: int, **changes: Any) -> dict[str, Any]:
    """Every claim about one arm: its mean, of these items too, two runs in a row, and every item by itself."""
    plan = small_plan(n, **changes)
    runs = {"kind": "binary", "role": "primary", "replicates": RUNS}
    plan["endpoints"] = [
        runs | {"id": "accuracy"},
        runs | {"id": "fixed", "estimand": "these_items"},
        runs | {"id": "twice", "collapse": "all_of_k", "k": 2},
    ]
    claims = (
        ("accuracy", {"rule": "score.ci.low >= 50%"}),
        ("fixed", {"rule": "score.ci.low >= 50%"}),
        ("twice", {"rule": "runs.pass_hat_k.ci.low >= 50%", "about": "pass_hat_k"}),
        ("accuracy", {"rule": "runs.least_low >= 50%", "about": "every_item"}),
    )
    plan["hypotheses"] = [
        {
            "id": f"H{number}",
            "claim": "at_least",
            "statement": f"B's {endpoint} reaches half",
            "population": "p",
            "candidate": "B",
            "reference": {"value": 50, "unit": "%"},
            "endpoint": endpoint,
            **asked,
        }
        for number, (endpoint, asked) in enumerate(claims, start=1)
    ]
    plan["tests"] = [
        {"id": "score", "test": "one-sample-mean", "version": 1},
        {"id": "runs", "test": "reliability", "version": 1, "parameters": {"k": [2]}},
    ]
    plan["multiplicity"] = {"policy": "none", "family": [each["id"] for each in plan["hypotheses"]]}
    plan["sesoi"] = {each["id"]: {"value": 5, "unit": "pp"} for each in plan["endpoints"]}
    plan["tried"] = {"n": 4, "on": plan["populations"][0]["dataset"]}
    return plan


def suite(n: int) -> dict[str, Any]:
    """Two tasks: a difference over both, and a claim about one arm."""
    plan = small_plan(n, missing="fail")
    plan["populations"] = [plan["populations"][0] | {"id": name, "dataset": name} for name in ("p", "q")]
    plan["suites"] = [{"id": "bench", "populations": ["p", "q"], "weights": {"p": 1, "q": 2}}]
    both = plan["hypotheses"][0] | {
        "id": "H1",
        "population": "bench",
        "rule": "suite.ci.low > 0 and delta >= 2 pp",
    }
    both.pop("equivalence", None)
    alone = {
        "id": "H2", "claim": "at_least", "statement": "B reaches half", "population": "bench", "candidate": "B",
        "reference": {"value": 50, "unit": "%"}, "endpoint": "accuracy", "rule": "suite.ci.low > 50%",
    }  # fmt: skip
    plan["hypotheses"] = [both, alone]
    plan["tests"] = [{"id": "suite", "test": "suite", "version": 1}]
    plan["multiplicity"] = {"policy": "none", "family": ["H1", "H2"]}
    return plan
