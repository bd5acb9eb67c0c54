"""Outliers listed by three rules: by definition, and where a rule is blind or there is no spread."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.stats.bodies import COLUMNS, values
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes

PATIENT = settings(deadline=None, max_examples=60)
SEED4 = [75.0, 76.0, 74.0, 77.0, 95.0]


def test_seed4_z_rule_is_blind_for_the_runs_it_recommends():
    answer = ask("outliers", {"values": SEED4}, method="zscore")
    assert answer.analysis.positions == ()
    assert answer.analysis.max_score == pytest.approx(1.9837633293717005)
    assert answer.analysis.max_possible_score == pytest.approx(2.0)
    assert "Z_BLIND" in codes(answer)


@pytest.mark.parametrize(("n", "blind"), [(10, True), (11, False)])
def test_z_rule_is_blind_up_to_ten_values(n, blind):
    values = [0.0] * (n - 1) + [1e6]
    answer = ask("outliers", {"values": values}, method="zscore")
    assert ("Z_BLIND" in codes(answer)) == blind
    assert answer.analysis.positions == (() if blind else (n - 1,))


def test_seed4_example_is_listed_by_the_fences():
    found = analyse("outliers", {"values": SEED4})
    assert found.positions == (4,)
    assert (found.low_fence, found.high_fence) == (72.0, 80.0)
    assert found.outliers[0].value == 95.0


def test_seed4_removes_what_it_finds_and_we_only_list_it():
    answer = ask("outliers", {"values": SEED4})
    assert answer.analysis.n == 5
    assert "none is removed" in answer.analysis.sentence
    assert "OUTLIERS_LISTED" in codes(answer)
    assert "OUTLIERS_LISTED" not in codes(ask("outliers", {"values": [1.0, 2.0, 3.0]}))


@PATIENT
@given(st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=25))
def test_rules_by_definition(values):
    x = np.array(values)
    q1, q3 = np.quantile(x, [0.25, 0.75])
    iqr = analyse("outliers", {"values": values})
    expected = np.flatnonzero((x < q1 - 1.5 * (q3 - q1)) | (x > q3 + 1.5 * (q3 - q1)))
    assert list(iqr.positions) == list(expected)
    mad = analyse("outliers", {"values": values}, method="mad")
    deviations = np.abs(x - np.median(x))
    if np.median(deviations) == 0:
        assert mad.positions is None
        assert "median absolute deviation is 0" in mad.reasons["positions"]
    else:
        scores = 0.6745 * deviations / np.median(deviations)
        assert list(mad.positions) == list(np.flatnonzero(scores > 3.5))
    z = analyse("outliers", {"values": values}, method="zscore")
    if np.ptp(x) == 0:
        assert z.positions is None
    else:
        assert z.max_score == pytest.approx((np.abs(x - x.mean()) / x.std()).max())
        assert z.max_score <= z.max_possible_score + 1e-9


def test_no_spread_between_the_quartiles_lists_everything_else_without_a_score():
    found = analyse("outliers", {"values": [1.0] * 9 + [1.1]})
    assert found.positions == (9,)
    assert found.outliers[0].score is None
    assert found.reasons["outliers.score"] == "the IQR is 0"


def test_threshold_is_the_callers_to_set():
    values = [0.0, 1.0, 2.0, 3.0, 8.0]
    assert analyse("outliers", {"values": values}, threshold=1.0).positions == (4,)
    assert analyse("outliers", {"values": values}, threshold=4.0).positions == ()


CASES = Cases(
    degenerate=lambda: ({"values": values} for values in COLUMNS),
    growing=[lambda k: values(2000 * k)],
)
