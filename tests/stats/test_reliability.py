"""Best and worst of k runs by listing every choice, against a published evaluation, and items by exact tests."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from service.errors import InvalidData
from service.kernels.repeats.draws_of_k import worst_and_best, worst_weights
from service.kernels.repeats.pass_at_k import pass_at_k
from service.stats.shared.declaring import registry
from service.stats.shared.methods.item_standing import runs_of_perfect_items
from tests.drawing import draws
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes
from tests.stats.soundness import sound

NAME = "reliability"
TAU = {0: 14, 1: 12, 2: 10, 3: 4, 4: 10}
"""tau-bench airline, gpt-4o: tasks by how many of four trials were right."""


def runs_of(counts, r=4):
    return [[1] * right + [0] * (r - right) for right, items in counts.items() for _ in range(items)]


@given(
    st.lists(st.integers(-9, 9), min_size=1, max_size=6).flatmap(
        lambda x: st.tuples(st.just(x), st.integers(1, len(x)))
    )
)
def test_by_listing_every_choice(case):
    values, k = case
    choices = list(itertools.combinations(values, k))
    worst, best = worst_and_best(np.array([values], dtype=float), k)
    assert worst[0] == pytest.approx(np.mean([min(choice) for choice in choices]), abs=1e-12)
    assert best[0] == pytest.approx(np.mean([max(choice) for choice in choices]), abs=1e-12)


@given(st.integers(1, 60).flatmap(lambda r: st.tuples(st.just(r), st.integers(0, r), st.integers(1, r))))
def test_of_right_and_wrong_it_is_pass_hat_k_and_pass_at_k(case):
    r, c, k = case
    worst, best = worst_and_best(np.array([[1.0] * c + [0.0] * (r - c)]), k)
    assert worst[0] == pytest.approx(float(Fraction(math.comb(c, k), math.comb(r, k))), abs=1e-12)
    assert best[0] == pytest.approx(pass_at_k(np.array([r]), np.array([c]), k)[0], abs=1e-12)


def test_weights_are_chances_however_many_runs():
    for r, k in ((1, 1), (10_000, 1), (10_000, 137), (10_000, 10_000)):
        weights = worst_weights(r, k)
        assert weights.min() >= 0
        assert weights.sum() == pytest.approx(1, abs=1e-9)


def test_unbiased_where_the_plug_in_is_not():
    p, r, k = 0.7, 5, 3
    weights = stats.binom.pmf(np.arange(r + 1), r, p)
    values = np.array(
        [worst_and_best(np.array([[1.0] * c + [0.0] * (r - c)]), k)[0][0] for c in range(r + 1)]
    )
    assert weights @ values == pytest.approx(p**k, abs=1e-14)
    assert abs(weights @ (np.arange(r + 1) / r) ** k - p**k) > 0.02


def test_against_a_published_evaluation():
    found = analyse(NAME, {"values": runs_of(TAU)})
    assert [each.k for each in found.curve] == [1, 2, 3, 4]
    assert [each.worst.value for each in found.curve] == pytest.approx([0.42, 0.273333, 0.22, 0.2], abs=5e-7)
    assert [each.best.value for each in found.curve] == pytest.approx([0.42, 0.566667, 0.66, 0.72], abs=5e-7)
    assert found.n_flaky == 26
    assert {each.mean for each in found.flaky[:10]} == {0.5}


def test_intervals_are_those_of_one_mean():
    values = runs_of(TAU)
    found = analyse(NAME, {"values": values, "k": [1, 4]})
    assert found.curve[0].worst.ci == analyse("one-sample-mean", {"values": values}).ci
    whole = [int(all(runs)) for runs in values]
    assert found.curve[1].worst.ci == analyse("one-sample-mean", {"values": whole}).ci
    labels = [item % 9 for item in range(50)]
    clustered = analyse(NAME, {"values": values, "k": [4], "clusters": labels})
    assert clustered.curve[0].worst.ci == analyse("one-sample-mean", {"values": whole, "clusters": labels}).ci


def test_items_stand_by_exact_tests_with_holms_correction():
    right = [20, 20, 19, 16, 9, 2]
    found = analyse(NAME, {"values": [[1] * c + [0] * (20 - c) for c in right], "least_share": 0.6})
    above = [stats.binomtest(c, 20, 0.6, alternative="greater").pvalue for c in right]
    below = [stats.binomtest(c, 20, 0.6, alternative="less").pvalue for c in right]

    def rejected(p_values):
        held = set()
        for step, item in enumerate(np.argsort(p_values)):
            if p_values[item] > 0.025 / (6 - step):
                break
            held.add(int(item))
        return held

    assert found.n_reliable == len(rejected(above)) == 3
    assert {each.item for each in found.unreliable} == rejected(below) == {5}
    assert found.n_undecided == 2
    assert found.least_low == min(each.low for each in found.unreliable)
    low, high = stats.binomtest(2, 20).proportion_ci(1 - 0.05 / 6)
    assert (found.unreliable[0].low, found.unreliable[0].high) == pytest.approx((low, high), abs=1e-9)


@pytest.mark.parametrize(("n", "share"), [(1, 0.9), (50, 0.9), (7, 0.5)])
def test_so_many_runs_of_items_that_never_fail_show_all_reliable(n, share):
    needed = runs_of_perfect_items(n, share, 0.025)
    enough, few = (
        analyse(NAME, {"values": [[1] * r] * n, "least_share": share, "k": [1]}) for r in (needed, needed - 1)
    )
    assert (enough.n_reliable, few.n_reliable) == (n, 0)
    assert enough.runs_needed == few.runs_needed == needed


@pytest.mark.slow
def test_no_wrong_item_is_named_more_often_than_the_level_says():
    rng = np.random.default_rng(12)
    wrong = 0
    for _ in range(120):
        # on the border: neither reliable nor unreliable is true of one below it
        right = rng.binomial(30, 0.9, 12)
        found = analyse(
            NAME, {"values": [[1] * c + [0] * (30 - c) for c in right], "k": [1], "least_share": 0.9}
        )
        wrong += found.n_reliable + found.n_unreliable > 0
    assert wrong <= stats.binom.ppf(0.999, 120, 0.05)


def test_scores_have_a_worst_and_a_best_and_no_reliable_items():
    answer = sound(ask(NAME, {"values": [[3.0, 5.0, 4.0], [1.0, 1.0, 1.0]], "k": [3]}))
    found = answer.analysis
    assert (found.curve[0].worst.value, found.curve[0].best.value) == (2.0, 3.0)
    assert (found.n_reliable, found.n_flaky, found.flaky[0].item) == (None, 1, 0)
    assert found.runs_needed is None
    assert "runs_needed" in found.reasons


def test_items_with_fewer_runs_are_named_and_unequal_runs_are_taken():
    values = [[1, 1, 0], [1, 1], [0]]
    with pytest.raises(InvalidData, match=r"values\[1\], values\[2\]") as refused:
        ask(NAME, {"values": values, "k": [3]})
    assert "up to 1" in refused.value.faults[0].fix
    answer = ask(NAME, {"values": values})
    assert [each.k for each in answer.analysis.curve] == [1]
    assert codes(answer) == {"RUNS_ONCE"}
    assert "RUNS_ONCE" not in codes(ask(NAME, {"values": values[:2]}))


def test_clusters_seldom_bad_are_reckoned_with_and_told():
    """In four of ten clusters one item fails in one run of two: pass^2 rests on what was not seen as well."""
    values = [[1, 0] if at in (0, 20, 40, 60) else [1, 1] for at in range(200)]
    clusters = [at // 20 for at in range(200)]
    answer = ask(NAME, {"values": values, "clusters": clusters})
    column = ask(
        "one-sample-mean", {"values": [float(min(runs)) for runs in values], "clusters": clusters}
    ).analysis
    assert "RARE_CLUSTERS" in codes(answer)
    assert answer.analysis.pass_hat_k.ci.low == column.ci.low == column.intervals["whole_clusters"].low


@given(st.lists(st.lists(st.integers(0, 1), min_size=4, max_size=4), min_size=2, max_size=12))
@settings(deadline=None, max_examples=draws(25))
def test_more_runs_make_the_worst_worse_and_the_best_better(values):
    found = analyse(NAME, {"values": values})
    worst, best = ([getattr(each, side).value for each in found.curve] for side in ("worst", "best"))
    assert all(one >= other - 1e-12 for one, other in itertools.pairwise(worst))
    assert all(one <= other + 1e-12 for one, other in itertools.pairwise(best))
    assert worst[0] == pytest.approx(best[0])


def test_cost_grows_with_runs():
    test = registry.find(NAME)
    few, many = (test.request.model_validate({"values": [[1.0, 0.0]] * n}) for n in (5, 100_000))
    assert test.cost(few) < 0.5 < test.cost(many)


def bodies():
    """Runs per item: one, none, alike."""
    for values in ([], [[]], [[1]], [[1], [1]], [[1, 1]] * 4, [[0, 1]] * 4, [[0, 0, 1], [1]], [[1e200, -1e200]] * 2,
                   [[5e-324, 0.0], [0.0, 0.0]], [[0.1, 0.1 + 1e-17]] * 3, [[7.0]]):  # fmt: skip
        yield {"values": values}
        yield {"values": values, "clusters": ["a"] * len(values)}
        yield {"values": values, "clusters": list(range(len(values))), "k": [2]}


CASES = Cases(
    degenerate=bodies,
    growing=[
        lambda k: {"values": [[1, 0, 1]] * (500 * k)},
        lambda k: {"values": [[1, 0] * (50 * k)] * 20},  # runs of an item
    ],
    unsimulated="its intervals are those of one-sample-mean, measured in docs/score-coverage.md",
)
