"""Every exact kernel on hostile data: against all resamples at small n, against a million draws at large n."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from service.kernels.bootstrap import cumulative
from service.kernels.bootstrap.independent_bootstrap import exact_bootstrap
from service.kernels.bootstrap.metric_bootstrap import bca_ends
from service.kernels.bootstrap.paired_bootstrap import BinaryPairs
from service.kernels.bootstrap.ratio_bootstrap import enumerate_resamples, ratio_bootstrap
from service.kernels.bootstrap.ratio_moments import ratio_moments
from service.kernels.bootstrap.trinomial_quantiles import quantiles
from service.kernels.exact.inversion import smooth_mean
from service.kernels.numeric.clusters import codes_of
from service.kernels.numeric.metrics import ratio_units
from service.kernels.randomization.sign_flip import sign_flip

DRAWS = 1_000_000
SMALL = 6

SHAPES = {
    "skewed": lambda rng, n: rng.exponential(size=n) - 0.8,
    "heavy": lambda rng, n: rng.standard_t(2.5, n) + 0.2,
    "tied": lambda rng, n: np.where(rng.random(n) < 0.4, 0.0, rng.normal(0.1, 1, n)),
    "lattice": lambda rng, n: np.round(rng.normal(0.1, 0.5, n), 1),
    "nearly lattice": lambda rng, n: rng.integers(-3, 4, n) + rng.normal(0, 1e-7, n),
    "outlier": lambda rng, n: np.append(rng.normal(0.1, 1, n - 1), 12.0),
    "one sign": lambda rng, n: rng.gamma(1.5, 1.0, n),
    "two values": lambda rng, n: rng.choice([-1.0, math.sqrt(2)], n),
}


def made(shape, n):
    return SHAPES[shape](np.random.default_rng(n), n)


def within(share, p, error=0.0):
    """A share of `DRAWS` against a probability: five standard errors."""
    return share == pytest.approx(p, abs=5 * math.sqrt(max(p * (1 - p), 1e-6) / DRAWS) + error)


def sum_draws(columns, draws=DRAWS):
    """Sums of the columns (G, w) over multinomial resamples, (draws, w)."""
    rng = np.random.default_rng(1)
    g = len(columns)
    parts = [rng.multinomial(g, np.full(g, 1 / g), 20_000) @ columns for _ in range(draws // 20_000)]
    return np.concatenate(parts)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("g", [2, 3, SMALL])
def test_ratio_of_clusters_by_every_resample(shape, g):
    sums, sizes = made(shape, g), np.random.default_rng(g).integers(1, 9, g).astype(float)
    picks = np.array(list(itertools.product(range(g), repeat=g)))
    ratios = sums[picks].sum(axis=1) / sizes[picks].sum(axis=1)
    found = ratio_bootstrap(sums, sizes)
    tie = 1e-12 * np.abs(ratios).max()
    for r in (0.0, *np.quantile(ratios, [0.03, 0.5, 0.9], method="inverted_cdf")):
        assert found.at_most(float(r)) == pytest.approx(np.mean(ratios <= r + tie), abs=1e-9)
        assert found.at_least(float(r)) == pytest.approx(np.mean(ratios >= r - tie), abs=1e-9)
    np.testing.assert_allclose(found.moments(), [ratios.mean(), ratios.std()], rtol=1e-9, atol=1e-9)
    # the integrals that serve more clusters know nothing of the list
    estimate = sums.sum() / sizes.sum()
    mean, sd = ratio_moments(sums - estimate * sizes, sizes)
    assert (estimate + mean, sd) == pytest.approx((ratios.mean(), ratios.std()), rel=1e-9, abs=1e-9)


def test_kept_multisets_agree_with_listing_them(monkeypatch):
    rng = np.random.default_rng(8)
    sums, sizes = rng.normal(size=9), rng.integers(1, 9, 9).astype(float)
    kept = enumerate_resamples(sums, sizes)
    monkeypatch.setattr("service.kernels.bootstrap.ratio_bootstrap.KEPT_UP_TO", 0)
    listed = enumerate_resamples(sums, sizes)
    np.testing.assert_allclose(kept.ratios, listed.ratios, atol=1e-12)
    np.testing.assert_allclose(kept.cdf, listed.cdf, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_sign_flips_by_every_pattern(shape):
    values = made(shape, 10)
    patterns = np.array(list(itertools.product([-1.0, 1.0], repeat=len(values)))) @ values
    found, s = sign_flip(values), values.sum()
    slack = 1e-10 * np.abs(values).sum()
    assert found.at_least == pytest.approx(np.mean(patterns >= s - slack), abs=1e-9)
    assert found.at_most == pytest.approx(np.mean(patterns <= s + slack), abs=1e-9)
    assert found.two_sided == pytest.approx(np.mean(np.abs(patterns) >= abs(s) - slack), abs=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_two_sample_bootstrap_by_every_resample(shape):
    one, other = made(shape, 3), made(shape, 4)
    found = exact_bootstrap([one, other])
    picks = [np.array(list(itertools.product(range(len(s)), repeat=len(s)))) for s in (one, other)]
    means = [s[rows].mean(axis=1) for s, rows in zip((one, other), picks, strict=True)]
    differences = np.subtract.outer(means[1], means[0]).ravel()
    tie = 1e-10 * (np.ptp(differences) or 1)
    for x in np.quantile(differences, [0.02, 0.5, 0.95], method="inverted_cdf").tolist():
        assert found.at_most(x) == pytest.approx(np.mean(differences <= x + tie), abs=1e-9)
    assert found.moments()[1] == pytest.approx(differences.std(), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("b", "c", "rest"), [(0, 0, 5), (6, 0, 0), (3, 3, 0), (1, 0, 5), (2, 1, 3)])
def test_binary_pairs_and_their_curve_by_every_resample(b, c, rest):
    difference = np.array([1.0] * b + [-1.0] * c + [0.0] * rest)
    n = len(difference)
    sums = np.array(np.meshgrid(*[difference] * n)).reshape(n, -1).sum(axis=0)
    found = BinaryPairs(b, c, n)
    for k in range(-n, n + 1):
        assert found.at_most(k / n) == pytest.approx(np.mean(sums <= k), abs=1e-9)
        assert found.at_least(k / n, strict=True) == pytest.approx(np.mean(sums > k), abs=1e-9)
    levels = (0.025, 0.3, 0.5, 0.975)
    curve = quantiles(*(np.array([float(x)]) for x in (b, c, n)), levels)
    for q, (end,) in zip(levels, curve, strict=True):
        assert end == np.quantile(sums, q, method="inverted_cdf")


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
def test_curve_agrees_with_one_transform_per_table(share):
    rng = np.random.default_rng(7)
    n = np.array([1, 2, 5, 9, 40, 41, 300, 301, 5000, 40_000])
    m = rng.binomial(n, share)
    b = rng.binomial(m, 0.6)
    low, high = cumulative.percentile_intervals(*(x.astype(float) for x in (b, m - b, n)), 0.95)
    for index, size in enumerate(n.tolist()):
        one = BinaryPairs(int(b[index]), int(m[index] - b[index]), size)
        assert low[index] == pytest.approx(one.quantile(0.025), abs=1e-12)
        assert high[index] == pytest.approx(one.quantile(0.975), abs=1e-12)


def test_labels_of_any_kind_are_numbered_alike():
    assert codes_of(["b", "a", "b", "c"]).tolist() == codes_of([7, 1, 7, 3]).tolist() == [0, 1, 0, 2]


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("g", [35, 120])
def test_ratio_of_many_clusters_against_a_million_draws(shape, g):
    sums, sizes = made(shape, g), np.random.default_rng(g).integers(1, 30, g).astype(float)
    found = ratio_bootstrap(sums, sizes)
    draws = sum_draws(np.stack([sums, sizes], axis=1))
    ratios = draws[:, 0] / draws[:, 1]
    for q in (0.025, 0.5, 0.975):
        end = found.quantile(q)
        assert within(np.mean(ratios <= end), q, 2 * found.error)
    for r in (0.0, 2 * sums.sum() / sizes.sum()):
        assert within(np.mean(ratios <= r + 1e-12), found.at_most(r), 2 * found.error)
    mean, sd = found.moments()
    assert mean == pytest.approx(ratios.mean(), abs=5 * sd / math.sqrt(DRAWS))
    assert sd == pytest.approx(ratios.std(), rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [60, 300])
def test_means_and_bca_against_a_million_draws(shape, n):
    values = made(shape, n)
    found = smooth_mean(values) or ratio_bootstrap(values, np.ones(n))
    means = np.sort(sum_draws(values[:, None]).ravel() / n)
    tie = 1e-9 * np.ptp(means)
    for q in (0.025, 0.5, 0.975):
        end = found.quantile(q)
        assert np.mean(means < end - tie) <= q + 5 * math.sqrt(q * (1 - q) / DRAWS) + 2 * found.error
        assert np.mean(means <= end + tie) >= q - 5 * math.sqrt(q * (1 - q) / DRAWS) - 2 * found.error
    for r in (0.0, 2 * values.mean()):
        assert within(np.mean(means >= r - tie), found.at_least(r), 2 * found.error)
    # BCa reads the same distribution at levels moved by z0 and a: with z0 from the draws the ends agree
    acceleration = ratio_units(values, np.ones(n)).acceleration()
    ends = bca_ends(found, float(values.mean()), acceleration, 0.025)
    from service.kernels.bootstrap.bootstrap_draws import Draws

    drawn = bca_ends(Draws(means), float(values.mean()), acceleration, 0.025)
    np.testing.assert_allclose(ends, drawn, atol=0.03 * values.std() / math.sqrt(n) + 2 * tie)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [60, 300])
def test_sign_flips_against_a_million_draws(shape, n):
    values = made(shape, n)
    found, s = sign_flip(values), values.sum()
    rng = np.random.default_rng(2)
    sums = np.concatenate(
        [(2 * rng.integers(0, 2, (20_000, n)) - 1) @ values for _ in range(DRAWS // 20_000)]
    )
    slack = 1e-10 * np.abs(values).sum()
    assert within(np.mean(sums >= s - slack), found.at_least, found.error)
    assert within(np.mean(np.abs(sums) >= abs(s) - slack), found.two_sided, 2 * found.error)
