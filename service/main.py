"""Builds the processes of a deployment: an API worker, a runner, and what `init` and `migrate` do.

`python -m service.nursery FD` is what the supervisor starts, and forks the others from. Where it cannot be, they
are started one by one: `python -m service.main api FD`, `… runner`.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import secrets
import signal
import socket
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from service.config import Settings, read_settings
from service.domain.access import SCOPES, Key, Project, new_secret, secret_prefix, secret_sha256
from service.errors import Conflict
from service.keyring.keyring import Keyring
from service.operation.objects import require_usable
from service.operation.sign_in import require_projects, sign_in_of
from service.operation.starting import (
    CannotStart,
    require_answer,
    require_begun,
    require_keys,
    require_opens,
    require_processes,
    require_semaphores,
    require_whole,
    signer_of,
    wait_for,
)
from service.processes.complaints import report_failures
from service.store.database import clock, integrity, schema
from service.store.database.engine import Database
from service.store.database.integrity import Alteration
from service.store.projects import keys, projects

if TYPE_CHECKING:
    from service.actions.ledger.signer import Signer
    from service.actions.results.coverage import Rebuilt
    from service.jobs.delivering import Delivering
    from service.jobs.outgoing import OutgoingProcess
    from service.jobs.runner import Runner
    from service.jobs.witnessing import Witnessing
    from service.publish.http import Outgoing
    from service.telemetry.tracing import Tracing


def settings_of(given: Mapping[str, object]) -> Settings:
    """Return the environment's settings, overridden by what is given; name unknown variables on the error stream."""
    settings = read_settings(given, lambda message: sys.stderr.write(f"forelock: {message}\n"))
    return settings.model_copy(update={"data_dir": settings.data_dir.absolute()})


def migrate(settings: Settings) -> str:
    """Bring the schema up to date; returns its revision."""
    with _database(settings.url) as database:
        require_answer(database)
        schema.upgrade(database.engine)
        return schema.read_revision(database.engine) or "none"


def rebuild_coverage(settings: Settings, prereg_id: str) -> Rebuilt:
    """Make what counts as in of a record anew from its batches."""
    from service.actions.results import coverage
    from service.processes.wake import nudge

    with _database(settings.url) as database:
        require_answer(database)
        schema.require_current(database.engine)
        with database.write() as session:
            rebuilt = coverage.rebuild(session, prereg_id, clock.read_moment(session))
    nudge(settings.runner_socket)
    return rebuilt


def alterations(settings: Settings, *, forget: bool) -> list[Alteration]:
    """Stored rows that were found altered; with `forget` until they are found again."""
    with _database(settings.url) as database:
        require_answer(database)
        schema.require_current(database.engine)
        with database.write() as session:
            standing = integrity.read_standing(session)
            if forget:
                integrity.forget(session)
    return standing


@contextlib.contextmanager
def ledger_signer(settings: Settings) -> Iterator[Signer]:
    """Return what signs the ledger, for a command."""
    with _database(settings.url) as database:
        require_answer(database)
        schema.require_current(database.engine)
        yield signer_of(settings, database, _load_keyring(settings, private=False))


def initialise(settings: Settings) -> Path:
    """Create schema, keys, project `default` and the first API key; returns the file that holds the key.

    Runs once: a deployment that has a project is left as it is.
    """
    with _only_one(settings.data_dir), _database(settings.url) as database:
        require_answer(database)
        require_whole(settings, has_schema=schema.read_revision(database.engine) is not None)
        schema.upgrade(database.engine)
        with database.write() as session:
            if projects.read_page(session, cursor=None, limit=1)[0]:
                raise Conflict(
                    "this deployment is initialised already; use its API key, or make another with "
                    "POST /v1/keys",
                    code="already_initialised",
                )
            keyring = Keyring.create(settings.data_dir / "keys")
            now = datetime.now(UTC)
            project = Project(id=_id(), name="default", created_at=now)
            projects.create(session, project)
            secret = new_secret(secrets.token_bytes(32))
            key = Key(
                id=_id(),
                project_id=project.id,
                name="first key",
                kind="person",
                scopes=SCOPES,
                prefix=secret_prefix(secret),
                created_at=now,
            )
            keys.insert(session, key, secret_sha256(secret))
            path = _write_secret(settings.data_dir / "admin.key", secret)
        signer_of(settings, database, keyring).establish()
        return path


def prepare_embedded(settings: Settings, *, runner: bool) -> Path | None:
    """Return what `serve` does first: an empty data directory is initialised, an old embedded schema upgraded.

    Postgres is never touched here: its operator runs `forelock init` and `forelock migrate`. With a `runner`,
    the key that opens rows has to be there too. Returns the first key's file when it was just made.
    """
    if runner:
        _require_pool(settings)
    if settings.calls_out:
        from service.jobs.witnesses import make_witnesses

        make_witnesses(settings)  # a setting that cannot be used is told before anything starts
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    secret = settings.seal_private_key
    Keyring.require_given(
        seal_public=settings.seal_public_key,
        seal_private=secret.get_secret_value() if secret else None,
        signing_key_file=settings.signing_key_file,
    )
    with _database(settings.url) as database:
        wait_for(database, sys.stderr.write)
        if settings.database_url is not None:
            schema.require_current(database.engine)
            require_begun(database)
            require_keys(settings, database, runner=runner)
            return None
        if schema.read_revision(database.engine) is not None:
            schema.upgrade(database.engine)
            with database.read() as session:
                begun = bool(projects.read_page(session, cursor=None, limit=1)[0])
            if begun:
                require_keys(settings, database, runner=runner)
                return None
    return initialise(settings)


def _require_pool(settings: Settings) -> None:
    """What the workers of this machine need: without it every job would wait, and the runner's log alone say why."""
    require_processes()
    if settings.dask_scheduler is None:
        require_semaphores()


def build_runner(settings: Settings) -> Runner:
    """Return a runner with its executor; the only process that loads the key which opens rows."""
    from service.jobs.dask_pool import DaskPool
    from service.jobs.runner import Runner
    from service.processes.wake import Alarm

    _require_pool(settings)
    threads = settings.runner_threads or settings.workers_of_pool + 2
    database = Database(settings.runner_url, pool_size=threads + 4)
    try:
        wait_for(database, sys.stderr.write)
        schema.require_current(database.engine)
        keyring = _load_keyring(settings, private=True)
        require_opens(keyring, database)
    except BaseException:
        database.dispose()
        raise
    withhold_settings()
    scratch = settings.data_dir / "scratch"
    scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.environ["TMPDIR"] = str(scratch)  # certificates and whatever else a library puts down for a moment
    tempfile.tempdir = None
    files = (settings.dask_tls_ca_file, settings.dask_tls_cert_file, settings.dask_tls_key_file)
    return Runner(
        database=database,
        keyring=keyring,
        pool=DaskPool(
            settings.workers_of_pool,
            settings.dask_scheduler,
            (str(files[0]), str(files[1]), str(files[2])),
            scratch=scratch,
        ),
        alarm=Alarm(settings.runner_socket),
        settings=settings,
        outgoing=_outgoing(settings, database),
        tracing=_tracing(settings, "forelock-runner", database),
    )


def _outgoing(settings: Settings, database: Database) -> OutgoingProcess:
    """Return the process that calls the outside, once there is anything to call it for."""
    from service.jobs.outgoing import OutgoingProcess
    from service.store.delivery import deliveries

    # a setting that cannot be used is told before any job begins
    asks = _witnessing(settings, database) is not None

    def is_wanted() -> bool:
        if asks:
            return True
        with database.read() as session:
            return deliveries.has_due(session, clock.read_now(session))

    return OutgoingProcess(settings, is_wanted)


def run_outgoing() -> None:
    """Send and ask for as long as the runner is there that started this process."""
    from service.jobs import outgoing
    from service.jobs.delivering import SENDERS
    from service.telemetry.logs import configure

    configure()
    settings = outgoing.receive_settings()
    database = Database(settings.runner_url, pool_size=SENDERS + 2)
    wait_for(database, sys.stderr.write)
    delivering = _delivering(settings, database, _load_keyring(settings, private=True))
    witnessing = _witnessing(settings, database)
    outgoing.serve([delivering] if witnessing is None else [delivering, witnessing])


def _delivering(settings: Settings, database: Database, keyring: Keyring) -> Delivering:
    """Return who sends what the outbox holds; what calls take is loaded with the first of them."""
    from service.jobs.delivering import Delivering

    def outgoing() -> Outgoing:
        from service.jobs.witnesses import make_outgoing

        return make_outgoing(settings)

    return Delivering(
        database,
        outgoing,
        seal_private=keyring.opener(),
        public_url=settings.public_url,
        gives_up_after=timedelta(days=settings.delivery_days),
    )


def _tracing(settings: Settings, process: str, database: Database) -> Tracing | None:
    """Traces of a process, if they go anywhere; what that takes is loaded then alone."""
    if settings.otel_endpoint is None:
        return None
    try:
        from service.telemetry.tracing import Tracing
    except ModuleNotFoundError as error:
        raise CannotStart(
            "FORELOCK_OTEL_ENDPOINT is set, and the packages that send traces are not installed: install "
            "forelock-server[otel], or unset it"
        ) from error
    tracing = Tracing.to(process, settings.otel_endpoint)
    tracing.database(database.engine)
    return tracing


def _witnessing(settings: Settings, database: Database) -> Witnessing | None:
    """Return who asks outside witnesses, if any are named; what that takes is loaded then alone."""
    if not settings.calls_out:
        return None
    from service.jobs.witnesses import make_witnesses
    from service.jobs.witnessing import Witnessing

    witnesses = make_witnesses(settings)
    return Witnessing(database, witnesses) if witnesses else None


def withhold_settings() -> None:
    """Take the settings out of the environment: workers inherit it, and get neither database nor keys."""
    for field in Settings.model_fields:
        os.environ.pop(f"FORELOCK_{field.upper()}", None)


def serve_api(settings: Settings, descriptor: int) -> None:
    """Run one uvicorn worker on a listening socket inherited from the supervisor."""
    import uvicorn

    from service.api.http.metrics import DIRECTORY
    from service.api.http.serving.protocol import LimitedProtocol, raise_file_limit
    from service.app import create_app
    from service.processes.supervise import REQUEST_SECONDS, follow_parent
    from service.processes.tallies import VARIABLE
    from service.telemetry.logs import configure

    configure()
    if together := os.environ.get(VARIABLE):
        os.environ[DIRECTORY] = together
    database = Database(settings.url, pool_size=settings.pool_size)
    wait_for(database, sys.stderr.write)
    schema.require_current(database.engine)
    app: Any = create_app(settings, database, _load_keyring(settings, private=False))
    tracing = _tracing(settings, "forelock-api", database)
    if tracing is not None:
        app = tracing.application(app)
    LimitedProtocol.most = raise_file_limit()
    config = uvicorn.Config(
        app,
        http=LimitedProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=REQUEST_SECONDS,
        backlog=2048,
    )
    server = uvicorn.Server(config)
    follow_parent(lambda: os.kill(os.getpid(), signal.SIGTERM))
    server.run(sockets=[socket.socket(fileno=descriptor)])
    if tracing is not None:
        tracing.close()


def run_runner(settings: Settings) -> None:
    """Run a supervised runner at lower priority than the API."""
    from service.processes.supervise import follow_parent
    from service.telemetry.logs import configure

    configure()
    os.nice(5)
    runner = build_runner(settings)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: runner.stop())
    follow_parent(runner.stop)
    runner.run()


def _load_keyring(settings: Settings, *, private: bool) -> Keyring:
    """Load the keys of a process: a `private` one opens sealed rows, any other signs."""
    secret = settings.seal_private_key
    return Keyring.load(
        settings.data_dir / "keys",
        private=private,
        seal_public=settings.seal_public_key,
        seal_private=secret.get_secret_value() if secret else None,
        signing_key_file=settings.signing_key_file,
        signs=not private,
    )


@contextlib.contextmanager
def _database(url: str) -> Iterator[Database]:
    database = Database(url, pool_size=2)
    try:
        yield database
    finally:
        database.dispose()


@contextlib.contextmanager
def _only_one(directory: Path) -> Iterator[None]:
    """Hold the data directory's lock, so that two starts do not both initialise it."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (directory / "init.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _write_secret(path: Path, secret: str) -> Path:
    """Write the key alone, readable by its owner only. A leftover of an interrupted start is replaced."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secret)
        file.flush()
        os.fsync(file.fileno())
    return path


def _id() -> str:
    return uuid.uuid4().hex


def _prepare(given: str, report: int, *, runner: bool) -> Settings:
    """Return the settings of a deployment that is ready to be served, which the supervisor is told."""
    settings = settings_of(json.loads(given))
    # a setting that cannot be used is told before anything starts
    require_usable(settings)
    sign_in = sign_in_of(settings)
    created = prepare_embedded(settings, runner=runner)
    if sign_in is not None:
        with _database(settings.url) as database:
            require_projects(sign_in, database)
    settled = {"host": settings.host, "port": settings.port, "workers": settings.api_workers}
    where = {"data_dir": str(settings.data_dir), "created": None if created is None else str(created)}
    with os.fdopen(report, "w") as pipe:
        json.dump(settled | where, pipe)
    return settings


def begin_nursery(descriptor: int) -> NoReturn:
    """Load what API, runner and calculators need, and fork them."""
    import service.api.calculators.pool
    import service.app
    import service.jobs.dask_pool
    import service.jobs.runner
    from service.api.calculators import process as calculator
    from service.processes import nursery
    from service.processes.supervise import leave
    from service.stats.shared.declaring import registry

    registry.warm_up()

    def run(words: list[str], requests: int) -> None:
        service.api.calculators.pool.adopt_forks(socket.socket(fileno=requests))
        leave(report_failures(lambda: _main(words)))

    nursery.serve(descriptor, run, calculator.serve_forked)


def _main(arguments: list[str]) -> int:
    """Run the process that the arguments name, and return its exit status."""
    from service.processes.supervise import follow_parent

    match arguments:
        case ["api", descriptor]:
            serve_api(Settings(), int(descriptor))
        case ["runner"]:
            run_runner(Settings())
        case ["outgoing"]:
            run_outgoing()
        case ["prepare" | "runner" as role, given, report]:
            follow_parent(lambda: os._exit(1))
            settings = _prepare(given, int(report), runner=role == "runner")
            if role == "runner":
                run_runner(settings)
        case _:
            sys.stderr.write("usage: python -m service.main api FD | runner\n")
            return 2
    return 0


if __name__ == "__main__":
    from service.processes.supervise import leave

    logging.captureWarnings(capture=True)
    leave(report_failures(lambda: _main(sys.argv[1:])))
