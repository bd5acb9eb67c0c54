"""Looks: what a sequential stopping rule permits to be known before the end, and nothing else."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import Path, Query, Response
from pydantic import Field

from service.actions.results import look_requests as actions
from service.api.examples import looks as examples
from service.api.http.answers.answers import Page, View, answer, shows
from service.api.http.requests.deps import Cursor, Locker, Reader, ReadSession, RecordId, Shared
from service.api.http.requests.idempotency import OptionalOnce
from service.api.http.serving.route import audits, make_router, refuses
from service.api.routes.calculations.jobs import JobView, queue_job
from service.domain.plans.items.unit_order import in_order
from service.domain.plans.preregistration import State
from service.domain.verdicts import stopping
from service.domain.verdicts.sequential_reading import SequentialReading
from service.errors import Conflict, InvalidData, NotFound
from service.store.jobs import jobs
from service.store.plans import preregistrations
from service.store.plans.populations import read_manifests

routes = make_router("looks")


class LookTaken(View):
    """A planned look that was taken."""

    look: int = Field(description="From 1.")
    decision: Literal["continue", "stop"]
    units: dict[str, int] = Field(description="By population: items, or clusters, that it saw.")


class Looks(View):
    """Planned looks, those taken, and how far the locked order is in."""

    state: State
    planned: dict[str, list[int]] = Field(description="By population: items, or clusters, at each look.")
    units: dict[str, int] = Field(
        description="By population: items, or clusters, in for every arm and endpoint without a gap in the order."
    )
    taken: list[LookTaken]
    due: int | None = Field(description="The look that can be taken now.")


class ReadingView(View):
    """The latest reading of a plan that may be read at any time."""

    preregistration_id: str
    read_at: datetime
    reading: SequentialReading


class OrderedItem(View):
    """An item in the locked order."""

    place: int = Field(description="From 0.")
    item_id: str
    cluster: str | None


@routes.get(
    "/preregistrations/{prereg_id}/looks",
    response_model=Looks,
    responses=shows(examples.LOOKS) | refuses(409),
)
@audits("looks.read")
def get_looks(caller: Reader, session: ReadSession, prereg_id: RecordId) -> Response:
    """Read which looks are planned, which were taken, and how far the locked order is in.

    Only a look's answer, continue or stop, follows from outcomes.
    """
    record = preregistrations.get(session, caller.project_id, prereg_id)
    if record.state == "draft" or not stopping.is_sequential(record.plan):
        raise Conflict(
            "only a locked plan with a sequential stopping rule has looks before its end", code="no_looks"
        )
    measured = [population for population in record.plan.populations or () if record.plan.arms(population.id)]
    return answer(
        Looks(
            state=record.state,
            planned={one.id: list(stopping.looks_of(record.plan, one)) for one in measured},
            units=actions.units_in(session, record),
            taken=[
                LookTaken(look=look["look"], decision=look["decision"], units=look["units"])
                for look in actions.read_taken(session, record)
            ],
            due=actions.due(session, record),
        )
    )


@routes.post(
    "/preregistrations/{prereg_id}/looks",
    status_code=202,
    response_model=JobView,
    responses=shows(examples.LOOK_JOB, 202) | refuses(409),
)
def take_look(caller: Locker, once: OptionalOnce, shared: Shared, prereg_id: RecordId) -> Response:
    """Take the planned look that is due. Any other look is refused.

    The batch that brings in a look's last item starts it by itself; this asks again after a job failed. A look
    that says stop completes the record, and its verdict rests on the items up to that look.
    """
    return queue_job(shared, once, caller, prereg_id, actions.ask, "look.ask")


@routes.get(
    "/preregistrations/{prereg_id}/monitor",
    response_model=ReadingView,
    responses=shows(examples.READING) | refuses(409),
)
@audits("reading.read")
def get_reading(caller: Reader, session: ReadSession, prereg_id: RecordId) -> Response:
    """Read the latest e-process and confidence sequence of a plan that may be read at any time."""
    record = preregistrations.get(session, caller.project_id, prereg_id)
    job = jobs.find_latest(session, caller.project_id, kind="monitor", subject=record.id, result="reading")
    if job is None or job.finished_at is None or job.result is None:
        raise Conflict(
            f"there is no reading yet: POST /v1/preregistrations/{record.id}/monitor takes one",
            code="not_readable",
        )
    reading = SequentialReading.model_validate(job.result["reading"])
    return answer(ReadingView(preregistration_id=record.id, read_at=job.finished_at, reading=reading))


@routes.post(
    "/preregistrations/{prereg_id}/monitor",
    status_code=202,
    response_model=JobView,
    responses=shows(examples.MONITOR_JOB, 202) | refuses(409),
)
def take_reading(caller: Locker, once: OptionalOnce, shared: Shared, prereg_id: RecordId) -> Response:
    """Read a plan with the stopping rule `anytime_valid`, as often as wanted.

    It sees the items that are in without a gap along the locked order. When every primary hypothesis is decided the
    record is complete.
    """
    return queue_job(shared, once, caller, prereg_id, actions.monitor, "reading.ask")


@routes.get(
    "/preregistrations/{prereg_id}/populations/{population}/order",
    response_model=Page[OrderedItem],
    responses=shows(examples.ORDER) | refuses(409),
)
def list_order(
    caller: Reader,
    session: ReadSession,
    prereg_id: RecordId,
    population: Annotated[str, Path(max_length=64, description="Id of the population.")],
    limit: Annotated[int, Query(ge=1, le=10_000, description="Items per page, 1 to 10,000.")] = 1000,
    cursor: Cursor = None,
) -> Response:
    """List a population's items in the order its seed locks: the order in which to run them."""
    record = preregistrations.get(session, caller.project_id, prereg_id)
    locked = record.plan.population(population)
    manifest = read_manifests(session, record).get(population)
    if locked is None or manifest is None:
        raise NotFound(f"population '{population}' of this preregistration has no items")
    if locked.order_seed is None:
        raise Conflict(f"population '{population}' has no order_seed, so no order is locked", code="no_looks")
    start = _parse_start(cursor)
    places = in_order(locked, manifest)[start : start + limit].tolist()
    items = [
        OrderedItem(
            place=start + at,
            item_id=manifest.item_ids[position],
            cluster=None if manifest.clusters is None else manifest.clusters[position],
        )
        for at, position in enumerate(places)
    ]
    following = start + limit
    return answer(
        Page[OrderedItem](items=items, next_cursor=str(following) if following < manifest.n else None)
    )


def _parse_start(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= 9):
        raise InvalidData.field("query.cursor", "is none of ours", "send `next_cursor` of the previous page")
    return int(cursor)
