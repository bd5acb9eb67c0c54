"""Signing in by an OpenID Connect provider, as the settings have it; without them nothing of it is loaded."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from anyio import CapacityLimiter
from pydantic import ValidationError

from service.config import Settings
from service.domain.access import Grant
from service.errors import NotFound
from service.operation.starting import CannotStart
from service.store.database.engine import Database
from service.store.projects import projects

if TYPE_CHECKING:
    from service.publish.openid import Identity, Provider

CALLBACK = "/login/provider/callback"
MOST_AT_ONCE = 4
SECONDS = 10.0
"""A provider that is silent for so long is away: somebody waits for it."""


@dataclass(frozen=True, slots=True)
class SignIn:
    """The provider, and what its groups open."""

    provider: Provider
    grants: tuple[Grant, ...]
    groups_claim: str
    turns: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(MOST_AT_ONCE))
    """Threads that wait for the provider: those of the database stay free meanwhile."""

    @property
    def host(self) -> str:
        """What people know the provider by."""
        return urlsplit(self.provider.issuer).netloc

    @property
    def projects(self) -> Sequence[str]:
        """Names of the projects that any group opens."""
        return list(dict.fromkeys(grant.project for grant in self.grants))

    def groups(self, identity: Identity) -> list[str]:
        """Return the groups of whoever came back: from the ID token, and where it has no such claim from userinfo.

        Raises:
            GroupsElsewhere: the provider gives a reference to them.
            OutgoingFault: userinfo cannot be had, or are of somebody else.
        """
        groups = read_groups(identity.claims, self.groups_claim)
        if groups is None:
            groups = read_groups(self.provider.user_info(identity), self.groups_claim)
        return groups or []


class GroupsElsewhere(Exception):
    """Somebody has so many groups that the provider only says where they can be asked for."""


def read_groups(claims: Mapping[str, Any], name: str) -> list[str] | None:
    """Return the groups that a claim holds: a list of texts, or one text; None where there is no such claim.

    A `name` that is no claim is a path through objects, as in Keycloak's `realm_access.roles`.

    Raises:
        GroupsElsewhere: the claim is in another document (OpenID Connect Core 1.0, section 5.6.2).
    """
    claim = claims.get(name)
    if claim is None:
        elsewhere = claims.get("_claim_names")
        implied = name == "groups" and claims.get("hasgroups") is True  # Entra ID, of an implicit flow
        if implied or (isinstance(elsewhere, dict) and name in elsewhere):
            raise GroupsElsewhere(f"the provider gives a reference in the place of the claim '{name}'")
        claim = _along(claims, name.split("."))
    if claim is None:
        return None
    listed = [claim] if isinstance(claim, str) else claim if isinstance(claim, list) else []
    return [group for group in listed if isinstance(group, str)]


def _along(claims: Mapping[str, Any], path: Sequence[str]) -> object:
    value: object = claims
    for member in path:
        value = value.get(member) if isinstance(value, dict) else None
    return value


def sign_in_of(settings: Settings) -> SignIn | None:
    """Return what the settings say of a provider; None where they name none.

    Raises:
        CannotStart: naming the setting or the file, and what is wrong with it.
    """
    if settings.oidc_issuer is None:
        return None
    try:
        from service.publish.openid import Provider
    except ModuleNotFoundError as error:
        raise CannotStart(
            "FORELOCK_OIDC_ISSUER is set, and the package that speaks OpenID Connect is not installed: install "
            "forelock-server[oidc], or unset it"
        ) from error
    from service.publish.addresses import UnusableEntry, read_allowed
    from service.publish.http import Outgoing
    from service.publish.targets import UnusableAddress, require_target

    try:
        allowed = read_allowed(settings.outgoing_allow or "")
        issuer = require_target(settings.oidc_issuer, allowed)
    except UnusableEntry as fault:
        raise CannotStart(f"FORELOCK_OUTGOING_ALLOW: {fault}") from None
    except UnusableAddress as fault:
        raise CannotStart(f"FORELOCK_OIDC_ISSUER {fault.message}: {fault.fix}") from None
    assert settings.oidc_client_id  # noqa: S101 - the settings were checked
    assert settings.oidc_grants_file  # noqa: S101
    provider = Provider(
        issuer=issuer,
        client_id=settings.oidc_client_id,
        secret=_secret(settings.oidc_client_secret_file),
        redirect_uri=f"{(settings.public_url or '').rstrip('/')}{CALLBACK}",
        scope=settings.oidc_scope,
        outgoing=Outgoing(allowed, connect_seconds=SECONDS, total_seconds=SECONDS),
    )
    return SignIn(provider, read_grants(settings.oidc_grants_file), settings.oidc_groups_claim)


def require_projects(sign_in: SignIn, database: Database) -> None:
    """Refuse grants in projects that there are not: a typing error would shut people out without a word.

    Raises:
        CannotStart: naming the project.
    """
    with database.read() as session:
        for name in sign_in.projects:
            try:
                projects.get_by_name(session, name)
            except NotFound as error:
                raise CannotStart(
                    f"FORELOCK_OIDC_GRANTS_FILE: {error.detail}; make it with POST /v1/projects, or mend the name"
                ) from None


def read_grants(path: Path) -> tuple[Grant, ...]:
    """Return the grants of a file.

    Raises:
        CannotStart: it cannot be read, or holds something else; naming the grant.
    """
    where = f"FORELOCK_OIDC_GRANTS_FILE: {path}"
    content = _read(path, "FORELOCK_OIDC_GRANTS_FILE")
    try:
        document = tomllib.loads(content)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise CannotStart(f"{where} is no TOML: {error}") from None
    rows = document.get("grant")
    if set(document) != {"grant"} or not isinstance(rows, list):
        raise CannotStart(
            f"{where} holds tables [[grant]] and nothing else: group, project and scopes of each"
        )
    grants = []
    for number, row in enumerate(rows, 1):
        try:
            grants.append(Grant.model_validate_json(json.dumps(row, default=str)))
        except ValidationError as invalid:
            fault = invalid.errors(include_url=False, include_input=False)[0]
            field_ = ".".join(map(str, fault["loc"]))
            raise CannotStart(f"{where}, grant {number}, {field_}: {fault['msg']}") from None
    return tuple(grants)


def _secret(path: Path | None) -> str | None:
    if path is None:
        return None
    secret = _read(path, "FORELOCK_OIDC_CLIENT_SECRET_FILE").strip()
    if not secret:
        raise CannotStart(f"FORELOCK_OIDC_CLIENT_SECRET_FILE: {path} is empty")
    return secret


def _read(path: Path, setting: str) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise CannotStart(f"{setting}: cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CannotStart(f"{setting}: {path} is no text in UTF-8") from None
