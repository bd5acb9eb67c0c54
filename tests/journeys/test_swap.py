"""No worse and cheaper: a rule on two endpoints from its lock to its verdict, its pictures and its report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forelock.cli import main
from tests.journeys.chart_rows import path, rows_of

from .conftest import Service, only_sqlite
from .plans import idempotent, items, locked, small_plan

pytestmark = only_sqlite  # its subject is not in the database

N = 400
COST = [1 + item % 7 for item in range(N)]
CHEAPER = [(0.6 if item % 3 else 0.7) * each for item, each in enumerate(COST)]
RULE = "quality.ci.low > -2 pp and cost.ratio.ci.high < 0.8 and usd_mean.ci.high < -0.5"


def swap_plan() -> dict[str, Any]:
    plan = small_plan(N)
    plan["hypotheses"][0] |= {
        "claim": "non_inferiority", "statement": "B loses less than 2 pp and costs less than 0.8 times as much",
        "rule": RULE,
    }  # fmt: skip
    plan["endpoints"].append(
        {"id": "usd", "kind": "continuous", "role": "secondary", "positive": True, "better": "lower"}
    )
    paired = {
        "id": "usd_mean",
        "test": "t-test",
        "version": 1,
        "parameters": {"method": "paired"},
        "endpoint": "usd",
    }
    plan["tests"] = [
        {"id": "quality", "test": "paired-difference", "version": 1, "parameters": {}},
        {"id": "cost", "test": "ratio-of-means", "version": 1, "parameters": {}, "endpoint": "usd"},
        paired,
    ]
    return plan


def results(service: Service, prereg_id: str, arm: str, endpoint: str, values: list[float]) -> Any:
    return service.client.post(
        f"/v1/preregistrations/{prereg_id}/results",
        json={"arm": arm, "endpoint": endpoint, "item_ids": items(N), "values": values},
        headers=idempotent(),
    )


def test_a_swap_is_locked_judged_and_told(
    service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prereg_id = locked(service.client, swap_plan())
    right = [float(item % 4 > 0) for item in range(N)]
    refused = results(service, prereg_id, "A", "usd", [0.0, *COST[1:]])
    assert refused.status_code == 422
    assert "is not above 0" in refused.text
    for arm, quality, cost in (("A", right, COST), ("B", right, CHEAPER)):
        assert results(service, prereg_id, arm, "accuracy", quality).status_code == 201
        assert results(service, prereg_id, arm, "usd", cost).status_code == 201
    assert service.run_jobs() == 1
    (found,) = service.client.get(f"/v1/preregistrations/{prereg_id}/verdict").json()["hypotheses"]
    assert (found["outcome"], [each["holds"] for each in found["clauses"]]) == ("supported", [True] * 3)
    ratio = sum(CHEAPER) / sum(COST)
    assert found["analyses"]["cost"]["analysis"]["ratio"]["value"] == pytest.approx(ratio)
    assert f"In usd, B costs {ratio:.2f} times as much as A (95% interval " in found["sentence"]
    assert [each["endpoint"] for each in found["others"]] == ["usd"]

    arms = {
        row["arm"]: row
        for row in rows_of(service.client.get(path(prereg_id, "pareto")).json())
        if "arm" in row
    }
    assert arms["B"]["cost"] == pytest.approx(sum(CHEAPER) / N)
    assert arms["A"]["quality"] == arms["B"]["quality"] == sum(right) / N
    assert (arms["A"]["kept"], arms["B"]["kept"]) == (False, True)
    report = service.client.get(f"/v1/preregistrations/{prereg_id}/report.md").text
    (row,) = (line for line in report.splitlines() if "usd_mean.ci.high" in line and line.startswith("|"))
    assert "pp" not in row
    assert service.client.get(f"/v1/preregistrations/{prereg_id}/report.html").status_code == 200
    forest = rows_of(service.client.get(path(prereg_id, "forest")).json())
    assert len(forest) == 2  # the intervals of both differences, each in its own panel

    (tmp_path / "bundle.zip").write_bytes(
        service.client.get(f"/v1/preregistrations/{prereg_id}/bundle").content
    )
    capsys.readouterr()
    assert main(["verify", str(tmp_path / "bundle.zip")]) == 0
    assert "judged again from the rows: outcomes and clauses are the same" in capsys.readouterr().out
