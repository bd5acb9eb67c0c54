"""What every test stands on: examples drawn alike, a place for files, and databases.

SQLite is a file; Postgres is a server of our own on a socket in a short directory.
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

# As in every process of a deployment: sums then agree to the bit.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

# Databases are for the tests that ask for one: loading them takes longer than most choices of `./do quick`.
if TYPE_CHECKING:
    import sqlalchemy as sa
    from xdist.scheduler import Scheduling

    from service.api.calculators.pool import Calculators
    from service.store.database.engine import Database
    from tests.postgres import Postgres

# A loaded machine is no fault of the code.
settings.register_profile(
    "search",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=False,
    print_blob=True,
)
# Whoever did not ask for a search draws what everybody draws: a build fails for what changed in it.
settings.register_profile(
    "forelock", settings.get_profile("search"), derandomize=True, database=None, max_examples=25
)
# The same tests once more on another Python, whose numpy is other and our code the same.
settings.register_profile("again", settings.get_profile("forelock"), max_examples=10)
settings.load_profile("forelock")
# Hypothesis also tries numbers it reads in the modules imported so far, so that what a test draws would depend on
# the tests before it, and on constants anywhere in the service.
providers._get_local_constants = lambda: providers._local_constants

MEMORY, ON_DISK = Path("/dev/shm"), tempfile.gettempdir()
ROOM = 4 << 30
"""Bytes that must be free in memory for files to be kept there: a run takes about a quarter of it."""
SCRATCH = pytest.StashKey["weakref.finalize[[], object]"]()


def pytest_configure(config: pytest.Config) -> None:
    """Files of a run go to one directory, where Postgres' user may pass."""
    if not hasattr(config, "workerinput"):
        scratch = tempfile.mkdtemp(prefix="forelock-", dir=_in_memory(config))
        os.chmod(scratch, 0o711)
        os.environ["TMPDIR"] = tempfile.tempdir = scratch
        # Finalizers run last made first: whatever a library tidies in there at the end, it still finds.
        config.stash[SCRATCH] = weakref.finalize(pytest, shutil.rmtree, scratch, ignore_errors=True)


def _in_memory(config: pytest.Config) -> str | None:
    """Where many small files cost no disk; None where memory is scarce, or somebody chose a place."""
    has_slow = config.option.markexpr != "not slow"  # they install whole environments
    if has_slow or "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK):
        return None
    place = os.statvfs(MEMORY)
    free = min(place.f_bavail * place.f_frsize, os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    programs_run = not place.f_flag & os.ST_NOEXEC
    return str(MEMORY) if programs_run and free > ROOM else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling | None:
    """Ours of groups; any other way of sharing tests out is pytest-xdist's own."""
    if config.getoption("dist") != "loadgroup":
        return None
    from tests.scheduling import GroupScheduling  # for the one process that shares them out

    return GroupScheduling(config, log)


_FIRST: dict[str, tuple[sa.Dialect, dict[Any, Any]]] = {}
_ENGINE = "service.store.database.engine"


def _share_compiled_sql() -> None:
    """Lets an engine find every statement compiled that another one of this process has run.

    A service has one engine for its life, and tests have thousands: compiling SQL was a quarter of their time.
    """
    engine = sys.modules.get(_ENGINE)
    if engine is None or hasattr(engine._create_engine, "shares"):
        return
    make: Callable[[sa.URL, int], sa.Engine] = engine._create_engine

    def make_sharing(url: sa.URL, pool_size: int) -> sa.Engine:
        made = make(url, pool_size)
        dialect, compiled = _FIRST.setdefault(made.dialect.name, (made.dialect, {}))
        if dialect.server_version_info is not None:  # it has seen a connection, and knows its server
            made.dialect = dialect
        made.update_execution_options(compiled_cache=compiled)
        return made

    make_sharing.shares = True
    engine._create_engine = make_sharing


def _answer_whole() -> None:
    """Lets clients of an application in this process hand a request over once, which was a tenth of their time."""
    testclient = sys.modules.get("starlette.testclient")
    if testclient is not None and "tests.whole_answers" not in sys.modules:
        from tests.whole_answers import WholeAnswers

        testclient._TestClientTransport = WholeAnswers


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What asks for no SQL of its own is run on Postgres by ./do test --all only; a browser's tests stay together."""
    for item in items:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        if item.get_closest_marker("any_database") and parameters.get("database_url") == "postgres":
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("browser"):  # a module has one browser, and one service that it opens
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Sixteen thousand collected tests stay to the end: the collector looks through what comes after them alone.

    A full collection takes up to a second among them, and statsmodels asks for one at every adjusted p.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    """What files are made with is the same for every test: a command run in this process narrows it for good."""
    _share_compiled_sql()
    _answer_whole()
    mask = os.umask(0o022)
    os.umask(mask)
    try:
        return (yield)
    finally:
        os.umask(mask)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """The directory goes with a run that was green, and stays on the disk to be looked into otherwise."""
    scratch = session.config.stash.get(SCRATCH, None)
    if scratch is not None and exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        scratch.detach()
        left = tempfile.gettempdir()
        if left.startswith(str(MEMORY)):
            kept = tempfile.mkdtemp(prefix="forelock-tests-", dir=ON_DISK)
            shutil.copytree(left, kept, symlinks=True, ignore=_sockets, dirs_exist_ok=True)
            shutil.rmtree(left, ignore_errors=True)
            left = kept
        print(f"\nwhat the tests left is in {left}")


def _sockets(directory: str, names: list[str]) -> list[str]:
    return [name for name in names if Path(directory, name).is_socket()]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One server for the tests of this process, started when the first one asks."""
    from tests.postgres import Postgres

    server = Postgres()
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def postgres_template(postgres: Postgres) -> str:
    """An empty migrated database to copy from."""
    name = postgres.create()
    _migrate(postgres.url(name))
    return name


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty migrated database to copy from."""
    path = tmp_path_factory.mktemp("sqlite") / "template.db"
    _migrate(f"sqlite:///{path}")
    return path


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a migrated database that is this test's own, once on each kind of database."""
    if request.param == "sqlite":
        path = tmp_path / "forelock.db"
        shutil.copyfile(request.getfixturevalue("sqlite_template"), path)
        yield f"sqlite:///{path}"
        return
    template = request.getfixturevalue("postgres_template")
    server: Postgres = request.getfixturevalue("postgres")
    name = server.create(template)
    yield server.url(name)
    server.drop(name)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A migrated database that is this test's own, once on each kind of database."""
    from service.store.database.engine import Database

    opened = Database(database_url)
    yield opened
    opened.dispose()


def _migrate(url: str) -> None:
    from service.store.database import schema
    from service.store.database.engine import Database

    database = Database(url)
    try:
        schema.upgrade(database.engine)
    finally:
        database.dispose()


@pytest.fixture(scope="session")
def calculators() -> Iterator[Calculators]:
    """Kept from test to test: the first picture that one draws starts an engine, which takes a second."""
    from service.api.calculators.pool import Calculators  # most tests compute in none

    kept = Calculators()
    kept.open()
    yield kept
    kept.close()


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory with a service, for the commands of the pages; tests that use it are of one xdist group."""
    from tests.desk import serving  # its modules are for few

    with serving(tmp_path_factory.mktemp("desk")) as directory:
        yield directory
