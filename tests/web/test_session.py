from __future__ import annotations

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta

import pytest

from service.domain.access import Key
from service.web.visitors import session

NOW = datetime(2027, 1, 4, 9, 0, tzinfo=UTC)
KEY = Key(
    id="k1",
    project_id="p1",
    name="reader",
    kind="person",
    scopes=("read",),
    prefix="flk_1234",
    created_at=NOW,
)


def sign(purpose: str, message: bytes) -> str:
    return hmac.new(b"server key", purpose.encode() + message, hashlib.sha256).hexdigest()


def other(purpose: str, message: bytes) -> str:
    return hmac.new(b"another key", purpose.encode() + message, hashlib.sha256).hexdigest()


def test_a_session_names_its_key():
    cookie = session.issue(sign, KEY, NOW)
    assert session.read(sign, cookie, NOW)[:2] == ("p1", "k1")


def test_a_session_ends():
    cookie = session.issue(sign, KEY, NOW)
    assert session.read(sign, cookie, NOW + session.LIFETIME - timedelta(seconds=1)) is not None
    assert session.read(sign, cookie, NOW + session.LIFETIME) is None


def test_a_cookie_of_another_deployment_is_nothing():
    assert session.read(sign, session.issue(other, KEY, NOW), NOW) is None


def test_a_changed_cookie_is_nothing():
    _content, signature = session.issue(sign, KEY, NOW).split(".")
    forged = base64.urlsafe_b64encode(json.dumps(["p2", "k2", 2**40]).encode()).decode()
    assert session.read(sign, f"{forged}.{signature}", NOW) is None


@pytest.mark.parametrize("cookie", [None, "", ".", "a.b", "!.!", "é.x", "x" * 5000, "bnVsbA==." + "0" * 64])
def test_rubbish_is_nothing(cookie):
    assert session.read(sign, cookie, NOW) is None
