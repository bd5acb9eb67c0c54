"""A project's trackers, and the runs in them that carry a record's lock and verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.domain.outgoing import Auth, TrackedRun, Tracker
from service.store.database import scope
from service.store.database.tables import tracked_runs, trackers

MLFLOW = "mlflow"
"""The only kind of tracker that there is."""
_SHOWN = sa.select(*(trackers.c[name] for name in Tracker.model_fields))


@dataclass(frozen=True, slots=True)
class Access:
    """Where a tracker is, and its credentials."""

    url: str
    auth: Auth
    secret: bytes | None = field(repr=False)
    """The header `Authorization`, sealed to the runner's key; None where the tracker asks for none."""


def put(session: Session, project_id: str, tracker: Tracker, sealed: bytes | None) -> None:
    """Set the project's tracker of that kind, in place of the one before."""
    # Address and credentials go together: credentials are never sent to an address they were not given for.
    delete(session, project_id, tracker.kind)
    session.execute(
        sa.insert(trackers).values(tracker.model_dump() | {"project_id": project_id, "secret": sealed})
    )


def find(session: Session, project_id: str, kind: str) -> Tracker | None:
    """Find the project's tracker of a kind; None when it has none."""
    statement = scope.select_of_project(_SHOWN.where(trackers.c.kind == kind), trackers, project_id)
    row = session.execute(statement).mappings().one_or_none()
    return None if row is None else Tracker.model_validate(dict(row))


def delete(session: Session, project_id: str, kind: str) -> bool:
    """Delete the project's tracker of a kind with its credentials; False when it had none."""
    statement = scope.select_of_project(
        sa.delete(trackers).where(trackers.c.kind == kind), trackers, project_id
    )
    return session.execute(statement.returning(trackers.c.kind)).first() is not None


def read_access(session: Session, project_id: str, kind: str) -> Access | None:
    """Read address and sealed credentials of a tracker, for the runner, which alone can open them."""
    statement = sa.select(trackers.c.url, trackers.c.auth, trackers.c.secret).where(trackers.c.kind == kind)
    row = session.execute(scope.select_of_project(statement, trackers, project_id)).mappings().one_or_none()
    return None if row is None else Access(**row)


def read_runs(session: Session, preregistration_id: str) -> list[TrackedRun]:
    """Read the runs that a record is linked to, in the order in which they were linked."""
    statement = sa.select(tracked_runs.c.run, tracked_runs.c.linked_at).where(
        _match_record(preregistration_id)
    )
    rows = session.execute(statement.order_by(tracked_runs.c.linked_at, tracked_runs.c.run)).mappings()
    return [TrackedRun.model_validate(dict(row)) for row in rows]


def read_run_ids(session: Session, preregistration_id: str) -> Sequence[str]:
    """Read the ids of the tracker's runs that a record is linked to."""
    return session.scalars(_RUN_IDS, {"of_id": preregistration_id}).all()


def link(session: Session, preregistration_id: str, run: str, now: datetime) -> None:
    """Link a run of the tracker to a record; its lock and verdict are pushed there from now on."""
    session.execute(
        sa.insert(tracked_runs).values(
            preregistration_id=preregistration_id, tracker=MLFLOW, run=run, linked_at=now
        )
    )


def unlink(session: Session, preregistration_id: str, run: str) -> bool:
    """Unlink a run from a record; False when it was not linked."""
    statement = sa.delete(tracked_runs).where(_match_record(preregistration_id), tracked_runs.c.run == run)
    return session.execute(statement.returning(tracked_runs.c.run)).first() is not None


def _match_record(preregistration_id: str | sa.BindParameter[str]) -> sa.ColumnElement[bool]:
    return sa.and_(tracked_runs.c.preregistration_id == preregistration_id, tracked_runs.c.tracker == MLFLOW)


_RUN_IDS = sa.select(tracked_runs.c.run).where(_match_record(sa.bindparam("of_id", type_=sa.Text)))
"""Made once: every lock and every verdict executes it."""
