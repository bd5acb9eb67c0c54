"""Breaking a plan's seals before its verdict, and destroying its rows: who may, what it does, and that it stays."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from service.domain.access import SCOPES
from service.keyring.keyring import Keyring
from service.store.database.tables import plan_keys as keys_table
from service.store.ledger import ledger
from service.store.plans import plan_keys
from tests.journeys.filings import filing

from .conftest import Service
from .plans import draft, idempotent, items, locked, post, small_plan

pytestmark = pytest.mark.any_database

N = 8
REASON = {"reason": "The judge answered nonsense."}
TWO = [
    {"id": "accuracy", "kind": "binary", "role": "primary"},
    {"id": "exact", "kind": "binary", "role": "secondary"},
]


def path(prereg_id: str, part: str = "") -> str:
    return f"/v1/preregistrations/{prereg_id}{part}"


def unblind(service: Service, prereg_id: str, **body: object):
    return service.client.post(path(prereg_id, "/unblinding"), json=REASON | body)


def erase(service: Service, prereg_id: str):
    return service.client.post(path(prereg_id, "/erasure"), json={"reason": "Personal data."})


def judged(service: Service) -> str:
    prereg_id = locked(service.client, small_plan(N))
    for arm in ("A", "B"):
        assert post(service.client, prereg_id, arm, items(N), [1.0] * N).status_code == 201
    service.run_jobs()
    return prereg_id


def rows(service: Service, prereg_id: str) -> list[dict]:
    answer = service.client.get(path(prereg_id, "/results"))
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


def test_results_are_read_after_an_unblinding_and_not_before(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    values = [1, 0, 1, 1]
    post(service.client, prereg_id, "A", items(4), values)
    assert service.client.get(path(prereg_id, "/results")).json()["code"] == "blinded"
    made = unblind(service, prereg_id)
    assert made.status_code == 201
    said = made.json()
    assert (said["unblinding"]["received"], said["unblinding"]["expected"]) == (4, 2 * N)
    assert said["receipt"]["kind"] == "unblinding"
    assert service.client.get(path(prereg_id, "/results")).json()["code"] == "blinded", (
        "the runner has the key"
    )
    service.run_jobs()
    assert service.client.get(f"/v1/jobs/{said['job_id']}").json()["state"] == "succeeded"
    assert [row["value"] for row in rows(service, prereg_id)] == values
    assert service.client.get(path(prereg_id, "/verdict")).json()["code"] == "blinded"


def test_a_part_is_shown_alone_and_the_rest_after_another_unblinding(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N, endpoints=TWO))
    for endpoint in ("accuracy", "exact"):
        body = {"arm": "A", "endpoint": endpoint, "item_ids": items(2), "values": [1, 0]}
        sent = service.client.post(
            path(prereg_id, "/results"), json=body, headers={"Idempotency-Key": endpoint}
        )
        assert sent.status_code == 201, sent.text
    assert unblind(service, prereg_id, endpoint="exact").status_code == 201
    service.run_jobs()
    assert {row["endpoint"] for row in rows(service, prereg_id)} == {"exact"}
    again = unblind(service, prereg_id, endpoint="exact", population="p")
    assert (again.status_code, again.json()["code"]) == (409, "already_unblinded")
    more = unblind(service, prereg_id)
    assert (more.status_code, more.json()["job_id"]) == (201, None), "the key has gone already"
    assert {row["endpoint"] for row in rows(service, prereg_id)} == {"exact", "accuracy"}


def test_it_needs_its_scope_a_person_a_reason_and_known_names(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    lacking = [scope for scope in SCOPES if scope != "unblind"]
    bare = {"Authorization": f"Bearer {service.key(*lacking)}"}
    assert service.client.post(path(prereg_id, "/unblinding"), json=REASON, headers=bare).status_code == 403
    made = service.client.post(
        "/v1/keys", json={"name": "job", "kind": "job", "scopes": ["unblind", "admin"]}
    )
    job = {"Authorization": f"Bearer {made.json()['secret']}"}
    for part in ("/unblinding", "/erasure"):
        refused = service.client.post(path(prereg_id, part), json=REASON, headers=job)
        assert (refused.status_code, refused.json()["code"]) == (403, "person_required")
        assert service.client.post(path(prereg_id, part), json={}).status_code == 422
        assert service.client.post(path(prereg_id, part), json={"reason": ""}).status_code == 422
    unknown = unblind(service, prereg_id, endpoint="speed")
    assert (unknown.status_code, unknown.json()["errors"][0]["path"]) == (422, "endpoint")
    assert unblind(service, draft(service.client, small_plan(N))).status_code == 409
    assert service.client.get(path(prereg_id)).json()["unblindings"] == []


def test_after_the_verdict_there_is_nothing_to_unblind(service: Service) -> None:
    answer = unblind(service, judged(service))
    assert (answer.status_code, answer.json()["code"]) == (409, "already_judged")


def test_the_mark_is_on_record_page_card_and_markdown_before_the_verdict_and_after(service: Service) -> None:
    client = service.client
    prereg_id = locked(client, small_plan(N))
    before = client.get(path(prereg_id))
    post(client, prereg_id, "A", items(N), [1.0] * N)
    collecting = client.get(path(prereg_id)).headers["ETag"]
    unblind(service, prereg_id)
    record = client.get(path(prereg_id), headers={"If-None-Match": collecting})
    assert record.status_code == 200, "the record looks otherwise now"
    assert record.json()["unblindings"][0]["reason"] == REASON["reason"]
    assert before.json()["unblindings"] == []
    client.cookies.clear()
    secret = str(client.headers["Authorization"]).removeprefix("Bearer ")
    client.post("/login", data={"key": secret})
    for part in ("/evidence", "/evidence.md", "/deviations.md", "/evidence.md?lang=zh"):
        told = client.get(path(prereg_id, part)).text
        assert REASON["reason"] in told, part
    assert REASON["reason"] in client.get(f"/preregistrations/{prereg_id}").text
    post(client, prereg_id, "B", items(N), [1.0] * N)
    service.run_jobs()
    verdict = client.get(path(prereg_id, "/verdict")).json()
    assert verdict["hypotheses"][0]["outcome"] == "invalid"
    (mark,) = verdict["marks"]
    assert (mark["code"], mark["effect"], mark["batches"]) == ("unblinded", "invalid", [2])
    for part in ("/evidence", "/evidence.md", "/deviations.md"):
        assert mark["says"] in client.get(path(prereg_id, part)).text, part
    assert mark["says"] in client.get(f"/preregistrations/{prereg_id}").text
    assert len(rows(service, prereg_id)) == 2 * N


def test_an_unblinding_of_all_results_leaves_a_flag_and_the_outcome(service: Service) -> None:
    client = service.client
    prereg_id = locked(client, small_plan(N))
    for arm in ("A", "B"):
        post(client, prereg_id, arm, items(N), [float(arm == "B")] * N)
    assert client.get(path(prereg_id)).json()["state"] == "complete"
    assert unblind(service, prereg_id).status_code == 201
    service.run_jobs()
    verdict = client.get(path(prereg_id, "/verdict")).json()
    assert (verdict["marks"][0]["effect"], verdict["hypotheses"][0]["outcome"]) == ("flag", "supported")


def test_both_are_in_the_audit_log_and_refusals_too(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    unblind(service, prereg_id)
    unblind(service, prereg_id)
    erase(service, prereg_id)
    erase(service, prereg_id)
    events = service.client.get(f"/v1/audit?subject={prereg_id}").json()["items"]
    assert [each["action"] for each in events[:4]] == [
        "preregistration.erase.refused",
        "preregistration.erase",
        "preregistration.unblind.refused",
        "preregistration.unblind",
    ]


# --- the key ---


def stored_key(service: Service, prereg_id: str) -> tuple[bytes | None, bytes | None]:
    with service.database.read() as session:
        statement = sa.select(keys_table.c.wrapped_key, keys_table.c.released_key)
        return tuple(session.execute(statement.where(keys_table.c.preregistration_id == prereg_id)).one())


def test_the_database_lets_no_key_go_without_a_verdict_or_an_unblinding_on_record(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    with pytest.raises(sa.exc.DBAPIError), service.database.write() as session:
        plan_keys.release(session, prereg_id, bytes(32))
    assert stored_key(service, prereg_id)[1] is None
    assert unblind(service, prereg_id).status_code == 201
    service.run_jobs()
    assert stored_key(service, prereg_id)[1] is not None
    with pytest.raises(sa.exc.DBAPIError), service.database.write() as session:
        session.execute(sa.update(keys_table).values(released_key=bytes(32)))
    with pytest.raises(sa.exc.DBAPIError), service.database.write() as session:
        plan_keys.erase(session, prereg_id)


def test_the_api_process_loads_no_private_seal(service: Service) -> None:
    assert service.app.state.services.keyring.seal_private is None
    assert Keyring.load(service.settings.data_dir / "keys").seal_private is None
    assert Keyring.load(service.settings.data_dir / "keys", private=True).seal_private is not None


# --- erasing ---


def test_erased_rows_are_never_read_again_and_the_verdict_stays(service: Service) -> None:
    client = service.client
    prereg_id = judged(service)
    verdict = client.get(path(prereg_id, "/verdict"))
    rows(service, prereg_id)
    client.get(path(prereg_id, "/multiverse"))
    filed = dict.fromkeys(("title", "original", "actual", "reason", "impact"), "Words.")
    filed |= {"direction": "unknown", "outcomes_seen": True}
    assert client.post(path(prereg_id, "/deviations"), json=filed).status_code == 201
    assert "erased" not in str(client.get(path(prereg_id, "/deviations")).json()["consequences"]["reasons"])
    done = erase(service, prereg_id)
    assert done.status_code == 201
    assert done.json()["can_check"]
    assert done.json()["cannot_check"]
    assert stored_key(service, prereg_id) == (None, None)
    for part in ("/results", "/calibration"):
        if part == "/results":
            refused = client.get(path(prereg_id, part))
        else:
            refused = client.post(path(prereg_id, part), json={"runs": 1000, "seed": 1})
        assert (refused.status_code, refused.json()["code"]) == (409, "erased"), part
    told = client.get(path(prereg_id, "/deviations")).json()["consequences"]
    assert "erased" in str(told["reasons"]), "it does not come from what was computed before"
    assert client.get(path(prereg_id, "/verdict")).content == verdict.content
    assert client.get(path(prereg_id)).json()["erasure"]["reason"] == "Personal data."
    for part in ("/imports", "/bundle", "/evidence", "/batches"):
        assert client.get(path(prereg_id, part)).status_code == 200, part
    again = erase(service, prereg_id)
    assert (again.status_code, again.json()["code"]) == (409, "erased")


def test_nothing_comes_in_or_is_judged_after_an_erasure(service: Service) -> None:
    client = service.client
    prereg_id = locked(client, small_plan(N))
    assert post(client, prereg_id, "A", items(N), [1.0] * N).status_code == 201
    assert erase(service, prereg_id).status_code == 201
    refused = post(client, prereg_id, "B", items(N), [1.0] * N)
    assert (refused.status_code, refused.json()["code"]) == (409, "erased")
    assert unblind(service, prereg_id).json()["code"] == "erased"
    complete = locked(client, small_plan(N))
    for arm in ("A", "B"):
        post(client, complete, arm, items(N), [1.0] * N)
    assert erase(service, complete).status_code == 201
    service.run_jobs()
    assert client.get(path(complete, "/verdict")).json()["code"] == "verdict_failed"


def test_an_erased_key_is_nowhere_in_the_file(service: Service) -> None:
    """Of SQLite: pages are overwritten, and the journal beside the file is emptied."""
    if service.database.dialect != "sqlite":
        pytest.skip("Postgres keeps dead rows until it vacuums; docs/blinding.md says so")
    from pathlib import Path

    prereg_id = judged(service)
    wrapped, released = stored_key(service, prereg_id)
    assert wrapped is not None
    assert released is not None
    file = Path(str(service.database.url.database))
    assert erase(service, prereg_id).status_code == 201
    for each in (file, file.with_name(file.name + "-wal")):
        content = each.read_bytes() if each.exists() else b""
        assert wrapped not in content, each.name
        assert released not in content, each.name


def test_the_ledger_says_both(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    unblind(service, prereg_id)
    erase(service, prereg_id)
    with service.database.read() as session:
        kinds = [each.kind for each in ledger.read_receipts(session, prereg_id)]
    assert kinds == ["plan_locked", "unblinding", "erasure"]


def test_an_early_close_after_an_unblinding_makes_the_verdict_invalid(service: Service) -> None:
    """Whoever has seen outcomes could end where they please."""
    client = service.client
    change = {"kind": "n", "population": "p", "n": 4, "dropped_favour": "neither"}
    outcomes = []
    for opened in (False, True):
        prereg_id = locked(client, small_plan(N, missing="worst_case"))
        for arm in ("A", "B"):
            post(client, prereg_id, arm, items(4), [float(arm == "B")] * 4)
        assert not opened or unblind(service, prereg_id).status_code == 201
        assert client.post(path(prereg_id, "/deviations"), json=filing(change)).status_code == 201
        closed = client.post(
            path(prereg_id, "/close"),
            json={"reason": "The budget is gone.", "deviation": 1},
            headers=idempotent(),
        )
        assert closed.status_code == 200, closed.text
        service.run_jobs()
        verdict = client.get(path(prereg_id, "/verdict")).json()
        outcomes.append((verdict["hypotheses"][0]["outcome"], verdict["marks"][0]["effect"]))
    assert outcomes[0][0] != "invalid"
    assert outcomes[1] == ("invalid", "invalid")
