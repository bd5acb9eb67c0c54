"""Worker processes: results, errors, deaths."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool

import pytest

from service.jobs.executor import ProcessExecutor


@pytest.fixture
def executor() -> Iterator[ProcessExecutor]:
    executor = ProcessExecutor(workers=1, niceness=3)
    yield executor
    executor.close()


def test_work_runs_in_another_process_at_lower_priority(executor: ProcessExecutor) -> None:
    own = os.getpriority(os.PRIO_PROCESS, 0)
    pid = executor.submit(os.getpid).result()
    assert pid != os.getpid()
    assert executor.submit(os.getpriority, os.PRIO_PROCESS, 0).result() == min(own + 3, 19)


def test_an_error_of_the_work_reaches_the_caller(executor: ProcessExecutor) -> None:
    with pytest.raises(ZeroDivisionError):
        executor.submit(divmod, 1, 0).result()


def test_a_killed_worker_breaks_its_own_work_only(executor: ProcessExecutor) -> None:
    pid = executor.submit(os.getpid).result()
    doomed = executor.submit(os.kill, pid, signal.SIGKILL)
    with pytest.raises(BrokenProcessPool):
        doomed.result()
    assert executor.submit(divmod, 7, 2).result() == (3, 1)
