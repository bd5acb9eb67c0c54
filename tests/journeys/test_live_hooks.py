"""Rows of a run that goes on, from the spool into the whole service: the same as those of its finished log."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from forelock import Client
from forelock.spool import Head, Spool, send, sending
from tests.ingest.truth import folder, truth
from tests.journeys.imported import NAMES, locked_plan, progress
from tests.journeys.imported import send as import_file

from .conftest import Service

# nothing here asks the database what other imports do not
pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
def client(service: Service) -> Client:
    """The client as a hook has it: with a key that writes and reads nothing."""
    key = service.key("results:write")

    def handle(request: httpx.Request) -> httpx.Response:
        names = ("host", "authorization", "content-length", "transfer-encoding")
        kept = {name: value for name, value in request.headers.items() if name not in names}
        answer = service.client.request(
            request.method,
            request.url.raw_path.decode(),
            content=request.read(),
            headers=kept | {"Authorization": f"Bearer {key}"},
        )
        return httpx.Response(answer.status_code, content=answer.content)

    return Client("http://s", "flk_k", transport=httpx.MockTransport(handle))


def samples(arm: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    log = json.loads((folder("inspect") / f"{arm}_json.json").read_text())
    return log["eval"], log["samples"]


def keep(spool: Spool, prereg_id: str, run: dict[str, Any], found: list[dict[str, Any]]) -> None:
    writer = spool.writer(prereg_id, Head("inspect", {}, run))
    for sample in found:
        writer.append(sample)
    writer.close()


def test_samples_that_come_one_by_one_are_those_of_the_log(
    service: Service, client: Client, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(sending, "ROWS", 8)
    prereg_id, spool = locked_plan(service), Spool(tmp_path / "spool")
    for arm in ("baseline", "candidate"):
        run, found = samples(arm)
        keep(spool, prereg_id, run, [each for each in found if not each.get("error")])
        sent = send(client, spool)
        assert (sent.refused, sent.away) == ([], None)
        # the finished log brings what was kept back, and changes nothing of what is in
        log = folder("inspect") / f"{arm}_json.json"
        rest = import_file(service, prereg_id, log, on_duplicate="skip", complete=True)
        assert rest.status_code == 201, rest.text
    assert progress(service, prereg_id)["state"] == "complete"
    service.run_jobs()
    listed = service.client.get(f"/v1/preregistrations/{prereg_id}/results", params={"limit": 200}).json()
    wanted = {}
    for arm in ("baseline", "candidate"):
        there, absent = truth("inspect", f"{arm}_json.json", arm, "match")
        wanted |= {(item, NAMES[arm], n): row[:2] for (item, _, n), row in (there | absent).items()}
    stored = {
        (row["item_id"], row["arm"], row["replicate"]): (row["value"], row["status"])
        for row in listed["items"]
    }
    assert {place: row for place, row in stored.items() if place in wanted} == wanted
    assert {row for place, row in stored.items() if place not in wanted} == {(None, "missing")}


def test_a_piece_completes_nothing_and_has_no_order(service: Service, client: Client, tmp_path) -> None:
    run, found = samples("baseline")
    body = json.dumps({"status": "started", "piece": True, "eval": run, "samples": found[:3]}).encode()
    whole = import_file(service, locked_plan(service), body, complete=True)
    assert (whole.status_code, whole.json()["errors"][0]["path"]) == (422, "query.complete")
    ordered = import_file(service, locked_plan(service, replicate="order"), body)
    assert (ordered.status_code, ordered.json()["errors"][0]["path"]) == (422, "import.replicate")


def test_what_the_plan_leaves_open_waits_and_is_told_without_a_value(
    service: Service, client: Client, tmp_path
) -> None:
    prereg_id, spool = locked_plan(service), Spool(tmp_path / "spool")
    run, found = samples("baseline")
    keep(spool, prereg_id, run, [found[0] | {"limit": {"type": "token", "limit": 1}}])
    (refusal,) = send(client, spool).refused
    assert refusal.startswith("import_unmapped: import.limit: 1 samples were stopped at a limit")
    assert sum(each.rows for each in spool.waiting(prereg_id)) == 1
