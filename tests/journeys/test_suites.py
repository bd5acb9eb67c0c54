"""Claims about suites over HTTP: from Markdown to the verified bundle, blind until the verdict."""

from __future__ import annotations

import copy
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from forelock.bundles.verifying import exit_status, verify
from forelock.cli import main
from service.offline.recomputing import recompute
from tests.drawing import mostly_slow

from .conftest import Service
from .filings import file
from .plans import draft, items, lock, post, reread, small_plan

pytestmark = pytest.mark.any_database

RECORDS = "/v1/preregistrations"
CHARTS = ("forest", "arms", "power")
SIZES = {"large": 120, "small": 60}


def planned(**changes: Any) -> dict[str, Any]:
    """A suite of two tasks, and a claim about each of them."""
    plan = small_plan(**changes)
    plan["populations"] = [
        {"id": name, "dataset": f"{name} 1.0", "n": n, "independence": "drawn one by one"}
        for name, n in SIZES.items()
    ]
    plan["suites"] = [{"id": "bench", "populations": list(SIZES), "weights": {"large": 1, "small": 2}}]
    mean = plan["hypotheses"][0] | {
        "id": "H1",
        "statement": "B is more often right than A over the tasks",
        "population": "bench",
        "rule": "suite.ci.low > 0",
    }
    mean.pop("equivalence", None)
    every = mean | {
        "id": "H2",
        "claim": "non_inferiority",
        "about": "every_task",
        "statement": "B loses no task by 15 pp",
        "rule": "suite.every.low > -15 pp",
    }
    plan["hypotheses"] = [mean, every]
    plan["sesoi"] = {"accuracy": {"value": 15, "unit": "pp"}}
    plan["tests"] = [{"id": "suite", "test": "suite", "version": 1}]
    plan["multiplicity"] = {"policy": "none", "family": ["H1", "H2"]}
    return copy.deepcopy(plan)


def fill(service: Service, prereg_id: str, right: Mapping[str, Sequence[int]]) -> None:
    """Results of both arms on every task, as they come from two benchmarks."""
    for name, n in SIZES.items():
        for arm, count in zip("AB", right[name], strict=True):
            values = [1] * count + [0] * (n - count)
            sent = post(service.client, prereg_id, arm, items(n), values, population=name)
            assert sent.status_code == 201, sent.text


@pytest.mark.parametrize(
    ("right", "outcomes"),
    mostly_slow(
        [
            ({"large": (30, 118), "small": (44, 38)}, ("supported", "not_supported")),
            ({"large": (60, 100), "small": (30, 45)}, ("supported", "supported")),
        ]
    ),
)
def test_from_markdown_to_the_bundle(
    service: Service, tmp_path: Path, right: dict[str, tuple[int, int]], outcomes: tuple[str, str]
) -> None:
    first = draft(service.client, planned())
    prereg_id = reread(service.client, first)
    for name, n in SIZES.items():
        put = service.client.put(
            f"{RECORDS}/{prereg_id}/populations/{name}/items", json={"item_ids": items(n)}
        )
        assert put.status_code == 200, put.text
    assert (
        service.client.put(
            f"{RECORDS}/{prereg_id}/populations/bench/items", json={"item_ids": items(3)}
        ).status_code
        == 404
    )
    power = service.client.post(f"{RECORDS}/{prereg_id}/lint").json()["power"]
    assert [one["method"] for one in power] == ["simulated", "simulated"]
    answer = lock(service.client, prereg_id)
    assert answer.status_code == 200, answer.text
    page = TestClient(service.app, base_url="https://testserver")
    assert page.post("/login", data={"key": service.key()}, follow_redirects=False).status_code == 303
    for language, words in (("en", "Suite"), ("zh", "任务集")):
        shown = page.get(f"/preregistrations/{prereg_id}", params={"lang": language})
        assert words in shown.text
    progress = service.client.get(f"{RECORDS}/{prereg_id}/progress").json()
    assert progress["expected"] == 2 * sum(SIZES.values())
    assert service.client.get(f"{RECORDS}/{prereg_id}/verdict").json()["code"] == "blinded"
    assert post(service.client, prereg_id, "A", items(3), [1] * 3, population="bench").status_code == 422
    fill(service, prereg_id, right)
    assert service.run_jobs() == 1
    judged = service.client.get(f"{RECORDS}/{prereg_id}/verdict").json()["hypotheses"]
    assert tuple(one["outcome"] for one in judged) == outcomes, [one["sentence"] for one in judged]
    differences = [(after - before) / SIZES[name] for name, (before, after) in right.items()]
    assert judged[0]["delta"] == pytest.approx((differences[0] + 2 * differences[1]) / 3)
    assert judged[1]["reading_of"] == "suite.every"
    words = service.client.get(f"{RECORDS}/{prereg_id}/verdict/sentences").json()["hypotheses"][0]
    assert "is a suite of 2 tasks, under the weights of the plan" in words["sentences"]["en"]
    assert "由 2 个任务组成的任务集" in words["sentences"]["zh"]
    for name in CHARTS:
        drawn = service.client.get(f"{RECORDS}/{prereg_id}/charts/{name}.json")
        assert drawn.status_code == 200, (name, drawn.text)
    refused = service.client.get(f"{RECORDS}/{prereg_id}/charts/cumulative.json")
    assert (refused.status_code, refused.json()["code"]) == (409, "no_picture")
    assert service.client.get(f"{RECORDS}/{prereg_id}/prml", params={"hypothesis": "H1"}).status_code == 409
    evidence = service.client.get(f"{RECORDS}/{prereg_id}/evidence").json()
    assert [one["outcome"] for one in evidence["hypotheses"]] == list(outcomes)
    assert evidence["hypotheses"][0]["power"] is not None
    for path in ("report.md", "report.html", "report.tex", "prereg.md", "evidence.md", "multiverse"):
        report = service.client.get(f"{RECORDS}/{prereg_id}/{path}")
        assert report.status_code == 200, (path, report.text)
    report = service.client.get(f"{RECORDS}/{prereg_id}/report.md").text
    assert "suite.ci.low" in report
    assert "large" in report
    for language in ("en", "zh"):
        shown = page.get(f"/preregistrations/{prereg_id}", params={"lang": language})
        assert shown.status_code == 200
        assert "charts/arms.svg" in shown.text
        assert "charts/cumulative" not in shown.text  # which a suite does not have
    bundle = service.client.get(f"{RECORDS}/{prereg_id}/bundle").content
    expected = 0 if set(outcomes) == {"supported"} else 10
    checked = verify(io.BytesIO(bundle), recompute=recompute)
    assert exit_status(checked) == expected, checked
    (tmp_path / "bundle.zip").write_bytes(bundle)
    assert main(["verify", str(tmp_path / "bundle.zip")]) == expected


def test_a_deviation_that_leaves_items_of_a_task_out_bears_on_the_suite(service: Service) -> None:
    prereg_id = draft(service.client, planned())
    assert lock(service.client, prereg_id).status_code == 200
    fill(service, prereg_id, {"large": (60, 100), "small": (30, 45)})
    assert service.run_jobs() == 1
    left_out = {
        "kind": "exclude_items",
        "population": "small",
        "item_ids": items(5),
        "dropped_favour": "neither",
    }
    filed = file(service, prereg_id, left_out)
    assert filed.status_code == 201, filed.text
    told = service.client.get(f"{RECORDS}/{prereg_id}/deviations").text
    assert "H1" in told
    assert "H2" in told
