from __future__ import annotations

import dataclasses
import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.results.sealing import (
    NOT_OBSERVED,
    ROW_BYTES,
    SALT_BYTES,
    BatchFacts,
    SealBroken,
    SecretRows,
    commitment_sha256,
    key_info,
    new_keypair,
    open_rows,
    public_half,
    seal_rows,
    unwrap_key,
    wrap_key,
)

PUBLIC, PRIVATE = new_keypair()
SALT = bytes(range(16))


def facts(n, **changes):
    known = BatchFacts(
        preregistration_id="r",
        plan_sha256="ab",
        sequence=1,
        population="p",
        arm="C1",
        endpoint="accuracy",
        run=None,
        positions=np.arange(n, dtype="<i4").tobytes(),
        replicates=np.ones(n, dtype="<u2").tobytes(),
    )
    return dataclasses.replace(known, **changes)


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
    sealed = seal_rows(PUBLIC, sent, SALT, facts(len(content)))
    opened, salt = open_rows(PRIVATE, sealed.ciphertext, facts(len(content)))
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
    sparse = seal_rows(PUBLIC, rows(np.zeros(n)), SALT, facts(n))
    full = seal_rows(PUBLIC, rows(values, generator.integers(0, 3, n), times), SALT, facts(n))
    assert len(sparse.ciphertext) == len(full.ciphertext) == 48 + SALT_BYTES + ROW_BYTES * n


def test_the_same_rows_never_seal_to_the_same_bytes():
    first, second = (seal_rows(PUBLIC, rows([1, 0]), SALT, facts(2)) for _ in range(2))
    assert first.ciphertext != second.ciphertext
    assert first.commitment_sha256 == second.commitment_sha256


def test_ciphertext_does_not_show_the_salt_or_the_rows():
    sent = rows(np.arange(100.0))
    sealed = seal_rows(PUBLIC, sent, SALT, facts(100))
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


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(BatchFacts)])
def test_a_batch_opens_in_its_own_place_only(field):
    sealed = seal_rows(PUBLIC, rows([1, 0]), SALT, facts(2))
    with pytest.raises(SealBroken):
        open_rows(PRIVATE, sealed.ciphertext, facts(2, **{field: CHANGES[field]}))


@given(st.integers(0, 48 + 16 + 34 - 1), st.integers(1, 255))
def test_changed_bytes_do_not_open(position, change):
    sealed = bytearray(seal_rows(PUBLIC, rows([1, 0]), SALT, facts(2)).ciphertext)
    sealed[position] ^= change
    with pytest.raises(SealBroken):
        open_rows(PRIVATE, bytes(sealed), facts(2))


def test_another_key_does_not_open():
    sealed = seal_rows(PUBLIC, rows([1]), SALT, facts(1))
    with pytest.raises(SealBroken):
        open_rows(new_keypair()[1], sealed.ciphertext, facts(1))
    with pytest.raises(SealBroken):
        open_rows(PRIVATE, b"", facts(1))


def test_commitment_by_definition():
    values, statuses = [1.0, np.nan], [0, 2]
    sealed = seal_rows(PUBLIC, rows(values, statuses), SALT, facts(2))
    secret = (
        np.asarray(values, "<f8").tobytes()
        + np.asarray(statuses, "u1").tobytes()
        + np.full(2, NOT_OBSERVED, "<i8").tobytes()
    )
    expected = hashlib.sha256(SALT + facts(2).positions + facts(2).replicates + secret).hexdigest()
    assert sealed.commitment_sha256 == expected
    opened, salt = open_rows(PRIVATE, sealed.ciphertext, facts(2))
    assert commitment_sha256(salt, facts(2), opened) == expected


def test_a_commitment_needs_its_salt_to_be_guessed():
    one, other = (seal_rows(PUBLIC, rows([1]), salt, facts(1)) for salt in (SALT, bytes(16)))
    assert one.commitment_sha256 != other.commitment_sha256


def test_not_a_number_has_one_form():
    payload = np.frombuffer(np.array([0x7FF8000000000123], dtype="<u8").tobytes(), "<f8")
    assert rows(payload).to_bytes() == rows([np.nan]).to_bytes()


def test_columns_of_different_length_are_refused():
    with pytest.raises(ValueError, match="differ in length"):
        seal_rows(PUBLIC, rows([1.0, 0.0], [0]), SALT, facts(2))
    with pytest.raises(ValueError, match="one entry per row"):
        seal_rows(PUBLIC, rows([1.0]), SALT, facts(2))
    with pytest.raises(ValueError, match="16 bytes"):
        seal_rows(PUBLIC, rows([1.0]), b"short", facts(1))
    with pytest.raises(SealBroken):
        SecretRows.from_bytes(bytes(16))


def test_a_wrapped_key_opens_for_its_plan_only():
    plan_public, plan_private = new_keypair()
    wrapped = wrap_key(plan_private, PUBLIC, key_info("r", "ab"))
    assert unwrap_key(wrapped, PRIVATE, key_info("r", "ab")) == plan_private
    assert public_half(plan_private) == plan_public
    for place in (key_info("s", "ab"), key_info("r", "cd")):
        with pytest.raises(SealBroken):
            unwrap_key(wrapped, PRIVATE, place)
