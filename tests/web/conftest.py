from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.orm import Session
from starlette.testclient import TestClient

from service.api.app import create_app
from service.config import Settings
from service.domain.access import Key, Project, Scope, new_secret, secret_prefix, secret_sha256
from service.domain.findings import Finding
from service.domain.outcomes import Excluded
from service.domain.plan import Plan
from service.domain.population import Manifest
from service.domain.preregistration import Preregistration, State
from service.domain.verdict_records import ClauseVerdict, HypothesisVerdict, Span, Verdict
from service.keyring import Keyring
from service.store import keys, populations, preregistrations, projects, verdicts
from service.store.engine import Database

NOW = datetime(2027, 1, 4, 9, 0, tzinfo=UTC)


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
def app(database: Database, tmp_path: Path) -> Any:
    keyring = Keyring.create(tmp_path / "keys")
    return create_app(Settings(data_dir=tmp_path, key_cache_seconds=0), database, keyring)


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


PLAN: dict[str, Any] = {
    "title": "Caching & <b>synthesis</b>",
    "populations": [
        {"id": "dev", "dataset": "Dev set", "n": 4, "independence": "one conversation per question"},
        {"id": "talks", "dataset": "Talks", "n": 40, "clusters": {"key": "conversation", "n": 8}},
    ],
    "hypotheses": [
        {
            "id": "H1a",
            "claim": "superiority",
            "statement": "C3 improves accuracy over C1 by at least 2 pp",
            "population": "dev",
            "baseline": "C1",
            "candidate": "C3",
            "endpoint": "accuracy",
            "rule": "delta>=2.0pp AND mcnemar.p < 0.05 and mcnemar.ci excludes 0",
        }
    ],
    "endpoints": [{"id": "accuracy", "kind": "binary", "role": "primary"}],
    "tests": [{"id": "mcnemar", "test": "mcnemar", "version": 1, "parameters": {}}],
}
RULE = "delta >= 2.0 pp and mcnemar.p_value < 0.05 and mcnemar.ci excludes 0"


def hypothesis_verdict(**changes: Any) -> HypothesisVerdict:
    """A verdict on H1a of `PLAN`, which fails on one clause and cannot decide another."""
    planned = PLAN["hypotheses"][0]
    fields = {name: planned[name] for name in planned if name not in ("rule", "id")}
    found: dict[str, Any] = {
        **fields,
        "id": "H1a",
        "outcome": "not_supported",
        "sentence": "The rule of H1a is false: its claim is not supported.",
        "rule": RULE,
        "rule_holds": False,
        "clauses": (
            ClauseVerdict(text="delta >= 2.0 pp", observed=0.25, threshold=0.02, holds=True),
            ClauseVerdict(text="mcnemar.p_value < 0.05", observed=0.625, threshold=0.05, holds=False),
            ClauseVerdict(
                text="mcnemar.ci excludes 0",
                observed=Span(low=-0.5, high=None),
                threshold=0,
                holds=None,
                reason="an end is undefined",
            ),
        ),
        "delta": 0.25,
        "delta_exact": "1/4",
        "n": 3,
        "n_planned": 4,
        "excluded": Excluded(),
        "reading": None,
        "reading_of": None,
        "analyses": {
            "mcnemar": {"test": "mcnemar", "analysis": {"sentence": "They differ by +25.00 pp."}},
            "broken": {"test": "broken", "analysis": None, "reason": "all values are equal"},
        },
    }
    return HypothesisVerdict(**{**found, **changes})


def verdict_of(preregistration_id: str, hypothesis: HypothesisVerdict | None = None) -> Verdict:
    return Verdict(
        preregistration_id=preregistration_id,
        title=PLAN["title"],
        plan_sha256="ab" * 32,
        judged_at=NOW + timedelta(days=2),
        multiplicity="One hypothesis: no correction is needed.",
        hypotheses=(hypothesis or hypothesis_verdict(),),
        voided_batches=(),
        versions={},
    )


def draft_of(project_id: str, name: str = "p1", plan: dict[str, Any] | None = None) -> Preregistration:
    return Preregistration(
        id=name,
        project_id=project_id,
        state="draft",
        revision=1,
        version=1,
        plan=Plan.from_dict(PLAN if plan is None else plan),
        created_at=NOW,
    )


@pytest.fixture
def keep(database: Database, project: Project) -> Callable[..., Preregistration]:
    """Store a preregistration and take it to a state; the verdict comes with `judged`."""

    def put(
        state: State = "draft",
        name: str = "p1",
        *,
        plan: dict[str, Any] | None = None,
        verdict: Verdict | None = None,
        of: str = project.id,
    ) -> Preregistration:
        record = draft_of(of, name, plan)
        with database.write() as session:
            preregistrations.insert(session, record)
            if state != "draft":
                record = _locked(session, record)
            for step in ("collecting", "complete", "judged"):
                if record.state == state:
                    break
                if step == "judged":
                    verdicts.insert(session, of, verdict or verdict_of(name))
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
    plan = record.plan.with_items(populations.facts(session, record.id))
    return preregistrations.lock(
        session,
        record,
        plan=plan,
        canonical_text=plan.canonical_text(),
        sha256=plan.sha256(),
        findings=findings,
        acknowledged=["FEW_CLUSTERS"],
        plan_public_key=bytes(32),
        wrapped_private_key=bytes(80),
        now=NOW + timedelta(days=1),
    )
