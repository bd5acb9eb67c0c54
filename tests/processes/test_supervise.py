"""The supervisor: children come back, and end with their parent however it ends."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.processes.supervise import listen
from tests.drawing import mostly_slow

NURSERY = """
import os, sys
from service.processes import nursery
def run(words, requests):
    sys.argv = ["-c", *words[1:]]
    try:
        exec(words[0], {})
    except SystemExit as ended:
        os._exit(ended.code)
    os._exit(0)
nursery.serve(int(sys.argv[1]), run, None)
"""
PARENT = """
import sys
from service.processes.supervise import Child, Supervisor
code, log, *nursery = sys.argv[1:]
supervisor = Supervisor(["-c"], {"PATH": "/usr/bin"}, nursery=["-c", *nursery] if nursery else None)
sys.exit(supervisor.run([Child("child", [code, log])], lambda: print("started", flush=True)))
"""
CHILD = """
import os, sys, threading
from service.processes.supervise import follow_parent
with open(sys.argv[1], "a") as log:
    log.write(f"{os.getpid()}\\n")
stop = threading.Event()
follow_parent(stop.set)
stop.wait()
"""


def pids(log: Path, count: int) -> list[int]:
    """The first `count` children's process ids, once that many have started."""
    while True:
        lines = log.read_text().splitlines() if log.exists() else []
        if len(lines) >= count:
            return [int(line) for line in lines]
        time.sleep(0.01)


def ended(pid: int) -> None:
    """Return once the process is gone (or a zombie nobody reaps)."""
    while Path(f"/proc/{pid}/stat").exists():
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return
        except (FileNotFoundError, ProcessLookupError):
            return
        time.sleep(0.01)


WAYS = [pytest.param((NURSERY,)), pytest.param(())]


@pytest.fixture(params=[(), (NURSERY,)], ids=["started", "forked"])
def nursery(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Arguments of a parent whose children are started anew, or forked."""
    return request.param


@pytest.fixture
def parent(tmp_path: Path, nursery: tuple[str, ...]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT, CHILD, str(tmp_path / "log"), *nursery],
        stdout=subprocess.PIPE,
        text=True,
    )
    yield process
    process.kill()
    process.communicate()


def test_a_child_that_dies_is_started_again(parent: subprocess.Popen[str], tmp_path: Path) -> None:
    (first,) = pids(tmp_path / "log", 1)
    os.kill(first, signal.SIGKILL)
    assert len(set(pids(tmp_path / "log", 2))) == 2


def test_children_end_with_a_parent_that_was_told_to_stop(
    parent: subprocess.Popen[str], tmp_path: Path
) -> None:
    (child,) = pids(tmp_path / "log", 1)
    parent.terminate()
    assert parent.wait() == 0
    ended(child)


def test_children_end_with_a_parent_that_was_killed(parent: subprocess.Popen[str], tmp_path: Path) -> None:
    (child,) = pids(tmp_path / "log", 1)
    parent.kill()
    parent.wait()
    ended(child)


@pytest.mark.parametrize("nursery", mostly_slow(WAYS), indirect=True, ids=["forked", "started"])
def test_a_child_that_never_gets_well_ends_the_parent(tmp_path: Path, nursery: tuple[str, ...]) -> None:
    quick = "import service.processes.supervise as s; s.RESTART_DELAYS = (0.0,)\n"
    failing = "import sys; open(sys.argv[1], 'a').write('x\\n'); sys.exit(3)"
    done = subprocess.run(
        [sys.executable, "-c", quick + PARENT, failing, str(tmp_path / "log"), *nursery],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert len((tmp_path / "log").read_text().splitlines()) == 8
    assert "child ended 8 times in a row; stopping" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("nursery", mostly_slow(WAYS), indirect=True, ids=["forked", "started"])
def test_a_child_that_is_killed_is_always_started_again(tmp_path: Path, nursery: tuple[str, ...]) -> None:
    quick = "import service.processes.supervise as s; s.RESTART_DELAYS = (0.0,)\n"
    killed = (
        "import os, signal, sys; open(sys.argv[1], 'a').write('1\\n'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", quick + PARENT, killed, str(tmp_path / "log"), *nursery],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    pids(tmp_path / "log", 12)
    assert process.poll() is None
    process.kill()
    process.communicate()


def parent_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1]


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("nursery", [(NURSERY,)], indirect=True, ids=["forked"])
def test_children_outlive_the_nursery_and_the_next_one_comes_from_another(
    parent: subprocess.Popen[str], tmp_path: Path
) -> None:
    (child,) = pids(tmp_path / "log", 1)
    while parent_of(child) != str(parent.pid):  # it runs before whoever forked it between has ended
        time.sleep(0.01)
    (nursery,) = set(children_of(parent.pid)) - {child}
    os.kill(nursery, signal.SIGKILL)
    ended(nursery)
    assert parent_of(child) == str(parent.pid)
    os.kill(child, signal.SIGKILL)
    _, second = pids(tmp_path / "log", 2)
    assert parent_of(second) == str(parent.pid)


@pytest.mark.parametrize("nursery", [(NURSERY,)], indirect=True, ids=["forked"])
def test_what_a_child_leaves_behind_is_buried(tmp_path: Path, nursery: tuple[str, ...]) -> None:
    orphan = (
        "import os, sys, time\n"
        "if os.fork() == 0:\n"
        "    open(sys.argv[1], 'a').write(f'{os.getpid()}\\n')\n"
        "    os._exit(0)\n"
        "time.sleep(1000)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT, orphan, str(tmp_path / "log"), *nursery], stdout=subprocess.PIPE
    )
    (left,) = pids(tmp_path / "log", 1)
    ended(left)
    (child,) = [each for each in children_of(process.pid) if left in children_of(each)]
    os.kill(child, signal.SIGKILL)
    while Path(f"/proc/{left}").exists():
        time.sleep(0.01)
    process.terminate()
    process.communicate()


def test_a_forked_child_knows_what_it_was_told_and_its_nursery_does_not(tmp_path: Path) -> None:
    telling = (
        "import os, signal, sys\n"
        "open(sys.argv[1], 'w').write(os.environ['FORELOCK_TOLD'] + '\\n')\n"
        "signal.pause()\n"
    )
    parent = PARENT.replace('{"PATH": "/usr/bin"}', '{"PATH": "/usr/bin", "FORELOCK_TOLD": "a secret"}')
    process = subprocess.Popen(
        [sys.executable, "-c", parent, telling, str(tmp_path / "log"), NURSERY], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    while not (tmp_path / "log").exists() or not (tmp_path / "log").read_text():
        time.sleep(0.01)
    assert (tmp_path / "log").read_text() == "a secret\n"
    for child in children_of(process.pid):
        with contextlib.suppress(ProcessLookupError):  # the child has said it and ended
            assert b"a secret" not in Path(f"/proc/{child}/environ").read_bytes()
    process.terminate()
    process.communicate()


def test_the_supervisor_loads_neither_numbers_nor_models() -> None:
    """It lives as long as the service, and does nothing but wait: what its children load it has no use for."""
    loads = (
        "import sys, forelock.cli, service.cli, service.processes.supervise; forelock.cli._parser(['serve']); "
        "print(*sorted({'numpy', 'scipy', 'pydantic', 'sqlalchemy', 'fastapi', 'dask'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", loads], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_port_zero_takes_a_free_port() -> None:
    with listen("127.0.0.1", 0) as first, listen("127.0.0.1", 0) as second:
        assert first.getsockname()[1] != second.getsockname()[1]


def test_a_taken_port_is_refused() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OSError, match="in use"):
            listen("127.0.0.1", taken.getsockname()[1])
