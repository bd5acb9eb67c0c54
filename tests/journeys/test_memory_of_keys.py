"""The memory of real processes: the API's never holds what opens rows before the verdict, the runner's does."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
import sqlalchemy as sa

from service.domain.results import sealing
from service.keyring.keyring import Keyring
from service.store.database.engine import Database
from service.store.database.tables import plan_keys
from tests.journeys.served import children, serving, wait_for_verdict

from .plans import items, locked, post, small_plan

N = 6


def memory(pid: int) -> bytes:
    """What a process holds in pages of its own that it may write."""
    found = []
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as content:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            match = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw\S+ \S+ \S+ \S+ *(.*)", line)
            if match is None or (match[3].startswith("[") and match[3] not in ("[heap]", "[stack]")):
                continue
            start, end = int(match[1], 16), int(match[2], 16)
            try:
                content.seek(start)
                found.append(content.read(end - start))
            except (OSError, OverflowError):
                continue
    return b"".join(found)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_only_the_runner_holds_what_opens_rows_until_the_verdict(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    with serving(data) as served, served.client() as client:
        prereg_id = locked(client, small_plan(N))  # type: ignore[arg-type]
        assert post(client, prereg_id, "A", items(N), [1.0] * N).status_code == 201  # type: ignore[arg-type]
        assert client.get(f"/v1/preregistrations/{prereg_id}/results").json()["code"] == "blinded"
        opener = Keyring.load(data / "keys", private=True).opener()
        database = Database(f"sqlite:///{data / 'forelock.db'}")
        with database.read() as session:
            wrapped, released = session.execute(
                sa.select(plan_keys.c.wrapped_key, plan_keys.c.released_key)
            ).one()
        database.dispose()
        assert released is None
        sha256 = client.get(f"/v1/preregistrations/{prereg_id}").json()["plan_sha256"]
        plan_private = sealing.unseal(wrapped, opener, sealing.key_info(prereg_id, sha256))
        running = children(served.process.pid)
        apis = [pid for name, pid in running.items() if name.startswith("api")]
        assert apis
        for pid in apis:
            held = memory(pid)
            assert sealing.public_half(opener) in held, "its own half is found: the search works"
            assert opener not in held
            assert plan_private not in held
        while opener not in memory(children(served.process.pid)["runner"]):
            time.sleep(0.1)  # it may be loading still
        assert post(client, prereg_id, "B", items(N), [0.0] * N).status_code == 201  # type: ignore[arg-type]
        wait_for_verdict(client, prereg_id)
        assert client.get(f"/v1/preregistrations/{prereg_id}/results").status_code == 200
