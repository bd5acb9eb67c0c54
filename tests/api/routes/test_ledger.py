"""The ledger over HTTP: checkpoints, keys and proofs for everybody, and nothing else."""

from __future__ import annotations

import base64

import pytest

from forelock.transparency.checkpoints import open_checkpoint
from forelock.transparency.merkle import leaf_hash, verify_consistency, verify_inclusion
from forelock.transparency.notes import VerifierKey
from forelock.transparency.tlog_proofs import TlogProof
from service.api.http.serving.housekeeping import sign
from service.domain.ledger import Frontier
from tests.journeys.plans import draft, items, lock, locked, post, small_plan

HEADER = "Forelock-Checkpoint"


def vkey(client):
    return VerifierKey.parse(client.get("/.well-known/forelock-keys.json").json()["vkey"])


def opened(client, response):
    return open_checkpoint(base64.b64decode(response.headers[HEADER], validate=True), [vkey(client)])


@pytest.fixture
def signer(app):
    return app.state.services.signer


def test_before_the_first_lock_there_is_nothing_to_read(anonymous):
    for path in ("checkpoint", "proof/0", f"proof?leaf_sha256={'0' * 64}", "consistency?from=0", "leaves"):
        assert anonymous.get(f"/v1/ledger/{path}").status_code == 404
    assert anonymous.get("/.well-known/forelock-keys.json").status_code == 404


def test_a_lock_answers_with_a_checkpoint_that_holds_it(client):
    prereg_id = draft(client, small_plan(8))
    answer = lock(client, prereg_id)
    assert answer.status_code == 200
    assert "\n" not in answer.headers[HEADER]
    assert opened(client, answer).size == answer.json()["receipt"]["sequence"] + 1


def test_a_repeated_lock_answers_with_one_too(client, app, monkeypatch):
    prereg_id = draft(client, small_plan(8))
    etag = client.get(f"/v1/preregistrations/{prereg_id}").headers["ETag"]
    headers = {"If-Match": etag, "Idempotency-Key": "once"}
    path = f"/v1/preregistrations/{prereg_id}/lock"
    first, again = (client.post(path, json={"acknowledge": "all"}, headers=headers) for _ in range(2))
    assert again.headers["Idempotency-Replayed"] == "true"
    assert opened(client, first) == opened(client, again)
    assert first.content == again.content


def test_a_lock_is_proved_offline(client):
    prereg_id = locked(client, small_plan(8))
    post(client, prereg_id, "A", items(8), [0.0] * 8)
    receipt = client.get(f"/v1/preregistrations/{prereg_id}/receipt").json()
    assert receipt.pop("family")["registration"] == 1
    assert client.get(f"/v1/preregistrations/{prereg_id}").json()["receipt"] == receipt
    proof = TlogProof.parse(receipt["proof"])
    assert proof.checkpoint == receipt["checkpoint"]
    assert proof.verify(leaf_hash(receipt["leaf"].encode()), [vkey(client)]).size == 1


def test_a_batch_does_not_wait_for_a_checkpoint(client, app, signer):
    prereg_id = locked(client, small_plan(8))
    before = signer.checkpoint(covers=1)
    answer = post(client, prereg_id, "A", items(8), [0.0] * 8)
    assert HEADER not in answer.headers
    assert client.get("/v1/ledger/checkpoint").text == before.note
    sign(app.state.services)
    app.state.services.public.__init__()  # a second passes
    assert open_checkpoint(client.get("/v1/ledger/checkpoint").text, [vkey(client)]).size == 2


def test_anybody_can_rebuild_the_tree(client, anonymous, app):
    for _ in range(5):
        last = lock(client, draft(client, small_plan(8)))
    del anonymous.headers["Authorization"]
    checkpoint = opened(client, last)
    hashes, start = [], 0
    while start is not None:
        page = anonymous.get(f"/v1/ledger/leaves?start={start}&limit=2").json()
        assert page["start"] == start
        hashes, start = hashes + page["leaf_sha256"], page["next_start"]
    log, roots = Frontier(), [Frontier().root()]
    for each in hashes:
        log = log.append(bytes.fromhex(each))
        roots.append(log.root())
    assert (len(hashes), roots[-1]) == (5, checkpoint.root)
    for size in range(1, 6):
        for index in range(size):
            found = anonymous.get(f"/v1/ledger/proof/{index}?size={size}").json()
            assert (found["index"], found["size"], found["leaf_sha256"]) == (index, size, hashes[index])
            assert bytes.fromhex(found["root_sha256"]) == roots[size]
            proof = [bytes.fromhex(each) for each in found["hashes"]]
            leaf = bytes.fromhex(hashes[index])
            verify_inclusion(index=index, size=size, leaf=leaf, proof=proof, root=roots[size])
        for first in range(size + 1):
            found = anonymous.get(f"/v1/ledger/consistency?from={first}&to={size}").json()
            proof = [bytes.fromhex(each) for each in found["hashes"]]
            verify_consistency(size1=first, root1=roots[first], size2=size, root2=roots[size], proof=proof)
    by_hash = anonymous.get(f"/v1/ledger/proof?leaf_sha256={hashes[3]}").json()
    assert by_hash == anonymous.get("/v1/ledger/proof/3").json()


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("proof/1", 404), ("proof/0?size=2", 404), ("proof/9?size=1", 404), ("proof/-1", 404), ("proof/x", 404),
        (f"proof?leaf_sha256={'0' * 64}", 404), ("proof?leaf_sha256=x", 422), ("proof", 422), ("proof/0?size=x", 422),
        ("consistency?from=0&to=2", 404), ("consistency?from=2&to=1", 422), ("consistency", 422),
        ("leaves?limit=1001", 422), ("leaves?limit=0", 422),
    ],
)  # fmt: skip
def test_what_is_not_signed_or_not_a_size_is_refused(client, anonymous, path, status):
    locked(client, small_plan(8))
    del anonymous.headers["Authorization"]
    assert anonymous.get(f"/v1/ledger/{path}").status_code == status
    assert anonymous.get("/v1/ledger/leaves?start=7").json() == {
        "start": 7,
        "leaf_sha256": [],
        "next_start": None,
    }


def test_strangers_read_hashes_and_no_leaf(client, anonymous):
    prereg_id = locked(client, small_plan(8))
    receipt = client.get(f"/v1/preregistrations/{prereg_id}/receipt").json()
    del anonymous.headers["Authorization"]
    paths = ("checkpoint", "proof/0", "consistency?from=0", "leaves")
    told = "".join(anonymous.get(f"/v1/ledger/{path}").text for path in paths)
    told += anonymous.get("/.well-known/forelock-keys.json").text
    for secret in (prereg_id, "plan_locked", receipt["leaf"][-40:-20]):
        assert secret in receipt["leaf"] + receipt["kind"]
        assert secret not in told


def test_what_stays_true_is_kept_by_caches(client):
    locked(client, small_plan(8))
    assert client.get("/v1/ledger/proof/0?size=1").headers["Cache-Control"].endswith("immutable")
    assert client.get("/v1/ledger/proof/0").headers["Cache-Control"] == "public, max-age=1"
    assert client.get("/v1/ledger/checkpoint").headers["Cache-Control"] == "public, max-age=1"


def test_a_lock_stands_where_its_checkpoint_is_refused(client, anonymous, app, signer, caplog):
    locked(client, small_plan(8))
    signer.state.path.write_text("nothing")
    answer = lock(client, draft(client, small_plan(8)))
    assert answer.status_code == 200
    assert HEADER not in answer.headers
    ready = anonymous.get("/health/ready")
    assert (ready.status_code, ready.json()["code"]) == (503, "ledger_refused")
    assert "no checkpoint is signed" in caplog.text
    sign(app.state.services)  # housekeeping goes on
    signer.state.path.unlink()
    assert anonymous.get("/health/ready").status_code == 200


def test_a_failure_of_any_kind_leaves_the_lock(client, signer, monkeypatch):
    def fail(_covers=None):
        raise OSError("gone")

    monkeypatch.setattr(type(signer), "checkpoint", fail)
    assert lock(client, draft(client, small_plan(8))).status_code == 200
