"""Actions called as a door calls them: with a session, and with ids, times and randomness as arguments."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest
from sqlalchemy.orm import Session

from service.actions.plans import preregistrations
from service.actions.results import group_commit
from service.actions.results.group_commit import Answer
from service.actions.results.posting import BatchReceipt, Submission
from service.actions.results.results import LockedPlans
from service.actions.verdicts import verdicts
from service.domain.access import SCOPES, Key, Project, Scope, new_secret, secret_prefix, secret_sha256
from service.domain.moment import Moment
from service.domain.plans.manifest import Manifest
from service.domain.plans.plan import Plan
from service.domain.plans.preregistration import Preregistration
from service.domain.verdicts.judge import judge
from service.errors import ForelockError
from service.ingest.results import parse
from service.keyring.keyring import Keyring
from service.store.database.engine import Database
from service.store.database.idempotency import Attempt, StoredResponse
from service.store.plans import populations as items_store
from service.store.plans import preregistrations as records
from service.store.projects import audit, keys, projects
from tests.journeys.plans import items, small_plan

T = TypeVar("T")
NOW = datetime(2025, 1, 4, 12, tzinfo=UTC)
"""Before anything that the database says is now."""
MOMENT = Moment(NOW)
N = 10
BASELINE = [1, 1, 0, 0, 0, 0, 0, 0, 0, 0]
CANDIDATE = [1] * 10


class World:
    """A database with two projects and a person, and records taken as far as a test needs them."""

    def __init__(self, database: Database, keyring: Keyring) -> None:
        self.database, self.keyring, self.numbers = database, keyring, itertools.count(1)
        for name in ("project", "other"):
            self.write(projects.create, Project(id=name, name=name, created_at=NOW))
        self.ada = self.key("ada")

    def write(self, act: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """What an action returns, in a transaction of its own."""
        with self.database.write() as session:
            return act(session, *arguments, **named)

    def key(
        self,
        name: str,
        kind: Any = "person",
        scopes: tuple[Scope, ...] = SCOPES,
        project_id: str = "project",
        **more: Any,
    ) -> Key:
        secret = new_secret(next(self.numbers).to_bytes(32, "big"))
        made = Key(
            id=f"key-{name}", project_id=project_id, name=name, kind=kind, scopes=scopes,
            prefix=secret_prefix(secret), created_at=NOW, **more,
        )  # fmt: skip
        self.write(keys.insert, made, secret_sha256(secret))
        return made

    def draft(self, document: dict[str, Any] | None = None, *, n: int = N) -> Preregistration:
        """A draft with its items."""
        plan = Plan.from_dict(document or small_plan(n))

        def make(session: Session) -> Preregistration:
            number = next(self.numbers)
            record = preregistrations.create(session, self.ada, plan, prereg_id=f"r{number}", now=NOW)
            for population in plan.populations or ():
                self.put_items(session, record, population.id, items(population.n))
            return records.get(session, record.project_id, record.id)

        return self.write(make)

    def put_items(
        self, session: Session, record: Preregistration, population: str, item_ids: Iterable[str]
    ) -> Preregistration:
        manifest = items_store.pack(Manifest.create(tuple(item_ids)))
        return preregistrations.put_items(session, self.ada, record, population, manifest, now=NOW)[0]

    def lock(self, record: Preregistration, acknowledge: Any = "all") -> Preregistration:
        def act(session: Session) -> Preregistration:
            linted = preregistrations.lint_draft(record, items_store.read_facts(session, record.id))
            seal_public = self.keyring.seal_public
            return preregistrations.lock(
                session, self.ada, record, linted, acknowledge, MOMENT, seal_public=seal_public
            )[0]

        return self.write(act)

    def locked(self, document: dict[str, Any] | None = None, **more: Any) -> Preregistration:
        return self.lock(self.draft(document, **more))

    def read(self, record: Preregistration) -> Preregistration:
        """The record as it is now."""
        with self.database.read() as session:
            return records.get(session, record.project_id, record.id)

    def posted(self, record: Preregistration, arm: str, values: list[Any], **more: Any) -> Submission:
        """A batch of the first items, as it is given to be stored."""
        columns = {"arm": arm, "endpoint": "accuracy", "item_ids": items(len(values)), "values": values}
        batch = parse(json.dumps(columns | more).encode(), "application/json", max_items=1000)
        number = next(self.numbers)
        with self.database.read() as session:
            terms = LockedPlans().read(session, self.ada, record.id)
        attempt = Attempt(self.ada.id, "POST results", f"once{number}", f"print{number}")
        return Submission.of(self.ada, record.id, batch, terms, attempt)

    def store(self, *posts: Submission) -> list[BatchReceipt | ForelockError]:
        """What becomes of batches in one transaction."""
        outcomes, _queued = group_commit.store(self.database, posts, _as_json, wait=True)
        return [
            BatchReceipt.model_validate_json(each.response.body) if isinstance(each, Answer) else each
            for each in outcomes
            if each is not None
        ]

    def post(self, record: Preregistration, arm: str, values: list[Any], **more: Any) -> BatchReceipt:
        (answered,) = self.store(self.posted(record, arm, values, **more))
        if isinstance(answered, ForelockError):
            raise answered
        return answered

    def complete(self, document: dict[str, Any] | None = None) -> Preregistration:
        record = self.locked(document)
        self.post(record, "A", BASELINE)
        self.post(record, "B", CANDIDATE)
        return self.read(record)

    def judge(self, record: Preregistration) -> Preregistration:
        with self.database.read() as session:
            inputs = verdicts.inputs(
                session, record.project_id, record.id, seal_private=self.keyring.opener(), now=NOW
            )
        found = judge(inputs)
        private = self.keyring.opener()
        self.write(verdicts.record, record.project_id, found, MOMENT, seal_private=private)
        return self.read(record)

    def judged(self, document: dict[str, Any] | None = None) -> Preregistration:
        return self.judge(self.complete(document))

    def audited(self, subject: str) -> list[str]:
        """What was written down of a record, oldest first."""
        with self.database.read() as session:
            found, _following = audit.read_page(session, "project", limit=200)
        return [each.action for each in reversed(found) if each.subject == subject]


def _as_json(receipt: BatchReceipt) -> StoredResponse:
    return StoredResponse(201, {}, receipt.model_dump_json().encode())


@pytest.fixture
def world(database: Database, tmp_path: Path) -> World:
    return World(database, Keyring.create(tmp_path / "keys"))
