"""The pool on a real cluster of this machine: results, errors, deaths, secrets."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed.deploy.spec import SpecCluster
from pydantic import ValidationError

from service.config import Settings
from service.errors import InvalidData
from service.jobs import dask_pool
from service.jobs.dask_pool import DaskPool
from service.jobs.pool import Data, PoolUnavailable, WorkerDied
from service.jobs.scheduler import NoSpans
from tests.certificates import Files, certificates
from tests.chaos import world as worlds
from tests.jobs import calls

pytestmark = pytest.mark.xdist_group("dask")
"""One pool for most of them."""


@pytest.fixture(scope="module")
def pool() -> Iterator[DaskPool]:
    pool = DaskPool(2)
    yield pool
    pool.close()


class Counted:
    """Bytes that count how often they are packed."""

    size = 1_000_000
    packed = 0

    def __reduce__(self) -> tuple[type[bytes], tuple[int]]:
        Counted.packed += 1
        return bytes, (self.size,)


def test_nothing_is_started_before_the_first_call() -> None:
    pool = DaskPool(2)
    assert pool._cluster is None
    pool.close()


@pytest.mark.slow
def test_calls_run_in_other_processes_at_lower_priority(pool: DaskPool) -> None:
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert pool.submit(os.getpid).result() != os.getpid()
    assert pool.submit(os.getpriority, os.PRIO_PROCESS, 0).result() == min(own + 5, 19)


def test_what_dask_writes_down_of_itself_does_not_pile_up(pool: DaskPool) -> None:
    assert pool.submit(calls.written_down).result(60) == (False, 60, 1)


def test_messages_and_computations_that_have_ended_are_not_kept(pool: DaskPool) -> None:
    """They hold what calls were given."""
    for number in range(5):
        assert pool.submit(calls.size_of, bytes(1000 + number)).result(60)[0] == 1000 + number
    assert pool._cluster is not None
    scheduler = pool._cluster.scheduler
    assert scheduler is not None
    streams = [*scheduler.stream_comms.values(), *scheduler.client_comms.values()]
    assert len(streams) >= 3
    assert all(len(stream.recent_message_log) <= 1 for stream in streams)
    assert len(scheduler.computations) <= 1


def test_an_idle_pool_sleeps(pool: DaskPool) -> None:
    assert pool.submit(calls.rests).result(60) == (1, 30)
    assert pool._cluster is not None
    assert pool._cluster.scheduler is not None
    own = pool._cluster.scheduler.periodic_callbacks
    assert [own[name].callback_time / 1000 for name in ("tick", "monitor")] == [1, 30]


def test_calls_that_have_ended_leave_nothing_behind(pool: DaskPool) -> None:
    numbers: dict[int, list[int]] = {}
    for _ in range(40):
        process, number = pool.submit(calls.figures).result(60)
        numbers.setdefault(process, []).append(number)
    of_the_busiest = max(numbers.values(), key=len)
    assert len(of_the_busiest) >= 20
    assert of_the_busiest[-1] <= of_the_busiest[12] + 5, "one call after the other leaves figures of each"
    assert pool._cluster is not None
    assert pool._cluster.scheduler is not None
    assert isinstance(pool._cluster.scheduler.extensions["spans"], NoSpans)


def test_a_pool_of_its_own_writes_down_no_more_than_ours() -> None:
    """The scheduler and the workers that an operator starts read their settings from their environment."""
    compose = (Path(__file__).parents[2] / "docker-compose.yml").read_text()
    assert '"--preload", "service.jobs.scheduler"' in compose
    for name, text in worlds.UNREAD.items():
        assert f'{name}: "{text}"' in compose


def test_our_errors_arrive_whole(pool: DaskPool) -> None:
    with pytest.raises(InvalidData) as caught:
        pool.submit(calls.refuse).result()
    assert caught.value.faults[0].path == "values[3]"
    with pytest.raises(ZeroDivisionError):
        pool.submit(divmod, 1, 0).result()


TELLING = """
from service.jobs.dask_pool import DaskPool
from service.jobs.pool import Data
from tests.jobs.calls import fail

if __name__ == "__main__":
    pool = DaskPool(1)
    print(type(pool.submit(fail, "argument-0.71", Data("data-0.72")).exception()).__name__)
    pool.close()
"""


@pytest.mark.slow
def test_a_failed_call_leaves_no_value_in_a_log(tmp_path: Path) -> None:
    script = tmp_path / "telling.py"
    script.write_text(TELLING)
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert done.stdout == "ValueError\n"
    assert "-0.7" not in done.stderr


@pytest.mark.slow
def test_equal_calls_are_two_calls(pool: DaskPool) -> None:
    assert pool.submit(time.monotonic_ns).result() != pool.submit(time.monotonic_ns).result()


def test_data_is_sent_once_and_used_by_many_calls(pool: DaskPool) -> None:
    data = Data(Counted())
    assert pool.submit(calls.size_of, data).result()[0] == Counted.size
    once = Counted.packed
    assert [pool.submit(calls.size_of, data).result()[0] for _ in range(3)] == [Counted.size] * 3
    assert Counted.packed == once


def test_a_list_is_one_argument(pool: DaskPool) -> None:
    assert pool.submit(len, Data([1, 2, 3])).result() == 3


@pytest.mark.slow
def test_a_worker_that_keeps_dying_is_said_and_replaced(pool: DaskPool) -> None:
    data = Data(b"x" * 10)
    pool.submit(calls.size_of, data).result()
    with pytest.raises(WorkerDied):
        pool.submit(calls.die).result()
    assert pool.submit(divmod, 7, 2).result() == (3, 1)


@pytest.mark.slow
def test_an_abandoned_call_ends_its_process_alone(pool: DaskPool) -> None:
    pool.submit(divmod, 7, 2).result()
    stuck = pool.submit(time.sleep, 600.0)
    client = pool._client
    assert client is not None
    while not any(client.processing().values()):
        time.sleep(0.02)
    pool.abandon(stuck)
    assert pool.submit(divmod, 7, 2).result() == (3, 1)
    assert not any(client.processing().values())


def test_calls_run_side_by_side(pool: DaskPool, tmp_path: Path) -> None:
    pool.submit(divmod, 7, 2).result()
    assert pool._client is not None
    while (
        len(pool._client.ncores()) < 2
    ):  # one may be replaced just now, or lost until the next call asks for it
        pool.submit(divmod, 7, 2).result()
    futures = [pool.submit(calls.meet, str(tmp_path), me, 1 - me) for me in range(2)]
    assert all(future.result() for future in futures)


def test_a_plain_connection_gets_nothing(pool: DaskPool) -> None:
    pool.submit(divmod, 7, 2).result()
    assert pool._cluster is not None
    host, port = pool._cluster.scheduler_address.removeprefix("tls://").rsplit(":", 1)
    with socket.create_connection((host, int(port)), 5) as plain:
        plain.settimeout(5)
        plain.sendall(b"GET / HTTP/1.0\r\n\r\n")
        with contextlib.suppress(ConnectionResetError):
            assert not plain.recv(100).startswith(b"HTTP")


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Files]]:
    """A scheduler and a worker as an operator starts them, and the files of their authority."""
    directory = tmp_path_factory.mktemp("pool")
    files = certificates(directory)
    tls = ["--tls-ca-file", files[0], "--tls-cert", files[1], "--tls-key", files[2]]
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"tls://127.0.0.1:{free.getsockname()[1]}"
    scheduler = ["scheduler", "--host", address, "--no-dashboard", *tls]
    worker = ["worker", address, "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1", "--no-nanny"]
    started = [
        subprocess.Popen([sys.executable, "-m", "dask", *arguments], cwd=directory, stderr=subprocess.DEVNULL)
        for arguments in (scheduler, [*worker, *tls])
    ]
    yield address, files
    for process in started:
        process.kill()
        process.wait()


def test_a_remote_pool_computes_over_mutual_tls(remote: tuple[str, Files]) -> None:
    pool = DaskPool(1, *remote)
    assert patiently(pool, divmod, 7, 2) == (3, 1)
    assert patiently(pool, calls.size_of, Data(bytes(500_000)))[0] == 500_000
    pool.close()


def test_a_certificate_of_another_authority_is_refused(remote: tuple[str, Files], tmp_path: Path) -> None:
    pool = DaskPool(1, *remote)
    patiently(pool, divmod, 7, 2)  # it is up
    pool.close()
    stranger = DaskPool(1, remote[0], certificates(tmp_path), connect_seconds=2)
    with pytest.raises(PoolUnavailable):
        stranger.submit(divmod, 7, 2)
    stranger.close()


def test_plain_tcp_is_refused(remote: tuple[str, Files]) -> None:
    from distributed import Client

    pool = DaskPool(1, *remote)
    patiently(pool, divmod, 7, 2)
    pool.close()
    with pytest.raises(OSError):  # noqa: PT011 - its words are the library's
        Client(remote[0].replace("tls://", "tcp://"), timeout=2, set_as_default=False)
    with pytest.raises(ValidationError, match="tls://"):
        Settings(dask_scheduler="tcp://127.0.0.1:8786")
    with pytest.raises(ValidationError, match="FORELOCK_DASK_TLS_CA_FILE"):
        Settings(dask_scheduler="tls://127.0.0.1:8786")


def test_a_cluster_that_fails_to_start_is_said_and_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Dask raises when a worker is killed while it starts."""
    pool = DaskPool(1)

    def fail() -> None:
        raise RuntimeError("Cluster failed to start")

    with monkeypatch.context() as patched:
        patched.setattr(pool, "_start", fail)
        with pytest.raises(PoolUnavailable):
            pool.submit(divmod, 7, 2)
    assert pool.submit(divmod, 7, 2).result() == (3, 1)
    pool.close()


@pytest.mark.parametrize(
    ("scheduler", "tried"),
    [(None, [0.0, 0.5, 1.5, 6.5, 21.5, 81.5]), ("tls://h:1", [0.0, 0.5, 1.5, 3.5, 8.5, 13.5])],
)
def test_a_pool_that_cannot_be_had_is_not_tried_at_every_call(
    monkeypatch: pytest.MonkeyPatch, scheduler: str | None, tried: list[float]
) -> None:
    seconds = 0.0
    pool = DaskPool(1, scheduler, clock=lambda: seconds)
    tries = []

    def fail() -> None:
        tries.append(seconds)
        raise OSError("no space left on device")

    monkeypatch.setattr(pool, "_start", fail)
    while seconds < 100:
        with pytest.raises(PoolUnavailable):
            pool.submit(divmod, 7, 2)
        seconds += 0.5
    assert tries[:6] == tried


def test_a_pool_that_is_being_started_keeps_nobody_from_ending(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_pool, "CLOSE_SECONDS", 0.01)
    monkeypatch.setattr(SpecCluster, "_instances", weakref.WeakSet(SpecCluster._instances))
    begun, may = threading.Event(), threading.Event()
    pool = DaskPool(1)

    def start() -> None:
        begun.set()
        may.wait(60)
        raise OSError

    def submit() -> None:
        with contextlib.suppress(PoolUnavailable):
            pool.submit(divmod, 7, 2)

    monkeypatch.setattr(pool, "_start", start)
    starting = threading.Thread(target=submit)
    starting.start()
    assert begun.wait(60)
    pool.close()
    assert starting.is_alive()
    assert not SpecCluster._instances
    may.set()
    starting.join(60)


def test_a_scheduler_that_does_not_answer_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
    pool = DaskPool(1, f"tls://127.0.0.1:{port}", certificates(tmp_path), connect_seconds=1)
    with pytest.raises(PoolUnavailable):
        pool.submit(divmod, 7, 2)
    pool.close()


def patiently(pool: DaskPool, function: Callable[..., Any], *arguments: object) -> Any:
    """The call's value, once the cluster is up."""
    while True:
        try:
            return pool.submit(function, *arguments).result()
        except PoolUnavailable:
            time.sleep(0.2)
