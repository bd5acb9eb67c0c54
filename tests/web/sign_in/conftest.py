"""A provider, and a service that people sign in to by it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from service.app import create_app
from service.config import Settings
from service.keyring.keyring import Keyring
from service.store.database.engine import Database
from tests.openid import (
    CLIENT,
    SECRET,
    OpenIDProvider,
    providing,
)

GRANTS = """
[[grant]]
group = "evals"
project = "default"
scopes = ["read", "tests:run"]

[[grant]]
group = "leads"
project = "default"
scopes = ["read", "plans:lock", "admin"]

[[grant]]
group = "posters"
project = "default"
scopes = ["results:write"]

[[grant]]
group = "others"
project = "other"
scopes = ["read"]
"""


@pytest.fixture
def provider() -> Iterator[OpenIDProvider]:
    with providing() as provider:
        yield provider


@pytest.fixture
def settings(provider: OpenIDProvider, tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "grants.toml").write_text(GRANTS)
    (tmp_path / "secret").write_text(SECRET + "\n")
    return {
        "data_dir": tmp_path,
        "key_cache_seconds": 0,
        "public_url": "http://testserver",
        "outgoing_allow": "127.0.0.1",
        "oidc_issuer": provider.issuer,
        "oidc_client_id": CLIENT,
        "oidc_client_secret_file": tmp_path / "secret",
        "oidc_grants_file": tmp_path / "grants.toml",
    }


@pytest.fixture
def serve(database: Database, settings: dict[str, Any], project, others, tmp_path) -> Callable[..., Any]:
    def make(**more: Any) -> TestClient:
        app = create_app(Settings(**settings | more), database, Keyring.create(tmp_path / "keys"))
        return TestClient(app, follow_redirects=False)

    return make


@pytest.fixture
def visitor(serve: Callable[..., TestClient]) -> TestClient:
    return serve()
