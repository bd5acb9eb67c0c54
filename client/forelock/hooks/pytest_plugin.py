"""pytest: every test that names an item is a row. Passed is 1, a failed assertion 0, any other exception an error.

    @pytest.mark.forelock("item-1")            # pass or fail
    def test_one(): ...

    @pytest.mark.parametrize("question", QUESTIONS)
    def test_answer(forelock_record, question):
        forelock_record(question.id)           # pass or fail
        forelock_record(question.id, value=grade(question), endpoint="grade")

`pytest --forelock ID --forelock-arm ARM --forelock-endpoint ENDPOINT`, or `FORELOCK_RECORD`, `FORELOCK_ARM` and
`FORELOCK_ENDPOINT`, say where the rows go; without them the mark and the fixture do nothing. A row is on the disk
before the next test begins. Errors are kept back until the session has ended, so that a run that was stopped can
be run again.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, Protocol

import pytest

from forelock.hooks.session import Session, Target, require_number
from forelock.problem import FileFault
from forelock.spool import Head

Json = dict[str, Any]
ASSERTIONS = (AssertionError, pytest.fail.Exception)
"""What says that the answer was wrong, and not that there was none."""
NO_OUTCOME = (pytest.skip.Exception, KeyboardInterrupt, SystemExit, pytest.exit.Exception)


class Record(Protocol):
    """The fixture as a test calls it: notes one result."""

    def __call__(
        self,
        item_id: str,
        value: float | bool | None = None,
        *,
        endpoint: str | None = None,
        replicate: int = 1,
    ) -> None:
        """Name the item of this test; with a value, that is the row, otherwise whether the test passes."""


@dataclass
class Named:
    """What a test said that it measures."""

    passing: list[Json] = field(default_factory=list)
    """Rows that wait for the test's outcome."""
    measured: list[Json] = field(default_factory=list)
    """Rows that have their value."""

    def clear(self) -> None:
        """Forget the rows that were noted so far."""
        self.passing.clear()
        self.measured.clear()


NAMED = pytest.StashKey[Named]()
RECORDER = pytest.StashKey["Recorder"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that say where rows go."""
    group = parser.getgroup("forelock", "preregistered evaluations")
    for name, what in (
        ("record", "preregistration"),
        ("arm", "arm"),
        ("endpoint", "endpoint"),
        ("population", "population"),
    ):
        option = "--forelock" if name == "record" else f"--forelock-{name}"
        variable = f"FORELOCK_{name.upper()}"
        group.addoption(
            option,
            dest=f"forelock_{name}",
            metavar=name.upper() if name != "record" else "ID",
            default=os.environ.get(variable) or None,
            help=f"the {what} that tests with an item id are rows of (default: {variable})",
        )


def pytest_configure(config: pytest.Config) -> None:
    """Take part where a preregistration is named."""
    config.addinivalue_line(
        "markers", "forelock(item_id, *, endpoint=None, replicate=1): the test is a row of this item"
    )
    record = config.getoption("forelock_record")
    if record is None or config.option.collectonly:
        return
    for name, what in (("arm", "whose results these are"), ("endpoint", "what is measured")):
        if config.getoption(f"forelock_{name}") is None:
            raise pytest.UsageError(f"forelock: say {what}: --forelock-{name} {name.upper()}")
    target = Target(record, config.getoption("forelock_arm"), config.getoption("forelock_population"))
    recorder = Recorder(config, target, config.getoption("forelock_endpoint"))
    config.stash[RECORDER] = recorder
    config.pluginmanager.register(recorder, "forelock-recorder")


@pytest.fixture
def forelock_record(request: pytest.FixtureRequest) -> Record:
    """Names the item that a test measures: `forelock_record(item_id, value=None, endpoint=None, replicate=1)`."""
    rows_of_test = request.node.stash.setdefault(NAMED, Named())
    recorder = request.config.stash.get(RECORDER, None)

    def record(
        item_id: str, value: float | bool | None = None, *, endpoint: str | None = None, replicate: int = 1
    ) -> None:
        row = _make_row(item_id, endpoint=endpoint, replicate=replicate)
        if recorder is not None:
            recorder.claim(row, request.node.nodeid)
        if value is None:
            rows_of_test.passing.append(row)
        else:
            rows_of_test.measured.append(row | {"value": require_number(value, f"the value of '{item_id}'")})

    return record


class Recorder:
    """Takes the rows of one session. Under xdist every worker keeps its own; the process that started them sends."""

    def __init__(self, config: pytest.Config, target: Target, endpoint: str) -> None:
        self._worker = hasattr(config, "workerinput")
        self._target, self._endpoint = target, endpoint
        self._session = Session(target, live=not self._worker)
        self._errors: list[Json] = []
        self._claims: dict[tuple[str, str, int], str] = {}

    def claim(self, row: Json, nodeid: str) -> None:
        """Let one test alone measure an item, as far as this process sees.

        Raises:
            FileFault: another test does.
        """
        place = row["endpoint"] or self._endpoint, row["item_id"], row["replicate"]
        other = self._claims.setdefault(place, nodeid)
        if other != nodeid:
            raise FileFault(
                f"item '{row['item_id']}' is measured by {other} already; number them: replicate=2"
            )

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Refuse marks that name one item twice."""
        try:
            for item in items:
                for row in _read_marks(item):
                    self.claim(row, item.nodeid)
        except (FileFault, TypeError) as error:
            raise pytest.UsageError(f"forelock: {error}") from None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Keep the rows of a test once its outcome is known."""
        report = yield
        rows_of_test = item.stash.setdefault(NAMED, Named())
        if call.when == "setup":
            rows_of_test.passing += _read_marks(item)
        error = call.excinfo.value if call.excinfo is not None else None
        if call.when == "teardown" or isinstance(error, NO_OUTCOME):
            rows_of_test.clear()
        elif call.when == "call" and (error is None or isinstance(error, ASSERTIONS)):
            for row in rows_of_test.passing:
                self._keep(row | {"value": float(error is None)})
            rows_of_test.passing.clear()
        elif error is not None:
            # attributes of a report travel from a worker to the process that started it
            report.__dict__["forelock_errors"] = [
                row | {"value": None, "status": "error"} for row in rows_of_test.passing
            ]
            rows_of_test.passing.clear()
        if call.when == "call":
            for row in rows_of_test.measured:
                self._keep(row)
            rows_of_test.measured.clear()
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the errors that a report brings from where its test ran."""
        self._errors += getattr(report, "forelock_errors", ())

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Keep the errors of a session that was not stopped, and send."""
        if self._worker:
            self._session.close()
            return
        if int(exitstatus) in (0, 1) and not session.shouldstop and not session.shouldfail:
            for row in self._errors:
                self._keep(row)
        self._session.end()

    def _keep(self, row: Json) -> None:
        endpoint = row["endpoint"] or self._endpoint
        head = Head("results", self._target.query(endpoint=endpoint))
        kept = {name: value for name, value in row.items() if name != "endpoint"}
        self._session.append(endpoint, lambda: head, kept)


def _make_row(item_id: str, *, endpoint: str | None = None, replicate: int = 1) -> Json:
    if not isinstance(item_id, str) or not item_id or type(replicate) is not int or replicate < 1:
        raise TypeError("an item id is a text that is not empty, and a replicate a number from 1")
    return {"item_id": item_id, "replicate": replicate, "endpoint": endpoint}


def _read_marks(item: pytest.Item) -> list[Json]:
    return [_make_row(*mark.args, **mark.kwargs) for mark in item.iter_markers("forelock")]
