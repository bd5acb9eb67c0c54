"""Trackers: where a project's verdicts are pushed, and which runs carry a record's."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from service.actions.delivery.announcements import announce_run
from service.actions.delivery.webhooks import require_address
from service.domain.access import Key
from service.domain.outgoing import MOST_RUNS, Auth, TrackedRun, Tracker, seal_info
from service.domain.plans.preregistration import ONCE_LOCKED, Preregistration
from service.domain.results import sealing
from service.errors import Conflict, InvalidData, NotFound
from service.publish.addresses import Allowed
from service.store.delivery import trackers
from service.store.ledger import ledger
from service.store.projects import audit

MLFLOW = trackers.MLFLOW


def put(
    session: Session,
    caller: Key,
    *,
    url: str,
    username: str | None,
    password: str | None,
    token: str | None,
    allowed: Sequence[Allowed],
    seal_public: bytes,
    now: datetime,
) -> Tracker:
    """Set the project's MLflow server; credentials go with the address that they were given for.

    Raises:
        InvalidData: the address may not be called, or the credentials are half of two kinds.
    """
    require_address("url", url, allowed)
    if "?" in url:
        raise InvalidData.field("url", "has a query", "give the address of the tracking server alone")
    auth, header = _format_authorization(username, password, token)
    info = seal_info("tracker", caller.project_id, MLFLOW)
    sealed = None if header is None else sealing.seal(header.encode(), seal_public, info)
    tracker = Tracker(kind="mlflow", url=url, auth=auth, put_at=now)
    trackers.put(session, caller.project_id, tracker, sealed)
    audit.record_act(session, caller, "tracker.put", MLFLOW, {"auth": auth}, now=now)
    return tracker


def _format_authorization(
    username: str | None, password: str | None, token: str | None
) -> tuple[Auth, str | None]:
    """Format the Authorization header of a tracking server's credentials, and name their kind."""
    if token is not None and (username, password) != (None, None):
        raise InvalidData.field("token", "comes with a user", "send a token, or username and password")
    if (username is None) != (password is None):
        lacking = "password" if password is None else "username"
        raise InvalidData.field(lacking, "is missing", "send username and password together")
    if token is not None:
        return "bearer", f"Bearer {token}"
    if username is None or password is None:
        return "none", None
    if ":" in username:
        raise InvalidData.field("username", "holds a colon", "HTTP Basic has no user of that name")
    return "basic", "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


def find(session: Session, project_id: str) -> Tracker:
    """Look up the project's MLflow server.

    Raises:
        NotFound: the project has none.
    """
    tracker = trackers.find(session, project_id, MLFLOW)
    if tracker is None:
        raise NotFound("this project has no MLflow server")
    return tracker


def delete(session: Session, caller: Key, *, now: datetime) -> None:
    """Forget the project's MLflow server and its credentials.

    Raises:
        NotFound: the project has none.
    """
    if not trackers.delete(session, caller.project_id, MLFLOW):
        raise NotFound("this project has no MLflow server")
    audit.record_act(session, caller, "tracker.delete", MLFLOW, {}, now=now)


def link(session: Session, caller: Key, record: Preregistration, run: str, *, now: datetime) -> TrackedRun:
    """Have a run carry what is on record, now and later. To link it again changes nothing.

    The caller holds a lock on the record.

    Raises:
        Conflict: the record is a draft; `tracker_missing`; `too_many_runs`.
    """
    record.require(*ONCE_LOCKED, action="linking a run")
    if trackers.find(session, record.project_id, MLFLOW) is None:
        raise Conflict(
            "this project has no MLflow server: say where it is with PUT /v1/trackers/mlflow",
            code="tracker_missing",
        )
    linked = {tracked.run: tracked for tracked in trackers.read_runs(session, record.id)}
    if run in linked:
        return linked[run]
    if len(linked) >= MOST_RUNS:
        raise Conflict(f"preregistration {record.id} has {MOST_RUNS} runs", code="too_many_runs")
    trackers.link(session, record.id, run, now)
    audit.record_act(session, caller, "run.link", record.id, {"run": run}, now=now)
    newest = ledger.read_entries(session, record.id, "plan_locked", "plan_amended", "verdict")[-1]
    announce_run(session, record, run, sequence=newest.receipt.sequence, now=now)
    return TrackedRun(run=run, linked_at=now)


def unlink(session: Session, caller: Key, record: Preregistration, run: str, *, now: datetime) -> None:
    """Send nothing more to a run. What was sent to it stays there.

    Raises:
        NotFound: the record is not linked to that run.
    """
    if not trackers.unlink(session, record.id, run):
        raise NotFound("this preregistration has no such run")
    audit.record_act(session, caller, "run.unlink", record.id, {"run": run}, now=now)
