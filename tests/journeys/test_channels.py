"""Every channel by which an outcome could leave before the verdict: each is closed, and a leak planted in it is seen.

`docs/blinding.md` lists them. A check compares records that differ in outcomes alone; a plant opens the channel with
what only the seal should know, and the same check has to fail then.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from service import app as app_module
from service.actions.delivery import messages
from service.actions.projects import embargoes
from service.actions.results import posting, progress, voids
from service.actions.results import results as result_actions
from service.api.http import metrics
from service.api.http.serving import middleware
from service.api.routes.calculations import jobs as job_routes
from service.api.routes.results import imports as import_routes
from service.api.routes.results import results as result_routes
from service.domain.plans.preregistration import Preregistration
from service.domain.results import sealed_files, sealing
from service.domain.results.batches import PlacedBatch
from service.domain.results.secret_rows import SecretRows
from service.errors import Conflict, InvalidData
from tests.drawing import mostly_slow
from tests.journeys.channels import (
    Sealed,
    agents,
    audit_log,
    bodies,
    counters,
    database_reader,
    duplicates,
    files,
    hashes,
    idempotency,
    job_rows,
    labels,
    lengths,
    log_lines,
    outgoing,
    status_counts,
    tags,
    texts,
    times,
    voided,
)

from .conftest import Service
from .import_channels import imported, kept, left_open, pinned
from .plan_channels import claims, embargoed

pytestmark = pytest.mark.any_database

N = 8
ONE, OTHER = [1, 0, 1, 1, 0, 0, 1, 0], [0, 1, 1, 0, 0, 0, 0, 0]
NEEDLE = 0.7310585786


@pytest.fixture
def sealed(monkeypatch: pytest.MonkeyPatch) -> Sealed:
    found: Sealed = Counter()
    seal = sealing.seal_batch

    def spy(batch: PlacedBatch, salt: bytes, *, preregistration_id: str, **more: Any) -> Any:
        rows = batch.rows
        found[preregistration_id] += int(np.nansum(rows.values)) + 100 * int(np.sum(rows.statuses))
        return seal(batch, salt, preregistration_id=preregistration_id, **more)

    monkeypatch.setattr(sealing, "seal_batch", spy)
    return found


# --- the plants ---

Patch = pytest.MonkeyPatch


def _in_progress(patch: Patch, sealed: Sealed) -> None:
    true = progress.progress

    def leak(session: Any, of: Preregistration, **more: Any) -> Any:
        found = true(session, of, **more)
        return replace(found, batches=found.batches + sealed[of.id])

    patch.setattr(result_routes, "progress", leak)


def _on_the_day(patch: Patch, sealed: Sealed) -> None:
    true = embargoes._open

    def leak(session: Any, project_id: str, record_id: str, moment: Any) -> bool:
        return sealed[record_id] != sum(OTHER) and true(session, project_id, record_id, moment)

    patch.setattr(embargoes, "_open", leak)


def _in_conflicts(patch: Patch, sealed: Sealed) -> None:
    true = posting.Group._claim

    def leak(group: posting.Group, submission: posting.Submission, batch: PlacedBatch) -> None:
        try:
            true(group, submission, batch)
        except Conflict as refused:
            same = int(batch.rows.values.sum()) == sealed[submission.preregistration_id]
            raise Conflict(refused.detail + " again" * same, refused.faults) from None

    patch.setattr(posting.Group, "_claim", leak)


def _in_refusals(patch: Patch, _sealed: Sealed) -> None:
    true = posting.Group.take

    def leak(group: posting.Group, submission: posting.Submission) -> None:
        try:
            true(group, submission)
        except Conflict as refused:
            told = int(submission.batch.rows.values.sum()) if isinstance(submission.batch, PlacedBatch) else 0
            raise Conflict(f"{refused.detail} {told}", code=refused.problem_code) from None

    patch.setattr(posting.Group, "take", leak)


def _in_texts(patch: Patch, _sealed: Sealed) -> None:
    true = result_actions.place

    def leak(batch: Any, *more: Any) -> Any:
        try:
            return true(batch, *more)
        except InvalidData as refused:
            raise InvalidData(f"{refused.detail}: {batch.rows.values[0]}") from None

    patch.setattr(result_actions, "place", leak)


def _in_fingerprints(patch: Patch, _sealed: Sealed) -> None:
    true = result_routes.fingerprint_parts
    patch.setattr(result_routes, "fingerprint_parts", lambda batch: true(batch) + batch.rows.values.tobytes())


def _in_tags(patch: Patch, sealed: Sealed) -> None:
    patch.setattr(Preregistration, "etag", property(lambda self: f'"{self.revision}-{sealed[self.id]}"'))


def _in_status_counts(patch: Patch, sealed: Sealed) -> None:
    patch.setattr(progress, "_status_counts", lambda _session, of: {"error": sealed[of.id] // 100})


def _in_imports(patch: Patch, _sealed: Sealed) -> None:
    true = import_routes._make_batch

    def leak(fitted: Any, accepted: Any) -> Any:
        return true(replace(fitted, unknown=int(fitted.batch.rows.values.sum())), accepted)

    patch.setattr(import_routes, "_make_batch", leak)


def _in_contents(patch: Patch, sealed: Sealed) -> None:
    true = import_routes._make_batch

    def leak(fitted: Any, accepted: Any) -> Any:
        return true(replace(fitted, content_unknown=int(fitted.batch.rows.values.sum())), accepted)

    patch.setattr(import_routes, "_make_batch", leak)


def _in_kept_files(patch: Patch, _sealed: Sealed) -> None:
    patch.setattr(sealed_files, "_filled", lambda size: max(1, size))


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
    patch.setattr(sealing, "_commitment", lambda _salt, *columns: true(bytes(16), *columns))


def _in_job_rows(patch: Patch, sealed: Sealed) -> None:
    true = result_actions.jobs.enqueue

    def leak(session: Any, new: Any) -> Any:
        hinted = {**new.params, "hint": sealed[new.params["preregistration_id"]]}
        return true(session, replace(new, params=hinted))

    patch.setattr(result_actions.jobs, "enqueue", leak)


def _in_lengths(patch: Patch, _sealed: Sealed) -> None:
    import zlib

    true = SecretRows.with_salt
    short = lambda rows, salt: bytearray(salt + zlib.compress(bytes(true(rows, b""))))  # noqa: E731
    patch.setattr(SecretRows, "with_salt", short)


def _in_files(patch: Patch, _sealed: Sealed) -> None:
    true = sealing.seal_batch

    def leak(*arguments: Any, **named: Any) -> Any:
        with tempfile.NamedTemporaryFile(dir=Path(tempfile.gettempdir())):
            return true(*arguments, **named)

    patch.setattr(sealing, "seal_batch", leak)


def _in_the_open(patch: Patch, _sealed: Sealed) -> None:
    patch.setattr(sealing, "_seal", lambda plaintext, _public, _info: plaintext)


def _in_the_audit_log(patch: Patch, sealed: Sealed) -> None:
    true = posting._Taken.done

    def leak(taken: Any, batch: Any) -> Any:
        found = true(taken, batch)
        return replace(found, facts={**found.facts, "sum": sealed[batch.sealed.preregistration_id]})

    patch.setattr(posting._Taken, "done", leak)


def _in_messages(patch: Patch, sealed: Sealed) -> None:
    true = messages.format_webhook

    def leak(session: Any, due: Any, public_url: Any) -> bytes:
        return true(session, due, public_url) + b" " * (sealed[due.preregistration_id] % 7)

    patch.setattr(messages, "format_webhook", leak)


def _in_times(patch: Patch, _sealed: Sealed) -> None:
    patch.setattr(job_routes, "_truncate_to_minute", lambda moment: moment)


Check = Callable[[Service], None]
CHANNELS: dict[str, tuple[Check, Callable[[Patch, Sealed], None]]] = {
    "response bodies": (bodies, _in_progress),
    "labels by people": (labels, _in_progress),
    "claims of one arm and of suites": (claims, _in_progress),
    "the day of an embargo": (embargoed, _on_the_day),
    "duplicate and conflict answers": (duplicates, _in_conflicts),
    "arms left open": (left_open, _in_refusals),
    "validation texts": (texts, _in_texts),
    "the idempotency store": (idempotency, _in_fingerprints),
    "ETags": (tags, _in_tags),
    "progress": (status_counts, _in_status_counts),
    "import reports and file hashes": (imported, _in_imports),
    "kept files": (kept, _in_kept_files),
    "pinned contents": (pinned, _in_contents),
    "voids": (voided, _in_voids),
    "logs and request sizes": (log_lines, _in_log_lines),
    "metrics": (counters, _in_counters),
    "plain hashes": (hashes, _in_hashes),
    "job rows": (job_rows, _in_job_rows),
    "body length": (lengths, _in_lengths),
    "temporary files": (files, _in_files),
    "a database reader": (database_reader, _in_the_open),
    "the audit log": (audit_log, _in_the_audit_log),
    "webhooks and trackers": (outgoing, _in_messages),
    "job timing": (times, _in_times),
    "agents' tools": (agents, _in_progress),
}


OF_THE_API = {
    "validation texts", "progress", "logs and request sizes", "metrics", "temporary files", "job timing",
    "agents' tools",
}  # fmt: skip
"""Channels that no database has a part in."""


@pytest.mark.parametrize("channel", mostly_slow([each for each in CHANNELS if each not in OF_THE_API], 4))
def test_a_channel_is_closed(service: Service, channel: str) -> None:
    CHANNELS[channel][0](service)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("channel", sorted(OF_THE_API))
def test_a_channel_of_the_api_is_closed(service: Service, channel: str) -> None:
    CHANNELS[channel][0](service)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("channel", mostly_slow(CHANNELS, quick=3))
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
