"""A record under an embargo: from its plan in Markdown, through the day on which everybody reads it, to the bundle."""

from __future__ import annotations

from datetime import date

import pytest
from starlette.testclient import TestClient

from service.actions.projects import embargoes
from service.domain.plans.embargo import end_of
from tests.api.conftest import bearer
from tests.journeys.bundles import bundle, checked, failures
from tests.journeys.conftest import Service
from tests.journeys.plans import draft, items, lock, post, small_plan
from tests.journeys.states import path, verdict

pytestmark = pytest.mark.any_database

N = 10
DAY = date(2099, 12, 31)


def test_a_record_is_the_projects_alone_until_the_day_and_everybodys_from_then_on(service: Service) -> None:
    client = service.client
    stranger = TestClient(service.app, raise_server_exceptions=False, follow_redirects=False)
    file = client.get(
        path(draft(client, small_plan(N, embargo_until=str(DAY))), "prereg.md"), params={"lang": "zh"}
    )
    assert "保密至" in file.text
    again = client.post(
        "/v1/preregistrations", content=file.content, headers={"Content-Type": "text/markdown"}
    )
    prereg_id = again.json()["id"]
    assert again.json()["plan"]["embargo_until"] == str(DAY)
    put = client.put(path(prereg_id, "populations", "p", "items"), json={"item_ids": items(N)})
    assert put.status_code == 200
    assert lock(client, prereg_id).status_code == 200
    before = client.get(path(prereg_id))
    assert (before.json()["embargo_until"], before.json()["published"]) == (str(DAY), None)
    assert client.get("/v1/preregistrations").json()["items"][0]["embargo_until"] == str(DAY)
    shared = client.get(path(prereg_id, "visibility")).json()
    assert (shared["visibility"], shared["opens_at"]) == ("private", "2099-12-31T00:00:00Z")
    for refused in (
        client.put(path(prereg_id, "visibility"), json={"visibility": "public"}),
        client.post(path(prereg_id, "view-links"), json={"name": "R2"}),
    ):
        assert (refused.status_code, refused.json()["code"]) == (409, "embargoed")
    other = TestClient(service.app, headers=bearer(service.key(project_id=service.project("another"))))
    for arm, values in (("A", [0.0] * N), ("B", [1.0] * N)):
        assert post(client, prereg_id, arm, items(N), values).status_code == 201
    judged = verdict(service, prereg_id)
    for asked in ("", "/verdict.json", "/receipt.json", "/charts/forest.svg"):
        assert stranger.get(f"/public/{prereg_id}{asked}").status_code == 404
    for asked in ("", "verdict", "visibility", "report.md", "bundle"):
        assert other.get(path(prereg_id, *filter(None, [asked]))).status_code == 404
    visitor = TestClient(service.app, follow_redirects=False)
    assert visitor.post("/login", data={"key": service.key()}).status_code == 303
    assert f"Under embargo until {DAY}" in visitor.get(f"/preregistrations/{prereg_id}").text
    for form in ("report.md", "report.html", "report.tex"):
        assert f"Embargo until {DAY}" in client.get(path(prereg_id, form)).text

    assert embargoes.open_due(service.database, now=end_of(DAY)) == 1
    after = client.get(path(prereg_id))
    assert after.headers["ETag"] != before.headers["ETag"]
    published = after.json()["published"]
    assert (published["embargo_until"], published["receipt"]["kind"]) == (str(DAY), "published")
    unchanged = client.get(path(prereg_id), headers={"If-None-Match": after.headers["ETag"]})
    assert unchanged.status_code == 304
    page = stranger.get(f"/public/{prereg_id}")
    assert page.status_code == 200
    assert f"the embargo of the plan was until {DAY}" in page.text
    assert "Under embargo" not in page.text
    assert stranger.get(f"/public/{prereg_id}/verdict.json").json() == judged
    assert "public at the end of the embargo" in client.get(path(prereg_id, "report.md")).text
    report = checked(bundle(service, prereg_id))
    assert failures(report) == []
    assert any(f"end of its embargo, {DAY}" in mark for mark in report.marks)
