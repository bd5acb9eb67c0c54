"""The faster ways of the simulations against the tests they stand for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.stats.shared.declaring import registry
from tests.simulation import shortcuts
from tests.simulation.rows import Batch
from tests.simulation.worlds import WORLDS

METHODS = ("percentile", "basic", "bca")


def some(world, test, simulations=3):
    found = registry.find(test)
    batch = replace(Batch(world, test, ()), effect=WORLDS[world].effect, simulations=simulations)
    return found, [found.request.model_validate(body) for body in batch.bodies()]


@pytest.mark.parametrize("world", ["twenty-runs", "skewed-runs"])
def test_bootstrap_difference_by_draws_agrees_with_the_test(world):
    test, requests = some(world, "bootstrap-difference")
    for request in requests:
        drawn = shortcuts.bootstrap_difference(request)
        for method in METHODS:
            whole = test.compute(request.model_copy(update={"method": method}))
            tolerance = 0.25 * whole.bootstrap_se
            assert drawn.intervals[method].low == pytest.approx(whole.ci.low, abs=tolerance)
            assert drawn.intervals[method].high == pytest.approx(whole.ci.high, abs=tolerance)
            assert drawn.p_values[method] == pytest.approx(whole.p_value, abs=0.05)
            assert drawn.warnings == whole.warnings


@pytest.mark.slow
def test_type_one_error_of_clusters_by_draws_agrees_with_the_test():
    test, (request,) = some("unequal-clusters", "cluster-bootstrap", 1)
    whole, drawn = test.compute(request), shortcuts.cluster_bootstrap(request)
    for method in ("percentile", "basic"):
        for end in ("low", "high"):
            assert getattr(drawn.intervals[method], end) == pytest.approx(
                getattr(whole.intervals[method], end), abs=0.25 * whole.bootstrap_se
            )
    assert drawn.p_value == pytest.approx(whole.p_value, abs=0.03)
    assert drawn.warnings == whole.warnings
