"""Which registration on its items a record is, in every place where it is shown."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.journeys.conftest import Service
from tests.journeys.plans import draft, items, locked, post, small_plan
from tests.journeys.states import amend, fill, path, verdict, withdraw

pytestmark = pytest.mark.any_database

N = 6


def place(service: Service, prereg_id: str) -> Any:
    return service.client.get(path(prereg_id)).json()["family"]


def other_items(prefix: str) -> dict[str, Any]:
    return {"p": {"item_ids": [f"{prefix}-{i}" for i in range(N)]}}


def test_every_locked_record_on_the_same_items_counts(service: Service) -> None:
    judged, withdrawn, collecting, last = (
        locked(service.client, small_plan(N, title=str(i))) for i in range(4)
    )
    fill(service, judged)
    verdict(service, judged)
    withdraw(service, withdrawn)
    post(service.client, collecting, "A", items(N)[:1], [1.0])
    draft(service.client, small_plan(N))
    elsewhere = locked(service.client, small_plan(N), other_items("else"))
    places = [place(service, each) for each in (judged, withdrawn, collecting, last)]
    assert len({each["id"] for each in places}) == 1
    assert [(each["registration"], each["of"]) for each in places] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert place(service, elsewhere) == {"id": place(service, elsewhere)["id"], "registration": 1, "of": 1}
    family = service.client.get(f"/v1/families/{places[0]['id']}").json()
    assert (family["of"], family["overlapping"]) == (4, 0)
    assert family["states"] == {"judged": 1, "withdrawn": 1, "collecting": 1, "locked": 1}
    assert [each["preregistration_id"] for each in family["items"]] == [judged, withdrawn, collecting, last]
    assert family["items"][0]["outcomes"] == {"H1a": "supported"}
    assert all(each["outcomes"] == {} for each in family["items"][1:])
    plan = service.client.get(path(judged)).json()["plan"]
    assert family["items_sha256"] == [plan["populations"][0]["items_sha256"]]


def test_a_draft_belongs_to_no_family(service: Service) -> None:
    assert place(service, draft(service.client, small_plan(N))) is None


def test_a_family_stands_beside_the_verdict_and_not_in_it(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    fill(service, prereg_id)
    service.run_jobs()
    first = service.client.get(path(prereg_id, "verdict"))
    locked(service.client, small_plan(N, title="Once more"))
    second = service.client.get(path(prereg_id, "verdict"))
    assert first.content == second.content
    assert first.headers["ETag"] == second.headers["ETag"]
    assert first.headers["Forelock-Family"].endswith("; registration=1; of=1")
    assert second.headers["Forelock-Family"].endswith("; registration=1; of=2")
    known = service.client.get(path(prereg_id, "verdict"), headers={"If-None-Match": first.headers["ETag"]})
    assert known.status_code == 304
    assert known.headers["Forelock-Family"] == second.headers["Forelock-Family"]
    words = service.client.get(path(prereg_id, "verdict", "sentences")).json()
    receipt = service.client.get(path(prereg_id, "receipt")).json()
    assert words["family"] == receipt["family"] == place(service, prereg_id)
    assert receipt["family"]["of"] == 2


def test_a_record_is_sent_again_once_its_family_has_grown(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    tag = service.client.get(path(prereg_id)).headers["ETag"]
    assert service.client.get(path(prereg_id), headers={"If-None-Match": tag}).status_code == 304
    locked(service.client, small_plan(N))
    grown = service.client.get(path(prereg_id), headers={"If-None-Match": tag})
    assert (grown.status_code, grown.json()["family"]["of"]) == (200, 2)


def test_records_that_share_some_items_overlap(service: Service) -> None:
    plan = small_plan(N)
    second = {**plan["populations"][0], "id": "q"}
    both = plan | {"populations": [plan["populations"][0], second]}
    both["hypotheses"] = [*plan["hypotheses"], {**plan["hypotheses"][0], "id": "H2", "population": "q"}]
    both["multiplicity"] = {"policy": "fixed_sequence", "family": ["H1a", "H2"]}
    one = locked(service.client, plan)
    two = locked(service.client, both, {"q": {"item_ids": [f"q-{i}" for i in range(N)]}})
    assert place(service, one)["id"] != place(service, two)["id"]
    for each in (one, two):
        family = service.client.get(f"/v1/families/{place(service, each)['id']}").json()
        assert (family["of"], family["overlapping"]) == (1, 1)


def test_an_amendment_keeps_its_place(service: Service) -> None:
    prereg_id, later = (locked(service.client, small_plan(N)) for _ in range(2))
    before = place(service, prereg_id)
    assert amend(service, prereg_id, {"title": "Amended"}).status_code == 200
    assert place(service, prereg_id) == before
    assert place(service, later)["registration"] == 2


def test_another_project_on_the_same_items_has_a_family_of_its_own(service: Service) -> None:
    mine = place(service, locked(service.client, small_plan(N)))
    stranger = service.key(project_id=service.project("elsewhere"))
    own = service.client.headers["Authorization"]
    service.client.headers["Authorization"] = f"Bearer {stranger}"
    try:
        theirs = place(service, locked(service.client, small_plan(N)))
        refused = service.client.get(f"/v1/families/{mine['id']}")
    finally:
        service.client.headers["Authorization"] = own
    assert (theirs["registration"], theirs["of"]) == (1, 1)
    assert theirs["id"] != mine["id"]
    assert refused.status_code == 404
    assert place(service, service.client.get("/v1/preregistrations").json()["items"][0]["id"])["of"] == 1


def test_a_long_family_comes_in_pages(service: Service) -> None:
    ids = [locked(service.client, small_plan(N, title=str(i))) for i in range(5)]
    path_of = f"/v1/families/{place(service, ids[0])['id']}"
    seen, cursor = [], None
    while True:
        page = service.client.get(
            path_of, params={"limit": 2} | ({"cursor": cursor} if cursor else {})
        ).json()
        assert page["of"] == 5
        seen += [(each["registration"], each["preregistration_id"]) for each in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == list(enumerate(ids, 1))
    assert service.client.get(path_of, params={"cursor": "x"}).status_code == 422


def test_the_page_says_which_registration_it_is(service: Service) -> None:
    for _ in range(2):
        prereg_id = locked(service.client, small_plan(N))
    withdraw(service, prereg_id)
    key = service.key("read")
    service.client.post("/login", data={"key": key}, headers={"Sec-Fetch-Site": "same-origin"})
    page = service.client.get(f"/preregistrations/{prereg_id}").text
    assert "registration 2 of 2 on these items in this project" in page
    assert re.search(r"Withdrawn <time[^>]*>[^<]*</time>: no longer needed", page)
