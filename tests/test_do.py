"""What `./do` asks of uv and pytest, with both played by scripts; and what it says where it cannot go on."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.certificates import certificates

ROOT = Path(__file__).resolve().parents[1]
UV = """#!/bin/sh
case "$*" in
    --version) echo "uv 99.0.0"; echo "1000 things more" ;;
    "python find"*) exit 2 ;;
    "python install"*) echo "error: no download" >&2; echo "  cause: no way to the host" >&2; exit 1 ;;
esac
"""
PYTHON = """#!/bin/sh
case "$*" in
    *version_info*) echo 3.11 ;;
    *pytest*) echo "$PYTHONHASHSEED: $*" ;;
esac
"""


class Checkout:
    """A copy of `./do` that finds only what stands in its own `bin` and in the system's."""

    def __init__(self, root: Path) -> None:
        self.root, self.bin = root, root / "bin"
        for name in ("do", "uv.lock", "pyproject.toml", "client/pyproject.toml"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cp", "-p", str(ROOT / name), str(root / name)], check=True)
        self.program("bin/uv", UV)
        self.program(".venv/bin/python", PYTHON)
        for tool in ("buildah", "debootstrap", "pdflatex", "xelatex"):  # else ./do installs them, as root
            self.program(f"bin/{tool}", "#!/bin/sh\n")
        (self.bin / "python3").symlink_to(sys.executable)
        (root / "tests").mkdir()
        (root / "tests" / "test_one.py").touch()

    def program(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # Written by another process: what this one has open for writing, a process that some thread forks meanwhile
        # has too until it runs its program, and so long the system refuses to run the file ("text file busy").
        script = 'cat >"$1" && chmod 755 "$1"'
        subprocess.run(["sh", "-c", script, "sh", str(path)], input=text, text=True, check=True)

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        kept = {"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": str(self.root), **environment}
        return subprocess.run(
            [str(self.root / "do"), *arguments], env=kept, capture_output=True, text=True, timeout=60
        )


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_a_test_run_draws_what_the_last_one_drew(checkout: Checkout) -> None:
    said = checkout.run("test", "tests/test_one.py").stdout
    assert said == "0: -m pytest -n auto --maxprocesses 8 --dist loadgroup -m not slow tests/test_one.py\n"


def test_a_search_says_how_it_is_repeated(checkout: Checkout) -> None:
    ran = checkout.run("test", "--all", "tests/test_one.py")
    seed = ran.stderr.split("--seed ")[1].split()[0]
    assert int(seed) < 2**32
    assert ran.stdout.startswith(f"{seed}: ")
    seeds = f" --hypothesis-profile=search --hypothesis-seed={seed} --randomly-seed={seed}"
    assert f"{seeds} tests/test_one.py" in ran.stdout
    again = checkout.run("test", "--seed", seed, "--all", "tests/test_one.py")
    assert again.stdout == ran.stdout


@pytest.mark.parametrize("step", ["ruff", "dmypy", "tools.affected"])
def test_quick_fails_where_a_step_fails_and_says_which(checkout: Checkout, step: str) -> None:
    for tool in ("ruff", "dmypy"):
        checkout.program(f".venv/bin/{tool}", "#!/bin/sh\n")
    assert checkout.run("quick").returncode == 0
    if step == "tools.affected":
        python = PYTHON.replace(
            "esac", "    *tools.affected*--all*) exit 0 ;;\n    *tools.affected*) exit 1 ;;\nesac"
        )
        checkout.program(".venv/bin/python", python)
        assert checkout.run("quick", "--all").returncode == 0
    else:
        checkout.program(f".venv/bin/{step}", "#!/bin/sh\necho what is wrong; exit 1\n")
    ran = checkout.run("quick")
    assert ran.returncode == 1
    assert "quick failed: tests;" in ran.stderr if step == "tools.affected" else "what is wrong" in ran.stderr


def test_a_python_that_is_not_here_is_said_and_not_counted_as_a_failure(checkout: Checkout) -> None:
    assert checkout.run("test", "--python", "3.11", "tests/test_one.py").stdout.startswith("0: ")
    ran = checkout.run("test", "--python", "3.99", "tests/test_one.py")
    assert ran.returncode == 77
    assert ran.stdout == ""
    assert (
        "skipped: Python 3.99 is not here and could not be fetched (cause: no way to the host)" in ran.stderr
    )


def test_pyenvs_interpreters_are_found(checkout: Checkout) -> None:
    python = PYTHON.replace("3.11", "3.98")
    checkout.program(".pyenv/versions/3.98.1/bin/python", python)
    checkout.program(".do/venv-3.98/bin/python", python.replace("0:", "other"))
    ran = checkout.run("test", "--python", "3.98", "tests/test_one.py")
    assert ran.returncode == 0, ran.stderr
    assert "installing what uv.lock names into" in ran.stderr
    assert ".do/venv-3.98" in ran.stderr


def test_an_authority_of_a_proxy_is_not_called_a_lack_of_certificates(
    checkout: Checkout, tmp_path: Path
) -> None:
    _, certificate, key = certificates(tmp_path / "proxy")
    usual, _, _ = certificates(tmp_path / "usual")
    checkout.program("bin/uv", "#!/bin/sh\necho uv 0.0.1\n")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            with contextlib.suppress(OSError):
                connection = listening.accept()[0]
                context.wrap_socket(connection, server_side=True).close()

        thread = threading.Thread(target=answer)
        thread.start()
        index = f"https://127.0.0.1:{listening.getsockname()[1]}/simple"
        ran = checkout.run("uv", "--version", UV_DEFAULT_INDEX=index, SSL_CERT_FILE=usual)
        thread.join(30)
    assert ran.returncode == 1
    assert "certificate is not trusted here" in ran.stderr
    assert "SSL_CERT_FILE=FILE" in ran.stderr
    assert "no root certificates" not in ran.stderr
    assert not [
        path for path in (checkout.root / ".do").iterdir() if os.access(path, os.X_OK) and path.is_file()
    ]


def test_uv_works_on_the_environment_that_the_caller_names_and_else_on_the_checkouts(
    checkout: Checkout,
) -> None:
    checkout.program("bin/uv", UV + 'echo "$UV_PROJECT_ENVIRONMENT: $*"\n')
    own, other = str(checkout.root / ".venv"), str(checkout.root / "other")
    said = checkout.run("uv", "sync")
    assert (said.stdout, said.stderr) == (f"{own}: sync\n", "")
    said = checkout.run("uv", "sync", UV_PROJECT_ENVIRONMENT=other)
    assert (said.stdout, said.stderr) == (f"{other}: sync\n", "")


LOUD = """#!/bin/sh
case "$*" in
    --version) echo "uv 99.0.0" ;;
    *sync*|*"pip install"*)
        seq 78 | sed 's/^/ + package-/' >&2
        [ ! -e "$HOME/broken" ] || { echo "no space left" >&2; exit 1; } ;;
esac
"""


@pytest.mark.parametrize("mirror", [{}, {"PIP_INDEX_URL": "http://127.0.0.1:9/simple"}])
def test_a_first_run_says_three_lines_at_most_and_keeps_the_rest(
    checkout: Checkout, mirror: dict[str, str]
) -> None:
    checkout.program("bin/uv", LOUD)
    checkout.program(".venv/bin/forelock", "#!/bin/sh\necho answered\n")
    ran = checkout.run("forelock", "--version", **mirror)
    assert (ran.returncode, ran.stdout) == (0, "answered\n")
    assert len(ran.stderr.splitlines()) <= 3
    log = checkout.root / ".do" / "install.log"
    assert str(log) in ran.stderr
    assert "package-78" in log.read_text()
    assert checkout.run("forelock", "--version", **mirror).stderr == ""  # the second run has nothing to say


def test_an_installation_that_fails_ends_with_its_last_words_and_names_the_log(checkout: Checkout) -> None:
    checkout.program("bin/uv", LOUD)
    (checkout.root / "broken").touch()
    ran = checkout.run("forelock", "--version")
    assert ran.returncode == 1
    assert "no space left" in ran.stderr
    assert f"all that was said is in {checkout.root / '.do' / 'install.log'}" in ran.stderr
    assert len(ran.stderr.splitlines()) <= 8


def test_compiled_files_are_kept_where_python_may_not_write_them_beside_the_source(
    checkout: Checkout,
) -> None:
    """Otherwise every process of a start compiles all of the service."""
    checkout.program(
        ".venv/bin/forelock", '#!/bin/sh\necho "${PYTHONPYCACHEPREFIX-} ${PYTHONDONTWRITEBYTECODE-}"\n'
    )
    told = checkout.run("forelock", "--version", PYTHONDONTWRITEBYTECODE="1").stdout.splitlines()[-1]
    assert told == f"{checkout.root}/.do/bytecode "
    assert checkout.run("forelock", "--version").stdout.splitlines()[-1] == " "
    own = checkout.run(
        "forelock", "--version", PYTHONDONTWRITEBYTECODE="1", PYTHONPYCACHEPREFIX="/own"
    ).stdout
    assert own.splitlines()[-1] == "/own "
