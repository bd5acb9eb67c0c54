from __future__ import annotations

import json
import math
from datetime import date
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

from service.api.parsing import strict_json
from service.api.parsing.closed_types import is_closed
from service.api.parsing.models import validate
from service.errors import InvalidData, MalformedBody
from service.stats.shared.declaring import registry

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), inner, max_size=5
        )
    ),
    max_leaves=30,
)


@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_what_json_writes_is_read_unchanged(value, ascii_only, indent):
    body = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    assert strict_json.parse(body) == value


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "empty_body"),
        (b" \n\t", "empty_body"),
        (b"\xef\xbb\xbf{}", "invalid_encoding"),
        ('{"a": 1}'.encode("utf-16"), "invalid_encoding"),
        (b'{"a": "\xff"}', "invalid_encoding"),
        (b'{"a": "\xed\xa0\x80"}', "invalid_encoding"),
        (b'{"a": 1, "a": 1}', "duplicate_key"),
        (b'{"x": [{"a": 1, "b": 2, "a": 3}]}', "duplicate_key"),
        (b'{"a": 1, "\\u0061": 1}', "duplicate_key"),
        (b'{"a": NaN}', "not_finite"),
        (b"[Infinity]", "not_finite"),
        (b"[-Infinity]", "not_finite"),
        (b"[1e999]", "not_finite"),
        (b"[-1E+999]", "not_finite"),
        (b"[[[123456789e307]]]", "not_finite"),
        (b"[1." + b"0" * 10 + b"e400]", "not_finite"),
        (b"[" + b"9" * 400 + b".5]", "not_finite"),
        (b"[" + b"9" * 5000 + b"]", "malformed_json"),
        (b'["a\\u0000b"]', "invalid_text"),
        (b'["\\u00e9\\u0000"]', "invalid_text"),
        (b'["\\ud800"]', "invalid_text"),
        (b'{"\\udc00": 1}', "invalid_text"),
        (b'["a\x00b"]', "malformed_json"),
        (b'["a\nb"]', "malformed_json"),
        (b"{} {}", "malformed_json"),
        (b"{} x", "malformed_json"),
        (b"{'a': 1}", "malformed_json"),
        (b'{"a": 1,}', "malformed_json"),
        (b"[01]", "malformed_json"),
        (b"[1", "malformed_json"),
        (b"nope", "malformed_json"),
        (b"[" * 65 + b"]" * 65, "too_deep"),
        (b'{"a":' * 65 + b"1" + b"}" * 65, "too_deep"),
        (b"[" * 500_000 + b"]" * 500_000, "too_deep"),
        (b"[" * 500_000, "too_deep"),
    ],
)
def test_lenient_json_is_refused(body, code):
    with pytest.raises(MalformedBody) as refused:
        strict_json.parse(body)
    assert refused.value.problem_code == code
    assert refused.value.status == 400
    assert all(fault.fix for fault in refused.value.faults)


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"[" * 64 + b"]" * 64, None),
        (b'["\\ud83d\\ude00"]', ["\U0001f600"]),
        (b"[1e308, 1e-400, 5E2]", [1e308, 0.0, 500.0]),
        (b'{"e": "0e999", "00000": "0E1"}', {"e": "0e999", "00000": "0E1"}),
        (b'"' + b"0" * 400 + b'"', "0" * 400),
        (b"[" + b"{}," * 100 + b"{}]", [{}] * 101),
        (b"\r\n [1]\t ", [1]),
    ],
)
def test_strict_json_is_read(body, value):
    parsed = strict_json.parse(body)
    assert value is None or parsed == value


@given(st.floats(allow_nan=False), st.integers(1, 3))
def test_a_number_is_refused_exactly_when_it_overflows(number, depth):
    text = repr(number).replace("inf", "1e999")
    body = ("[" * depth + text + "]" * depth).encode()
    if math.isfinite(number):
        strict_json.parse(body)
    else:
        with pytest.raises(MalformedBody):
            strict_json.parse(body)


class Inner(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    a: int = 0
    s: str = ""


class Outer(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    a: int = 0
    s: str = ""
    c: list[float] = []
    n: Inner | None = None
    day: date | None = None
    free: JsonValue = None


INNER_PAIRS = st.sampled_from(['"a":1', '"a":2', '"s":"x"', '"\\u0061":3', '"s":"\\n"'])
OUTER_PAIRS = st.sampled_from(
    [
        '"c":[]',
        '"c":[1,2.5]',
        '"c":[NaN]',
        '"c":[1e999]',
        '"n":null',
        '"n":{}',
        '"day":"2027-02-01"',
        '"free":[{}]',
        '"free":NaN',
        '"free":-Infinity',
        '"free":{"a":1,"a":1}',
        '"free":"\\ud800"',
        '"s":"\\u0000"',
        '"s":"NaN"',
    ]
)
NESTED_PAIRS = st.lists(INNER_PAIRS, max_size=3).map(lambda pairs: '"n":{' + ",".join(pairs) + "}")


def refusal(read, *arguments):
    """The code of the refusal; None when it is read."""
    try:
        read(*arguments)
    except MalformedBody as refused:
        return refused.problem_code
    return None


@given(st.lists(INNER_PAIRS | OUTER_PAIRS | NESTED_PAIRS, max_size=5), st.sampled_from([",", " ,\n"]))
def test_parsing_once_refuses_what_parsing_twice_would(pairs, comma):
    body = ("{" + comma.join(pairs) + "}").encode()
    code = refusal(strict_json.parse, body)
    assert refusal(validate, TypeAdapter(Outer), body) == code
    if code is None:
        expected = Outer.model_validate(strict_json.parse(body), strict=False)
        assert validate(TypeAdapter(Outer), body) == expected


class Closed(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
    a: int = 0
    s: str = ""
    c: list[float] = []
    n: Inner | None = None


CLOSED_PAIRS = st.sampled_from(
    [
        '"c":[]',
        '"c":[1,2.5]',
        '"c":[1e308]',
        '"n":null',
        '"n":{}',
        '"s":"\\u0000"',
        '"s":"NaN"',
        '"s":"1e999"',
    ]
)
NOT_FINITE = st.sampled_from(
    ['"c":[NaN]', '"c":[1e999]', '"c":[-Infinity]', '"a":NaN', '"a":1e999', '"d":[NaN]']
)


@given(
    st.lists(INNER_PAIRS | CLOSED_PAIRS | NOT_FINITE | NESTED_PAIRS, max_size=5),
    st.sampled_from([",", " ,\n"]),
)
def test_a_closed_type_refuses_what_parsing_twice_would(pairs, comma):
    body = ("{" + comma.join(pairs) + "}").encode()
    adapter = TypeAdapter(Closed)
    code = refusal(strict_json.parse, body)
    assert refusal(validate, adapter, body, is_closed(adapter)) == code
    if code is None:
        expected = Closed.model_validate(strict_json.parse(body), strict=False)
        assert validate(adapter, body, True) == expected


@pytest.mark.parametrize("closed", [True, False])
def test_a_whole_number_too_large_for_a_float_is_a_fault_of_its_field(closed):
    body = f'{{"c":[{"9" * 400}]}}'.encode()
    with pytest.raises(InvalidData, match="must be a finite number"):
        validate(TypeAdapter(Closed), body, closed)


class Open(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    x: float = 0


class Lenient(BaseModel):
    model_config = ConfigDict(allow_inf_nan=False)
    x: float = 0


class Tree(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    children: list[Tree] = []


@pytest.mark.parametrize(
    ("closed", "type_"),
    [
        (True, Closed),
        (True, list[int]),
        (True, Annotated[float, Field(allow_inf_nan=False)]),
        (True, Closed | None),
        (False, float),
        (False, list[float]),
        (False, list),
        (False, dict[str, int]),
        (False, JsonValue),
        (False, Any),
        (False, Outer),
        (False, Open),
        (False, Lenient),
        (False, Tree),
        (False, Closed | Open),
        (False, date),
    ],
)
def test_a_type_is_closed_when_nothing_infinite_deep_or_unknown_gets_through(type_, closed):
    assert is_closed(TypeAdapter(type_)) is closed


@pytest.mark.parametrize("test", list(registry.every()), ids=lambda test: f"{test.name}-{test.version}")
def test_requests_of_tests_are_closed(test):
    """But for those with arms or covariates that the caller names, which are parsed twice."""
    open_ones = {"leaderboard", "item-analysis", "suite", "unpaired-difference"}
    assert is_closed(TypeAdapter(test.request)) is (test.name not in open_ones)


def test_a_message_never_repeats_a_value():
    for body in (b'{"a": "secret-value", "a": 2}', b'["secret-value" 1]', b'["secret-value", NaN]'):
        with pytest.raises(MalformedBody) as refused:
            strict_json.parse(body)
        assert "secret" not in refused.value.detail
        assert all("secret" not in fault.message for fault in refused.value.faults)
