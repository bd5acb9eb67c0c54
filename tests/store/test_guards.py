"""What is locked stays, whatever is sent to the database past the service."""

from __future__ import annotations

from datetime import timedelta

import pytest
import sqlalchemy as sa

from service.domain.access import ViewLink
from service.store.database import guards, idempotency
from service.store.database.tables import metadata
from service.store.jobs import jobs
from service.store.plans import preregistrations
from service.store.projects import view_links
from service.store.results import coverage
from tests.store.conftest import NOW

ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
ON_POSTGRES = pytest.mark.parametrize("database_url", ["postgres"], indirect=True)


def columns_of(table):
    columns = metadata.tables[table]
    return [column.name for column in columns.columns], [column.name for column in columns.primary_key]


def contents(database):
    with database.read() as session:
        return {
            table.name: sorted(map(repr, session.execute(sa.select(table)).all()))
            for table in metadata.sorted_tables
        }


CHANGES = {
    "plans": "sha256 = 'x'",
    "batches": "sealed = sealed",
    "batch_voids": "reason = 'x'",
    "verdicts": "canonical = '{}'",
    "verdict_hypotheses": "outcome = 'supported'",
    "ledger_entries": "leaf = 'x'",
    "audit_events": "action = 'x'",
    "projects": "name = 'x'",
    "manifests": "n = 3",
    "plan_keys": "public_key = wrapped_key",
    "ledger_head": "size = 0",
    "ledger_nodes": "hashes = hashes",
    "ledger_signers": "vkey = 'x'",
    "ledger_checkpoints": "note = 'x'",
    "stamps": "waiting = 0",
    "deviations": "canonical = '{}'",
    "deviation_decisions": "canonical = '{}'",
    "runs": "canonical = '{}'",
    "imports": "sealed = sealed",
    "series": "name = 'x'",
    "series_rosters": "content = content",
    "series_points": "name = 'x'",
}
KEYED_BY_ROWID = ("ledger_entries", "ledger_head", "ledger_nodes", "ledger_signers", "audit_events")
LOCKED_ROWS = {"manifests": "WHERE preregistration_id = 'r2'"}


INSERT_ONLY = (*CHANGES, "preregistrations")
"""Tables whose rows, once locked, take no change at all."""
FOLLOWING = ("keys", "coverage", "jobs", "idempotency", "view_links")
"""Tables that take some changes, and are attacked one by one."""


def test_every_guarded_table_is_attacked(database):
    guarded = [
        name.split()[1] for name in guards.list_expected(database.dialect) if name.startswith("trigger")
    ]
    assert {*INSERT_ONLY, *FOLLOWING} == {name.partition(".")[0] for name in guarded}


def test_rows_resist_update_and_delete(database, judged, attacker):
    before = contents(database)
    for table, change in CHANGES.items():
        assert before[table]
        rows = LOCKED_ROWS.get(table, "")
        attacker.try_to(f"UPDATE {table} SET {change} {rows}")
        attacker.try_to(f"DELETE FROM {table} {rows}")
    assert contents(database) == before


def test_rows_resist_upserts(database, judged, attacker):
    before = contents(database)
    for table in INSERT_ONLY:
        names, keys = columns_of(table)
        last = names[-1]
        attacker.try_to(
            f"INSERT INTO {table} ({', '.join(names)}) SELECT {', '.join(names)} FROM {table} WHERE true "
            f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {last} = excluded.{last}"
        )
    assert contents(database) == before


@ON_SQLITE
def test_rows_resist_replacement(database, judged, attacker):
    before = contents(database)
    for table in INSERT_ONLY:
        names, _keys = columns_of(table)
        row = f"INTO {table} ({', '.join(names)}) SELECT {', '.join(names)} FROM {table}"
        for verb in (
            "INSERT OR REPLACE",
            "REPLACE",
            "INSERT OR IGNORE",
            "INSERT OR FAIL",
            "INSERT OR ROLLBACK",
        ):
            attacker.try_to(f"{verb} {row}")
        for verb in ("UPDATE OR REPLACE", "UPDATE OR IGNORE"):
            attacker.try_to(f"{verb} {table} SET {CHANGES.get(table, 'id = id')}")
    assert contents(database) == before


@ON_SQLITE
def test_rows_resist_replacement_by_rowid(database, judged, attacker):
    """A new key under an old rowid pushes the old row out."""
    before = contents(database)
    for table in INSERT_ONLY:
        names, keys = columns_of(table)
        if table not in KEYED_BY_ROWID:
            fresh = [name if name != keys[-1] else f"'new' || {name}" for name in names]
            columns = ", ".join(("rowid", *names))
            values = ", ".join(("rowid", *fresh))
            attacker.try_to(f"REPLACE INTO {table} ({columns}) SELECT {values} FROM {table}")
        attacker.try_to(f"UPDATE OR REPLACE {table} SET rowid = rowid + 1")
    assert contents(database) == before


@ON_SQLITE
def test_a_draft_under_a_locked_rowid_is_refused(database, judged, attacker):
    attacker.try_to(
        "REPLACE INTO preregistrations (rowid, id, project_id, state, revision, version, draft, "
        "acknowledged, created_at) SELECT rowid, 'mine', project_id, 'draft', 1, 1, '{}', '[]', created_at "
        f"FROM preregistrations WHERE id = '{judged.id}'"
    )
    for column in ("id", "rowid"):
        attacker.try_to(
            f"UPDATE OR REPLACE preregistrations SET {column} = (SELECT {column} FROM preregistrations "
            f"WHERE id = '{judged.id}'), revision = revision + 1 WHERE id = 'r1'"
        )


@ON_POSTGRES
def test_tables_resist_truncate(database, judged, attacker):
    before = contents(database)
    for table in (*INSERT_ONLY, *FOLLOWING):
        attacker.try_to(f"TRUNCATE {table} CASCADE")
    assert contents(database) == before


HEAD_CHANGES = (
    "state = 'draft', draft = '{}', plan_sha256 = NULL",
    "state = 'judged'",
    "state = 'locked'",
    "state = 'collecting'",
    "state = 'complete'",
    "state = 'anything'",
    "id = 'mine'",
    "project_id = 'other'",
    "title = 'another'",
    "plan_sha256 = 'another'",
    "lint = '[{}]'",
    "acknowledged = '[]'",
    "version = 2",
    "created_at = locked_at",
    "locked_at = created_at",
    "complete_at = NULL",
    "complete_at = created_at",
    "judged_at = NULL",
    "state = 'withdrawn', judged_at = NULL",
    "state = 'withdrawn', title = 'another'",
    "state = 'withdrawn', id = 'mine'",
    "state = 'withdrawn', project_id = 'other'",
    "state = 'withdrawn', plan_sha256 = 'another'",
    "state = 'withdrawn', lint = '[{}]'",
    "state = 'withdrawn', acknowledged = '[]'",
    "state = 'withdrawn', version = 2",
    "state = 'withdrawn', created_at = locked_at",
    "state = 'withdrawn', locked_at = created_at",
    "state = 'withdrawn', complete_at = created_at",
)


def test_a_judged_head_permits_withdrawal_only(database, judged, attacker):
    before = contents(database)
    for change in HEAD_CHANGES:
        attacker.try_to(
            f"UPDATE preregistrations SET {change}, revision = revision + 1 WHERE id = '{judged.id}'"
        )
    assert contents(database) == before
    withdraw = "UPDATE preregistrations SET state = 'withdrawn', revision = revision + 1"
    attacker.succeed(f"{withdraw} WHERE id = '{judged.id}'")
    attacker.try_to(
        f"UPDATE preregistrations SET state = 'judged', revision = revision + 1 WHERE id = '{judged.id}'"
    )


def test_revisions_do_not_go_back(database, judged, attacker):
    for change in ("revision", "revision - 1", "revision + 2"):
        attacker.try_to(
            f"UPDATE preregistrations SET state = 'withdrawn', revision = {change} WHERE id = '{judged.id}'"
        )


def test_a_locked_head_skips_no_state(world, attacker):
    with world.database.write() as session:
        record = world.locked(session)
    for state in ("complete", "judged", "draft"):
        attacker.try_to(
            f"UPDATE preregistrations SET state = '{state}', complete_at = locked_at, judged_at = locked_at, "
            f"revision = revision + 1 WHERE id = '{record.id}'"
        )


def test_only_drafts_are_deleted(database, judged, attacker):
    attacker.try_to("DELETE FROM preregistrations WHERE id = 'r2'")
    attacker.succeed("DELETE FROM manifests WHERE preregistration_id = 'r1'")
    attacker.succeed("DELETE FROM preregistrations WHERE id = 'r1'")


def test_a_row_is_not_born_locked(world, attacker):
    attacker.try_to(
        "INSERT INTO preregistrations (id, project_id, state, revision, version, plan_sha256, acknowledged, "
        "created_at, locked_at) SELECT 'x', id, 'locked', 1, 1, 'abc', '[]', created_at, created_at "
        "FROM projects WHERE id = 'project'"
    )


def test_a_lock_needs_its_plan_and_its_key(world, attacker):
    with world.database.write() as session:
        record = world.draft(session)
    lock = (
        "UPDATE preregistrations SET state = 'locked', draft = NULL, plan_sha256 = 'abc', "
        f"locked_at = created_at, revision = revision + 1 WHERE id = '{record.id}'"
    )
    attacker.try_to(lock)
    attacker.succeed(
        "INSERT INTO plans (preregistration_id, version, canonical, sha256, locked_at) "
        f"SELECT id, 1, '{{}}', 'abc', created_at FROM preregistrations WHERE id = '{record.id}'"
    )
    attacker.try_to(lock)


def test_a_locked_plan_takes_no_second_version_nor_items(database, judged, attacker):
    attacker.try_to(
        "INSERT INTO plans (preregistration_id, version, canonical, sha256, locked_at) "
        "SELECT preregistration_id, 2, canonical, sha256, locked_at FROM plans"
    )
    attacker.try_to(
        "INSERT INTO manifests SELECT preregistration_id, 'q', n, items_sha256, n_clusters, cluster_sizes, "
        "content FROM manifests WHERE preregistration_id = 'r2'"
    )
    attacker.try_to(
        "UPDATE manifests SET preregistration_id = 'r1', population = 'q' WHERE preregistration_id = 'r2'"
    )


def test_a_judged_record_takes_no_results(database, judged, attacker):
    names = ", ".join(column.name for column in metadata.tables["batches"].columns)
    attacker.try_to(
        f"INSERT INTO batches ({names}) SELECT {names.replace('sequence', '4')} FROM batches "
        "WHERE sequence = 1"
    )
    attacker.try_to(
        "INSERT INTO batch_voids SELECT preregistration_id, 1, reason, key_id, voided_at FROM batch_voids"
    )
    attacker.try_to(
        "INSERT INTO verdict_hypotheses SELECT preregistration_id, 'H9', project_id, title, outcome, "
        "judged_at FROM verdict_hypotheses"
    )


def test_a_record_that_is_not_complete_takes_no_verdict(world, attacker):
    with world.database.write() as session:
        world.draft(session)
        world.locked(session)
    attacker.try_to(
        "INSERT INTO verdicts (preregistration_id, canonical, sha256, judged_at) "
        "SELECT id, '{}', 'abc', created_at FROM preregistrations"
    )


def test_batches_are_numbered_without_gaps(world, attacker):
    with world.database.write() as session:
        record = world.locked(session)
        world.batch(session, record)
    names = ", ".join(column.name for column in metadata.tables["batches"].columns)
    for number in ("0", "1", "3", "-1"):
        attacker.try_to(
            f"INSERT INTO batches ({names}) SELECT {names.replace('sequence', number)} FROM batches"
        )


def test_a_key_is_not_released_before_judgement(world, attacker):
    with world.database.write() as session:
        world.complete(session)
    attacker.try_to("UPDATE plan_keys SET released_key = wrapped_key")


def test_a_released_key_stays_until_it_is_erased_on_record_in_every_form(database, world, judged, attacker):
    attacker.try_to("UPDATE plan_keys SET released_key = wrapped_key")
    attacker.try_to("UPDATE plan_keys SET released_key = NULL")
    attacker.try_to("UPDATE plan_keys SET wrapped_key = NULL")
    attacker.try_to("UPDATE plan_keys SET wrapped_key = public_key")
    attacker.try_to("UPDATE plan_keys SET wrapped_key = NULL, released_key = NULL")
    with database.write() as session:
        world.leaf(session, judged, "erasure")
    attacker.succeed("UPDATE plan_keys SET wrapped_key = NULL, released_key = NULL")
    attacker.try_to("UPDATE plan_keys SET wrapped_key = public_key, released_key = public_key")


def test_a_temporary_table_does_not_deceive_the_guards(database, judged, attacker):
    schema_name = "main" if database.dialect == "sqlite" else "public"
    attacker.succeed(f"CREATE TEMP TABLE preregistrations AS SELECT * FROM {schema_name}.preregistrations")
    attacker.succeed("UPDATE preregistrations SET state = 'draft', judged_at = created_at")
    attacker.try_to(
        "INSERT INTO plans (preregistration_id, version, canonical, sha256, locked_at) "
        "SELECT preregistration_id, 2, canonical, sha256, locked_at FROM plans"
    )
    attacker.try_to("DELETE FROM manifests WHERE preregistration_id = 'r2'")


@ON_POSTGRES
def test_replication_mode_does_not_switch_the_guards_off(database, judged, attacker):
    attacker.succeed("SET session_replication_role = replica")
    attacker.try_to("DELETE FROM plans")
    attacker.try_to("UPDATE verdicts SET canonical = '{}'")


def test_a_key_is_used_and_revoked_and_nothing_else(database, world, attacker):
    for change in (
        "name = 'x'",
        "kind = 'job'",
        "scopes = 'operator'",
        "project_id = 'other'",
        "secret_sha256 = 'x'",
        "expires_at = created_at",
        "created_by = 'x'",
        "prefix = 'x'",
    ):
        attacker.try_to(f"UPDATE keys SET {change}")
    attacker.try_to("DELETE FROM keys")
    attacker.succeed("UPDATE keys SET last_used_at = created_at")
    attacker.succeed("UPDATE keys SET revoked_at = created_at")
    attacker.try_to("UPDATE keys SET revoked_at = NULL")
    attacker.try_to(
        "INSERT INTO keys SELECT * FROM keys ON CONFLICT (id) DO UPDATE SET scopes = 'operator'"
        if database.dialect == "postgresql"
        else "INSERT OR REPLACE INTO keys SELECT * FROM keys"
    )


def test_a_view_only_link_is_revoked_and_nothing_else(world, attacker):
    with world.database.write() as session:
        record = world.locked(session)
        for number in (1, 2):
            link = ViewLink(
                id=f"l{number}",
                preregistration_id=record.id,
                name="x",
                anonymous=True,
                created_at=NOW,
                expires_at=NOW + timedelta(days=1),
            )
            view_links.insert(session, link, f"hash {number}", "key")
    for change in (
        "preregistration_id = 'r2'",
        "name = 'y'",
        "anonymous = 0",
        "token_sha256 = 'x'",
        "key_id = 'x'",
        "created_at = expires_at",
        "expires_at = created_at",
    ):
        attacker.try_to(f"UPDATE view_links SET {change} WHERE id = 'l1'")
    attacker.try_to("DELETE FROM view_links")
    attacker.succeed("UPDATE view_links SET revoked_at = created_at WHERE id = 'l1'")
    attacker.try_to("UPDATE view_links SET revoked_at = NULL WHERE id = 'l1'")
    with world.database.read() as session:
        found = [view_links.find_by_token(session, f"hash {number}") for number in (1, 2, 3)]
        assert [each and each.link.valid(NOW) for each in found] == [False, True, None]
        assert view_links.count(session, record.id, NOW) == 1


def test_coverage_stays_once_a_record_is_complete(database, judged, attacker):
    attacker.try_to("UPDATE coverage SET received = 3")
    attacker.try_to("DELETE FROM coverage")
    attacker.try_to(
        "INSERT INTO coverage SELECT preregistration_id, population, arm, endpoint, 2, bitmap, received FROM coverage"
    )


def test_a_cell_of_coverage_stays_where_it_is(world, attacker):
    with world.database.write() as session:
        record = world.locked(session)
        coverage.save(session, record.id, ("p", "C1", "accuracy", 1), b"\x0f", 4)
    for column in ("preregistration_id", "population", "arm", "endpoint"):
        attacker.try_to(f"UPDATE coverage SET {column} = 'x'")
    attacker.try_to("UPDATE coverage SET replicate = 2")
    attacker.try_to("DELETE FROM coverage")


def test_a_record_is_not_complete_before_coverage_says_so(world, attacker):
    with world.database.write() as session:
        record = preregistrations.move(session, world.locked(session), "collecting", NOW)
    complete = (
        "UPDATE preregistrations SET state = 'complete', complete_at = locked_at, revision = revision + 1"
    )
    attacker.try_to(complete)
    with world.database.write() as session:
        world.batch(session, record)
    attacker.try_to(complete)
    with world.database.write() as session:
        coverage.save(session, record.id, ("p", "C1", "accuracy", 1), b"\x07", 3)
    attacker.try_to(complete)
    with world.database.write() as session:
        coverage.save(session, record.id, ("p", "C1", "accuracy", 1), b"\x0f", 4)
    attacker.succeed(complete)


def test_an_ended_job_stays_as_it_ended(world, attacker):
    with world.database.write() as session:
        new = jobs.NewJob(id="j", project_id="project", kind="mcnemar", params={}, created_at=NOW)
        jobs.enqueue(session, new)
    for change in ("kind = 'x'", "params = '[]'", "project_id = 'other'", "created_at = NULL"):
        attacker.try_to(f"UPDATE jobs SET {change}")
    attacker.try_to("DELETE FROM jobs")
    attacker.succeed("UPDATE jobs SET state = 'succeeded', result = '{}'")
    attacker.try_to("UPDATE jobs SET result = '[]'")
    attacker.try_to("UPDATE jobs SET state = 'queued'")
    attacker.try_to(
        "INSERT INTO jobs (id, project_id, kind, state, params, attempts, created_at, result) "
        "SELECT 'forged', project_id, kind, 'succeeded', params, 0, created_at, '{}' FROM jobs"
    )
    attacker.succeed("DELETE FROM jobs")


def test_a_kept_answer_stays_as_it_was_given(database, world, attacker):
    attempt = idempotency.Attempt("key", "POST /v1/keys", "once", "abc")
    with database.write() as session:
        idempotency.keep(session, [(attempt, idempotency.StoredResponse(201, {}, b"{}"))], NOW)
    for change in ("body = body", "status = 200", "fingerprint = 'x'", "sha256 = NULL"):
        attacker.try_to(f"UPDATE idempotency SET {change}")
    attacker.succeed("DELETE FROM idempotency")


def amended(session, record, plan):
    return preregistrations.amend(
        session, record, plan=plan, findings=(), acknowledged=(), now=NOW + timedelta(hours=2)
    )


def test_a_plan_without_results_takes_the_next_version_and_no_other(world, attacker):
    with world.database.write() as session:
        record = world.locked(session)
    for version in (1, 3):
        attacker.try_to(
            f"INSERT INTO plans (preregistration_id, version, canonical, sha256, locked_at) "
            f"SELECT preregistration_id, {version}, canonical, sha256, locked_at FROM plans"
        )
    attacker.try_to("UPDATE preregistrations SET revision = revision + 1, version = version + 1")
    attacker.try_to("UPDATE preregistrations SET revision = revision + 1, title = 'x'")
    with world.database.write() as session:
        plan = record.plan.model_copy(update={"title": "Second"})
        changed = amended(session, record, plan)
        assert (changed.version, changed.plan_sha256) == (2, plan.sha256())
    attacker.try_to("UPDATE preregistrations SET revision = revision + 1, version = 1")


def test_a_plan_with_a_batch_takes_no_further_version(world, attacker):
    with world.database.write() as session:
        record = world.locked(session)
        world.batch(session, record)
        world.void(session, record, 1, "posted by mistake")
    insert = (
        "INSERT INTO plans (preregistration_id, version, canonical, sha256, locked_at) "
        "SELECT preregistration_id, 2, canonical, sha256, locked_at FROM plans"
    )
    attacker.try_to(insert)


def test_runs_are_numbered_without_gaps_while_results_are_taken(world, attacker):
    with world.database.write() as session:
        record = world.locked(session)
        world.bind(session, record)
    copied = (
        "SELECT preregistration_id, '{}', {}, canonical, sha256, key_id, bound_at FROM runs WHERE number = 1"
    )
    for name, number in (("other", 1), ("other", 3)):
        attacker.try_to("INSERT INTO runs " + copied.format(name, number))
    with world.database.write() as session:
        preregistrations.move(session, record, "withdrawn", NOW)
    attacker.try_to("INSERT INTO runs " + copied.format("other", 2))
