"""What the routes of one application share, in one place."""

from __future__ import annotations

import os
from asyncio import Semaphore
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from anyio import CapacityLimiter
from fastapi import Request

from service.actions.ledger.signer import Signer
from service.actions.results.artefacts import Keeping
from service.actions.results.group_commit import Posting
from service.actions.results.results import LockedPlans
from service.actions.verdicts.jobs import Quota
from service.api.calculators.pool import Calculators
from service.api.http.authentication import KeyCache
from service.api.http.limits.byte_budget import ByteBudget
from service.api.http.limits.concurrency import MOST_STREAMS, MOST_WAITS, ConcurrencyLimit
from service.api.http.limits.public import PublicAnswers
from service.api.http.metrics import Metrics
from service.api.http.reads import Reads
from service.api.http.streams.following import Following
from service.api.http.streams.watch import Watch
from service.config import Settings

if TYPE_CHECKING:
    from service.keyring.keyring import Keyring
    from service.operation.sign_in import SignIn
    from service.store.database.engine import Database

MOST_POSTS_AT_ONCE = 256
"""Small batches that one API process has in memory side by side."""
MOST_SLOW = 2
"""Threads of one API process for what a page works out in seconds."""
IMPORT_NICENESS = 5
"""What is added to the niceness of calculators that read result files: they leave the processor to all others."""
UPLOADED_FILES = 4
"""So many files of the largest size one API process has on the disk at a time; one project half as many."""


def count_importers() -> int:
    """Count the result files that one API process reads side by side: one for every processor, two at least."""
    return max(2, os.cpu_count() or 1)


@dataclass(frozen=True, slots=True)
class Services:
    """Settings, database, keys, counters and queues of one application."""

    settings: Settings
    database: Database
    keyring: Keyring
    keys: KeyCache
    metrics: Metrics
    watch: Watch
    following: Following
    posting: Posting
    signer: Signer
    reads: Reads
    keeping: Keeping | None = None
    """Where files of imports are kept, if they are."""
    sign_in: SignIn | None = None
    """A provider by which people sign in to the pages, if there is one."""
    plans: LockedPlans = field(default_factory=LockedPlans)
    posts: Semaphore = field(default_factory=lambda: Semaphore(MOST_POSTS_AT_ONCE))
    """Held by small batches that are in memory; others wait as the bytes that they came as."""
    slow: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(MOST_SLOW))
    """Threads for what a page works out in seconds, such as power: those of the database stay free meanwhile."""
    calculators: Calculators = field(default_factory=Calculators)
    importers: Calculators = field(
        default_factory=lambda: Calculators(count_importers(), niceness=IMPORT_NICENESS)
    )
    """Calculators that read result files: these may take minutes, and nobody else waits for them."""
    body_budget: ByteBudget = field(default_factory=ByteBudget)
    upload_budget: ByteBudget = field(default_factory=ByteBudget)
    """Room on the disk for files that are received or read."""
    streams: ConcurrencyLimit = field(default_factory=lambda: ConcurrencyLimit(MOST_STREAMS))
    waits: ConcurrencyLimit = field(default_factory=lambda: ConcurrencyLimit(MOST_WAITS))
    public: PublicAnswers = field(default_factory=PublicAnswers)
    strangers: PublicAnswers = field(default_factory=PublicAnswers)
    """Turns of those who read a shared record without a key. Nothing is remembered for them: links end at once."""

    @property
    def quota(self) -> Quota:
        """How many jobs of one project may wait at once, and of how many bytes."""
        return Quota(self.settings.project_jobs, self.settings.project_job_bytes)


def get_services(request: Request) -> Services:
    """Return the services of the application that got this request."""
    return cast(Services, request.app.state.services)
