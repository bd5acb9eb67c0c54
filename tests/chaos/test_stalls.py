"""No attack of one client keeps the others waiting, whatever it costs the attacker's own requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from benchmarks.servers import Served, service
from tests.chaos.stalls import ATTACKS, measured

OWN_SECONDS = 0.25
MOST_BYTES = 768 * 2**20


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """A deployment with one API process."""
    with service(settings={"FORELOCK_PROJECT_DRAFTS": "100000"}) as started, started.client() as client:
        client.get("/health/ready").raise_for_status()
        client.post("/v1/tests/paired-bootstrap", json={"both_correct": 1})
        yield started


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_the_others_are_answered_all_the_while(served: Served, attack: Callable[[Served], None]) -> None:
    found = measured(served, attack.__name__, attack)
    assert found.failed == 0, str(found)
    assert found.own < OWN_SECONDS, str(found)
    assert found.peak_bytes < MOST_BYTES, str(found)
