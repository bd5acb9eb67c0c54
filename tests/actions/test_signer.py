"""The signer signs what goes on from what it signed before, and nothing else."""

from __future__ import annotations

import shutil

import pytest
import sqlalchemy as sa

from forelock.transparency.checkpoints import Checkpoint, open_checkpoint
from forelock.transparency.handovers import follow
from forelock.transparency.tlog_proofs import TlogProof
from service.actions.ledger import handovers, proofs
from service.actions.ledger.signer import STEPS, CheckpointRefused, Signer
from service.domain.ledger import leaf_hash
from service.errors import Conflict, InvalidData, RecordAltered
from service.keyring.signer_state import SignerState, SignerStateError
from service.store.database.clock import read_moment
from service.store.ledger import checkpoints, ledger, ledger_signers
from tests.actions.signed_logs import Copy, Replica, rewrite


@pytest.fixture
def replica(database, tmp_path):
    return Replica(database, tmp_path)


def test_an_empty_log_is_not_signed(replica):
    assert replica.signer.checkpoint() is None
    assert replica.signer.explain_refusal() is None


def test_a_checkpoint_is_of_what_is_committed(replica):
    checkpoint = replica.sign(3)
    assert (checkpoint.origin, checkpoint.size, checkpoint.root) == ("log.example", 3, replica.head().root())
    with replica.database.write() as session:
        ledger.append(session, None, "close", {}, read_moment(session))
        if replica.database.dialect == "postgresql":  # on SQLite nobody else writes meanwhile
            assert replica.checkpoint().size == 3
    assert replica.checkpoint().size == 4


def test_a_checkpoint_is_on_the_disk_and_in_the_database_before_it_is_given_out(replica):
    note = replica.sign(2) and replica.signer.checkpoint().note
    assert replica.state.read().note == replica.stored().note == note


def test_a_checkpoint_takes_one_signature_where_nothing_was_lost(replica, monkeypatch):
    replica.sign(2)
    signed, sign = [], Checkpoint.sign
    monkeypatch.setattr(Checkpoint, "sign", lambda self, by: signed.append(self.size) or sign(self, by))
    assert replica.sign(3).size == 5
    assert signed == [5]


def test_a_checkpoint_that_never_reached_the_database_is_stored_before_the_next(replica, database):
    """Its row is not waited for, and somebody may have it: the first that holds a leaf stays the first."""
    replica.sign(2)
    break_at(replica, "kept")
    receipt = replica.append()
    with pytest.raises(Broken):
        replica.signer.checkpoint()
    replica.step = lambda _name: None
    lost = replica.state.read().note
    assert replica.stored().size == 2
    replica.append()
    assert replica.signer.checkpoint().size == 4
    with database.read() as session:
        assert checkpoints.find_covering(session, receipt.sequence).note == lost


def test_a_write_that_need_not_be_flushed_says_so_for_itself_alone(database):
    asked = (
        "SELECT synchronous = 1 FROM pragma_synchronous"
        if database.dialect == "sqlite"
        else "SELECT setting = 'off' AND source = 'session' FROM pg_settings WHERE name = 'synchronous_commit'"
    )

    def waits(**how):
        with database.write(**how) as session:
            return not session.scalar(sa.text(asked))

    assert [waits(), waits(flush=False), waits(flush=False), waits()] == [True, False, False, True]


def test_the_same_tree_has_one_note(replica, database, tmp_path):
    first = replica.sign() and replica.signer.checkpoint()
    assert Replica(database, tmp_path, "two").signer.checkpoint() == first
    assert replica.signer.checkpoint() == first


def test_what_is_covered_is_not_signed_again(replica):
    replica.sign(2)
    replica.append()
    assert replica.signer.checkpoint(covers=2).size == 2
    assert replica.signer.checkpoint(covers=3).size == 3


def test_a_log_keeps_its_first_name(replica, database, tmp_path):
    replica.sign()
    other = Signer(database, replica.key.read, replica.state, origin="another.example")
    replica.append()
    assert open_checkpoint(other.checkpoint().note, replica.keys()).origin == "log.example"


def test_a_log_without_a_name_gets_one_of_its_own(database, tmp_path):
    key = Replica(database, tmp_path).key
    Signer(database, key.read, SignerState(tmp_path / "s")).establish()
    with database.read() as session:
        (signer,) = ledger_signers.read_all(session)
    assert signer.origin.startswith("forelock/")
    assert len(signer.origin) == len("forelock/") + 16


@pytest.mark.parametrize("keep", [0, 1, 3, 4])
def test_a_shorter_log_is_refused(replica, database, keep):
    replica.sign(keep) if keep else replica.signer.establish()
    older = Copy(database)
    replica.sign(5 - keep)
    older.restore()
    with pytest.raises(CheckpointRefused, match=f"the log has {keep} leaves, and one of 5 was signed"):
        replica.signer.checkpoint()
    assert "forelock ledger resume" in replica.signer.explain_refusal()


def fork(replica, database, appended):
    """A log of 5 leaves was signed; now it has other leaves after the third."""
    replica.sign(3)
    older = Copy(database)
    replica.sign(2)
    older.restore()
    replica.append(appended)


def test_a_forked_log_is_refused(replica, database):
    fork(replica, database, 4)
    before = replica.state.read().note
    with pytest.raises(CheckpointRefused, match="of 7 leaves does not go on from the one of 5"):
        replica.signer.checkpoint()
    assert replica.state.read().note == before
    assert replica.stored().size == 3
    assert replica.signer.explain_refusal() is not None


def test_a_fork_of_the_same_size_is_refused(replica, database):
    fork(replica, database, 2)
    with pytest.raises(CheckpointRefused, match="of 5 leaves does not go on from the one of 5"):
        replica.signer.checkpoint()


def test_a_rewritten_tree_is_refused(replica, database):
    """Head and hashes made anew over a changed leaf: everything in the database agrees."""
    replica.sign(2)
    first, second = leaf_hash(b"other"), replica.head()
    blob = "X'{}'" if database.dialect == "sqlite" else "decode('{}', 'hex')"
    with database.read() as session:
        (_, kept) = ledger.read_leaf_hashes(session, 0, 2)
    root = second.__class__().append(first).append(bytes.fromhex(kept)).root().hex()
    rewrite(
        database,
        f"UPDATE ledger_entries SET leaf = 'other', leaf_sha256 = '{first.hex()}' WHERE sequence = 0",
        f"UPDATE ledger_nodes SET hashes = {blob.format(root)}",
        f"UPDATE ledger_head SET peaks = {blob.format(root)}",
    )
    with pytest.raises(CheckpointRefused, match="does not go on"):
        replica.signer.checkpoint()
    assert replica.signer.explain_refusal() is not None


def test_an_empty_database_is_refused_where_a_log_was(replica, database):
    older = Copy(database)
    replica.sign()
    older.restore()
    with pytest.raises(CheckpointRefused, match="no log that was ever signed"):
        replica.signer.checkpoint()
    assert replica.signer.explain_refusal() is not None


def test_a_refusal_ends_when_the_log_is_back(replica, database):
    replica.sign(3)
    older, now_ = Copy(database), None
    replica.sign(2)
    now_ = [(each, f"now_{each}") for each in Copy.TABLES]
    rewrite(database, *(f"CREATE TABLE {kept} AS SELECT * FROM {table}" for table, kept in now_))
    older.restore()
    assert replica.signer.explain_refusal() is not None
    rewrite(
        database,
        *(f"DELETE FROM {table}" for table, _ in now_),
        *(f"INSERT INTO {table} SELECT * FROM {kept}" for table, kept in reversed(now_)),
    )
    assert replica.signer.explain_refusal() is None
    assert replica.sign().size == 6


def test_another_key_signs_nothing(replica, database, tmp_path):
    replica.sign()
    (tmp_path / "other").mkdir()
    with pytest.raises(CheckpointRefused, match="the signing key here is not that of the ledger"):
        Replica(database, tmp_path / "other").signer.checkpoint()


def test_a_state_that_cannot_be_read_is_told(replica):
    replica.sign()
    replica.state.path.write_text("nothing")
    with pytest.raises(SignerStateError, match=r"one\.state: it holds no checkpoint"):
        replica.signer.checkpoint()
    assert "one.state" in replica.signer.explain_refusal()


def test_a_state_that_is_gone_begins_with_the_stored_checkpoint(replica, caplog):
    replica.sign(2)
    replica.state.path.unlink()
    assert replica.sign().size == 3
    assert "begins with the stored checkpoint of 2" in caplog.text
    assert replica.state.read().checkpoint.size == 3


def test_a_stored_checkpoint_of_nobody_is_no_beginning(replica, database):
    note = replica.sign(2) and replica.signer.checkpoint().note
    forged = note.replace("log.example\n2\n", "log.example\n1\n")
    replica.state.path.unlink()
    rewrite(database, f"UPDATE ledger_checkpoints SET note = '{forged}'")
    with pytest.raises(CheckpointRefused, match="stored checkpoint cannot be used"):
        Replica(database, replica.directory).signer.checkpoint()


def test_a_stored_checkpoint_that_was_altered_is_told(replica, database):
    replica.sign(2)
    rewrite(database, "UPDATE ledger_checkpoints SET note = 'another'")
    with pytest.raises(CheckpointRefused, match="stored checkpoint of 2 is not the one"):
        replica.signer.checkpoint()


def test_every_replica_follows_what_the_others_sign(replica, database, tmp_path):
    other = Replica(database, tmp_path, "two")
    replica.sign(2)
    other.signer.checkpoint()
    older = Copy(database)
    replica.sign(3)
    assert other.state.read().checkpoint.size == 2
    other.signer.checkpoint()
    older.restore()
    assert other.signer.explain_refusal() is not None


class Broken(Exception):
    """A process ends here."""


def break_at(replica, name):
    def step(reached):
        if reached == name:
            raise Broken(name)

    replica.step = step


@pytest.mark.parametrize("name", STEPS)
def test_an_interruption_at_any_step_heals(database, tmp_path, name):
    """Of the first checkpoint and of a later one; by the same process, and by another with a state of its own."""
    one, two = Replica(database, tmp_path, "one"), Replica(database, tmp_path, "two")
    given = []
    for size in (1, 2, 3, 4):
        one.append()
        break_at(one, name)
        with pytest.raises(Broken):
            one.signer.checkpoint()
        one.step = lambda _name: None
        given.append((one if size % 2 else two).checkpoint())
        assert given[-1].size == size
        given.append((two if size % 2 else one).checkpoint())
    assert [each.size for each in given] == [1, 1, 2, 2, 3, 3, 4, 4]
    with database.read() as session:
        for each in given:
            assert proofs.prove_inclusion(session, each.size - 1, each.size).root == each.root
    assert one.state.read().note == two.state.read().note == one.stored().note


def test_a_rotated_key_signs_and_the_old_one_is_followed(replica, database):
    before = replica.sign(3)
    (old,) = replica.keys()
    handovers.rotate(replica.signer, replica.key)
    after = replica.checkpoint()
    (_, new) = replica.keys()
    assert (before.origin, before.size, after.size) == (after.origin, 3, 4)
    assert old.name == new.name
    assert old.public != new.public
    with database.read() as session:
        note = ledger.parse_body(ledger.read_leaf(session, 3))["note"]
        (proven,) = proofs.prove(session, [replica.receipt])
    (handover,) = follow(old, [note])
    assert (handover.after, handover.size, handover.root) == (new, 3, before.root)
    assert open_checkpoint(replica.state.read().note, [new]).size == 4
    leaf = bytes.fromhex(proven.leaf_sha256)
    assert TlogProof.parse(proven.proof).verify(leaf, [old]).size == 3  # what was given out holds
    assert not (replica.directory / "signing.key.next").exists()
    assert replica.sign().size == 5


@pytest.mark.parametrize("name", ["rotated", *STEPS])
def test_an_interrupted_rotation_is_brought_to_its_end(database, tmp_path, name):
    one, two = Replica(database, tmp_path, "one"), Replica(database, tmp_path, "two")
    one.sign(2)
    break_at(one, name)
    with pytest.raises(Broken):
        handovers.rotate(one.signer, one.key)
    assert two.sign().size == 4  # whichever key is where
    one.step = lambda _name: None
    if (tmp_path / "signing.key.next").exists():
        handovers.rotate(one.signer, one.key)
    assert [len(one.keys()), one.checkpoint().size] == [2, 4]


def test_a_replica_learns_of_a_rotation(database, tmp_path):
    one, two = Replica(database, tmp_path, "one"), Replica(database, tmp_path, "two")
    two.sign(2)
    handovers.rotate(one.signer, one.key)
    assert two.sign().size == 4


def test_a_resumed_log_tells_what_was_lost(replica, database, tmp_path):
    replica.sign(2)
    other = Replica(database, tmp_path, "two")
    other.signer.checkpoint()
    behind = Replica(database, tmp_path, "three")
    shutil.copyfile(replica.state.path, behind.state.path)
    older = Copy(database)
    replica.sign(3)
    other.signer.checkpoint()
    lost = replica.state.read()
    older.restore()
    replica.append()
    handovers.resume(replica.signer, origin="log.example/2", reason="disk lost", known=None)
    old, new = replica.keys()
    with database.read() as session:
        note = ledger.parse_body(ledger.read_leaf(session, 3))["note"]
    (handover,) = follow(old, [note])
    assert (handover.after, handover.size, handover.reason) == (new, 3, "disk lost")
    assert (handover.lost.size, handover.lost.root) == (5, lost.checkpoint.root)
    assert handover.lost.checkpoint == lost.note
    assert (replica.checkpoint().origin, replica.checkpoint().size) == ("log.example/2", 4)
    for each in (other, behind):  # one saw what was lost, the other did not
        assert each.sign().origin == "log.example/2"
    assert replica.signer.explain_refusal() is None
    older.restore()
    assert replica.signer.explain_refusal() is not None


@pytest.mark.parametrize("name", ["resumed", *STEPS])
def test_an_interrupted_resumption_heals(database, tmp_path, name):
    one = Replica(database, tmp_path, "one")
    one.sign(2)
    older = Copy(database)
    one.sign(3)
    older.restore()
    break_at(one, name)
    with pytest.raises(Broken):
        handovers.resume(one.signer, origin="second", reason="lost", known=None)
    one.step = lambda _name: None
    assert (one.checkpoint().origin, one.checkpoint().size) == ("second", 3)


def test_a_whole_log_is_not_resumed(replica):
    replica.sign(2)
    for known in (None, replica.state.read().note):
        with pytest.raises(Conflict, match="nothing to resume"):
            handovers.resume(replica.signer, origin="second", reason="why", known=known)
    assert len(replica.keys()) == 1


def test_a_kept_checkpoint_tells_what_was_lost_with_the_machine(replica, database):
    replica.sign(2)
    older = Copy(database)
    replica.sign(3)
    known = replica.state.read().note
    older.restore()
    replica.state.path.unlink()
    with pytest.raises(Conflict, match="--checkpoint"):
        handovers.resume(replica.signer, origin="second", reason="why", known=None)
    with pytest.raises(InvalidData, match="no known key signed it"):
        handovers.resume(replica.signer, origin="second", reason="why", known=known.replace("log", "gol"))
    with pytest.raises(InvalidData, match="name of a log before"):
        handovers.resume(replica.signer, origin="log.example", reason="why", known=known)
    handovers.resume(replica.signer, origin="second", reason="why", known=known)
    assert replica.checkpoint().origin == "second"


def test_a_log_is_resumed_after_its_rotation_was_lost(replica, database):
    replica.sign(2)
    older = Copy(database)
    handovers.rotate(replica.signer, replica.key)
    older.restore()
    with pytest.raises(CheckpointRefused):
        replica.signer.checkpoint()
    handovers.resume(replica.signer, origin="second", reason="why", known=None)
    assert replica.sign().origin == "second"


def test_a_receipt_gets_the_first_checkpoint_that_holds_it(replica, database):
    receipt = replica.append()
    with database.read() as session:
        assert proofs.prove(session, [receipt]) == [receipt]
    replica.checkpoint()
    replica.sign(4)
    with database.read() as session:
        (proven,) = proofs.prove(session, [receipt])
    read = TlogProof.parse(proven.proof)
    assert read.checkpoint == proven.checkpoint
    checkpoint = read.verify(leaf_hash(receipt.leaf.encode()), replica.keys(), origin="log.example")
    assert (checkpoint.size, read.index) == (1, 0)
    other = receipt.model_copy(update={"leaf_sha256": "00" * 32})
    with database.read() as session:
        assert proofs.prove(session, [receipt]) == [proven]  # remembered, for this very leaf
    with pytest.raises(RecordAltered), database.read() as session:
        proofs.prove(session, [other])


def test_a_proof_that_does_not_hold_is_not_given(replica, database):
    receipt = replica.append()
    replica.sign(3)
    some = "zeroblob(64)" if database.dialect == "sqlite" else "decode(repeat('00', 64), 'hex')"
    rewrite(database, f"UPDATE ledger_nodes SET hashes = {some} WHERE sequence = 3")
    for ask in (
        lambda session: proofs.prove(session, [receipt]),
        lambda session: proofs.prove_inclusion(session, 0, None),
        lambda session: proofs.prove_consistency(session, 1, None),
        lambda session: proofs.prove_inclusion(session, 0, 2),
    ):
        with pytest.raises(RecordAltered), database.read() as session:
            ask(session)
