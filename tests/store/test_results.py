from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import psycopg
import pytest

from service.domain.results import sealing
from service.domain.results.secret_rows import ROW_BYTES, SecretRows
from service.errors import Blinded, Conflict, NotFound
from service.store.plans import plan_keys, preregistrations
from service.store.results import batches, coverage
from service.store.results.coverage import CoverageCount


def test_a_batch_opens_after_it_was_stored(world):
    with world.database.write() as session:
        record = world.locked(session)
        sent = SecretRows(np.array([1.0, np.nan]), np.array([0, 1], dtype=np.uint8), np.array([5, 6]))
        world.batch(session, record, rows=sent)
    with world.database.read() as session:
        (stored,) = batches.read_all(session, record.id)
        private = plan_keys.unwrap(session, record.id, world.runner_private)
    placed, _salt = sealing.open_batch(stored.sealed, record.plan_sha256, private)
    opened = placed.rows
    np.testing.assert_array_equal(opened.values, sent.values)
    np.testing.assert_array_equal(opened.statuses, sent.statuses)
    np.testing.assert_array_equal(opened.observed_at, sent.observed_at)


def test_every_field_of_a_batch_is_kept(world):
    with world.database.write() as session:
        record = world.locked(session)
        sent = world.batch(session, record)
        stored = batches.get(session, record.id, 1)
    assert stored == sent
    assert not stored.void


def test_batches_are_numbered_from_one_in_each_record(world):
    with world.database.write() as session:
        for _ in range(2):
            record = world.locked(session)
            assert [world.batch(session, record, arm).sealed.sequence for arm in ("C1", "C2", "C3")] == [
                1,
                2,
                3,
            ]
            assert batches.count(session, record.id) == 3


def test_a_voided_batch_stays_and_is_left_out(world):
    with world.database.write() as session:
        record = world.locked(session)
        for arm in ("C1", "C2", "C3"):
            world.batch(session, record, arm)
        world.void(session, record, 2, "wrong file")
        with pytest.raises(Conflict):
            batches.void(session, record.id, 2, "again", "key", world.now)
        with pytest.raises(NotFound):
            batches.void(session, record.id, 4, "none", "key", world.now)
        assert [each.sealed.head.arm for each in batches.read_all(session, record.id)] == ["C1", "C3"]
        kept = list(batches.read_all(session, record.id, include_void=True))
        assert [(each.sealed.sequence, each.void) for each in kept] == [(1, False), (2, True), (3, False)]
        shown, cursor = batches.read_page(session, record.id, limit=2)
        rest, end = batches.read_page(session, record.id, limit=2, cursor=cursor)
    assert [each.batch for each in (*shown, *rest)] == [3, 2, 1]
    assert end is None
    assert [each.void_reason for each in shown] == [None, "wrong file"]
    assert shown[1].voided_at == world.now


def test_a_list_of_batches_shows_no_sealed_bytes(world):
    with world.database.write() as session:
        record = world.locked(session)
        world.batch(session, record)
        (shown,), _ = batches.read_page(session, record.id)
    assert not any(isinstance(getattr(shown, name), bytes) for name in type(shown).model_fields)


def test_no_outcome_and_no_salt_stands_in_the_open(world):
    """Whoever copies the database finds neither the rows nor what their commitment could be guessed with."""
    values = np.random.default_rng(7).random(64)
    rows = SecretRows(values, np.zeros(64, dtype=np.uint8), np.arange(64) + 1_700_000_000_000_000)
    with world.database.write() as session:
        record = world.locked(session)
        world.batch(session, record, rows=rows)
    dump = b"".join(raw_values(world.database))
    secret = rows.to_bytes()
    assert record.plan_sha256.encode() in dump
    assert bytes(range(16)) not in dump
    assert bytes(range(16)).hex().encode() not in dump
    assert not any(secret[start : start + 16] in dump for start in range(0, len(secret) - 16, 8))


def raw_values(database):
    if database.dialect == "sqlite":
        connection = sqlite3.connect(database.url.database)
        tables = "SELECT name FROM sqlite_master WHERE type = 'table'"
    else:
        url = database.url
        connection = psycopg.connect(host=url.query["host"], user=url.username, dbname=url.database)
        tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    for (table,) in connection.execute(tables).fetchall():
        for row in connection.execute(f'SELECT * FROM "{table}"').fetchall():
            for value in row:
                yield bytes(value) if isinstance(value, bytes | memoryview) else str(value).encode()
    connection.close()


def test_status_counts_are_kept_only_when_given(world):
    with world.database.write() as session:
        record = world.locked(session)
        world.batch(session, record)
        world.batch(session, record, status_counts={"ok": 3, "error": 1})
        assert batches.get(session, record.id, 1).status_counts is None
        assert batches.get(session, record.id, 2).status_counts == {"ok": 3, "error": 1}


def test_a_million_rows_are_one_row(world):
    n = 1_000_000
    rows = SecretRows(np.random.default_rng(1).random(n), np.zeros(n, dtype=np.uint8))
    with world.database.write() as session:
        record = world.locked(session)
        world.batch(session, record, rows=rows)
    with world.database.read() as session:
        (stored,) = batches.read_all(session, record.id)
    assert (stored.sealed.n, len(stored.sealed.ciphertext)) == (n, 48 + sealing.SALT_BYTES + ROW_BYTES * n)


CELL = ("p", "C1", "accuracy", 1)


def test_coverage_is_empty_before_the_first_batch(world):
    with world.database.write() as session:
        record = world.locked(session)
        for size, length in ((1, 1), (8, 1), (9, 2), (1000, 125)):
            assert coverage.read_bitmap(session, record.id, CELL, size) == bytearray(length)
        assert coverage.read_counts(session, record.id) == []


def test_coverage_is_kept_by_cell(world):
    with world.database.write() as session:
        record = world.locked(session)
        coverage.save(session, record.id, CELL, bytearray(b"\x01"), 1)
        coverage.save(session, record.id, CELL, bytearray(b"\x03"), 2)
        coverage.save(session, record.id, ("p", "C2", "accuracy", 2), bytearray(b"\x80"), 1)
        assert coverage.read_bitmap(session, record.id, CELL, 8) == bytearray(b"\x03")
        assert coverage.read_counts(session, record.id) == [
            CoverageCount("p", "C1", "accuracy", 1, 2),
            CoverageCount("p", "C2", "accuracy", 2, 1),
        ]


def test_posts_at_once_lose_and_double_nothing(world):
    """Each of 24 threads claims one item under the record's lock; every item twice."""
    size = 12
    with world.database.write() as session:
        record = world.locked(session)

    def post(number):
        item = number % size
        with world.database.write() as session:
            held = preregistrations.get(session, "project", record.id, for_update=True)
            bitmap = coverage.read_bitmap(session, record.id, CELL, size)
            if bitmap[item // 8] >> (item % 8) & 1:
                return None
            bitmap[item // 8] |= 1 << (item % 8)
            coverage.save(session, record.id, CELL, bitmap, int.from_bytes(bitmap, "little").bit_count())
            return world.batch(session, held).sealed.sequence

    with ThreadPoolExecutor(12) as pool:
        numbers = [number for number in pool.map(post, range(2 * size)) if number is not None]
    assert sorted(numbers) == list(range(1, size + 1))
    with world.database.read() as session:
        assert [each.received for each in coverage.read_counts(session, record.id)] == [size]
        assert batches.count(session, record.id) == size


def test_rows_stay_sealed_until_the_verdict_and_can_be_erased(world):
    with world.database.write() as session:
        complete = world.complete(session)
        with pytest.raises(Blinded):
            plan_keys.read_released(session, complete.id)
    with world.database.write() as session:
        record = world.judged(session)
        private = plan_keys.read_released(session, record.id)
        assert sealing.public_half(private) == plan_keys.read_public(session, record.id)
        for batch in batches.read_all(session, record.id):
            sealing.open_batch(batch.sealed, record.plan_sha256, private)
        world.leaf(session, record, "erasure")
        plan_keys.erase(session, record.id)
        for read, *with_key in ((plan_keys.read_released,), (plan_keys.unwrap, world.runner_private)):
            with pytest.raises(Conflict) as refusal:
                read(session, record.id, *with_key)
            assert refusal.value.problem_code == "erased"


def test_a_draft_has_no_key(world):
    with world.database.write() as session:
        draft = world.draft(session)
        for read in (plan_keys.read_public, plan_keys.read_released, plan_keys.erase):
            with pytest.raises(NotFound, match="has no key"):
                read(session, draft.id)
        with pytest.raises(NotFound, match="no locked plan"):
            plan_keys.unwrap(session, draft.id, world.runner_private)
