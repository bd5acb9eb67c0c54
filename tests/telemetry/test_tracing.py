"""Traces: what is in them, and that they are the same whatever the outcomes are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from opentelemetry.instrumentation.sqlalchemy import SQLAlchemyInstrumentor
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.testclient import TestClient

from service.app import create_app
from service.config import Settings
from service.jobs.runner import Runner
from service.keyring.keyring import Keyring
from service.processes.wake import Alarm
from service.store.database.engine import Database
from service.telemetry.tracing import AllowedSpans, Tracing
from tests.api.conftest import add_key, add_project
from tests.journeys.plans import items, locked, post, small_plan
from tests.pools import InlinePool

ATTRIBUTES = {
    "http.route",
    "http.request.method",
    "http.response.status_code",
    "db.system",
    "forelock.job.kind",
}
CANARY = "canary-7f3a"


@contextmanager
def traced(directory: Path, template: Path) -> Iterator[tuple[TestClient, Runner, InMemorySpanExporter]]:
    """A service and a runner whose spans are kept in memory."""
    directory.mkdir()
    (directory / "forelock.db").write_bytes(template.read_bytes())
    settings = Settings(data_dir=directory, key_cache_seconds=0)
    database, kept = Database(settings.url), InMemorySpanExporter()
    tracing = Tracing("test", SimpleSpanProcessor(AllowedSpans(kept)))
    tracing.database(database.engine)
    keyring = Keyring.create(directory / "keys")
    runner = Runner(
        database=database, keyring=keyring, pool=InlinePool(), alarm=Alarm(directory / "runner.sock"),
        settings=settings, tracing=tracing,
    )  # fmt: skip
    app = tracing.application(create_app(settings, database, Keyring.load(directory / "keys")))
    _key, secret = add_key(database, add_project(database, "default"))
    with TestClient(
        app, headers={"Authorization": f"Bearer {secret}"}, raise_server_exceptions=False
    ) as client:
        yield client, runner, kept
    runner.close()
    SQLAlchemyInstrumentor().uninstrument()
    tracing.close()


def said(spans: Sequence[ReadableSpan]) -> list[tuple[object, ...]]:
    """Everything a span tells but its times and ids, with the name of its parent."""
    names = {span.context.span_id: span.name for span in spans if span.context}
    return [
        (
            span.name,
            span.kind.name,
            tuple(sorted((span.attributes or {}).items())),
            span.status.status_code.name,
            span.status.description,
            len(span.events),
            len(span.links),
            names.get(span.parent.span_id) if span.parent else None,
        )
        for span in spans
    ]


def collect(client: TestClient, runner: Runner, outcomes: dict[str, list[float]]) -> None:
    """A record from its lock to its verdict, with some that is asked meanwhile."""
    prereg_id = locked(client, small_plan(10))
    path = f"/v1/preregistrations/{prereg_id}"
    for arm, values in outcomes.items():
        post(client, prereg_id, arm, items(10), values)
        client.get(f"{path}/progress")
        client.get(f"{path}/verdict")
    while runner.step():
        pass


def test_two_databases_that_differ_in_outcomes_have_the_same_spans(tmp_path, sqlite_template) -> None:
    found = []
    for name, outcomes in (
        ("first", {"A": [1.0] * 10, "B": [1.0] * 10}),  # what a process learns once, it asks no more
        ("one", {"A": [0.0] * 10, "B": [1.0] * 10}),
        ("other", {"A": [1.0, 0.0] * 5, "B": [0.0] * 10}),
    ):
        with traced(tmp_path / name, sqlite_template) as (client, runner, kept):
            collect(client, runner, outcomes)
            found.append(sorted(map(repr, said(kept.get_finished_spans()))))
    found = found[1:]
    assert Counter(found[0]) - Counter(found[1]) == Counter(found[1]) - Counter(found[0]) == Counter()
    assert any("'POST /v1/preregistrations/{prereg_id}/results'" in each for each in found[0])
    assert any("'INSERT'" in each for each in found[0])
    assert any("('forelock.job.kind', 'verdict')" in each for each in found[0])


def test_spans_hold_what_is_listed_and_nothing_else(tmp_path, sqlite_template) -> None:
    with traced(tmp_path / "data", sqlite_template) as (client, runner, kept):
        counts = {"both_correct": 9, "only_baseline": 1, "only_candidate": 7, "both_wrong": 4}
        asked = client.post("/v1/tests/mcnemar", json=counts, headers={"Prefer": "respond-async"})
        collect(client, runner, {"A": [0.0] * 10, "B": [1.0] * 10})
        client.get(f"/v1/jobs/{asked.json()['id']}")
        client.get(f"/v1/preregistrations/{CANARY}?search={CANARY}", headers={"User-Agent": CANARY})
        client.post("/v1/preregistrations", json={"title": CANARY})
        sent = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01", "tracestate": f"x={CANARY}"}
        client.get("/v1/preregistrations", headers=sent)
        spans = kept.get_finished_spans()
    assert {name for span in spans for name in span.attributes or {}} == ATTRIBUTES
    assert not [span for span in spans if span.events or span.links or span.status.description]
    assert CANARY not in "".join(map(repr, said(spans)))
    assert CANARY not in "".join(repr((span.context, span.parent)) for span in spans)
    assert {span.context.trace_id for span in spans} >= {int("a" * 32, 16)}
    jobs = {span.attributes["forelock.job.kind"]: span for span in spans if span.name == "job"}
    assert jobs.keys() == {"mcnemar", "verdict"}
    inside = {span.parent.span_id for span in spans if span.parent}
    assert jobs["mcnemar"].context.span_id in inside
    sealed = jobs["verdict"]
    assert sealed.context.span_id not in inside
    assert sealed.start_time == sealed.end_time
    assert sealed.start_time % (60 * 10**9) == 0
    assert {span.name for span in spans if span.attributes.get("db.system")} <= {
        "SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "PRAGMA", "BEGIN", "connect",
    }  # fmt: skip


def test_without_the_packages_the_extra_is_named(tmp_path, monkeypatch) -> None:
    import sys

    from service import main
    from service.operation.starting import CannotStart

    monkeypatch.setitem(sys.modules, "service.telemetry.tracing", None)
    settings = Settings(data_dir=tmp_path, otel_endpoint="http://127.0.0.1:4318/v1/traces")
    with pytest.raises(CannotStart, match=r"forelock-server\[otel\]"):
        main._tracing(settings, "forelock-api", None)  # type: ignore[arg-type]
    assert main._tracing(Settings(data_dir=tmp_path), "forelock-api", None) is None  # type: ignore[arg-type]
