"""Rows as CSV: over the API and from the page, once they may be read and not before."""

from __future__ import annotations

import csv
import io
from typing import Any

from starlette.testclient import TestClient

from service.actions.verdicts import rows
from tests.journeys.conftest import Service, service  # noqa: F401  # a fixture
from tests.journeys.filings import BASELINE, CANDIDATE, N
from tests.journeys.plans import locked, post, small_plan

IDS = ["=1+1", *(f"item-{number}" for number in range(N - 1))]


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_rows_are_sealed_until_the_verdict_and_whole_after_it(service: Service, monkeypatch: Any) -> None:  # noqa: F811
    monkeypatch.setattr(rows, "PIECE", 7)
    prereg_id = locked(service.client, small_plan(N), {"p": {"item_ids": IDS}})
    assert post(service.client, prereg_id, "A", IDS, BASELINE).status_code == 201
    visitor = TestClient(service.app, follow_redirects=False)
    visitor.post("/login", data={"key": service.key("read")})
    path, page = f"/v1/preregistrations/{prereg_id}/results.csv", f"/preregistrations/{prereg_id}/results.csv"
    assert service.client.get(path).json()["code"] == "blinded"
    assert visitor.get(page).status_code == 409
    assert "results.csv" not in visitor.get(f"/preregistrations/{prereg_id}").text
    assert post(service.client, prereg_id, "B", IDS, CANDIDATE).status_code == 201
    assert service.client.get(path).status_code == 409
    assert service.run_jobs() == 1
    got = service.client.get(path)
    assert got.headers["content-type"] == "text/csv; charset=utf-8"
    assert len(got.headers.multi_items()) == len(got.headers)  # each is sent once
    assert got.headers["content-disposition"] == f'attachment; filename="{prereg_id}.csv"'
    assert visitor.get(page).text == got.text
    found = read(got.text)
    listed = service.client.get(f"/v1/preregistrations/{prereg_id}/results?limit=1000").json()["items"]
    assert [(each["arm"], each["item_id"].removeprefix("'"), float(each["value"])) for each in found] == [
        (each["arm"], each["item_id"], each["value"]) for each in listed
    ]
    assert {each["item_id"] for each in found} & {"=1+1", "'=1+1"} == {"'=1+1"}
    other = service.key("read", project_id=service.project("other"))
    assert service.client.get(path, headers={"Authorization": f"Bearer {other}"}).status_code == 404
