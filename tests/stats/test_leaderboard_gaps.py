"""The leaderboard where arms lack items: against definitions written out, and what it may not say."""

from __future__ import annotations

import itertools
import math
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from service.errors import InvalidData
from service.kernels.multiplicity.standings import in_order, tiers
from service.kernels.randomization import max_t, partial_arms
from service.stats.shared.declaring import registry
from tests.drawing import draws
from tests.stats.boards import NAME, adjusted, body, contradictions
from tests.stats.oracle import analyse, ask, codes

cells = st.one_of(st.none(), st.integers(-2, 2).map(float), st.integers(-2, 2).map(float))
gappy = st.lists(st.lists(cells, min_size=3, max_size=3), min_size=6, max_size=9).filter(
    lambda rows: (
        all(any(row[arm] is not None for row in rows) for arm in range(3))
        and sum(any(cell is not None for cell in row) for row in rows) > 1
    )
)
FEW = 0.4
"""A level at which pairs of three items are compared."""


def columns_of(rows):
    return {"arms": {f"arm {arm}": [row[arm] for row in rows] for arm in range(len(rows[0]))}}


def missing_third(k, items, seed, lift=0.0):
    """Right and wrong, a third of them missing at random; the first arm is better by `lift`."""
    rng = np.random.default_rng(seed)
    right = rng.random((items, k)) < 0.5 + lift * (np.arange(k) == 0)
    gone = rng.random((items, k)) < 1 / 3
    return [
        [None if gone[i, j] else float(right[i, j]) for j in range(k)]
        for i in range(items)
        if not gone[i].all()
    ]


def normal_scale(t, df):
    return (8 * df + 1) / (8 * df + 3) * math.sqrt(df * math.log1p(t * t / df)) if t < math.inf else math.inf


def by_definition(rows, alpha):
    """Adjusted p of every compared pair of arms from all patterns of signs on its own items, one by one."""
    rows = [row for row in rows if any(cell is not None for cell in row)]
    k, g = len(rows[0]), len(rows)
    pairs = list(itertools.combinations(range(k), 2))
    gaps = {
        (i, j): {c: row[i] - row[j] for c, row in enumerate(rows) if None not in (row[i], row[j])}
        for i, j in pairs
    }
    most = max(len(each) for each in gaps.values())
    alone = next(u for u in itertools.count(1) if 2.0 ** (1 - u) < alpha)
    beside = next(u for u in itertools.count(1) if 2.0 ** (1 - u) < alpha / len(pairs))
    least = max(alone, min(beside, math.ceil(most / 2)))

    def z_of(values):
        n, mean = len(values), sum(values) / len(values)
        left = sum((v - mean) ** 2 for v in values)
        if abs(mean) < 1e-9:
            return 0.0
        return normal_scale(abs(mean) / math.sqrt(left / (n - 1) / n) if left > 1e-9 else math.inf, n - 1)

    seen, centred = {}, {}
    for pair, each in gaps.items():
        if len(each) < least or max(each.values()) - min(each.values()) < 1e-9:
            continue
        mean = sum(each.values()) / len(each)
        seen[pair], centred[pair] = z_of(list(each.values())), {c: v - mean for c, v in each.items()}
    patterns = [(1, *signs) for signs in itertools.product((1, -1), repeat=g - 1)]
    largest = [
        max((z_of([signs[c] * v for c, v in each.items()]) for each in centred.values()), default=0.0)
        for signs in patterns
    ]
    return {
        pair: (1 + sum(each >= z * (1 - 1e-9) - 1e-9 for each in largest)) / (1 + len(patterns))
        for pair, z in seen.items()
    }


@settings(deadline=None, max_examples=draws(20))
@given(gappy)
def test_p_is_the_definition_on_the_items_that_both_have(rows):
    """Directly from the kernel: what follows from arms in between is shown by the other tests."""
    values = np.array([[math.nan if cell is None else cell for cell in row] for row in rows])
    arms = partial_arms.partial(values[~np.isnan(values).all(axis=1)], None, FEW)
    expected, p = by_definition(rows, FEW), arms.max_t(1, 100).adjusted
    for pair, value in zip(itertools.combinations(range(3), 2), p, strict=True):
        assert value == pytest.approx(expected.get(pair, math.nan), abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("groups", [None, 20, 9])
def test_without_gaps_it_is_the_other_route(groups):
    """Items, many clusters whose signs are drawn, and few whose signs are listed."""
    rng = np.random.default_rng(2)
    right = (rng.random((90, 5)) < np.linspace(0.4, 0.8, 5)).astype(float)
    labels = None if groups is None else np.unique(rng.integers(0, groups, 90), return_inverse=True)[1]
    units = max_t.sum_by_unit(right, labels)
    signed = max_t.list_flips(units) if units.n_units <= 14 else max_t.flip_signs(units, 42, range(4))
    whole, gaps = max_t.max_t(units, signed, 0.05), partial_arms.partial(right, labels, 0.05).max_t(42, 1000)
    assert gaps.adjusted == pytest.approx(whole.adjusted, abs=1e-12)
    assert gaps.bars == pytest.approx(whole.bars, rel=1e-9)


def test_products_of_32_bits_say_the_same(monkeypatch):
    rows = missing_third(6, 60, 1)
    arms = [
        partial_arms.partial(np.array(rows, dtype=float), None, 0.05).max_t(42, 500),
        monkeypatch.setattr(partial_arms, "IN_DOUBLE", 0),
        partial_arms.partial(np.array(rows, dtype=float), None, 0.05).max_t(42, 500),
    ]
    assert arms[2].critical == pytest.approx(arms[0].critical, rel=1e-5)
    assert np.all(arms[2].adjusted >= arms[0].adjusted - 1e-12)


@settings(deadline=None, max_examples=draws(20))
@given(gappy)
def test_additive_means_are_the_least_squares_ones(rows):
    rows = [row for row in rows if any(cell is not None for cell in row)]
    values = np.array(rows, dtype=float)
    arms = partial_arms.partial(values, None, FEW)
    item, arm = np.nonzero(~np.isnan(values))
    design = np.zeros((len(item), len(rows) + 3))
    design[np.arange(len(item)), item] = design[np.arange(len(item)), len(rows) + arm] = 1
    if np.linalg.matrix_rank(design) < len(rows) + 2:
        assert arms.additive_means is None
        return
    fitted = np.linalg.lstsq(design, values[item, arm], rcond=None)[0]
    assert arms.additive_means == pytest.approx(fitted[len(rows) :] + fitted[: len(rows)].mean(), abs=1e-9)


def test_an_arm_of_easy_items_stands_where_its_items_put_it():
    """Its own mean is the best, and on the items that others have it is the worst."""
    rng = np.random.default_rng(4)
    easy = np.arange(200) % 2 == 0
    level = np.where(easy, 0.9, 0.2)[:, None] + np.array([0.05, 0.0, -0.15])
    scores = level + rng.normal(0, 0.05, (200, 3))
    rows = [[*row[:2], row[2] if keep else None] for row, keep in zip(scores.tolist(), easy, strict=True)]
    answer = ask(NAME, columns_of(rows))
    *_, last = answer.analysis.arms
    assert (last.name, last.incomplete, last.n, last.missing) == ("arm 2", True, 100, 0.5)
    assert last.mean > answer.analysis.arms[0].mean > last.additive_mean
    assert (last.rank_low, last.tier) == (3, 3)
    assert {"GAPS", "INCOMPLETE_ARMS"} <= set(codes(answer))
    assert answer.analysis.missing.n_common == 100
    assert list(contradictions(answer.analysis)) == []


def test_common_items_alone_are_those_items_sent_alone():
    rows = missing_third(4, 80, 5, lift=0.3)
    whole = [row for row in rows if None not in row]
    found = analyse(NAME, {**columns_of(rows), "common": True})
    assert found.model_dump() == analyse(NAME, columns_of(whole)).model_dump()
    assert found.n == len(whole)


@settings(deadline=None, max_examples=draws(25))
@given(gappy, st.sampled_from([0.1, FEW, 0.7]))
def test_no_part_of_a_board_with_gaps_contradicts_another(rows, alpha):
    found = analyse(NAME, {**columns_of(rows), "alpha": alpha})
    assert list(contradictions(found)) == []
    ahead = {(pair.first, pair.second) for pair in found.pairs if pair.apart}
    tier = {arm.name: arm.tier for arm in found.arms}
    for arm, each in tier.items():
        above = [tier[first] for first, second in ahead if second == arm]
        assert each == 1 + max(above, default=0)


def test_a_round_of_arms_is_no_ranking():
    """Each beats the next on items that the third lacks: no order of the three is right."""
    rng = np.random.default_rng(9)
    rows = []
    for better, worse in ((0, 1), (1, 2), (2, 0)):
        for noise in rng.normal(0, 0.2, 40):
            row = [None, None, None]
            row[better], row[worse] = 1.0 + float(noise), 0.0
            rows.append(row)
    answer = ask(NAME, columns_of(rows))
    assert "GAPS_CONTRADICT" in codes(answer)
    assert answer.analysis.n_apart == 0
    assert {(arm.rank_low, arm.rank_high, arm.tier) for arm in answer.analysis.arms} == {(1, 3, 1)}
    assert {pair.p_value for pair in answer.analysis.pairs} == {None}


def test_arms_that_share_nothing_are_not_compared():
    rows = [[1.0, 0.0, None, None]] * 10 + [[0.0, 1.0, None, None]] * 3
    rows += [[None, None, *row[:2]] for row in rows]
    answer = ask(NAME, columns_of(rows))
    found = answer.analysis
    assert {arm.additive_mean for arm in found.arms} == {None}
    assert "no items link all arms" in found.reasons["arms.0.additive_mean"]
    apart = next(pair for pair in found.pairs if {pair.first, pair.second} == {"arm 0", "arm 2"})
    assert (apart.difference, apart.t, apart.p_value, apart.ci.low) == (None, None, None, None)
    assert found.missing.not_compared == 4
    assert "NOT_COMPARED" in codes(answer)
    assert (
        "have 0 items in common, and 7 are needed"
        in found.reasons[f"pairs.{found.pairs.index(apart)}.p_value"]
    )


def test_a_pair_of_few_common_items_costs_the_others_nothing():
    """Two arms with three common items, all alike in sign, would set a bar that nothing passes."""
    rows = missing_third(4, 120, 6, lift=0.35)
    alone = analyse(NAME, columns_of(rows))
    stranger = [[*row, float(item % 2) if item < 3 else None] for item, row in enumerate(rows)]
    beside = analyse(NAME, columns_of(stranger))
    assert beside.critical_value == pytest.approx(alone.critical_value, abs=0.15)
    assert beside.n_apart == alone.n_apart > 0


def test_the_winner_has_the_bound_of_one_arm_at_the_level_of_all():
    rows = missing_third(5, 120, 7, lift=0.2)
    found = analyse(NAME, columns_of(rows)).winner
    own = [row[0] for row in rows if row[0] is not None]
    alone = analyse("one-sample-mean", {"values": own, "level": 1 - 2 * 0.05 / 5})
    assert (found.name, found.bound_method) == ("arm 0", "clopper-pearson")
    assert found.bound == pytest.approx(alone.ci.low, abs=1e-12)
    assert found.mean == pytest.approx(np.mean(own))
    errors = analyse(NAME, {**columns_of([[None if x is None else 1 - x for x in row] for row in rows]),
                            "better": "lower"}).winner  # fmt: skip
    assert errors.bound == pytest.approx(1 - alone.ci.low, abs=1e-9)


def test_a_winner_that_is_always_right_is_not_certain():
    found = analyse(NAME, body([[1] * 20, [0, 1] * 10])).winner
    assert found.bound == pytest.approx(0.025 ** (1 / 20))


@pytest.mark.slow
def test_the_best_of_many_equal_arms_has_its_mean_above_the_bound():
    rng, runs = np.random.default_rng(21), 2000
    beyond = 0
    for _ in range(runs):
        right = (rng.random((10, 60)) < 0.7).astype(float)
        beyond += analyse(NAME, body(right, n_resamples=100)).winner.bound > 0.7
    assert beyond <= stats.binom.ppf(0.999, runs, 0.05)


@settings(deadline=None, max_examples=draws(30))
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=15))
def test_tiers_are_longest_chains_in_an_order_that_keeps_them(edges):
    ahead = np.zeros((7, 7), dtype=bool)
    for one, other in edges:
        ahead[min(one, other), max(one, other)] = one != other
    for middle in range(7):
        ahead |= ahead[:, middle, None] & ahead[middle]

    def chain(arm):
        return 1 + max((chain(other) for other in np.flatnonzero(ahead[:, arm])), default=0)

    assert tiers(ahead) == [chain(arm) for arm in range(7)]
    means = np.linspace(0, 1, 7)  # the other way round
    order = in_order(means, ahead)
    assert sorted(order) == list(range(7))
    assert not any(ahead[order[j], order[i]] for i, j in itertools.combinations(range(7), 2))
    assert in_order(means, np.zeros((7, 7), dtype=bool)) == list(range(6, -1, -1))


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        ({"arms": {"a": [1.0, 0.0], "b": [None, None]}}, "has no outcome at all"),
        (
            {"arms": {"a": [1.0, None], "b": [None, 1.0]}, "common": True},
            "fewer than two items that all arms have",
        ),
        ({"arms": {"a": [1.0, None], "b": [1.0, None]}}, "single item"),
        ({"arms": {"a": [1.0, 0.0, None], "b": [1.0, 1.0, None]}, "clusters": [1, 1, 2]}, "single cluster"),
    ],
)
def test_what_has_too_little_or_too_much_is_refused(sent, says):
    with pytest.raises(InvalidData, match=says):
        analyse(NAME, sent)


def test_more_cells_than_fit_are_refused_before_anything_is_computed(monkeypatch):
    monkeypatch.setattr(sys.modules[registry.find(NAME).request.__module__], "MOST_CELLS", 11)
    with pytest.raises(InvalidData, match="times items are more than 11"):
        analyse(NAME, body([[0.0] * 4] * 3))


def test_many_arms_draw_less_and_their_cost_is_known_before():
    test = registry.find(NAME)
    rows = missing_third(120, 300, 8)
    request = test.request.model_validate(columns_of(rows))
    assert request.draws == 10_000
    larger = test.request.model_validate(columns_of([row * 2 for row in rows]))
    assert 1_000 <= larger.draws < 10_000
    assert test.cost(larger) < 20
    assert test.request.model_validate({**columns_of(rows), "n_resamples": 700}).draws == 700


@pytest.mark.slow
@pytest.mark.parametrize("gone", [0.0, 1 / 3])
def test_three_hundred_arms_on_a_thousand_items_take_ten_seconds(gone):
    rng = np.random.default_rng(3)
    right, lacks = rng.random((1000, 300)) < np.linspace(0.5, 0.8, 300), rng.random((1000, 300)) < gone
    columns = np.where(lacks, np.nan, right.astype(float)).T
    arms = {
        f"arm {arm}": [None if math.isnan(x) else x for x in each]
        for arm, each in enumerate(columns.tolist())
    }
    started = time.process_time()
    found = analyse(NAME, {"arms": arms})
    assert time.process_time() - started < 10
    assert found.n_apart > 5_000


def test_skewness_of_every_pair_is_that_of_its_differences():
    rng = np.random.default_rng(15)
    scores = rng.lognormal(size=(40, 4))
    labels = np.arange(40) // 2
    pairs = list(itertools.combinations(range(4), 2))
    plain = [stats.skew(scores[:, i] - scores[:, j]) for i, j in pairs]
    sums = [stats.skew(np.add.reduceat(scores[:, i] - scores[:, j], range(0, 40, 2))) for i, j in pairs]
    for codes_, expected in ((None, plain), (labels, sums)):
        assert max_t.sum_by_unit(scores, codes_).skewness == pytest.approx(expected)
        assert partial_arms.partial(scores, codes_, 0.05).skewness == pytest.approx(expected)


def test_lower_and_renamed_arms_change_nothing_with_gaps():
    rows = missing_third(4, 60, 10, lift=0.3)
    up = analyse(NAME, columns_of(rows))
    turned = {"arms": dict(reversed(columns_of(rows)["arms"].items()))}
    assert adjusted(analyse(NAME, turned)) == pytest.approx(adjusted(up), abs=1e-9)
    down = analyse(NAME, {**columns_of([[None if x is None else -x for x in row] for row in rows]),
                          "better": "lower"})  # fmt: skip
    assert adjusted(down) == adjusted(up)
    assert [arm.name for arm in down.arms] == [arm.name for arm in up.arms]
