"""Authors of a plan from the lock to report, page and bundle; who reads by an anonymous link is not told them."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from tests.journeys.bundles import bundle, checked, failures
from tests.journeys.conftest import Service
from tests.journeys.filings import N, judged
from tests.journeys.plans import small_plan
from tests.journeys.states import path

pytestmark = pytest.mark.any_database

AUTHORS = [
    {"name": "Ada Lovelace", "orcid": "0000-0002-1825-0097", "affiliation": "Analytical Engines & Sons"},
    {"name": "张三"},
]


def test_authors_stand_where_they_are_expected(service: Service) -> None:
    prereg_id = judged(service, authors=AUTHORS)
    stored = service.client.get(path(prereg_id)).json()
    assert stored["plan"]["authors"] == AUTHORS
    report = {
        form: service.client.get(path(prereg_id, f"report.{form}")) for form in ("md", "html", "tex", "json")
    }
    for form, answer in report.items():
        assert (answer.status_code, "Ada Lovelace" in answer.text) == (200, True), form
        assert "0000-0002-1825-0097" in answer.text
    assert [author["name"] for author in report["json"].json()["authors"]] == ["Ada Lovelace", "张三"]
    assert "Analytical Engines &amp; Sons" in report["html"].text
    assert r"Engines \& Sons" in report["tex"].text
    assert failures(checked(bundle(service, prereg_id))) == []
    stranger = TestClient(service.app, follow_redirects=False)
    service.client.put(path(prereg_id, "visibility"), json={"visibility": "link"})
    pages = {}
    for anonymous in (False, True):
        made = service.client.post(
            path(prereg_id, "view-links"), json={"name": "R", "anonymous": anonymous}
        ).json()
        told = [stranger.get(made["path"] + file).text for file in ("", "/verdict.json", "/receipt.json")]
        pages[anonymous] = "".join(told)
    assert all(author["name"] in pages[False] for author in AUTHORS)
    assert not any(text in pages[True] for author in AUTHORS for text in author.values())


def test_a_plan_with_an_id_that_does_not_fit_is_refused_with_the_way_out(service: Service) -> None:
    plan = small_plan(N) | {"authors": [AUTHORS[0] | {"orcid": "0000-0002-1825-0079"}]}
    refused = service.client.post("/v1/preregistrations", json=plan)
    (fault,) = refused.json()["errors"]
    assert (refused.status_code, fault["path"]) == (422, "authors[0].orcid")
    assert fault["fix"] == "look for a digit that was mistyped"
