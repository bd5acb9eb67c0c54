"""Scores in another unit: estimates move with it, and what has no unit stays, however small or large the unit."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

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
