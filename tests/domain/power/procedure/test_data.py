"""Simulated data sets of a plan: what is filled in is worth what the policy says."""

from __future__ import annotations

import numpy as np
import pytest

from service.domain.power.procedure.data import World, draw
from service.domain.verdicts.worst_case import Extremes

ENDS = Extremes(-1.0, 4.0)


@pytest.mark.parametrize(
    "missing", [(0.3, 0.0), (0.0, 0.3), (0.2, 0.4)], ids=["baseline", "candidate", "both"]
)
def test_missing_scores_are_filled_against_and_for_the_candidate(missing: tuple[float, float]) -> None:
    """On average each of three kinds of items differs by what stands below; without noise only counts vary."""
    world = World(0.5, 0.0, missing=missing, baseline_mean=1.0)
    sizes = np.full(400, 50)
    rng = np.random.default_rng(2)
    block = draw(rng, 20, sizes, world, policy="worst_case", binary=False, ends=ENDS)
    baseline, candidate = missing
    shares = baseline * (1 - candidate), candidate * (1 - baseline), baseline * candidate, world.complete
    # The baseline's result alone, the candidate's, both, and neither are missing.
    against = 1.5 - 4.0, -1.0 - 1.0, -5.0, 0.5
    for_it = 1.5 - -1.0, 4.0 - 1.0, 5.0, 0.5
    for side, differences in ((block.down, against), (block.up, for_it)):
        assert side.sums.mean() / 50 == pytest.approx(float(np.dot(shares, differences)), abs=0.02)
