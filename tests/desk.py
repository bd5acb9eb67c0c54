"""A directory with a service that serves it, in which the commands of the pages run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx


@contextmanager
def serving(directory: Path) -> Iterator[Path]:
    """The directory with a service that serves it, and the commands the pages use."""
    commands = directory / "bin"
    commands.mkdir()
    (commands / "forelock").symlink_to(Path(sys.executable).with_name("forelock"))
    (commands / "curl").write_text(CURL)
    (commands / "curl").chmod(0o755)
    (directory / "do").write_text('#!/bin/sh\nexec "$@"\n')
    (directory / "do").chmod(0o755)
    command = [str(commands / "forelock"), "serve", "--port", "0"]
    kept = os.environ | {"FORELOCK_ARTEFACTS": "directory"}
    with (
        (directory / "serve.log").open("w") as log,
        subprocess.Popen(
            command, cwd=directory, env=kept, stdout=subprocess.PIPE, stderr=log, text=True
        ) as server,
    ):
        assert server.stdout is not None
        try:
            listening = (re.search(r"listens on (http://\S+)", line) for line in server.stdout)
            url = next((found[1] for found in listening if found), None)
            assert url, (directory / "serve.log").read_text()
            threading.Thread(
                target=server.stdout.read, daemon=True
            ).start()  # a full pipe would stop the server
            # The port is bound before the API answers on it: the first request waits in its queue.
            assert httpx.get(f"{url}/health/ready", timeout=120).status_code == 200
            (directory / "url").write_text(url)
            yield directory
        finally:
            server.terminate()


CURL = f"""#!{sys.executable}
# As much of curl as the pages use: URL, -s, -X METHOD, -H HEADER, -o FILE, -d BODY or -d @FILE, -F NAME=VALUE or
# -F NAME=@FILE.
import argparse, pathlib, sys, httpx
parser = argparse.ArgumentParser()
parser.add_argument("-s", action="store_true")
parser.add_argument("-H", action="append", default=[])
parser.add_argument("-d")
parser.add_argument("-F", action="append", default=[])
parser.add_argument("-o")
parser.add_argument("-X")
parser.add_argument("url")
options = parser.parse_args()
body = pathlib.Path(options.d[1:]).read_text() if (options.d or "").startswith("@") else options.d
headers = dict(header.split(": ", 1) for header in options.H)
parts = [part.split("=", 1) for part in options.F]
files = [(name, pathlib.Path(value[1:])) for name, value in parts if value.startswith("@")]
form = {{"data": {{name: value for name, value in parts if not value.startswith("@")}},
        "files": [(name, (path.name, path.read_bytes())) for name, path in files]}}
method = options.X or ("POST" if body or parts else "GET")
sent = form if parts else {{"content": body}}
answer = httpx.request(method, options.url, headers=headers, timeout=60, **sent)
if options.o:
    pathlib.Path(options.o).write_bytes(answer.content)
else:
    print(answer.text)
sys.exit(0 if answer.is_success else 22)
"""


def run(desk: Path, script: str) -> str:
    """Run shell blocks of a page on the desk, against its service; returns what they print."""
    url = (desk / "url").read_text()
    environment = {**os.environ, "PATH": f"{desk / 'bin'}:{os.environ['PATH']}", "FORELOCK_URL": url}
    for name in ("FORELOCK_API_KEY", "COLUMNS"):
        environment.pop(name, None)
    ran = subprocess.run(
        ["sh", "-eu"],
        input=script.replace("http://127.0.0.1:8321", url),
        cwd=desk,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
