"""Every channel by which an outcome could leave before the verdict: each is closed, and a leak planted in it is seen.

`docs/blinding.md` lists them. A check compares records that differ in outcomes alone; a plant opens the channel with
what only the seal should know, and the same check has to fail then.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from service import app as app_module
from service.actions import posting, progress, voids
from service.actions import results as result_actions
from service.api.http import metrics, middleware
from service.api.routes import imports as import_routes
from service.api.routes import jobs as job_routes
from service.api.routes import results as result_routes
from service.domain.plans.preregistration import Preregistration
from service.domain.results import sealing
from service.errors import Conflict, InvalidData
from service.store.tables import metadata
from tests.chaos.leaks import DRAWN
from tests.every_route import OPERATIONS

from .conftest import Service
from .plans import items, locked, post, small_plan

N = 8
ONE, OTHER = [1, 0, 1, 1, 0, 0, 1, 0], [0, 1, 1, 0, 0, 0, 0, 0]
NEEDLE = 0.7310585786
NUMBERS = re.compile(r'(?:"(?:sequence|tree_size|size)":|[(（](?=\d+ < ))\d+(?: < \d+)?')
"""Places in the ledger, which others write to as well."""
ELSEWHERE = {"getBundle"}
"""Full of places in the ledger: copies of a database are compared for it (`tests/chaos`)."""
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
Sealed = Counter[str]
"""What the sealed batches of each record sum to: what a plant tells."""


@pytest.fixture
def sealed(monkeypatch: pytest.MonkeyPatch) -> Sealed:
    found: Sealed = Counter()
    seal = sealing.seal_rows

    def spy(public: bytes, rows: sealing.SecretRows, salt: bytes, facts: sealing.BatchFacts) -> Any:
        found[facts.preregistration_id] += int(np.nansum(rows.values)) + 100 * int(np.sum(rows.statuses))
        return seal(public, rows, salt, facts)

    monkeypatch.setattr(sealing, "seal_rows", spy)
    return found


# --- what is compared ---


def record(service: Service, values: list[Any], **plan: Any) -> str:
    """A locked record with all of one arm and none of the other: it stays incomplete."""
    prereg_id = locked(service.client, small_plan(N, **plan))
    assert post(service.client, prereg_id, "A", items(N), values).status_code == 201
    return prereg_id


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
    text = re.sub(r'"(checkpoint|proof)":"[^"]*"', r'"\1":"…"', answer.text)
    text = UUID.sub("UUID", NUMBERS.sub("PLACE", text))
    text = f"{answer.status_code} {headers} {text}".replace(prereg_id, "ID")
    return DRAWN.sub(lambda found: "DRAWN" + "." * (len(found[0]) if found["hex"] else 0), text)


def seen(service: Service, prereg_id: str) -> dict[str, str]:
    """Every answer to reading a record."""
    ids = {"prereg_id": prereg_id, "population": "p", "batch": "1", "deviation": "1", "version": "1"}
    return {
        each.id: masked(service.client.get(each.url(ids)), prereg_id)
        for each in OPERATIONS
        if each.reads and "prereg_id" in each.names and each.id not in ELSEWHERE
    }


def stored(service: Service, table: str) -> list[dict[str, Any]]:
    with service.database.read() as session:
        return [dict(row) for row in session.execute(sa.select(metadata.tables[table])).mappings()]


# --- the checks ---


def bodies(service: Service) -> None:
    one, other = two(service)
    assert seen(service, one) == seen(service, other)


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
    assert len(a) - len(b) == sealing.ROW_BYTES


def files(service: Service) -> None:
    """Nothing is opened for writing while results come in."""
    written: list[str] = []
    _WATCHED.append(written)
    try:
        record(service, ONE)
    finally:
        _WATCHED.remove(written)
    own = str(service.settings.data_dir)
    assert [path for path in written if not path.startswith((own, "/dev/"))] == []


_WATCHED: list[list[str]] = []


def _hook(event: str, arguments: Any) -> None:
    if _WATCHED and event == "open" and isinstance(arguments[0], (str, bytes)):
        path, _, flags = arguments
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            _WATCHED[-1].append(os.fsdecode(path))


sys.addaudithook(_hook)


def imported(service: Service) -> None:
    """The report of a file, the list of imports, and how long what is sealed of it is."""
    answers, lengths = set(), set()
    for outcomes in (ONE, [1] * N):
        prereg_id = locked(service.client, small_plan(N) | {"import": {"format": "csv"}})
        lines = ["item_id,value", *(f"item-{i},{value}" for i, value in enumerate(outcomes))]
        report = service.client.post(
            f"/v1/preregistrations/{prereg_id}/imports?arm=A",
            content="\n".join(lines).encode(),
            headers={"Idempotency-Key": prereg_id, "Content-Type": "text/csv"},
        )
        assert report.status_code == 201, report.text
        listed = service.client.get(f"/v1/preregistrations/{prereg_id}/imports")
        answers.add((masked(report, prereg_id), masked(listed, prereg_id)))
        (row,) = [each for each in stored(service, "imports") if each["preregistration_id"] == prereg_id]
        lengths.add(len(row["sealed"]))
    assert len(answers) == 1
    assert len(lengths) == 1


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


# --- the plants ---

Patch = pytest.MonkeyPatch


def _in_progress(patch: Patch, sealed: Sealed) -> None:
    true = progress.progress

    def leak(session: Any, of: Preregistration, **more: Any) -> Any:
        found = true(session, of, **more)
        return replace(found, batches=found.batches + sealed[of.id])

    patch.setattr(result_routes, "progress", leak)


def _in_conflicts(patch: Patch, sealed: Sealed) -> None:
    true = posting.Group._claim

    def leak(group: posting.Group, prereg_id: str, prepared: Any) -> None:
        try:
            true(group, prereg_id, prepared)
        except Conflict as refused:
            same = int(prepared.placed.values.sum()) == sealed[prereg_id]
            raise Conflict(refused.detail + " again" * same, refused.faults) from None

    patch.setattr(posting.Group, "_claim", leak)


def _in_texts(patch: Patch, _sealed: Sealed) -> None:
    true = result_actions.check

    def leak(batch: Any, *more: Any) -> Any:
        try:
            return true(batch, *more)
        except InvalidData as refused:
            raise InvalidData(f"{refused.detail}: {batch.values[0]}") from None

    patch.setattr(result_actions, "check", leak)


def _in_fingerprints(patch: Patch, _sealed: Sealed) -> None:
    true = result_routes.fingerprint_parts
    patch.setattr(result_routes, "fingerprint_parts", lambda batch: true(batch) + batch.values.tobytes())


def _in_tags(patch: Patch, sealed: Sealed) -> None:
    patch.setattr(Preregistration, "etag", property(lambda self: f'"{self.revision}-{sealed[self.id]}"'))


def _in_status_counts(patch: Patch, sealed: Sealed) -> None:
    patch.setattr(progress, "_status_counts", lambda _session, of: {"error": sealed[of.id] // 100})


def _in_imports(patch: Patch, _sealed: Sealed) -> None:
    true = import_routes._batch

    def leak(fitted: Any, accepted: Any) -> Any:
        return true(replace(fitted, unknown=int(fitted.batch.values.sum())), accepted)

    patch.setattr(import_routes, "_batch", leak)


def _in_voids(patch: Patch, sealed: Sealed) -> None:
    def leak(_session: Any, _caller: Any, of: Preregistration, *_: Any, **__: Any) -> Any:
        raise Conflict(f"too late for {sealed[of.id]}")

    patch.setattr(voids, "void", leak)


def _in_log_lines(patch: Patch, _sealed: Sealed) -> None:
    true = middleware._Exchange._report

    def leak(exchange: Any, seconds: float) -> None:
        exchange._scope["state"]["told"] = {"bytes": dict(exchange._scope["headers"])[b"content-length"]}
        true(exchange, seconds)

    patch.setattr(middleware._Exchange, "_report", leak)


def _in_counters(patch: Patch, sealed: Sealed) -> None:
    true = metrics.Metrics.count

    def leak(self: Any, route: str, method: str, status: int, seconds: float) -> None:
        true(self, f"{route} {sealed.total() % 7}", method, status, seconds)

    patch.setattr(metrics.Metrics, "count", leak)


def _in_hashes(patch: Patch, _sealed: Sealed) -> None:
    true = sealing._commitment
    patch.setattr(sealing, "_commitment", lambda _salt, facts, secret: true(bytes(16), facts, secret))


def _in_job_rows(patch: Patch, sealed: Sealed) -> None:
    true = result_actions.jobs.enqueue

    def leak(session: Any, new: Any) -> Any:
        hinted = {**new.params, "hint": sealed[new.params["preregistration_id"]]}
        return true(session, replace(new, params=hinted))

    patch.setattr(result_actions.jobs, "enqueue", leak)


def _in_lengths(patch: Patch, _sealed: Sealed) -> None:
    import zlib

    true = sealing.SecretRows.to_bytes
    patch.setattr(sealing.SecretRows, "to_bytes", lambda rows: zlib.compress(true(rows)))


def _in_files(patch: Patch, _sealed: Sealed) -> None:
    true = posting._sealed

    def leak(*arguments: Any) -> Any:
        with tempfile.NamedTemporaryFile(dir=Path(tempfile.gettempdir())):
            return true(*arguments)

    patch.setattr(posting, "_sealed", leak)


def _in_the_open(patch: Patch, _sealed: Sealed) -> None:
    patch.setattr(sealing, "_seal", lambda plaintext, _public, _info: plaintext)


def _in_the_audit_log(patch: Patch, sealed: Sealed) -> None:
    true = posting._Taken.done

    def leak(taken: Any, batch: Any, now: Any) -> Any:
        found = true(taken, batch, now)
        return replace(found, facts={**found.facts, "sum": sealed[batch.preregistration_id]})

    patch.setattr(posting._Taken, "done", leak)


def _in_times(patch: Patch, _sealed: Sealed) -> None:
    patch.setattr(job_routes, "_coarse", lambda moment: moment)


Check = Callable[[Service], None]
CHANNELS: dict[str, tuple[Check, Callable[[Patch, Sealed], None]]] = {
    "response bodies": (bodies, _in_progress),
    "duplicate and conflict answers": (duplicates, _in_conflicts),
    "validation texts": (texts, _in_texts),
    "the idempotency store": (idempotency, _in_fingerprints),
    "ETags": (tags, _in_tags),
    "progress": (status_counts, _in_status_counts),
    "import reports and file hashes": (imported, _in_imports),
    "voids": (voided, _in_voids),
    "logs and request sizes": (log_lines, _in_log_lines),
    "metrics": (counters, _in_counters),
    "plain hashes": (hashes, _in_hashes),
    "job rows": (job_rows, _in_job_rows),
    "body length": (lengths, _in_lengths),
    "temporary files": (files, _in_files),
    "a database reader": (database_reader, _in_the_open),
    "the audit log": (audit_log, _in_the_audit_log),
    "job timing": (times, _in_times),
}


OF_THE_API = {
    "validation texts",
    "progress",
    "logs and request sizes",
    "metrics",
    "temporary files",
    "job timing",
}
"""Channels that no database has a part in."""


@pytest.mark.parametrize("channel", [each for each in CHANNELS if each not in OF_THE_API])
def test_a_channel_is_closed(service: Service, channel: str) -> None:
    CHANNELS[channel][0](service)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("channel", sorted(OF_THE_API))
def test_a_channel_of_the_api_is_closed(service: Service, channel: str) -> None:
    CHANNELS[channel][0](service)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("channel", CHANNELS)
def test_a_leak_that_is_planted_in_a_channel_is_seen(
    service: Service, monkeypatch: pytest.MonkeyPatch, sealed: Sealed, channel: str
) -> None:
    check, plant = CHANNELS[channel]
    plant(monkeypatch, sealed)
    with pytest.raises(AssertionError):
        check(service)


def test_no_trace_carries_a_request() -> None:
    """FastAPI's own telemetry would carry validation errors with their inputs."""
    assert not any(app_module._NO_TELEMETRY.values())


def test_every_channel_is_on_the_page() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/blinding.md").read_text("utf-8")
    for channel in CHANNELS:
        assert f"| {channel[0].upper()}{channel[1:]} |" in page, channel
    for path, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page):
        assert f"def {name}(" in (Path(__file__).resolve().parents[2] / path).read_text("utf-8"), name
