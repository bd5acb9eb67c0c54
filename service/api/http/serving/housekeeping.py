"""What an API process does beside requests: threads for routes, last uses of keys, old answers, memory."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from functools import partial

from anyio import to_thread

from service.actions.ledger.signer import CheckpointRefused
from service.actions.results import artefacts
from service.api.http.shared import Services
from service.keyring.signer_state import SignerStateError
from service.processes.memory import give_back
from service.stats.shared.declaring import registry
from service.store.database import clock, idempotency
from service.store.projects import ended_sessions
from service.telemetry.logs import ERRORS, location

EVERY_SECONDS = 60.0
"""How often last uses of keys are written, old answers dropped and memory given back."""
SIGN_SECONDS = 10.0
"""How long a batch waits for a checkpoint at most; locks and verdicts do not wait for this."""
OLD_FILES_SECONDS = 3600.0
"""How often kept files whose time is over are looked for."""
READS_SECONDS = 1.0
"""How often reads that were noted go into the audit log."""
KEEP_ANSWERS = timedelta(days=7)
"""How long the answer to an `Idempotency-Key` is kept."""


@contextlib.asynccontextmanager
async def run_beside(services: Services) -> AsyncIterator[None]:
    """Size the thread pool, keep house while the application runs, and once more at its end."""
    to_thread.current_default_thread_limiter().total_tokens = services.settings.pool_size
    services.calculators.open()
    services.importers.open()
    tasks = [
        asyncio.create_task(keep(services))
        for keep in (_keep_house, _keep_signing, _write_reads, _forget_files)
    ]
    warm = asyncio.create_task(to_thread.run_sync(_load, services))
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await warm
        services.calculators.close()
        services.importers.close()
        await _quietly(services.posting.close)
        await _quietly(services.keys.write_last_use)
        await _quietly(lambda: services.reads.write(everything=True))


def _load(services: Services) -> None:
    """Load what the first requests need, in a thread: on the event loop it would hold up everybody."""
    services.calculators.warm()
    registry.warm_up()


async def _keep_house(services: Services) -> None:
    while True:
        await asyncio.sleep(EVERY_SECONDS)
        await _quietly(services.keys.write_last_use)
        await _quietly(lambda: forget_old_answers(services))
        await _quietly(give_back)


async def _keep_signing(services: Services) -> None:
    while True:
        await asyncio.sleep(SIGN_SECONDS)
        await _quietly(lambda: sign(services))


def sign(services: Services) -> None:
    """Sign a checkpoint of everything that was committed since the last. A refusal is logged by the signer itself."""
    with contextlib.suppress(CheckpointRefused, SignerStateError):
        services.signer.checkpoint()


async def _write_reads(services: Services) -> None:
    while True:
        await asyncio.sleep(READS_SECONDS)
        if services.reads.is_due():
            await _quietly(services.reads.write)


async def _forget_files(services: Services) -> None:
    keeping = services.keeping
    while keeping is not None and keeping.days is not None:
        await asyncio.sleep(OLD_FILES_SECONDS)
        await _quietly(partial(artefacts.forget_old, services.database, keeping))


def forget_old_answers(services: Services) -> None:
    """Delete stored answers and ended sessions that nobody will ask for again."""
    with services.database.write() as session:
        now = clock.read_now(session)
        idempotency.sweep(session, now - KEEP_ANSWERS)
        ended_sessions.sweep(session, now)


async def _quietly(work: Callable[[], object]) -> None:
    """Do work in a thread, and log an error in place of raising it: the other chores go on."""
    try:
        await to_thread.run_sync(work)
    except Exception as error:  # noqa: BLE001  # tried again in a minute
        ERRORS.error("housekeeping failed", extra={"fields": location(error)})
