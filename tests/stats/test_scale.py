"""Scores in another unit: estimates move with it, and what has no unit stays, however small or large the unit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.drawing import one_in
from tests.stats.oracle import analyse

BASELINE = [3.1, 2.2, 4.0, 3.6, 1.9, 2.8, 3.3, 2.5, 3.0]
CANDIDATE = [3.9, 2.0, 5.1, 3.5, 3.0, 3.3, 3.1, 4.2, 3.7]
CLUSTERS = [0, 0, 1, 1, 2, 2, 3, 3, 4]
CASES = [
    ("t-test", {}),
    ("t-test", {"method": "paired"}),
    ("wilcoxon", {}),
    ("mann-whitney", {}),
    ("randomization", {}),
    *(
        ("clustered-mcnemar", {"clusters": CLUSTERS, "method": m})
        for m in ("sign_flip", "cr1_t", "cr2_t", "cv3_t")
    ),
    ("paired-bootstrap", {}),
    ("cluster-bootstrap", {"clusters": CLUSTERS}),
    ("quantile-difference", {"n_resamples": 1000}),
    ("quantile-difference", {"of": "differences"}),
]


@pytest.mark.parametrize(("name", "asked"), CASES)
@settings(deadline=None, max_examples=8)
@given(st.integers(-1000, 400))
@example(-1000)
@example(-530)
@example(-200)
def test_a_unit_of_a_power_of_two_changes_nothing_else(name, asked, power):
    unit = 2.0**power
    plain = analyse(name, {"baseline": BASELINE, "candidate": CANDIDATE, **asked})
    columns = {"baseline": [unit * x for x in BASELINE], "candidate": [unit * x for x in CANDIDATE]}
    found = analyse(name, {**columns, **asked})
    assert found.delta == pytest.approx(unit * plain.delta, rel=1e-9, abs=0)
    assert found.p_value == pytest.approx(plain.p_value, rel=1e-9)
    for end in ("low", "high"):
        assert getattr(found.ci, end) == pytest.approx(unit * getattr(plain.ci, end), rel=1e-9, abs=0)
    assert getattr(found, "undecided", None) == getattr(plain, "undecided", None)
    if getattr(plain, "bootstrap_se", None) is not None:
        assert found.bootstrap_se == pytest.approx(unit * plain.bootstrap_se, rel=1e-9, abs=0)
    for field in ("min_attainable_p", "df", "ci_df"):
        if getattr(plain, field, None) is not None:
            assert getattr(found, field) == pytest.approx(getattr(plain, field), rel=1e-9)
    if name == "clustered-mcnemar":
        assert found.clusters.icc == pytest.approx(plain.clusters.icc, rel=1e-9)
        assert found.clusters.design_effect == pytest.approx(plain.clusters.design_effect, rel=1e-9)


@pytest.mark.parametrize("power", [-1000, -660, -330, -265, 20])
@pytest.mark.parametrize(
    "asked",
    [
        {"method": "t"},
        {"method": "t", "design": "independent"},
        {"method": "t", "design": "independent", "variance": "student"},
        {"method": "t", "clusters": CLUSTERS},
        {"method": "bootstrap_ci"},
        {"method": "bootstrap_ci", "clusters": CLUSTERS},
    ],
)
def test_equivalence_is_the_same_in_any_unit(asked, power):
    """Below 1e-78 Welch's degrees of freedom were wrong or refused; at 1e-200 resamples 'did not vary'."""
    plain, found = (
        analyse(
            "equivalence",
            {
                "baseline": [unit * x for x in BASELINE],
                "candidate": [unit * x for x in CANDIDATE],
                "margin": {"value": 1.5 * unit, "unit": "score"},
                **asked,
            },
        )
        for unit in (1.0, 2.0**power)
    )
    assert plain.p_value is not None
    assert found.p_value == pytest.approx(plain.p_value, rel=1e-9)
    assert found.undecided == plain.undecided
    if plain.df is not None:
        assert found.df == pytest.approx(plain.df, rel=1e-9)


@pytest.mark.parametrize("power", [-1000, -660, 300])
def test_variances_and_flips_are_the_same_in_any_unit(power):
    """At 1e-200 nothing varied, and the t-test rejected no flip."""
    unit = 2.0**power
    runs = [[unit * x for x in pair] for pair in zip(BASELINE, CANDIDATE, strict=True)]
    plain, found = (
        analyse("variance-components", {"values": values, "clusters": CLUSTERS})
        for values in ([list(pair) for pair in zip(BASELINE, CANDIDATE, strict=True)], runs)
    )
    for name in ("icc", "icc_clusters", "reliability", "design_effect"):
        assert getattr(found, name) == pytest.approx(getattr(plain, name), rel=1e-9)
    assert found.se == pytest.approx(unit * plain.se, rel=1e-9, abs=0)
    flipped = [
        analyse("type-one-error", {
            "test": "paired-t",
            "baseline": [scale * x for x in BASELINE], "candidate": [scale * x for x in CANDIDATE],
        }).rate
        for scale in (1.0, unit)
    ]  # fmt: skip
    assert flipped[0] == flipped[1] > 0


SCORES = np.random.default_rng(8).uniform(1, 3, 40)
MOVED = SCORES + 0.05 + np.random.default_rng(9).normal(0, 0.1, 40)
FOURS = [str(row // 4) for row in range(40)]


@pytest.mark.parametrize("power", [-1010, -40, 40, 300])
@pytest.mark.parametrize(
    ("test", "asked"),
    one_in(
        3,
        [
            ("paired-bootstrap", {}),
            ("cluster-bootstrap", {"clusters": FOURS}),
            ("cluster-bootstrap", {"clusters": [str(row // 3) for row in range(40)]}),
            ("randomization", {}),
            ("clustered-mcnemar", {"method": "sign_flip", "clusters": list(range(40))}),
            ("clustered-mcnemar", {"method": "cr2_t", "clusters": FOURS}),
            ("bounded-difference", {}),
            ("bounded-difference", {"clusters": FOURS}),
            ("bounded-difference", {"clusters": FOURS, "unseen": "clusters"}),
        ],
    ),
)
def test_bootstraps_flips_and_bounds_are_the_same_in_any_unit(test, asked, power):
    """At 1e-300 bounds were off by the half of the range, a bootstrap was a point, and another a division by 0."""
    plain, scaled = (
        analyse(
            test,
            {
                "baseline": [unit * x for x in SCORES],
                "candidate": [unit * x for x in MOVED],
                **asked,
                **({"range": {"low": 0, "high": 5 * unit}} if test == "bounded-difference" else {}),
            },
        )
        for unit in (1.0, 2.0**power)
    )
    assert scaled.p_value == pytest.approx(plain.p_value, rel=1e-9)
    if plain.ci is not None and plain.ci.low is not None:
        ends = [each.ci.low for each in (scaled, plain)], [each.ci.high for each in (scaled, plain)]
        for end, expected in ends:
            assert end / 2.0**power == pytest.approx(expected, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("unit", [1e-300, 1e-12])
@pytest.mark.parametrize("method", ["t", "bootstrap_ci", "bounded"])
def test_equivalence_of_small_scores_is_read_in_their_unit(method, unit):
    """An end closer than 1e-9 to the margin lay on it, whatever the margin was."""
    found = [
        analyse(
            "equivalence",
            {
                "baseline": (size * SCORES).tolist(),
                "candidate": (size * MOVED).tolist(),
                "margin": {"value": 0.8 * size, "unit": "score"},
                "method": method,
                **({"range": {"low": 0, "high": 5 * size}} if method == "bounded" else {}),
            },
        )
        for size in (1.0, unit)
    ]
    for name in ("equivalent", "noninferior", "superior", "minimum_effect", "conclusion"):
        assert getattr(found[0], name) == getattr(found[1], name)
    assert found[0].equivalent


def test_a_sequence_of_small_scores_is_read_in_their_unit():
    for size in (1.0, 1e-12):
        found = analyse(
            "sequential",
            {
                "method": "confidence_sequence",
                "baseline": [size / 2] * 400,
                "candidate": [size / 2] * 400,
                "bound": size,
                "order": "arrival",
                "margin": {"value": 0.1 * size, "unit": "score"},
            },
        )
        assert found.equivalent
