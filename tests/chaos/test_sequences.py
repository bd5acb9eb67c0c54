"""Whatever is asked, in whatever order: databases that differ in outcomes alone answer alike before the end.

The calls are those of a curious client with every scope but `unblind`: batches that repeat hidden rows, retries with
guesses, voids, lint, deviations, looks, jobs, the audit log, and every other operation of the OpenAPI document.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from service.actions.results import posting
from service.domain.results import sealing
from service.domain.results.batches import PlacedBatch
from tests.chaos import leaks
from tests.drawing import mostly_slow

OFTEN = (
    "postResults", "postResults", "checkResults", "voidBatch", "lintPreregistration", "fileDeviation",
    "takeLook", "takeReading", "listBatches", "getProgress", "getPreregistration", "listResults",
    "getVerdict", "listAuditEvents", "getJob",
)  # fmt: skip
NAMED = {each.id: each for each in leaks.CALLS}
FEW, MANY = 3, 300


@pytest.fixture(scope="module", params=mostly_slow(leaks.DATABASES))
def origin(request: pytest.FixtureRequest) -> Iterator[leaks.Origin]:
    with leaks.origin(request.param) as locked:
        yield locked


def sequences(least: int, most: int) -> st.SearchStrategy[list[tuple[leaks.Operation, int]]]:
    """Operations, each with the seed that its request is made from: rows most of all, then what may tell of them."""
    operation = st.one_of(st.sampled_from([NAMED[name] for name in OFTEN]), st.sampled_from(leaks.CALLS))
    return st.lists(st.tuples(operation, st.integers(0, 2**32)), min_size=least, max_size=most)


def compare(origin: leaks.Origin, steps: list[tuple[leaks.Operation, int]]) -> None:
    found = leaks.follow(origin, steps)
    assert not found.differences, "\n".join(map(str, found.differences[:3]))


@pytest.mark.timeout(900)
def test_no_short_sequence_of_calls_tells_outcomes(origin: leaks.Origin) -> None:
    @settings(max_examples=FEW, suppress_health_check=list(HealthCheck), phases=(Phase.generate,))
    @given(sequences(15, 25))
    def search(steps: list[tuple[leaks.Operation, int]]) -> None:
        compare(origin, steps)

    search()


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_sequence_of_calls_tells_outcomes(origin: leaks.Origin) -> None:
    @settings(max_examples=MANY, suppress_health_check=list(HealthCheck))
    @given(sequences(10, 60))
    def search(steps: list[tuple[leaks.Operation, int]]) -> None:
        compare(origin, steps)

    search()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_planted_leak_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit log counts what a batch holds."""
    ones: dict[tuple[str, int], int] = {}
    seal, done = sealing.seal_batch, posting._Taken.done

    def spy(batch: PlacedBatch, salt: bytes, **named: Any) -> Any:
        ones[named["preregistration_id"], named["sequence"]] = int(np.nansum(batch.rows.values))
        return seal(batch, salt, **named)

    def tell(taken: Any, batch: Any) -> Any:
        found = done(taken, batch)
        counted = ones[batch.sealed.preregistration_id, batch.sealed.sequence]
        return replace(found, facts={**found.facts, "ones": counted})

    monkeypatch.setattr(sealing, "seal_batch", spy)
    monkeypatch.setattr(posting._Taken, "done", tell)
    steps = [(NAMED["postResults"], seed) for seed in range(40)]
    steps += [(NAMED["listAuditEvents"], seed) for seed in range(40)]
    with leaks.origin("SQLite") as locked:
        assert leaks.follow(locked, steps).differences
