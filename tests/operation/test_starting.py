"""What an operator reads when something is not there: one sentence, before anything listens."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import service.main as service
from forelock.cli import main
from service import config
from service.config import UnusableSetting, read_settings
from service.operation.starting import CannotStart, require_processes, require_semaphores, wait_for
from service.processes.complaints import report_failures
from service.store.database.engine import Database, Silence, UnknownDatabase

COMMAND = [sys.executable, "-m", "forelock.cli"]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command with these settings and no others."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("FORELOCK_")}
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        env=clean | environment,
        check=False,
        timeout=600,  # imports on a machine that has much else to do
    )


def refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str, **environment: str
) -> str:
    """What the command says that ends before it starts a process, in this one."""
    for name in [name for name in os.environ if name.startswith("FORELOCK_")]:
        monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    status = main(arguments)
    said = capsys.readouterr().err
    return one_sentence(subprocess.CompletedProcess(arguments, status, "", said))


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What `serve` says that ends while it makes a deployment ready, without its processes."""

    def prepare(data: Path, **environment: str) -> str:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)

        def begin() -> int:
            service.prepare_embedded(service.settings_of({"data_dir": data, "port": 0}), runner=True)
            return 0

        capsys.readouterr()
        status = report_failures(begin)
        return one_sentence(subprocess.CompletedProcess([], status, "", capsys.readouterr().err))

    return prepare


def one_sentence(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode in (1, 2), done
    assert "Traceback" not in done.stderr, done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("FORELOCK_WORKERS", "0", "FORELOCK_WORKERS: input should be greater than or equal to 1"),
        ("FORELOCK_MAX_BODY_BYTES", "64MB", "FORELOCK_MAX_BODY_BYTES: input should be a valid integer"),
        ("FORELOCK_DASK_SCHEDULER", "tcp://a:1", "FORELOCK_DASK_SCHEDULER must be a tls:// address"),
        ("FORELOCK_JOB_LEASE_SECONDS", "inf", "FORELOCK_JOB_LEASE_SECONDS: input should be a finite number"),
        ("FORELOCK_JOB_RESULT_DAYS", "1e12", "FORELOCK_JOB_RESULT_DAYS: input should be less than or equal"),
    ],
)
def test_a_setting_that_cannot_be_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, says: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(UnusableSetting, match=re.escape(says)):
        read_settings({}, print)


@pytest.mark.parametrize("url", ["garbage", "postgresql://a@b:abc/c"])
def test_a_url_that_cannot_be_is_named(url: str) -> None:
    with pytest.raises(
        UnknownDatabase, match="FORELOCK_DATABASE_URL must be sqlite:///FILE or postgresql://"
    ):
        Database(url)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("FORELOCK_PORT", "abc", "FORELOCK_PORT: input should be a valid integer"),
        pytest.param(
            "FORELOCK_HOST", "198.51.100.1", "name one of this machine's with --host", marks=pytest.mark.slow
        ),
    ],
)
def test_serving_with_a_setting_that_cannot_be_ends_in_one_sentence(
    tmp_path: Path, name: str, value: str, says: str
) -> None:
    port = () if name == "FORELOCK_PORT" else ("--port", "0")
    assert says in one_sentence(run("serve", "--data", str(tmp_path / "d"), *port, **{name: value}))


def test_a_machine_whose_processes_cannot_be_seen_is_refused_before_anything_is_written(
    prepared: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_processes()
    monkeypatch.setattr(
        "service.main.require_processes", lambda: require_processes(tmp_path / "proc"), raising=False
    )
    said = prepared(tmp_path / "d")
    assert f"mount it with `mount -t proc proc {tmp_path / 'proc'}`" in said
    assert not (tmp_path / "d").exists()


def test_a_machine_that_makes_no_semaphores_is_refused_before_anything_is_written(
    prepared: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make() -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    require_semaphores()
    monkeypatch.setattr("service.main.require_semaphores", lambda: require_semaphores(make))
    said = prepared(tmp_path / "d")
    assert "no semaphore can be made (Read-only file system)" in said
    assert "mount a writable /dev/shm" in said
    assert not (tmp_path / "d").exists()
    # Workers elsewhere need none here; what is refused then is that the settings of TLS are missing.
    said = prepared(tmp_path / "d", FORELOCK_DASK_SCHEDULER="tls://node:8786")
    assert "semaphore" not in said


def test_a_key_that_cannot_be_is_named(prepared: Callable[..., str], tmp_path: Path) -> None:
    said = prepared(tmp_path / "d", FORELOCK_SEAL_PUBLIC_KEY="abc")
    assert "FORELOCK_SEAL_PUBLIC_KEY is not base64" in said


@pytest.mark.slow
def test_an_option_that_cannot_be_is_named(tmp_path: Path) -> None:
    said = one_sentence(run("serve", "--data", str(tmp_path), "--port", "99999"))
    assert said == "forelock: --port: input should be less than or equal to 65535"


def test_a_misspelt_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORELOCK_WORKER", "2")
    monkeypatch.setenv("FORELOCK_API_KEY", "flk_x")
    said: list[str] = []
    read_settings({}, said.append)
    assert said == ["FORELOCK_WORKER is not a setting, FORELOCK_WORKERS is: it is ignored"]


def test_a_file_that_is_no_database_is_named(prepared: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "forelock.db").write_text("a text file, not a database\n" * 200)
    said = prepared(tmp_path)
    assert f"the database file {tmp_path / 'forelock.db'} cannot be used: file is not a database" in said


def test_a_data_directory_that_is_a_file_is_named(prepared: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said = prepared(tmp_path / "file")
    assert said == f"forelock: {tmp_path / 'file'}: is there and is no directory"


@pytest.mark.parametrize("command", [("runner",), ("migrate",), ("alterations",), ("rebuild-coverage", "x")])
def test_a_data_directory_that_is_not_there_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: tuple[str, ...],
) -> None:
    said = refused(monkeypatch, capsys, *command, "--data", str(tmp_path / "d"))
    assert f"{tmp_path / 'd' / 'forelock.db'} cannot be used: there is no such directory" in said


def test_a_refused_port_is_named_with_host_and_database(tmp_path: Path) -> None:
    url = "postgresql://someone:secret@127.0.0.1:1/plans"
    said = one_sentence(run("init", "--data", str(tmp_path), FORELOCK_DATABASE_URL=url))
    assert re.search(r"database 'plans' at 127\.0\.0\.1:1 does not answer: .*refused", said)
    assert "secret" not in said


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
@pytest.mark.parametrize(
    ("change", "says"),
    [({"database": "nowhere"}, '"nowhere" does not exist'), ({"username": "nobody"}, "nobody")],
)
def test_postgres_that_refuses_is_told_at_once(database: Database, change: dict[str, str], says: str) -> None:
    other = Database(database.url.set(**change).render_as_string(hide_password=False))  # type: ignore[arg-type]
    slept: list[float] = []
    try:
        with pytest.raises(CannotStart, match=says) as refused:
            wait_for(other, lambda _: None, sleep=slept.append)
    finally:
        other.dispose()
    assert slept == []
    assert f"database '{other.url.database}'" in refused.value.detail


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
@pytest.mark.parametrize("migrated", [False, True])
def test_serving_a_postgres_that_was_never_initialised_names_the_command(
    prepared: Callable[..., str], database: Database, tmp_path: Path, migrated: bool
) -> None:
    url = database.url.render_as_string(hide_password=False)
    if not migrated:
        with database.engine.begin() as connection:
            connection.exec_driver_sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    said = prepared(tmp_path, FORELOCK_DATABASE_URL=url)
    assert "run `forelock init`" in said


class Coming:
    """A database that answers the fourth time."""

    def __init__(self) -> None:
        self.asked = 0

    def why_silent(self) -> Silence | None:
        self.asked += 1
        return (
            None
            if self.asked > 3
            else Silence("the database 'p' at h:1 does not answer: refused", final=False)
        )


def test_a_database_that_is_away_is_waited_for_and_named_once() -> None:
    said: list[str] = []
    slept: list[float] = []
    wait_for(Coming(), said.append, sleep=slept.append)  # type: ignore[arg-type]
    assert slept == [0.2, 0.4, 0.8]
    assert said == [
        "forelock: the database 'p' at h:1 does not answer: refused; waiting for it\n",
        "forelock: the database answers\n",
    ]


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """A data directory after `init`."""
    data = tmp_path / "data"
    assert main(["init", "--data", str(data)]) == 0
    return data


def test_lost_keys_keep_the_service_from_starting(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], begun: Path
) -> None:
    shutil.rmtree(begun / "keys")
    said = one_sentence(run("serve", "--port", "0", "--data", str(begun)))
    assert "cannot read the key file" in said
    assert refused(monkeypatch, capsys, "runner", "--data", str(begun)) == said


def test_a_service_that_judges_wants_the_key_that_opens_rows(
    prepared: Callable[..., str], begun: Path
) -> None:
    (begun / "keys" / "seal.key").unlink()
    said = prepared(begun)
    assert f"cannot read the key file {begun / 'keys' / 'seal.key'}: No such file" in said


def test_a_deployment_without_its_database_is_not_begun_anew(
    prepared: Callable[..., str], begun: Path
) -> None:
    key = (begun / "admin.key").read_text()
    for path in begun.glob("forelock.db*"):
        path.unlink()
    said = prepared(begun)
    assert "its database is not: restore the database" in said
    assert (begun / "admin.key").read_text() == key


@pytest.mark.parametrize(
    ("settings", "cores", "workers"),
    [
        ({"database_url": "postgresql+psycopg://localhost/forelock"}, 2, 2),
        ({"database_url": "postgresql+psycopg://localhost/forelock"}, 1, 1),
        ({"database_url": "postgresql+psycopg://localhost/forelock", "workers": 1}, 8, 1),
        ({"database_url": "sqlite:///other.db"}, 8, 1),
        ({}, 8, 1),
        ({"workers": 3}, 1, 3),
    ],
)
def test_a_second_process_answers_requests_where_there_are_cores_and_more_than_one_may_write(
    monkeypatch, settings, cores, workers
) -> None:
    monkeypatch.setattr(config, "_cores", lambda: cores)
    assert read_settings(settings, print).api_workers == workers
