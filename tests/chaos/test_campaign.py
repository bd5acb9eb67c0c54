"""A short kill campaign in each world; `./do chaos` runs the long one."""

from __future__ import annotations

import pytest

from tests.chaos.campaign import WORLDS, run


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", WORLDS)
def test_every_job_ends_once_whatever_dies(name: str) -> None:
    found = run(name, kills=12, n_records=3, seed=7)
    assert found.faults == []
    assert (found.kills.total(), found.verdicts) == (12, 3)
    assert found.jobs > 0
