"""Another project is answered while one tenant, or somebody without a key, attacks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.servers import Served, service
from tests.chaos.tenants import ALLOWED, ATTACKS, measured

LIVE_SECONDS, OTHER_SECONDS = 0.25, 2.0
MOST_BYTES = 768 * 2**20


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the deployment keeps its database."""
    return tmp_path_factory.mktemp("tenants")


@pytest.fixture(scope="module")
def served(data: Path) -> Iterator[Served]:
    """A deployment with one API process, which may call this machine."""
    with service(settings=ALLOWED, data=data) as started:
        yield started


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("attack", ATTACKS)
def test_another_project_is_answered_all_the_while(served: Served, data: Path, attack: str) -> None:
    served.forget_peak()
    waited = measured(served, data, attack)
    assert waited.live_failed == 0, str(waited)
    assert waited.live < LIVE_SECONDS, str(waited)
    assert sorted(waited.imports)[1] < OTHER_SECONDS, str(waited)
    assert sorted(waited.verdicts)[1] < OTHER_SECONDS, str(waited)
    assert served.peak_bytes() < MOST_BYTES, str(waited)
