"""What resampling cannot tell leaves a verdict open, through HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Service
from .plans import items, locked, post, small_plan

pytestmark = pytest.mark.any_database


def judged(
    service: Service, test: dict[str, Any], rule: str, arms: tuple[list[float], list[float]], **changes: Any
) -> Any:
    """The only hypothesis of a plan with one test `t`, judged on these outcomes."""
    n = len(arms[0])
    plan = small_plan(n, **changes)
    plan["tests"] = [{"id": "t", "version": 1, **test}]
    plan["hypotheses"][0]["rule"] = rule
    prereg_id = locked(service.client, plan)
    for arm, values in zip("AB", arms, strict=True):
        assert post(service.client, prereg_id, arm, items(n), values).status_code == 201
    service.run_jobs()
    (found,) = service.client.get(f"/v1/preregistrations/{prereg_id}/verdict").json()["hypotheses"]
    return found


@pytest.mark.parametrize(
    ("test", "outcome"),
    [({"test": "paired-bootstrap"}, "inconclusive"), ({"test": "mcnemar"}, "supported")],
)
def test_twenty_wins_of_twenty_are_judged_by_the_exact_test_alone(
    service: Service, test: dict[str, Any], outcome: str
) -> None:
    rule = "delta >= 2.0 pp and t.p_value < 0.05"
    found = judged(service, test, rule, ([0.0] * 20, [1.0] * 20))
    assert found["outcome"] == outcome
    clause = found["clauses"][1]
    if outcome == "inconclusive":
        assert (clause["holds"], clause["observed"]) == (None, None)
        assert "do not vary" in clause["reason"]
        assert "NOTHING_VARIES" in {each["code"] for each in found["analyses"]["t"]["warnings"]}


@pytest.mark.parametrize(("threshold", "outcome"), [("0.05", "supported"), ("0.001", "inconclusive")])
def test_a_p_beyond_every_resample_counts_as_the_chance_of_its_signs(
    service: Service, threshold: str, outcome: str
) -> None:
    """Nine wins and no loss of fifteen: "p < 2.3e-18", and 1/512 by the signs."""
    rule = f"delta >= 2.0 pp and t.p_value < {threshold}"
    found = judged(service, {"test": "paired-bootstrap"}, rule, ([0.0] * 15, [1.0] * 9 + [0.0] * 6))
    assert found["outcome"] == outcome
    assert found["analyses"]["t"]["analysis"]["within"]["p_value"] == [0.0, 2**-9]
    if outcome == "inconclusive":
        assert "no resample reaches twice the difference" in found["clauses"][1]["reason"]


def test_a_drawn_end_within_its_error_of_the_threshold_decides_nothing(service: Service) -> None:
    test = {"test": "paired-bootstrap", "parameters": {"method": "studentized", "n_resamples": 1000}}
    arms = ([0.0] * 45 + [1.0] * 15, [1.0] * 16 + [0.0] * 29 + [1.0] * 9 + [0.0] * 6)
    far = judged(service, test, "delta >= 2.0 pp and t.ci.low > -0.5", arms)
    assert far["outcome"] == "supported"
    low = far["clauses"][1]["observed"]
    near = judged(service, test, f"delta >= 2.0 pp and t.ci.low > {low:.5f}", arms)
    assert (near["outcome"], near["clauses"][1]["holds"]) == ("inconclusive", None)
    assert "Monte-Carlo" in near["clauses"][1]["reason"]
    least, most = near["analyses"]["t"]["analysis"]["within"]["ci.low"]
    assert least < low < most


def test_an_interval_of_clusters_that_touches_zero_does_not_exclude_it(service: Service) -> None:
    """Fourteen clusters of four kinds: every resample is weighed, where draws put the end at .0303."""
    kinds = [(1, 0)] * 6 + [(2, 1)] * 2 + [(3, -1)] * 2 + [(3, 2)] * 4
    labels = [f"c{place}" for place, (size, _) in enumerate(kinds) for _ in range(size)]
    baseline = [float(k < -won) for size, won in kinds for k in range(size)]
    candidate = [float(k < won) for size, won in kinds for k in range(size)]
    plan = small_plan(len(labels))
    plan["populations"][0] = {
        **{k: v for k, v in plan["populations"][0].items() if k != "independence"},
        "clusters": {"key": "conversation", "n": len(kinds)},
    }
    plan["tests"] = [{"id": "t", "version": 1, "test": "cluster-bootstrap"}]
    plan["hypotheses"][0]["rule"] = "delta >= 2.0 pp and t.ci excludes 0"
    ids = items(len(labels))
    prereg_id = locked(service.client, plan, {"p": {"item_ids": ids, "clusters": labels}})
    for arm, values in (("A", baseline), ("B", candidate)):
        assert post(service.client, prereg_id, arm, ids, values).status_code == 201
    service.run_jobs()
    (found,) = service.client.get(f"/v1/preregistrations/{prereg_id}/verdict").json()["hypotheses"]
    assert found["clauses"][1]["observed"]["low"] == 0.0
    assert found["outcome"] == "not_supported"
