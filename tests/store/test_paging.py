from __future__ import annotations

import base64
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.errors import InvalidData
from service.store.plans import preregistrations, record_lists
from service.store.projects import audit
from service.store.verdicts import verdicts
from tests.drawing import draws


def cursor_of(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


TIME = "2026-03-01T12:00:00+00:00"
BROKEN = [
    "",
    "x",
    "é",
    "\ud800",
    "====",
    "a" * 5000,
    cursor_of([]),
    cursor_of({}),
    cursor_of(None),
    cursor_of(3),
    cursor_of([TIME]),
    cursor_of([TIME, "r1", "more"]),
    cursor_of([TIME, None]),
    cursor_of([TIME, ["r1"]]),
    cursor_of([TIME, "nul \x00"]),
    cursor_of([TIME, "half \ud800"]),
    cursor_of([12, "r1"]),
    cursor_of(["2026-03-01T12:00:00", "r1"]),
    cursor_of(["0001-01-01T00:00:00+14:00", "r1"]),
    cursor_of(["9999-12-31T23:59:59-14:00", "r1"]),
    cursor_of(["not a time", "r1"]),
    base64.urlsafe_b64encode(b"[" * 100_000).decode(),
    base64.urlsafe_b64encode(b"\xff\xfe").decode(),
]


def test_a_broken_cursor_is_bad_data_and_named(world):
    with world.database.read() as session:
        for cursor in BROKEN:
            with pytest.raises(InvalidData) as refusal:
                record_lists.read_page(session, "project", cursor=cursor)
            assert refusal.value.faults[0].path == "cursor"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=draws(30), deadline=None)
@given(st.one_of(st.text(), st.binary().map(lambda data: base64.urlsafe_b64encode(data).decode())))
def test_no_cursor_breaks_a_list(world, cursor):
    with world.database.read() as session:
        for list_page in (record_lists.read_page, verdicts.read_page, audit.read_page):
            with pytest.raises(InvalidData):
                list_page(session, "project", cursor=cursor)


@pytest.mark.parametrize("number", [-1, 2**63, True, 1.5, "1"])
def test_a_number_in_a_cursor_is_one_the_database_has(world, number):
    with world.database.read() as session, pytest.raises(InvalidData):
        audit.read_page(session, "project", cursor=cursor_of([number]))


def test_pages_stay_right_while_rows_arrive(world):
    with world.database.write() as session:
        first = [world.draft(session).id for _ in range(5)]
    with world.database.read() as session:
        page, cursor = record_lists.read_page(session, "project", limit=2)
    with world.database.write() as session:
        world.draft(session)
    seen = [record.id for record in page]
    with world.database.read() as session:
        while cursor is not None:
            page, cursor = record_lists.read_page(session, "project", limit=2, cursor=cursor)
            seen += [record.id for record in page]
    assert seen == first[::-1]


def test_a_last_page_that_is_full_has_no_successor(world):
    with world.database.write() as session:
        for _ in range(4):
            world.draft(session)
    with world.database.read() as session:
        assert record_lists.read_page(session, "project", limit=4)[1] is None
        assert record_lists.read_page(session, "project", limit=3)[1] is not None


def test_limits_are_kept(world):
    with world.database.write() as session:
        for _ in range(3):
            world.draft(session)
    with world.database.read() as session:
        assert len(record_lists.read_page(session, "project", limit=0)[0]) == 1
        assert len(record_lists.read_page(session, "project", limit=10**9)[0]) == 3


def found_by(session, search, **options):
    lines, following = record_lists.read_page(session, "project", search=search, **options)
    return [each.id for each in lines], following


def test_a_search_finds_words_of_title_and_id_in_any_case(world):
    with world.database.write() as session:
        for title in ("Caching helps", "100% of caching", "Über_caching 缓存"):
            world.draft(session, title=title)
        world.locked(session, title="Retries")
        world.draft(session, project_id="other", title="Caching elsewhere")
    with world.database.read() as session:
        assert found_by(session, "CACHING") == (["r3", "r2", "r1"], None)
        assert found_by(session, "helps cach") == (["r1"], None)
        assert found_by(session, "%") == (["r2"], None)
        assert found_by(session, "_") == (["r3"], None)
        assert found_by(session, "über") == (["r3"], None)
        assert found_by(session, "缓存") == (["r3"], None)
        assert found_by(session, "R4") == (["r4"], None)
        assert found_by(session, "retries", state="draft") == ([], None)
        assert found_by(session, "retries", state="locked") == (["r4"], None)
        assert found_by(session, "nothing") == ([], None)


def test_a_search_follows_edits_and_deletions(world):
    with world.database.write() as session:
        record = world.draft(session, title="Caching")
        record = preregistrations.replace_draft(session, record, world.plan("Retries"))
        assert found_by(session, "caching") == ([], None)
        assert found_by(session, "retries") == (["r1"], None)
        preregistrations.delete_draft(session, record)
        assert found_by(session, "retries") == ([], None)


def test_a_search_looks_at_a_bounded_number_and_goes_on_from_there(world, monkeypatch):
    monkeypatch.setattr(record_lists, "MOST_SEARCHED", 3)
    with world.database.write() as session:
        for number in range(10):
            world.draft(session, title="wanted" if number in (1, 8) else "other")
    with world.database.read() as session:
        pages, cursor = [], None
        while True:
            found, cursor = found_by(session, "wanted", cursor=cursor)
            pages.append(found)
            if cursor is None:
                break
        assert pages == [["r9"], [], ["r2"], []]
        assert found_by(session, "other", limit=1)[0] == ["r10"]
