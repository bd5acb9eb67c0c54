"""The one byte form of a value."""

from __future__ import annotations

import hashlib
import json
import unicodedata

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from service.domain.canonical import canonical, sha256_hex
from service.errors import InvalidData

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abcdef"), inner, max_size=4),
    max_leaves=12,
)


def number(text: str) -> int | float:
    """RFC 8785 writes large floats as integers; readers hold them as floats."""
    return int(text) if abs(int(text)) < 2**53 else float(text)


def test_against_rfc_8785_example():
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"\u002f",
        "literals": [None, True, False],
    }
    expected = (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert canonical(value) == expected.encode()


@given(VALUES)
def test_reading_it_back_gives_the_same_bytes(value):
    once = canonical(value)
    assert canonical(json.loads(once, parse_int=number)) == once


@given(VALUES)
def test_agrees_with_the_general_encoder(value):
    """Values without fractions take a shorter way; NFC is none of its business."""
    assert canonical(value) == rfc8785.dumps(
        json.loads(unicodedata.normalize("NFC", json.dumps(value, ensure_ascii=False)))
    )


@given(st.dictionaries(TEXT, st.integers(0, 9), max_size=6))
def test_keys_come_in_the_order_of_utf_16(value):
    normal = {unicodedata.normalize("NFC", key): number for key, number in value.items()}
    if len(normal) == len(value):
        assert canonical(value) == rfc8785.dumps(normal)


def test_every_character_is_written_as_the_general_encoder_does():
    text = "".join(map(chr, [*range(0x250), 0x2028, 0x2029, 0xFEFF, 0xFFFF, 0x1F600]))
    assert canonical({"text": text}) == rfc8785.dumps({"text": text})


def test_keys_sort_and_numbers_have_one_form():
    assert canonical({"b": 2.0, "a": 1, "c": -0.0}) == b'{"a":1,"b":2,"c":0}'
    assert canonical((1, 2)) == canonical([1, 2])


def test_strings_and_keys_are_normalised():
    assert canonical({"e\u0301": "e\u0301"}) == canonical({"é": "é"}) == '{"é":"é"}'.encode()


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"seed": 2**53}, "seed"),
        ({"seed": -(2**53)}, "seed"),
        ({"a": [1, float("nan")]}, "a[1]"),
        ({"a": {"b": float("inf")}}, "a.b"),
        ({"a": "\ud800"}, "a"),
        ({"e\u0301": 1, "é": 2}, ""),
        ({"a": {1: 2}}, "a"),
        ({"a": {1, 2}}, "a"),
        ({"a": b"bytes"}, "a"),
    ],
)
def test_what_has_no_exact_json_form_is_refused_by_path(value, path):
    with pytest.raises(InvalidData) as refused:
        canonical(value)
    assert refused.value.faults[0].path == path


def test_depth_is_capped():
    value: list = []
    for _ in range(100):
        value = [value]
    with pytest.raises(InvalidData, match="deeper than"):
        canonical(value)


@pytest.mark.parametrize("leaf", [1, "a", 0.5, None, True, [], {}])
def test_the_depth_of_a_leaf_counts_whatever_it_is(leaf):
    value = leaf
    for _ in range(64):
        value = [value]
    assert canonical(value).startswith(b"[" * 64)
    with pytest.raises(InvalidData, match="deeper than 64"):
        canonical({"a": value})


def test_sha256_is_of_the_bytes():
    assert sha256_hex(b"abc") == hashlib.sha256(b"abc").hexdigest()
