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
    for field in ("min_attainable_p", "df", "ci_df"):
        if getattr(plain, field, None) is not None:
            assert getattr(found, field) == pytest.approx(getattr(plain, field), rel=1e-9)
    if name == "clustered-mcnemar":
        assert found.clusters.icc == pytest.approx(plain.clusters.icc, rel=1e-9)
        assert found.clusters.design_effect == pytest.approx(plain.clusters.design_effect, rel=1e-9)
