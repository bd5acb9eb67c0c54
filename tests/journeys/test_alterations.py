"""Rows changed past the service, with the guards out of the way: told, marked, and neither used nor served."""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from forelock.cli import main
from service.actions.verdicts import headlines
from service.domain.canonical import canonical
from service.domain.results import sealing
from service.domain.results.batches import PlacedBatch
from service.domain.results.secret_rows import SecretRows
from service.store.ledger import ledger
from service.store.results import batches
from service.store.verdicts import verdicts
from tests.drawing import mostly_slow
from tests.journeys.conftest import Service
from tests.journeys.plans import draft, locked, post, small_plan

N = 10
ITEMS = [f"question {i}" for i in range(N)]


@contextmanager
def unguarded(service: Service, table: str) -> Iterator[Session]:
    """A session of one who can switch a table's guards off, and on again so that nobody sees it."""
    with service.database.write() as session:
        if service.database.dialect == "postgresql":
            found = "SELECT tgname, '' FROM pg_trigger WHERE tgrelid = CAST(:table AS regclass) AND NOT tgisinternal"
            off, on = (
                f"ALTER TABLE {table} DISABLE TRIGGER %s",
                f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER %s",
            )
        else:
            found = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = :table"
            off, on = "DROP TRIGGER %s", ""
        guards = session.execute(sa.text(found), {"table": table}).all()
        for name, _ in guards:
            session.execute(sa.text(off % name))
        yield session
        for name, text in guards:
            session.connection().exec_driver_sql(text or on % name)


def tamper(service: Service, table: str, change: str, where: str, **values: Any) -> None:
    """Change rows past the guards."""
    with unguarded(service, table) as session:
        session.execute(sa.text(f"UPDATE {table} SET {change} WHERE {where}"), values)


def stored(
    service: Service, columns: str, table: str, prereg_id: str, name: str = "preregistration_id"
) -> Any:
    with service.database.read() as session:
        statement = sa.text(f"SELECT {columns} FROM {table} WHERE {name} = :id")
        return session.execute(statement, {"id": prereg_id}).first()


def a_locked(service: Service, title: str = "Altered", prefix: str = "") -> str:
    manifest = {"p": {"item_ids": [prefix + each for each in ITEMS]}}
    return locked(service.client, small_plan(N, title=title), manifest)


def fill(service: Service, prereg_id: str) -> None:
    for arm, values in (("A", [0.0] * N), ("B", [1.0] * N)):
        assert post(service.client, prereg_id, arm, ITEMS, values).status_code == 201


def judged(service: Service) -> str:
    prereg_id = a_locked(service)
    fill(service, prereg_id)
    assert service.run_jobs() == 1
    assert service.client.get(f"/v1/preregistrations/{prereg_id}/verdict").status_code == 200
    return prereg_id


def refused(service: Service, path: str, **how: Any) -> None:
    """A 500 of its own code that repeats nothing, and readiness is red."""
    answer = service.client.request(how.pop("method", "GET"), path, **how)
    assert (answer.status_code, answer.json()["code"]) == (500, "record_altered"), answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    red(service)


def red(service: Service) -> None:
    ready = service.client.get("/health/ready")
    assert (ready.status_code, ready.json()["code"]) == (503, "not_ready")
    assert "altered" in ready.json()["detail"]


def listed(service: Service, path: str, **which: str) -> Mapping[str, Any]:
    answer = service.client.get(path)
    assert answer.status_code == 200, answer.text
    (found,) = (each for each in answer.json()["items"] if which.items() <= each.items())
    return found


def weaker(canonical_text: str) -> str:
    changed = canonical_text.replace("delta >= 2.0 pp", "delta >= 0.1 pp")
    assert changed != canonical_text
    return changed


def test_an_altered_plan_is_neither_used_nor_served_and_the_list_goes_on(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    sound, prereg_id = a_locked(service, "Sound"), a_locked(service)
    (text,) = stored(service, "canonical", "plans", prereg_id)
    assert service.client.get("/health/ready").status_code == 200
    tamper(service, "plans", "canonical = :text", "preregistration_id = :id", text=weaker(text), id=prereg_id)
    path = f"/v1/preregistrations/{prereg_id}"
    refused(service, path)
    for more in ("/prereg.md", "/progress", "/evidence", "/populations/p/items", "/receipt"):
        refused(service, path + more)
    answer = post(service.client, prereg_id, "A", ITEMS, [1.0] * N)
    assert (answer.status_code, answer.json()["code"]) == (500, "record_altered")
    assert listed(service, "/v1/preregistrations", id=prereg_id)["altered"] is True
    assert listed(service, "/v1/preregistrations", id=sound)["altered"] is False
    assert service.client.get(f"/v1/preregistrations/{sound}").status_code == 200
    told = [each for each in caplog.records if each.name == "forelock.integrity"]
    assert [vars(each)["fields"] for each in told] == [{"kind": "plan", "subject": prereg_id}]
    assert all(each.levelno == logging.ERROR for each in told)


def test_a_plan_altered_with_its_hashes_is_not_the_one_in_the_ledger(service: Service) -> None:
    prereg_id = a_locked(service)
    (text,) = stored(service, "canonical", "plans", prereg_id)
    forged = weaker(text)
    sha256 = hashlib.sha256(forged.encode()).hexdigest()
    both = {"sha": sha256, "id": prereg_id}
    tamper(
        service, "plans", "canonical = :text, sha256 = :sha", "preregistration_id = :id", text=forged, **both
    )
    tamper(service, "preregistrations", "plan_sha256 = :sha", "id = :id", **both)
    refused(service, f"/v1/preregistrations/{prereg_id}")


def test_an_altered_plan_is_not_judged(service: Service) -> None:
    prereg_id = a_locked(service)
    fill(service, prereg_id)
    (text,) = stored(service, "canonical", "plans", prereg_id)
    tamper(service, "plans", "canonical = :text", "preregistration_id = :id", text=weaker(text), id=prereg_id)
    assert service.run_jobs() == 1
    assert stored(service, "sha256", "verdicts", prereg_id) is None
    red(service)
    tamper(service, "plans", "canonical = :text", "preregistration_id = :id", text=text, id=prereg_id)
    answer = service.client.get(f"/v1/preregistrations/{prereg_id}/verdict")
    assert answer.json()["code"] == "verdict_failed"
    assert "altered" in answer.json()["detail"]


def test_an_altered_list_of_items_is_not_used(service: Service) -> None:
    prereg_id = a_locked(service, prefix="altered ")
    other = draft(service.client, small_plan(N), {"p": {"item_ids": list(reversed(ITEMS))}})
    content, sha256 = stored(service, "content, items_sha256", "manifests", other)
    where = {"where": "preregistration_id = :id", "id": prereg_id}
    tamper(service, "manifests", "content = :content", content=content, **where)
    path = f"/v1/preregistrations/{prereg_id}/populations/p/items"
    refused(service, path)
    answer = post(service.client, prereg_id, "A", ITEMS, [1.0] * N)
    assert (answer.status_code, answer.json()["code"]) == (500, "record_altered")
    tamper(service, "manifests", "items_sha256 = :sha", sha=sha256, **where)
    refused(service, path)
    tamper(service, "manifests", "content = :content", content=b"\x00", **where)
    refused(service, path)


def test_a_verdict_is_served_byte_for_byte_as_it_was_hashed(service: Service) -> None:
    prereg_id = judged(service)
    text, sha256 = stored(service, "canonical, sha256", "verdicts", prereg_id)
    answer = service.client.get(f"/v1/preregistrations/{prereg_id}/verdict")
    assert answer.content == text.encode()
    assert hashlib.sha256(answer.content).hexdigest() == sha256
    assert answer.headers["ETag"] == f'"{sha256}"'
    again = service.client.get(
        f"/v1/preregistrations/{prereg_id}/verdict", headers={"If-None-Match": answer.headers["ETag"]}
    )
    assert again.status_code == 304
    with service.database.read() as session:
        assert ledger.read_bodies(session, prereg_id, kind="verdict")[0]["verdict_sha256"] == sha256


def test_a_locked_plan_is_served_as_it_was_hashed(service: Service) -> None:
    prereg_id = a_locked(service)
    text, sha256 = stored(service, "canonical, sha256", "plans", prereg_id)
    answer = service.client.get(f"/v1/preregistrations/{prereg_id}")
    assert f'"plan":{text},' in answer.text
    assert answer.json()["plan_sha256"] == sha256
    assert hashlib.sha256(canonical(answer.json()["plan"])).hexdigest() == sha256


def test_a_verdict_of_an_earlier_release_is_served_as_it_was_hashed(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fields that models have learnt since stand in no stored verdict."""

    def before(value: dict[str, Any]) -> bytes:
        earlier = {name: part for name, part in value.items() if name != "primary_outcomes"}
        hypotheses = [
            {name: part for name, part in each.items() if name not in ("family", "strata", "judge")}
            for each in value["hypotheses"]
        ]
        return canonical(earlier | {"hypotheses": hypotheses})

    monkeypatch.setattr(verdicts, "canonical", before)
    prereg_id = judged(service)
    monkeypatch.undo()
    text, sha256 = stored(service, "canonical, sha256", "verdicts", prereg_id)
    answer = service.client.get(f"/v1/preregistrations/{prereg_id}/verdict")
    assert answer.content == text.encode()
    assert "primary_outcomes" not in answer.json()
    in_words = service.client.get(f"/v1/preregistrations/{prereg_id}/verdict/sentences").json()
    assert in_words["verdict_sha256"] == sha256
    assert in_words["hypotheses"]
    assert service.client.get("/health/ready").status_code == 200


@pytest.mark.parametrize("how", mostly_slow(["hash too", "text", "nothing to read"]))
def test_an_altered_verdict_is_not_served_and_the_list_goes_on(service: Service, how: str) -> None:
    sound, prereg_id = judged(service), judged(service)
    text, sha256 = stored(service, "canonical, sha256", "verdicts", prereg_id)
    forged = "{" if how == "nothing to read" else text.replace('"supported"', '"not_supported"')
    if how == "hash too":
        sha256 = hashlib.sha256(forged.encode()).hexdigest()
    values = {"text": forged, "sha": sha256, "id": prereg_id}
    tamper(service, "verdicts", "canonical = :text, sha256 = :sha", "preregistration_id = :id", **values)
    fresh(service)
    for path in ("/verdict", "/verdict/sentences", "/evidence", "/deviations", "/multiverse"):
        refused(service, f"/v1/preregistrations/{prereg_id}{path}")
    if how == "hash too":
        line = listed(service, "/v1/verdicts", preregistration_id=prereg_id)
        assert (line["outcome"], line["headline"], line["altered"]) == (None, None, True)
    line = listed(service, "/v1/verdicts", preregistration_id=sound)
    assert (line["outcome"], line["altered"]) == ("supported", False)
    assert line["headline"]
    page = service.client
    secret = service.key("read")
    assert page.post("/login", data={"key": secret}).status_code in (200, 303)
    answer = page.get("/preregistrations")
    assert answer.status_code == 200
    assert answer.text.count("altered:") == 1
    assert page.get(f"/preregistrations/{prereg_id}").status_code == 500
    assert page.get(f"/preregistrations/{sound}").status_code == 200


def test_a_forged_line_of_the_list_is_marked(service: Service) -> None:
    prereg_id = judged(service)
    tamper(service, "verdict_hypotheses", "outcome = 'equivalent'", "preregistration_id = :id", id=prereg_id)
    line = listed(service, "/v1/verdicts", preregistration_id=prereg_id)
    assert (line["outcome"], line["headline"], line["altered"]) == (None, None, True)
    red(service)


def test_no_headline_stands_on_an_altered_plan(service: Service) -> None:
    sound, prereg_id = judged(service), judged(service)
    (text,) = stored(service, "canonical", "plans", prereg_id)
    forged = text.replace('"title":"', '"title":"Not ')
    assert forged != text
    tamper(service, "plans", "canonical = :text", "preregistration_id = :id", text=forged, id=prereg_id)
    fresh(service)
    line = listed(service, "/v1/verdicts", preregistration_id=prereg_id)
    assert (line["outcome"], line["headline"]) == ("supported", None)
    assert listed(service, "/v1/verdicts", preregistration_id=sound)["headline"]


def test_a_forged_state_is_not_shown(service: Service) -> None:
    prereg_id = a_locked(service)
    times = "complete_at = locked_at, judged_at = locked_at"
    tamper(service, "preregistrations", f"state = 'judged', {times}", "id = :id", id=prereg_id)
    refused(service, f"/v1/preregistrations/{prereg_id}")


def test_a_record_that_only_says_that_it_is_complete_is_not_judged(service: Service) -> None:
    prereg_id = a_locked(service)
    assert post(service.client, prereg_id, "A", ITEMS, [0.0] * N).status_code == 201
    tamper(
        service, "preregistrations", "state = 'complete', complete_at = locked_at", "id = :id", id=prereg_id
    )
    queued = service.client.post(f"/v1/preregistrations/{prereg_id}/verdict")
    assert queued.status_code == 202
    service.run_jobs()
    assert stored(service, "sha256", "verdicts", prereg_id) is None


@pytest.mark.parametrize("commitment", ["kept", "forged too"])
def test_results_put_in_the_place_of_others_are_not_judged(service: Service, commitment: str) -> None:
    """Whoever has the database has the public key too, and can seal what they like."""
    prereg_id = a_locked(service)
    fill(service, prereg_id)
    with service.database.read() as session:
        batch = batches.get(session, prereg_id, 2)
    (sha256,) = stored(service, "sha256", "plans", prereg_id)
    (public,) = stored(service, "public_key", "plan_keys", prereg_id)
    true = batch.sealed
    placed = PlacedBatch(
        true.head,
        np.frombuffer(true.positions, "<i4"),
        np.frombuffer(true.replicates, "<u2"),
        SecretRows(np.zeros(N), np.zeros(N, dtype=np.uint8)),
    )
    forged = sealing.seal_batch(
        placed,
        secrets.token_bytes(16),
        plan_public=bytes(public),
        plan_sha256=sha256,
        preregistration_id=prereg_id,
        sequence=true.sequence,
    )
    said = forged.commitment_sha256 if commitment == "forged too" else true.commitment_sha256
    values = {"sealed": forged.ciphertext, "said": said, "id": prereg_id}
    where = "preregistration_id = :id AND sequence = 2"
    tamper(service, "batches", "sealed = :sealed, commitment_sha256 = :said", where, **values)
    if commitment == "forged too":
        line = listed(service, f"/v1/preregistrations/{prereg_id}/batches", arm="B")
        assert line["altered"] is True
    assert service.run_jobs() == 1
    assert stored(service, "sha256", "verdicts", prereg_id) is None
    red(service)


def test_a_batch_struck_past_the_service_is_missed(service: Service) -> None:
    prereg_id = a_locked(service)
    fill(service, prereg_id)
    with unguarded(service, "batch_voids") as session:
        strike = "INSERT INTO batch_voids SELECT preregistration_id, sequence, 'x', key_id, received_at FROM batches"
        session.execute(sa.text(strike + " WHERE sequence = 2"))
    assert service.run_jobs() == 1
    assert stored(service, "sha256", "verdicts", prereg_id) is None
    red(service)


def test_a_kept_answer_with_other_bytes_is_refused(service: Service) -> None:
    prereg_id = a_locked(service)
    assert post(service.client, prereg_id, "A", ITEMS, [1.0] * N, key="once").status_code == 201
    assert post(service.client, prereg_id, "A", ITEMS, [1.0] * N, key="once").status_code == 201
    tamper(service, "idempotency", "body = :body", "idempotency_key = 'once'", body=b'{"batch":7')
    answer = post(service.client, prereg_id, "A", ITEMS, [1.0] * N, key="once")
    assert (answer.status_code, answer.json()["code"]) == (500, "record_altered")
    red(service)
    assert post(service.client, prereg_id, "B", ITEMS, [1.0] * N).status_code == 201


def test_an_altered_deviation_is_not_served(service: Service) -> None:
    prereg_id = a_locked(service)
    words = dict.fromkeys(("title", "original", "actual", "reason", "impact"), "Words.")
    filing = words | {"direction": "unknown", "outcomes_seen": False}
    path = f"/v1/preregistrations/{prereg_id}/deviations"
    filed = service.client.post(path, json=filing)
    assert filed.status_code == 201, filed.text
    text, sha256 = stored(service, "canonical, sha256", "deviations", prereg_id)
    assert service.client.get(path).json()["items"][0]["deviation_sha256"] == sha256
    changed = text.replace("needs_review", "accept")
    tamper(service, "deviations", "canonical = :text", "preregistration_id = :id", text=changed, id=prereg_id)
    refused(service, path)


def test_a_draft_that_cannot_be_read_is_an_error_of_its_own(service: Service) -> None:
    plan = {"title": "One", "populations": []}
    created = [service.client.post("/v1/preregistrations", json=plan).json()["id"] for _ in range(2)]
    tamper(service, "preregistrations", "draft = :text, revision = 2", "id = :id", text="{", id=created[0])
    refused(service, f"/v1/preregistrations/{created[0]}")
    assert service.client.get(f"/v1/preregistrations/{created[1]}").status_code == 200
    assert {each["id"] for each in service.client.get("/v1/preregistrations").json()["items"]} == set(created)


def test_a_receipt_carries_a_leaf_that_anybody_can_hash(service: Service) -> None:
    prereg_id = a_locked(service)
    posted = post(service.client, prereg_id, "A", ITEMS, [1.0, 0.0] * (N // 2)).json()["receipt"]
    lock = service.client.get(f"/v1/preregistrations/{prereg_id}/receipt").json()
    for receipt in (posted, lock):
        assert hashlib.sha256(b"\0" + receipt["leaf"].encode()).hexdigest() == receipt["leaf_sha256"]
    leaf = json.loads(posted["leaf"])
    assert leaf["body"]["batch"] == 1
    with service.database.read() as session:
        batch = batches.get(session, prereg_id, 1)
    salt = bytes.fromhex(leaf["salt"])
    for outcome in range(2**N):  # its salt does not tell what the results are
        values = np.array([outcome >> bit & 1 for bit in range(N)], dtype=np.float64)
        rows = SecretRows(values, np.zeros(N, dtype=np.uint8))
        assert batch.sealed.commitment(salt, rows) != batch.sealed.commitment_sha256


def fresh(service: Service) -> None:
    """Forget what the process has compared, as another process has not compared it."""
    verdicts._statements._known.clear()
    headlines._known._known.clear()


def flip(service: Service, prereg_id: str, arm: str, bit: int, received: str = "received") -> None:
    """Change one bit of what counts as in."""
    where = "preregistration_id = :id AND arm = :arm"
    with service.database.read() as session:
        found = session.execute(
            sa.text(f"SELECT bitmap FROM coverage WHERE {where}"), {"id": prereg_id, "arm": arm}
        )
        bitmap = bytearray(found.scalar_one())
    bitmap[bit // 8] ^= 1 << bit % 8
    values = {"bitmap": bytes(bitmap), "id": prereg_id, "arm": arm}
    tamper(service, "coverage", f"bitmap = :bitmap, received = {received}", where, **values)


def rebuild(service: Service, prereg_id: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """What the command says."""
    url = service.database.url.render_as_string(hide_password=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORELOCK_DATABASE_URL", url)
        patch.setenv("FORELOCK_DATA_DIR", str(service.settings.data_dir))
        code = main(["rebuild-coverage", prereg_id])
    return code, capsys.readouterr().out


def test_a_flipped_bit_is_seen_before_a_result_is_taken_twice(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    prereg_id = a_locked(service)
    assert post(service.client, prereg_id, "A", ITEMS[:5], [1.0] * 5).status_code == 201
    flip(service, prereg_id, "A", 2)
    for items in (ITEMS[2:3], ITEMS[5:]):
        answer = post(service.client, prereg_id, "A", items, [1.0] * len(items))
        assert (answer.status_code, answer.json()["code"]) == (500, "record_altered")
    red(service)
    assert rebuild(service, prereg_id, capsys) == (0, "5 of 20 results are in; cells made anew: 1\n")
    assert service.client.get("/health/ready").status_code == 200
    assert post(service.client, prereg_id, "A", ITEMS[2:3], [1.0]).json()["code"] == "duplicate_results"
    assert post(service.client, prereg_id, "A", ITEMS[5:], [1.0] * 5).status_code == 201
    assert post(service.client, prereg_id, "B", ITEMS, [0.0] * N).status_code == 201
    assert service.run_jobs() == 1
    assert service.client.get(f"/v1/preregistrations/{prereg_id}/verdict").status_code == 200


def test_a_record_that_took_a_result_twice_is_not_complete_until_one_is_voided(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    """The bit and the count were changed together: the batches tell."""
    prereg_id = a_locked(service)
    assert post(service.client, prereg_id, "A", ITEMS, [1.0] * N).status_code == 201
    flip(service, prereg_id, "A", 2, "received - 1")
    assert post(service.client, prereg_id, "A", ITEMS[2:3], [0.0]).status_code == 201
    answer = post(service.client, prereg_id, "B", ITEMS, [0.0] * N)
    assert (answer.status_code, answer.json()["code"]) == (500, "record_altered")
    red(service)
    assert post(service.client, prereg_id, "B", ITEMS[:9], [0.0] * 9).status_code == 201
    code, said = rebuild(service, prereg_id, capsys)
    assert (code, "an earlier one has: 2." in said) == (1, True)
    voided = service.client.post(f"/v1/preregistrations/{prereg_id}/batches/2/void", json={"reason": "twice"})
    assert voided.status_code == 200, voided.text
    assert post(service.client, prereg_id, "B", ITEMS[9:], [0.0]).json()["state"] == "complete"
    assert service.run_jobs() == 1
    assert service.client.get(f"/v1/preregistrations/{prereg_id}/verdict").status_code == 200


def test_rebuilding_completes_a_record_whose_results_are_all_in(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    prereg_id = a_locked(service)
    assert post(service.client, prereg_id, "A", ITEMS, [1.0] * N).status_code == 201
    flip(service, prereg_id, "A", 2, "received - 1")
    assert post(service.client, prereg_id, "B", ITEMS, [0.0] * N).json()["state"] == "collecting"
    code, said = rebuild(service, prereg_id, capsys)
    assert (code, "the verdict is queued" in said) == (0, True)
    assert service.run_jobs() == 1
    assert service.client.get(f"/v1/preregistrations/{prereg_id}/verdict").status_code == 200


def test_alterations_are_listed_and_forgotten(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    prereg_id = judged(service)
    tamper(service, "verdict_hypotheses", "outcome = 'equivalent'", "preregistration_id = :id", id=prereg_id)
    assert service.client.get("/v1/verdicts").status_code == 200
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORELOCK_DATABASE_URL", service.database.url.render_as_string(hide_password=False))
        assert main(["alterations"]) == 0
        assert capsys.readouterr().out == f"verdict of {prereg_id}\n1 found\n"
        red(service)
        assert main(["alterations", "--forget"]) == 0
    assert service.client.get("/health/ready").status_code == 200


def test_a_run_without_its_leaf_is_told_and_not_listed(service: Service) -> None:
    prereg_id = a_locked(service)
    runs = f"/v1/preregistrations/{prereg_id}/runs"
    for name in ("first", "second"):
        assert service.client.post(runs, json={"arm": "A", "run": name}).status_code == 201
    with unguarded(service, "ledger_entries") as session:
        session.execute(sa.text("DELETE FROM ledger_entries WHERE kind = 'run' AND leaf LIKE '%first%'"))
    refused(service, runs)
