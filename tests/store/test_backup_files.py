"""The file of a copy: nobody else's while it is written, and no password where processes are listed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import make_url

from service.store.database import backups
from service.store.database.backups import BackupFailed


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], dict[str, str]]]:
    """What programs were called with, and in which environment."""
    called: list[tuple[list[str], dict[str, str]]] = []

    def run(words: list[str], *, env: dict[str, str], **_options: Any) -> subprocess.CompletedProcess[str]:
        called.append((words, env))
        return subprocess.CompletedProcess(words, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr("shutil.which", lambda program: f"/bin/{program}")
    return called


def test_a_draft_is_its_owners_alone_while_it_is_written(tmp_path: Path) -> None:
    modes = []

    def write(draft: Path) -> None:
        draft.write_text("keys")
        modes.append(draft.stat().st_mode & 0o777)

    before = os.umask(0)
    try:
        backups.new_file(tmp_path / "copy", write)
    finally:
        os.umask(before)
    assert modes == [0o600]
    assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["copy"]


def test_a_link_that_waits_there_is_not_written_through(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_text("theirs")
    (tmp_path / f".copy.{os.getpid()}.draft").symlink_to(theirs)
    backups.new_file(tmp_path / "copy", lambda draft: draft.write_text("keys") and None)
    assert theirs.read_text() == "theirs"
    assert not (tmp_path / "copy").is_symlink()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://ada:s3cret@db.example.org:5433/forelock?sslmode=require",
        "postgresql+psycopg://db.example.org:5433/forelock?user=ada&password=s3cret&sslmode=require",
        "postgresql+psycopg://ada@/forelock?host=db.example.org&port=5433&password=s3cret&sslmode=require",
        "postgresql+psycopg://x@y/forelock?user=ada&host=db.example.org&port=5433&password=s3cret&sslmode=require",
    ],
    ids=["password", "query", "host", "twice"],
)
def test_a_password_is_in_no_argument(seen: list[tuple[list[str], dict[str, str]]], url: str) -> None:
    backups._run("pg_dump", make_url(url), ["--list"])
    ((words, environment),) = seen
    assert not any("s3cret" in word for word in words)
    assert environment["PGPASSWORD"] == "s3cret"
    place = words[1].removeprefix("--dbname=").split()
    assert sorted(place) == [
        "dbname=forelock",
        "host=db.example.org",
        "port=5433",
        "sslmode=require",
        "user=ada",
    ]


def test_a_password_that_could_not_be_hidden_is_refused(seen: list[tuple[list[str], dict[str, str]]]) -> None:
    with pytest.raises(BackupFailed, match="sslpassword"):
        backups._run("pg_dump", make_url("postgresql+psycopg://db/forelock?sslpassword=x"), [])
    assert seen == []
