"""Claims about these items alone, of two arms and of one: from Markdown to the verified bundle, on both databases."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

from forelock.bundles.verifying import exit_status, verify
from service.offline.recomputing import recompute
from tests.drawing import mostly_slow

from .conftest import Service
from .plans import draft, items, lock, post, small_plan
from .states import path

pytestmark = pytest.mark.any_database

N, RUNS = 30, 4


def planned(**changes: Any) -> dict[str, Any]:
    """Two arms on these items: B is to be better there."""
    plan = small_plan(N)
    plan["endpoints"] = [
        {
            "id": "accuracy",
            "kind": "binary",
            "role": "primary",
            "replicates": RUNS,
            "estimand": "these_items",
        }
        | changes.pop("endpoint", {})
    ]
    plan["hypotheses"][0] |= {"rule": "delta >= 2.0 pp and fixed.ci.low > 0"} | changes.pop("hypothesis", {})
    plan["hypotheses"] = [
        {k: v for k, v in plan["hypotheses"][0].items() if v is not None and k != "equivalence"}
    ]
    plan["tests"] = [{"id": "fixed", "test": "fixed-items", "version": 2}]
    return plan | changes


ONE_ARM = {
    "endpoint": {"kind": "continuous", "bounds": {"low": 0, "high": 10}},
    "hypothesis": {
        "claim": "at_least",
        "statement": "B scores at least 6",
        "baseline": None,
        "reference": {"value": 6, "unit": "score"},
        "rule": "fixed.ci.low >= 6",
    },
    "sesoi": {"accuracy": {"value": 0.5, "unit": "score"}},
}


def outcomes(kind: str) -> dict[str, list[float]]:
    """Of 30 items 20 always end alike and 10 vary, as which B does better; or scores around 7."""
    rng = np.random.default_rng(4)
    if kind == "one":
        return {"B": np.clip(rng.normal(7, 0.6, N * RUNS), 0, 10).round(2).tolist()}
    sure = np.repeat(np.arange(20) % 2, RUNS)
    return {
        arm: np.concatenate([sure, rng.random(10 * RUNS) < chance]).astype(float).tolist()
        for arm, chance in (("A", 0.3), ("B", 0.95))
    }


@pytest.mark.parametrize(("kind", "changes"), mostly_slow([("two", {}), ("one", ONE_ARM)]))
def test_from_markdown_to_the_bundle(service: Service, kind: str, changes: dict[str, Any]) -> None:
    first = draft(service.client, planned(**changes))
    for language in ("en", "zh"):
        text = service.client.get(path(first, "prereg.md"), params={"lang": language}).text
        read = service.client.post(
            "/v1/preregistrations", content=text, headers={"Content-Type": "text/markdown"}
        )
        assert read.json()["plan"] == service.client.get(path(first)).json()["plan"], text
    prereg_id = read.json()["id"]
    service.client.put(path(prereg_id, "populations", "p", "items"), json={"item_ids": items(N)})
    (power,) = service.client.post(path(prereg_id, "lint")).json()["power"]
    assert power["method"] == "simulated", power
    assert 0 < power["reference"]["power"] <= 1
    answer = lock(service.client, prereg_id)
    assert answer.status_code == 200, answer.text
    ids = [name for name in items(N) for _ in range(RUNS)]
    for arm, values in outcomes(kind).items():
        runs = {"replicates": [run for _ in range(N) for run in range(1, RUNS + 1)]}
        assert post(service.client, prereg_id, arm, ids, values, **runs).status_code == 201
    assert service.run_jobs() == 1
    (judged,) = service.client.get(path(prereg_id, "verdict")).json()["hypotheses"]
    assert judged["outcome"] == "supported", judged["sentence"]
    assert f"It speaks of these {N} items alone" in judged["sentence"]
    assert "furthest" in str(judged["analyses"])
    for name in ("report.md", "report.html", "report.tex", "evidence", "multiverse", "charts/forest.json"):
        shown = service.client.get(path(prereg_id, name))
        assert shown.status_code == 200, (name, shown.text)
    chinese = service.client.get(path(prereg_id, "report.md"), params={"lang": "zh"}).text
    assert f"这 {N} 个题目" in chinese
    bundle = service.client.get(path(prereg_id, "bundle")).content
    checked = verify(io.BytesIO(bundle), recompute=recompute)
    assert exit_status(checked) == 0, checked
