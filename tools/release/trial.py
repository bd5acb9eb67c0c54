"""What was built, installed into empty environments and used far from the checkout."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from tools.release.building import wheel
from tools.release.uv import Failed, run, uv

VERSIONS = ("3.11", "3.12", "3.13")
PAIRS = {"both_correct": 9, "only_baseline": 1, "only_candidate": 7, "both_wrong": 4}
"""McNemar's example of 21 children: p is 18/256."""


def try_out(root: Path, folder: Path, python: str, place: Path) -> None:
    """Install the client alone, then client and service, and ask each what it is for.

    Args:
        root: the checkout, of which the trial takes its data.
        folder: the wheels.
        python: the interpreter.
        place: a folder to be made, far from the checkout.

    Raises:
        Failed: what did not install, start, or answer.
    """
    place.mkdir()
    uv("export", "--quiet", "--frozen", "--no-dev", "--no-hashes", "--no-emit-workspace", "--all-packages",
       "-o", place / "constraints.txt", cwd=root)  # fmt: skip
    shutil.copy(root / "tests" / "journeys" / "frozen" / "version-1.zip", place / "bundle.zip")
    client = install(folder, place, python, "client", [wheel(folder, "forelock")])
    ask(client, place, "--version")
    ask(client, place, "verify", "bundle.zip", status=12)  # whole; its verdict is inconclusive
    server = install(
        folder, place, python, "server", [wheel(folder, "forelock"), wheel(folder, "forelock-server")]
    )
    for name in ("words", "bm25"):
        shutil.copy(root / "examples" / "gate" / f"{name}.csv", place)
    answer = ask(
        server, place, "gate", "words.csv", "bm25.csv", "--margin", "2pp", "--cluster", "module", status=12
    )
    if not answer.startswith("Cannot tell"):
        raise Failed(f"forelock gate answered {answer.splitlines()[0]!r}")
    with serving(server, place) as (url, key):
        check_service(url, key)


def find_interpreter(version: str) -> str | None:
    """A Python of this version: on PATH, of pyenv, or one that uv has or can fetch."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    for path in (shutil.which(f"python{version}"), *sorted(pyenv.glob(f"{version}.*/bin/python"))):
        if path is not None:
            with contextlib.suppress(Failed):  # pyenv's shims are there for versions that are not chosen
                return run(path, "-c", "import sys; print(sys.executable)", cwd=Path.cwd()).strip()
    with contextlib.suppress(Failed):
        return uv("python", "find", "--quiet", version, cwd=Path.cwd()).strip()
    return None


def install(folder: Path, place: Path, python: str, name: str, wheels: list[Path]) -> Path:
    """An empty environment with these wheels and what they need; returns its `bin`."""
    environment = place / name
    uv("venv", "--quiet", "--python", python, environment, cwd=place)
    uv(
        "pip", "install", "--quiet", "--python", environment, "--find-links", folder,
        "--constraints", place / "constraints.txt", *wheels, cwd=place,
    )  # fmt: skip
    return environment / "bin"


def ask(binaries: Path, place: Path, *arguments: str, status: int = 0) -> str:
    """What `forelock ARGUMENTS` prints in an environment that knows nothing of a checkout."""
    return run(binaries / "forelock", *arguments, cwd=place, env=bare(place), status=status)


def bare(place: Path) -> dict[str, str]:
    """An environment without the variables of whoever builds."""
    return {"HOME": str(place), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


@contextlib.contextmanager
def serving(binaries: Path, place: Path) -> Iterator[tuple[str, str]]:
    """A service on an empty directory: its address and its first key."""
    words = [str(binaries / "forelock"), "serve", "--port", "0", "--data", str(place / "data")]
    log = place / "serve.log"
    with log.open("w") as output:
        process = subprocess.Popen(words, cwd=place, env=bare(place), stdout=output, stderr=output)  # noqa: S603
    try:
        for _ in range(3000):  # ten minutes: the first start compiles all modules, perhaps beside much else
            if listens := re.search(r"listens on (http://\S+)", log.read_text()):
                yield listens[1], (place / "data" / "admin.key").read_text().strip()
                return
            if process.poll() is not None:
                break
            time.sleep(0.2)
        raise Failed(f"forelock serve did not start:\n{log.read_text()[-2000:]}")
    finally:
        process.terminate()
        process.wait(60)


def check_service(url: str, key: str) -> None:
    """Ask for one p-value that is known, and for the pages' style, which is a file of the package."""
    request = urllib.request.Request(  # noqa: S310 - the address is the one that was just begun
        f"{url}/v1/tests/mcnemar",
        json.dumps(PAIRS).encode(),
        {"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        p_value = json.load(answer)["analysis"]["p_value"]
    if abs(p_value - 18 / 256) > 1e-12:
        raise Failed(f"McNemar's p of 21 children is 18/256, and the service says {p_value}")
    with urllib.request.urlopen(f"{url}/login", timeout=60) as page:  # noqa: S310
        if b"Forelock" not in page.read():
            raise Failed("the page to sign in is not Forelock's")
