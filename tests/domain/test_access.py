from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from service.domain.access import (
    SCOPES,
    Key,
    new_secret,
    parse_secret,
    secret_prefix,
    secret_sha256,
)

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SECRET = new_secret(bytes(range(32)))


def key(**changes):
    values = {
        "id": "k",
        "project_id": "p",
        "name": "n",
        "kind": "job",
        "scopes": ("results:write",),
        "prefix": "flk_",
        "created_at": NOW,
    }
    return Key(**values | changes)


@given(st.binary(min_size=32, max_size=32))
def test_every_secret_has_the_form_of_one(randomness):
    secret = new_secret(randomness)
    assert len(secret) == 53
    assert parse_secret(secret)


@given(st.lists(st.binary(min_size=32, max_size=32), min_size=2, max_size=2, unique=True))
def test_secrets_differ_as_their_randomness_does(two):
    assert new_secret(two[0]) != new_secret(two[1])


def test_secrets_carry_256_bits():
    for length in (0, 31, 33):
        with pytest.raises(ValueError, match="32 random bytes"):
            new_secret(bytes(length))


@given(st.integers(0, len(SECRET) - 1), st.characters())
def test_a_changed_character_is_seen(position, character):
    changed = SECRET[:position] + character + SECRET[position + 1 :]
    assert parse_secret(changed) == (changed == SECRET)


@given(st.text())
def test_other_texts_are_no_secrets(text):
    assert not parse_secret(text)


@pytest.mark.parametrize(
    "text", [SECRET[:-1], SECRET + "0", SECRET[4:], f" {SECRET}", SECRET.upper(), "flk_"]
)
def test_cut_and_padded_secrets_are_seen(text):
    assert not parse_secret(text)


def test_what_is_kept_does_not_hold_the_secret():
    assert secret_prefix(SECRET) == SECRET[:12]
    assert len(secret_sha256(SECRET)) == 64
    assert secret_sha256(SECRET) != secret_sha256(SECRET[:-1])
    assert secret_sha256("\ud800") != secret_sha256("")


def test_a_key_is_valid_until_it_expires_or_is_revoked():
    assert key().valid(NOW)
    assert key(expires_at=NOW + timedelta(seconds=1)).valid(NOW)
    assert not key(expires_at=NOW).valid(NOW)
    assert not key(revoked_at=NOW).valid(NOW)


def test_scopes_do_not_imply_one_another():
    for held in SCOPES:
        assert [scope for scope in SCOPES if key(scopes=(held,)).allows(scope)] == [held]


@pytest.mark.parametrize("scopes", [(), ("everything",), ["read"]])
def test_scopes_are_known_and_not_empty(scopes):
    with pytest.raises(ValidationError):
        key(scopes=scopes)
