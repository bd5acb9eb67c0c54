"""t-tests against scipy, their symmetries, and what constant arms and single runs leave undefined."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from service.errors import InvalidData
from tests.drawing import draws
from tests.simulation.reads import RUNS, SCORES, coverage, errors, predicted
from tests.simulation.rows import Batch
from tests.stats.bodies import bodies_of_pairs, scores
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes
from tests.stats.shapes import ends

PATIENT = settings(deadline=None, max_examples=draws(60))
BASELINE = [73.0, 75.0, 77.0, 74.0, 76.0]
IMPROVED = [85.0, 87.0, 86.0, 88.0, 84.0]
SEED4 = {"baseline": BASELINE, "candidate": IMPROVED}

columns = st.lists(st.integers(-500, 500).map(lambda k: k / 10), min_size=2, max_size=12)


def test_seed4_prints_a_report_that_does_not_belong_to_its_data():
    found = analyse("t-test", SEED4)
    assert found.t == pytest.approx(11.0)  # printed: 8.45
    assert found.cohens_d == pytest.approx(6.957010852370434)  # printed: 2.3
    assert found.p_value == pytest.approx(4.148844200380316e-06)  # printed: 0.0001
    assert found.baseline.sd == pytest.approx(1.5811388300841898)  # printed: 3.2


def test_seed4_mixes_ddof_zero_into_pooled_d():
    found = analyse("t-test", SEED4)
    code = 11 / math.sqrt((4 * np.std(BASELINE) ** 2 + 4 * np.std(IMPROVED) ** 2) / 8)
    assert code == pytest.approx(7.7781745930520225)
    assert found.cohens_d == pytest.approx(6.957010852370434)
    assert found.hedges_g == pytest.approx(6.280116888857753)


def test_seed4_calls_p_above_a_tenth_no_improvement_and_below_it_marginally_significant():
    body = {"baseline": BASELINE, "candidate": [75.0, 79.0, 78.0, 76.0, 79.0]}
    found = analyse("t-test", body)
    assert 0.05 < found.p_value < 0.1
    assert "not rejected" in found.sentence
    assert "does not show equality" in found.sentence
    for words in ("marginal", "no effect", "no improvement", "confirm", "certain"):
        assert words not in found.sentence.lower()


@pytest.mark.parametrize("mean", [0.0, -4.0])
def test_seed4_divides_by_a_baseline_mean_that_may_be_zero_or_negative(mean):
    body = {"baseline": [mean - 1, mean + 1], "candidate": [mean + 2, mean + 3]}
    found = analyse("t-test", body)
    assert found.improvement_pct is None
    assert found.reasons["improvement_pct"] == "a percentage needs a baseline mean above 0"
    assert analyse("t-test", SEED4).improvement_pct == pytest.approx(14.666666666666666)


@pytest.mark.parametrize(
    ("d", "table", "code"), [(0.1, "negligible", "small"), (0.3, "small", "small"), (-3, "large", "large")]
)
def test_seed4_has_two_label_schemes_that_disagree(d, table, code):
    candidate = [value + d * np.std(BASELINE, ddof=1) for value in BASELINE]
    body = {"baseline": BASELINE, "candidate": candidate}
    for scheme, label in (("cohen_1988", table), ("seed4_code", code)):
        found = analyse("effect-size", body, label_scheme=scheme)
        assert found.cohens_d == pytest.approx(d)
        assert (found.effect_label, found.effect_label_scheme) == (label, scheme)


# scipy warns when one arm is constant
@pytest.mark.filterwarnings("ignore:Precision loss:RuntimeWarning")
@PATIENT
@given(columns, columns, st.sampled_from(["two-sided", "greater", "less"]))
def test_agrees_with_scipy(baseline, candidate, alternative):
    if np.ptp(baseline) + np.ptp(candidate) == 0:
        return
    body = {"baseline": baseline, "candidate": candidate}
    for method, equal in (("welch", False), ("student", True)):
        found = analyse("t-test", body, method=method, alternative=alternative)
        theirs = stats.ttest_ind(candidate, baseline, equal_var=equal, alternative=alternative)
        assert found.t == pytest.approx(theirs.statistic, rel=1e-9, abs=1e-12)
        assert found.df == pytest.approx(theirs.df, rel=1e-9)
        assert found.p_value == pytest.approx(theirs.pvalue, rel=1e-6)
        interval = stats.ttest_ind(candidate, baseline, equal_var=equal).confidence_interval()
        assert ends(found.ci) == pytest.approx([interval.low, interval.high], rel=1e-8, abs=1e-8)


@PATIENT
@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=3, max_size=15))
def test_paired_agrees_with_scipy(pairs):
    baseline, candidate = [a / 4 for a, _ in pairs], [b / 4 for _, b in pairs]
    if np.ptp(np.subtract(candidate, baseline)) == 0:
        return
    found = analyse("t-test", {"baseline": baseline, "candidate": candidate}, method="paired")
    theirs = stats.ttest_rel(candidate, baseline)
    assert (found.t, found.p_value) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-8, abs=1e-12)


@PATIENT
@given(columns, columns)
def test_swapping_arms_mirrors_everything(baseline, candidate):
    if np.ptp(baseline) + np.ptp(candidate) == 0:
        return
    found = analyse("t-test", {"baseline": baseline, "candidate": candidate}, alternative="greater")
    mirrored = analyse("t-test", {"baseline": candidate, "candidate": baseline}, alternative="less")
    assert mirrored.p_value == pytest.approx(found.p_value, rel=1e-9)
    assert ends(mirrored.ci) == pytest.approx([-x for x in reversed(ends(found.ci))], rel=1e-9, abs=1e-9)
    assert mirrored.cohens_d == pytest.approx(-found.cohens_d, rel=1e-9, abs=1e-12)


@PATIENT
@given(columns, columns, st.randoms(use_true_random=False))
def test_order_of_runs_does_not_matter(baseline, candidate, random):
    body = {"baseline": baseline, "candidate": candidate}
    shuffled = {name: random.sample(column, len(column)) for name, column in body.items()}
    first, second = analyse("t-test", body), analyse("t-test", shuffled)
    assert second.p_value == (None if first.p_value is None else pytest.approx(first.p_value, rel=1e-6))


@PATIENT
@given(columns, columns, st.sampled_from(["welch", "student"]))
def test_interval_and_test_agree(baseline, candidate, method):
    found = analyse("t-test", {"baseline": baseline, "candidate": candidate}, method=method)
    if found.p_value is not None and abs(found.p_value - 0.05) > 1e-9:
        assert (found.ci.low > 0 or found.ci.high < 0) == (found.p_value < 0.05)


@pytest.mark.parametrize("method", ["welch", "student", "paired"])
@pytest.mark.parametrize("candidate", [[1.0, 1.0, 1.0], [3.0, 3.0, 3.0]])
def test_constant_arms_are_undefined_and_never_p_zero(method, candidate):
    answer = ask("t-test", {"baseline": [1.0, 1.0, 1.0], "candidate": candidate}, method=method)
    found = answer.analysis
    assert found.delta == candidate[0] - 1
    for field in ("p_value", "t", "ci", "cohens_d" if method != "paired" else "cohens_dz", "effect_label"):
        assert getattr(found, field) is None
        assert found.reasons[field]
    assert "CONSTANT_DATA" in codes(answer)
    assert "undefined" in found.sentence


def test_constant_differences_up_to_rounding_are_constant():
    body = {"baseline": [0.1, 0.2, 0.3, 0.4], "candidate": [0.3, 0.4, 0.5, 0.6]}
    assert len(set(np.subtract(body["candidate"], body["baseline"]))) > 1
    found = analyse("t-test", body, method="paired")
    assert found.p_value is None
    assert found.cohens_dz is None


def test_one_constant_arm_is_no_obstacle():
    answer = ask("t-test", {"baseline": [1.0, 1.0, 1.0], "candidate": [2.0, 3.0, 4.0]})
    assert answer.analysis.df == pytest.approx(2)
    assert answer.analysis.p_value == pytest.approx(0.07417990022744853)
    assert answer.analysis.glass_delta is None
    assert "CONSTANT_DATA" not in codes(answer)


def test_one_run_in_an_arm_has_no_welch_test_but_a_student_one():
    body = {"baseline": [1.0], "candidate": [2.0, 3.0, 5.0]}
    welch = analyse("t-test", body)
    assert (welch.p_value, welch.se, welch.baseline.sd) == (None, None, None)
    assert set(welch.reasons) >= {"p_value", "t", "df", "se", "ci", "baseline.sd", "baseline.se"}
    student = analyse("t-test", body, method="student")
    assert student.p_value == pytest.approx(stats.ttest_ind(body["candidate"], [1.0]).pvalue)


def test_one_run_per_arm_answers_delta_alone():
    for method in ("welch", "student", "paired"):
        found = analyse("t-test", {"baseline": [1.0], "candidate": [4.0]}, method=method)
        assert found.delta == 3.0
        assert found.p_value is None
        assert found.cohens_d is None


@pytest.mark.parametrize("scale", [1e-150, 1e-3, 1e140])
def test_units_do_not_change_the_test(scale):
    body = {name: [scale * value for value in column] for name, column in SEED4.items()}
    found = analyse("t-test", body)
    assert (found.t, found.df) == pytest.approx((11.0, 8.0), rel=1e-9)
    assert found.cohens_d == pytest.approx(6.957010852370434, rel=1e-9)


def test_values_whose_squares_overflow_are_refused():
    with pytest.raises(InvalidData, match="1e\\+150"):
        analyse("t-test", {"baseline": [1e200, 1.0], "candidate": [1.0, 2.0]})


def test_empty_arms_and_unpaired_lengths_are_refused():
    with pytest.raises(InvalidData, match="no values"):
        analyse("t-test", {"baseline": [], "candidate": [1.0]})
    with pytest.raises(InvalidData, match="2 values"):
        analyse("t-test", {"baseline": [1.0, 2.0, 3.0], "candidate": [1.0, 2.0]}, method="paired")


def test_p_below_the_floor_is_a_bound_and_not_zero():
    values = np.linspace(0, 1, 3_000)
    found = analyse("t-test", {"baseline": list(values), "candidate": list(values + 50)})
    assert found.p_value == 1e-300
    assert found.bounds == {"p_value": "< 1e-300"}


def test_warns_below_twenty_runs_and_not_from_there():
    rng = np.random.default_rng(0)
    for n, warned in ((19, True), (20, False)):
        body = {"baseline": list(rng.normal(size=n)), "candidate": list(rng.normal(size=25))}
        assert ("FEW_RUNS_T" in codes(ask("t-test", body))) == warned
        assert "CONSTANT_DATA" not in codes(ask("t-test", body))


def simulated() -> Iterator[Batch]:
    """What is drawn where the truth is known."""
    for world in SCORES:
        yield Batch(world, "t-test", (errors(), coverage()), {"method": "paired"})
    for world in RUNS:
        for method in ("welch", "student"):
            yield Batch(world, "t-test", (errors(), coverage()), {"method": method})
    pairs = {"test": "paired-t", "delta": 0.5, "sd_difference": 1.0, "n": 15}
    yield predicted("small-n-scores", "t-test", 0.5, pairs, method="paired")
    arms = {"test": "welch", "delta": 0.8, "sd_baseline": 1.0, "sd_candidate": 1.0, "n": 20}
    yield predicted("twenty-runs", "t-test", 0.8, arms, method="welch")


CASES = Cases(
    degenerate=bodies_of_pairs,
    growing=[lambda k: scores(5000 * k)],
    mirrored={"paired scores": [{"method": "paired"}], "runs": [{"method": "welch"}, {"method": "student"}]},
    simulated=simulated,
    varied={"method": ["welch", "student", "paired"]},
)
