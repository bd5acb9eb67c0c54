"""Is the process alive, and can it work? No key is needed."""

from __future__ import annotations

from typing import Literal

from fastapi import Request
from pydantic import BaseModel, ConfigDict

from service.api.answers import shows
from service.api.logs import location
from service.api.route import refuses, router
from service.api.services import services
from service.errors import Fault, ForelockError, Unavailable
from service.store import schema

routes = router("service", prefix="")


class Health(BaseModel):
    """The process answers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    status: Literal["ok"] = "ok"


@routes.get("/health/live", responses=shows({"status": "ok"}))
async def get_liveness() -> Health:
    """Say that the process is alive."""
    return Health()


@routes.get(
    "/health/ready",
    responses=shows({"status": "ok"}) | refuses(503),
)
def get_readiness(request: Request) -> Health:
    """Say whether the service can work.

    200 when the database answers and has room, its schema is this version's, and every guarding trigger stands.
    """
    database = services(request).database
    if database.is_full:
        raise Unavailable("the last write found the disk full", code="not_ready")
    engine = database.engine
    try:
        schema.require_current(engine)
        missing = schema.missing_triggers(engine)
    except ForelockError as error:
        raise Unavailable(error.detail, code="not_ready") from error
    except Exception as error:
        request.state.told = location(error)
        raise Unavailable("the database cannot be reached", code="not_ready") from error
    if missing:
        faults = [
            Fault(
                "",
                f"the trigger {name} is missing",
                "restore a backup, or create it again from migrations/sql",
            )
            for name in missing
        ]
        raise Unavailable("triggers that protect locked records are missing", faults, code="not_ready")
    return Health()
