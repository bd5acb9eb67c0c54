"""The leaderboard against definitions written out, other packages, and what must not change it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import cochrans_q

from service.errors import InvalidData
from service.kernels.multiplicity.standings import find_tied_sets, follow
from service.kernels.randomization import max_t
from service.stats.shared.declaring import registry
from tests.drawing import draws
from tests.simulation.reads import errors
from tests.simulation.rows import ALPHA, LEVEL, Batch, Read
from tests.simulation.worlds import WORLDS
from tests.stats.boards import NAME, adjusted, body, contradictions
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes
from tests.stats.ranked import differences_covered, like_arms_apart, parts_agree, ranks_covered, says_too_much

GAPPY = (
    "eight-arms-gaps",
    "eight-arms-tied-gaps",
    "eight-arms-10-clusters-gaps",
    "eight-arms-uneven-clusters-gaps",
)
tables = st.integers(2, 4).flatmap(
    lambda k: st.lists(st.lists(st.integers(-3, 3), min_size=k, max_size=k), min_size=3, max_size=7)
)
clustered = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 1), st.integers(0, 1), st.integers(0, 1)),
    min_size=6, max_size=16,
).filter(lambda rows: len({row[0] for row in rows}) > 1)  # fmt: skip


def by_definition(columns, labels=None):
    """Adjusted p of every pair of arms from all patterns of signs, written out one by one."""
    columns = np.asarray(columns, dtype=float)
    labels = list(range(columns.shape[1])) if labels is None else labels
    clusters = sorted(set(labels))
    n, g = columns.shape[1], len(clusters)
    pairs = list(itertools.combinations(range(len(columns)), 2))

    def studentized(sums, sizes):
        mean = sum(sums) / n
        left = sum((total - size * mean) ** 2 for total, size in zip(sums, sizes, strict=True))
        return (
            0.0
            if abs(sum(sums)) < 1e-9
            else math.inf
            if left < 1e-9
            else abs(mean) / math.sqrt(left * g / (g - 1)) * n
        )

    seen, drawn = {}, {}
    sizes = [labels.count(cluster) for cluster in clusters]
    for pair in pairs:
        difference = columns[pair[0]] - columns[pair[1]]
        sums = [sum(d for d, label in zip(difference, labels, strict=True) if label == c) for c in clusters]
        # each cluster against the mean of all others, by its share of them: the jackknife's residual
        centred = [
            total - size * (sum(sums) - total) / (n - size) for total, size in zip(sums, sizes, strict=True)
        ]
        if max(map(abs, centred)) < 1e-9:
            continue
        seen[pair] = studentized(sums, sizes)
        drawn[pair] = [
            studentized([sign * c for sign, c in zip((1, *signs), centred, strict=True)], sizes)
            for signs in itertools.product((1, -1), repeat=g - 1)
        ]
    many = 2 ** (g - 1)
    largest = [max((drawn[pair][at] for pair in seen), default=0.0) for at in range(many)]
    p = {
        pair: (1 + sum(each >= t * (1 - 1e-9) - 1e-9 for each in largest)) / (1 + many)
        for pair, t in seen.items()
    }
    means = columns.mean(axis=1)
    ahead = {pair if means[pair[0]] > means[pair[1]] else pair[::-1]: value for pair, value in p.items()}
    for _ in columns:  # of a chain of arms the first is ahead of the last
        for (one, middle), (third, other) in itertools.product(list(ahead), repeat=2):
            if middle == third:
                through = max(ahead[one, middle], ahead[third, other])
                ahead[one, other] = min(ahead.get((one, other), math.inf), through)
    return {pair: min(ahead.get(pair, math.inf), ahead.get(pair[::-1], math.inf)) for pair in pairs
            if pair in ahead or pair[::-1] in ahead}  # fmt: skip


def same_as_definition(found, expected):
    p = adjusted(found)
    for (i, j), value in expected.items():
        assert p.pop(frozenset((f"arm {i}", f"arm {j}"))) == pytest.approx(value, abs=1e-12)
    assert set(p.values()) <= {None}


@settings(deadline=None, max_examples=draws(25))
@given(tables.filter(lambda rows: len(rows[0]) > 2))  # two arms alone: test_one_pair_one_interval
def test_p_is_the_definition_over_all_patterns(rows):
    columns = np.array(rows, dtype=float).T
    same_as_definition(analyse(NAME, body(columns)), by_definition(columns))


@settings(deadline=None, max_examples=draws(25))
@given(clustered)
def test_clusters_flip_as_a_whole(rows):
    columns, labels = np.array([row[1:] for row in rows], dtype=float).T, [row[0] for row in rows]
    same_as_definition(analyse(NAME, body(columns, clusters=labels)), by_definition(columns, labels))


@pytest.mark.parametrize(
    "values", [[1.0, 0.4, 0.3], [3, 0, 3, 0], [1e6 + 0.1, 1e6 + 0.7, 0.3, 5.9], [1, 0, 1, 0]]
)
def test_equal_means_share_a_rank_in_whatever_order_they_are_summed(values):
    """Of three arms with the same values in other orders two had rank 1 and one 3, by the last digit of a sum."""
    columns = [values, values[::-1], values[1:] + values[:1]]
    found = analyse(NAME, body(columns))
    assert [arm.rank for arm in found.arms] == [1, 1, 1]
    assert len({arm.mean for arm in found.arms}) == 1
    assert {pair.difference for pair in found.pairs} == {0}
    assert "'arm 0', 'arm 1', 'arm 2' share the best mean" in found.sentence
    worse = analyse(NAME, body([*columns, [value - 0.1 for value in values]]))
    assert [arm.rank for arm in worse.arms] == [1, 1, 1, 4]


def test_one_pair_has_the_paired_t_as_its_statistic():
    rng = np.random.default_rng(3)
    one, other = rng.normal(size=40), rng.normal(0.4, 1, 40)
    (pair,) = analyse(NAME, body([one, other])).pairs
    assert pair.t == pytest.approx(abs(stats.ttest_rel(one, other).statistic))
    assert pair.p_value == pytest.approx(stats.ttest_rel(one, other).pvalue, abs=0.02)
    low, high = stats.ttest_rel(other, one).confidence_interval()
    assert pair.ci.low <= low < high <= pair.ci.high  # it knows of what was not seen as well


def test_more_draws_come_closer_to_all_patterns():
    """Drawn and listed distributions are of the same thing."""
    rng = np.random.default_rng(11)
    columns = rng.normal(size=(4, 12)) + np.linspace(0, 1.2, 4)[:, None]
    units = max_t.sum_by_unit(columns.T, None)
    exact = max_t.max_t(units, max_t.list_flips(units), 0.05)
    drawn = max_t.max_t(units, max_t.flip_signs(units, 5, range(160)), 0.05)
    assert drawn.adjusted == pytest.approx(exact.adjusted, abs=0.012)
    assert drawn.critical == pytest.approx(exact.critical, rel=0.03)


def test_all_arms_at_once_agree_with_other_packages():
    rng = np.random.default_rng(8)
    right = (rng.random((60, 5)) < np.linspace(0.4, 0.7, 5)).astype(float)
    found = analyse(NAME, body(right.T)).alike
    theirs = cochrans_q(right)
    assert (found.test, found.statistic, found.p_value) == (
        "cochran_q", pytest.approx(theirs.statistic), pytest.approx(theirs.pvalue)
    )  # fmt: skip
    scores = rng.integers(0, 6, (30, 4)).astype(float)
    found, theirs = analyse(NAME, body(scores.T)).alike, stats.friedmanchisquare(*scores.T)
    assert (found.test, found.statistic, found.p_value) == (
        "friedman", pytest.approx(theirs.statistic), pytest.approx(theirs.pvalue)
    )  # fmt: skip


def test_published_cochran_q():
    """Siegel (1956), Nonparametric Statistics, 7: 13, 13 and 3 of 18 women say yes in three interviews: Q = 16.7."""
    rows = ["111"] * 3 + ["110"] * 8 + ["100"] * 2 + ["010"] * 2 + ["000"] * 3
    columns = np.array([[int(x) for x in row] for row in rows]).T
    assert columns.sum(axis=1).tolist() == [13, 13, 3]
    assert analyse(NAME, body(columns)).alike.statistic == pytest.approx(16.7, abs=0.05)


def test_permutation_of_whole_clusters_agrees_with_the_chi_square_of_independent_items():
    rng = np.random.default_rng(4)
    right = (rng.random((150, 3)) < np.array([0.5, 0.5, 0.6])).astype(float)
    free = analyse(NAME, body(right.T)).alike
    singles = analyse(NAME, body(right.T, clusters=list(range(150)))).alike
    assert singles.route == "permutation"
    assert singles.p_value == pytest.approx(free.p_value, abs=0.06)


@settings(deadline=None, max_examples=draws(25))
@given(st.integers(2, 7).flatmap(lambda k: st.lists(st.booleans(), min_size=k * k, max_size=k * k)))
def test_tied_sets_are_all_maximal_sets_without_a_pair_apart(flags):
    k = math.isqrt(len(flags))
    apart = np.array(flags).reshape(k, k)
    apart = np.triu(apart, 1) | np.triu(apart, 1).T
    sets = [
        set(each)
        for size in range(1, k + 1)
        for each in itertools.combinations(range(k), size)
        if not any(apart[i, j] for i, j in itertools.combinations(each, 2))
    ]
    largest = [sorted(each) for each in sets if not any(each < other for other in sets)]
    found, complete = find_tied_sets(apart, 1000)
    assert (found, complete) == (sorted(largest), True)


def test_too_many_tied_sets_are_cut_and_said():
    """Thirteen groups of three that differ inside a group only: 3^13 maximal sets."""
    apart = np.kron(np.eye(13, dtype=bool), ~np.eye(3, dtype=bool))
    found, complete = find_tied_sets(apart, 200)
    assert (len(found), complete) == (200, False)


@settings(deadline=None, max_examples=draws(60))
@given(tables, st.sampled_from([0.05, 0.3, 0.7]))
def test_no_part_of_a_board_contradicts_another(rows, alpha):
    """Best set, ranks, pairs, intervals and tied sets follow from one event, at levels where much is told apart too."""
    assert list(contradictions(analyse(NAME, body(np.array(rows, dtype=float).T, alpha=alpha)))) == []


def test_what_lies_between_two_arms_tells_them_apart():
    """a > b > c are shown, a against c is too noisy by itself: it follows, with the larger p and a low end above 0."""
    rng = np.random.default_rng(3)
    middle, noise = rng.normal(size=60), rng.normal(0, 4, 60)
    noise -= noise.mean()
    top, bottom = middle + 1.0 + noise, middle - 1.0 - noise
    found = analyse(NAME, body([top, middle, bottom]))
    assert list(contradictions(found)) == []
    p, low = np.full((3, 3), np.inf), np.full((3, 3), -np.inf)
    p[[0, 0, 1], [1, 2, 2]], low[[0, 0, 1], [1, 2, 2]] = [0.01, 0.2, 0.03], [0.5, -0.4, 0.25]
    implied, bounds = follow(p, low, 0.05)
    assert (implied[0, 2], bounds[0, 2]) == (0.03, 0.75)
    assert np.array_equal(follow(p, low, 0.02)[1], low)


def test_arms_that_are_alike_are_seldom_called_anything_but_alike():
    """Eight equal arms, and one page: 26 of 100 named an arm as not the best by Hsu's bars of single arms."""
    rng, named = np.random.default_rng(26), 0
    for _ in range(120):
        right = (rng.random((8, 60)) < 0.6).astype(float)
        found = analyse(NAME, body(right, n_resamples=200))
        named += says_too_much(found)
    assert named <= stats.binom.ppf(0.999, 120, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("world", ["five-arms", "eight-arms", "eight-arms-uneven-clusters"])
def test_one_error_rate_for_all_that_is_said(world):
    """Skewed scores in 20 clusters of lognormal sizes erred .07 of the time before residuals were the jackknife's."""
    rng, runs, draw = np.random.default_rng(8), 1500, WORLDS[world].draw
    wrong = sum(says_too_much(analyse(NAME, draw(rng, 0.0) | {"n_resamples": 300})) for _ in range(runs))
    assert wrong <= stats.binom.ppf(0.999, runs, 0.05), wrong / runs


def test_many_items_have_the_bars_of_normal_theory():
    """Of four independent arms Tukey's studentized range for all pairs."""
    rng = np.random.default_rng(31)
    units = max_t.sum_by_unit(rng.normal(size=(1000, 4)), None)
    found = max_t.max_t(units, max_t.flip_signs(units, 1, range(80)), 0.05)
    assert found.critical == pytest.approx(
        stats.studentized_range.ppf(0.95, 4, np.inf) / math.sqrt(2), abs=0.04
    )
    largest = np.abs(units.t).argmax()
    theory = stats.studentized_range.sf(abs(units.t[largest]) * math.sqrt(2), 4, np.inf)
    assert found.adjusted[largest] == pytest.approx(theory, abs=0.02)


def test_copies_on_top_may_both_be_best():
    rng = np.random.default_rng(6)
    top, other = (rng.random(40) < 0.9).astype(float), (rng.random(40) < 0.85).astype(float)
    found = analyse(NAME, body([top, top, other, np.zeros(40)]))
    assert set(found.best_set) >= {"arm 0", "arm 1"}
    assert "arm 3" not in found.best_set
    assert {arm.rank for arm in found.arms if arm.name in ("arm 0", "arm 1")} == {1}


def test_heat_is_the_pairs_as_a_table():
    rng = np.random.default_rng(12)
    found = analyse(NAME, body(rng.normal(size=(4, 25))))
    table = np.array(found.heat)
    assert np.array_equal(table, -table.T)
    names = [arm.name for arm in found.arms]
    for pair in found.pairs:
        assert table[names.index(pair.first), names.index(pair.second)] == pair.t


def test_all_patterns_are_listed_up_to_fourteen_units():
    rng = np.random.default_rng(13)
    assert ask(NAME, body(rng.normal(size=(3, 14)))).provenance.exact
    drawn = ask(NAME, body(rng.normal(size=(3, 15)), seed=4)).provenance
    assert (drawn.exact, drawn.n_resamples, drawn.seed) == (False, 10_000, 4)


def test_another_seed_draws_otherwise():
    rng = np.random.default_rng(14)
    columns = rng.normal(size=(3, 30))
    assert analyse(NAME, body(columns)).critical_value != analyse(NAME, body(columns, seed=7)).critical_value


def test_ranks_are_what_simultaneous_intervals_leave_open():
    rng = np.random.default_rng(2)
    columns = rng.normal(size=(6, 80)) + np.linspace(0, 1, 6)[:, None]
    found = analyse(NAME, body(columns))
    for arm in found.arms:
        better = sum(pair.second == arm.name and pair.ci.low > 0 for pair in found.pairs)
        worse = sum(pair.first == arm.name and pair.ci.low > 0 for pair in found.pairs)
        assert (arm.rank_low, arm.rank_high) == (1 + better, 6 - worse)
        assert arm.rank_low <= arm.rank <= arm.rank_high
    assert found.arms[-1].rank_low > 1


@settings(deadline=None, max_examples=draws(15))
@given(tables, st.floats(-50, 50), st.sampled_from([0.5, 2.0, 1e-6, 1e12]))
def test_order_names_shift_and_scale_change_nothing(rows, shift, scale):
    columns = np.array(rows, dtype=float).T
    p = adjusted(analyse(NAME, body(columns)))
    moved = adjusted(analyse(NAME, body(columns * scale + round(shift) * scale)))
    for pair, value in p.items():
        assert moved[pair] == (None if value is None else pytest.approx(value, abs=1e-9))
    turned = body(columns[:, ::-1])
    turned["arms"] = dict(reversed(turned["arms"].items()))
    again = adjusted(analyse(NAME, turned))
    assert {pair: value is None for pair, value in again.items()} == {
        pair: v is None for pair, v in p.items()
    }
    for pair, value in p.items():
        assert again[pair] == (None if value is None else pytest.approx(value, abs=1e-9))


def test_lower_may_be_the_better():
    up = analyse(NAME, body([[1, 2, 3, 4], [2, 4, 5, 7], [1, 1, 2, 9]]))
    down = analyse(NAME, body([[-1, -2, -3, -4], [-2, -4, -5, -7], [-1, -1, -2, -9]], better="lower"))
    assert [arm.name for arm in up.arms] == [arm.name for arm in down.arms]
    assert [arm.mean for arm in up.arms] == [-arm.mean for arm in down.arms]
    assert [pair.difference for pair in up.pairs] == [pair.difference for pair in down.pairs]
    assert adjusted(up) == adjusted(down)


def test_copies_are_not_told_apart_and_said():
    answer = ask(NAME, body([[0, 3, 1, 0, 1], [0, 3, 1, 0, 1], [1, 0, 1, 0, 0]]))
    first = next(pair for pair in answer.analysis.pairs if {pair.first, pair.second} == {"arm 0", "arm 1"})
    assert (first.p_value, first.apart, first.difference) == (None, False, 0.0)
    assert "NO_SPREAD_BETWEEN" in codes(answer)


def test_few_units_leave_intervals_open_and_cannot_reject():
    answer = ask(NAME, body([[0, 1, 5], [1, 3, 4], [9, 9, 8]]))
    assert {pair.ci.high for pair in answer.analysis.pairs} == {None}
    assert answer.analysis.n_apart == 0
    assert "FLOOR_ABOVE_ALPHA" in codes(answer)


def test_mirrored_signs_are_listed_once():
    units = max_t.sum_by_unit(np.random.default_rng(1).normal(size=(5, 3)), None)
    assert len(max_t.list_flips(units)) == 16


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        (body([[1, 2], [1, 2, 3]]), "where arms.arm 0 has 2"),
        (body([[1], [2]]), "single item"),
        (body([[1, 2], [2, 3]], clusters=[1, 1]), "single cluster"),
        (body([[1, 2], [2, 3]], clusters=[1]), "clusters"),
    ],
)
def test_what_is_no_leaderboard_is_refused(sent, says):
    with pytest.raises(InvalidData, match=says):
        analyse(NAME, sent)


def bodies():
    yield from (body(columns) for columns in (
        [[1, 1], [1, 1]], [[0, 1], [1, 0]], [[0] * 12] * 3, [[1e200, -1e200, 3], [4, 5, 6], [0, 0, 0]],
        [[1e-200, 2e-200, 5e-200], [2e-200, 1e-200, 9e-200]], [[5e-324, 0, 1e-323], [0, 1e-323, 5e-324]],
        [[0.1 * k for k in range(9)], [0.1 * k + 0.1 for k in range(9)]], [[1.0] * 3, [1.0 + 2e-16, 1, 1]],
        [[0.0] * 13 + [1e9], [0.0] * 14], [[k % 2 for k in range(20)], [k % 3 == 0 for k in range(20)]],
        [[], []], [[1, 0, 1]],
    ))  # fmt: skip
    for labels in (["all"] * 6, [1, 1, 2, 2, 3, 3], list(range(6)), [0, 0, 0, 0, 0, 1], [1] * 5):
        yield body([[0, 1, 1, 0, 1, 0], [1, 1, 1, 0, 0, 1], [0, 0, 1, 0, 0, 1]], clusters=labels)


def many(items, k, **more):
    rng = np.random.default_rng(0)
    return body((rng.random((k, items)) < 0.6).astype(float), **more)


def best_covered(found):
    """The best arm, the first, is in the best set."""
    return "arm 0" in found.best_set


def simulated() -> Iterator[Batch]:
    """What is drawn where the truth is known."""
    alike = (
        errors("n_apart", "of any pair"),
        Read("coverage", "", LEVEL, label="of all differences", judge=differences_covered),
    )
    for world in ("five-arms", "five-arms-10-clusters", "five-arms-20-clusters", "twenty-arms"):
        many = 10_000 if world == "five-arms-10-clusters" else 4_000  # the level is asked to a hundredth
        yield Batch(world, NAME, alike, {"n_resamples": 1_000}, simulations=many)
    whole = (Read("type I error", "", ALPHA, label="of anything said", judge=says_too_much),)
    for world in ("eight-arms", "eight-arms-uneven-clusters", *GAPPY):
        many = 2_000 if world in GAPPY else 4_000
        yield Batch(world, NAME, whole, {"n_resamples": 1_000}, simulations=many)
    graded = (
        Read("type I error", "", ALPHA, label="of any like pair", judge=like_arms_apart),
        Read("coverage", "", LEVEL, label="of all ranks", judge=ranks_covered),
        Read("coverage", "", LEVEL, label="of the best arm", judge=best_covered),
    )
    for world in ("graded-arms", "graded-arms-20-clusters", "graded-arms-gaps"):
        yield Batch(world, NAME, graded, {"n_resamples": 1_000})


CASES = Cases(
    degenerate=bodies,
    growing=[
        lambda k: many(2000 * k, 3),
        lambda k: many(100, 4, n_resamples=1000 * k),
        lambda k: many(600 * k, 3, clusters=[item // 2 for item in range(600 * k)]),
    ],
    unmirrored="it has no baseline and candidate: its own tests rename, reorder, shift and scale",
    simulated=simulated,
)


def test_drawing_in_parts_changes_nothing():
    assert parts_agree(registry.find(NAME).request.model_validate(many(40, 3, n_resamples=1000)).units)


def test_no_mean_is_minus_nothing():
    """The sentence gave the best mean as "-0.0%" of errors, of which there were none."""
    found = analyse(NAME, body([[0, 0, 0, 0], [0, 1, 0, 1]], better="lower"))
    assert "the best mean (0.0%)" in found.sentence
