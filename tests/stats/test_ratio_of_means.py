"""The ratio of paired means against scipy's t-test, the clustered t of another test, and resamples drawn one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from service.errors import InvalidData
from service.kernels.bootstrap.paired_ratio import PairedRatio, pivots
from service.stats.ratio_of_means import _SimulatedRatios as RATIO
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.simulated import FieldRequest, Units
from tests.simulation.rows import ALPHA, LEVEL, Batch, Read
from tests.simulation.worlds import amounts
from tests.stats.bodies import bodies_of_pairs
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes
from tests.stats.soundness import sound

NAME = "ratio-of-means"


def world(seed, n=40, clusters=0):
    return amounts(n, clusters)(np.random.default_rng(seed), 0.7)


def ends(found):
    return found.ratio.ci.low, found.ratio.ci.high


@pytest.mark.parametrize("seed", range(4))
def test_by_definition_scipy_t_of_the_interval_ends_is_at_its_level(seed):
    body = world(seed)
    before, after = np.array(body["baseline"]), np.array(body["candidate"])
    for level in (0.9, 0.95, 0.99):
        found = analyse(NAME, body, level=level)
        for end in ends(found):
            assert stats.ttest_1samp(after - end * before, 0).pvalue == pytest.approx(1 - level, rel=1e-8)
    for null, scipys, ours in (
        (0.8, "less", "less"),
        (0.6, "greater", "greater"),
        (1.0, "two-sided", "two-sided"),
    ):
        expected = stats.ttest_1samp(after - null * before, 0, alternative=scipys).pvalue
        assert analyse(NAME, body, null=null, alternative=ours).p_value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_clusters_agree_with_the_clustered_t_of_candidate_minus_ratio_times_baseline(seed):
    """That one is checked against clubSandwich."""
    body = world(seed, 90, 12)
    found = analyse(NAME, body)
    for ratio, p in ((ends(found)[0], 0.05), (ends(found)[1], 0.05), (1.0, found.p_value)):
        scaled = {**body, "baseline": [ratio * each for each in body["baseline"]]}
        assert analyse("clustered-mcnemar", scaled, method="cr2_t").p_value == pytest.approx(p, rel=1e-7)


def test_single_items_are_clusters_of_one():
    body = world(3)
    apart = analyse(NAME, body | {"clusters": list(range(40))})
    assert ends(apart) == pytest.approx(ends(analyse(NAME, body)))
    assert apart.df == pytest.approx(39)


def test_swapped_arms_turn_the_ratio_round():
    body = world(5, 60, 15)
    found = analyse(NAME, body)
    turned = analyse(NAME, {**body, "baseline": body["candidate"], "candidate": body["baseline"]})
    assert ends(turned) == pytest.approx([1 / each for each in reversed(ends(found))])
    assert turned.ratio.value == pytest.approx(1 / found.ratio.value)
    assert turned.p_value == pytest.approx(found.p_value)


@pytest.mark.parametrize("method", ["fieller", "bootstrap_t"])
def test_units_of_the_amounts_do_not_matter_and_the_ratio_scales(method):
    body, cents = world(6), 100.0
    found = analyse(NAME, body, method=method)
    scaled = {arm: [cents * each for each in body[arm]] for arm in ("baseline", "candidate")}
    assert ends(analyse(NAME, scaled, method=method)) == pytest.approx(ends(found))
    dearer = {**body, "candidate": [cents * each for each in body["candidate"]]}
    assert ends(analyse(NAME, dearer, method=method)) == pytest.approx([cents * each for each in ends(found)])


def test_pivots_are_those_of_resamples_drawn_one_by_one():
    body = world(7, 60, 12)
    before, after = (np.bincount(body["clusters"], weights=body[arm]) for arm in ("baseline", "candidate"))
    pairs = PairedRatio.of(before, after, np.bincount(body["clusters"]).astype(float))
    drawn, rng, literal = pivots(pairs, 8_000, 1), np.random.default_rng(2), []
    for _ in range(8_000):
        picked = rng.integers(0, 12, 12)
        b, c = before[picked], after[picked]
        ratio = c.sum() / b.sum()
        error = math.sqrt(12 / 11 * ((c - ratio * b) ** 2).sum()) / c.sum()
        literal.append((math.log(ratio) - math.log(after.sum() / before.sum())) / error)
    assert stats.ks_2samp(drawn, literal).pvalue > 0.001
    assert not np.array_equal(drawn, pivots(pairs, 8_000, 2))
    np.testing.assert_array_equal(drawn[:600], pivots(pairs, 600, 1))


def test_pivots_by_definition_on_one_resample():
    pairs = PairedRatio.of(
        np.array([1.0, 2.0, 4.0, 3.0, 2.5]), np.array([1.5, 1.0, 3.0, 4.0, 2.0]), np.ones(5)
    )
    rng_pivots = pivots(pairs, 250, 3)
    assert np.isfinite(rng_pivots).sum() > 240
    assert pairs.log_error == pytest.approx(
        math.sqrt(5 / 4 * ((pairs.candidate - pairs.own * pairs.baseline) ** 2).sum()) / pairs.candidate.sum()
    )


def test_a_drawn_p_goes_with_its_interval_and_is_known_to_a_range():
    found = analyse(NAME, world(8, 60, 15), method="bootstrap_t", null=1.0)
    at = analyse(NAME, world(8, 60, 15), method="bootstrap_t", null=found.ratio.ci.high)
    assert at.p_value == pytest.approx(0.05, abs=0.002)
    for path, value in (("ratio.ci.low", found.ratio.ci.low), ("ratio.ci.high", found.ratio.ci.high)):
        low, high = found.within[path]
        assert low < value < high


def test_a_baseline_not_told_apart_from_zero_has_no_upper_end():
    found = analyse(NAME, {"baseline": [0.0, 0.0, 0.0, 9.0], "candidate": [4.0, 5.0, 6.0, 5.0]})
    assert found.ratio.ci.high is None
    assert found.reasons["ratio.ci.high"] == "infinite"
    before, after = np.array([0.0, 0, 0, 9]), np.array([4.0, 5, 6, 5])
    low = found.ratio.ci.low
    assert stats.ttest_1samp(after - low * before, 0).pvalue == pytest.approx(0.05)
    assert stats.ttest_1samp(after - 1e9 * before, 0).pvalue > 0.05
    assert "without an upper end" in found.sentence
    both = analyse(NAME, {"baseline": [0.0, 0.0, 0.0, 9.0], "candidate": [0.0, 0.0, 5.0, 0.0]})
    assert ends(both) == (0.0, None)


@given(
    before=st.lists(st.floats(0, 9).map(lambda x: round(x, 2)), min_size=2, max_size=5),
    drawn=st.data(),
    null=st.sampled_from([0.25, 1.0, 3.0]),
    level=st.sampled_from([0.8, 0.95]),
)
@example(before=[2.1, 3.6], drawn=[1.2, 2.8], null=1.0, level=0.95)
def test_the_interval_holds_the_null_exactly_when_p_is_not_below_alpha(before, drawn, null, level):
    """Of two items the set is often two rays, and the interval that holds both held 1 beside a p below .05."""
    if sum(before) == 0:
        return
    amounts_ = st.lists(
        st.floats(0, 9).map(lambda x: round(x, 2)), min_size=len(before), max_size=len(before)
    )
    after = drawn if isinstance(drawn, list) else drawn.draw(amounts_)
    body = {"baseline": before, "candidate": after}
    found = analyse(NAME, body, null=null, level=level)
    if found.p_value is None or abs(found.p_value - (1 - level)) < 1e-9:
        return
    low, high = ends(found)
    assert (low <= null and (high is None or null <= high)) is (found.p_value > 1 - level)
    sides = [
        analyse(NAME, body, null=null, level=level, alternative=side).p_value for side in ("greater", "less")
    ]
    assert found.p_value == pytest.approx(min(1.0, 2 * min(sides)), rel=1e-9)
    simulated = RATIO(np.array([before]), np.array([after]), np.ones(len(before)), np.random.default_rng(0))
    assert simulated.t_p(null, "two-sided")[0] == pytest.approx(found.p_value, rel=1e-6, abs=1e-12)


def test_a_ratio_that_does_not_vary_decides_nothing():
    found = analyse(NAME, {"baseline": [1.0, 2.0, 3.0], "candidate": [2.0, 4.0, 6.0]})
    assert (found.ratio.value, ends(found), found.p_value) == (2.0, (None, None), None)
    assert "RATIO_FLAT" in codes(ask(NAME, {"baseline": [1.0, 2.0, 3.0], "candidate": [0.3, 0.6, 0.9]}))
    one = analyse(NAME, {"baseline": [2.0], "candidate": [1.0]})
    assert (one.ratio.value, ends(one)) == (0.5, (None, None))


def test_a_candidate_of_zero_throughout_is_a_ratio_of_zero():
    found = analyse(NAME, {"baseline": [1.0, 2.0, 4.0], "candidate": [0.0, 0.0, 0.0]})
    assert (found.ratio.value, ends(found), found.log_se) == (0.0, (None, None), None)
    mostly = analyse(NAME, {"baseline": [1.0, 2.0, 4.0], "candidate": [0.0, 0.0, 1.0]})
    assert mostly.ratio.ci.low == 0.0


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"baseline": [1.0, -1.0], "candidate": [1.0, 1.0]}, "below 0"),
        ({"baseline": [0.0, 0.0], "candidate": [1.0, 1.0]}, "multiple of 0"),
        ({"baseline": [1.0, 2.0], "candidate": [1.0]}, "has 1 values"),
        ({"baseline": [1.0, 2.0], "candidate": [1.0, 3.0], "clusters": [1, 1]}, "single cluster"),
        (
            {"baseline": [1.0, 2.0, 3.0], "candidate": [1.0, 3.0, 2.0], "method": "bootstrap_t"},
            "divides by an error",
        ),
    ],
)
def test_what_cannot_be_used_is_refused(body, message):
    with pytest.raises(InvalidData, match=message):
        ask(NAME, body)


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("path", [("ratio", "ci"), ("ratio", "value"), ("p_value",)])
@pytest.mark.parametrize("alternative", ["less", "greater", "two-sided"])
def test_fields_on_simulated_sets_are_those_of_the_test(clustered, path, alternative):
    test, rng = registry.find(NAME), np.random.default_rng(9)
    sizes = rng.integers(1, 5, 12) if clustered else np.ones(30, dtype=np.int64)
    codes_ = np.repeat(np.arange(len(sizes)), sizes)
    before, after = np.exp(rng.normal(size=(2, 4, len(codes_))))
    sums = [np.add.reduceat(x, np.cumsum(sizes) - sizes, axis=1) for x in (before, after)]
    units = Units(sizes, sums[1] - sums[0], None, clustered, 1, {}, (sums[0], sums[1]))
    options = {"null": 0.9, "alternative": alternative, "level": 0.9, "method": "fieller"}
    found = test.plan.simulated.fields(units, FieldRequest(options.get, None), path)
    for at in range(4):
        body = {"baseline": before[at].tolist(), "candidate": after[at].tolist(), **options}
        each = analyse(NAME, body | ({"clusters": codes_.tolist()} if clustered else {}))
        if path == ("ratio", "ci"):
            assert [found[0][at], found[1][at]] == pytest.approx([*ends(each)])
        else:
            assert found[at] == pytest.approx(each.p_value if path == ("p_value",) else each.ratio.value)


@pytest.mark.slow
def test_simulated_bootstraps_are_near_those_of_the_test():
    test, body = registry.find(NAME), world(10, 80, 20)
    sizes = np.bincount(body["clusters"])
    sums = [np.bincount(body["clusters"], weights=body[arm])[None] for arm in ("baseline", "candidate")]
    units = Units(sizes, sums[1] - sums[0], None, True, 1, {}, (sums[0], sums[1]))
    options = {"null": 1.0, "alternative": "two-sided", "level": 0.9, "method": "bootstrap_t"}
    low, high = test.plan.simulated.fields(units, FieldRequest(options.get, None), ("ratio", "ci"))
    found = analyse(NAME, body, **options)
    assert [low[0], high[0]] == pytest.approx([*ends(found)], rel=0.03)
    for null in (found.ratio.value * 0.9, found.ratio.value, found.ratio.value * 1.15):
        p = {}
        for alternative in ("two-sided", "greater", "less"):
            asked = options | {"null": null, "alternative": alternative}
            (p[alternative],) = test.plan.simulated.fields(units, FieldRequest(asked.get, None), ("p_value",))
            # 999 resamples know a share to 0.016, and a two-sided p is twice one.
            assert p[alternative] == pytest.approx(analyse(NAME, body, **asked).p_value, abs=0.12)
        assert p["two-sided"] == pytest.approx(min(1.0, 2 * min(p["greater"], p["less"])))
        # Every resample is on one side, and the data itself on both.
        assert p["greater"] + p["less"] == pytest.approx(1 + 1 / 1000)


def bodies():
    for body in bodies_of_pairs():
        yield body
        yield body | {"n_resamples": 1000}
    yield {"baseline": [1e149, 2e149, 4e149], "candidate": [3e149, 1e149, 2e149]}
    yield {"baseline": [1e-300, 2e-300, 5e-300], "candidate": [1e140, 3e140, 2e140]}
    yield {"baseline": [1.0, 2.0, 5.0] * 3, "candidate": [2.0, 1.0, 9.0] * 3, "n_resamples": 1000}


def test_extreme_amounts_stay_sound():
    for body in list(bodies())[-3:]:
        try:
            sound(ask(NAME, body))
        except InvalidData as refused:
            assert refused.detail


def simulated():
    """Level and coverage at a ratio of 1 (the null) and at the world's own."""
    for name in ("costs", "costs-20-clusters"):
        for method in ("fieller", "bootstrap_t"):
            options = {"method": method} | ({"n_resamples": 1000} if method == "bootstrap_t" else {})
            yield Batch(name, NAME, (Read("type I error", "p_value", ALPHA),), options, 1.0, 1_000)
            yield Batch(name, NAME, (Read("coverage", "ratio.ci", LEVEL),), options, 0.7, 1_000)


CASES = Cases(
    degenerate=bodies,
    growing=[
        lambda k: {"baseline": [1.0, 2.0] * (2000 * k), "candidate": [2.0, 1.0] * (2000 * k)},
        lambda k: {
            "baseline": [1.0, 2.0] * (500 * k), "candidate": [2.0, 1.0] * (500 * k), "method": "bootstrap_t",
        },
    ],
    unmirrored="its columns are amounts, and swapped arms turn the ratio round: its own tests do that",
    simulated=simulated,
    varied={"method": ["fieller", "bootstrap_t"], "null": [1.0, 0.8]},
)  # fmt: skip
