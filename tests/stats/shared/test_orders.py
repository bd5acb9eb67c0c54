"""Items in the order of their arrival, scaled by the largest that one of them can add."""

from __future__ import annotations

import numpy as np
import pytest

from tests.stats.oracle import analyse


def test_items_are_clusters_of_one():
    rng = np.random.default_rng(4)
    body = {name: rng.integers(0, 2, 60).tolist() for name in ("baseline", "candidate")}
    options = {"method": "confidence_sequence", "order_seed": 1}
    alone = analyse("sequential", body, **options)
    clustered = analyse("sequential", body, **options, clusters=list(range(60)), size_cap=1)
    assert (alone.decision, alone.stopped_at) == (clustered.decision, clustered.stopped_at)
    assert (alone.ci.low, alone.ci.high) == pytest.approx((clustered.ci.low, clustered.ci.high), rel=1e-12)
