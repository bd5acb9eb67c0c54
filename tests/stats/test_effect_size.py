"""Effect sizes by definition, their intervals put back into the noncentral t, and labels that units do not move."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from tests.drawing import draws
from tests.simulation.reads import coverage
from tests.simulation.rows import Batch
from tests.simulation.worlds import WORLDS
from tests.stats.bodies import bodies_of_pairs, scores
from tests.stats.cases import Cases
from tests.stats.oracle import analyse

PATIENT = settings(deadline=None, max_examples=draws(60))
columns = st.lists(st.integers(-60, 60).map(lambda k: k / 4), min_size=2, max_size=12)


@PATIENT
@given(columns, columns)
def test_d_and_g_by_definition(baseline, candidate):
    found = analyse("effect-size", {"baseline": baseline, "candidate": candidate})
    n0, n1 = len(baseline), len(candidate)
    pooled = ((n0 - 1) * np.var(baseline, ddof=1) + (n1 - 1) * np.var(candidate, ddof=1)) / (n0 + n1 - 2)
    if pooled == 0:
        assert found.cohens_d is None
        return
    d = (np.mean(candidate) - np.mean(baseline)) / math.sqrt(pooled)
    df = n0 + n1 - 2
    j = special.gamma(df / 2) / (math.sqrt(df / 2) * special.gamma((df - 1) / 2))
    assert found.cohens_d == pytest.approx(d, rel=1e-9, abs=1e-12)
    assert found.hedges_g == pytest.approx(j * d, rel=1e-9, abs=1e-12)
    assert found.hedges_g_ci.low == pytest.approx(j * found.cohens_d_ci.low, rel=1e-9, abs=1e-12)


@PATIENT
@given(columns, columns)
def test_interval_end_put_back_gives_the_tail(baseline, candidate):
    found = analyse("effect-size", {"baseline": baseline, "candidate": candidate}, level=0.9)
    if found.cohens_d is None or abs(found.cohens_d) > 8:
        return
    n0, n1 = len(baseline), len(candidate)
    root = math.sqrt(n0 * n1 / (n0 + n1))
    for end, tail in ((found.ci.low, 0.95), (found.ci.high, 0.05)):
        cdf = special.nctdtr(n0 + n1 - 2, end * root, found.cohens_d * root)
        assert cdf == pytest.approx(tail, abs=1e-7)


def test_paired_design_stands_on_the_differences():
    baseline, candidate = [1.0, 2.0, 4.0, 8.0], [2.0, 2.5, 6.0, 9.0]
    found = analyse("effect-size", {"baseline": baseline, "candidate": candidate}, design="paired")
    difference = np.subtract(candidate, baseline)
    assert found.cohens_dz == pytest.approx(difference.mean() / difference.std(ddof=1))
    assert found.ci == found.cohens_dz_ci
    assert found.ci.low < found.cohens_dz < found.ci.high
    assert found.cohens_d_ci is None
    assert found.reasons["cohens_d_ci"].startswith("paired")
    assert found.cohens_d_se is None


def test_independent_design_has_no_dz():
    found = analyse("effect-size", {"baseline": [1.0, 2.0], "candidate": [3.0, 5.0]})
    assert found.cohens_dz is None
    assert found.reasons["cohens_dz"] == "the arms are not paired"


def test_two_runs_against_one_have_d_but_no_g():
    # one degree of freedom: J is 0 there, so g is undefined
    found = analyse("effect-size", {"baseline": [1.0], "candidate": [3.0, 5.0]})
    assert found.cohens_d == pytest.approx(3 / math.sqrt(2))
    assert found.hedges_g is None
    assert found.reasons["hedges_g"] == "J is undefined on 1 degree of freedom"
    assert found.glass_delta is None


def test_no_spread_has_no_effect_size_and_says_so():
    found = analyse("effect-size", {"baseline": [1.0, 1.0], "candidate": [2.0, 2.0]})
    assert found.ci is None
    assert found.reasons["ci"] == "no spread within the arms"
    assert "no standardized effect" in found.sentence


@pytest.mark.parametrize(
    ("d", "label"),
    [
        (0.0, "negligible"),
        (0.05, "very small"),
        (0.3, "small"),
        (-0.6, "medium"),
        (1.0, "large"),
        (1.5, "very large"),
        (9.0, "huge"),
    ],
)
def test_sawilowsky_labels_have_seven_steps(d, label):
    baseline = [-1.0, 0.0, 1.0]
    body = {"baseline": baseline, "candidate": [value + d for value in baseline]}
    assert analyse("effect-size", body, label_scheme="sawilowsky_2009").effect_label == label


@pytest.mark.parametrize("unit", [1, 0.7, 1 / 3000, 1e-140])
def test_a_d_of_one_half_is_medium_in_any_unit(unit):
    body = {"baseline": [4 * unit, 5 * unit, 0.0], "candidate": [5 * unit, 4 * unit, 3 * unit]}
    found = analyse("effect-size", body)
    assert (found.cohens_d, found.effect_label) == (pytest.approx(0.5), "medium")
    half = {"baseline": [0.0, 2 * unit, 4 * unit], "candidate": [unit, 3 * unit, 5 * unit]}
    found = analyse("effect-size", half)
    assert (found.cohens_d, found.effect_label) == (pytest.approx(0.5), "medium")


@pytest.mark.parametrize(
    ("test", "body"),
    [
        ("effect-size", {"baseline": [1.0, 2.0, 3.0], "candidate": [2.0, 4.0, 3.5]}),
        ("describe", {"values": [1.0, 2.0, 4.0]}),
        ("effect-conversion", {"effect": {"kind": "correlation", "r": 0.5, "n": 20}}),
    ],
)
def test_a_sentence_does_not_tell_100_percent_for_less(test, body):
    assert "(100%" not in (told := analyse(test, body, level=0.9999999).sentence)
    assert "99.99999% " in told


def simulated() -> Iterator[Batch]:
    """What is drawn where the truth is known."""
    effects = coverage("cohens_d_ci", "of d"), coverage("hedges_g_ci", "of g")
    for world in ("five-runs", "twenty-runs"):  # the interval of d is that of normal scores
        yield Batch(world, "effect-size", effects, effect=WORLDS[world].effect)
    yield Batch("small-n-scores", "effect-size", (coverage(),), {"design": "paired"}, 0.5)


CASES = Cases(
    degenerate=bodies_of_pairs,
    growing=[lambda k: scores(5000 * k)],
    mirrored={"paired scores": [{"design": "paired"}], "runs": [{"design": "independent"}]},
    simulated=simulated,
)
