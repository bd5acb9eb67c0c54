"""One sample described: against numpy and scipy, its bootstrap drawn and listed, and what one value leaves open."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.simulation.reads import coverage
from tests.simulation.rows import Batch
from tests.stats.bodies import COLUMNS, values
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes

PATIENT = settings(deadline=None, max_examples=60)
SEED4 = [73.0, 75.0, 77.0, 74.0, 76.0]


def test_seed4_describes_samples_with_the_population_sd():
    found = analyse("describe", {"values": SEED4})
    assert found.sd == pytest.approx(1.5811388300841898)
    assert found.sd_population == pytest.approx(1.4142135623730951)
    assert [found.ci.low, found.ci.high] == pytest.approx([73.03675683852244, 76.96324316147756])


@PATIENT
@given(st.lists(st.integers(-99, 99).map(lambda k: k / 8), min_size=2, max_size=30))
def test_agrees_with_numpy_and_scipy(values):
    found = analyse("describe", {"values": values})
    assert found.mean == pytest.approx(np.mean(values), abs=1e-12)
    assert found.sd == pytest.approx(np.std(values, ddof=1), abs=1e-12)
    assert [found.q1, found.median, found.q3] == pytest.approx(list(np.quantile(values, [0.25, 0.5, 0.75])))
    assert found.mad_scaled == pytest.approx(stats.median_abs_deviation(values, scale="normal"), abs=1e-9)
    if found.ci is not None:
        low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
        assert [found.ci.low, found.ci.high] == pytest.approx([low, high], abs=1e-9)


def test_one_value_has_no_spread_and_says_so():
    found = analyse("describe", {"values": [4.0]})
    assert (found.mean, found.median, found.sd, found.se, found.ci) == (4.0, 4.0, None, None, None)
    assert set(found.reasons) >= {"sd", "se", "ci"}


@pytest.mark.parametrize("method", ["t", "percentile", "bca"])
def test_equal_values_have_no_interval_of_zero_width(method):
    found = analyse("describe", {"values": [0.1] * 7}, method=method)
    assert (found.mean, found.sd, found.ci) == (0.1, 0.0, None)
    assert "no certainty" in found.reasons["ci"]


def test_bootstrap_on_a_lattice_is_exact_and_ignores_the_seed():
    first = ask("describe", {"values": SEED4}, method="percentile", seed=1)
    second = ask("describe", {"values": SEED4}, method="percentile", seed=2)
    assert first.provenance.exact
    assert first.provenance.seed is None
    assert first.analysis == second.analysis
    # 5 draws from 5 values: the mean is symmetric around 75
    assert [first.analysis.ci.low, first.analysis.ci.high] == pytest.approx([73.8, 76.2])


def test_drawn_bootstrap_names_its_seed_and_follows_it():
    values = list(np.random.default_rng(1).normal(size=40))
    first = ask("describe", {"values": values}, method="basic", seed=1, n_resamples=500)
    second = ask("describe", {"values": values}, method="basic", seed=2, n_resamples=500)
    assert (first.provenance.exact, first.provenance.seed, first.provenance.n_resamples) == (False, 1, 500)
    assert first.analysis.ci != second.analysis.ci
    assert first == ask("describe", {"values": values}, method="basic", seed=1, n_resamples=500)


def test_bootstrap_warns_below_forty_values_only():
    rng = np.random.default_rng(0)
    for n, method, warned in (
        (20, "bca", True),
        (39, "basic", True),
        (40, "percentile", False),
        (5, "t", False),
    ):
        answer = ask("describe", {"values": list(rng.normal(size=n))}, method=method)
        assert ("BOOTSTRAP_FEW_VALUES" in codes(answer)) == warned


def test_values_are_skewed_about_their_mean_wherever_that_lies():
    even, skewed = [float(k) for k in range(20)], [0.0] * 19 + [1.0]
    for column, fires in ((even, False), (skewed, True)):
        for shift in (0.0, 100.0, -100.0):
            moved = [value + shift for value in column]
            assert ("SKEWED" in codes(ask("describe", {"values": moved}))) is fires


def test_the_error_that_the_warning_names_is_that_of_normal_values():
    """The interval of normal theory, mean +- 1.96 SD (ddof 0) / sqrt(n), on 20,000 columns of 20 values."""
    rng = np.random.default_rng(7)
    values = rng.normal(size=(20_000, 20))
    missed = np.abs(values.mean(axis=1)) > 1.959964 * values.std(axis=1) / 20**0.5
    answer = ask("describe", {"values": list(values[0])}, method="basic")
    told = next(w.message for w in answer.warnings if w.code == "BOOTSTRAP_FEW_VALUES")
    assert f"about {missed.mean():.0%} of the time" in told


def test_twelve_values_are_listed_and_drawing_agrees():
    rng = np.random.default_rng(12)
    column = rng.normal(size=12)
    for method in ("percentile", "bca"):
        assert ask("describe", {"values": column.tolist()}, method=method).provenance.exact
    # the same resamples, drawn
    means = np.sort(column[rng.integers(0, 12, (400_000, 12))].mean(axis=1))
    ci = analyse("describe", {"values": column.tolist()}, method="percentile").ci
    for end, q in ((ci.low, 0.025), (ci.high, 0.975)):
        assert np.mean(means <= end + 1e-12) == pytest.approx(q, abs=1.2e-3)
    assert not ask("describe", {"values": rng.normal(size=13).tolist()}, method="bca").provenance.exact


def test_tied_values_are_listed_though_there_are_many():
    column = [*[0.0] * 20, *[math.pi] * 15, *[1.0] * 5]
    assert ask("describe", {"values": column}, method="bca").provenance.exact


def simulated() -> Iterator[Batch]:
    """What is drawn where the truth is known."""
    for method in ("t", "percentile", "basic", "bca"):
        yield Batch("one-column", "describe", (coverage(),), {"method": method}, 0.5)


CASES = Cases(
    degenerate=lambda: ({"values": values, "n_resamples": 100} for values in COLUMNS),
    growing=[lambda k: values(1000 * k), lambda k: values(50, method="bca", n_resamples=10_000 * k)],
    simulated=simulated,
)
