"""RFC 8785 as a reader, against the encoder that the service writes with and the RFC's own examples."""

from __future__ import annotations

import struct
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from forelock.bundles.canonical import read
from forelock.bundles.faults import Broken

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)

# RFC 8785, appendix B: bits of a double, and how it is written.
NUMBERS = {
    "0000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}


@given(VALUES)
def test_what_the_service_writes_is_read(value: Any) -> None:
    assert read(rfc8785.dumps(value), "it") == value


@pytest.mark.parametrize(("bits", "text"), NUMBERS.items())
def test_numbers_against_rfc_8785(bits: str, text: str) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert float(read(text.encode(), "it")) == number


def test_the_names_of_rfc_8785_are_in_order() -> None:
    """Section 3.2.3: sorted by UTF-16, so that a pair of surrogates comes before U+FB33."""
    text = (
        '{"\\r":"Carriage Return","1":"One","\x80":"Control","ö":"Latin Small Letter O With Diaeresis",'
        '"€":"Euro Sign","😀":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}'
    )
    assert len(read(text.encode(), "it")) == 7


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":1}',
        '{"b":1,"a":1}',
        '{"\ufb33":1,"😀":2}',
        '{"a": 1}',
        "[1,2]\n",
        "1.0",
        "1e2",
        "1E+21",
        "-0",
        "01",
        "0.10",
        "NaN",
        "[Infinity]",
        "1e999",
        "12345678901234567890",
        "9" * 5000,
        "1" + "0" * 400,
        '"\\u0041"',
        '"\\/"',
        '"\\u001F"',
        '"\\ud800"',
        "[" * 200_000,
        '{"a":' * 100_000,
        "",
        "[1,]",
        "tru",
        "\ufeff[]",
    ],
)
def test_every_other_spelling_is_refused(text: str) -> None:
    with pytest.raises(Broken, match="it is not"):
        read(text.encode(), "it")


@pytest.mark.parametrize("data", [b"\xff", b'"\xed\xa0\x80"', b'"\xc0\x80"', b"\xef\xbb\xbf[]"])
def test_what_is_not_utf_8_is_refused(data: bytes) -> None:
    with pytest.raises(Broken):
        read(data, "it")
