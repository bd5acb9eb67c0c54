"""Whatever a provider says, of whatever kind it is, somebody gets in or is told in a page; and what a stranger planted
in a browser is not what its owner signs in to."""

from __future__ import annotations

import json
import random
from typing import Any

from tests.openid import OpenIDProvider
from tests.web.sign_in.way import begin, come_back, enters, is_in

ODD: list[Any] = [
    None, True, False, 0, -1, 1.5, 1e308, float("inf"), float("nan"), 10**400, "", "x", "\x00", "\u202e", "é" * 300,
    [], [[]], [None], {}, {"a": []}, "x" * 70_000, ["x"] * 5_000, [{"evals": 1}],
]  # fmt: skip
CLAIMS = (
    "iss", "aud", "exp", "iat", "nbf", "nonce", "sub", "at_hash", "azp", "groups", "_claim_names", "email",
)  # fmt: skip
METADATA = (
    "issuer", "authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint",
    "id_token_signing_alg_values_supported", "code_challenge_methods_supported",
    "token_endpoint_auth_methods_supported",
)  # fmt: skip
HARMLESS = {"at_hash", "azp", "groups", "_claim_names", "email", "nbf", "iat", "exp", "sub"}
"""Claims that may be others and still be those of a person: left out, a number, a text, or for lists alone."""


def test_no_claim_of_an_odd_kind_is_more_than_a_refusal(visitor: Any, provider: OpenIDProvider) -> None:
    chosen = random.Random(26)
    for claim in CLAIMS:
        for odd in chosen.sample(ODD, 2):
            provider.claims = {claim: odd}
            answer = come_back(visitor, provider)
            assert answer.status_code in (403, 502) or (enters(answer) and claim in HARMLESS), (claim, odd)
            visitor.cookies.clear()


def test_no_metadata_of_an_odd_kind_are_more_than_a_refusal(visitor: Any, provider: OpenIDProvider) -> None:
    chosen, known = random.Random(27), visitor.app.state.services.sign_in.provider
    for name in METADATA:
        for odd in chosen.sample([*ODD, "http://[::1", "https://h/#f", "http://127.0.0.1:1/\r\nx: y"], 2):
            provider.metadata, known._metadata, known._away = {name: odd}, None, None
            answer = visitor.get("/login/provider")
            assert answer.status_code == 502 or answer.headers["location"].startswith(provider.issuer), (
                name,
                odd,
            )


def test_no_key_and_no_token_of_an_odd_kind_is_more_than_a_refusal(
    visitor: Any, provider: OpenIDProvider
) -> None:
    chosen, real = random.Random(28), provider.reply
    for path, names in {
        "/jwks": ("keys", "n", "kid", "kty"),
        "/token": ("id_token", "access_token", ""),
    }.items():
        for name in names:
            odd = chosen.choice(ODD)

            def reply(asked: Any, path: str = path, name: str = name, odd: Any = odd) -> Any:
                status, headers, body = real(asked)
                if asked.path != path:
                    return status, headers, body
                said = json.loads(body)
                for described in said["keys"] if name in ("n", "kid", "kty") else [said]:
                    described[name] = odd
                return status, headers, json.dumps(said if name else odd).encode()

            provider.loopback.reply, visitor.app.state.services.sign_in.provider._keys = reply, None
            answer = come_back(visitor, provider)
            assert answer.status_code in (403, 502) or enters(answer), (path, name, odd)
            visitor.cookies.clear()


def test_who_signs_in_gets_a_session_of_their_own_whatever_was_planted(
    serve: Any, provider: OpenIDProvider, database: Any, project: Any
) -> None:
    """A session of the attacker's, or an attempt of hers, does not become the victim's."""
    eve, ada = serve(), serve()
    provider.person = {"sub": "eve-2", "preferred_username": "eve", "groups": ["evals"]}
    assert enters(come_back(eve, provider))
    planted = eve.cookies["forelock_session"]
    ada.cookies.set("forelock_session", planted)
    provider.person = {"sub": "ada-1", "preferred_username": "ada", "groups": ["leads"]}
    assert enters(come_back(ada, provider))
    assert planted not in [cookie.value for cookie in ada.cookies.jar if cookie.domain != ""]
    assert eve.get("/keys").status_code == 403, "the planted session opens what it did"
    begin(eve)
    attempt = eve.cookies["forelock_sign_in"]
    bob = serve()
    bob.cookies.set("forelock_sign_in", attempt)
    back = provider.authorize(begin(bob))
    bob.cookies.clear()
    answer = bob.get(back, headers={"Cookie": f"forelock_sign_in={attempt}"})
    assert answer.status_code == 400
    assert not is_in(bob)
