"""Nobody gets in by a token that the provider did not give to this browser's attempt, or by a provider that lies."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc.jwk import RSAKey

from service.publish.faults import Unanswered
from service.publish.openid import AWAY_SECONDS
from service.web.visitors.single_sign_on import START
from tests.openid import (
    CLIENT,
    SECRET,
    OpenIDProvider,
    ec_key,
    forgers_key,
    rsa_key,
    small_rsa_key,
)
from tests.web.sign_in.way import begin, come_back, enters, is_in, key_of


def test_tokens_of_others_are_refused(visitor, provider, database, project):
    now = int(time.time())
    wrong: dict[str, dict[str, Any]] = {
        "issuer": {"iss": "https://evil.test"},
        "issuer with a slash": {"iss": provider.issuer + "/"},
        "no issuer": {"iss": None},
        "audience of another client": {"aud": "another"},
        "two audiences, neither of them ours": {"aud": ["another", "third"]},
        "ours and another's, by nobody": {"aud": [CLIENT, "another"]},
        "ours and another's, by the other": {"aud": [CLIENT, "another"], "azp": "another"},
        "no audience": {"aud": None},
        "nonce": {"nonce": "0" * 64},
        "no nonce": {"nonce": None},
        "expired": {"exp": now - 3600},
        "no end": {"exp": None},
        "an end that is no number": {"exp": str(now + 300)},
        "issued tomorrow": {"iat": now + 86_400},
        "not yet": {"nbf": now + 3600},
        "nobody": {"sub": ""},
        "no subject": {"sub": None},
        "a subject that is no text": {"sub": 7},
        "half of a character as the subject": {"sub": "\ud800"},
        "a hash of another access token": {"at_hash": "AAAA"},
    }
    for name, claims in wrong.items():
        provider.claims = claims
        answer = come_back(visitor, provider)
        assert answer.status_code == 502, name
        assert not is_in(visitor), name
    assert key_of(database, project.id) == []
    provider.claims = {"aud": [CLIENT, "another"], "azp": CLIENT}
    assert enters(come_back(visitor, provider))


def _encoded(part: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")


def _forged(provider: OpenIDProvider, nonce: str, how: str) -> str:
    claims = provider.said(nonce)
    match how:
        case "none":
            return f"{_encoded({'alg': 'none'})}.{_encoded(claims)}."
        case "none, spelt otherwise":
            return f"{_encoded({'alg': 'nOnE', 'kid': 'rsa-1'})}.{_encoded(claims)}."
        case "the public key as a shared secret":
            content = f"{_encoded({'alg': 'HS256', 'kid': 'rsa-1'})}.{_encoded(claims)}"
            pem = rsa_key().as_pem(private=False)
            mac = base64.urlsafe_b64encode(hmac.digest(pem, content.encode(), hashlib.sha256)).decode()
            return f"{content}.{mac.rstrip('=')}"
        case "a key of the forger under the provider's name":
            lying = forgers_key("rsa-1")
            return OpenIDProvider(provider.loopback, keys=[lying]).signed(claims)
        case "a key that the token brings itself":
            lying = forgers_key("mine")
            return OpenIDProvider(provider.loopback, keys=[lying]).signed(
                claims, jwk=lying.as_dict(private=False)
            )
        case "claims of somebody else under our signature":
            head, _, sign = provider.signed(claims).split(".")
            return f"{head}.{_encoded(claims | {'sub': 'eve', 'groups': ['leads']})}.{sign}"
        case "no signature":
            return ".".join(provider.signed(claims).split(".")[:2]) + "."
    return how


@pytest.mark.parametrize(
    "how",
    [
        "none", "none, spelt otherwise", "the public key as a shared secret",
        "a key of the forger under the provider's name", "a key that the token brings itself",
        "claims of somebody else under our signature", "no signature", "", "a.b.c", "é", "e30.e30.e30", "." * 200_000,
        "W1tb" * 5000 + ".e30.AA",
    ],
)  # fmt: skip
def test_tokens_that_the_provider_did_not_sign_are_refused(visitor, provider, how):
    location = begin(visitor)
    nonce = parse_qs(urlsplit(location).query)["nonce"][0]
    provider.token = _forged(provider, nonce, how) or " "
    assert visitor.get(provider.authorize(location)).status_code == 502
    assert not is_in(visitor)


def test_a_key_too_small_to_hold_is_none(visitor, provider):
    provider.keys = [small_rsa_key()]
    assert come_back(visitor, provider).status_code == 502


def test_a_key_for_encryption_signs_nothing(visitor, provider):
    provider.keys = [RSAKey.import_key(rsa_key().as_dict(private=True) | {"use": "enc"})]
    assert come_back(visitor, provider).status_code == 502


def test_a_key_that_the_provider_changed_is_asked_for_once(visitor, provider, monkeypatch):
    assert enters(come_back(visitor, provider))
    provider.keys, provider.algorithm = [ec_key()], "ES256"
    assert enters(come_back(visitor, provider))  # known already: both were published
    provider.keys = [forgers_key("rsa-2")]
    provider.algorithm = "RS256"
    assert come_back(visitor, provider).status_code == 502  # keys were read less than a minute ago
    sign_in = visitor.app.state.services.sign_in
    monkeypatch.setattr(sign_in.provider, "monotonic", lambda: time.monotonic() + 61)
    assert enters(come_back(visitor, provider))


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://evil.test"}, {"issuer": None}, {"token_endpoint": "http://10.0.0.1/token"},
        {"token_endpoint": "file:///etc/passwd"}, {"jwks_uri": None}, {"authorization_endpoint": "//evil.test"},
        {"authorization_endpoint": "javascript:alert(1)"}, {"code_challenge_methods_supported": ["plain"]},
        {"id_token_signing_alg_values_supported": ["none", "HS256"]},
        {"id_token_signing_alg_values_supported": 7},
        {"id_token_signing_alg_values_supported": [["RS256"], None]},
    ],
    ids=repr,
)  # fmt: skip
def test_metadata_that_cannot_be_are_refused(visitor, provider, metadata):
    provider.metadata = metadata
    assert visitor.get(START).status_code == 502


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b"[" * 100_000, b"{" + b" " * 300_000 + b"}"])
def test_a_provider_that_answers_rubbish_is_away(visitor, provider, body):
    provider.loopback.reply = lambda _asked: (200, {}, body)
    answer = visitor.get(START)
    assert answer.status_code == 502
    assert "sign-in provider" in answer.text


def test_a_provider_that_drips_is_asked_once_for_a_crowd_at_the_door(visitor, provider, monkeypatch):
    known = visitor.app.state.services.sign_in.provider
    monkeypatch.setattr(known, "outgoing", replace(known.outgoing, total_seconds=0.2))
    monkeypatch.setattr(known, "monotonic", lambda: 1000.0)
    provider.loopback.drip()

    def begins(number: int) -> str:
        with pytest.raises(Unanswered) as fault:
            known.authorization_url(f"state {number}", "nonce", "verifier")
        return str(fault.value)

    with ThreadPoolExecutor(4) as crowd:
        (said,) = set(crowd.map(begins, range(24)))
    assert "did not answer in time" in said
    assert len(provider.loopback.requests) == 1
    provider.loopback.dripping = False
    assert visitor.get(START).status_code == 502
    monkeypatch.setattr(known, "monotonic", lambda: 1000.0 + AWAY_SECONDS)
    assert visitor.get(START).status_code == 303
    assert len(provider.loopback.requests) == 2


def test_a_wrong_secret_is_said_in_the_log_alone(visitor, provider, caplog):
    provider.secret = "another"
    with caplog.at_level("WARNING", "forelock.sign_in"):
        answer = come_back(visitor, provider)
    assert answer.status_code == 502
    (line,) = caplog.messages
    assert "refuses this service" in line
    assert SECRET not in line + answer.text
