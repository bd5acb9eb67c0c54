"""What the signer remembers survives whatever stops a machine."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from forelock.transparency.checkpoints import Checkpoint
from forelock.transparency.notes import Signer
from service.keyring.signer_state import SLOT_BYTES, SignerState, SignerStateError

BY = Signer("log.example", Ed25519PrivateKey.from_private_bytes(bytes(32)))


def note(size):
    return Checkpoint("log.example", size, bytes([size] * 32)).sign(BY)


@pytest.fixture
def state(tmp_path):
    return SignerState(tmp_path / "state")


def test_nothing_is_remembered_at_first(state):
    assert state.read() is None


def test_the_last_one_is_remembered(state):
    for size in (3, 4, 9, 2):  # smaller after a resumption
        state.keep(note(size))
        assert state.read().note == note(size)
        assert state.read().checkpoint.size == size
    assert state.path.stat().st_size == 2 * SLOT_BYTES
    assert state.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("written", [0, 1, 20, 100, 200, SLOT_BYTES - 1])
def test_a_write_that_did_not_come_to_its_end_leaves_the_one_before(state, written):
    for size in (1, 2, 3):
        state.keep(note(size))
        before = state.path.read_bytes()
        state.keep(note(size + 1))
        after = state.path.read_bytes()
        place = 0 if before[:SLOT_BYTES] != after[:SLOT_BYTES] else SLOT_BYTES
        torn = bytearray(before)
        torn[place : place + written] = after[place : place + written]
        torn[place + written : place + SLOT_BYTES] = bytes(SLOT_BYTES - written)
        state.path.write_bytes(torn)
        assert state.read().checkpoint.size in ({size} if written < 200 else {size, size + 1})
        state.path.write_bytes(after)


def test_a_file_without_a_whole_checkpoint_is_told(state):
    state.keep(note(1))
    whole = state.path.read_bytes()
    for data in (b"", b"x", whole[:50], whole.replace(b"log.example", b"lag.example"), bytes(2 * SLOT_BYTES)):
        state.path.write_bytes(data)
        for act in (state.read, lambda: state.keep(note(2))):
            with pytest.raises(SignerStateError, match="holds no checkpoint"):
                act()


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(SignerStateError, match="no/state: No such file or directory"):
        SignerState(tmp_path / "no" / "state").keep(note(1))
    with pytest.raises(SignerStateError, match="lock"), SignerState(tmp_path / "no" / "state").alone():
        pass


def test_a_name_that_is_too_long_is_refused_before_anything_is_written(state):
    long = Signer("l" * SLOT_BYTES, BY.private)
    with pytest.raises(SignerStateError, match="shorter origin"):
        state.keep(Checkpoint(long.name, 1, bytes(32)).sign(long))
    assert state.read() is None
