"""Plans of every kind that keep results sealed, of which two worlds of other outcomes are compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.journeys import plans
from tests.journeys.plans import items, small_plan

N = 40
"""Items of each plan."""


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
    yield labelled, None
    yield _suite(), None


def _suite() -> dict[str, Any]:
    """Two tasks: a difference over both, and a claim about one arm."""
    plan = small_plan(N, missing="fail")
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
