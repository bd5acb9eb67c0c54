"""The pool on Dask: scheduling, data movement and supervision of workers are Dask's.

Nothing is started before the first call. Without an address the cluster is this machine's, with
certificates made for it alone; with one it is reached by mutual TLS. A scheduler that goes away is
connected to again, and what was in flight is computed anew: the rows in the database are the truth.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import tempfile
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from service.jobs import worker
from service.jobs.pool import Data, PoolLost, PoolUnavailable, WorkerDied

if TYPE_CHECKING:
    from distributed import Client, LocalCluster, Security
    from distributed import Future as _Remote

    Remote = _Remote[Any]

log = logging.getLogger("forelock.pool")

CONNECT_SECONDS = 20
"""How long a scheduler may take to answer, and a result to arrive."""
CLOSE_SECONDS = 1.0
"""How long `close` waits for a pool that is just being started."""
RESTARTS, RESTART_SECONDS = 3, 10
"""Tries to end a worker's process, and how long one may take."""
RETRIES = (0.0, 1.0, 5.0, 15.0, 60.0)
"""Seconds before a pool that could not be started is tried again."""
REACHES = (0.0, 1.0, 2.0, 5.0)
"""Seconds before a scheduler elsewhere is asked again: that costs little, and it may be back at any moment."""
SETTINGS = {
    # Outcomes stay in memory: nothing is spilled to a disk, and no page shows what runs.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.worker.http.routes": [],
    "distributed.scheduler.http.routes": [],
    "distributed.nanny.pre-spawn-environ": {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    "distributed.worker.preload": ["service.jobs.worker"],
    "distributed.scheduler.preload": ["service.jobs.scheduler"],
    "distributed.scheduler.allowed-failures": 1,
    "distributed.scheduler.worker-saturation": 1.0,  # a call waits for a worker, not behind a call
    "distributed.deploy.lost-worker-timeout": "30s",
    "distributed.comm.timeouts.connect": f"{CONNECT_SECONDS}s",
    "distributed.admin.large-graph-warning-threshold": "1GB",
    # What Dask writes down of itself nobody reads, and it grows for an hour in every process.
    "distributed.worker.profile.enabled": False,
    # The log of messages keeps what calls were given, and computations keep their calls.
    "distributed.admin.system-monitor.log-length": 60,
    "distributed.admin.low-level-log-length": 1,
    "distributed.diagnostics.computations.max-history": 1,
    "distributed.diagnostics.erred-tasks.max-history": 1,
    # An idle pool is not to wake fifty times a second in every process to see whether its loop is quick.
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "30s",
}


class DaskPool:
    """Workers of one Dask cluster."""

    def __init__(
        self,
        workers: int,
        scheduler: str | None = None,
        tls: tuple[str, str, str] | None = None,
        *,
        connect_seconds: float = CONNECT_SECONDS,
        scratch: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`tls` names the files of CA, certificate and key; a remote scheduler needs them.

        Workers of this machine keep their files in `scratch`, otherwise where temporary files go.
        """
        self.workers, self._scheduler, self._tls = workers, scheduler, tls
        self._connect_seconds = connect_seconds
        self._scratch, self._clock = scratch, clock
        self._failed, self._not_before, self._why = 0, 0.0, ""
        self._lock = threading.Lock()
        self._client: Client | None = None
        self._cluster: LocalCluster | None = None
        self._sent: weakref.WeakKeyDictionary[Data, Remote] = weakref.WeakKeyDictionary()
        self._running: weakref.WeakKeyDictionary[Future[Any], Remote] = weakref.WeakKeyDictionary()

    def start(self) -> None:
        """Reach the scheduler, or start a cluster, unless the pool is up already.

        Raises:
            PoolUnavailable: no scheduler answers.
        """
        with self._reaching():
            self._live()

    def submit(self, function: Callable[..., Any], *arguments: object) -> Future[Any]:
        """Start `function(*arguments)` on a worker; an argument of type `Data` is sent to the workers once.

        Raises:
            PoolUnavailable: no scheduler answers.
        """
        with self._reaching():
            client = self._live()
            sent = [
                self._on_workers(client, argument) if isinstance(argument, Data) else argument
                for argument in arguments
            ]
            name = f"{function.__name__}-{uuid.uuid4().hex}"  # Dask knows durations by what stands before the dash
            remote = client.submit(worker.call, function, *sent, key=name, pure=False)
        future: Future[Any] = Future()
        self._running[future] = remote
        remote.add_done_callback(partial(_settle, future))
        return future

    def abandon(self, future: Future[Any]) -> None:
        """Forget a call, and end the worker's process that is busy with it; nothing happens where it has ended."""
        remote, client = self._running.pop(future, None), self._client
        if remote is None or client is None or future.done():
            return
        future.cancel()
        try:
            # Asked before the cancellation: afterwards the scheduler no longer knows who computes it.
            busy = [address for address, keys in client.processing().items() if remote.key in keys]
            remote.cancel()
            for address in busy:
                _end_worker(client, address)
        except Exception as error:  # noqa: BLE001 - a pool that is gone has abandoned it already
            log.warning("an abandoned call could not be ended: %s", type(error).__name__)

    def close(self) -> None:
        """End the local cluster, or leave the remote one. One that is being started ends with this process."""
        # `_live` holds the lock for as long as a start takes, up to `CONNECT_SECONDS`: an end does not wait for that.
        if not self._lock.acquire(timeout=CLOSE_SECONDS):
            _disown()
            return
        try:
            client, cluster = self._client, self._cluster
            self._client = self._cluster = None
            self._sent.clear()
        finally:
            self._lock.release()
        if cluster is not None:
            _kill_workers(cluster)
        for part in (client, cluster):
            if part is not None:
                with contextlib.suppress(Exception):
                    part.close(timeout=5)

    def _live(self) -> Client:
        """Return a client whose scheduler answers, as of its last sign; start one where there is none."""
        with self._lock:
            if self._client is not None and self._client.status in ("running", "connecting"):
                self._mend()
                return self._client
            self._sent.clear()
            if self._client is not None:
                with contextlib.suppress(Exception):
                    self._client.close(timeout=1)
            wait = self._not_before - self._clock()
            if wait > 0:
                raise PoolUnavailable(self._why)
            try:
                self._client = self._start()
            except BaseException as error:
                self._give_up()
                self._why = self._silent(error)
                raise
            self._failed = 0
            return self._client

    def _give_up(self) -> None:
        """Note that a start failed.

        The next comes after a pause that grows, since a failed one costs threads and files.
        """
        pauses = RETRIES if self._scheduler is None else REACHES
        self._not_before = self._clock() + pauses[min(self._failed, len(pauses) - 1)]
        self._failed += 1
        cluster, self._cluster = self._cluster, None
        if cluster is not None:
            with contextlib.suppress(Exception):
                cluster.close(timeout=5)

    def _mend(self) -> None:
        """Ask for the workers that the local cluster has lost for good."""
        cluster = self._cluster
        scheduler = None if cluster is None else cluster.scheduler
        if cluster is not None and scheduler is not None and len(scheduler.workers) < self.workers:
            cluster.scale(self.workers)

    def _start(self) -> Client:
        """Connect to the scheduler that is named, or else to a cluster of this machine that is started first."""
        import dask
        from distributed import Client, LocalCluster, Security

        dask.config.set({**SETTINGS, "temporary-directory": str(self._scratch or tempfile.gettempdir())})
        if self._scheduler is not None:
            return Client(
                self._scheduler,
                security=self._security(),
                timeout=self._connect_seconds,
                set_as_default=False,
            )
        if self._cluster is None:
            self._cluster = LocalCluster(
                n_workers=self.workers,
                threads_per_worker=1,
                # No nanny ends a worker for its memory: the deployment's limits hold for all processes together.
                memory_limit=0,
                processes=True,
                host="127.0.0.1",
                protocol="tls://",
                security=Security.temporary(),
                dashboard_address="127.0.0.1:0",
                worker_dashboard_address="127.0.0.1:0",
            )
            _stop_pages(self._cluster)
        return Client(self._cluster, security=self._cluster.security, set_as_default=False)

    def _security(self) -> Security:
        from distributed import Security

        ca, certificate, key = self._tls or ("", "", "")
        return Security(
            tls_ca_file=ca, tls_client_cert=certificate, tls_client_key=key, require_encryption=True
        )

    @contextlib.contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        # A cluster that dies while it starts raises any of these.
        except (OSError, CancelledError, ValueError, RuntimeError) as error:
            raise PoolUnavailable(self._silent(error)) from error

    def _silent(self, error: BaseException) -> str:
        """Say which pool does not answer and the kind of error; an error's own text may hold what was to be sent."""
        where = "of this machine" if self._scheduler is None else f"at {self._scheduler}"
        why = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
        return f"the worker pool {where} does not answer ({why})"

    def _on_workers(self, client: Client, data: Data) -> Remote:
        """Send data to the workers, unless they have it, and return what stands for it in a call."""
        remote = self._sent.get(data)
        if remote is None or remote.status in ("cancelled", "lost", "error"):
            # Without hash Dask gives it a fresh name: the content, outcomes among it, is not hashed into one.
            (remote,) = client.scatter([data.value], hash=False)
            self._sent[data] = remote
        return remote


def _kill_workers(cluster: LocalCluster) -> None:
    """End the workers at once. They hold nothing that is worth waiting for; asked, an idle one takes 4 seconds."""
    for nanny in list(cluster.workers.values()):
        nanny.close_gracefully("pool-close")  # it starts no other in its place
        if nanny.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(nanny.pid, signal.SIGKILL)


def _disown() -> None:
    """Have Dask forget its clusters, for which it would wait when the process ends."""
    from distributed.deploy.spec import SpecCluster

    SpecCluster._instances.clear()


def _stop_pages(cluster: LocalCluster) -> None:
    """Stop the pages of the scheduler, which nobody reads; its server may be stopped from its own loop alone."""
    scheduler, loop = cluster.scheduler, cluster.loop
    if scheduler is not None and loop is not None:
        loop.add_callback(scheduler.http_server.stop)


def _end_worker(client: Client, address: str) -> None:
    """End a worker's process; its nanny starts another."""
    for _ in range(RESTARTS):
        if address not in client.scheduler_info(n_workers=-1)["workers"]:
            return
        with contextlib.suppress(TimeoutError, ValueError, KeyError):
            client.restart_workers([address], timeout=RESTART_SECONDS)
            return
    raise TimeoutError


def _settle(future: Future[Any], remote: Remote) -> None:
    """Hand the outcome of a call over to whoever waits, with errors of our own in place of Dask's."""
    from distributed import KilledWorker

    # False: it was abandoned, and nobody waits for the outcome.
    if not future.set_running_or_notify_cancel():
        return
    try:
        value = remote.result(timeout=CONNECT_SECONDS)
    except KilledWorker:
        future.set_exception(WorkerDied("the worker process ended while computing"))
    except (CancelledError, OSError) as lost:  # of ours none are cancelled here; Dask says so of what is lost
        future.set_exception(PoolLost(type(lost).__name__))
    except Exception as error:  # noqa: BLE001 - it is the function's own
        future.set_exception(error)
    else:
        future.set_result(value)
