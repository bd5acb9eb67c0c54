"""Two API replicas and two runners on one database: each job is done once."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from service.app import create_app
from service.config import Settings
from service.jobs import tasks
from service.jobs.runner import Runner
from service.keyring.keyring import Keyring
from service.processes.wake import Alarm
from service.store.database import schema
from service.store.database.engine import Database
from tests.api.conftest import add_key, add_project, bearer
from tests.pools import ThreadPool
from tests.postgres import Postgres

REPLICAS = 2


@pytest.mark.timeout(280)
@pytest.mark.parametrize("jobs", [150, pytest.param(1000, marks=pytest.mark.slow)])
def test_two_replicas_and_two_runners_do_every_job_once(
    postgres: Postgres, tmp_path: Path, jobs: int
) -> None:
    name = postgres.create()
    url = postgres.url(name)
    database = Database(url)
    schema.upgrade(database.engine)
    keyring = Keyring.create(tmp_path / "keys")
    secret = add_key(database, add_project(database, "default"))[1]
    settings = [Settings(data_dir=tmp_path / str(number)) for number in range(REPLICAS)]
    for each in settings:
        each.data_dir.mkdir()
    pools = [ThreadPool(2) for _ in settings]
    runners = [
        Runner(
            database=Database(url, pool_size=8),
            keyring=keyring,
            pool=pool,
            alarm=Alarm(each.runner_socket),
            settings=each,
        )
        for each, pool in zip(settings, pools, strict=True)
    ]
    threads = [threading.Thread(target=runner.run) for runner in runners]
    for thread in threads:
        thread.start()
    ids: list[list[str]] = [[] for _ in settings]

    def send(replica: int, client: TestClient) -> None:
        for number in range(replica, jobs, REPLICAS):
            body = {"both_correct": number, "only_baseline": 1, "only_candidate": 7, "both_wrong": 4}
            answer = client.post("/v1/tests/mcnemar", json=body, headers={"Prefer": "respond-async"})
            assert answer.status_code == 202, answer.text
            ids[replica].append(answer.json()["id"])

    databases = [Database(url) for _ in settings]
    with contextlib.ExitStack() as served:
        clients = [
            served.enter_context(TestClient(create_app(each, own, keyring), headers=bearer(secret)))
            for each, own in zip(settings, databases, strict=True)
        ]
        senders = [threading.Thread(target=send, args=pair) for pair in enumerate(clients)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        for replica, sent in enumerate(ids):  # each is read at the other replica
            for job_id in sent:
                while True:
                    job = clients[1 - replica].get(f"/v1/jobs/{job_id}").json()
                    if job["state"] not in ("queued", "running"):
                        break
                assert job["state"] == "succeeded"
    for runner in runners:
        runner.stop()
    for thread in threads:
        thread.join(60)
    done = Counter(call[3] for pool in pools for call in pool.calls if call[0] is tasks.compute_whole)
    assert len(done) == jobs
    assert set(done.values()) == {1}
    assert min(len(pool.calls) for pool in pools) > 0
    for each in [database, *databases]:
        each.dispose()
    postgres.drop(name)
