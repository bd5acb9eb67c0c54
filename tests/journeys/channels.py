"""Every channel by which something could leave before the planned n, and what is compared of it."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from service.api.examples.deviations import FILING
from service.api.http.serving import middleware
from service.domain.outgoing import EVENTS
from service.domain.results.secret_rows import ROW_BYTES
from service.jobs.delivering import Delivering
from service.publish.addresses import read_allowed
from service.publish.http import Outgoing
from service.store.database.every_table import metadata
from service.web.preregistrations import progress_page
from tests.chaos.leaks import DRAWN
from tests.every_route import OPERATIONS, PICTURES
from tests.loopback import Asked, serving
from tests.mlflow_server import FakeMlflow

from .conftest import Service
from .plans import items, locked, post, small_plan

N = 8
ONE, OTHER = [1, 0, 1, 1, 0, 0, 1, 0], [0, 1, 1, 0, 0, 0, 0, 0]
ITEMS = items(N)
NEEDLE = 0.7310585786
CARDS = [{"id": "A", "model": {"name": "one"}}, {"id": "B", "criterion": "the first model of 2027"}]
"""Arm A's results differ from its card, and arm B is named while A's are in: both are told before the verdict."""
NAMING = {"card": {"model": {"name": "other"}}, "evidence": {"text": "released on 2027-01-02"}}
NUMBERS = re.compile(r'(?:"(?:sequence|tree_size|size|registration)":|[(（](?=\d+ < ))\d+(?: < \d+)?')
"""Places in the ledger, which others write to as well."""
ON_PAGES = re.compile(r"registration \d+ of \d+|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC|[0-9a-f]{64}")
"""Its place in its family, times, the plan's hash."""
ELSEWHERE = {"getBundle"}
"""Full of places in the ledger: copies of a database are compared for it (`tests/chaos`)."""
OF_A_RECORD = ("plan", "plan.json", "plan.md", "missing", "events", "results.csv", "report.json",
               "charts/power.svg", "charts/forest.svg")  # fmt: skip
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
Sealed = Counter[str]
"""What the sealed batches of each record sum to: what a plant tells."""


# --- what is compared ---


def record(service: Service, values: list[Any], **plan: Any) -> str:
    """A locked record with all of one arm and none of the other: it stays incomplete."""
    prereg_id = locked(service.client, small_plan(N, **{"arms": CARDS} | plan))
    run = {"run": "run-a", "arm": "A", "environment": {"model.name": "another"}}
    assert service.client.post(f"/v1/preregistrations/{prereg_id}/runs", json=run).status_code == 201
    posted = post(service.client, prereg_id, "A", items(N), values, run="run-a")
    assert posted.status_code == 201
    assert name(service, prereg_id).status_code == 200
    return prereg_id


def name(service: Service, prereg_id: str) -> Any:
    """The answer to naming the arm that the plan leaves open."""
    return service.client.post(f"/v1/preregistrations/{prereg_id}/arms/B", json=NAMING)


def two(service: Service, **plan: Any) -> tuple[str, str]:
    """Records that differ in outcomes alone."""
    return record(service, ONE, **plan), record(service, OTHER, **plan)


def masked(answer: Any, prereg_id: str) -> str:
    """All of an answer but what is drawn or counts what others did."""
    headers = {
        k: v
        for k, v in answer.headers.items()
        if k not in ("x-request-id", "date", "content-length", "forelock-checkpoint")
    }
    # whether a leaf is signed yet is told by what others did since
    text = re.sub(r'"(checkpoint|proof)":(?:"[^"]*"|null)', r'"\1":"…"', answer.text)
    text = UUID.sub("UUID", NUMBERS.sub("PLACE", text))
    text = f"{answer.status_code} {headers} {text}".replace(prereg_id, "ID")
    return DRAWN.sub(lambda found: "DRAWN" + "." * (len(found[0]) if found["hex"] else 0), text)


def seen(service: Service, prereg_id: str) -> dict[str, str]:
    """Every answer to reading a record, its public page among them."""
    found = kept(service, prereg_id)
    sharing = f"/v1/preregistrations/{prereg_id}/visibility"
    assert service.client.put(sharing, json={"visibility": "public"}).status_code == 200
    return found | public(service, prereg_id) | pages(service, prereg_id)


def kept(service: Service, prereg_id: str) -> dict[str, str]:
    """Every answer to reading a record with a key of its project."""
    ids = {"prereg_id": prereg_id, "population": "p", "batch": "1", "deviation": "1", "version": "1"}
    ids |= PICTURES | {"number": "1"}
    return {
        each.id: masked(service.client.get(each.url(ids)), prereg_id)
        for each in OPERATIONS
        if each.reads and "prereg_id" in each.names and each.id not in ELSEWHERE
    }


def public(service: Service, prereg_id: str) -> dict[str, str]:
    """Every answer that whoever has no key gets about a record."""
    stranger = TestClient(service.app, follow_redirects=False)
    paths = ("", "/verdict.json", "/receipt.json", "/charts/power.json", "/charts/forest.json")
    asked = {path: masked(stranger.get(f"/public/{prereg_id}{path}"), prereg_id) for path in paths}
    return {f"public{path}": ON_PAGES.sub("…", page) for path, page in asked.items()}


def pages(service: Service, prereg_id: str) -> dict[str, str]:
    """Every page and download of a record, for who is signed in with every scope, and its progress as it moves."""
    visitor = TestClient(service.app, follow_redirects=False)
    assert visitor.post("/login", data={"key": service.key()}).status_code == 303
    own = f"/preregistrations/{prereg_id}"
    paths = [own, *(f"{own}/{part}" for part in OF_A_RECORD)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress_page, "STREAM_SECONDS", 0.0)
        found = {path.replace(prereg_id, "ID"): masked(visitor.get(path), prereg_id) for path in paths}
    return {path: ON_PAGES.sub("…", page) for path, page in found.items()}


def stored(service: Service, table: str) -> list[dict[str, Any]]:
    with service.database.read() as session:
        return [dict(row) for row in session.execute(sa.select(metadata.tables[table])).mappings()]


JUDGED = [
    {"id": "accuracy", "kind": "binary", "role": "primary", "judge": {"model": "j"}},
    {"id": "accuracy.audit", "kind": "binary", "role": "secondary", "labels": {"n": 4, "seed": 7}},
]
"""A judge's scores, and people's labels of half of the items."""


def labelled(service: Service, values: list[Any]) -> str:
    """The same with labels of the drawn items of one arm: what they say follows from the values."""
    prereg_id = record(service, values, endpoints=JUDGED, missing="exclude_pair")
    rows = service.client.get(f"/v1/preregistrations/{prereg_id}/labels").json()["items"]
    drawn = [row["item_id"] for row in rows if row["arm"] == "A"]
    assert len(drawn) == 4
    said = [1 - values[int(name.removeprefix("item-"))] for name in drawn]
    sent = post(service.client, prereg_id, "A", drawn, said, endpoint="accuracy.audit")
    assert sent.status_code == 201, sent.text
    return prereg_id


# --- the checks ---


def bodies(service: Service) -> None:
    one, other = two(service)
    assert seen(service, one) == seen(service, other)


def labels(service: Service) -> None:
    """The list of labels, its refusals, and every other answer about a record with labels."""
    answers = []
    for prereg_id in [labelled(service, values) for values in (ONE, OTHER)]:
        listed = service.client.get(f"/v1/preregistrations/{prereg_id}/labels")
        assert sum(row["received"] for row in listed.json()["items"]) == 4
        row = next(row for row in listed.json()["items"] if row["received"])
        again = [
            masked(
                post(service.client, prereg_id, "A", [row["item_id"]], [guess], endpoint="accuracy.audit"),
                prereg_id,
            )
            for guess in (0, 1)
        ]
        assert again[0] == again[1]
        answers.append({"listed": masked(listed, prereg_id), "again": again[0]} | seen(service, prereg_id))
    one, other = answers
    assert {name: one[name] for name in one if one[name] != other[name]} == {}


def duplicates(service: Service) -> None:
    one = record(service, ONE)
    answers = {masked(post(service.client, one, "A", items(N), guess), one) for guess in (ONE, OTHER)}
    assert len(answers) == 1


def texts(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    answers = {
        masked(post(service.client, prereg_id, "A", items(N), [wrong] * N), prereg_id)
        for wrong in (2.25, 7310585786, -1)
    }
    assert len(answers) == 1
    assert next(iter(answers)).startswith("422")


def idempotency(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    answers = {
        post(service.client, prereg_id, "A", items(N), guess, key="once").content
        for guess in (ONE, OTHER, ONE)
    }
    assert len(answers) == 1


def tags(service: Service) -> None:
    one, other = two(service)
    assert (
        len({service.client.get(f"/v1/preregistrations/{each}").headers["ETag"] for each in (one, other)})
        == 1
    )


def status_counts(service: Service) -> None:
    failed = {
        "values": [1, None, 0, None, 1, 1, 1, 1],
        "status": ["ok", "error", "ok", "missing", *["ok"] * 4],
    }
    counts = []
    for more in (failed, {"values": [1] * N}):
        prereg_id = locked(service.client, small_plan(N))
        assert post(service.client, prereg_id, "A", items(N), **more).status_code == 201
        counts.append(service.client.get(f"/v1/preregistrations/{prereg_id}/progress").json())
    assert counts[0] == counts[1]


def voided(service: Service) -> None:
    answers = set()
    for each in two(service):
        path = f"/v1/preregistrations/{each}/batches/1/void"
        answers.add(masked(service.client.post(path, json={"reason": "wrong"}), each))
    assert len(answers) == 1


def log_lines(service: Service) -> None:
    """The lines of requests that differ in what they hold, and in how long it is."""
    found: list[dict[str, Any]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(middleware, "log_access", found.append)
        plan = small_plan(
            N,
            endpoints=[{"id": "accuracy", "kind": "continuous", "role": "primary"}],
            sesoi={"accuracy": {"value": 2, "unit": "score"}},
            hypotheses=[small_plan()["hypotheses"][0] | {"rule": "delta >= 0.5"}],
        )
        for values in ([0] * N, [NEEDLE] * N):
            prereg_id = locked(service.client, plan)
            found.clear()
            post(service.client, prereg_id, "A", items(N), values)
            (line,) = found
            assert set(line) == {"method", "route", "status", "seconds", "request_id", "key", "project"}
            assert str(NEEDLE) not in str(line)


def agents(service: Service) -> None:
    """What the MCP server's tools answer about records that differ in outcomes alone, refusals included."""
    pytest.importorskip("mcp", reason="the package mcp (extra `mcp`) is not installed")
    from tests.client.mcp_server.asking import ask, server_over

    server = server_over(service.client)
    told = []
    for prereg_id in two(service):
        answers = [ask(server, tool, {"id": prereg_id}) for tool in ("plan_lint", "progress", "verdict")]
        text = " ".join(answer.model_dump_json() for answer in answers).replace(prereg_id, "ID")
        assert "blinded" in text
        told.append(DRAWN.sub("DRAWN", UUID.sub("UUID", text)))
    assert told[0] == told[1]


def counters(service: Service) -> None:
    """What a batch adds to the metrics."""
    added = []
    for values in (ONE, OTHER):
        prereg_id = locked(service.client, small_plan(N))
        before = _samples(service)
        post(service.client, prereg_id, "A", items(N), values)
        after = _samples(service)
        added.append({name: after[name] - before.get(name, 0) for name in after if "seconds" not in name})
    assert added[0] == added[1]


def _samples(service: Service) -> dict[str, float]:
    lines = service.client.get("/metrics").text.splitlines()
    pairs = [line.rpartition(" ") for line in lines if line and not line.startswith("#")]
    return {name: float(value) for name, _, value in pairs if not re.search(r"_created|/metrics", name)}


def hashes(service: Service) -> None:
    """No hash of the same outcomes is the same: whoever guesses them has nothing to compare with."""
    for each in (ONE, ONE):
        record(service, each)
    commitments = [row["commitment_sha256"] for row in stored(service, "batches")]
    assert len(set(commitments)) == 2


def job_rows(service: Service) -> None:
    rows = []
    for values in (ONE, OTHER):
        prereg_id = record(service, values)
        assert post(service.client, prereg_id, "B", items(N), values).status_code == 201
        (row,) = [each for each in stored(service, "jobs") if prereg_id in str(each)]
        kept = ("kind", "subject", "state", "params", "result", "error", "progress")
        rows.append(str({name: row[name] for name in kept}).replace(prereg_id, "ID"))
    assert rows[0] == rows[1]
    assert stored(service, "job_inputs") == []


def lengths(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(1000))
    for arm, values in (("A", [0] * 1000), ("B", [i * i % 7 % 2 for i in range(999)])):
        assert post(service.client, prereg_id, arm, items(1000)[: len(values)], values).status_code == 201
    a, b = (row["sealed"] for row in stored(service, "batches"))
    assert len(a) - len(b) == ROW_BYTES


def files(service: Service) -> None:
    """Nothing is opened for writing while results come in."""
    written: list[str] = []
    _WATCHED.append(written)
    try:
        record(service, ONE)
    finally:
        _WATCHED.remove(written)
    own = str(service.settings.data_dir)
    assert [path for path in written if not path.startswith(own) and path != os.devnull] == []


_WATCHED: list[list[str]] = []


def _hook(event: str, arguments: Any) -> None:
    if _WATCHED and event == "open" and isinstance(arguments[0], (str, bytes)):
        path, _, flags = arguments
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            _WATCHED[-1].append(os.fsdecode(path))


sys.addaudithook(_hook)


def outgoing(service: Service) -> None:
    """Every byte that webhooks and an MLflow are sent before the verdict, headers included."""
    object.__setattr__(service.settings, "outgoing_allow", "127.0.0.1")
    told = []
    with serving() as receiver, serving() as tracker:
        receiver.answer(204, b"")
        mlflow = FakeMlflow(tracker)
        hook = {"url": receiver.url("/"), "events": list(EVENTS)}
        assert service.client.post("/v1/webhooks", json=hook).status_code == 201
        assert service.client.put("/v1/trackers/mlflow", json={"url": mlflow.url}).status_code == 200
        sending = Delivering(
            service.database,
            lambda: Outgoing(allowed=read_allowed("127.0.0.1")),
            seal_private=service.keyring.opener(),
            unsigned_most=timedelta(0),
        )
        for values in (ONE, OTHER):
            receiver.requests.clear()
            tracker.requests.clear()
            mlflow.add("run")
            prereg_id = record(service, values)
            path = f"/v1/preregistrations/{prereg_id}"
            assert service.client.put(f"{path}/mlflow-runs/run").status_code == 200
            while sending.step():
                pass
            assert post(service.client, prereg_id, "B", items(N)[: N - 1], values[1:]).status_code == 201
            assert service.client.post(f"{path}/batches/1/void", json={"reason": "wrong"}).status_code == 200
            filed = FILING | {"change": {"kind": "n", "population": "p", "n": 4, "dropped_favour": "neither"}}
            assert service.client.post(f"{path}/deviations", json=filed).status_code == 201
            assert service.client.post(f"{path}/withdrawal", json={"reason": "over"}).status_code == 200
            while sending.step():
                pass
            told.append(sorted(_bytes(each, prereg_id) for each in (*receiver.requests, *tracker.requests)))
    assert len(told[0]) >= 3 + 2 * 2, "three messages, and the tags of the run at its link and at the end"
    assert told[0] == told[1], str(sorted(set(told[0]) ^ set(told[1])))


def _bytes(asked: Asked, prereg_id: str) -> str:
    """All of a request but what is drawn, signed or a place in the ledger."""
    drawn = ("webhook-timestamp", "webhook-signature", "content-length")  # a place may have a digit more
    headers = {name: value for name, value in asked.headers.items() if name not in drawn}
    body = re.sub(r"forelock/[0-9a-f]{16}(?:\\[^\"]|[^\"\\])*", "NOTE", asked.body.decode())
    text = f"{asked.method} {asked.path} {headers} {NUMBERS.sub('PLACE', body)}".replace(prereg_id, "ID")
    return DRAWN.sub(lambda found: "DRAWN" + "." * (len(found[0]) if found["hex"] else 0), text)


def database_reader(service: Service) -> None:
    plan = small_plan(
        N,
        endpoints=[{"id": "accuracy", "kind": "continuous", "role": "primary"}],
        sesoi={"accuracy": {"value": 2, "unit": "score"}},
        hypotheses=[small_plan()["hypotheses"][0] | {"rule": "delta >= 0.5"}],
    )
    prereg_id = locked(service.client, plan)
    assert post(service.client, prereg_id, "A", items(N), [NEEDLE] * N).status_code == 201
    needles = (np.float64(NEEDLE).tobytes(), str(NEEDLE).encode(), np.float32(NEEDLE).tobytes())
    for table in metadata.tables:
        for row in stored(service, table):
            whole = b"".join(v if isinstance(v, bytes) else str(v).encode() for v in row.values())
            assert not any(needle in whole for needle in needles), table


def audit_log(service: Service) -> None:
    logs = [masked(service.client.get(f"/v1/audit?subject={each}"), each) for each in two(service)]
    assert logs[0] == logs[1]


def times(service: Service) -> None:
    prereg_id = record(service, ONE)
    post(service.client, prereg_id, "B", items(N), OTHER)
    (job,) = [each["id"] for each in stored(service, "jobs")]
    service.run_jobs()
    shown = service.client.get(f"/v1/jobs/{job}").json()
    assert all(shown[name].endswith(":00Z") for name in ("created_at", "finished_at"))
