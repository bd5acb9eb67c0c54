from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.orm import Session
from starlette.testclient import TestClient

from service.api.calculators.pool import Calculators
from service.app import create_app
from service.config import Settings
from service.domain.access import Key, Project, Scope, new_secret, secret_prefix, secret_sha256
from service.domain.ledger import Kind
from service.domain.moment import Moment
from service.domain.plans.findings import Finding
from service.domain.plans.manifest import Manifest
from service.domain.plans.preregistration import Preregistration, State
from service.domain.results.batches import BatchHead
from service.domain.results.sealing import SealedBatch
from service.domain.verdicts.records import Verdict
from service.keyring.keyring import Keyring
from service.store.database.engine import Database
from service.store.ledger import ledger
from service.store.plans import populations, preregistrations
from service.store.projects import keys, projects
from service.store.results import batches, coverage
from service.store.results.batches import StoredBatch
from service.store.verdicts import verdicts
from tests import records as made
from tests.calculating import computing_by
from tests.web.samples import NOW, draft_of, verdict_of


@pytest.fixture
def database(sqlite_template: Path, tmp_path: Path) -> Iterator[Database]:
    """The pages read through the store, which is tested on both databases: one is enough here."""
    path = tmp_path / "forelock.db"
    path.write_bytes(sqlite_template.read_bytes())
    opened = Database(f"sqlite:///{path}")
    yield opened
    opened.dispose()


@pytest.fixture
def project(database: Database) -> Project:
    project = Project(id="project1", name="default", created_at=NOW)
    with database.write() as session:
        projects.create(session, project)
    return project


@pytest.fixture
def others(database: Database) -> str:
    """Another project, by its id."""
    with database.write() as session:
        projects.create(session, Project(id="project2", name="other", created_at=NOW))
    return "project2"


@pytest.fixture
def new_key(database: Database, project: Project) -> Callable[..., tuple[Key, str]]:
    """Make a key of the project: its record and its secret."""

    def make(*scopes: Scope, expires_at: datetime | None = None, of: str = project.id) -> tuple[Key, str]:
        secret = new_secret(secrets.token_bytes(32))
        key = Key(
            id=secrets.token_hex(8),
            project_id=of,
            name="reader",
            kind="person",
            scopes=scopes or ("read",),
            prefix=secret_prefix(secret),
            created_at=NOW - timedelta(days=1),
            expires_at=expires_at,
        )
        with database.write() as session:
            keys.insert(session, key, secret_sha256(secret))
        return key, secret

    return make


@pytest.fixture
def app(database: Database, tmp_path: Path, calculators: Calculators) -> Any:
    keyring = Keyring.create(tmp_path / "keys")
    return computing_by(
        calculators, create_app(Settings(data_dir=tmp_path, key_cache_seconds=0), database, keyring)
    )


@pytest.fixture
def browser(app: Any) -> TestClient:
    """A visitor without a session, who does not follow redirects."""
    return TestClient(app, follow_redirects=False)


@pytest.fixture
def reader(browser: TestClient, new_key: Callable[..., tuple[Key, str]]) -> TestClient:
    """A visitor who is signed in."""
    _key, secret = new_key("read")
    assert browser.post("/login", data={"key": secret}).status_code == 303
    return browser


@pytest.fixture
def keep(
    database: Database, project: Project, new_key: Callable[..., tuple[Key, str]]
) -> Callable[..., Preregistration]:
    """Store a preregistration and take it to a state; the verdict comes with `judged`."""

    def put(
        state: State = "draft",
        name: str = "p1",
        *,
        plan: dict[str, Any] | None = None,
        verdict: Verdict | None = None,
        of: str = project.id,
    ) -> Preregistration:
        record, (poster, _) = draft_of(of, name, plan), new_key("results:write")
        with database.write() as session:
            preregistrations.insert(session, record)
            if state != "draft":
                record = _locked(session, record)
            for step in ("collecting", "complete", "judged"):
                if record.state == state:
                    break
                if step == "complete":
                    _batch(session, record, poster)
                if step == "judged":
                    sha256 = verdicts.insert(session, of, verdict or verdict_of(name))
                    _leaf(session, record, "verdict", verdict_sha256=sha256)
                record = preregistrations.move(session, record, step, NOW + timedelta(days=2))
        return record

    return put


def _locked(session: Session, record: Preregistration) -> Preregistration:
    findings = (
        Finding(code="FEW_CLUSTERS", severity="warning", path="populations[1]", message="Only <8> clusters."),
    )
    for each in record.plan.populations or ():
        ids = [f"{each.id} {number}" for number in range(each.n)]
        clusters = [f"cluster {number % 8}" for number in range(each.n)] if each.clusters else None
        populations.put(session, record.id, each.id, Manifest.create(ids, clusters, None))
    locked = made.locked(
        session,
        record,
        findings=findings,
        acknowledged=["FEW_CLUSTERS"],
        plan_public_key=bytes(32),
        wrapped_private_key=bytes(80),
        now=NOW + timedelta(days=1),
    )
    _leaf(session, locked, "plan_locked", version=1, plan_sha256=locked.plan_sha256)
    return locked


def _leaf(session: Session, record: Preregistration, kind: Kind, **body: object) -> None:
    ledger.append(session, record, kind, body, Moment(NOW))


def _batch(session: Session, record: Preregistration, key: Key) -> None:
    """One batch of one result, which completes the record as far as coverage is asked."""
    sealed = SealedBatch(
        preregistration_id=record.id,
        sequence=1,
        head=BatchHead("dev", "C1", "accuracy", None),
        n=1,
        positions=bytes(4),
        replicates=b"\x01\x00",
        ciphertext=b"sealed",
        commitment_sha256="ab" * 32,
    )
    batches.append(session, StoredBatch(sealed=sealed, status_counts=None, received_at=NOW, key_id=key.id))
    coverage.save(session, record.id, ("dev", "C1", "accuracy", 1), b"\x01", 1)
    _leaf(session, record, "batch", **sealed.leaf())
