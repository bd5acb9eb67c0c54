"""A guard that was taken away, switched off, replaced or joined by another is named."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from service.store.database import guards

ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
ON_POSTGRES = pytest.mark.parametrize("database_url", ["postgres"], indirect=True)


def test_a_missing_guard_is_named(database):
    assert guards.find_faults(database.engine) == []
    with database.write() as session:
        on_table = "" if database.dialect == "sqlite" else " ON batches"
        session.execute(sa.text(f"DROP TRIGGER batches_guard_update{on_table}"))
    assert guards.find_faults(database.engine) == ["the trigger batches.batches_guard_update is missing"]


@ON_POSTGRES
@pytest.mark.parametrize("how", ["DISABLE", "ENABLE", "ENABLE REPLICA"])
def test_a_guard_that_is_switched_off_is_named(database, how):
    with database.write() as session:
        session.execute(sa.text(f"ALTER TABLE plans {how} TRIGGER plans_guard_delete"))
    assert guards.find_faults(database.engine) == [
        "the trigger plans.plans_guard_delete is not as it was made"
    ]


WEAKER = {
    "batches_guard_update": "WHEN 0 BEGIN SELECT RAISE(ABORT, 'batches: rows are insert-only'); END",
    "plan_keys_guard_update": "BEGIN SELECT 1; END",
}


@ON_SQLITE
@pytest.mark.parametrize("name", WEAKER)
def test_a_guard_with_another_body_is_named_on_sqlite(database, name):
    table = name.removesuffix("_guard_update")
    with database.write() as session:
        session.execute(sa.text(f"DROP TRIGGER {name}"))
        session.execute(sa.text(f"CREATE TRIGGER {name} BEFORE UPDATE ON {table} {WEAKER[name]}"))
    assert guards.find_faults(database.engine) == [f"the trigger {table}.{name} is not as it was made"]


NOTHING = "() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$"
HEAD = "function forelock_guard_head is not as it was made"
ON_PLANS = "trigger plans.plans_guard_update is not as it was made"
REPLACED = {
    "CREATE OR REPLACE FUNCTION forelock_guard_head" + NOTHING: HEAD,
    "ALTER FUNCTION forelock_guard_head() RESET search_path": HEAD,
    "ALTER FUNCTION forelock_guard_head() SECURITY DEFINER": HEAD,
    "CREATE OR REPLACE TRIGGER plans_guard_update BEFORE UPDATE ON plans FOR EACH ROW WHEN (false) "
    "EXECUTE FUNCTION forelock_refuse('rows are insert-only'); "
    "ALTER TABLE plans ENABLE ALWAYS TRIGGER plans_guard_update": ON_PLANS,
    "CREATE OR REPLACE TRIGGER plans_guard_update AFTER UPDATE ON plans FOR EACH ROW "
    "EXECUTE FUNCTION forelock_refuse('rows are insert-only'); "
    "ALTER TABLE plans ENABLE ALWAYS TRIGGER plans_guard_update": ON_PLANS,
    "CREATE OR REPLACE TRIGGER plans_guard_update BEFORE UPDATE OF version ON plans FOR EACH ROW "
    "EXECUTE FUNCTION forelock_refuse('rows are insert-only'); "
    "ALTER TABLE plans ENABLE ALWAYS TRIGGER plans_guard_update": ON_PLANS,
    "CREATE TRIGGER zz BEFORE INSERT ON verdicts FOR EACH ROW EXECUTE FUNCTION forelock_require_state('x')": (
        "trigger verdicts.zz is none of the service's"
    ),
}


@ON_POSTGRES
@pytest.mark.parametrize("statement", REPLACED)
def test_a_guard_with_another_body_is_named_on_postgres(database, statement):
    with database.write() as session:
        for each in statement.split("; ") if "$$" not in statement else [statement]:
            session.execute(sa.text(each))
    assert guards.find_faults(database.engine) == [f"the {REPLACED[statement]}"]


@ON_SQLITE
def test_a_strange_trigger_is_named(database):
    with database.write() as session:
        session.execute(
            sa.text("CREATE TRIGGER zz BEFORE INSERT ON verdicts BEGIN SELECT RAISE(IGNORE); END")
        )
    assert guards.find_faults(database.engine) == ["the trigger verdicts.zz is none of the service's"]
