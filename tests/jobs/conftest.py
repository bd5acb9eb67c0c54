"""A statistical test that draws, made for these tests, and a runner on each kind of database."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import Field
from sqlalchemy.orm import Session

from service.actions.verdicts import jobs as actions
from service.config import Settings
from service.domain.moment import Moment
from service.jobs.pool import Pool
from service.jobs.runner import Runner
from service.keyring.keyring import Keyring
from service.processes.wake import Alarm
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.common import Analysis, Request
from service.stats.shared.declaring.registry import Blocks, Drawn, StatTest
from service.store.database.engine import Database
from service.store.jobs import job_leases, jobs
from service.store.jobs.jobs import Job
from tests.api.conftest import add_project
from tests.pools import InlinePool


class DiceRequest(Request):
    """How many blocks of throws, and how many more when the first throw of all is a six."""

    blocks: int = Field(4, ge=1)
    more: int = 0
    seed: int = 1
    seconds: float = 4.0
    fail_at: int = -1


class DiceAnalysis(Analysis):
    """What was thrown."""

    throws: list[int]


def _count(request: DiceRequest, drawn: Drawn | None) -> int:
    return request.blocks if drawn is None else request.blocks + request.more


def _draw(request: DiceRequest, which: range) -> Drawn:
    if request.fail_at in which:
        raise ZeroDivisionError("3 sixes")
    rows = [np.random.default_rng([request.seed, block]).integers(1, 7, 3) for block in which]
    return {"throws": np.concatenate(rows)}


def _finish(request: DiceRequest, drawn: Drawn) -> DiceAnalysis:
    return DiceAnalysis(sentence="Thrown.", warnings=(), throws=drawn["throws"].tolist())


def _compute(request: DiceRequest) -> DiceAnalysis:
    return _finish(request, _draw(request, range(request.blocks + request.more)))


DICE: StatTest[DiceRequest, DiceAnalysis] = StatTest(
    asked="design",
    name="dice",
    version=1,
    title="Dice",
    request=DiceRequest,
    analysis=DiceAnalysis,
    compute=_compute,
    example={},
    cost=lambda request: request.seconds,
    plan=None,
    blocks=Blocks(_count, _draw, _finish),
)


@pytest.fixture
def dice(monkeypatch: pytest.MonkeyPatch) -> StatTest[DiceRequest, DiceAnalysis]:
    """The test, registered."""
    registry.latest()
    monkeypatch.setitem(registry._TESTS, ("dice", 1), DICE)
    return DICE


class Impatient(job_leases.Watch):
    """Looks twice, a thousandth of a second apart by its own clock: a lease that short is over then."""

    def __init__(self) -> None:
        ticks = itertools.count()
        super().__init__(lambda: next(ticks) / 1000)

    def find_abandoned(self, session: Session) -> frozenset[job_leases.Lease]:
        super().find_abandoned(session)
        return super().find_abandoned(session)


@dataclass
class World:
    """A database with two projects, and runners on it."""

    database: Database
    settings: Settings
    keyring: Keyring
    projects: dict[str, str]
    runners: list[Runner] = field(default_factory=list)
    numbered: int = 0

    def runner(self, pool: Pool | None = None, **changes: Any) -> Runner:
        runner = Runner(
            database=self.database,
            keyring=self.keyring,
            pool=pool or InlinePool(),
            alarm=Alarm(self.settings.data_dir / f"r{len(self.runners)}.sock"),
            settings=self.settings.model_copy(update=changes),
            watch=Impatient(),
        )
        self.runners.append(runner)
        return runner

    def enqueue(self, project: str = "one", **request: Any) -> Job:
        self.numbered += 1
        with self.database.write() as session:
            asked = DiceRequest(**({"seed": self.numbered} | request))
            return actions.enqueue_once(
                session,
                actions.Computation(
                    kind=DICE.name,
                    version=DICE.version,
                    body=asked.dump_sent(),
                    work=lambda: (DICE.block_count(asked), DICE.cost(asked)),
                ),
                Moment(datetime(2027, 1, 4, tzinfo=UTC) + timedelta(seconds=self.numbered)),
                project_id=self.projects[project],
                keyring=self.keyring,
                quota=actions.Quota(10_000, 2**30),
            )

    def read(self, job: Job) -> Job:
        with self.database.read() as session:
            return jobs.get(session, job.project_id, job.id)

    def change(self, act: Callable[[Any], Any]) -> Any:
        with self.database.write() as session:
            return act(session)


@pytest.fixture
def world(database: Database, tmp_path: Path, dice: object) -> Iterator[World]:
    projects = {name: add_project(database, name) for name in ("one", "two")}
    built = World(database, Settings(data_dir=tmp_path), Keyring.create(tmp_path / "keys"), projects)
    yield built
    for runner in built.runners:
        runner.close()
