"""Faster ways to the numbers of tests whose exact distribution takes too long for thousands of data sets.

Each gives the fields that the simulations read; `test_shortcuts.py` compares them with the tests themselves.
"""

from __future__ import annotations

from types import SimpleNamespace

from service.kernels.bootstrap import bootstrap_intervals
from service.kernels.bootstrap import independent_bootstrap as bootstrap
from service.stats.bootstrap_difference import BootstrapDifferenceRequest, warnings_of
from service.stats.cluster_bootstrap import ClusterBootstrapRequest
from service.stats.shared.data.clustering import warn_if_lopsided
from service.stats.shared.declaring.common import Interval
from service.stats.shared.methods.resampling import Reading
from tests.kernels.drawn import draw_estimates, draw_ratios

DRAWS = 2_000


def cluster_bootstrap(request: ClusterBootstrapRequest) -> SimpleNamespace:
    """`cluster-bootstrap` by drawing clusters."""
    groups = request.pairs.groups
    drawn = draw_ratios(groups.sums, groups.sizes, DRAWS, seed=1)
    read = Reading(request, groups.item_weighted, 1 / DRAWS).fields(drawn)
    lopsided = warn_if_lopsided(groups.residuals, groups.sizes)
    return SimpleNamespace(**read | {"warnings": (*request.pairs.warnings(), *lopsided)})


def bootstrap_difference(request: BootstrapDifferenceRequest) -> SimpleNamespace:
    """All methods of `bootstrap-difference` from one set of draws."""
    samples = list(request.arrays())
    delta = float(samples[1].mean() - samples[0].mean())
    drawn = draw_estimates(samples, DRAWS, seed=1)
    constants = bootstrap.bca_constants(samples, drawn)
    intervals, p_values = {}, {}
    for method in ("percentile", "basic", "bca"):
        ends = bootstrap_intervals.interval(drawn, delta, request.level, method, constants)
        tails = bootstrap_intervals.tails(drawn, delta, method, constants)
        intervals[method] = ends and Interval(low=ends[0], high=ends[1], level=request.level, method=method)
        p_values[method] = tails and 2 * min(tails)
    return SimpleNamespace(intervals=intervals, p_values=p_values, warnings=warnings_of(samples))
