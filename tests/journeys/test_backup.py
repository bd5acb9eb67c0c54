"""The backup that docs/operations.md describes: what it copies from a running service can be judged and read again."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from service.app import create_app
from service.config import Settings
from service.jobs.runner import Runner
from service.keyring import Keyring
from service.store.engine import Database
from service.wake import Alarm
from tests.pools import InlinePool

from .conftest import Service
from .plans import items, locked, post, small_plan

PAGE = (Path(__file__).parents[2] / "docs" / "operations.md").read_text("utf-8")
SQLITE_SHELL = """#!/usr/bin/env python3
import sqlite3, sys
sqlite3.connect(sys.argv[1], isolation_level=None).execute(sys.argv[2])
"""


def command(starts: str) -> str:
    """The line of the page that begins like this."""
    (found,) = set(re.findall(rf"^{re.escape(starts)}.*$", PAGE, re.MULTILINE))
    return found


def test_a_backup_of_a_running_service_is_judged_and_read_in_a_new_directory(
    service: Service, tmp_path: Path, request: Any
) -> None:
    judged, open_ = locked(service.client, small_plan(10)), locked(service.client, small_plan(10))
    for prereg_id in (judged, open_):
        post(service.client, prereg_id, "A", items(10), [0] * 10)
    post(service.client, judged, "B", items(10), [1] * 10)
    service.run_jobs()
    verdict = service.client.get(f"/v1/preregistrations/{judged}/verdict")
    assert verdict.status_code == 200

    backup, keys_backup, new, programs = (
        tmp_path / name for name in ("backup", "keys_backup", "new", "programs")
    )
    for directory in (backup, keys_backup, programs):
        directory.mkdir()
    shell = programs / "sqlite3"
    shell.write_text(SQLITE_SHELL)
    shell.chmod(0o755)
    path, url, restored = f"{programs}:{os.environ['PATH']}", "", None
    lines = [
        command("sqlite3 "),
        command('cp -a "$DIR/keys"'),
        "mkdir -m 700",
        command('cp "$BACKUP/forelock.db"'),
    ]
    environment: dict[str, str] = {}
    if service.database.dialect == "postgresql":
        server = request.getfixturevalue("postgres")
        name = service.database.engine.url.database
        other = server.create("template0")
        restored = server.url(other)
        environment = {
            "DATABASE": server.url(name).replace("+psycopg", ""),
            "NEW_DATABASE": restored.replace("+psycopg", ""),
        }
        path = f"{server.programs}:{path}"
        (restore,) = re.findall(r"`(pg_restore [^`]+)`", PAGE)
        lines[0], lines[3] = command("pg_dump "), restore
    lines[2] = command("mkdir -m 700 ")
    lines.append(command('cp -a "$KEYS_BACKUP/keys"'))
    environment |= {
        "DIR": str(tmp_path), "BACKUP": str(backup), "KEYS_BACKUP": str(keys_backup), "NEW": str(new), "PATH": path,
    }  # fmt: skip
    lines.insert(0, command("umask 077"))
    done = subprocess.run(
        ["sh", "-euc", "umask 022\n" + "\n".join(lines)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    written = [each for where in (backup, keys_backup, new) for each in where.rglob("*") if each.is_file()]
    assert written
    assert not [each for each in written if each.stat().st_mode & 0o077]

    shutil.rmtree(tmp_path / "keys")  # nothing of the old directory is needed
    url = restored or f"sqlite:///{new / 'forelock.db'}"
    database, settings = Database(url), Settings(data_dir=new, database_url=restored, key_cache_seconds=0)
    runner = Runner(
        database=database, keyring=Keyring.load(new / "keys", private=True), pool=InlinePool(),
        alarm=Alarm(new / "runner.sock"), settings=settings,
    )  # fmt: skip
    headers = {"Authorization": service.client.headers["Authorization"]}
    try:
        with TestClient(
            create_app(settings, database, Keyring.load(new / "keys")), headers=headers
        ) as client:
            assert client.get("/health/ready").status_code == 200
            assert client.get(f"/v1/preregistrations/{judged}/verdict").content == verdict.content
            post(client, open_, "B", items(10), [1] * 10)
            while runner.step():
                pass
            found = client.get(f"/v1/preregistrations/{open_}/verdict").json()
            assert found["hypotheses"][0]["outcome"] == verdict.json()["hypotheses"][0]["outcome"]
    finally:
        runner.close()
        database.dispose()
        if restored is not None:
            server.drop(other)
