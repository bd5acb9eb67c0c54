"""Asking to look before the end: which look is due, and what a look has seen. Opens no row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from service.actions.results.results import enqueue
from service.domain.moment import Moment
from service.domain.plans.items.unit_order import ranks
from service.domain.plans.manifest import Manifest
from service.domain.plans.plan import GroupSequential
from service.domain.plans.preregistration import Preregistration
from service.domain.verdicts import stopping
from service.errors import Conflict
from service.store.jobs.jobs import Job
from service.store.ledger import ledger
from service.store.plans.populations import read_manifests
from service.store.results import coverage

Taken = dict[str, Any]
"""The body of a ledger entry about a look."""


def units_in(session: Session, record: Preregistration) -> stopping.Units:
    """Return how far every population is in along its order: follows from item ids alone."""
    manifests = read_manifests(session, record)
    return stopping.units_in(record.plan, manifests, _everywhere(session, record, manifests))


def read_taken(session: Session, record: Preregistration) -> list[Taken]:
    """Return the planned looks that were taken, in order."""
    return ledger.read_bodies(session, record.id, kind="look")


def due(session: Session, record: Preregistration, known: int | None = None) -> int | None:
    """Return the planned look after those taken, when its items are in; else None."""
    if record.state != "collecting" or not isinstance(record.plan.stopping, GroupSequential):
        return None
    before = len(read_taken(session, record)) if known is None else known
    return before + 1 if stopping.look_due(record.plan, units_in(session, record)) > before else None


def enqueue_due(
    session: Session, record: Preregistration, moment: Moment, known: int | None = None
) -> Job | None:
    """Queue the planned look whose items have come in, if one is due after the `known` ones."""
    look = due(session, record, known)
    return None if look is None else enqueue(session, record, "look", moment, f"#{look}")


def ask(session: Session, record: Preregistration, moment: Moment) -> Job:
    """Queue the planned look that is due; any other look is refused.

    Raises:
        Conflict: `no_looks`, `look_not_due`, or the record is not collecting.
    """
    record.require("locked", "collecting", action="a look")
    if not isinstance(record.plan.stopping, GroupSequential):
        raise Conflict(
            "the plan has no planned looks: its stopping rule is another one, and it is locked",
            code="no_looks",
        )
    job = enqueue_due(session, record, moment)
    if job is None:
        raise Conflict(
            "no planned look is due: a look needs every planned result of the first items of the locked order, "
            f"and none is taken twice; GET /v1/preregistrations/{record.id}/looks says how far they are",
            code="look_not_due",
        )
    return job


def monitor(session: Session, record: Preregistration, moment: Moment) -> Job:
    """Queue a reading of a plan that may be read at any time.

    Raises:
        Conflict: `not_readable` for another stopping rule, `look_not_due` before the first unit is in.
    """
    record.require("locked", "collecting", action="a reading")
    if record.plan.stopping is None or record.plan.stopping.kind != "anytime_valid":
        raise Conflict(
            "only a plan with the stopping rule 'anytime_valid' may be read before it is complete",
            code="not_readable",
        )
    if min(units_in(session, record).values(), default=0) < 1:
        raise Conflict(
            "nothing is in along the locked order yet: post the first items of every population in every arm",
            code="look_not_due",
        )
    return enqueue(session, record, "monitor", moment)


def require_unread(
    session: Session, record: Preregistration, population: str, positions: NDArray[np.int32]
) -> None:
    """Refuse to void rows that a look has seen: other rows in their place would be a second chance.

    Raises:
        Conflict: `already_looked_at`.
    """
    if not stopping.is_sequential(record.plan):
        return
    seen = [*read_taken(session, record), *ledger.read_bodies(session, record.id, kind="reading")]
    most = max((int(look["units"].get(population, 0)) for look in seen), default=0)
    locked = record.plan.population(population)
    manifest = read_manifests(session, record).get(population)
    if locked is None or manifest is None or int(ranks(locked, manifest)[positions].min()) >= most:
        return
    raise Conflict(
        "a look has seen rows of this batch, so they can no longer be replaced: file a deviation",
        code="already_looked_at",
    )


def _everywhere(
    session: Session, record: Preregistration, manifests: Mapping[str, Manifest]
) -> dict[str, NDArray[np.bool_]]:
    """Tell which items of each population are in for every arm, endpoint and replicate."""
    complete: dict[str, NDArray[np.bool_]] = {}
    for population in record.plan.populations or ():
        n = manifests[population.id].n
        inside = np.ones(n, dtype=np.bool_)
        for arm in record.plan.arms(population.id):
            for endpoint in record.plan.endpoints_of(population.id):
                for replicate in range(1, endpoint.replicates + 1):
                    cell = population.id, arm, endpoint.id, replicate
                    bits = coverage.read_bitmap(session, record.id, cell, n)
                    unpacked = np.unpackbits(np.frombuffer(bits, dtype=np.uint8), bitorder="little")
                    inside &= unpacked[:n].astype(np.bool_)
        complete[population.id] = inside
    return complete
