"""Is the process alive, and can it work? No key is needed."""

from __future__ import annotations

from typing import Literal

from fastapi import Request
from pydantic import Field

from service.api.http.answers.answers import shows
from service.api.http.serving.route import make_router, refuses
from service.api.http.shared import get_services
from service.errors import Fault, ForelockError, Unavailable
from service.records import Record
from service.store.database import clock, guards, integrity, schema
from service.store.jobs import jobs
from service.telemetry.logs import location

routes = make_router("service", prefix="")


class Health(Record):
    """The process answers."""

    status: Literal["ok"] = "ok"


class Readiness(Health):
    """The service can work."""

    jobs: Literal["ok", "wait for the worker pool", "wait for a runner"] = Field(
        "ok",
        description="Without a pool jobs wait, and everything else goes on; the runner's log says why. Without a "
        "runner, or with one that has fallen silent, they have waited for a minute while nobody works on any.",
    )


@routes.get("/health/live", responses=shows({"status": "ok"}))
async def get_liveness() -> Health:
    """Say that the process is alive."""
    return Health()


@routes.get("/health/ready", responses=shows({"status": "ok", "jobs": "ok"}) | refuses(503))
def get_readiness(request: Request) -> Readiness:
    """Say whether the service can work.

    200 when the database answers and has room, its schema is this version's, every guard is as the migrations made it,
    no stored record was found altered, and the ledger goes on from what was signed of it.
    """
    shared = get_services(request)
    database = shared.database
    if database.is_full:
        raise Unavailable("the last write found the disk full", code="not_ready")
    if database.is_read_only:
        raise Unavailable("the last write found the database read-only", code="not_ready")
    try:
        schema.require_current(database.engine)
        changed = guards.find_faults(database.engine)
        with database.read() as session:
            altered = len(integrity.read_standing(session))
            waiting = jobs.has_job_without_pool(session)
            silent = jobs.has_job_without_runner(session, clock.read_now(session))
        refused = shared.signer.explain_refusal()
    except ForelockError as error:
        raise Unavailable(error.detail, code="not_ready") from error
    except Exception as error:
        request.state.told = location(error)
        raise Unavailable("the database cannot be reached", code="not_ready") from error
    if changed:
        fix = "restore a backup, or make it again as in migrations/sql"
        faults = [Fault("", change, fix) for change in changed]
        raise Unavailable("the guards of locked records are not as they were made", faults, code="not_ready")
    if altered:
        fix = "restore a backup; `forelock alterations` lists them, and forgets them when you have looked"
        fault = Fault("", f"{altered} found to be stored otherwise than locked, judged or answered", fix)
        raise Unavailable("stored records were altered", [fault], code="not_ready")
    if refused is not None:
        raise Unavailable(refused, code="ledger_refused")
    if silent and not waiting:
        return Readiness(jobs="wait for a runner")
    return Readiness(jobs="wait for the worker pool" if waiting else "ok")
