"""Makes a bundle for this directory: `python -m tests.journeys.frozen.make tests/journeys/frozen/NAME`.

Writes NAME.zip, and NAME.checkpoint as it was kept after the lock. What is here stays; a version that changes what a
bundle holds adds one of its own.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from service.app import create_app
from service.config import Settings
from service.domain.access import SCOPES
from service.jobs.runner import Runner
from service.keyring.keyring import Keyring
from service.processes.wake import Alarm
from service.store.database import schema
from service.store.database.engine import Database
from tests.api.conftest import add_key, add_project
from tests.journeys.plans import locked, post, small_plan
from tests.pools import InlinePool

N = 24
BASELINE = [int(number % 3 == 0) for number in range(N)]
CANDIDATE = [int(number % 3 != 1) for number in range(N)]
SCORES = [0.25 * (number % 5) for number in range(N)]


def plan() -> dict[str, Any]:
    """Clusters, an exact test, one with a seed, a continuous endpoint."""
    made = small_plan(N, title="Frozen", missing="exclude_pair")
    population = {k: v for k, v in made["populations"][0].items() if k != "independence"}
    made["populations"] = [population | {"clusters": {"key": "conversation", "n": 8}}]
    made["endpoints"] = [*made["endpoints"], {"id": "score", "kind": "continuous", "role": "secondary"}]
    made["tests"] = [
        {"id": "flip", "test": "clustered-mcnemar", "version": 1, "parameters": {"method": "sign_flip"}},
        {"id": "boot", "test": "cluster-bootstrap", "version": 1, "parameters": {"seed": 7}},
    ]
    first = made["hypotheses"][0] | {"rule": "delta >= 2.0 pp and flip.p_value < 0.05"}
    second = first | {"id": "H2", "endpoint": "score", "rule": "boot.ci excludes 0 and delta > 0.1"}
    made["hypotheses"] = [first, second]
    made["multiplicity"] = {"policy": "none", "family": [first["id"]]}
    return made


def fill(client: TestClient) -> str:
    """A judged record with a struck batch and results that are not there."""
    ids, clusters = [f"item {number}" for number in range(N)], [f"c{number % 8}" for number in range(N)]
    prereg_id = locked(client, plan(), {"p": {"item_ids": ids, "clusters": clusters}})
    assert post(client, prereg_id, "A", ids, CANDIDATE).status_code == 201
    path = f"/v1/preregistrations/{prereg_id}/batches/1/void"
    assert client.post(path, json={"reason": "the wrong file"}).status_code == 200
    statuses = ["error", *["ok"] * (N - 1)]
    for arm, values in (("A", BASELINE), ("B", CANDIDATE)):
        sent = [None, *values[1:]]
        assert post(client, prereg_id, arm, ids, sent, status=statuses).status_code == 201
        scores = [score + (0.3 if arm == "B" else 0) for score in SCORES]
        assert post(client, prereg_id, arm, ids, scores, endpoint="score").status_code == 201
    return prereg_id


def main(target: Path) -> None:
    """Run a service of its own, and save what it hands out."""
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        database = Database(f"sqlite:///{place}/forelock.db")
        schema.upgrade(database.engine)
        settings = Settings(data_dir=place, key_cache_seconds=0)
        keyring = Keyring.create(place / "keys")
        app = create_app(settings, database, Keyring.load(place / "keys"))
        alarm = Alarm(place / "runner.sock")
        runner = Runner(database=database, keyring=keyring, pool=InlinePool(), alarm=alarm, settings=settings)
        with TestClient(app) as client:
            _key, secret = add_key(database, add_project(database, "default"), tuple(SCOPES))
            client.headers["Authorization"] = f"Bearer {secret}"
            prereg_id = fill(client)
            note = client.get("/v1/ledger/checkpoint").content
            while runner.step():
                pass
            bundle = client.get(f"/v1/preregistrations/{prereg_id}/bundle")
            assert bundle.status_code == 200, bundle.text
            target.with_suffix(".zip").write_bytes(bundle.content)
            target.with_suffix(".checkpoint").write_bytes(note)
        alarm.close()
        database.dispose()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
