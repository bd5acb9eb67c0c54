"""Links of a record to places outside, and its badge."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from service.domain.outgoing import MOST_LINKS

from .conftest import Service, only_sqlite
from .outbox import N, judge, lock
from .plans import draft, small_plan

LINK = {"kind": "wandb", "url": "https://wandb.ai/lab/caching/runs/3k2j", "external_id": "3k2j"}


def test_a_link_is_set_shown_replaced_and_removed(service: Service) -> None:
    client, prereg_id = service.client, lock(service)
    path = f"/v1/preregistrations/{prereg_id}"
    before = client.get(path)
    assert before.json()["links"] == []
    made = client.put(f"{path}/links/training", json=LINK)
    assert made.status_code == 200, made.text
    assert made.json() == {"name": "training", **LINK, "put_at": made.json()["put_at"]}
    after = client.get(path, headers={"If-None-Match": before.headers["ETag"]})
    assert after.status_code == 200
    assert after.json()["links"] == [made.json()]
    assert after.json()["plan_sha256"] == before.json()["plan_sha256"], "no part of the plan"
    assert client.get(path, headers={"If-None-Match": after.headers["ETag"]}).status_code == 304
    client.put(f"{path}/links/training", json=LINK | {"external_id": None})
    (shown,) = client.get(f"{path}/links").json()["items"]
    assert shown["external_id"] is None
    assert client.delete(f"{path}/links/training").status_code == 204
    assert client.delete(f"{path}/links/training").status_code == 404
    assert client.get(path).headers["ETag"] == before.headers["ETag"]
    actions = [each["action"] for each in client.get(f"/v1/audit?subject={prereg_id}").json()["items"]]
    assert actions[:3] == ["link.delete", "link.put", "link.put"]


@only_sqlite
def test_a_link_is_on_the_page_and_escaped(service: Service) -> None:
    prereg_id = lock(service)
    path = f"/v1/preregistrations/{prereg_id}/links/eval"
    sent = {"url": "https://langfuse.example/a?b=1&c='", "kind": "langfuse", "external_id": "<b>x</b>"}
    assert service.client.put(path, json=sent).status_code == 200
    key = str(service.client.headers["Authorization"]).removeprefix("Bearer ")
    service.client.post("/login", data={"key": key})
    page = service.client.get(f"/preregistrations/{prereg_id}").text
    assert 'href="https://langfuse.example/a?b=1&amp;c=&#39;"' in page
    assert "&lt;b&gt;x&lt;/b&gt;" in page
    assert 'rel="noopener noreferrer' in page


@only_sqlite
@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"url": "http://wandb.ai/x"}, 422),
        ({"url": "javascript:alert(1)"}, 422),
        ({"url": "https://u:p@wandb.ai/x"}, 422),
        ({"url": "https://wandb.ai/x", "kind": "unknown"}, 422),
        ({"url": "https://wandb.ai/x", "external_id": "a\nb"}, 422),
    ],
)
def test_a_link_that_cannot_be_is_refused(service: Service, body: dict[str, str], status: int) -> None:
    prereg_id = lock(service)
    answer = service.client.put(f"/v1/preregistrations/{prereg_id}/links/x", json=body)
    assert answer.status_code == status, answer.text


@only_sqlite
def test_a_draft_has_no_links_and_a_record_so_many(service: Service) -> None:
    unlocked = draft(service.client, small_plan(N))
    assert service.client.put(f"/v1/preregistrations/{unlocked}/links/x", json=LINK).status_code == 409
    prereg_id = lock(service)
    path = f"/v1/preregistrations/{prereg_id}/links"
    for number in range(MOST_LINKS):
        assert service.client.put(f"{path}/l{number}", json=LINK).status_code == 200
    refused = service.client.put(f"{path}/more", json=LINK)
    assert (refused.status_code, refused.json()["code"]) == (409, "too_many_links")
    assert service.client.put(f"{path}/l0", json=LINK).status_code == 200


@only_sqlite
def test_a_badge_says_the_state_and_then_the_outcome(service: Service) -> None:
    prereg_id = lock(service)
    path = f"/v1/preregistrations/{prereg_id}/badge.svg"
    first = service.client.get(path)
    assert first.headers["content-type"] == "image/svg+xml"
    assert first.headers["cache-control"] == "private, no-cache"
    assert first.headers["vary"] == "Authorization"
    assert said(first.text) == "preregistered: locked"
    again = service.client.get(path, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    judge(service, prereg_id, better=0)
    judged = service.client.get(path, headers={"If-None-Match": first.headers["ETag"]})
    assert said(judged.text) == "preregistered: not supported"


def said(svg: str) -> str:
    """What a badge says to everybody; it holds nothing that runs or is loaded."""
    root = ElementTree.fromstring(svg)
    assert {each.tag.rpartition("}")[2] for each in root.iter()} <= {"svg", "title", "rect", "g", "text"}
    assert not re.search(r"script|href|url\(|\bon\w+=", svg)
    label = root.attrib["aria-label"]
    assert root.findtext("{http://www.w3.org/2000/svg}title") == label
    assert ": ".join(each.text or "" for each in root.iter("{http://www.w3.org/2000/svg}text")) == label
    return label


@only_sqlite
def test_a_badge_is_for_whoever_may_read(service: Service) -> None:
    prereg_id = lock(service)
    path = f"/v1/preregistrations/{prereg_id}/badge.svg"
    assert service.client.get(path, headers={"Authorization": ""}).status_code == 401
    writer = {"Authorization": f"Bearer {service.key('results:write')}"}
    assert service.client.get(path, headers=writer).status_code == 403
