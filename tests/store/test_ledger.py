from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from forelock.transparency.merkle import verify_consistency, verify_inclusion
from service.domain.ledger import EMPTY_ROOT, Frontier, leaf_hash
from service.domain.moment import Moment
from service.errors import RecordAltered
from service.store.database.tables import ledger_entries
from service.store.ledger import ledger, ledger_tree


def naive_root(leaves):
    if len(leaves) == 1:
        return leaves[0]
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    return hashlib.sha256(b"\x01" + naive_root(leaves[:k]) + naive_root(leaves[k:])).digest()


def append(session, world, number, record=None):
    moment = Moment(world.now, lambda size: bytes([number]) * size)
    return ledger.append(session, record, "batch", {"number": number}, moment)


def test_an_empty_log_has_no_leaf(database):
    with database.read() as session:
        assert ledger.read_head(session) == Frontier()


def test_the_stored_root_by_definition(world):
    with world.database.write() as session:
        receipts = [append(session, world, number) for number in range(21)]
        hashes = [bytes.fromhex(receipt.leaf_sha256) for receipt in receipts]
        assert [receipt.sequence for receipt in receipts] == list(range(21))
        assert ledger.read_head(session).root() == naive_root(hashes)
        assert ledger.read_leaf_hashes(session, 0, 21) == [each.hex() for each in hashes]
        assert ledger.read_leaf_hashes(session, 5, 7) == [each.hex() for each in hashes[5:7]]


def test_a_stored_leaf_proves_its_hash(world):
    with world.database.write() as session:
        receipt = append(session, world, 3)
        leaf = session.scalar(sa.select(ledger_entries.c.leaf))
    assert leaf_hash(leaf.encode()).hex() == receipt.leaf_sha256
    assert json.loads(leaf) == {"version": 1, "kind": "batch", "body": {"number": 3}, "salt": "03" * 16}
    assert (receipt.kind, receipt.checkpoint, receipt.proof) == ("batch", None, None)


def test_every_proof_from_stored_rows(world):
    with world.database.write() as session:
        hashes = [bytes.fromhex(append(session, world, number).leaf_sha256) for number in range(40)]
        roots = [EMPTY_ROOT, *(ledger_tree.read_root(session, size) for size in range(1, 41))]
        assert ledger_tree.read_root(session, 0) == EMPTY_ROOT
        assert roots[1:] == [naive_root(hashes[:size]) for size in range(1, 41)]
        for size in range(1, 41):
            for index in range(size):
                proof = ledger_tree.prove_inclusion(session, index, size)
                verify_inclusion(index=index, size=size, leaf=hashes[index], proof=proof, root=roots[size])
            for first in range(size + 1):
                proof = ledger_tree.prove_consistency(session, first, size)
                verify_consistency(
                    size1=first, root1=roots[first], size2=size, root2=roots[size], proof=proof
                )


def test_a_proof_reads_few_rows(world):
    with world.database.write() as session:
        for number in range(200):
            append(session, world, number)
    read = []
    sa.event.listen(world.database.engine, "before_cursor_execute", lambda *said: read.append(said[2:4]))
    with world.database.read() as session:
        ledger_tree.prove_inclusion(session, 77, 199)
        ledger_tree.prove_consistency(session, 77, 199)
    selects = [parameters for statement, parameters in read if statement.startswith("SELECT")]
    assert len(selects) <= 4
    assert sum(map(len, selects)) <= 2 * 2 * (199).bit_length()


def test_a_leaf_is_found_by_its_hash(world):
    with world.database.write() as session:
        receipts = [append(session, world, number) for number in range(3)]
        assert [ledger_tree.find_index(session, each.leaf_sha256) for each in receipts] == [0, 1, 2]
        assert ledger_tree.find_index(session, "00" * 32) is None


def test_a_node_that_is_gone_is_named(world):
    with world.database.write() as session:
        append(session, world, 1)
    with pytest.raises(RecordAltered) as refusal, world.database.read() as session:
        ledger_tree.read_root(session, 2)
    assert (refusal.value.kind, refusal.value.subject) == ("ledger node", "1/0")


def test_a_records_receipts_are_its_own(world):
    with world.database.write() as session:
        first, second = world.locked(session), world.locked(session)
        batch = append(session, world, 1, first)
        assert [each.kind for each in ledger.read_receipts(session, first.id)] == ["plan_locked", "batch"]
        assert ledger.read_receipts(session, first.id, kind="batch") == [batch]
        assert [each.sequence for each in ledger.read_receipts(session, second.id)] == [1]


def test_appends_at_once_are_contiguous(world):
    def act(number):
        with world.database.write() as session:
            return append(session, world, number).sequence

    with ThreadPoolExecutor(12) as pool:
        sequences = list(pool.map(act, range(36)))
    assert sorted(sequences) == list(range(36))
    with world.database.read() as session:
        hashes = [bytes.fromhex(each) for each in ledger.read_leaf_hashes(session, 0, 36)]
        head = ledger.read_head(session)
    assert (head.size, head.root()) == (36, naive_root(hashes))


def test_a_leaf_goes_with_its_transaction(world):
    with world.database.write() as session:
        append(session, world, 1)
        session.rollback()
    with world.database.write() as session:
        assert append(session, world, 2).sequence == 0
