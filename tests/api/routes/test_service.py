from __future__ import annotations

import pytest
from sqlalchemy import event

from service.stats.shared.declaring.registry import library_versions
from tests.every_route import DOCUMENT

pytestmark = pytest.mark.any_database


def test_limits_are_those_that_are_enforced(client, settings):
    limits = client.get("/v1/limits").json()
    assert limits["body_bytes"] == settings.max_body_bytes
    assert limits["expanded_bytes"] == settings.max_expanded_bytes
    assert limits["batch_rows"] == settings.max_rows
    body = b"[" * (limits["json_depth"] + 1) + b"]" * (limits["json_depth"] + 1)
    response = client.post("/v1/tests/mcnemar", content=body, headers={"Content-Type": "application/json"})
    assert response.json()["code"] == "too_deep"
    assert client.get(f"/v1/keys?limit={limits['page_items']}").status_code == 200
    assert client.get(f"/v1/keys?limit={limits['page_items'] + 1}").status_code == 422


def test_the_version_names_what_numbers_depend_on(client):
    version = client.get("/v1/version").json()
    assert version["versions"] == library_versions()
    assert version["version"] == DOCUMENT["info"]["version"]


def test_alive_and_ready_without_a_key(anonymous):
    assert anonymous.get("/health/live").json() == {"status": "ok"}
    assert anonymous.get("/health/ready").json() == {"status": "ok", "jobs": "ok"}


def test_readiness_can_be_asked_for_ever_and_nothing_more_is_kept(anonymous, database):
    def ask():
        assert anonymous.get("/health/ready").status_code == 200
        return len(database.engine._compiled_cache)

    once = ask()
    assert [ask() for _ in range(5)] == [once] * 5


def test_not_ready_while_a_guarding_trigger_is_missing(anonymous, database):
    with database.engine.begin() as connection:
        on = " ON plans" if database.dialect == "postgresql" else ""
        connection.exec_driver_sql(f"DROP TRIGGER plans_guard_update{on}")
    response = anonymous.get("/health/ready")
    assert (response.status_code, response.json()["code"]) == (503, "not_ready")
    assert "plans_guard_update" in response.json()["errors"][0]["message"]
    assert anonymous.get("/health/live").status_code == 200


def test_not_ready_on_an_unknown_schema(anonymous, database):
    with database.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = 'from the future'")
    response = anonymous.get("/health/ready")
    assert (response.status_code, response.json()["code"]) == (503, "not_ready")
    assert response.headers["retry-after"] == "1"


def test_not_ready_without_a_database(anonymous, database):
    def fail(*_call):
        raise OSError("canary: no route to host")

    database.engine.dispose()
    event.listen(database.engine, "connect", fail)
    response = anonymous.get("/health/ready")
    event.remove(database.engine, "connect", fail)
    assert (response.status_code, response.json()["code"]) == (503, "not_ready")
    assert "canary" not in response.text


def test_metrics_count_by_route_and_hold_no_ids(client):
    client.get("/v1/limits")
    client.get("/v1/limits")
    client.delete("/v1/keys/some-id")
    client.request("BREW", "/v1/keys")
    response = client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=")
    text = response.text
    assert 'forelock_http_requests_total{method="GET",route="/v1/limits",status="200"} 2.0' in text
    assert 'route="/v1/keys/{id}",status="404"' in text
    assert 'method="OTHER"' in text
    assert "some-id" not in text
    assert "BREW" not in text


def test_metrics_tell_how_many_jobs_wait(client):
    body = {"both_correct": 9, "only_baseline": 1, "only_candidate": 7, "both_wrong": 4}
    client.post("/v1/tests/mcnemar", json=body, headers={"Prefer": "respond-async"})
    text = client.get("/metrics").text
    assert 'forelock_jobs{state="queued"} 1.0' in text
    assert 'forelock_jobs{state="running"} 0.0' in text


def test_metrics_are_the_operators(anonymous, key_with):
    assert anonymous.get("/metrics", headers=key_with("read", "admin")).status_code == 403
