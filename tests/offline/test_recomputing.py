"""Judging a stranger's bundle again: what it may take of the machine of whoever checks it."""

from __future__ import annotations

import json
import resource
import subprocess
import sys

import pytest

from forelock.bundles.verifying import Opened
from service.offline import recomputing
from service.offline.memory import STATUS
from tests.journeys.plans import items, small_plan
from tests.pages import ROOT

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


def judge_within_little() -> None:
    """Judge such records with 48 MiB, and print what was said of each and whether the limit was taken back."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    recomputing.MOST_BYTES = 48 * 2**20
    judged = [recomputing.recompute(closed_and_empty(replicates)) for replicates in (1000, 1)]
    same = resource.getrlimit(resource.RLIMIT_DATA) == before
    print(json.dumps([same, *([each.same, each.explained, each.sentence] for each in judged)]))


@pytest.mark.skipif(not STATUS.exists(), reason="the system does not say what a process has")
def test_what_judging_again_takes_has_an_end() -> None:
    """In a process of its own: what other tests gave back could be taken again beyond any limit."""
    program = "from tests.offline.test_recomputing import judge_within_little as judge; judge()"
    printed = subprocess.check_output([sys.executable, "-c", program], cwd=ROOT, text=True)
    taken_back, much, little = json.loads(printed)
    assert taken_back
    assert much[:2] == [False, False]
    assert "takes more than 48 MiB" in much[2]
    assert "takes more" not in little[2]
