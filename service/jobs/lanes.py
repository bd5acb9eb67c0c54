"""Which jobs the free threads of a runner may take: no project holds all of them, and tests leave one to records."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection

from service.store.jobs.job_leases import Full
from service.store.jobs.jobs import OF_RECORDS, Job


class Lanes:
    """The threads of one runner, and the jobs that hold them.

    A job may hold its thread for as long as a computation may take. So tests leave one thread to what records wait
    for, a project leaves one to others, and its tests one more: whatever somebody has asked for, the verdict of
    another project begins, and so does one of its own. Where there are too few threads to share, one takes anything.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        # a project leaves one thread to others, and its tests leave one more to its records
        self._most, self._most_tests = max(1, threads - 1), max(1, threads - 2)
        self._jobs: Counter[str] = Counter()
        self._tests: Counter[str] = Counter()
        self._lock = threading.Lock()

    def enter(self, job: Job) -> None:
        """Note that a job holds a thread from now on."""
        self._count(job, 1)

    def leave(self, job: Job) -> None:
        """Note that a job's thread is free again."""
        self._count(job, -1)

    def open_kinds(self, kinds: Collection[str]) -> tuple[str, ...]:
        """Return those of the kinds that a thread is free for."""
        with self._lock:
            if self._jobs.total() >= self.threads:
                return ()
            tests_too = self._tests.total() < self._most
        return tuple(kind for kind in kinds if tests_too or kind in OF_RECORDS)

    def full(self) -> Full:
        """Return the projects that hold as many threads as one may."""
        with self._lock:
            return Full(_select_full(self._jobs, self._most), _select_full(self._tests, self._most_tests))

    def _count(self, job: Job, more: int) -> None:
        with self._lock:
            for held in (self._jobs,) if job.kind in OF_RECORDS else (self._jobs, self._tests):
                held[job.project_id] += more
                # A runner meets any number of projects in its life; only those that hold a thread are remembered.
                if not held[job.project_id]:
                    del held[job.project_id]


def _select_full(held: Counter[str], most: int) -> frozenset[str]:
    """Select the projects that hold `most` threads or more."""
    return frozenset(project for project, number in held.items() if number >= most)
