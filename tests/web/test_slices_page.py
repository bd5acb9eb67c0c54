"""A record with more slices than its page has room for: those that fail stand first, and all are a link away."""

from __future__ import annotations

import re
from typing import Any

import pytest
from starlette.testclient import TestClient

from service.api.examples.made import read_json
from service.reports.verdict.content import Report
from service.web.preregistrations import record_page
from service.web.preregistrations.slices_page import view_slices
from service.web.preregistrations.strips import Strip
from tests.journeys.conftest import Service, service  # noqa: F401  # a fixture
from tests.journeys.plans import idempotent, items, locked, small_plan
from tests.journeys.sliced import sliced
from tests.reports.hostile import SLICES

MOST_BYTES = 150_000
N = 200
ITEMS = 20 * N
"""Twenty of every slice: with fewer the plan is refused."""


def report(outcomes: list[str]) -> Any:
    found = read_json("report")
    (first, *_others) = SLICES["slices"]
    slices = [first | {"slice": f"s{at:03d}", "outcome": outcome} for at, outcome in enumerate(outcomes)]
    found["hypotheses"][0]["slices"] = SLICES | {"slices": slices}
    return Report.model_validate(found).hypotheses[0]


def test_those_that_fail_stand_first_where_not_all_have_room() -> None:
    strips: list[Strip | None] = [None] * 4
    judged = report(["pass", "cannot_tell", "fail", "pass"])
    whole = view_slices(judged, strips, "en")
    assert [row.cells[0] for row in whole.rows] == ["s000", "s001", "s002", "s003"]
    few = view_slices(judged, strips, "en", 3)
    assert [(row.cells[0], row.mark) for row in few.rows] == [
        ("s002", "fails"), ("s001", "unknown"), ("s000", "holds"),
    ]  # fmt: skip
    assert (few.n, view_slices(judged, strips, "en", 4).rows) == (4, whole.rows)


def visitor_of(service: Service) -> TestClient:  # noqa: F811
    visitor = TestClient(service.app, follow_redirects=False, base_url="https://testserver")
    assert visitor.post("/login", data={"key": service.key()}).status_code == 303
    return visitor


def test_slices_that_have_no_room_are_a_link_away(
    service: Service,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    strata = ["code"] * 150 + ["math"] * 150
    prereg_id = locked(service.client, sliced(), {"p": {"item_ids": items(300), "strata": strata}})
    for name in ("accuracy", "format"):
        for arm, step in (("A", 60), ("B", 10)):
            values = [int(at % step == 0) for at in range(300)]
            body = {"arm": arm, "endpoint": name, "item_ids": items(300), "values": values}
            sent = service.client.post(
                f"/v1/preregistrations/{prereg_id}/results", json=body, headers=idempotent()
            )
            assert sent.status_code == 201, sent.text
    assert service.run_jobs() == 1
    visitor = visitor_of(service)
    path = f"/preregistrations/{prereg_id}"
    assert "/slices?" not in visitor.get(path).text
    monkeypatch.setattr(record_page, "MOST_SHOWN", 2)
    shown = visitor.get(path).text
    assert shown.count("1 of 2 slices, those that fail first:") == 2
    assert len(re.findall(r'<th scope="row">(?:code|math)</th>', shown)) == 2
    for hypothesis in ("H1", "H2"):
        assert f'href="{path}/slices?hypothesis={hypothesis}">all 2</a>' in shown
        whole = visitor.get(f"{path}/slices", params={"hypothesis": hypothesis})
        assert whole.status_code == 200
        assert re.findall(r'<th scope="row">(\w+)</th>', whole.text) == ["code", "math"]


def judged_of_all_slices(service: Service) -> str:  # noqa: F811
    """A judged record of two hypotheses with the most slices that a plan may have."""
    plan = small_plan(ITEMS, missing="exclude_pair")
    endpoint, hypothesis = plan["endpoints"][0], plan["hypotheses"][0]
    plan |= {
        "slices": {"by": "stratum", "no_worse_than": {"value": 30, "unit": "pp"}},
        "hypotheses": [hypothesis | {"id": "H1"}, hypothesis | {"id": "H2", "endpoint": "format"}],
        "endpoints": [endpoint, endpoint | {"id": "format"}],
        "sesoi": {name: {"value": 2, "unit": "pp"} for name in ("accuracy", "format")},
        "multiplicity": {"policy": "holm", "family": ["H1", "H2"]},
    }
    strata = [f"category-{at % N:03d}" for at in range(ITEMS)]
    prereg_id = locked(service.client, plan, {"p": {"item_ids": items(ITEMS), "strata": strata}})
    for name in ("accuracy", "format"):
        for arm in "AB":
            values = [int((at + (arm == "B")) % 3 > 0) for at in range(ITEMS)]
            body = {"arm": arm, "endpoint": name, "item_ids": items(ITEMS), "values": values}
            sent = service.client.post(
                f"/v1/preregistrations/{prereg_id}/results", json=body, headers=idempotent()
            )
            assert sent.status_code == 201, sent.text
    assert service.run_jobs() == 1
    return prereg_id


@pytest.mark.slow
def test_a_page_of_all_slices_that_two_hypotheses_may_have_is_light_and_loses_none(
    service: Service,  # noqa: F811
) -> None:
    prereg_id = judged_of_all_slices(service)
    visitor = visitor_of(service)
    for language in ("en", "zh"):
        shown = visitor.get(f"/preregistrations/{prereg_id}", params={"lang": language})
        assert shown.status_code == 200
        assert len(shown.content) < MOST_BYTES
        assert len(re.findall(r">category-\d+</th>", shown.text)) == N
        links = re.findall(r'href="(/preregistrations/[^"]+/slices\?hypothesis=[^"]+)"', shown.text)
        assert [link.rpartition("=")[2] for link in links] == ["H1", "H2"]
        for link in links:
            whole = visitor.get(link, params={"lang": language})
            assert (whole.status_code, len(whole.content) < MOST_BYTES) == (200, True)
            assert len(set(re.findall(r">(category-\d+)</th>", whole.text))) == N
