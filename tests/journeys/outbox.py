"""The outbox of a service under test: a sender without waits, and a record on its way to a verdict."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from service.jobs.delivering import Delivering
from service.publish.addresses import read_allowed
from service.publish.http import Outgoing
from service.store.database.engine import Database

from .conftest import Service
from .plans import items, locked, post, small_plan

N = 10
AT_ONCE = timedelta(0)


def sender(service: Service, database: Database | None = None, **given: Any) -> Delivering:
    """Sends to loopback; what fails is due again at once, unless `given` says otherwise."""
    return Delivering(
        database or service.database,
        lambda: Outgoing(allowed=read_allowed("127.0.0.1")),
        seal_private=service.keyring.opener(),
        **{"waits": (AT_ONCE,), "public_url": "https://evals.example.org"} | given,
    )


def drain(sending: Delivering) -> int:
    """Send until nothing is due; returns how many attempts were made."""
    return next(count for count in range(1000) if not sending.step())


def lock(service: Service, **plan: Any) -> str:
    """A locked record, whose lock is signed."""
    return locked(service.client, small_plan(N, **plan))


def judge(service: Service, prereg_id: str, better: int = N) -> None:
    """A verdict, in which the candidate is right on so many items and the baseline on none; it is signed."""
    post(service.client, prereg_id, "A", items(N), [0] * N)
    post(service.client, prereg_id, "B", items(N), [int(i < better) for i in range(N)])
    service.run_jobs()
    assert service.client.get(f"/v1/preregistrations/{prereg_id}/verdict").status_code == 200
