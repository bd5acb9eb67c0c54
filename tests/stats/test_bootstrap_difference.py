"""The bootstrap of runs: exact where resamples can be listed, against scipy, and undefined without spread."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.drawing import draws
from tests.simulation import shortcuts
from tests.simulation.reads import coverage, errors
from tests.simulation.rows import Batch
from tests.stats.bodies import bodies_of_pairs, scores
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes
from tests.stats.shapes import ends

PATIENT = settings(deadline=None, max_examples=draws(50))
BASELINE = [73.0, 75.0, 77.0, 74.0, 76.0]
SEED4 = {"baseline": BASELINE, "candidate": [85.0, 87.0, 86.0, 88.0, 84.0]}
columns = st.lists(st.integers(-40, 40).map(lambda k: k / 4), min_size=2, max_size=9)
METHODS = ("percentile", "basic", "bca")


def samples(n, m, shift=0.0, seed=0):
    rng = np.random.default_rng(seed)
    return {"baseline": list(rng.normal(size=n)), "candidate": list(rng.normal(shift, 1, size=m))}


def test_seed4_example_is_exact():
    answer = ask("bootstrap-difference", SEED4)
    assert answer.provenance.exact
    assert ends(answer.analysis.ci) == pytest.approx([9.2, 12.8])
    # no resample reaches 0: the p-value is a bound, the least atom on two sides
    assert answer.analysis.p_value == pytest.approx(2 / 5**10)
    assert answer.analysis.bounds["p_value"] == "< 2.05e-07"


@pytest.mark.parametrize("n", [3, 5, 10, 19, 20, 40])
def test_seed5_asks_for_twenty_runs_before_a_bootstrap(n):
    answer = ask("bootstrap-difference", samples(n, 40), n_resamples=500)
    warned = [w for w in answer.warnings if w.code == "BOOTSTRAP_FEW_RUNS"]
    assert bool(warned) == (n < 20)
    if n in (3, 5, 10):
        rate = {3: "19%", 5: "12%", 10: "9%"}[n]
        assert rate in warned[0].message


@pytest.mark.parametrize("method", ["percentile", "basic", "BCa"])
def test_agrees_with_scipy_bootstrap(method):
    body = samples(25, 30, 0.8)
    found = analyse("bootstrap-difference", body, method=method.lower(), n_resamples=20_000)
    theirs = stats.bootstrap(
        (body["candidate"], body["baseline"]),
        lambda x, y, axis: x.mean(axis=axis) - y.mean(axis=axis),
        n_resamples=20_000,
        method=method,
        rng=np.random.default_rng(3),
    )
    interval = theirs.confidence_interval
    assert ends(found.ci) == pytest.approx([interval.low, interval.high], abs=0.1 * theirs.standard_error)
    assert found.bootstrap_se == pytest.approx(theirs.standard_error, rel=0.03)


@PATIENT
@given(columns, columns, st.sampled_from(METHODS))
def test_interval_and_p_value_agree(baseline, candidate, method):
    found = analyse("bootstrap-difference", {"baseline": baseline, "candidate": candidate}, method=method)
    if found.p_value is None:
        return
    if found.p_value < 0.05 - 1e-9:
        assert found.ci.low > -1e-9 or found.ci.high < 1e-9
    if found.p_value > 0.05 + 1e-9 and "p_value" not in found.bounds:
        assert found.ci.low <= 1e-9
        assert found.ci.high >= -1e-9


def test_a_p_value_that_two_runs_do_not_resolve_is_said_to_be_a_bound():
    found = analyse("bootstrap-difference", {"baseline": [0.0, 0.0], "candidate": [0.25, 0.5]})
    assert found.ci.low == 0.25  # no resample reaches 0, and the rarest has probability 1/16
    assert found.p_value == 2 / 16
    assert f"p {found.bounds['p_value']}, so equal means are not rejected" in found.sentence


@PATIENT
@given(columns, columns, st.sampled_from(["percentile", "basic"]))
def test_swapping_arms_mirrors_the_tails(baseline, candidate, method):
    body, mirror = (
        {"baseline": baseline, "candidate": candidate},
        {"baseline": candidate, "candidate": baseline},
    )
    found = analyse("bootstrap-difference", body, method=method, alternative="greater")
    mirrored = analyse("bootstrap-difference", mirror, method=method, alternative="less")
    if found.p_value is not None:
        assert mirrored.p_value == pytest.approx(found.p_value, abs=1e-9)
    assert mirrored.delta == pytest.approx(-found.delta, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("candidate", [[2.0, 2.0], [5.0]])
def test_no_spread_has_no_interval_and_no_p(method, candidate):
    answer = ask("bootstrap-difference", {"baseline": [2.0, 2.0, 2.0], "candidate": candidate}, method=method)
    found = answer.analysis
    assert (found.ci, found.p_value, found.excludes_zero) == (None, None, None)
    assert set(found.reasons) >= {"ci", "p_value", "excludes_zero"}
    assert "CONSTANT_DATA" in codes(answer)
    assert "CONSTANT_DATA" not in codes(ask("bootstrap-difference", SEED4))


def test_zero_on_the_end_of_the_interval_is_not_excluded():
    # closed interval: a lattice end that equals 0 holds it
    body = {"baseline": [0.0, 1.0], "candidate": [1.0, 2.0]}
    found = analyse("bootstrap-difference", body)
    assert ends(found.ci) == pytest.approx([0.0, 2.0])
    assert found.excludes_zero is False


def test_drawn_p_carries_its_error_and_its_seed():
    body = samples(25, 25, 0.3)
    first = ask("bootstrap-difference", body, n_resamples=1_000, seed=1)
    assert not first.provenance.exact
    assert first.provenance.bit_generator == "PCG64"
    assert first.analysis.p_standard_error > 0
    assert first == ask("bootstrap-difference", body, n_resamples=1_000, seed=1)
    assert first.analysis.p_value != analyse("bootstrap-difference", body, n_resamples=1_000, seed=2).p_value


def test_unresolved_p_raises_the_draws_and_then_warns():
    body = samples(30, 30, 0.62, seed=8)
    p = analyse("bootstrap-difference", body, n_resamples=100_000).p_value
    near = ask("bootstrap-difference", body, n_resamples=200, alpha=round(p, 3))
    assert near.provenance.n_resamples == 1_600
    assert "MC_UNRESOLVED" in codes(near)
    far = ask("bootstrap-difference", body, n_resamples=200, alpha=0.9)
    assert far.provenance.n_resamples == 200
    assert "MC_UNRESOLVED" not in codes(far)


@pytest.mark.parametrize("unit", [1, 0.1, 1e-100, 1e100])
def test_an_interval_that_touches_zero_does_so_in_any_unit(unit):
    """2 delta less the quantile is 0 here; with tenths it came out as -1e-16, and excluded 0."""
    body = {
        "baseline": [v * unit for v in (1.0, 10.0, 7.0, 3.0)],
        "candidate": [v * unit for v in (2.0, 2.0, 1.0)],
    }
    found = analyse("bootstrap-difference", body, method="basic")
    assert found.ci.high == 0
    assert not found.excludes_zero


def simulated() -> Iterator[Batch]:
    """What is drawn where the truth is known."""
    methods = ("percentile", "basic", "bca")
    for method in methods:
        yield Batch("five-runs", "bootstrap-difference", (errors(), coverage()), {"method": method})
    reads = [
        read
        for method in methods
        for read in (errors(f"p_values.{method}", method), coverage(f"intervals.{method}", method))
    ]
    for world in ("twenty-runs", "skewed-runs"):
        yield Batch(world, "bootstrap-difference", tuple(reads), compute=shortcuts.bootstrap_difference)


CASES = Cases(
    degenerate=lambda: bodies_of_pairs(n_resamples=100),
    growing=[
        lambda k: {**scores(100 * k), "n_resamples": 1000},
        lambda k: {**scores(300), "n_resamples": 1000 * k},
    ],
    unmirrored="its seed draws arm after arm: see the tests above",
    simulated=simulated,
    varied={"method": ["percentile", "basic", "bca"], "n_resamples": [200]},
)
