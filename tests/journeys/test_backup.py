"""What is copied from a running service is judged and read elsewhere, and nothing comes back by halves."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from forelock.cli import main
from service.app import create_app
from service.config import Settings
from service.jobs.runner import Runner
from service.keyring.keyring import FILES, Keyring, KeyringError
from service.operation import ledger_commands
from service.operation.backups import back_up_database, back_up_keys, restore_database, restore_keys, standing
from service.operation.starting import signer_of
from service.processes.wake import Alarm
from service.store.database.backups import BackupFailed
from service.store.database.engine import Database
from service.store.database.schema import SchemaUnknown, find_newest_revision
from tests.pools import InlinePool

from .conftest import Service
from .plans import items, locked, post, small_plan

NEWEST = find_newest_revision().encode()
PAGE = (Path(__file__).parents[2] / "docs" / "operations.md").read_text("utf-8")


@pytest.fixture
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Outside of the data directory, which is the test's own."""
    directory = tmp_path_factory.mktemp("elsewhere")
    for name in ("copies", "keys-copies"):
        (directory / name).mkdir()
    return directory


@pytest.fixture
def place(
    service: Service, elsewhere: Path, request: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], Settings]]:
    """Settings of new, empty deployments by name: a directory, and on Postgres a database, each."""
    made: list[str] = []
    if service.database.dialect == "postgresql":
        server = request.getfixturevalue("postgres")
        monkeypatch.setenv("PATH", f"{server.programs}:{os.environ['PATH']}")

    def new(name: str) -> Settings:
        url = None
        if service.database.dialect == "postgresql":
            made.append(server.create("template0"))
            url = server.url(made[-1])
        return Settings(data_dir=elsewhere / name, database_url=url, key_cache_seconds=0)

    yield new
    for name in made:
        server.drop(name)


def of(service: Service) -> Settings:
    """The settings of the running service; on SQLite its file is where a deployment has it."""
    url = service.database.url
    given = url.render_as_string(hide_password=False) if service.database.dialect == "postgresql" else None
    return service.settings.model_copy(update={"database_url": given})


@contextmanager
def opened(settings: Settings, service: Service) -> Iterator[tuple[TestClient, Runner]]:
    """A service on a restored deployment, with the API key of the first one."""
    database = Database(settings.url)
    keys = settings.data_dir / "keys"
    runner = Runner(
        database=database, keyring=Keyring.load(keys, private=True), pool=InlinePool(),
        alarm=Alarm(settings.data_dir / "runner.sock"), settings=settings,
    )  # fmt: skip
    headers = {"Authorization": service.client.headers["Authorization"]}
    try:
        with TestClient(create_app(settings, database, Keyring.load(keys)), headers=headers) as client:
            yield client, runner
    finally:
        runner.close()
        database.dispose()


def half(service: Service) -> str:
    """A locked record, one arm of which is in."""
    prereg_id = locked(service.client, small_plan(10))
    post(service.client, prereg_id, "A", items(10), [0] * 10)
    return prereg_id


def finish(client: TestClient, runner: Runner, prereg_id: str) -> Any:
    post(client, prereg_id, "B", items(10), [1] * 10)
    while runner.step():
        pass
    return client.get(f"/v1/preregistrations/{prereg_id}/verdict")


def test_a_copy_of_a_running_service_is_judged_and_read_elsewhere(service, place, elsewhere) -> None:
    judged, open_ = half(service), half(service)
    verdict = finish(service.client, service.runner, judged)
    assert verdict.status_code == 200
    copy, keys = elsewhere / "copies" / "1", elsewhere / "keys-copies" / "1"
    back_up_database(of(service), copy)
    back_up_keys(of(service), keys)
    assert [each.stat().st_mode & 0o077 for each in (copy, keys)] == [0, 0]

    new = place("new")
    said = "\n".join(restore_database(new, copy))
    assert "every guard stands" in said
    assert "keys        missing" in said
    with pytest.raises(KeyringError, match="restore the keys"):
        Keyring.load(new.data_dir / "keys", private=True)
    said = "\n".join(restore_keys(new, keys))
    assert "they fit" in said
    assert "goes on from what was signed" in said
    written = [each for each in new.data_dir.rglob("*") if each.is_file()]
    assert not [each for each in written if each.stat().st_mode & 0o077]
    with opened(new, service) as (client, runner):
        assert client.get("/health/ready").status_code == 200
        assert client.get(f"/v1/preregistrations/{judged}/verdict").content == verdict.content
        found = finish(client, runner, open_).json()
        assert found["hypotheses"][0]["outcome"] == verdict.json()["hypotheses"][0]["outcome"]


def test_an_older_copy_beside_a_newer_state_is_signed_again_once_it_is_on_record(
    service, place, elsewhere
) -> None:
    kept = half(service)
    copy, keys, new = elsewhere / "copies" / "1", elsewhere / "keys-copies" / "1", place("new")
    back_up_database(of(service), copy)
    back_up_keys(of(service), keys)
    lost = half(service)
    assert service.client.get(f"/v1/preregistrations/{lost}").json()["receipt"]["checkpoint"]

    restore_keys(new, keys)
    (new.data_dir / "ledger.state").write_bytes((service.settings.data_dir / "ledger.state").read_bytes())
    assert 'forelock ledger resume --reason "..."' in "\n".join(restore_database(new, copy))
    with opened(new, service) as (client, _runner):
        assert client.get("/health/ready").json()["code"] == "ledger_refused"
        assert client.get(f"/v1/preregistrations/{lost}").status_code == 404
    database = Database(new.url)
    try:
        signer = signer_of(new, database, Keyring.load(new.data_dir / "keys"))
        ledger_commands.resume(signer, None, "the disk was lost", None)
    finally:
        database.dispose()
    assert "goes on" in "\n".join(standing(new))
    with opened(new, service) as (client, runner):
        assert client.get("/health/ready").status_code == 200
        assert finish(client, runner, kept).status_code == 200


def test_keys_of_another_deployment_do_not_fit(service, place, elsewhere) -> None:
    half(service)
    back_up_database(of(service), elsewhere / "copies" / "1")
    other, new = Settings(data_dir=elsewhere / "other"), place("new")
    Keyring.create(other.data_dir / "keys")
    back_up_keys(other, elsewhere / "keys-copies" / "1")
    restore_database(new, elsewhere / "copies" / "1")
    assert "does not open preregistration" in "\n".join(restore_keys(new, elsewhere / "keys-copies" / "1"))


def test_a_copy_goes_where_nothing_is(service, place, elsewhere) -> None:
    copy, new = elsewhere / "copies" / "1", place("new")
    back_up_database(of(service), copy)
    before = copy.read_bytes()
    with pytest.raises(FileExistsError):
        back_up_database(of(service), copy)
    assert copy.read_bytes() == before
    restore_database(new, copy)
    with pytest.raises(BackupFailed, match=r"is here already|holds tables already"):
        restore_database(new, copy)
    assert [each.name for each in copy.parent.iterdir()] == ["1"]


def test_database_and_keys_are_refused_in_one_place(service, place, elsewhere) -> None:
    copies, keys_copies, settings = elsewhere / "copies", elsewhere / "keys-copies", of(service)
    back_up_database(settings, copies / "1")
    back_up_keys(settings, keys_copies / "1")
    with pytest.raises(BackupFailed, match="a database: whoever has database and keys"):
        back_up_keys(settings, copies / "keys")
    with pytest.raises(BackupFailed, match="keys: whoever has database and keys"):
        back_up_database(settings, keys_copies / "database")
    for act in (back_up_database, back_up_keys):
        with pytest.raises(BackupFailed, match="in the data directory"):
            act(settings, settings.data_dir / "copy")
        with pytest.raises(BackupFailed, match="no directory"):
            act(settings, elsewhere / "nowhere" / "copy")
    for data in ((copies / "1").read_bytes(),):
        for name in FILES:
            assert (settings.data_dir / "keys" / name).read_bytes().strip() not in data


@pytest.mark.parametrize("damage", ["cut", "flipped", "other", "newer"])
def test_a_damaged_copy_leaves_nothing(tmp_path, sqlite_template, damage) -> None:
    data = bytearray(sqlite_template.read_bytes())
    if damage == "cut":
        data = data[: len(data) // 2]
    elif damage == "flipped":
        data[8 * 4096 : 9 * 4096] = bytes(4096)
    elif damage == "other":
        data = bytearray(b"PGDMP and more")
    else:
        data = data.replace(NEWEST, b"9999")
    copy, new = tmp_path / "copy", Settings(data_dir=tmp_path / "new")
    copy.write_bytes(data)
    with pytest.raises((BackupFailed, SchemaUnknown)):
        restore_database(new, copy)
    assert list(new.data_dir.iterdir()) == []


def test_what_is_no_copy_is_told(tmp_path) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    Keyring.create(settings.data_dir / "keys")
    keys, note = tmp_path / "keys", tmp_path / "note"
    back_up_keys(settings, keys)
    note.write_text("nothing")
    with pytest.raises(BackupFailed, match="holds keys: `forelock restore keys"):
        restore_database(settings, keys)
    with pytest.raises(BackupFailed, match="no copy of a database"):
        restore_database(settings, note)
    with pytest.raises(BackupFailed, match="holds no keys"):
        restore_keys(settings, note)
    found = json.loads(keys.read_text())
    for name, text in (("server.key", None), ("seal.pub", found["keys"]["signing.key"])):
        broken = {**found["keys"], name: text}
        note.write_text(json.dumps({**found, "keys": {k: v for k, v in broken.items() if v}}))
        with pytest.raises((BackupFailed, KeyringError)):
            restore_keys(Settings(data_dir=tmp_path / "new"), note)
    assert not (tmp_path / "new").exists()


def test_keys_are_never_replaced(elsewhere) -> None:
    settings, other = (Settings(data_dir=elsewhere / name) for name in ("data", "other"))
    made = Keyring.create(settings.data_dir / "keys")
    Keyring.create(other.data_dir / "keys")
    back_up_keys(settings, elsewhere / "copy")
    with pytest.raises(BackupFailed, match="another key"):
        restore_keys(other, elsewhere / "copy")
    restore_keys(settings, elsewhere / "copy")
    assert Keyring.load(settings.data_dir / "keys", private=True) == made


def test_a_private_key_that_is_elsewhere_is_named(tmp_path) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    Keyring.create(settings.data_dir / "keys")
    held = (settings.data_dir / "keys" / "seal.key").read_text().strip()
    (settings.data_dir / "keys" / "seal.key").unlink()
    assert "not in it   seal.key" in "\n".join(back_up_keys(settings, tmp_path / "without"))
    given = Settings(data_dir=tmp_path / "data", seal_private_key=held)
    back_up_keys(given, tmp_path / "with")
    assert json.loads((tmp_path / "with").read_text())["keys"]["seal.key"] == held
    assert "seal.key is not here" in "\n".join(
        restore_keys(Settings(data_dir=tmp_path / "new"), tmp_path / "without")
    )


def test_a_missing_program_is_named(service, place, elsewhere, monkeypatch) -> None:
    if service.database.dialect == "sqlite":
        pytest.skip("SQLite copies itself")
    monkeypatch.setenv("PATH", str(elsewhere))
    with pytest.raises(BackupFailed, match="pg_dump is not on PATH"):
        back_up_database(of(service), elsewhere / "copies" / "1")
    assert list((elsewhere / "copies").iterdir()) == []


def test_the_commands_of_the_page_restore_what_they_copied(
    service, place, elsewhere, monkeypatch, capsys
) -> None:
    prereg_id = half(service)
    new = place("new")
    commands = re.findall(r"^forelock (?:backup|restore) .*$", PAGE, re.MULTILINE)
    assert [line.split()[1:3] for line in commands] == [
        ["backup", "database"], ["backup", "keys"], ["restore", "database"], ["restore", "keys"],
    ]  # fmt: skip
    names = {
        "DIR": service.settings.data_dir,
        "NEW": new.data_dir,
        "BACKUP": elsewhere / "copies",
        "KEYS_BACKUP": elsewhere / "keys-copies",
    }
    for name, path in names.items():
        monkeypatch.setenv(name, str(path))
    for command in commands:
        url = (of(service) if "backup" in command else new).database_url
        monkeypatch.setenv("FORELOCK_DATABASE_URL", url or "")
        umask = os.umask(0o022)
        try:
            assert main(shlex.split(os.path.expandvars(command))[1:]) == 0, capsys.readouterr().err
        finally:
            os.umask(umask)
    assert "they fit" in capsys.readouterr().out
    with opened(new, service) as (client, runner):
        assert finish(client, runner, prereg_id).status_code == 200
