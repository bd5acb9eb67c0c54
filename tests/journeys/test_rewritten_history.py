"""Somebody with every right over the database rewrites history: whoever kept a checkpoint sees it, offline.

The attacker switches the guards off, changes what he likes, and makes the ledger's leaves, tree and checkpoints anew
so that the service itself finds nothing. He has the signing key and forgets what the signer remembered. The service is
then started again and hands out what it has. Where nobody kept a checkpoint, nothing shows it: each test says so too.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session
from starlette.testclient import TestClient

from forelock.bundles.findings import Report
from forelock.bundles.verifying import Kept, exit_status, verify
from service.api.examples.deviations import FILING
from service.app import create_app
from service.domain.canonical import canonical, sha256_hex
from service.domain.plans.preregistration import Preregistration
from service.domain.results import sealing
from service.domain.rules.settings import resolve
from service.domain.verdicts.judge import Inputs, judge
from service.domain.verdicts.outcomes import Outcomes, Rows
from service.keyring.keyring import Keyring
from service.offline.recomputing import recompute
from service.operation.starting import signer_of
from service.store.database import clock
from service.store.database.engine import Database
from service.store.database.tables import batches as batches_table
from service.store.database.tables import (
    deviations,
    ledger_checkpoints,
    ledger_entries,
    ledger_head,
    ledger_nodes,
    plans,
    verdict_hypotheses,
    verdicts,
)
from service.store.database.tables import preregistrations as heads
from service.store.ledger import ledger
from service.store.plans import plan_keys, preregistrations
from service.store.plans.populations import read_manifests
from service.store.results import batches
from tests.drawing import mostly_slow

from .conftest import Service
from .plans import idempotent, items, locked, post, small_plan

N = 20
BASELINE = [0] * 10 + [1] * 10
CANDIDATE = [1] * 4 + [0] * 8 + [1] * 8  # four better, two worse: not supported
Leaf = dict[str, Any]
Start = Callable[..., "Attacked"]
Change = Callable[[Leaf], Leaf | None]


@dataclass
class Attacked:
    """The service after it was started again on what the attacker left."""

    client: TestClient
    database: Database

    def bundle(self, prereg_id: str, note: bytes | None = None) -> bytes:
        sizes = [note.split(b"\n")[1].decode()] if note else []
        answer = self.client.get(f"/v1/preregistrations/{prereg_id}/bundle", params={"checkpoint": sizes})
        assert answer.status_code == 200, answer.text
        return answer.content


OWN = ("ledger_entries", "ledger_nodes", "ledger_head", "ledger_checkpoints")


@contextmanager
def unguarded(service: Service, *tables: str) -> Iterator[Session]:
    """A session of one who switches the guards of the ledger and of these tables off, and on again afterwards."""
    postgres = service.database.dialect == "postgresql"
    with service.database.write() as session:
        execute = session.connection().exec_driver_sql
        dropped: list[str] = []
        for table in (*OWN, *tables):
            if postgres:
                execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
                dropped.append(f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER %s")
                continue
            named = sa.text(
                "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = :table"
            )
            for name, text in session.execute(named, {"table": table}).all():
                execute(f"DROP TRIGGER {name}")
                dropped.append(text)
        yield session
        for table, again in zip((*OWN, *tables), dropped, strict=False):
            if postgres:
                named = sa.text(
                    "SELECT tgname FROM pg_trigger WHERE tgrelid = CAST(:table AS regclass) AND NOT tgisinternal"
                )
                for name in session.scalars(named, {"table": table}).all():
                    execute(again % name)
        for text in [] if postgres else dropped:
            execute(text)


@pytest.fixture
def started_again(service: Service) -> Iterator[Callable[..., Attacked]]:
    """Starts the service anew on what is in its database; unless told otherwise its signer has forgotten everything."""
    opened: list[tuple[TestClient, Database]] = []

    def start(*, forget: bool = True) -> Attacked:
        if forget:
            service.settings.ledger_state.unlink()
        database = Database(service.database.url)
        app = create_app(service.settings, database, Keyring.load(service.settings.data_dir / "keys"))
        client = TestClient(app, raise_server_exceptions=False)
        client.__enter__()
        client.headers["Authorization"] = service.client.headers["Authorization"]
        opened.append((client, database))
        return Attacked(client, database)

    yield start
    for client, database in opened:
        client.__exit__(None, None, None)
        database.dispose()


def rewrite(session: Session, change: Change) -> None:
    """The ledger again from nothing, each leaf as `change` makes it; None drops it."""
    rows = session.execute(sa.select(ledger_entries).order_by(ledger_entries.c.sequence)).mappings().all()
    for table in (ledger_checkpoints, ledger_nodes, ledger_entries):
        session.execute(sa.delete(table))
    session.execute(sa.update(ledger_head).values(size=0, peaks=b""))
    events = []
    for row in rows:
        leaf = change(json.loads(row["leaf"]))
        if leaf is not None:
            event = ledger.Event(
                kind=leaf["kind"],
                body=leaf["body"],
                project_id=row["project_id"],
                preregistration_id=row["preregistration_id"],
                salt=bytes.fromhex(leaf["salt"]),
            )
            events.append(event)
    ledger.add(session, ledger.make_next_leaves(session, events, now=clock.read_now(session)))


def in_body(kind: str, **changes: Any) -> Change:
    """A change of every leaf of a kind."""

    def change(leaf: Leaf) -> Leaf:
        if leaf["kind"] == kind:
            leaf["body"] |= changes
        return leaf

    return change


def judged(service: Service) -> str:
    prereg_id = locked(service.client, small_plan(N))
    for arm, values in (("A", BASELINE), ("B", CANDIDATE)):
        assert post(service.client, prereg_id, arm, items(N), values).status_code == 201
    service.run_jobs()
    return prereg_id


def keep(service: Service) -> bytes:
    """A checkpoint of everything that is committed, taken home."""
    signed = signer_of(service.settings, service.database, service.keyring).checkpoint()
    assert signed is not None
    return signed.note.encode()


def checked(data: bytes, note: bytes | None = None) -> Report:
    kept = [] if note is None else [Kept("kept", note)]
    return verify(io.BytesIO(data), kept=kept, recompute=recompute)


def shown(report: Report) -> set[str]:
    return {each.name for each in report.checks if each.state == "fail"}


def sees(after: Attacked, prereg_id: str, note: bytes) -> None:
    """With a kept checkpoint it shows, whether or not the service was asked for a proof; without one it does not."""
    plain = checked(after.bundle(prereg_id))
    assert exit_status(plain) != 3, [each.sentence for each in plain.checks]
    for size in (None, note):
        report = checked(after.bundle(prereg_id, size), note)
        assert exit_status(report) == 3
        assert shown(report) == {"kept checkpoint"}


def test_a_changed_plan_shows(service: Service, started_again: Start) -> None:
    prereg_id = locked(service.client, small_plan(N))
    note = keep(service)
    record = record_of(service, prereg_id)
    changed = record.plan.model_copy(update={"title": "What we expected all along"})
    text, sha256 = changed.canonical_text(), changed.sha256()
    with unguarded(service, "plans", "preregistrations") as session:
        session.execute(sa.update(plans).values(canonical=text, sha256=sha256))
        session.execute(sa.update(heads).values(plan_sha256=sha256, title=changed.title))
        rewrite(session, in_body("plan_locked", plan_sha256=sha256))
    sees(started_again(), prereg_id, note)


def test_changed_rows_with_the_verdict_that_follows_from_them_show(
    service: Service, started_again: Start
) -> None:
    """The rows are sealed again and judged again: all of it fits, and only the kept checkpoint does not."""
    prereg_id = judged(service)
    note = keep(service)
    assert exit_status(checked(service.client.get(f"/v1/preregistrations/{prereg_id}/bundle").content)) == 10
    record = record_of(service, prereg_id)
    with service.database.read() as session:
        private = plan_keys.read_released(session, prereg_id)
        stored = list(batches.read_all(session, prereg_id))
        verdict = json.loads(session.scalar(sa.select(verdicts.c.canonical)) or "")
    outcomes, sealed = Outcomes.empty(record.plan), {}
    for batch in stored:
        sha256 = record.plan_sha256 or ""
        placed, salt = sealing.open_batch(batch.sealed, sha256, private)
        if placed.head.arm == "B":
            placed.rows.values[:] = 1.0
        sequence = batch.sealed.sequence
        sealed[sequence] = sealing.seal_batch(
            placed,
            salt,
            plan_public=sealing.public_half(private),
            plan_sha256=sha256,
            preregistration_id=prereg_id,
            sequence=sequence,
        )
        outcomes.place(placed)
    with service.database.read() as session:
        inputs = Inputs(
            prereg_id,
            record.plan_sha256 or "",
            Rows(resolve(record.plan), read_manifests(session, record), outcomes),
            (),
            record.judged_at or record.created_at,
        )
    text = canonical(judge(inputs).model_dump(mode="json"))
    assert json.loads(text)["hypotheses"][0]["outcome"] != verdict["hypotheses"][0]["outcome"]

    def change(leaf: Leaf) -> Leaf:
        if leaf["kind"] == "batch":
            leaf["body"]["commitment_sha256"] = sealed[leaf["body"]["batch"]].commitment_sha256
        return in_body("verdict", verdict_sha256=sha256_hex(text))(leaf) or leaf

    with unguarded(service, "batches", "verdicts", "verdict_hypotheses") as session:
        for sequence, made in sealed.items():
            where = batches_table.c.sequence == sequence
            values = {"sealed": made.ciphertext, "commitment_sha256": made.commitment_sha256}
            session.execute(sa.update(batches_table).where(where).values(values))
        session.execute(sa.update(verdicts).values(canonical=text.decode(), sha256=sha256_hex(text)))
        session.execute(sa.update(verdict_hypotheses).values(outcome="supported"))
        rewrite(session, change)
    after = started_again()
    assert exit_status(checked(after.bundle(prereg_id))) == 0
    sees(after, prereg_id, note)


def test_a_changed_verdict_shows_by_its_rows_alone(service: Service, started_again: Start) -> None:
    """Nobody has to have kept anything: the verdict does not follow from the rows."""
    prereg_id = judged(service)
    with unguarded(service, "verdicts", "verdict_hypotheses") as session:
        verdict = json.loads(session.scalar(sa.select(verdicts.c.canonical)) or "")
        verdict["hypotheses"][0]["outcome"] = "supported"
        text = canonical(verdict)
        session.execute(sa.update(verdicts).values(canonical=text.decode(), sha256=sha256_hex(text)))
        session.execute(sa.update(verdict_hypotheses).values(outcome="supported"))
        rewrite(session, in_body("verdict", verdict_sha256=sha256_hex(text)))
    report = checked(started_again().bundle(prereg_id))
    assert exit_status(report) == 3
    assert shown(report) == {"recomputed"}


def test_a_dropped_entry_shows(service: Service, started_again: Start) -> None:
    """A deviation was filed, and is gone as if it had never been."""
    prereg_id = judged(service)
    filed = service.client.post(
        f"/v1/preregistrations/{prereg_id}/deviations",
        json=FILING | {"change": {"kind": "other"}},
        headers=idempotent(),
    )
    assert filed.status_code == 201, filed.text
    note = keep(service)
    assert any(each.name == "deviations" for each in checked(bundle_of(service, prereg_id)).checks)
    with unguarded(service, "deviations") as session:
        session.execute(sa.delete(deviations))
        rewrite(session, lambda leaf: None if leaf["kind"] == "deviation" else leaf)
    sees(started_again(), prereg_id, note)


def test_a_forked_log_of_the_same_size_shows(service: Service, started_again: Start) -> None:
    prereg_id = judged(service)
    note = keep(service)
    with unguarded(service) as session:
        rewrite(session, lambda leaf: leaf | {"salt": "00" * 16} if leaf["kind"] == "batch" else leaf)
    sees(started_again(), prereg_id, note)


@pytest.mark.parametrize("more", mostly_slow([5, 0]))
def test_an_older_database_shows_however_much_was_added_since(
    service: Service, started_again: Start, more: int
) -> None:
    prereg_id = judged(service)
    older = int(keep(service).split(b"\n")[1])
    other = locked(service.client, small_plan(N, title="Lost"))
    note = keep(service)
    kept_size = int(note.split(b"\n")[1])
    assert kept_size > older
    with unguarded(service) as session:
        seen = iter(range(kept_size))
        rewrite(session, lambda leaf: leaf if next(seen) < older else None)
    after = started_again()
    for number in range(more):
        locked(after.client, small_plan(N, title=f"Since {number}"))
    sees(after, prereg_id, note)
    assert after.client.get(f"/v1/preregistrations/{other}/bundle").status_code in (404, 500)


def test_the_signer_refuses_what_it_remembers_otherwise(service: Service, started_again: Start) -> None:
    """An attacker with the database alone gets no signature at all, and readiness says so."""
    prereg_id = judged(service)
    keep(service)
    with unguarded(service) as session:
        rewrite(session, lambda leaf: leaf | {"salt": "00" * 16})
    after = started_again(forget=False)
    answer = after.client.get(f"/v1/preregistrations/{prereg_id}/bundle")
    assert (answer.status_code, answer.json()["code"]) == (503, "ledger_refused")
    assert after.client.get("/health/ready").status_code == 503


def test_an_empty_trigger_of_the_same_name_is_told_by_readiness(service: Service) -> None:
    assert service.client.get("/health/ready").status_code == 200
    postgres = service.database.dialect == "postgresql"
    with service.database.write() as session:
        execute = session.connection().exec_driver_sql
        if postgres:
            execute("CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'")
            execute("DROP TRIGGER plans_guard_update ON plans")
            execute(
                "CREATE TRIGGER plans_guard_update BEFORE UPDATE ON plans "
                "FOR EACH ROW EXECUTE FUNCTION nothing()"
            )
        else:
            execute("DROP TRIGGER plans_guard_update")
            execute("CREATE TRIGGER plans_guard_update BEFORE UPDATE ON plans BEGIN SELECT 1; END")
    answer = service.client.get("/health/ready")
    assert answer.status_code == 503
    assert "guard" in answer.text


def record_of(service: Service, prereg_id: str) -> Preregistration:
    with service.database.read() as session:
        return preregistrations.get(session, service.project_id, prereg_id)


def bundle_of(service: Service, prereg_id: str) -> bytes:
    return service.client.get(f"/v1/preregistrations/{prereg_id}/bundle").content
