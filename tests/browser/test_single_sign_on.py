"""Signing in by a provider on another site, in a browser: its cookies have to come along."""

from __future__ import annotations

import pytest

from service.app import create_app
from service.config import Settings
from service.keyring.keyring import Keyring
from tests.api.conftest import on_a_socket
from tests.browser.watched import watched
from tests.drawing import mostly_slow
from tests.openid import CLIENT, SECRET, providing

pytestmark = pytest.mark.browser
GRANTS = """
[[grant]]
group = "evals"
project = "default"
scopes = ["read"]

[[grant]]
group = "others"
project = "other"
scopes = ["read"]
"""


@pytest.fixture
def provider():
    with providing() as provider:
        yield provider


@pytest.fixture
def reached(database, provider, project, others, tmp_path):
    """Where people reach the service, on another site than the provider: `localhost` is another than 127.0.0.1."""
    (tmp_path / "grants.toml").write_text(GRANTS)
    (tmp_path / "secret").write_text(SECRET)
    settings = Settings(
        data_dir=tmp_path,
        public_url="http://localhost",
        outgoing_allow="127.0.0.1",
        oidc_issuer=provider.issuer,
        oidc_client_id=CLIENT,
        oidc_client_secret_file=tmp_path / "secret",
        oidc_grants_file=tmp_path / "grants.toml",
    )
    app = create_app(settings, database, Keyring.create(tmp_path / "keys"))
    with on_a_socket(app) as address:
        here = address.replace("127.0.0.1", "localhost")
        sign_in = app.state.services.sign_in.provider
        sign_in.redirect_uri = sign_in.redirect_uri.replace("http://localhost", here)
        yield here


@pytest.mark.parametrize("scripts", mostly_slow([True, False]))
def test_a_person_signs_in_and_out(chromium, reached, provider, scripts):
    with chromium.new_context(java_script_enabled=scripts) as context:
        page = context.new_page()
        _asked, complaints = watched(page)
        page.goto(f"{reached}/series")
        page.get_by_role("link", name="Sign in by 127.0.0.1").click()
        page.wait_for_url(f"{reached}/series")
        assert page.get_by_role("button", name="Sign out").is_visible()
        page.get_by_role("button", name="Sign out").click()
        page.goto(f"{reached}/series")
        assert page.get_by_label("API key").is_visible()
        assert complaints == []


@pytest.mark.slow
def test_a_person_of_two_projects_chooses_one(chromium, reached, provider):
    provider.person["groups"] = ["evals", "others"]
    with chromium.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(f"{reached}/login")
        page.get_by_role("link", name="Sign in by").click()
        page.get_by_role("button", name="other").click()
        page.wait_for_url(f"{reached}/preregistrations")
        assert page.get_by_role("button", name="Sign out").is_visible()
