"""Who somebody is, asked of an OpenID Connect provider: authorization code with PKCE, and an ID token that is checked.

The provider is called by the one guarded client. Its metadata and keys are remembered for a while; a key that is not
among them is asked for once more, and not again before a minute has passed.

Sources: OpenID Connect Core 1.0, sections 3.1.2 to 3.1.3.7 and 5.3; Discovery 1.0, section 4; RFC 7636; RFC 9207;
RFC 9700.
"""

from __future__ import annotations

import base64
import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_plus, urlencode

from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from cryptography.exceptions import UnsupportedAlgorithm
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, Key
from joserfc.jws import CompactSignature

from service.publish.faults import OutgoingFault
from service.publish.http import Outgoing
from service.publish.targets import UnusableAddress, require_target

ALGORITHMS = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)
"""What an ID token may be signed with: by keys of which we know the public half alone. Not `none`, no shared secret."""
LEAST_RSA_BITS = 2048
MOST_BYTES = 256 * 1024
MOST_TOKEN = 100 * 1024
LEEWAY_SECONDS = 60
METADATA_SECONDS = 3600.0
AWAY_SECONDS = 5.0
"""A provider that gave no usable metadata is not asked for them again before: whoever else waits is told at once."""
NEW_KEYS_SECONDS = 60.0
UNREADABLE = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError)
"""What the library raises, besides its own errors, for members of another kind than they should be."""
WELL_KNOWN = "/.well-known/openid-configuration"


class Untrusted(OutgoingFault):
    """What the provider sent is not what it should be; a sentence for the log, without anything of what was sent."""


class CodeRefused(OutgoingFault):
    """The provider does not take the code: it was used, or is too old, or was not ours."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who came back: the claims of a checked ID token, and what the provider is asked for more with."""

    claims: Mapping[str, Any] = field(repr=False)
    access_token: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Metadata:
    """Where a provider is asked what, and the keys it signs with."""

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None
    algorithms: tuple[str, ...]
    posts_secret: bool
    """Whether it takes the client's secret in the body alone."""
    names_itself: bool
    """Whether its answers in the address hold `iss`."""


@dataclass(slots=True)
class Provider:
    """One provider, and who we are to it.

    `issuer` is its identifier, letter for letter as its metadata and its tokens have it. Without a `secret` we are
    a public client, which PKCE alone protects.
    """

    issuer: str
    client_id: str
    secret: str | None = field(repr=False)
    redirect_uri: str
    scope: str
    outgoing: Outgoing
    monotonic: Callable[[], float] = time.monotonic
    _metadata: tuple[Metadata, float] | None = None
    _away: tuple[OutgoingFault, float] | None = None
    _asking: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _keys: tuple[list[Key], float] | None = None

    def authorization_url(self, state: str, nonce: str, verifier: str) -> str:
        """Say where the browser is sent to sign in.

        Raises:
            OutgoingFault: the provider's metadata cannot be had, or are none.
        """
        return str(
            prepare_grant_uri(
                self.metadata().authorization_endpoint,
                client_id=self.client_id,
                response_type="code",
                redirect_uri=self.redirect_uri,
                scope=self.scope,
                state=state,
                nonce=nonce,
                code_challenge=create_s256_code_challenge(verifier),
                code_challenge_method="S256",
            )
        )

    def identify(self, code: str, nonce: str, verifier: str, now: int) -> Identity:
        """Return who came back with the code, by an ID token that is checked.

        Raises:
            CodeRefused: it was used before, or is not one that was given to us.
            OutgoingFault: the provider is away, or what it sends cannot be believed.
        """
        metadata = self.metadata()
        answer = self._fetch_tokens(metadata, code, verifier)
        token, access = answer.get("id_token"), answer.get("access_token")
        if not isinstance(token, str) or not token.isascii() or len(token) > MOST_TOKEN:
            raise Untrusted("the provider's answer holds no ID token")
        try:
            signed = jwt.decode(token, lambda obj: self._key_of(obj, metadata), list(metadata.algorithms))
            claims = CodeIDToken(
                signed.claims,
                signed.header,
                options={
                    "iss": {"essential": True, "value": self.issuer},
                    "aud": {"essential": True, "value": self.client_id},
                    "sub": {"essential": True},
                },
                params={"nonce": nonce, "client_id": self.client_id, "access_token": access},
            )
            claims.validate(now, LEEWAY_SECONDS)
        except JoseError as error:
            fault = getattr(error, "claim", None)
            why = f" ({fault})" if isinstance(fault, str) else ""
            raise Untrusted(f"the ID token is refused: {error.error}{why}") from None
        except UNREADABLE:
            raise Untrusted("the ID token cannot be read") from None
        if not claims["sub"] or len(claims["sub"]) > 255 or not claims["sub"].isprintable():
            raise Untrusted("the ID token names nobody")
        return Identity(dict(claims), access if _sendable(access) else None)

    def user_info(self, identity: Identity) -> Mapping[str, Any]:
        """Return what the provider says of the person beside the ID token; nothing where it has no such endpoint.

        Raises:
            OutgoingFault: the provider is away, or answers of somebody else.
        """
        endpoint, token = self.metadata().userinfo_endpoint, identity.access_token
        if endpoint is None or token is None:
            return {}
        headers = {"Accept": "application/json", "Authorization": f"Bearer {token}"}
        answer = self.outgoing.send("GET", endpoint, headers=headers, limit=MOST_BYTES)
        if answer.status != 200:
            raise Untrusted(f"the provider answers {answer.status} where it is asked about a person")
        if answer.media_type == "application/jwt":
            raise Untrusted("the provider signs what it says of a person: let it answer userinfo as JSON")
        claims = _object(answer.body, Untrusted("what the provider says of a person is no JSON object"))
        # Core 5.3.2: an access token that was swapped for another's must not lend its owner's groups
        if claims.get("sub") != identity.claims["sub"]:
            raise Untrusted("the provider's userinfo are of somebody else than its ID token")
        return claims

    def metadata(self) -> Metadata:
        """Return the provider's description of itself, read once an hour, by one caller for all who wait.

        Raises:
            OutgoingFault: it cannot be had, or is none; the same as a moment ago where it was just asked for.
        """
        with self._asking:
            if self._metadata is None or self._over(self._metadata[1], METADATA_SECONDS):
                self._metadata = (self._ask_metadata(), self.monotonic())
            return self._metadata[0]

    def _ask_metadata(self) -> Metadata:
        """Ask the provider for its metadata.

        For `AWAY_SECONDS` after a failure that one is raised again, and nobody asked.
        """
        # A provider that drips takes the whole deadline: a crowd at the door would wait for it one after the other.
        if self._away is not None and not self._over(self._away[1], AWAY_SECONDS):
            fault = self._away[0]
            raise type(fault)(str(fault))
        try:
            return self._check(self._get(self.issuer.rstrip("/") + WELL_KNOWN))
        except OutgoingFault as fault:
            self._away = (fault, self.monotonic())
            raise

    def _over(self, since: float, seconds: float) -> bool:
        return self.monotonic() - since >= seconds

    def _check(self, document: Mapping[str, Any]) -> Metadata:
        """Check a provider's metadata, and keep what signing in needs; Untrusted where something is missing or weak."""
        if document.get("issuer") != self.issuer:
            raise Untrusted("the provider's metadata are of another issuer")
        methods = document.get("code_challenge_methods_supported")
        if isinstance(methods, list) and "S256" not in methods:
            raise Untrusted("the provider does not know PKCE with S256")
        algorithms = document.get("id_token_signing_alg_values_supported", ["RS256"])
        listed = algorithms if isinstance(algorithms, list) else []
        usable = [name for name in listed if isinstance(name, str) and name in ALGORITHMS]
        if not usable:
            raise Untrusted("the provider signs by nothing that is taken here")
        ways = document.get("token_endpoint_auth_methods_supported")
        return Metadata(
            authorization_endpoint=self._endpoint(document, "authorization_endpoint"),
            token_endpoint=self._endpoint(document, "token_endpoint"),
            jwks_uri=self._endpoint(document, "jwks_uri"),
            userinfo_endpoint=self._endpoint(document, "userinfo_endpoint")
            if document.get("userinfo_endpoint") is not None
            else None,
            algorithms=tuple(usable),
            posts_secret=isinstance(ways, list)
            and "client_secret_basic" not in ways
            and "client_secret_post" in ways,
            names_itself=document.get("authorization_response_iss_parameter_supported") is True,
        )

    def _endpoint(self, document: Mapping[str, Any], name: str) -> str:
        address = document.get(name)
        if not isinstance(address, str):
            raise Untrusted(f"the provider's metadata lack {name}")
        try:
            return require_target(address, self.outgoing.allowed)
        except UnusableAddress as fault:
            raise Untrusted(f"the provider's {name} {fault}") from None

    def _fetch_tokens(self, metadata: Metadata, code: str, verifier: str) -> Mapping[str, Any]:
        """Exchange a code for tokens; CodeRefused where the provider does not take it, Untrusted for other faults."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect_uri,
            "code_verifier": verifier,
        }
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        if self.secret is None:
            form["client_id"] = self.client_id
        elif metadata.posts_secret:
            form |= {"client_id": self.client_id, "client_secret": self.secret}
        else:  # RFC 6749, 2.3.1: both are encoded like a form before they are joined
            pair = f"{quote_plus(self.client_id)}:{quote_plus(self.secret)}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        answer = self.outgoing.send(
            "POST",
            metadata.token_endpoint,
            content=urlencode(form).encode(),
            headers=headers,
            limit=MOST_BYTES,
        )
        if answer.status in (400, 401, 403):
            document = _object(answer.body, Untrusted("the provider refuses the code and says no reason"))
            if document.get("error") == "invalid_grant":
                raise CodeRefused("the provider does not take the code")
            raise Untrusted(
                "the provider refuses this service: its id, its secret or its address for answers"
            )
        if answer.status != 200:
            raise Untrusted(f"the provider answers {answer.status} where a code is taken")
        return _object(answer.body, Untrusted("the provider's answer to the code is no JSON object"))

    def _key_of(self, token: Any, metadata: Metadata) -> Key:
        """Return the provider's key that the token names; without a name the only one that fits."""
        assert isinstance(token, CompactSignature)  # noqa: S101
        header = token.headers()
        algorithm, kid = header.get("alg"), header.get("kid")
        for again in (False, True):
            fitting = [
                key for key in self._known_keys(metadata, again=again) if _fits(key, str(algorithm), kid)
            ]
            if len(fitting) == 1:
                return fitting[0]
        raise Untrusted("the ID token is signed with a key that is none of the provider's")

    def _known_keys(self, metadata: Metadata, *, again: bool) -> list[Key]:
        known, now = self._keys, self.monotonic()
        if known is None or now - known[1] >= (NEW_KEYS_SECONDS if again else METADATA_SECONDS):
            keys = self._get(metadata.jwks_uri).get("keys")
            known = self._keys = (_public_keys(keys if isinstance(keys, list) else []), now)
        return known[0]

    def _get(self, url: str) -> Mapping[str, Any]:
        answer = self.outgoing.send("GET", url, headers={"Accept": "application/json"}, limit=MOST_BYTES)
        if answer.status != 200:
            raise Untrusted(f"the provider answers {answer.status} where it describes itself")
        return _object(answer.body, Untrusted("what the provider says of itself is no JSON object"))


def _sendable(token: object) -> bool:
    """Tell whether a token can stand in a header (RFC 6750, section 2.1)."""
    return isinstance(token, str) and len(token) <= MOST_TOKEN and _BEARER.fullmatch(token) is not None


_BEARER = re.compile(r"[A-Za-z0-9._~+/-]+=*")


def _object(body: bytes, fault: OutgoingFault) -> Mapping[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        raise fault from None
    if not isinstance(document, dict):
        raise fault
    return document


def _public_keys(described: list[Any]) -> list[Key]:
    """Return the keys that can check a signature; what is not understood is passed over (RFC 7517, section 5)."""
    keys: list[Key] = []
    for members in described:
        if not isinstance(members, dict) or members.get("kty") not in ("RSA", "EC", "OKP"):
            continue
        if members.get("use", "sig") != "sig":
            continue
        if members["kty"] == "RSA" and 6 * len(str(members.get("n"))) < LEAST_RSA_BITS:  # in base64
            continue
        with suppress(JoseError, UnsupportedAlgorithm, *UNREADABLE):
            keys.append(JWKRegistry.import_key(members))
    return keys


_KINDS = {"R": "RSA", "P": "RSA", "E": "EC"}


def _fits(key: Key, algorithm: str, kid: object) -> bool:
    kind = "OKP" if algorithm == "EdDSA" else _KINDS.get(algorithm[:1])
    id_fits = kid is None or key.get("kid") == kid
    return key.key_type == kind and id_fits and key.get("alg") in (None, algorithm)
