"""The `Prefer` header."""

from __future__ import annotations

import time

import pytest

from service.api.http.requests.prefer import MOST_WAIT_SECONDS, Preferences, parse_preferences


@pytest.mark.parametrize(
    ("headers", "wanted"),
    [
        ([], Preferences()),
        (["respond-async"], Preferences(respond_async=True)),
        (["Respond-Async, wait=10"], Preferences(respond_async=True, wait=10)),
        (["wait=5", "respond-async"], Preferences(respond_async=True, wait=5)),
        (['wait="7"'], Preferences(wait=7)),
        (["wait = 3; ignored=1"], Preferences(wait=3)),
        (["wait=1, wait=2"], Preferences(wait=1)),
        (["wait=100000"], Preferences(wait=MOST_WAIT_SECONDS)),
        (["wait=-1"], Preferences()),
        (["wait=ten, return=minimal"], Preferences()),
        (["wait=٣"], Preferences()),
        (["wait"], Preferences()),
        ([",,;;="], Preferences()),
    ],
)
def test_what_is_understood_is_honoured_and_the_rest_ignored(headers, wanted):
    assert parse_preferences(headers) == wanted


def test_what_was_applied_is_said():
    assert parse_preferences(["wait=3, respond-async"]).applied == {
        "Preference-Applied": "respond-async, wait=3"
    }
    assert parse_preferences(["handling=strict"]).applied == {}


@pytest.mark.parametrize(
    "value",
    ["a" + " " * 60_000 + "b", " " * 60_000 + "@", 'a="' + " " * 60_000, "a=" + "x" * 60_000 + " \x01"],
)
def test_a_header_of_spaces_is_looked_through_once(value):
    """Spaces between the parts of a preference were given to each of them in turn: years of work for one header."""
    began = time.process_time()
    parse_preferences([value, "wait=3"])
    assert parse_preferences([f"{value},wait=3"]).wait == 3
    assert time.process_time() - began < 1
