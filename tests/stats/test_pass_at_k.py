"""pass@k against its definition, by listing every choice of attempts, and its interval."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from service.errors import InvalidData
from service.kernels.repeats.pass_at_k import pass_at_k, pass_hat_k
from service.stats.shared.declaring import registry
from tests.simulation.reads import coverage
from tests.simulation.rows import Batch
from tests.simulation.worlds import WORLDS
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes
from tests.stats.soundness import sound

NAME = "pass-at-k"
items = st.integers(1, 7).flatmap(
    lambda n: st.tuples(st.lists(st.integers(0, n), min_size=1, max_size=8), st.just(n), st.integers(1, n))
)


def one(n, c, k):
    return float(pass_at_k(np.array([n]), np.array([c]), k)[0])


@given(st.integers(1, 7).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_by_listing_every_choice(case):
    n, c, k = case
    attempts = [1] * c + [0] * (n - c)
    choices = list(itertools.combinations(attempts, k))
    assert one(n, c, k) == pytest.approx(np.mean([any(choice) for choice in choices]), abs=1e-15)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_correctly_rounded_however_many_attempts(case):
    n, c, k = case
    assert one(n, c, k) == float(1 - Fraction(math.comb(n - c, k), math.comb(n, k)))


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_all_of_k_is_one_less_any_wrong_of_k(case):
    n, c, k = case
    found = float(pass_hat_k(np.array([n]), np.array([c]), k)[0])
    assert found == float(Fraction(math.comb(c, k), math.comb(n, k)))
    assert found == pytest.approx(1 - one(n, n - c, k), abs=1e-15)


def test_published_product_form():
    # the numerically stable form printed with the estimator
    for n, c, k in ((200, 3, 100), (20, 5, 10), (10, 0, 3), (10, 8, 5)):
        stable = 1.0 if n - c < k else 1.0 - np.prod(1.0 - k / np.arange(n - c + 1, n + 1))
        assert one(n, c, k) == pytest.approx(stable, rel=1e-12)


def test_unbiased_where_the_plug_in_is_not():
    p, n, k = 0.3, 6, 3
    weights = stats.binom.pmf(np.arange(n + 1), n, p)
    values = np.array([one(n, c, k) for c in range(n + 1)])
    truth = 1 - (1 - p) ** k
    assert weights @ values == pytest.approx(truth, abs=1e-14)
    assert abs(weights @ (1 - (1 - np.arange(n + 1) / n) ** k) - truth) > 0.02


@settings(deadline=None)
@given(items)
def test_mean_error_and_interval_over_items(case):
    correct, n, k = case
    found = analyse(NAME, {"correct": correct, "attempts": n, "k": [k]})
    values = np.array([one(n, c, k) for c in correct])
    estimate = found.estimates[0]
    assert estimate.value == pytest.approx(values.mean(), abs=1e-14)
    assert found.items == pytest.approx(values.tolist(), abs=0)
    if len(values) > 1 and np.ptp(values) > 0:
        se = values.std(ddof=1) / math.sqrt(len(values))
        low, high = stats.t.interval(0.95, len(values) - 1, values.mean(), se)
        assert (estimate.ci.low, estimate.ci.high) == pytest.approx((max(low, 0), min(high, 1)), abs=1e-9)
    elif len(values) == 1:
        assert estimate.ci.low is None
        assert found.reasons["estimates.0.ci.low"]
    else:
        low, high = (stats.binomtest(k, len(values)).proportion_ci(0.95) for k in (0, len(values)))
        expected = {0.0: (0, low.high), 1.0: (high.low, 1)}.get(
            values[0], (values[0] * high.low, 1 - (1 - values[0]) * high.low)
        )
        assert (estimate.ci.low, estimate.ci.high) == pytest.approx(expected, abs=1e-12)


def test_none_of_thirty_has_an_interval_that_covers_what_could_have_been_missed():
    found = analyse(NAME, {"correct": [0] * 30, "attempts": 10, "k": [5]}).estimates[0]
    # an upper end u is right when 30 draws all miss a share u of solved items once in 40 times
    assert (1 - found.ci.high) ** 30 == pytest.approx(0.025)
    assert (found.ci.low, found.ci.method, found.se) == (0, "clopper-pearson over items", 0)
    clustered = analyse(NAME, {"correct": [0] * 30, "attempts": 10, "clusters": [i // 3 for i in range(30)]})
    assert (1 - clustered.estimates[0].ci.high) ** 10 == pytest.approx(0.025)


@given(items)
def test_rises_with_k_and_k_1_is_the_share_correct(case):
    correct, n, _ = case
    found = analyse(NAME, {"correct": correct, "attempts": n, "k": list(range(1, n + 1))})
    values = [estimate.value for estimate in found.estimates]
    assert values == sorted(values)
    assert values[0] == pytest.approx(np.mean(correct) / n)
    assert values[-1] == pytest.approx(np.mean([c > 0 for c in correct]))
    assert found.n_never == sum(c == 0 for c in correct)
    assert found.n_always == sum(c == n for c in correct)


@given(items, st.randoms(use_true_random=False))
def test_order_of_items_does_not_matter(case, random):
    correct, n, k = case
    one_way = analyse(NAME, {"correct": correct, "attempts": n, "k": [k]}).estimates[0]
    other = analyse(
        NAME, {"correct": random.sample(correct, len(correct)), "attempts": n, "k": [k]}
    ).estimates[0]
    assert other.value == pytest.approx(one_way.value, abs=1e-14)


def test_attempts_may_differ_between_items():
    found = analyse(NAME, {"correct": [1, 2, 0], "attempts": [4, 10, 2], "k": [2]})
    expected = np.mean([one(4, 1, 2), one(10, 2, 2), one(2, 0, 2)])
    assert found.estimates[0].value == pytest.approx(expected)


def test_clusters_widen_the_interval_by_cr1():
    rng = np.random.default_rng(2)
    labels = np.repeat(np.arange(8), 6)
    correct = np.repeat(rng.integers(0, 11, 8), 6)
    body = {"correct": correct.tolist(), "attempts": 10}
    alone, grouped = analyse(NAME, body), analyse(NAME, body, clusters=labels.tolist())
    d = correct / 10
    residual = np.bincount(labels, weights=d - d.mean())
    se = math.sqrt(8 / 7 * residual @ residual) / 48
    assert grouped.estimates[0].se == pytest.approx(se)
    assert grouped.estimates[0].se > alone.estimates[0].se
    assert grouped.n_clusters == 8


@pytest.mark.parametrize(
    ("attempts", "k", "expected"),
    [
        (10, [5], set()), (1, [1], set()),
        (9, [5], {"FEW_ATTEMPTS"}), (10, [1, 6], {"FEW_ATTEMPTS"}), (2, [2], {"FEW_ATTEMPTS"}),
    ],
)  # fmt: skip
def test_few_attempts_warn(attempts, k, expected):
    assert codes(ask(NAME, {"correct": [0, 1, 1], "attempts": attempts, "k": k})) == expected


@pytest.mark.parametrize("body", [
    {"correct": [0], "attempts": 1}, {"correct": [5] * 4, "attempts": 5}, {"correct": [0] * 4, "attempts": 5},
    {"correct": [1, 1999], "attempts": 2000, "k": [1, 1000, 2000]}, {"correct": [0, 1] * 50, "attempts": 1},
])  # fmt: skip
def test_hostile_counts_stay_sound(body):
    sound(ask(NAME, body))
    if len(body["correct"]) > 1:
        sound(ask(NAME, body, clusters=[i % 2 for i in range(len(body["correct"]))]))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"correct": [3], "attempts": 2}, "more than its attempts"),
        ({"correct": [1, 1], "attempts": [5, 3], "k": [4]}, "k up to 3|more than the attempts"),
        ({"correct": [1, 1], "attempts": [5]}, "has 1 values"),
        ({"correct": [], "attempts": 5}, "no items"),
        ({"correct": [1, 1], "attempts": 5, "clusters": ["a", "a"]}, "single cluster"),
        ({"correct": [1, 1], "attempts": 5, "clusters": ["a"]}, "has 1 values"),
    ],
)
def test_counts_that_cannot_be_used_are_refused(body, message):
    with pytest.raises(InvalidData, match=message):
        ask(NAME, body)


def test_values_of_items_are_columns_for_a_paired_test():
    arms = [
        analyse(NAME, {"correct": correct, "attempts": 8, "k": [2]})
        for correct in ([0, 1, 3, 8, 2, 5], [1, 1, 4, 8, 4, 7])
    ]
    found = analyse("randomization", {"baseline": arms[0].items, "candidate": arms[1].items})
    assert found.delta == pytest.approx(arms[1].estimates[0].value - arms[0].estimates[0].value)


def test_cost_grows_with_items():
    test = registry.find(NAME)
    few, many = (test.request.model_validate({"correct": [1] * n, "attempts": 2}) for n in (5, 50_000))
    assert test.cost(few) < 0.002 < test.cost(many)


def attempts():
    """Attempts of no item, none correct, all correct."""
    for correct, tried in (([], 1), ([0], 1), ([1], 1), ([0] * 5, 3), ([3] * 5, 3), ([2000], 2000), ([2], 1)):
        yield {"correct": correct, "attempts": tried, "k": [1]}
        yield {"correct": correct, "attempts": tried, "k": [1, 2000]}
        yield {"correct": correct, "attempts": tried, "k": [1], "clusters": ["a"] * len(correct)}


def simulated() -> Iterator[Batch]:
    """What is drawn where the truth is known."""
    yield Batch("attempts", "pass-at-k", (coverage("estimates.0.ci"),), {}, WORLDS["attempts"].effect)


CASES = Cases(
    degenerate=attempts,
    growing=[lambda k: {"correct": [1, 2] * (1000 * k), "attempts": 5, "k": [1]}],
    simulated=simulated,
)
