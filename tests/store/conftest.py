"""A deployment with a project and a key, and records taken as far as a test needs them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from sqlalchemy.orm import Session

from service.domain.access import Key, Project, new_secret, secret_prefix, secret_sha256
from service.domain.deviations.classification import Facts
from service.domain.deviations.deviation import Decision, Deviation, Filing
from service.domain.ledger import Kind, Receipt
from service.domain.moment import Moment
from service.domain.plans.manifest import Manifest
from service.domain.plans.plan import Plan
from service.domain.plans.preregistration import Preregistration
from service.domain.results import sealing
from service.domain.results.batches import BatchHead, PlacedBatch
from service.domain.results.runs import Run
from service.domain.results.secret_rows import SecretRows
from service.domain.series import Content, NewRun, Point, Series, SeriesSettings, judge
from service.domain.verdicts.records import Verdict
from service.store.database.engine import Database
from service.store.ledger import checkpoints, ledger, ledger_signers, stamps
from service.store.ledger.checkpoints import StoredCheckpoint
from service.store.plans import plan_keys, populations, preregistrations
from service.store.projects import audit, keys, projects, series
from service.store.results import batches, coverage, imports, runs
from service.store.results.batches import StoredBatch
from service.store.results.imports import StoredImport
from service.store.verdicts import deviations, verdicts
from tests import records as made
from tests.store.attacker import Attacker

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ITEMS = ("a", "b", "c", "d")


class World:
    """Makes records with ids and times of its own."""

    now = NOW

    def __init__(self, database: Database) -> None:
        self.database = database
        self.numbers = itertools.count(1)
        self.runner_public, self.runner_private = sealing.new_keypair()
        self.project = Project(id="project", name="default", created_at=NOW)
        self.other_project = Project(id="other", name="other", created_at=NOW)
        self.secret = new_secret(bytes(range(32)))
        self.key = Key(
            id="key",
            project_id="project",
            name="first",
            kind="person",
            scopes=("read", "plans:write"),
            prefix=secret_prefix(self.secret),
            created_at=NOW,
        )
        with database.write() as session:
            projects.create(session, self.project)
            projects.create(session, self.other_project)
            keys.insert(session, self.key, secret_sha256(self.secret))

    def plan(self, title: str = "Caching") -> Plan:
        return Plan.from_dict({"title": title, "populations": [{"id": "p", "dataset": "D", "n": len(ITEMS)}]})

    def draft(
        self, session: Session, *, project_id: str = "project", title: str = "Caching"
    ) -> Preregistration:
        number = next(self.numbers)
        record = Preregistration(
            id=f"r{number}",
            project_id=project_id,
            state="draft",
            revision=1,
            version=1,
            plan=self.plan(title),
            created_at=NOW + timedelta(seconds=number),
        )
        preregistrations.insert(session, record)
        populations.put(session, record.id, "p", Manifest.create(ITEMS))
        return record

    def lock(self, session: Session, record: Preregistration) -> Preregistration:
        plan = record.plan.with_items(populations.read_facts(session, record.id))
        public, private = sealing.new_keypair()
        wrapped = sealing.seal(private, self.runner_public, sealing.key_info(record.id, plan.sha256()))
        locked = made.locked(
            session,
            record,
            findings=(),
            acknowledged=("FEW_CLUSTERS",),
            plan_public_key=public,
            wrapped_private_key=wrapped,
            now=NOW + timedelta(hours=1),
        )
        self.leaf(session, locked, "plan_locked", version=locked.version, plan_sha256=locked.plan_sha256)
        return locked

    def locked(self, session: Session, **draft: str) -> Preregistration:
        return self.lock(session, self.draft(session, **draft))

    def leaf(self, session: Session, record: Preregistration, kind: Kind, **body: object) -> Receipt:
        return ledger.append(session, record, kind, body, Moment(NOW))

    def batch(
        self,
        session: Session,
        record: Preregistration,
        arm: str = "C1",
        rows: SecretRows | None = None,
        status_counts: dict[str, int] | None = None,
    ) -> StoredBatch:
        if rows is None:
            rows = SecretRows(np.array([1.0, 0.0, 1.0, np.nan]), np.array([0, 0, 0, 2], dtype=np.uint8))
        n = len(rows.values)
        sealed = sealing.seal_batch(
            PlacedBatch(
                BatchHead("p", arm, "accuracy", None),
                np.arange(n, dtype=np.int32),
                np.ones(n, dtype=np.uint16),
                rows,
            ),
            bytes(range(16)),
            plan_public=plan_keys.read_public(session, record.id),
            plan_sha256=record.plan_sha256 or "",
            preregistration_id=record.id,
            sequence=batches.next_sequence(session, record.id),
        )
        batch = StoredBatch(sealed=sealed, status_counts=status_counts, received_at=NOW, key_id=self.key.id)
        batches.append(session, batch)
        self.leaf(session, record, "batch", **sealed.leaf())
        return batch

    def bind(self, session: Session, record: Preregistration, name: str = "first") -> Run:
        run = Run(
            preregistration_id=record.id,
            run=name,
            number=runs.next_number(session, record.id),
            arm="C1",
            models={},
            environment={},
            judges={},
            started_at=None,
            plan_sha256=record.plan_sha256 or "",
            bound_by=self.key.name,
            bound_at=NOW,
        )
        runs.insert(session, run, self.key.id)
        self.leaf(session, record, "run", run=name, arm="C1", run_sha256=run.sha256())
        return run

    def void(self, session: Session, record: Preregistration, sequence: int, reason: str) -> None:
        batches.void(session, record.id, sequence, reason, self.key.id, NOW)
        self.leaf(session, record, "batch_voided", batch=sequence, reason=reason)

    def complete(self, session: Session) -> Preregistration:
        record = self.locked(session)
        self.bind(session, record)
        record = preregistrations.move(session, record, "collecting", NOW)
        for arm in ("C1", "C2", "C2"):
            self.batch(session, record, arm)
        self.void(session, record, 3, "uploaded twice")
        imports.append(
            session,
            StoredImport(
                preregistration_id=record.id,
                number=1,
                format="csv",
                reader_version=1,
                batches=(1, 2),
                sealed=b"sealed",
                received_at=NOW,
                key_id=self.key.id,
            ),
        )
        for arm in ("C1", "C2"):
            coverage.save(session, record.id, ("p", arm, "accuracy", 1), b"\x0f", 4)
        return preregistrations.move(session, record, "complete", NOW + timedelta(hours=2))

    def verdict(self, record: Preregistration, *hypotheses: dict[str, object]) -> Verdict:
        lines = hypotheses or ({"id": "H1", "outcome": "supported"},)
        return Verdict.model_validate(
            {
                "preregistration_id": record.id,
                "title": record.plan.title,
                "plan_sha256": record.plan_sha256,
                "judged_at": record.complete_at,
                "multiplicity": "none",
                "hypotheses": tuple(self._hypothesis(**line) for line in lines),
                "voided_batches": ({"batch": 3, "reason": "posted twice"},),
                "versions": {"numpy": "2"},
            }
        )

    def judged(self, session: Session) -> Preregistration:
        record = self.complete(session)
        sha256 = verdicts.insert(session, record.project_id, self.verdict(record))
        self.leaf(session, record, "verdict", plan_sha256=record.plan_sha256, verdict_sha256=sha256)
        record = preregistrations.move(session, record, "judged", NOW + timedelta(hours=3))
        private = plan_keys.unwrap(session, record.id, self.runner_private)
        plan_keys.release(session, record.id, private)
        self.deviate(session, record)
        ledger_signers.add(session, origin="log", vkey="log+00000000+AQ==", sequence=None, now=NOW)
        signed = StoredCheckpoint(ledger.read_head(session).size, 1, "a note")
        checkpoints.insert(session, signed, NOW)
        stamps.insert(session, signed, "opentimestamps", b"pending", root="00", waiting=True, now=NOW)
        audit.record(
            session,
            project_id=record.project_id,
            key_id=self.key.id,
            action="preregistration.lock",
            subject=record.id,
            facts={"n": 1},
            now=NOW,
        )
        self.watch(session, record.project_id)
        return record

    def watch(self, session: Session, project_id: str) -> None:
        """A series of two runs."""
        kept = Series(id="series", name="nightly", settings=SeriesSettings(), created_at=NOW)
        series.insert(session, project_id, kept, self.key.id)
        for number, values in enumerate(([1.0, 0.0], [0.0, None]), start=1):
            run = NewRun(name=str(number), item_ids=["a", "b"], values=values)
            content = Content.of(run)
            runs = series.read_packed_runs(session, kept.id, 1).with_run(content)
            standing = judge(runs.columns(), 1, kept.settings)
            point = Point(
                number=number,
                name=run.name,
                reference=number == 1,
                period=1,
                hypothesis=1,
                sha256=content.sha256,
                standing=standing,
                discovered=False,
                received_at=NOW,
            )
            series.insert_point(session, kept.id, point, content, self.key.id)

    def deviate(self, session: Session, record: Preregistration) -> Deviation:
        """A deviation of the record, with a decision."""
        filing = Filing(
            title="Another judge",
            original="Judge one.",
            actual="Judge two.",
            reason="Judge one was switched off.",
            impact="Nobody knows.",
            direction="unknown",
            outcomes_seen=False,
        )
        facts = Facts(
            state=record.state,
            results_received=0,
            results_expected=0,
            judged=False,
            unblinded=False,
            outcomes_seen=False,
        )
        deviation = made.deviation(
            record.plan,
            filing,
            facts,
            NOW,
            preregistration_id=record.id,
            number=deviations.next_number(session, record.id),
            plan_sha256=record.plan_sha256 or "",
        )
        deviation = deviations.insert(session, deviation, self.key.id, NOW)
        decision = Decision(
            number=1, classification="accept", note="Fine.", reviewer="grace", gentler=True, decided_at=NOW
        )
        deviations.decide(session, deviation, decision, self.key.id, NOW)
        return deviation

    @staticmethod
    def _hypothesis(**line: object) -> dict[str, object]:
        return {
            "claim": "superiority",
            "statement": "C2 beats C1",
            "population": "p",
            "baseline": "C1",
            "candidate": "C2",
            "endpoint": "accuracy",
            "sentence": "It does.",
            "rule": "delta >= 2.0 pp",
            "rule_holds": True,
            "clauses": (),
            "delta": 0.1,
            "delta_exact": "1/10",
            "n": 4,
            "n_planned": 4,
            "excluded": {},
            "reading": None,
            "reading_of": None,
            "analyses": {},
        } | line


@pytest.fixture
def world(database: Database) -> World:
    return World(database)


@pytest.fixture
def attacker(database: Database) -> Iterator[Attacker]:
    attacker = Attacker(database)
    yield attacker
    for connection in attacker.connections:
        connection.close()


@pytest.fixture
def judged(world: World) -> Preregistration:
    with world.database.write() as session:
        world.draft(session)
        return world.judged(session)
