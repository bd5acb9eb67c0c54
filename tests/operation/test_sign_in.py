"""What an operator reads when signing in by a provider is set up wrongly, before anything listens."""

from __future__ import annotations

import builtins
import json
from pathlib import Path

import pytest

import service.main as service
from service.config import Settings, UnusableSetting, read_settings
from service.operation.sign_in import read_grants, require_projects, sign_in_of
from service.operation.starting import CannotStart
from service.store.database.engine import Database

GRANT = '[[grant]]\ngroup = "evals"\nproject = "default"\nscopes = ["read"]\n'


def settings(folder: Path, **more) -> Settings:
    (folder / "grants.toml").write_text(GRANT)
    return Settings(**{
        "data_dir": folder,
        "oidc_issuer": "https://id.example.org",
        "oidc_client_id": "forelock",
        "oidc_grants_file": folder / "grants.toml",
        "public_url": "https://forelock.example.org/evals/",
    } | more)  # fmt: skip


def test_without_an_issuer_there_is_none(tmp_path: Path) -> None:
    assert sign_in_of(Settings(data_dir=tmp_path)) is None


def test_what_the_settings_say(tmp_path: Path) -> None:
    sign_in = sign_in_of(settings(tmp_path))
    assert sign_in is not None
    assert sign_in.provider.redirect_uri == "https://forelock.example.org/evals/login/provider/callback"
    assert (sign_in.host, sign_in.projects, sign_in.provider.secret) == ("id.example.org", ["default"], None)


def test_no_secret_is_shown(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("xyzzy\n")
    sign_in = sign_in_of(settings(tmp_path, oidc_client_secret_file=tmp_path / "secret"))
    assert sign_in is not None
    assert sign_in.provider.secret == "xyzzy"
    assert "xyzzy" not in repr(sign_in)


@pytest.mark.parametrize("lacking", ["oidc_client_id", "oidc_grants_file", "public_url"])
def test_half_of_it_is_refused(tmp_path: Path, lacking: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = settings(tmp_path).model_dump(
        include={"oidc_issuer", "oidc_client_id", "oidc_grants_file", "public_url"}
    )
    with pytest.raises(UnusableSetting, match=f"needs FORELOCK_{lacking.upper()}"):
        read_settings(given | {lacking: None}, print)


@pytest.mark.parametrize(
    ("issuer", "says"),
    [
        ("http://id.example.org", "does not begin with https://"),
        ("https://10.0.0.1", "is not a public address"),
    ],
)
def test_an_issuer_that_may_not_be_called_is_refused(tmp_path: Path, issuer: str, says: str) -> None:
    with pytest.raises(CannotStart, match=f"FORELOCK_OIDC_ISSUER {says}: .*FORELOCK_OUTGOING_ALLOW"):
        sign_in_of(settings(tmp_path, oidc_issuer=issuer))
    assert sign_in_of(settings(tmp_path, oidc_issuer=issuer, outgoing_allow="id.example.org 10.0.0.1"))


def test_a_package_that_is_lacking_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest):
        if name == "service.publish.openid":
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(CannotStart, match=r"forelock-server\[oidc\]"):
        sign_in_of(settings(tmp_path))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[[grant", "is no TOML"),
        ("", r"holds tables \[\[grant\]\]"),
        ("grant = 1", r"holds tables \[\[grant\]\]"),
        ("grant = [1]", "grant 1"),
        (GRANT + "[more]", "nothing else"),
        (GRANT + GRANT.replace("read", "raed"), r"grant 2, scopes.0: Input should be 'tests:run'"),
        (GRANT.replace('["read"]', "[]"), "grant 1, scopes"),
        (GRANT.replace('["read"]', '"read"'), "grant 1, scopes"),
        (GRANT.replace("evals", ""), "grant 1, group"),
        (GRANT + "x = 2027-01-04", "grant 1, x"),
        (b"\xff", "is no text in UTF-8"),
        (None, "cannot read .*No such file"),
    ],
)
def test_a_file_of_grants_that_is_none_is_refused(
    tmp_path: Path, content: str | bytes | None, says: str
) -> None:
    path = tmp_path / "grants.toml"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(CannotStart, match=f"(?s)FORELOCK_OIDC_GRANTS_FILE.*{says}"):
        read_grants(path)


def test_an_empty_secret_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("\n")
    with pytest.raises(CannotStart, match="is empty"):
        sign_in_of(settings(tmp_path, oidc_client_secret_file=tmp_path / "secret"))


def test_a_project_that_is_not_there_is_named(tmp_path: Path, sqlite_template: Path) -> None:
    (tmp_path / "forelock.db").write_bytes(sqlite_template.read_bytes())
    database = Database(f"sqlite:///{tmp_path / 'forelock.db'}")
    sign_in = sign_in_of(settings(tmp_path))
    assert sign_in is not None
    try:
        with pytest.raises(CannotStart, match="no project named 'default'"):
            require_projects(sign_in, database)
    finally:
        database.dispose()


@pytest.mark.parametrize("runner", [True, False])
def test_serving_is_refused_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, runner: bool
) -> None:
    names = ("oidc_issuer", "oidc_client_id", "oidc_grants_file", "public_url")
    usable = settings(tmp_path)
    for name in names:
        monkeypatch.setenv(f"FORELOCK_{name.upper()}", str(getattr(usable, name)))
    monkeypatch.setenv("FORELOCK_OIDC_ISSUER", "http://id.example.org")
    data = tmp_path / "data"
    with pytest.raises(CannotStart, match="FORELOCK_OIDC_ISSUER"):
        service._prepare(json.dumps({"data_dir": str(data)}), -1, runner=runner)
    assert not data.exists()
