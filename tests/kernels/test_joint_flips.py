"""Step-down max-T over one sign per unit: against brute force, SciPy's permutations, closed forms, and simulation."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats as reference

from service.kernels.multiplicity.corrections import holm, independent_max_t
from service.kernels.randomization import joint_flips
from service.kernels.randomization.joint_flips import joint_of, step_down
from service.kernels.randomization.sign_flip import sign_flip

BOTH = 0


def sides(*each):
    return np.array(each, dtype=np.int64)


def adjusted(sums, *which, blocks=0):
    values = np.asarray(sums, dtype=float)
    return step_down(joint_of(values), sides(*(which or [BOTH] * values.shape[1])), 1, range(blocks))


def brute(sums, which):
    """Every pattern of signs; of each step the largest statistic of what is left, by Student's t of the units."""
    values = np.asarray(sums, dtype=float)
    g, m = values.shape

    def t(signed):
        mean, square = signed.mean(axis=0), (signed**2).mean(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = mean / np.sqrt((square - mean**2) / (g - 1))
        found = np.where(square == 0, 0.0, np.where(np.isnan(found), 0.0, found))
        return np.array([abs(x) if side == 0 else side * x for x, side in zip(found, which, strict=True)])

    seen = t(values)
    drawn = [t(values * np.array(signs)[:, None]) for signs in product((1, -1), repeat=g)]
    order = sorted(range(m), key=lambda at: -seen[at])
    found, running = np.zeros(m), 0.0
    for step, at in enumerate(order):
        left = order[step:]
        beyond = sum(max(each[k] for k in left) >= seen[at] - 1e-9 for each in drawn) / len(drawn)
        running = max(running, beyond)
        found[at] = running
    return found


@pytest.mark.parametrize("which", [(0, 0, 0), (1, 1, -1)])
@pytest.mark.parametrize("kind", ["binary", "scores", "ties"])
def test_by_definition(kind, which):
    rng = np.random.default_rng(3)
    sums = {
        "binary": rng.integers(-1, 2, (9, 3)),
        "scores": rng.standard_normal((9, 3)) @ rng.standard_normal((3, 3)) + 0.4,
        "ties": rng.integers(-2, 3, (9, 1)) * np.array([1, 1, -1]),
    }[kind]
    assert adjusted(sums, *which) == pytest.approx(brute(sums, which), abs=1e-12)


def test_against_scipy_permutations():
    """SciPy swaps pairs of indices; the statistic puts the differences behind them."""
    rng = np.random.default_rng(8)
    sums = rng.standard_normal((10, 4)) + 0.5
    z = sums / np.sqrt((sums**2).sum(axis=0))
    order = np.argsort(-np.abs(z.sum(axis=0)))
    steps = []
    for step in range(4):
        left = order[step:]

        def furthest(x, y, axis=-1, left=left):
            return np.abs(np.where(x < 10, 1.0, -1.0) @ z[:, left]).max(axis=-1)

        seen = np.abs(z[:, order[step]].sum())
        found = reference.permutation_test(
            (np.arange(10), np.arange(10) + 10), furthest, permutation_type="samples", n_resamples=np.inf
        )
        steps.append(float((found.null_distribution >= seen - 1e-12).mean()))
    assert adjusted(sums)[order] == pytest.approx(np.maximum.accumulate(steps), abs=1e-12)


def test_one_member_has_its_own_sign_flip_p():
    rng = np.random.default_rng(4)
    for sums in (rng.integers(-3, 4, 14), rng.standard_normal(12) + 0.5, rng.integers(0, 2, 40)):
        column = np.asarray(sums, dtype=float)[:, None]
        assert adjusted(column)[0] == pytest.approx(sign_flip(column[:, 0]).two_sided, abs=1e-12)
        assert adjusted(column, 1)[0] == pytest.approx(sign_flip(column[:, 0]).at_least, abs=1e-12)


def test_members_that_are_as_one_cost_nothing():
    column = np.random.default_rng(5).integers(-1, 3, 12).astype(float)
    several = np.column_stack([column, 7 * column, -column])
    assert adjusted(several) == pytest.approx([sign_flip(column).two_sided] * 3, abs=1e-12)


def test_members_on_units_of_their_own_are_independent():
    """Disjoint units: the chance that either is as far out is one minus the product."""
    one, other = np.zeros(12), np.zeros(12)
    one[:6], other[6:] = [1, 1, 1, 1, 1, 1], [1, 1, 1, 1, -1, 1]
    p = [sign_flip(each).two_sided for each in (one, other)]
    # the other's statistic is as large as the first's just where all agree
    beyond_first = 1 - (1 - p[0]) ** 2
    assert adjusted(np.column_stack([one, other])) == pytest.approx([beyond_first, p[1]], abs=1e-12)


def test_where_nothing_differs_p_is_one():
    assert adjusted(np.zeros((5, 2))).tolist() == [1.0, 1.0]
    found = adjusted(np.column_stack([np.zeros(8), np.ones(8)]))
    assert found == pytest.approx([1.0, 2 / 2**8], abs=1e-12)


def test_units_in_any_order_and_scales_of_members_do_not_matter():
    rng = np.random.default_rng(6)
    sums = rng.standard_normal((11, 3))
    again = sums[rng.permutation(11)] * np.array([1.0, 1e-8, 1e9])
    assert adjusted(sums) == pytest.approx(adjusted(again), abs=1e-12)


def test_units_alike_are_counted_together():
    """60 right-or-wrong items have 4 kinds of differing rows: all patterns are weighed, as by brute listing."""
    rng = np.random.default_rng(7)
    few = rng.integers(-1, 2, (12, 2)).astype(float)
    joint = joint_of(few)
    assert len(joint.rows) <= 4
    assert adjusted(few) == pytest.approx(brute(few, (0, 0)), abs=1e-12)
    many = joint_of(np.where(rng.random((60, 2)) < 0.5, rng.choice([-1.0, 1.0], (60, 2)), 0.0))
    assert many.exact


@pytest.mark.parametrize("kind", ["scores", "binary"])
def test_draws_agree_with_the_whole(kind, monkeypatch):
    rng = np.random.default_rng(9)
    sums = rng.standard_normal((15, 3)) if kind == "scores" else rng.integers(-1, 2, (40, 2)).astype(float)
    joint, which = joint_of(sums), sides(*[BOTH] * sums.shape[1])
    whole = step_down(joint, which)
    monkeypatch.setattr(joint_flips, "LISTED_UP_TO", 3)
    assert not joint.exact
    first, other = (step_down(joint, which, seed, range(40)) for seed in (1, 2))
    assert not np.array_equal(first, other)
    assert np.array_equal(first, step_down(joint, which, 1, range(40)))
    assert first == pytest.approx(whole, abs=4 * 0.5 / np.sqrt(10_000))


def test_independent_max_t_of_p_values():
    p = np.array([[0.01, 0.02, 0.5], [0.04, 0.01, 0.01]])
    apart = independent_max_t(p, np.array([0, 1, 2]))
    assert apart[0] == pytest.approx([1 - 0.99**3, 1 - 0.98**2, 0.5])
    alike = independent_max_t(p, np.array([0, 1, 1]))
    assert alike[0] == pytest.approx([1 - 0.99**2, 1 - 0.98**1, 0.5])
    assert alike[1] == pytest.approx([0.04, 1 - 0.99**2, 1 - 0.99**2])
    assert np.all(apart <= holm(p) + 1e-12)
    assert independent_max_t(np.array([[1.0, 0.0]]), np.array([0, 1])).tolist() == [[1.0, 0.0]]


def worlds(rng, n, m, correlation, clusters):
    """Right-or-wrong differences of m endpoints, alike within items, and within clusters where there are any."""
    shared = np.sqrt(correlation) * rng.standard_normal((n, 1))
    own = np.sqrt(1 - correlation) * rng.standard_normal((n, m))
    latent = shared + own
    if clusters:
        codes = np.arange(n) % clusters
        latent = np.sqrt(0.7) * latent + np.sqrt(0.3) * rng.standard_normal((clusters, m))[codes]
    return np.where(latent > 0.8, 1.0, np.where(latent < -0.8, -1.0, 0.0))


def by_unit(differences, clusters):
    if not clusters:
        return differences
    codes = np.arange(len(differences)) % clusters
    return np.stack([np.bincount(codes, weights=each) for each in differences.T], axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [0, 20, 60])
@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_family_wise_error(clusters, correlation):
    rng = np.random.default_rng(11)
    runs, errors = 2500, 0
    for _ in range(runs):
        sums = by_unit(worlds(rng, 240, 4, correlation, clusters), clusters)
        errors += adjusted(sums, blocks=8).min() < 0.05
    assert 0.04 - 0.006 < errors / runs < 0.06 + 0.006, errors / runs


@pytest.mark.slow
def test_more_power_than_holm_where_members_are_correlated():
    rng = np.random.default_rng(12)
    ours, theirs = 0, 0
    for _ in range(600):
        sums = worlds(rng, 240, 5, 0.9, 0)
        sums[rng.random(240) < 0.09] = 1.0
        p = np.array([sign_flip(each).two_sided for each in sums.T])
        ours += int((np.maximum(adjusted(sums, blocks=8), p) < 0.05).sum())
        theirs += int((holm(p) < 0.05).sum())
    assert ours > 1.05 * theirs, (ours, theirs)
