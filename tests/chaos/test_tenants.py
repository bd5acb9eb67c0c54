"""Another project is answered while one tenant, or somebody without a key, attacks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from benchmarks.servers import Served, postgres, service
from service.store.database.engine import Database
from tests.chaos.tenants import ALLOWED, ATTACKS, measured

LIVE_SECONDS, OTHER_SECONDS = 0.25, 2.0
MOST_BYTES = 768 * 2**20


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def deployment(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Served, Database]]:
    """A deployment with one API process, which may call this machine, and its database."""
    data = tmp_path_factory.mktemp("tenants")
    with contextlib.ExitStack() as stack:
        if request.param == "postgresql":
            url = stack.enter_context(postgres())
            settings = {**ALLOWED, "FORELOCK_DATABASE_URL": url}
        else:
            url, settings = f"sqlite:///{data / 'forelock.db'}", ALLOWED
        served = stack.enter_context(service(settings=settings, data=data))
        database = Database(url, pool_size=2)
        stack.callback(database.dispose)
        yield served, database


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("attack", ATTACKS)
def test_another_project_is_answered_all_the_while(deployment: tuple[Served, Database], attack: str) -> None:
    served, database = deployment
    served.forget_peak()
    waited = measured(served, database, attack)
    assert waited.live_failed == 0, str(waited)
    assert waited.live < LIVE_SECONDS, str(waited)
    assert sorted(waited.imports)[1] < OTHER_SECONDS, str(waited)
    assert sorted(waited.verdicts)[1] < OTHER_SECONDS, str(waited)
    assert served.peak_bytes() < MOST_BYTES, str(waited)
