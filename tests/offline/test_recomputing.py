"""Judging a stranger's bundle again: what it may take of the machine of whoever checks it."""

from __future__ import annotations

import json
import resource

import pytest

from forelock.bundles.verifying import Opened
from service.offline import recomputing
from service.offline.memory import STATUS
from tests.journeys.plans import items, small_plan

N = 5_000


def closed_and_empty(replicates: int) -> Opened:
    """A record that was closed before anything came in: a few lines, however much was planned."""
    plan = small_plan(N)
    plan["endpoints"][0]["replicates"] = replicates
    verdict = {
        "preregistration_id": "p",
        "plan_sha256": "0" * 64,
        "judged_at": "2026-01-01T00:00:00Z",
        "voided_batches": [],
        "hypotheses": [],
    }
    return Opened(
        plan=json.dumps(plan).encode(),
        manifests={each["id"]: json.dumps({"item_ids": items(N)}).encode() for each in plan["populations"]},
        verdict=json.dumps(verdict).encode(),
        closed=True,
        batches=lambda: iter(()),
    )


@pytest.mark.skipif(not STATUS.exists(), reason="the system does not say what a process has")
def test_what_judging_again_takes_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    monkeypatch.setattr(recomputing, "MOST_BYTES", 48 * 2**20)
    judged = recomputing.recompute(closed_and_empty(replicates=1000))
    assert (judged.same, judged.explained) == (False, False)
    assert "takes more than 48 MiB" in judged.sentence
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    assert "takes more" not in recomputing.recompute(closed_and_empty(replicates=1)).sentence
