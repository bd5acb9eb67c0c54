"""A million items through the real processes: one arm in one upload, the other in a thousand batches."""

from __future__ import annotations

import json
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest

from tests.journeys.served import COMMAND, Served, quiet_environment

from .plans import items, locked, small_plan

N, BATCH = 1_000_000, 1_000


@pytest.fixture
def client(database_url: str, tmp_path: Path) -> Iterator[httpx.Client]:
    """A client of `forelock serve` on each kind of database."""
    data = tmp_path / "data"
    environment = quiet_environment() | {"FORELOCK_DATABASE_URL": database_url}
    subprocess.run([*COMMAND, "init", "--data", str(data)], env=environment, check=True, capture_output=True)
    process = subprocess.Popen(
        [*COMMAND, "serve", "--data", str(data), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    )
    try:
        with Served(data, process).client() as client:
            client.timeout = httpx.Timeout(300)
            yield client
    finally:
        process.terminate()
        process.wait(60)
        if process.stdout is not None:
            process.stdout.close()


def outcomes(share: float, seed: int) -> list[int]:
    return (np.random.default_rng(seed).random(N) < share).astype(int).tolist()


def post(client: httpx.Client, prereg_id: str, arm: str, ids: list[str], values: list[int]) -> dict:
    body = {"arm": arm, "endpoint": "accuracy", "item_ids": ids, "values": values}
    answer = client.post(
        f"/v1/preregistrations/{prereg_id}/results",
        content=json.dumps(body),
        headers={"Idempotency-Key": uuid.uuid4().hex, "Content-Type": "application/json"},
    )
    assert answer.status_code == 201, answer.text
    return answer.json()


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_million_results_in_one_upload_and_in_a_thousand_batches_end_in_a_verdict(client) -> None:
    ids, baseline, candidate = items(N), outcomes(0.60, 1), outcomes(0.65, 2)
    prereg_id = locked(client, small_plan(N))
    whole = post(client, prereg_id, "A", ids, baseline)
    assert (whole["n"], whole["received"], whole["expected"]) == (N, N, 2 * N)
    for first in range(0, N, BATCH):
        part = slice(first, first + BATCH)
        last = post(client, prereg_id, "B", ids[part], candidate[part])
    assert (last["batch"], last["received"], last["state"]) == (1 + N // BATCH, 2 * N, "complete")

    while (answer := client.get(f"/v1/preregistrations/{prereg_id}/verdict")).status_code != 200:
        assert answer.json()["code"] == "verdict_pending", answer.text
        time.sleep(0.1)
    (hypothesis,) = answer.json()["hypotheses"]
    (found,) = (each["analysis"] for each in hypothesis["analyses"].values())
    both = int(np.dot(baseline, candidate))
    assert found["counts"]["both_correct"] == both
    assert found["counts"]["only_candidate"] == sum(candidate) - both
    assert found["delta"] == pytest.approx((sum(candidate) - sum(baseline)) / N, abs=1e-12)
    assert hypothesis["outcome"] == "supported"
