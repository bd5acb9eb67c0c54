"""The ledger as it leaves the service: with verdicts, over its commands, after a restore."""

from __future__ import annotations

import base64
import shutil
from typing import Any

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from forelock.cli import main
from forelock.transparency.checkpoints import Checkpoint, open_checkpoint
from forelock.transparency.handovers import follow
from forelock.transparency.merkle import leaf_hash
from forelock.transparency.notes import VerifierKey
from forelock.transparency.tlog_proofs import TlogProof

from .conftest import Service
from .plans import draft, idempotent, items, lock, locked, post, small_plan

N = 10


def keys(client: TestClient) -> list[VerifierKey]:
    told = client.get("/.well-known/forelock-keys.json").json()
    return [VerifierKey.parse(each["vkey"]) for each in told["signers"]]


def checkpoint(client: TestClient, answer: Any) -> Checkpoint:
    note = base64.b64decode(answer.headers["Forelock-Checkpoint"], validate=True)
    return open_checkpoint(note, keys(client))


def judged(service: Service) -> str:
    prereg_id = locked(service.client, small_plan(N))
    for arm, value in (("A", 0), ("B", 1)):
        post(service.client, prereg_id, arm, items(N), [value] * N)
    service.run_jobs()
    return prereg_id


@pytest.fixture
def command(service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """`forelock ledger` beside the running service."""
    url = service.database.engine.url.render_as_string(hide_password=False)
    monkeypatch.setenv("FORELOCK_DATABASE_URL", url)
    monkeypatch.setenv("FORELOCK_DATA_DIR", str(service.settings.data_dir))

    def run(*words: str) -> tuple[int, str]:
        code = main(["ledger", *words])
        told = capsys.readouterr()
        return code, told.out + told.err

    return run


def test_a_lock_answers_what_is_read_of_the_record_apart_from_the_proof(service: Service) -> None:
    locked(service.client, small_plan(N))  # on the same items
    answer = lock(service.client, draft(service.client, small_plan(N)))
    read = service.client.get(f"/v1/preregistrations/{answer.json()['id']}")
    told, shown = answer.json(), read.json()
    assert shown["receipt"].pop("proof") is not None
    assert shown["receipt"].pop("checkpoint") is not None
    assert (told["receipt"].pop("proof"), told["receipt"].pop("checkpoint")) == (None, None)
    assert told == shown
    assert told["family"]["registration"] == 2
    assert answer.headers["ETag"] == read.headers["ETag"]


def test_a_lock_asks_the_database_for_nothing_that_it_has_just_written(service: Service) -> None:
    said: list[str] = []
    prereg_id = draft(service.client, small_plan(N))
    etag = service.client.get(f"/v1/preregistrations/{prereg_id}").headers["ETag"]

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        said.append(" ".join(statement.split()))

    sa.event.listen(service.database.engine, "before_cursor_execute", note)
    path = f"/v1/preregistrations/{prereg_id}/lock"
    answer = service.client.post(path, json={"acknowledge": "all"}, headers=idempotent(**{"If-Match": etag}))
    assert answer.status_code == 200, answer.text
    append = next(at for at, each in enumerate(said) if each.startswith("INSERT INTO ledger_entries"))
    keep = next(at for at, each in enumerate(said) if each.startswith("INSERT INTO idempotency"))
    after = " ".join(said[append:keep])
    for table in ("plans", "links", "ledger_checkpoints"):
        assert f" FROM {table} " not in after
    assert "ledger_entries.leaf," not in after


def test_receipts_of_a_record_are_listed_page_by_page_and_verify(service: Service) -> None:
    prereg_id = judged(service)
    locked(service.client, small_plan(N))  # another record's entries are not among them
    service.client.get(f"/v1/preregistrations/{prereg_id}/verdict")
    found, cursor = [], None
    while True:
        query = {"limit": 3} | ({"cursor": cursor} if cursor else {})
        page = service.client.get(f"/v1/preregistrations/{prereg_id}/receipts", params=query).json()
        found += page["items"]
        if (cursor := page["next_cursor"]) is None:
            break
    assert [each["kind"] for each in found] == ["verdict", "batch", "batch", "plan_locked"]
    for each in found:
        proof = TlogProof.parse(each["proof"])
        leaf = leaf_hash(each["leaf"].encode())
        assert (proof.verify(leaf, keys(service.client)).size > each["sequence"], leaf.hex()) == (
            True,
            each["leaf_sha256"],
        )
        assert each["at"].endswith("Z")


def test_a_draft_has_no_receipts_and_an_unknown_record_is_not_found(service: Service) -> None:
    made = draft(service.client, small_plan(N))
    assert service.client.get(f"/v1/preregistrations/{made}/receipts").json()["items"] == []
    assert service.client.get("/v1/preregistrations/nobody/receipts").status_code == 404


def test_a_verdict_leaves_with_a_checkpoint_that_holds_it(service: Service) -> None:
    path = f"/v1/preregistrations/{judged(service)}/verdict"
    answer = service.client.get(path)
    assert checkpoint(service.client, answer).size == 4  # lock, two batches, verdict
    again = service.client.get(path, headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304
    assert again.headers["Forelock-Checkpoint"] == answer.headers["Forelock-Checkpoint"]


def test_the_runner_judges_without_the_signing_key(service: Service) -> None:
    (service.settings.data_dir / "keys" / "signing.key").unlink()
    assert service.client.get(f"/v1/preregistrations/{judged(service)}/verdict").status_code == 200


def test_status_says_how_far_the_log_is_signed(service: Service, command: Any) -> None:
    assert command("status") == (0, command("status")[1])
    assert "signed      0" in command("status")[1]
    locked(service.client, small_plan(N))
    (vkey,) = keys(service.client)
    code, told = command("status")
    assert code == 0
    for line in ("leaves      1", "signed      1", f"1 of {vkey.name}", str(vkey), "whole       yes"):
        assert line in told


def test_a_rotated_key_is_taken_up_by_the_running_service(service: Service, command: Any) -> None:
    first = locked(service.client, small_plan(N))
    (old,) = keys(service.client)
    assert command("rotate")[0] == 0
    service.app.state.services.public.__init__()  # a second passes
    assert service.client.get("/health/ready").status_code == 200
    second = locked(service.client, small_plan(N))
    told = service.client.get("/.well-known/forelock-keys.json").json()
    (handover,) = follow(old, [each["handover"] for each in told["signers"] if each["handover"]])
    assert str(handover.after) == told["vkey"]
    for prereg_id, signer in ((first, old), (second, handover.after)):
        receipt = service.client.get(f"/v1/preregistrations/{prereg_id}/receipt").json()
        TlogProof.parse(receipt["proof"]).verify(leaf_hash(receipt["leaf"].encode()), [signer])
    rotation = told["signers"][1]
    found = service.client.get(f"/v1/ledger/proof/{rotation['sequence']}").json()
    assert found["leaf_sha256"] == leaf_hash(rotation["leaf"].encode()).hex()


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_an_older_database_is_refused_and_resumed_on_record(service: Service, command: Any) -> None:
    first = locked(service.client, small_plan(N))
    place = service.database.engine.url.database
    assert place is not None
    service.database.dispose()
    shutil.copyfile(place, f"{place}.older")
    lost = locked(service.client, small_plan(N))
    receipt = service.client.get(f"/v1/preregistrations/{lost}/receipt").json()
    service.database.dispose()
    shutil.copyfile(f"{place}.older", place)

    ready = service.client.get("/health/ready")
    assert (ready.status_code, ready.json()["code"]) == (503, "ledger_refused")
    assert command("status")[0] == 1
    assert "with --reason" in command("resume")[1]
    code, told = command("resume", "--reason", "restored the copy of 2 May", "--origin", "second.example")
    assert (code, "second.example" in told) == (0, True)
    service.app.state.services.public.__init__()
    assert service.client.get("/health/ready").status_code == 200
    assert "nothing to resume" in command("resume", "--reason", "again")[1]

    old, new = keys(service.client)
    handover = service.client.get("/.well-known/forelock-keys.json").json()["signers"][1]["handover"]
    (said,) = follow(old, [handover])
    assert said.lost is not None
    assert (said.size, said.lost.size, said.reason) == (1, 2, "restored the copy of 2 May")
    kept = service.client.get(f"/v1/preregistrations/{first}/receipt").json()
    assert TlogProof.parse(kept["proof"]).verify(leaf_hash(kept["leaf"].encode()), [old]).size == 1
    # what was lost is proved by what was given out, under the old name
    proof = TlogProof.parse(receipt["proof"])
    assert proof.verify(leaf_hash(receipt["leaf"].encode()), [old, new]).origin == old.name
    again = locked(service.client, small_plan(N))
    known = service.client.get(f"/v1/preregistrations/{again}/receipt").json()
    assert TlogProof.parse(known["proof"]).verify(leaf_hash(known["leaf"].encode()), [new]).size == 3
