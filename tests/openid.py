"""An OpenID Connect provider of the tests' own, on loopback: real keys, codes that are good once, PKCE that is checked.

What it says can be changed, to be a provider that lies.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import parse_qs, unquote_plus, urlencode, urlsplit

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from joserfc import jws
from joserfc.jwk import ECKey, Key, RSAKey

from tests.loopback import Asked, Loopback, Reply, serving

CLIENT, SECRET, ACCESS = "forelock", "a secret: with a colon", "an.access-token=="


@cache
def rsa_key() -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": "rsa-1", "use": "sig"})


@cache
def forgers_key(kid: str) -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": kid})


@cache
def small_rsa_key() -> RSAKey:
    key = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with warnings.catch_warnings(action="ignore"):  # of just that
        return RSAKey.import_key(pem, {"kid": "rsa-1", "use": "sig"})


@cache
def ec_key() -> ECKey:
    return ECKey.generate_key("P-256", {"kid": "ec-1", "use": "sig"})


@dataclass
class Grant:
    """What a code stands for."""

    asked: Mapping[str, str]
    used: bool = False


@dataclass
class OpenIDProvider:
    """What the provider is, and what it was asked."""

    loopback: Loopback
    algorithm: str = "RS256"
    keys: list[Key] = field(default_factory=lambda: [rsa_key(), ec_key()])
    person: dict[str, Any] = field(
        default_factory=lambda: {"sub": "ada-1", "preferred_username": "ada", "groups": ["evals"]}
    )
    claims: dict[str, Any] = field(default_factory=dict)
    """In the place of what a token would rightly say; None leaves a claim out."""
    metadata: dict[str, Any] = field(default_factory=dict)
    token: str | None = None
    """A token of a forger, in the place of ours."""
    secret: str | None = SECRET
    answers: dict[str, Any] = field(default_factory=dict)
    info: dict[str, Any] | None = None
    """What userinfo hold beside the subject; None: there is no such endpoint."""
    info_answer: Reply | None = None
    """In the place of what userinfo would rightly answer."""
    grants: dict[str, Grant] = field(default_factory=dict)

    @property
    def issuer(self) -> str:
        return self.loopback.url("")

    def authorize(self, location: str) -> str:
        """The person consents: the address that their browser is sent back to."""
        assert location.startswith(f"{self.issuer}/authorize?")
        asked = {name: value for name, (value,) in parse_qs(urlsplit(location).query).items()}
        assert (asked["response_type"], asked["client_id"]) == ("code", CLIENT)
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        code = secrets.token_urlsafe(16)
        self.grants[code] = Grant(asked)
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state'], **self.answers})}"

    def reply(self, asked: Asked) -> Reply:
        match asked.path:
            case "/.well-known/openid-configuration":
                return _json(200, self._described())
            case "/jwks":
                return _json(200, {"keys": [key.as_dict(private=False) for key in self.keys]})
            case "/token":
                return self._token(asked)
            case "/userinfo" if self.info is not None:
                return self._userinfo(asked, self.info)
            case _ if asked.path.startswith("/authorize?"):
                return 303, {"Location": self.authorize(self.issuer + asked.path)}, b""
        return 404, {}, b""

    def _described(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/jwks",
            **({} if self.info is None else {"userinfo_endpoint": f"{self.issuer}/userinfo"}),
            "id_token_signing_alg_values_supported": ["RS256", "ES256", "none", "HS256"],
            "code_challenge_methods_supported": ["S256"],
        } | self.metadata

    def _token(self, asked: Asked) -> Reply:
        form = {name: value for name, (value,) in parse_qs(asked.body.decode()).items()}
        if self._client(asked, form) != (CLIENT, self.secret):
            return _json(401, {"error": "invalid_client"})
        grant = self.grants.get(form["code"])
        proof = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest())
        good = (
            grant is not None
            and not grant.used
            and form["grant_type"] == "authorization_code"
            and form["redirect_uri"] == grant.asked["redirect_uri"]
            and proof.decode().rstrip("=") == grant.asked["code_challenge"]
        )
        if not good or grant is None:
            return _json(400, {"error": "invalid_grant"})
        grant.used = True
        token = self.token or self.signed(self.said(grant.asked["nonce"]))
        return _json(200, {"access_token": ACCESS, "token_type": "Bearer", "id_token": token})

    def _userinfo(self, asked: Asked, info: Mapping[str, Any]) -> Reply:
        if (asked.method, asked.headers.get("authorization")) != ("GET", f"Bearer {ACCESS}"):
            return _json(401, {"error": "invalid_token"})
        return self.info_answer or _json(200, {"sub": self.person["sub"]} | dict(info))

    def _client(self, asked: Asked, form: Mapping[str, str]) -> tuple[str | None, str | None]:
        scheme, _, pair = asked.headers.get("authorization", "").partition(" ")
        if scheme == "Basic":
            name, _, secret = base64.b64decode(pair).decode().partition(":")
            return unquote_plus(name), unquote_plus(secret)
        return form.get("client_id"), form.get("client_secret")

    def said(self, nonce: str) -> dict[str, Any]:
        now = int(time.time())
        rightly = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": nonce}
        claims = rightly | self.person | self.claims
        return {name: value for name, value in claims.items() if value is not None}

    def signed(self, claims: dict[str, Any], **header: Any) -> str:
        kind = {"R": "RSA", "P": "RSA", "E": "EC"}[self.algorithm[0]]
        key = next(key for key in self.keys if key.key_type == kind)
        kid = {} if key.get("kid") is None else {"kid": key.get("kid")}
        content = json.dumps(claims).encode()
        return jws.serialize_compact(
            {"alg": self.algorithm} | kid | header, content, key, algorithms=[self.algorithm]
        )


@contextmanager
def providing() -> Iterator[OpenIDProvider]:
    """A provider until the block ends."""
    with serving() as loopback:
        provider = OpenIDProvider(loopback)
        loopback.reply = provider.reply
        yield provider


def _json(status: int, content: Mapping[str, Any]) -> Reply:
    return status, {"Content-Type": "application/json"}, json.dumps(content).encode()
