from __future__ import annotations

import dataclasses
import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.results.batches import BatchHead, PlacedBatch
from service.domain.results.sealing import (
    SALT_BYTES,
    SealedBatch,
    key_info,
    new_keypair,
    open_batch,
    public_half,
    seal,
    seal_batch,
    unseal,
)
from service.domain.results.secret_rows import NO_TIME, ROW_BYTES, SealBroken, SecretRows
from service.errors import RecordAltered

PUBLIC, PRIVATE = new_keypair()
SALT = bytes(range(16))


HEAD = BatchHead("p", "C1", "accuracy", None)


def seal_rows(sent, salt=SALT, n=None):
    n = len(sent.values) if n is None else n
    placed = PlacedBatch(HEAD, np.arange(n, dtype=np.int32), np.ones(n, dtype=np.uint16), sent)
    return seal_batch(placed, salt, plan_public=PUBLIC, plan_sha256="ab", preregistration_id="r", sequence=1)


def rows(values, statuses=None, observed_at=None):
    values = np.asarray(values, dtype=np.float64)
    statuses = np.zeros(len(values)) if statuses is None else statuses
    return SecretRows(values, np.asarray(statuses, dtype=np.uint8), observed_at)


ROW = st.tuples(
    st.floats(allow_nan=True, allow_infinity=False), st.sampled_from([0, 1, 2]), st.integers(-(2**62), 2**62)
)


@given(st.lists(ROW, max_size=50), st.booleans())
def test_rows_open_as_they_were_sealed(content, timed):
    values, statuses, times = zip(*content, strict=True) if content else ((), (), ())
    sent = rows(values, statuses, np.asarray(times, dtype=np.int64) if timed and content else None)
    sealed = seal_rows(sent)
    placed, salt = open_batch(sealed, "ab", PRIVATE)
    opened = placed.rows
    assert salt == SALT
    np.testing.assert_array_equal(opened.values, sent.values)
    np.testing.assert_array_equal(opened.statuses, sent.statuses)
    if sent.observed_at is None:
        assert opened.observed_at is None
    else:
        np.testing.assert_array_equal(opened.observed_at, sent.observed_at)


@given(st.integers(0, 100), st.integers(0, 2**32))
def test_the_length_tells_the_row_count_only(n, seed):
    generator = np.random.default_rng(seed)
    values = np.where(generator.random(n) < 0.5, generator.integers(0, 2, n), np.nan)
    times = generator.integers(0, 2**50, n)
    sparse = seal_rows(rows(np.zeros(n)))
    full = seal_rows(rows(values, generator.integers(0, 3, n), times))
    assert len(sparse.ciphertext) == len(full.ciphertext) == 48 + SALT_BYTES + ROW_BYTES * n


def test_the_same_rows_never_seal_to_the_same_bytes():
    first, second = (seal_rows(rows([1, 0])) for _ in range(2))
    assert first.ciphertext != second.ciphertext
    assert first.commitment_sha256 == second.commitment_sha256


def test_ciphertext_does_not_show_the_salt_or_the_rows():
    sent = rows(np.arange(100.0))
    sealed = seal_rows(sent)
    assert SALT not in sealed.ciphertext
    assert sent.to_bytes()[:32] not in sealed.ciphertext


CHANGES = {
    "preregistration_id": "other",
    "plan_sha256": "cd",
    "sequence": 2,
    "population": "q",
    "arm": "C2",
    "endpoint": "f1",
    "run": "nightly",
    "positions": np.array([1, 0], dtype="<i4").tobytes(),
    "replicates": np.array([1, 2], dtype="<u2").tobytes(),
}


def changed(sealed, name):
    if name in {field.name for field in dataclasses.fields(BatchHead)}:
        return dataclasses.replace(sealed, head=dataclasses.replace(sealed.head, **{name: CHANGES[name]}))
    return dataclasses.replace(sealed, **{name: CHANGES[name]})


def test_every_fact_of_a_batch_is_bound_by_its_seal():
    bound = {field.name for field in (*dataclasses.fields(BatchHead), *dataclasses.fields(SealedBatch))}
    assert bound - {"head", "n", "ciphertext", "commitment_sha256"} | {"plan_sha256"} == set(CHANGES)


@pytest.mark.parametrize("name", sorted(CHANGES))
def test_a_batch_opens_in_its_own_place_only(name):
    sealed = seal_rows(rows([1, 0]))
    assert open_batch(sealed, "ab", PRIVATE)[0].head == HEAD
    other, plan = (sealed, CHANGES[name]) if name == "plan_sha256" else (changed(sealed, name), "ab")
    with pytest.raises(SealBroken):
        open_batch(other, plan, PRIVATE)


@given(st.integers(0, 48 + 16 + 34 - 1), st.integers(1, 255))
def test_changed_bytes_do_not_open(position, change):
    sealed = seal_rows(rows([1, 0]))
    ciphertext = bytearray(sealed.ciphertext)
    ciphertext[position] ^= change
    with pytest.raises(SealBroken):
        open_batch(dataclasses.replace(sealed, ciphertext=bytes(ciphertext)), "ab", PRIVATE)


def test_rows_that_were_sealed_later_are_not_those_of_the_commitment():
    """Whoever has the database has the public key as well, and can seal what they like."""
    sealed, forged = seal_rows(rows([1, 0])), seal_rows(rows([1, 1]))
    with pytest.raises(RecordAltered):
        open_batch(dataclasses.replace(sealed, ciphertext=forged.ciphertext), "ab", PRIVATE)


def test_another_key_does_not_open():
    sealed = seal_rows(rows([1]))
    with pytest.raises(SealBroken):
        open_batch(sealed, "ab", new_keypair()[1])
    with pytest.raises(SealBroken):
        open_batch(dataclasses.replace(sealed, ciphertext=b""), "ab", PRIVATE)


def test_commitment_by_definition():
    values, statuses = [1.0, np.nan], [0, 2]
    sealed = seal_rows(rows(values, statuses))
    secret = (
        np.asarray(values, "<f8").tobytes()
        + np.asarray(statuses, "u1").tobytes()
        + np.full(2, NO_TIME, "<i8").tobytes()
    )
    expected = hashlib.sha256(SALT + sealed.positions + sealed.replicates + secret).hexdigest()
    assert sealed.commitment_sha256 == expected
    placed, salt = open_batch(sealed, "ab", PRIVATE)
    assert sealed.commitment(salt, placed.rows) == expected


def test_a_commitment_needs_its_salt_to_be_guessed():
    one, other = (seal_rows(rows([1]), salt) for salt in (SALT, bytes(16)))
    assert one.commitment_sha256 != other.commitment_sha256


def test_what_the_ledger_has_of_a_batch_is_its_head_its_size_and_its_commitment():
    sealed = seal_rows(rows([1, 0]))
    assert sealed.leaf() == {
        "preregistration_id": "r", "batch": 1, "population": "p", "arm": "C1", "endpoint": "accuracy",
        "run": None, "n": 2, "commitment_sha256": sealed.commitment_sha256,
    }  # fmt: skip


def test_no_repr_of_a_batch_tells_an_outcome():
    sent = rows([0.731], [0], np.array([5]))
    placed = open_batch(seal_rows(sent), "ab", PRIVATE)[0]
    assert not any(word in repr(each) for each in (sent, placed) for word in ("731", "[5]"))


def test_not_a_number_has_one_form():
    payload = np.frombuffer(np.array([0x7FF8000000000123], dtype="<u8").tobytes(), "<f8")
    assert rows(payload).to_bytes() == rows([np.nan]).to_bytes()


def test_columns_of_different_length_are_refused():
    with pytest.raises(ValueError, match="differ in length"):
        seal_rows(rows([1.0, 0.0], [0]))
    with pytest.raises(ValueError, match="one entry per row"):
        seal_rows(rows([1.0]), n=2)
    with pytest.raises(ValueError, match="16 bytes"):
        seal_rows(rows([1.0]), b"short")
    with pytest.raises(SealBroken):
        SecretRows.from_bytes(bytes(16))


def test_a_wrapped_key_opens_for_its_plan_only():
    plan_public, plan_private = new_keypair()
    wrapped = seal(plan_private, PUBLIC, key_info("r", "ab"))
    assert unseal(wrapped, PRIVATE, key_info("r", "ab")) == plan_private
    assert public_half(plan_private) == plan_public
    for place in (key_info("s", "ab"), key_info("r", "cd")):
        with pytest.raises(SealBroken):
            unseal(wrapped, PRIVATE, place)
