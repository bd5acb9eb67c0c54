"""Rates of false alarms: enumerated with scipy, drawn, and by flips of whole clusters."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from service.errors import InvalidData
from tests.drawing import draws
from tests.stats import bodies
from tests.stats.bodies import bodies_of_pairs, scores, values
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes

PATIENT = settings(deadline=None, max_examples=draws(25))
RUNS = [2211.2, 3833.3, 4117.5, 2939.0, 4406.1, 4011.6, 3560.7, 2797.4]
PAIRS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=9)


def splits(runs, n):
    """Every ordered pair of disjoint halves."""
    for first in combinations(range(len(runs)), n):
        rest = [i for i in range(len(runs)) if i not in first]
        for second in combinations(rest, n):
            yield [runs[i] for i in first], [runs[i] for i in second]


@pytest.mark.parametrize("n", [2, 4])
def test_split_rates_by_enumeration_with_scipy(n):
    pairs = list(splits(RUNS, n))
    tests = {
        "welch": lambda x, y: stats.ttest_ind(x, y, equal_var=False).pvalue,
        "student": lambda x, y: stats.ttest_ind(x, y).pvalue,
        "mann-whitney": lambda x, y: stats.mannwhitneyu(x, y, method="exact").pvalue,
    }
    for test, p_of in tests.items():
        point = analyse("type-one-error", {"test": test, "values": RUNS, "sizes": [n]}, alpha=0.06).points[0]
        assert point.enumerated
        assert point.mc_ci is None
        assert point.rate == pytest.approx(np.mean([p_of(x, y) < 0.06 for x, y in pairs]))


def test_mann_whitney_splits_with_ties_use_the_exact_test():
    runs = [1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 5.0]
    pairs = list(splits(runs, 4))
    p = [analyse("mann-whitney", {"baseline": x, "candidate": y}).p_value for x, y in pairs]
    point = analyse(
        "type-one-error", {"test": "mann-whitney", "values": runs, "sizes": [4]}, alpha=0.1
    ).points[0]
    assert point.rate == pytest.approx(np.mean(np.array(p) < 0.1))


def test_drawn_splits_agree_with_all_of_them():
    values = list(np.random.default_rng(3).exponential(size=14))
    body = {"test": "welch", "values": values, "sizes": [3]}
    everything = analyse("type-one-error", body)
    assert everything.points[0].enumerated
    many = list(np.random.default_rng(3).exponential(size=40))
    drawn = ask("type-one-error", {**body, "values": many}, n_splits=5_000, seed=2)
    point = drawn.analysis.points[0]
    assert (point.enumerated, point.n_looked_at) == (False, 5_000)
    assert point.mc_ci.low < point.rate < point.mc_ci.high
    assert (drawn.provenance.seed, drawn.provenance.exact) == (2, False)
    assert "MC_ERROR_ONLY" in codes(drawn)
    assert "MC_ERROR_ONLY" not in codes(ask("type-one-error", body))
    again = ask("type-one-error", {**body, "values": many}, n_splits=5_000, seed=4)
    assert again.analysis.rate != drawn.analysis.rate


def test_seed5_bootstrap_cries_wolf_on_few_runs():
    values = list(np.random.default_rng(9).normal(size=60))
    body = {"test": "bootstrap-percentile", "values": values, "sizes": [3, 10], "n_splits": 2_000}
    answer = ask("type-one-error", body)
    three, ten = answer.analysis.points
    assert 0.14 < three.rate < 0.24
    assert 0.05 < ten.rate < 0.13
    assert "TYPE_ONE_EXCESS" in codes(answer)
    welch = ask("type-one-error", {**body, "test": "welch"})
    assert "TYPE_ONE_EXCESS" not in codes(welch)


@PATIENT
@given(PAIRS, st.booleans(), st.data())
def test_mcnemar_flips_by_enumeration(pairs, clustered, data):
    baseline, candidate = [float(a) for a, _ in pairs], [float(b) for _, b in pairs]
    labels = data.draw(st.lists(st.integers(0, 3), min_size=len(pairs), max_size=len(pairs)))
    if not clustered:
        labels = list(range(len(pairs)))
    body = {"test": "mcnemar-midp", "baseline": baseline, "candidate": candidate, "clusters": labels}
    found = analyse("type-one-error", body, alpha=0.2).rate
    names = sorted(set(labels))
    p = []
    for flips in product((False, True), repeat=len(names)):
        flipped = dict(zip(names, flips, strict=True))
        swapped = [(b, a) if flipped[k] else (a, b) for (a, b), k in zip(pairs, labels, strict=True)]
        b = sum(c > a for a, c in swapped)
        c = sum(c < a for a, c in swapped)
        counts = {"both_correct": 1, "only_baseline": c, "only_candidate": b, "both_wrong": 0}
        p.append(analyse("mcnemar", counts, method="midp").p_value)
    assert found == pytest.approx(np.mean(np.array(p) < 0.2), abs=1e-10)


@pytest.mark.slow
@settings(deadline=None, max_examples=draws(10))
@given(st.lists(st.integers(-9, 9), min_size=3, max_size=6), st.sampled_from(["paired-t", "wilcoxon"]))
def test_rank_and_t_flips_by_enumeration(differences, test):
    body = {"baseline": [0.0] * len(differences), "candidate": [float(d) for d in differences]}
    found = analyse("type-one-error", {"test": test, **body}, alpha=0.2).rate
    p = []
    for signs in product((-1.0, 1.0), repeat=len(differences)):
        flipped = {**body, "candidate": list(np.multiply(signs, differences))}
        name, options = ("t-test", {"method": "paired"}) if test == "paired-t" else ("wilcoxon", {})
        value = analyse(name, flipped, **options).p_value
        # constant non-zero differences: t is infinite, which the threshold on the sum counts as beyond
        p.append(0.0 if value is None and any(differences) else 1.0 if value is None else value)
    assert found == pytest.approx(np.mean(np.array(p) < 0.2), abs=1e-10)


def test_sign_flip_holds_its_level_and_item_tests_do_not_when_clusters_are_flipped():
    rng = np.random.default_rng(5)
    # whole clusters favour one arm: eight items each
    favoured = np.repeat(rng.integers(0, 2, size=30), 8).astype(float)
    body = {"baseline": list(favoured), "candidate": list(1 - favoured)}
    labels = [int(k) for k in np.repeat(np.arange(30), 8)]
    rate = {
        test: ask("type-one-error", {"test": test, **body}, clusters=labels)
        for test in ("sign-flip", "mcnemar")
    }
    assert rate["sign-flip"].analysis.rate <= 0.05
    assert rate["mcnemar"].analysis.rate > 0.3
    assert rate["mcnemar"].analysis.n_clusters == 30
    assert "TYPE_ONE_EXCESS" in codes(rate["mcnemar"])
    assert "TYPE_ONE_EXCESS" not in codes(rate["sign-flip"])


def test_continuous_flips_are_drawn_when_too_many():
    rng = np.random.default_rng(6)
    body = {"baseline": list(rng.normal(size=60)), "candidate": list(rng.normal(size=60))}
    point = analyse("type-one-error", {"test": "paired-t", **body}, n_splits=20_000).points[0]
    assert not point.enumerated
    assert abs(point.rate - 0.05) < 0.01


@pytest.mark.parametrize("test", ["mcnemar", "paired-t", "wilcoxon", "sign-flip"])
def test_identical_arms_never_reject(test):
    found = analyse("type-one-error", {"test": test, "baseline": [0.0, 1.0], "candidate": [0.0, 1.0]})
    assert found.rate == 0.0


def test_equal_runs_leave_the_split_tests_undefined():
    point = analyse("type-one-error", {"test": "welch", "values": [2.0] * 6, "sizes": [2]}).points[0]
    assert (point.rate, point.n_undefined) == (0.0, point.n_looked_at)


def test_default_sizes_are_two_to_half_the_runs():
    found = analyse("type-one-error", {"test": "student", "values": RUNS})
    assert [point.n for point in found.points] == [2, 3, 4]
    assert (found.n, found.rate) == (4, found.points[-1].rate)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"test": "welch"}, "values"),
        ({"test": "welch", "values": RUNS, "baseline": RUNS}, "baseline"),
        ({"test": "mcnemar", "baseline": [0.0]}, "candidate"),
        ({"test": "mcnemar", "baseline": [0.5], "candidate": [1.0]}, "baseline"),
        ({"test": "welch", "values": RUNS[:3]}, "values"),
        ({"test": "welch", "values": RUNS, "sizes": [5]}, "sizes"),
        ({"test": "mann-whitney", "values": [float(k) for k in range(300)], "sizes": [101]}, "sizes"),
        ({"test": "sign-flip", "baseline": [0.0], "candidate": [1.0], "clusters": ["a", "b"]}, "clusters"),
    ],
)
def test_columns_that_do_not_fit_are_refused_by_name(body, field):
    with pytest.raises(InvalidData) as caught:
        analyse("type-one-error", body)
    assert field in [fault.path for fault in caught.value.faults]


def test_halves_are_not_told_apart():
    """Of 8 runs 70 sets of 4, each split in 3 ways: 210, not 420; and 35 halvings."""
    runs = [2211.2, 3833.3, 4117.5, 2939.0, 4406.1, 4011.6, 3560.7, 2797.4]
    found = analyse("type-one-error", {"test": "welch", "values": runs, "sizes": [2, 4]})
    assert [point.n_looked_at for point in found.points] == [210, 35]


def flips_and_splits():
    """Every test that type-one-error can try."""
    for column in [each[:8] for each in bodies.COLUMNS]:  # all splits of more take long
        for test in ("welch", "student", "mann-whitney", "bootstrap-percentile", "bootstrap-basic"):
            yield {"test": test, "values": column, "n_splits": 100, "n_resamples": 100}
    for body in bodies_of_pairs(n_splits=100):
        for test in ("mcnemar", "mcnemar-midp", "mcnemar-asymptotic", "paired-t", "wilcoxon", "sign-flip"):
            yield body | {"test": test}


def test_a_test_that_rejects_every_table_rejects_every_flip():
    """The mid-p of one win and one loss is .75, so nothing is left that is not rejected at .9; the rate was 0."""
    body = {"test": "mcnemar-midp", "baseline": [0, 0], "candidate": [1, 1]}
    assert analyse("type-one-error", body, alpha=0.9).rate == 1
    assert analyse("type-one-error", body, alpha=0.7).rate == pytest.approx(0.5)


CASES = Cases(
    degenerate=flips_and_splits,
    growing=[
        lambda k: {"test": "bootstrap-basic", **values(60), "sizes": [20], "n_splits": 100 * k},
        lambda k: {"test": "bootstrap-basic", **values(60), "sizes": [20], "n_resamples": 100 * k},
        lambda k: {"test": "welch", **values(60), "sizes": [20], "n_splits": 1000 * k},
        lambda k: {"test": "paired-t", **scores(400), "n_splits": 1000 * k},
        lambda k: {"test": "sign-flip", **scores(400 * k)},
    ],
    mirrored={"halves": [{"test": each} for each in ("mcnemar", "paired-t", "wilcoxon", "sign-flip")]},
)
