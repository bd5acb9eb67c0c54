"""Differences of quantiles against scipy's quantile test and bootstrap, and resamples drawn one by one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from service.errors import InvalidData
from service.kernels.bootstrap.quantile_bootstrap import (
    compute_weighted_quantile,
    order_ranks,
    resampled_quantiles,
)
from service.kernels.numeric.streams import generator, picks
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.simulated import FieldRequest, Units
from tests.simulation.rows import ALPHA, LEVEL, Batch, Read
from tests.stats.bodies import bodies_of_pairs
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes

NAME = "quantile-difference"


def world(seed, n=60, clusters=0, digits=3):
    rng = np.random.default_rng(seed)
    before = np.exp(rng.normal(size=n)).round(digits)
    body = {
        "baseline": before.tolist(),
        "candidate": (before * np.exp(rng.normal(-0.2, 0.4, n))).round(digits).tolist(),
    }
    return {**body, "clusters": (np.arange(n) % clusters).tolist()} if clusters else body


def differences(body):
    return np.array(body["candidate"]) - np.array(body["baseline"])


@pytest.mark.parametrize("q", [0.5, 0.25, 0.9])
@pytest.mark.parametrize("digits", [3, 0])
def test_differences_agree_with_scipys_quantile_test(q, digits):
    body = world(1, digits=digits)
    d = differences(body)
    for ours in ("two-sided", "greater", "less"):
        expected = stats.quantile_test(d, q=0, p=q, alternative=ours)
        found = analyse(NAME, body, of="differences", q=q, alternative=ours)
        assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    for level in (0.9, 0.95, 0.99):
        found = analyse(NAME, body, of="differences", q=q, level=level)
        expected = stats.quantile_test(d, q=0, p=q).confidence_interval(level)
        for end, scipys in ((found.ci.low, expected.low), (found.ci.high, expected.high)):
            assert end == pytest.approx(scipys) if np.isfinite(scipys) else end is None


def test_order_statistics_miss_with_no_more_than_their_share_by_definition():
    for n in (5, 11, 40):
        for q in (0.1, 0.5, 0.8):
            low, high = order_ranks(n, q, 0.025)
            if low is not None:
                assert stats.binom.cdf(low - 1, n, q) <= 0.025 < stats.binom.cdf(low, n, q)
            if high is not None:
                assert stats.binom.sf(high - 1, n, q) <= 0.025 < stats.binom.sf(high - 2, n, q)


def test_the_median_of_differences_is_the_sign_test():
    body = world(2)
    d = differences(body)
    d = d[d != 0]
    kept = {"baseline": [0.0] * len(d), "candidate": d.tolist()}
    expected = stats.binomtest(int((d > 0).sum()), len(d)).pvalue
    assert analyse(NAME, kept, of="differences").p_value == pytest.approx(expected)


def test_interval_and_test_are_one_another_turned_around():
    body = world(3)
    found = analyse(NAME, body, of="differences")
    for end, inside in ((found.ci.low, -1), (found.ci.high, 1)):
        for step, rejects in ((1e-6 * inside, True), (-1e-6 * inside, False)):
            moved = {**body, "candidate": [c - end - step for c in body["candidate"]]}
            assert (analyse(NAME, moved, of="differences").p_value <= 0.05) == rejects


@pytest.mark.parametrize("q", [0.5, 0.9])
def test_arms_agree_with_scipys_paired_bootstrap(q):
    body = world(4, n=200)
    found = analyse(NAME, body, q=q)

    def statistic(before, after, axis):
        return np.quantile(after, q, axis=axis) - np.quantile(before, q, axis=axis)

    expected = stats.bootstrap(
        (body["baseline"], body["candidate"]), statistic, paired=True, method="percentile", n_resamples=8000,
        rng=np.random.default_rng(5),
    ).confidence_interval  # fmt: skip
    se = abs(expected.high - expected.low) / 4
    assert found.ci.low == pytest.approx(expected.low, abs=0.15 * se)
    assert found.ci.high == pytest.approx(expected.high, abs=0.15 * se)
    assert found.delta == pytest.approx(np.quantile(body["candidate"], q) - np.quantile(body["baseline"], q))


def test_weighted_quantiles_are_those_of_the_values_written_out():
    rng = np.random.default_rng(6)
    values = np.sort(rng.normal(size=9))
    copies = rng.integers(0, 4, (30, 9))
    copies[:, 0] += copies.sum(axis=1) == 0
    for q in (0.03, 0.5, 0.77):
        literal = [np.quantile(np.repeat(values, row), q) for row in copies]
        assert compute_weighted_quantile(values, copies, q) == pytest.approx(literal)


def test_single_items_are_resampled_as_clusters_of_one_would_be():
    rng = np.random.default_rng(13)
    values = rng.normal(size=15).round(1)
    found = resampled_quantiles([values], np.arange(15), 0.3, 40, 5)[:, 0]
    order = np.argsort(values, kind="stable")
    draws = generator(5, 0)
    copies = np.array([np.bincount(picks(draws, 15, 15), minlength=15) for _ in range(40)])
    assert found == pytest.approx(compute_weighted_quantile(values[order], copies[:, order], 0.3))


def test_whole_clusters_are_resampled():
    body = world(7, 60, 12)
    labels, rng, literal = np.array(body["clusters"]), np.random.default_rng(8), []
    columns = [np.array(body["baseline"]), np.array(body["candidate"])]
    drawn = resampled_quantiles(columns, labels, 0.5, 4000, 1)
    for _ in range(4000):
        items = np.concatenate([np.flatnonzero(labels == each) for each in rng.integers(0, 12, 12)])
        literal.append([np.median(column[items]) for column in columns])
    difference, wanted = (np.diff(each, axis=1)[:, 0] for each in (drawn, np.array(literal)))
    assert difference.mean() == pytest.approx(wanted.mean(), abs=4 * wanted.std() / 60)
    assert difference.std() == pytest.approx(wanted.std(), rel=0.07)
    assert not np.array_equal(drawn, resampled_quantiles(columns, labels, 0.5, 4000, 2))
    np.testing.assert_array_equal(drawn[:300], resampled_quantiles(columns, labels, 0.5, 300, 1))


@pytest.mark.parametrize(
    ("clusters", "warned"), [(0, set()), (9, {"FEW_CLUSTERS"}), (10, {"CAUTION"}), (30, set())]
)
def test_few_clusters_are_warned_of_and_few_items_are_none(clusters, warned):
    said = codes(ask(NAME, world(3, 30, clusters), n_resamples=1000))
    assert said & {"FEW_CLUSTERS", "CAUTION"} == warned
    assert not codes(ask(NAME, world(3, 12), n_resamples=1000)) & {"FEW_CLUSTERS", "CAUTION"}


@pytest.mark.parametrize("of", ["arms", "differences"])
def test_swapped_arms_negate_the_median(of):
    body = world(9)
    found = analyse(NAME, body, of=of)
    turned = analyse(NAME, {"baseline": body["candidate"], "candidate": body["baseline"]}, of=of)
    assert turned.delta == pytest.approx(-found.delta)
    assert [turned.ci.low, turned.ci.high] == pytest.approx([-found.ci.high, -found.ci.low])
    assert turned.p_value == pytest.approx(found.p_value)


def test_ends_beyond_the_sample_are_unbounded():
    found = analyse(NAME, world(10, n=5), of="differences")
    assert (found.ci.low, found.ci.high) == (None, None)
    assert found.reasons["ci.low"] == found.reasons["ci.high"] == "infinite"


def test_resamples_that_do_not_vary_decide_nothing():
    flat = analyse(NAME, {"baseline": [0.0] * 20, "candidate": [1.0] * 20})
    assert set(flat.undecided) == {"ci", "p_value"}
    assert (flat.ci.low, flat.ci.high) == (1.0, 1.0)
    assert "QUANTILE_FLAT" in codes(ask(NAME, {"baseline": [3.0], "candidate": [1.0]}))


@pytest.mark.parametrize("of", ["arms", "differences"])
def test_rounding_is_neither_spread_nor_a_difference(of):
    """Hundredths, all moved by two: the differences part in their last digit, and zero was rejected."""
    hundredths = np.array([5, 3, 5, 4, 4, 1, 5, 5, 2, 2, 4])
    body = {"baseline": (hundredths / 100).tolist(), "candidate": ((hundredths + 2) / 100).tolist(), "of": of}
    flat = analyse(NAME, body, clusters=list(range(11)))
    assert set(flat.undecided) == {"ci", "p_value"}
    same = {"baseline": [0.3] * 20, "candidate": [0.1 + 0.2] * 20, "of": of}
    assert analyse(NAME, same).p_value == 1


def test_a_tie_of_medians_is_one_in_any_unit():
    """Medians of 11.5 and 10.8 in sevens of a tenth are as often equal as in whole numbers."""
    whole = {"baseline": np.array([2, 2, 0, 2]), "candidate": np.array([1, 2, 1, 0])}
    moved = {arm: (0.7 * values + 10.1).tolist() for arm, values in whole.items()}
    plain = {arm: values.astype(float).tolist() for arm, values in whole.items()}
    assert analyse(NAME, moved).p_value == analyse(NAME, plain).p_value


def test_drawn_numbers_lie_in_their_ranges():
    found = analyse(NAME, world(11))
    for path, value in (("ci.low", found.ci.low), ("ci.high", found.ci.high), ("p_value", found.p_value)):
        low, high = found.within[path]
        assert low <= value <= high


def test_fields_on_simulated_sets_are_those_of_the_test():
    test, rng = registry.find(NAME), np.random.default_rng(12)
    sums = rng.normal(0.2, 1.0, (4, 30))
    units = Units(np.ones(30, dtype=np.int64), sums, None, False, 1)
    options = {"of": "differences", "q": 0.7, "alternative": "greater", "level": 0.9}
    fields = {
        path: test.plan.simulated.fields(units, FieldRequest(options.get, None), path)
        for path in (("ci",), ("p_value",), ("delta",))
    }
    for at in range(4):
        found = analyse(NAME, {"baseline": [0.0] * 30, "candidate": sums[at].tolist(), **options})
        low, high = fields[("ci",)]
        assert (low[at], high[at]) == pytest.approx((found.ci.low, found.ci.high))
        assert fields[("p_value",)][at] == pytest.approx(found.p_value)
        assert fields[("delta",)][at] == pytest.approx(found.delta)
    arms = {**options, "of": "arms"}
    assert test.plan.simulated.fields(units, FieldRequest(arms.get, None), ("ci",)) is None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"baseline": [], "candidate": []}, "no items"),
        ({"baseline": [1.0], "candidate": [1.0, 2.0]}, "has 2 values"),
        ({"baseline": [1.0, 2.0], "candidate": [1.0, 3.0], "clusters": [1, 1]}, "single cluster"),
        ({"baseline": [1e151, 2.0], "candidate": [1.0, 3.0]}, "beyond"),
    ],
)
def test_what_cannot_be_used_is_refused(body, message):
    with pytest.raises(InvalidData, match=message):
        ask(NAME, body)


def bodies():
    for body in bodies_of_pairs():
        yield body | {"n_resamples": 1000}
        yield body | {"of": "differences", "q": 0.9, "n_resamples": 1000}


def simulated():
    """Level and coverage where the arms have one distribution."""
    for name in ("costs", "costs-20-clusters"):
        for options in ({"of": "arms"}, {"of": "arms", "q": 0.9}, {"of": "differences"}):
            draws = {} if name == "costs" and options["of"] == "differences" else {"n_resamples": 1000}
            reads = (Read("type I error", "p_value", ALPHA), Read("coverage", "ci", LEVEL, truth=0.0))
            yield Batch(name, NAME, reads, {**options, **draws}, 1.0, 1_000)


CASES = Cases(
    degenerate=bodies,
    growing=[
        lambda k: {"baseline": [1.0, 2.0] * (500 * k), "candidate": [2.0, 1.0] * (500 * k)},
        lambda k: {
            "baseline": [1.0, 2.0] * (5000 * k), "candidate": [2.0, 1.0] * (5000 * k), "of": "differences",
        },
    ],
    unmirrored="resamples follow the order of items: its own tests swap the arms",
    simulated=simulated,
    varied={"of": ["differences", "arms"], "q": [0.5, 0.75]},
    shown={"of": ["differences", "arms"], "n_resamples": [1000]},
)  # fmt: skip
