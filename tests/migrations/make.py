"""Makes what `made/` holds of this version: `python -m tests.migrations.make NNNN`, with the number of its schema."""

from __future__ import annotations

import gzip
import json
import sqlite3
import sys
import tempfile
from pathlib import Path

from starlette.testclient import TestClient

from service import main
from service.app import create_app
from service.config import Settings
from service.jobs.runner import Runner
from service.keyring.keyring import FILES, Keyring
from service.processes.wake import Alarm
from service.store.database.engine import Database
from tests.journeys.plans import draft, items, locked, post, small_plan
from tests.pools import InlinePool

MADE = Path(__file__).parent / "made"
FILING = {
    "title": "Another seed", "original": "Seed 1.", "actual": "Seed 2.", "reason": "A slip.", "impact": "None known.",
    "direction": "neutral", "outcomes_seen": False,
    "change": {"kind": "n", "population": "p", "n": 9, "dropped_favour": "neither"},
}  # fmt: skip


def make(number: str, data: Path) -> None:
    """Write the deployment of one schema."""
    settings = Settings(data_dir=data)
    secret = main.initialise(settings).read_text()
    database = Database(settings.url)
    runner = Runner(
        database=database, keyring=Keyring.load(data / "keys", private=True), pool=InlinePool(),
        alarm=Alarm(settings.runner_socket), settings=settings,
    )  # fmt: skip
    app = create_app(settings, database, Keyring.load(data / "keys"))
    with TestClient(app, headers={"Authorization": f"Bearer {secret}"}) as client:
        draft(client, small_plan(title="A draft"))
        half, judged = (locked(client, small_plan(title=title)) for title in ("Half collected", "Judged"))
        post(client, half, "A", items(10), [0] * 10)
        path = f"/v1/preregistrations/{judged}"
        post(client, judged, "A", items(10), [1] * 10)
        assert client.post(f"{path}/batches/1/void", json={"reason": "the wrong file"}).status_code == 200
        post(client, judged, "A", items(10), [0] * 10)
        assert client.post(f"{path}/deviations", json=FILING).status_code == 201
        post(client, judged, "B", items(10), [1] * 10)
        while runner.step():
            pass
        verdict = client.get(f"{path}/verdict").json()
    runner.close()
    database.dispose()
    pack(
        number,
        data,
        {"api_key": secret, "half": half, "judged": judged, "endpoint": "accuracy", "verdict": verdict},
    )


def pack(number: str, data: Path, said: dict[str, object]) -> None:
    """Compress the database; put the keys beside what is known of it."""
    small = data / "small.db"
    with sqlite3.connect(data / "forelock.db") as opened:
        opened.execute("VACUUM INTO ?", (str(small),))
    (MADE / f"{number}.db.gz").write_bytes(gzip.compress(small.read_bytes(), 9, mtime=0))
    keys = {name: (data / "keys" / name).read_text() for name in FILES}
    (MADE / f"{number}.json").write_text(json.dumps({**said, "keys": keys}, sort_keys=True) + "\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        make(sys.argv[1], Path(directory) / "data")
