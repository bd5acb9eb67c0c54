from __future__ import annotations

import pytest

from service.api.http.requests.body import Content
from service.api.routes.results.results import _is_quick


@pytest.mark.parametrize(
    ("media_type", "body", "expected"),
    [
        ("application/json", b' {"arm": ' + b" " * 50_000, True),
        ("application/json", b"[" + b"{}," * 2000, True),
        ("application/json", b"[" + b"{}," * 8000, False),
        ("application/x-ndjson", b"{}\n" * 8000, False),
        ("text/csv", b"arm\n" * 8000, False),
    ],
)
def test_only_what_is_parsed_within_milliseconds_is_parsed_between_others(
    media_type: str, body: bytes, expected: bool
) -> None:
    assert _is_quick(Content([body], media_type)) is expected
