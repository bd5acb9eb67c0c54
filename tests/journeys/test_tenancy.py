"""A key of one project asks for everything of another: each id answers as one that never was."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

import pytest

from service.domain.access import SCOPES
from service.domain.outgoing import EVENTS
from tests.every_route import OPERATIONS, PICTURES, Operation, content
from tests.journeys.amendments import SMALLER
from tests.journeys.filings import deviations, filing
from tests.journeys.sequential import order, plan

from .conftest import Service
from .plans import draft, idempotent, items, locked, post, small_plan

pytestmark = pytest.mark.any_database

CANARY = "canaryofanother"
"""In every text that the other project wrote, so that its way into an answer is seen."""
N = 6
EMBARGO = {"embargo_until": "2099-12-31"}
OF_PROJECTS = {"prereg_id", "job_id", "id", "family_id", "webhook_id"}
"""Names in a path that stand for a record of one project; the others stand for a part of it."""


def test_every_operation_without_an_id_shows_nothing_of_another_project(service: Service) -> None:
    others, stranger = _others(service), _stranger(service)
    told = {value for ids in others for name, value in ids.items() if name in OF_PROJECTS} | {CANARY}
    for operation in OPERATIONS:
        if operation.names or operation.id in ("listProjects", "getMetrics"):
            continue  # these two are the operator's, and the other answers to ids are compared below
        for media, body in operation.bodies():
            options = content(media, body)
            headers = stranger | operation.headers() | options.pop("headers", {})
            answer = service.client.request(operation.method, operation.path, headers=headers, **options)
            assert answer.status_code < 500, answer.text
            assert not [each for each in told if each in answer.text], operation.id


@pytest.mark.parametrize("name", ["project_id", "project"])
def test_a_query_for_another_project_is_answered_as_one_for_none(service: Service, name: str) -> None:
    _others(service)
    other, stranger = service.project("third"), _stranger(service)
    asked = [each for each in OPERATIONS if name in each.query()]
    assert asked
    for operation in asked:
        ids = {"id": uuid.uuid4().hex}
        answers = [
            _seen(
                service.client.request(
                    operation.method, operation.url(ids), params={name: value}, headers=stranger
                ),
                value,
            )
            for value in (other, uuid.uuid4().hex)
        ]
        assert answers[0] == answers[1], operation.id


def test_a_key_for_another_project_is_refused_as_one_for_none(service: Service) -> None:
    other, stranger = service.project("other"), _stranger(service)
    answers = []
    for project_id in (other, uuid.uuid4().hex):
        body = {"name": "mine", "scopes": ["read"], "project_id": project_id}
        answers.append(_seen(service.client.post("/v1/keys", json=body, headers=stranger), project_id))
    assert answers[0] == answers[1]
    assert answers[0][0] in (403, 404)


def test_an_id_of_another_project_is_answered_as_one_that_never_was(service: Service) -> None:
    others, stranger = _others(service), _stranger(service)
    owner = {"Authorization": str(service.client.headers["Authorization"])}
    before = _views(service, others, owner)
    for operation in OPERATIONS:
        records = [ids for ids in others if OF_PROJECTS.intersection(operation.names) <= set(ids)]
        assert records or not operation.names, f"{operation.path} holds an id that this test does not know"
        of_a_project = OF_PROJECTS.intersection(operation.names) and operation.described["security"]
        for ids in records if of_a_project else []:
            _compare(
                service, operation, ids, stranger | _tag_of(service, ids, owner), broken=ids is records[0]
            )
    assert _views(service, others, owner) == before


def _compare(
    service: Service, operation: Operation, ids: Mapping[str, str], stranger: dict[str, str], *, broken: bool
) -> None:
    """The record's id and one that never was, asked for with everything else alike."""
    unknown = {**ids, **{name: uuid.uuid4().hex for name in OF_PROJECTS}}
    for options, whole in _requests(operation, broken=broken):
        answers = []
        for asked in (ids, unknown):
            headers = stranger | operation.headers() | options.get("headers", {})
            answer = service.client.request(
                operation.method, operation.url(asked), **options | {"headers": headers}
            )
            answers.append(_seen(answer, *(asked[name] for name in OF_PROJECTS & set(asked))))
        place = f"{operation.method} {operation.url(ids)}"
        assert answers[0] == answers[1], place
        assert CANARY not in answers[0][2], place
        if whole:
            assert answers[0][0] == 404, f"{place}: {answers[0][2]}"


def test_a_cursor_and_an_idempotency_key_of_another_project_show_nothing_of_it(service: Service) -> None:
    prereg_id = draft(service.client, small_plan(N, title=CANARY))
    draft(service.client, small_plan(N, title=CANARY))
    stranger, made = _stranger(service), idempotent()
    cursor = service.client.get("/v1/preregistrations?limit=1").json()["next_cursor"]
    assert cursor
    body = {"title": CANARY}
    ours = service.client.post("/v1/preregistrations", json=body, headers=made).json()["id"]
    page = service.client.get("/v1/preregistrations", params={"cursor": cursor}, headers=stranger)
    assert prereg_id not in page.text
    assert CANARY not in page.text
    theirs = service.client.post("/v1/preregistrations", json=body, headers=stranger | made)
    assert theirs.status_code == 201
    assert theirs.json()["id"] != ours
    assert "Idempotency-Replayed" not in theirs.headers


def _others(service: Service) -> list[dict[str, str]]:
    """Records of the client's project in every state, and the ids by which they could be asked for."""
    client, words = service.client, {"title": CANARY}
    key_id = client.post("/v1/keys", json={"name": CANARY, "scopes": ["read"]}).json()["key"]["id"]
    asynchronous = {"Prefer": "respond-async"}
    counts = {"both_correct": 3, "both_wrong": 2, "only_baseline": 1, "only_candidate": 4}
    job_id = client.post("/v1/tests/mcnemar", json=counts, headers=asynchronous).json()["id"]
    draft_id = draft(client, small_plan(N, **words))
    collecting, judged = (locked(client, small_plan(N, **words, **kept)) for kept in (EMBARGO, {}))
    looked, read = (locked(client, plan(kind, **words)) for kind in ("group_sequential", "anytime_valid"))
    for record in (looked, read):
        bound = client.post(
            f"/v1/preregistrations/{record}/runs", json={"arm": "A", "environment": {"in": CANARY}}
        )
        assert bound.status_code == 201, bound.text
    sequence = order(service, looked)
    for record, ids in (
        (collecting, items(N)[:3]),
        (judged, items(N)),
        (looked, sequence[:20]),
        (read, sequence[:9]),
    ):
        for arm in ("A", "B"):
            assert post(client, record, arm, ids, [int(arm == "B")] * len(ids)).status_code == 201
    for record in (collecting, judged):
        filed = client.post(deviations(record), json=filing(SMALLER, **words))
        assert filed.status_code == 201, filed.text
    service.run_jobs()
    assert client.get(f"/v1/preregistrations/{judged}/verdict").status_code == 200
    webhook_id, delivery_id = _outside(client, locked(client, small_plan(N, **words)), judged)
    parts = {
        "population": "p",
        "batch": "1",
        "number": "1",
        "deviation": "1",
        "version": "1",
        "arm": "B",
        "name": "link",
        "run_id": "run",
    }
    parts |= {"delivery_id": delivery_id} | PICTURES
    return [
        {"prereg_id": draft_id, "id": key_id, "job_id": job_id, "webhook_id": webhook_id, **parts},
        *(
            {
                "prereg_id": each,
                "family_id": client.get(f"/v1/preregistrations/{each}").json()["family"]["id"],
                **parts,
            }
            for each in (collecting, judged, looked, read)
        ),
    ]


def _outside(client: Any, *records: str) -> tuple[str, str]:
    """A webhook with a message that waits, and an MLflow; links and runs of the records."""
    hook = {"url": f"https://{CANARY}.example/", "events": list(EVENTS), "description": CANARY}
    webhook_id = client.post("/v1/webhooks", json=hook).json()["webhook"]["id"]
    ping = client.post(f"/v1/webhooks/{webhook_id}/ping").json()["id"]
    tracker = {"url": f"https://{CANARY}.example", "token": CANARY}
    assert client.put("/v1/trackers/mlflow", json=tracker).status_code == 200
    for each in records:
        path = f"/v1/preregistrations/{each}"
        assert client.put(f"{path}/mlflow-runs/run").status_code == 200
        link = {"url": f"https://{CANARY}.example/"}
        assert client.put(f"{path}/links/link", json=link).status_code == 200
    return webhook_id, ping


def _stranger(service: Service) -> dict[str, str]:
    """A key of another project with every scope but the operator's."""
    scopes = [scope for scope in SCOPES if scope != "operator"]
    project_id = service.project(f"stranger-{uuid.uuid4().hex}")
    return {"Authorization": f"Bearer {service.key(*scopes, project_id=project_id)}"}


def _requests(operation: Operation, *, broken: bool) -> list[tuple[dict[str, Any], bool]]:
    """What is sent, and whether it is whole: then nothing but the id can be wrong with it."""
    found: list[tuple[dict[str, Any], bool]] = [(content(*each), True) for each in operation.bodies()]
    if broken and operation.bodies()[0][0]:
        rows = {"arm": "A", "endpoint": "accuracy", "item_ids": items(N)[:4], "values": [1] * 4}
        bodies: list[Any] = [{}, rows, {"title": "mine"}, {"classification": "accept"}, {"reason": "mine"}]
        found += [(content("application/json", body), False) for body in bodies]
        found += [
            ({"content": raw, "headers": {"Content-Type": "application/json"}}, False) for raw in (b"", b"{")
        ]
        found.append(({"content": b"{}", "headers": {"Content-Type": "text/plain"}}, False))
    return found


def _tag_of(service: Service, ids: Mapping[str, str], owner: dict[str, str]) -> dict[str, str]:
    """The record's tag as its owner sees it: what would pass if the record were the caller's."""
    tag = service.client.get(f"/v1/preregistrations/{ids['prereg_id']}", headers=owner).headers["ETag"]
    return {"If-Match": tag, "If-None-Match": tag}


def _views(service: Service, others: list[dict[str, str]], owner: dict[str, str]) -> list[bytes]:
    """Everything that can be read of the records."""
    return [
        service.client.get(operation.url(ids), headers=owner).content
        for ids in others
        for operation in OPERATIONS
        if operation.reads
        and operation.id != "getJobEvents"
        and {"prereg_id"} <= set(operation.names) <= set(ids)
    ]


def _seen(answer: Any, *ids: str) -> tuple[int, dict[str, str], str]:
    """Everything of an answer but the id that was asked for and that of its request."""
    headers = {k: v for k, v in answer.headers.items() if k not in ("x-request-id", "date")}
    text = answer.text
    for each in ids:
        text = text.replace(each, "ID")
    return answer.status_code, headers, text
