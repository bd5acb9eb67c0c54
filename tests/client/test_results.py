from __future__ import annotations

import gzip
import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forelock import FileFault, Results
from forelock.results import gzip_hiding

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def body(values, **columns):
    ids = [f"item {n}" for n in range(len(values))]
    return Results("arm", "endpoint", ids, values, **columns).body()


@given(st.lists(FINITE | st.none() | st.integers(-1000, 1000), min_size=1, max_size=50))
def test_bodies_read_back_as_they_were(values):
    read = json.loads(gzip.decompress(body(values)))
    assert read["values"] == values
    assert read["item_ids"] == [f"item {n}" for n in range(len(values))]
    assert (read["arm"], read["endpoint"]) == ("arm", "endpoint")
    assert "population" not in read
    assert "status" not in read


@given(
    st.lists(FINITE | st.none(), min_size=8, max_size=8),
    st.lists(st.sampled_from(["ok", "error", "missing"]), min_size=8, max_size=8),
)
def test_the_size_of_a_body_tells_no_outcome(values, status):
    assert len(body(values, status=status)) == len(body([1] * 8, status=["ok"] * 8))


def test_what_is_public_is_compressed():
    many = Results("arm", "endpoint", ["the same long name"] * 10_000, [0] * 10_000)
    assert len(many.body()) < len(many.secret()) + 2_000


@given(st.binary(max_size=2_000), st.integers(0, 200_000))
def test_gzip_is_one_member_any_decoder_reads(public, size):
    secret = b"s" * size
    inflater = zlib.decompressobj(16 + zlib.MAX_WBITS)
    assert inflater.decompress(gzip_hiding(public, secret)) == public + secret
    assert inflater.eof
    assert inflater.unused_data == b""


def test_batches_keep_order_and_every_column():
    results = Results(
        "arm",
        "endpoint",
        list("abcde"),
        [1, 0, None, 1, 0],
        run="r1",
        replicates=[1, 1, 1, 1, 2],
        observed_at=[f"2027-01-31T12:00:0{n}Z" for n in range(5)],
        status=["ok", "ok", "error", "ok", "ok"],
    )
    pieces = list(results.batches(2))
    assert [len(piece) for piece in pieces] == [2, 2, 1]
    assert [item for piece in pieces for item in piece.item_ids] == list("abcde")
    assert pieces[1].status == ["error", "ok"]
    assert pieces[2].replicates == [2]
    assert pieces[2].observed_at == ["2027-01-31T12:00:04Z"]
    assert {piece.run for piece in pieces} == {"r1"}


def test_columns_of_unequal_length_are_refused():
    with pytest.raises(FileFault, match="values has 1 entries where item_ids has 2"):
        Results("arm", "endpoint", ["a", "b"], [1])


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_values_that_are_no_numbers_are_refused(value):
    with pytest.raises(FileFault, match="not finite"):
        Results("arm", "endpoint", ["a"], [value])


def test_a_batch_holds_at_least_one_item():
    with pytest.raises(ValueError, match="at least one"):
        list(Results("arm", "endpoint", ["a"], [1]).batches(0))
