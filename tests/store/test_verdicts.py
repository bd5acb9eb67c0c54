from __future__ import annotations

import pytest
import sqlalchemy as sa

from service.domain.canonical import sha256_hex
from service.store.database.tables import verdicts as verdicts_table
from service.store.plans import preregistrations
from service.store.projects import audit
from service.store.verdicts import verdicts


@pytest.fixture
def record(world):
    with world.database.write() as session:
        record = world.complete(session)
        verdict = world.verdict(
            record, {"id": "H1", "outcome": "supported"}, {"id": "H2", "outcome": "inconclusive"}
        )
        sha256 = verdicts.insert(session, "project", verdict)
        world.leaf(session, record, "verdict", plan_sha256=record.plan_sha256, verdict_sha256=sha256)
        return preregistrations.move(session, record, "judged", world.now)


def test_a_verdict_comes_back_as_it_was(world, record):
    expected = world.verdict(
        record, {"id": "H1", "outcome": "supported"}, {"id": "H2", "outcome": "inconclusive"}
    )
    with world.database.read() as session:
        assert verdicts.find(session, "project", record.id) == expected
        row = session.execute(sa.select(verdicts_table)).one()
    assert row.sha256 == sha256_hex(row.canonical.encode()) == expected.sha256()


def test_another_projects_verdict_is_not_found(world, record):
    with world.database.read() as session:
        assert verdicts.find(session, "other", record.id) is None
        assert verdicts.read_page(session, "other")[0] == []


def test_a_record_without_verdict_has_none(world):
    with world.database.write() as session:
        assert verdicts.find(session, "project", world.complete(session).id) is None


def test_verdicts_are_listed_by_hypothesis(world, record):
    with world.database.read() as session:
        lines, cursor = verdicts.read_page(session, "project")
    assert cursor is None
    assert [(line.hypothesis, line.outcome) for line in lines] == [
        ("H2", "inconclusive"),
        ("H1", "supported"),
    ]
    assert {(line.preregistration_id, line.title, line.judged_at) for line in lines} == {
        (record.id, "Caching", record.complete_at)
    }


def test_verdicts_are_filtered(world, record):
    with world.database.read() as session:

        def found(**filters):
            return [line.hypothesis for line in verdicts.read_page(session, "project", **filters)[0]]

        assert found(hypothesis="H1") == ["H1"]
        assert found(outcome="inconclusive") == ["H2"]
        assert found(hypothesis="H1", outcome="inconclusive") == []
        assert found(since=record.complete_at) == ["H2", "H1"]
        assert found(since=record.complete_at.replace(year=2027)) == []


def test_pages_of_verdicts_split_a_record_without_loss(world, record):
    with world.database.write() as session:
        world.judged(session)
    seen, cursor = [], None
    with world.database.read() as session:
        while True:
            lines, cursor = verdicts.read_page(session, "project", limit=1, cursor=cursor)
            seen += [(line.preregistration_id, line.hypothesis) for line in lines]
            if cursor is None:
                break
    assert len(seen) == len(set(seen)) == 3
    assert seen == sorted(seen, reverse=True)


def test_audit_events_are_kept_by_project_newest_first(world):
    with world.database.write() as session:
        for number, project in enumerate(("project", "other", "project")):
            audit.record(
                session,
                project_id=project,
                key_id="key",
                action="act",
                subject=f"s{number}",
                facts={"n": number},
                now=world.now,
            )
        first, cursor = audit.read_page(session, "project", limit=1)
        second, end = audit.read_page(session, "project", limit=1, cursor=cursor)
    assert [(event.subject, event.facts) for event in (*first, *second)] == [
        ("s2", {"n": 2}),
        ("s0", {"n": 0}),
    ]
    assert end is None
