from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import event

from service.api.http import authentication
from service.api.http.authentication import KeyCache
from service.domain.access import new_secret
from service.errors import Unauthorized
from service.store.projects import keys
from tests.api.http.conftest import NOON
from tests.every_route import DOCUMENT

pytestmark = pytest.mark.any_database


@pytest.fixture
def cache(database, clock):
    return KeyCache(database, 5.0, monotonic=clock.monotonic, now=clock.now)


def header(secret):
    return f"Bearer {secret}"


def find(cache, secret):
    return cache.find_cached(header(secret)) or cache.look_up(header(secret))


def test_a_key_is_read_once_in_five_seconds(database, cache, clock, new_key):
    key, secret = new_key("read")
    queries = []

    def note(_connection, _cursor, statement, *_more):
        if statement.startswith("SELECT"):
            queries.append(statement)

    event.listen(database.engine, "before_cursor_execute", note)
    for seconds in (0, 1, 4.9):
        clock.seconds = seconds
        assert find(cache, secret) == key
    assert len(queries) == 1
    clock.seconds = 5
    assert cache.find_cached(header(secret)) is None
    assert find(cache, secret) == key
    assert len(queries) == 2


def test_a_revoked_key_ends_within_five_seconds(database, cache, clock, new_key, project):
    key, secret = new_key("read")
    find(cache, secret)
    with database.write() as session:
        keys.revoke(session, project, key.id, NOON)
    clock.seconds = 5
    with pytest.raises(Unauthorized, match="revoked"):
        find(cache, secret)
    with pytest.raises(Unauthorized, match="revoked"):
        find(cache, secret)


def test_a_key_revoked_by_this_process_ends_at_once(database, cache, new_key, project):
    key, secret = new_key("read")
    other = new_key("read")[1]
    find(cache, secret)
    find(cache, other)
    with database.write() as session:
        keys.revoke(session, project, key.id, NOON)
    cache.forget(key.id)
    with pytest.raises(Unauthorized, match="revoked"):
        find(cache, secret)
    assert cache.find_cached(header(other)) is not None


def test_an_expired_key_ends_on_the_second_although_cached(cache, clock, new_key):
    _, secret = new_key("read", expires_at=NOON + timedelta(seconds=2))
    find(cache, secret)
    clock.seconds = 1.999
    assert cache.find_cached(header(secret)) is not None
    clock.seconds = 2
    with pytest.raises(Unauthorized, match="expired"):
        cache.find_cached(header(secret))


def test_what_cannot_be_a_key_is_refused_without_a_look_up(database, cache):
    def queried(*_call):
        raise AssertionError("the database was asked")

    event.listen(database.engine, "before_cursor_execute", queried)
    good = new_secret(bytes(32))
    for value in (
        None,
        "",
        "Bearer",
        "Bearer ",
        "Basic dXNlcjpwYXNz",
        "Bearer flk_short",
        header(good[:-1]),
        header(good.replace("000", "001", 1)),
        header(good.replace("flk_", "FLK_")),
        header(good + "\0"),
        header("flk_" + "0" * 43 + "00000\u00e9"),
        good,
    ):
        with pytest.raises(Unauthorized):
            cache.find_cached(value)
        with pytest.raises(Unauthorized):
            cache.look_up(value)


def test_an_unknown_key_is_not_remembered(cache):
    for byte in range(20):
        with pytest.raises(Unauthorized, match="unknown"):
            find(cache, new_secret(bytes([byte]) * 32))
    assert cache._entries == {}


def test_the_cache_is_bounded(cache, new_key, monkeypatch):
    monkeypatch.setattr(authentication, "MAX_CACHED", 3)
    for _ in range(10):
        find(cache, new_key("read")[1])
        assert len(cache._entries) <= 3


def test_last_use_is_written_outside_of_requests(database, cache, clock, new_key, project):
    key, secret = new_key("read")
    clock.seconds = 2
    find(cache, secret)
    with database.read() as session:
        assert keys.get(session, project, key.id).last_used_at is None
    cache.write_last_use()
    with database.read() as session:
        assert keys.get(session, project, key.id).last_used_at == NOON + timedelta(seconds=2)
    clock.seconds = 30
    find(cache, secret)
    cache.write_last_use()
    with database.read() as session:
        assert keys.get(session, project, key.id).last_used_at == NOON + timedelta(seconds=2)


def test_every_operation_but_health_asks_for_a_key(anonymous):
    open_paths = {"/health/live", "/health/ready"}
    public = {"/.well-known/forelock-keys.json"}  # and the ledger: hashes, for everybody
    for path, operations in DOCUMENT["paths"].items():
        for method, operation in operations.items():
            response = anonymous.request(method.upper(), path.replace("{", "").replace("}", ""))
            if path.startswith("/v1/ledger/") or path in public:
                assert operation["security"] == []
                assert response.status_code in (200, 404, 422)
            elif path in open_paths:
                assert operation["security"] == []
                assert response.status_code == 200
            else:
                assert operation["security"] != []
                if response.status_code != 404:  # an id that cannot be one is 404 before anything else
                    assert response.status_code == 401, (method, path)
                    assert response.headers["www-authenticate"].startswith("Bearer")
                    assert response.json()["code"] == "unauthorized"


def test_a_missing_scope_is_named(anonymous, key_with):
    response = anonymous.get("/v1/projects", headers=key_with("read", "admin"))
    assert response.status_code == 403
    assert response.json()["code"] == "forbidden"
    assert "'operator'" in response.json()["detail"]


def test_scopes_do_not_imply_one_another(anonymous, key_with):
    only_operator = key_with("operator")
    assert anonymous.get("/v1/keys", headers=only_operator).status_code == 403
    assert anonymous.post("/v1/tests/mcnemar", headers=only_operator, json={}).status_code == 403
    assert anonymous.get("/v1/projects", headers=only_operator).status_code == 200
