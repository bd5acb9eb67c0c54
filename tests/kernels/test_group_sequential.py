"""Group-sequential kernels against published tables, closed forms and simulated Brownian paths."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special
from scipy.stats import multivariate_normal

from service.kernels.sequential.group_sequential import (
    boundaries,
    exits,
    spend,
    stagewise_drift,
    stagewise_tail,
)

KINDS = ("obrien_fleming_spending", "pocock_spending", "obrien_fleming", "pocock")
FOUR = (0.25, 0.5, 0.75, 1.0)
information = st.lists(st.integers(1, 20), min_size=1, max_size=6).map(
    lambda gaps: [float(x) for x in np.cumsum(gaps) / sum(gaps)]
)


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("obrien_fleming_spending", (4.3326, 2.9631, 2.3590, 2.0141)),
        ("pocock_spending", (2.3683, 2.3675, 2.3582, 2.3500)),
        ("pocock", (2.361,) * 4),
        ("obrien_fleming", tuple(2.024 / math.sqrt(t) for t in FOUR)),
    ],
)
def test_four_equal_looks(kind, expected, both):
    digits = 1e-3 if kind in ("pocock", "obrien_fleming") else 5.1e-5
    found = boundaries(kind, FOUR, 0.025, both=both)
    assert found == pytest.approx(expected, abs=digits * (2 if kind == "obrien_fleming" else 1))


@pytest.mark.parametrize(
    ("looks", "pocock", "fleming"), [(2, 2.178, 1.977), (5, 2.413, 2.040), (10, 2.555, 2.087)]
)
def test_constants_of_jennison_and_turnbull(looks, pocock, fleming):
    t = [(k + 1) / looks for k in range(looks)]
    assert boundaries("pocock", t, 0.025, both=True)[-1] == pytest.approx(pocock, abs=6e-4)
    assert boundaries("obrien_fleming", t, 0.025, both=True)[-1] == pytest.approx(fleming, abs=6e-4)


@settings(deadline=None, max_examples=30)
@given(information, st.sampled_from(KINDS), st.booleans(), st.sampled_from([0.005, 0.025, 0.1]))
def test_what_is_spent_is_what_leaves(t, kind, both, alpha):
    high = boundaries(kind, t, alpha, both=both)
    leave = exits(t, [-x if both else -math.inf for x in high], high)
    assert sum(leave.up) == pytest.approx(alpha, rel=1e-8)
    assert leave.down == (pytest.approx(leave.up, rel=1e-7, abs=1e-15) if both else [0.0] * len(t))
    if kind.endswith("spending"):
        due = [spend(kind, each, alpha) for each in t]
        assert np.cumsum(leave.up) == pytest.approx(due, rel=1e-8, abs=1e-15)


def test_two_looks_against_the_bivariate_normal():
    high, low, drift = [2.1, 1.9], [-1.0, -1.5], 0.7
    t = (0.4, 1.0)
    mean = [drift * math.sqrt(x) for x in t]
    correlation = math.sqrt(0.4)
    normal = multivariate_normal(mean, [[1, correlation], [correlation, 1]])

    def rectangle(lower, upper):
        return normal.cdf(upper, lower_limit=lower)

    leave = exits(t, low, high, drift)
    assert leave.up[0] == pytest.approx(special.ndtr(mean[0] - 2.1), rel=1e-12)
    assert leave.up[1] == pytest.approx(rectangle([-1.0, 1.9], [2.1, 40]), abs=1e-6)
    assert leave.down[1] == pytest.approx(rectangle([-1.0, -40], [2.1, -1.5]), abs=1e-6)


@settings(deadline=None, max_examples=25)
@given(information, st.floats(-4, 4), st.floats(-6, 6), st.booleans())
def test_stagewise_tails_add_up_and_rise_with_the_drift(t, z, drift, both):
    high = boundaries("pocock_spending", t, 0.025, both=both)
    low = [-x if both else -math.inf for x in high]
    above, below = stagewise_tail(t, low, high, z, drift)
    assert above + below == pytest.approx(1, abs=1e-10)
    assert stagewise_tail(t, low, high, z, drift + 0.5)[0] >= above - 1e-12
    mirror = [-x for x in low]
    swapped = stagewise_tail(t, [-x for x in high], mirror, -z, -drift)
    assert swapped == pytest.approx((below, above), abs=1e-10)


@settings(deadline=None, max_examples=15)
@given(information, st.floats(-4, 4), st.sampled_from([0.025, 0.5, 0.975]))
def test_drift_solves_its_equation(t, z, tail):
    high = boundaries("obrien_fleming_spending", t, 0.025, both=True)
    low = [-x for x in high]
    drift = stagewise_drift(t, low, high, z, tail)
    assert stagewise_tail(t, low, high, z, drift)[0] == pytest.approx(tail, abs=1e-8)
    if len(t) == 1:
        assert drift == pytest.approx(z + special.ndtri(tail), abs=1e-8)


def test_a_look_that_may_spend_nothing_is_open():
    first, *_ = boundaries("obrien_fleming_spending", [0.005, 1.0], 0.025, both=True)
    assert first == math.inf


def test_close_and_many_looks_keep_their_error():
    t = [0.9, 0.905, 0.91, *np.linspace(0.92, 1.0, 17)]
    high = boundaries("pocock_spending", t, 0.025, both=True)
    assert sum(exits(t, [-x for x in high], high).up) == pytest.approx(0.025, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_simulated_paths_cross_as_often_as_promised(kind):
    rng, runs = np.random.default_rng(7), 20_000
    t = np.array(FOUR)
    s = np.cumsum(rng.normal(size=(runs, 4)) * np.sqrt(np.diff(t, prepend=0)), axis=1)
    high = np.array(boundaries(kind, list(FOUR), 0.025, both=True))
    share = float(np.mean((np.abs(s / np.sqrt(t)) >= high).any(axis=1)))
    assert abs(share - 0.05) < 4 * math.sqrt(0.05 * 0.95 / runs)
