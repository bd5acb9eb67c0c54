"""Score intervals, the exact unconditional p, roots and draws, each against its definition."""

from __future__ import annotations

import decimal
import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from service.kernels.bootstrap.bootstrap_draws import (
    ratio_blocks,
    seed_cluster_means,
    seed_means,
    sum_blocks,
)
from service.kernels.bootstrap.paired_bootstrap import BinaryPairs
from service.kernels.numeric import streams
from service.kernels.numeric.binomial import wilson
from service.kernels.numeric.roots import rising_root
from service.kernels.pairs import tango
from service.kernels.pairs.paired_exact import exact_p_below
from service.kernels.pairs.paired_intervals import newcombe_interval, wald_interval
from service.kernels.pairs.two_one_sided import by_tango
from tests.drawing import draws, one_in
from tests.kernels.drawn import draw_means

tables = st.tuples(st.integers(0, 60), st.integers(0, 60), st.integers(0, 400)).filter(lambda t: sum(t) > 0)


@settings(deadline=None, max_examples=draws(200))
@given(tables, st.floats(0.3, 5))
def test_tango_ends_are_where_the_score_reaches_z(counts, z):
    b, c, rest = counts
    n = b + c + rest
    low, high = tango.interval(b, c, n, z)
    assert -1 <= low <= (b - c) / n <= high <= 1
    for end, target in ((low, z), (high, -z)):
        score = tango.score(b, c, n, end)
        assert abs(score) <= z + 1e-6 if abs(end) == 1 else abs(score - target) < 1e-6


def _tango_upper_end_in_60_digits(b, c, n, z):
    with decimal.localcontext(prec=60):
        b, c, n, z = map(decimal.Decimal, (b, c, n, z))
        low, high = (b - c) / n, decimal.Decimal(1)
        for _ in range(150):
            x = (low + high) / 2
            linear = -b - c + (2 * n - b + c) * x
            q = ((linear * linear + 8 * n * c * x * (1 - x)).sqrt() - linear) / (4 * n)
            far = (n * x - b + c) ** 2 > z * z * n * (2 * q + x * (1 - x))
            low, high = (low, x) if far else (x, high)
        return low


@pytest.mark.parametrize(
    ("b", "c", "rest"),
    one_in(3, [
        (0, 0, 1), (1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 0, 500), (51, 51, 398), (60, 42, 398), (40, 0, 0), (0, 40, 0),
        (0, 40, 1), (39, 1, 0), (1, 39, 0), (20, 20, 0), (1, 0, 10**9 - 1), (0, 1, 10**9 - 1), (0, 6813, 9),
        (5 * 10**8, 5 * 10**8, 0), (1, 353_666_253, 0), (10**9 - 1, 1, 0), (3, 10**6, 10**3), (12_370, 553_077_702, 20),
    ]),
)  # fmt: skip
@pytest.mark.parametrize("z", [1e-3, 0.1, 1.0, 1.959963984540054, 4.0, 7.0])
def test_tango_ends_to_the_last_digits(b, c, rest, z):
    n = b + c + rest
    exact = _tango_upper_end_in_60_digits(b, c, n, z)
    width = exact - (decimal.Decimal(b) - c) / n
    low, high = tango.interval(b, c, n, z)
    assert tango.interval(c, b, n, z) == (-high, -low)
    assert abs(decimal.Decimal(high) - exact) <= width * decimal.Decimal("1e-13") + decimal.Decimal("4e-16")


@settings(deadline=None, max_examples=draws(100))
@given(tables, st.floats(-0.99, 0.99), st.floats(0.5, 3))
def test_tango_interval_and_test_agree(counts, difference, z):
    b, c, rest = counts
    n = b + c + rest
    low, high = tango.interval(b, c, n, z)
    assume(min(abs(difference - low), abs(difference - high)) > 1e-9)
    assert (low < difference < high) == (abs(tango.score(b, c, n, difference)) < z)


@given(tables)
def test_intervals_mirror_when_the_arms_swap(counts):
    b, c, rest = counts
    n = b + c + rest
    for interval in (tango.interval, wald_interval):
        low, high = interval(b, c, n, 1.96)
        assert interval(c, b, n, 1.96) == pytest.approx((-high, -low), abs=1e-11)
    low, high = newcombe_interval(rest, c, b, 0, 1.96)
    assert newcombe_interval(rest, b, c, 0, 1.96) == pytest.approx((-high, -low), abs=1e-11)


def test_tango_against_published_interval():
    # Tango (1998) as quoted in the literature: b 40, c 20, n 160
    z = 1.959963984540054
    assert tango.interval(40, 20, 160, z) == pytest.approx((0.030865, 0.218064), abs=1e-6)


def test_wilson_against_its_closed_form_ends():
    z = 1.959963984540054
    assert wilson(0, 10, z) == pytest.approx((0, z * z / (10 + z * z)))
    for end in wilson(3, 10, z):
        assert abs(0.3 - end) == pytest.approx(z * math.sqrt(end * (1 - end) / 10))


def brute_p(b, c, n, difference):
    """Supremum over a fine grid of the sum over every table at least as extreme."""
    observed = tango.score(b, c, n, difference)
    extreme = [
        (i, j)
        for i, j in itertools.product(range(n + 1), repeat=2)
        if i + j <= n and tango.score(i, j, n, difference) <= observed + 1e-9
    ]
    best = 0.0
    for q in np.linspace(0, (1 - difference) / 2, 1001):
        p = q + difference
        mass = sum(
            math.comb(n, i) * math.comb(n - i, j) * p**i * q**j * max(1 - p - q, 0) ** (n - i - j)
            for i, j in extreme
        )
        best = max(best, mass)
    return best


@pytest.mark.parametrize(
    ("b", "c", "n", "difference"), [(0, 0, 8, 0.3), (1, 1, 9, 0.4), (0, 2, 7, 0.2), (2, 1, 8, 0.5)]
)
def test_exact_p_by_definition(b, c, n, difference):
    brute = brute_p(b, c, n, difference)
    assert brute * (1 - 1e-12) <= exact_p_below(b, c, n, difference) <= brute * (1 + 1e-5)


def test_exact_p_finds_a_supremum_between_coarse_steps():
    # a grid of 49 nuisance values and three rounds ended at .03553
    assert exact_p_below(0, 1, 226, 0.01) == pytest.approx(0.036915, abs=1e-6)


@settings(deadline=None, max_examples=draws(40))
@given(st.integers(1, 300), st.integers(0, 4), st.integers(0, 4), st.floats(0.005, 0.5), st.floats(0, 1))
def test_no_nuisance_value_goes_above_the_exact_p(n, b, c, difference, place):
    assume(b + c <= n)
    q = place * (1 - difference) / 2
    assume(q == 0 or q > 1e-12)  # scipy's binomial overflows at the smallest numbers
    extreme = tango.score(b, c, n, difference) + 1e-9
    wins = np.arange(n + 1)
    mass = 0.0
    for j in range(n + 1):
        share = stats.binom.pmf(j, n, q)  # of the baseline only; the rest are candidate's or concordant
        if share < 1e-18:
            continue
        i = wins[: n - j + 1]
        inside = tango.scores(i, np.full_like(i, j), n, difference) <= extreme
        mass += share * stats.binom.pmf(i, n - j, min((q + difference) / (1 - q), 1.0))[inside].sum()
    assert exact_p_below(b, c, n, difference) >= mass * (1 - 1e-9)


def test_exact_p_is_the_chance_of_no_win_when_nothing_differs():
    for n in (133, 149, 500 // 3):
        assert exact_p_below(0, 0, n, 0.02) == pytest.approx(0.98**n, rel=1e-9)


@settings(deadline=None, max_examples=draws(60))
@given(st.integers(1, 60), st.floats(0.005, 0.6), st.data())
def test_scores_of_arrays_agree_with_the_scalar(n, difference, data):
    b = data.draw(st.integers(0, n))
    c = data.draw(st.integers(0, n - b))
    found = tango.scores(np.array([float(b)]), np.array([float(c)]), n, difference)[0]
    assert found == pytest.approx(tango.score(b, c, n, difference), rel=1e-9, abs=1e-9)


@settings(deadline=None, max_examples=8)
@given(st.integers(10, 800), st.integers(0, 9), st.integers(0, 9))
def test_sparse_p_is_never_below_tango(n, b, c):
    assume(b + c < min(10, n))
    plain = by_tango(b, c, n, 0.05, 0.05, exact=False)
    careful = by_tango(b, c, n, 0.05, 0.05, exact=True)
    assert careful.p_lower >= plain.p_lower
    assert careful.p_upper >= plain.p_upper
    assert (careful.low, careful.high) == (plain.low, plain.high)


def test_exact_p_is_bounded_work_for_a_million_items():
    assert exact_p_below(3, 2, 1_000_000, 0.02) == 0
    assert 0 < exact_p_below(3, 2, 1_000_000, 1e-5) < 1


@given(st.floats(-50, 50), st.floats(0.1, 20))
def test_root_of_a_rising_function(shift, slope):
    root = rising_root(lambda x: math.tanh(slope * (x - shift)), shift - 3, shift + 40, 1e-10)
    assert root == pytest.approx(shift, abs=1e-8)


@settings(deadline=None, max_examples=draws(60))
@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5))
def test_binary_pairs_by_definition(b, c, rest):
    n = b + c + rest
    assume(1 <= n <= 5)
    items = np.array([1] * b + [-1] * c + [0] * rest)
    sums = items[np.array(list(itertools.product(range(n), repeat=n)))].sum(axis=1)
    found = BinaryPairs(b, c, n)
    for k in range(-n - 1, n + 2):
        r = k / n
        assert found.at_most(r) == pytest.approx(np.mean(sums <= k), abs=1e-12)
        assert found.at_most(r, strict=True) == pytest.approx(np.mean(sums < k), abs=1e-12)
        assert found.at_least(r) == pytest.approx(np.mean(sums >= k), abs=1e-12)
        assert found.at_least(r, strict=True) == pytest.approx(np.mean(sums > k), abs=1e-12)
    mean, sd = found.moments()
    assert (mean * n, sd * n) == pytest.approx((sums.mean(), sums.std()), abs=1e-9)
    for q in (0.025, 0.5, 0.9):
        assert found.quantile(q) * n == pytest.approx(np.quantile(sums, q, method="inverted_cdf"), abs=1e-9)


@pytest.mark.parametrize("n", [10**5, 10**9])
def test_binary_pairs_of_many_items_see_atoms(n):
    found = BinaryPairs(n // 10, n // 10 - 7, n)
    delta = 7 / n
    atom = found.at_least(2 * delta) - found.at_least(2 * delta, strict=True)
    sd = found.moments()[1] * n
    density = math.exp(-((7 / sd) ** 2) / 2) / (sd * math.sqrt(2 * math.pi))
    assert atom == pytest.approx(density, rel=1e-3)


@pytest.mark.parametrize("n", [3, 50, 256, 300, 1500])
def test_draws_depend_on_the_seed_and_not_on_how_blocks_are_shared_out(n):
    rng = np.random.default_rng(0)
    values, sizes = rng.normal(size=n), rng.integers(1, 9, n).astype(float)
    for sizes_of in (np.ones(n), sizes):
        one = ratio_blocks(values, sizes_of, 1, range(7))
        assert one.size == 7 * streams.BLOCK
        assert not np.array_equal(one, ratio_blocks(values, sizes_of, 2, range(7)))
        parts = [ratio_blocks(values, sizes_of, 1, which) for which in (range(1), range(1, 6), range(6, 7))]
        np.testing.assert_array_equal(one, np.concatenate(parts))


@pytest.mark.parametrize("n", [1, 2, 7, 200, 256, 257, 500, 700])
def test_sums_of_draws_have_the_moments_of_the_bootstrap(n):
    """Two moments of the sum, and the third: one wrong weight in a table of pairs would show."""
    values = np.random.default_rng(n).exponential(size=n) ** 2
    sums = sum_blocks(values, 3, range(160)) - values.sum()
    spread = values.std() * math.sqrt(n)
    skew = ((values - values.mean()) ** 3).mean() * n
    draws = sums.size
    assert sums.mean() == pytest.approx(0, abs=4.5 * spread / math.sqrt(draws) + 1e-9)
    assert sums.std() == pytest.approx(spread, rel=0.06, abs=1e-9)
    assert (sums**3).mean() == pytest.approx(
        skew, abs=6 * ((sums**6).mean() / draws) ** 0.5 + 0.01 * skew + 1e-9
    )


def test_each_item_is_drawn_as_often_as_another():
    """Every single item, in whole groups of 256 and in the rest, has its share of the draws."""
    n = 600
    for item in (0, 17, 255, 256, 511, 512, 599):
        counts = sum_blocks(np.eye(1, n, item)[0], 1, range(40))
        chances = np.array([math.comb(n, k) * (n - 1) ** (n - k) / n**n for k in range(8)])
        found = np.bincount(counts.astype(int), minlength=8)[:8] / counts.size
        assert found == pytest.approx(chances, abs=4.5 * math.sqrt(0.25 / counts.size))


@pytest.mark.parametrize("n", [1, 2, 3, 5, 255, 256, 500, 65536, 65537, 100_000])
def test_picks_are_uniform(n):
    found = streams.picks(streams.generator(7, 0), n, 200_000)
    assert 0 <= found.min() <= found.max() < n
    cells = min(n, 200)
    counts = np.bincount(found * cells // n, minlength=cells)
    expected = np.bincount(np.arange(n) * cells // n, minlength=cells) * 200_000 / n
    assert stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), max(cells - 1, 1)) > 1e-4


def test_draws_have_the_moments_of_the_bootstrap():
    values = np.random.default_rng(0).exponential(size=80)
    mean, sd = draw_means(values, 20_000, 3).moments()
    assert mean == pytest.approx(values.mean(), abs=5 * sd / math.sqrt(20_000))
    assert sd == pytest.approx(values.std() / math.sqrt(80), rel=0.03)


def test_shares_of_draws_are_counts():
    found = draw_means(np.array([0.0, 1.0]), 400, 1)
    assert found.at_most(0.5) + found.at_least(0.5, strict=True) == 1
    atom = found.at_least(0.5) - found.at_least(0.5, strict=True)
    assert atom == pytest.approx(np.mean(found.estimates == 0.5), abs=1e-15)
    assert found.at_most(-1) == 0
    assert found.at_least(-1) == 1


def test_seed_recipe_is_literal():
    a, b = np.array([1, 0, 1, 1, 0, 1, 0]), np.array([1, 1, 0, 1, 1, 1, 0])
    # the published function, as printed
    arr = np.array([(y - x) * 100 for x, y in zip(a.tolist(), b.tolist(), strict=True)])
    n = len(arr)
    rng = np.random.default_rng(42)
    boots = [arr[rng.choice(n, n, replace=True)].mean() for _ in range(2000)]
    low, high = np.percentile(boots, [(1 - 0.9) / 2 * 100, (1 - (1 - 0.9) / 2) * 100])
    found = seed_means((b - a).astype(float), 2000, 42)
    assert (found.quantile((1 - 0.9) / 2), found.quantile(1 - (1 - 0.9) / 2)) == (low / 100, high / 100)


def test_clustered_seed_recipe_is_literal():
    per_cluster = [[1, 0, 0, -1, 1], [0, 1, 1], [0, 0, 0, 0, -1, 0], [1, 1]]
    rng = np.random.default_rng(42)
    boots = []
    for _ in range(2000):
        chosen = rng.choice(4, 4, replace=True)
        boots.append(np.concatenate([per_cluster[c] for c in chosen]).mean() * 100)
    low, high = np.percentile(boots, [2.5, 97.5])
    sums, sizes = (np.array([f(c) for c in per_cluster], dtype=float) for f in (sum, len))
    found = seed_cluster_means(sums, sizes, 2000, 42)
    assert (found.quantile(0.025) * 100, found.quantile(0.975) * 100) == pytest.approx((low, high), abs=1e-12)
    assert found.moments()[0] * 100 == pytest.approx(np.mean(boots), abs=1e-12)
