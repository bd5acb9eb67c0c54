"""These items alone: by definition, against the sums themselves, by the law of rare failures, and on odd data."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from service.errors import InvalidData
from service.kernels.repeats.fixed_items import RunSets, cells_of_counts, cells_of_sets
from service.kernels.repeats.fixed_items_skewed import SkewedRunSets
from service.stats.shared.declaring import registry
from tests.drawing import draws
from tests.simulation.rows import ALPHA, LEVEL, Batch, Read
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask

NAME = "fixed-items"
RUNS = st.lists(st.integers(0, 1), min_size=3, max_size=3)
PAIRS = st.lists(st.tuples(RUNS, RUNS), min_size=2, max_size=8)


def body(pairs):
    return {"baseline": [list(one) for one, _ in pairs], "candidate": [list(other) for _, other in pairs]}


VERSIONS = pytest.mark.parametrize("version", [1, 2])


def of_version(version, sent, **more):
    test = registry.find(NAME, version)
    return test.answer(test.request.model_validate(sent | more)).analysis


@VERSIONS
def test_by_definition_the_error_is_that_of_repeats(version):
    rng = np.random.default_rng(1)
    before, after = rng.normal(0, 1, (7, 4)), rng.normal(0.5, 2, (7, 3))
    sent = {"baseline": before.tolist(), "candidate": after.tolist(), "range": {"low": -20, "high": 20}}
    found = of_version(version, sent)
    parts = np.concatenate([before.var(axis=1, ddof=1) / 4, after.var(axis=1, ddof=1) / 3])
    runs = np.repeat([4, 3], 7)
    assert found.delta == pytest.approx(after.mean() - before.mean())
    assert found.se == pytest.approx(math.sqrt(parts.sum()) / 7)
    welch = parts.sum() ** 2 / (parts**2 / (runs - 1)).sum()
    assert found.df == pytest.approx(min(welch, 2 * parts.sum() ** 2 / (parts**2).sum()))
    t, step = stats.t.ppf(0.975, found.df), 40 / (7 * 3)
    assert found.step == pytest.approx(step)
    if version == 1:
        half = t * found.se + (2 * t**2 + 1) / 6 * step
        assert (found.ci.low, found.ci.high) == pytest.approx((found.delta - half, found.delta + half))
        return
    # a run of the candidate loses what it has over the least score, one of the baseline what it lacks of the greatest
    lost = [(after.max(axis=1) + 20, 3), (20 - before.min(axis=1), 4)]
    won = [(20 - after.min(axis=1), 3), (before.max(axis=1) + 20, 4)]
    for end, rooms in ((found.ci.low, lost), (found.ci.high, won)):
        d = max(float((room / of).max()) for room, of in rooms) / 7
        n = sum(float(room.sum()) for room, _ in rooms) / 7 / d
        k = found.se**2 / d**2
        unseen = (n * stats.beta.ppf(0.975, k + 1, n - k) - k) * d
        assert abs(end - found.delta) == pytest.approx(max(t * found.se, unseen))


def test_the_example_is_the_one_of_its_page():
    found = ask(NAME, registry.find(NAME).example).analysis
    assert (found.delta, found.se, found.df) == pytest.approx((6 / 18, 1 / 9, 8))
    assert (found.n, found.n_runs, found.n_varying) == (6, 36, 4)
    assert stats.t.ppf(0.975, 8) / 9 == pytest.approx(0.256, abs=5e-4)
    assert (found.ci.low, found.ci.high) == pytest.approx((0.044, 0.590), abs=5e-4)


def test_one_item_of_two_runs_is_welch():
    """Of a single item the error and its degrees of freedom are those of two samples."""
    one, other = [0.1, 0.4, 0.35, 0.2, 0.3], [0.6, 0.8, 0.55]
    found = analyse(NAME, {"baseline": [one], "candidate": [other]})
    welch = stats.ttest_ind(other, one, equal_var=False)
    assert found.delta / found.se == pytest.approx(welch.statistic)
    assert found.df == pytest.approx(min(welch.df, found.df))
    assert found.p_value > welch.pvalue  # by the fewer degrees of freedom, and by what was not seen


@given(PAIRS, st.sampled_from(["two-sided", "greater", "less"]))
@settings(deadline=None, max_examples=draws(30))
def test_interval_and_p_never_disagree_and_arms_change_places(pairs, alternative):
    sent = body(pairs)
    found = analyse(NAME, sent, alternative=alternative)
    turned = {"two-sided": "two-sided", "greater": "less", "less": "greater"}[alternative]
    other = analyse(NAME, {"baseline": sent["candidate"], "candidate": sent["baseline"]}, alternative=turned)
    assert other.delta == pytest.approx(-found.delta, abs=1e-12)
    assert (other.ci.low, other.ci.high) == pytest.approx((-found.ci.high, -found.ci.low), abs=1e-9)
    assert other.p_value == pytest.approx(found.p_value, rel=1e-6)
    tail = found.p_value / (2 if alternative == "two-sided" else 1)
    if tail < 0.49:
        at = analyse(NAME, sent, level=1 - 2 * tail)
        up = found.delta > 0 if alternative == "two-sided" else alternative == "greater"
        assert (at.ci.low if up else at.ci.high) == pytest.approx(0, abs=1e-7)
    assert found.ci.low - 1e-12 <= found.delta <= found.ci.high + 1e-12
    # whatever order runs and items have
    again = analyse(
        NAME, body([(one[::-1], two[::-1]) for one, two in reversed(pairs)]), alternative=alternative
    )
    assert (again.p_value, again.se) == pytest.approx((found.p_value, found.se), rel=1e-9)


def test_where_no_run_differs_sums_bound_each_arm_of_the_first_version():
    found = of_version(1, {"baseline": [[1, 1], [0, 0]] * 5, "candidate": [[1, 1]] * 10})
    low_of_all = 0.0125 ** (1 / 20)
    most = stats.beta.ppf(1 - 0.0125, 11, 10)
    assert (found.se, found.df, found.ci.method) == (0.0, None, "clopper-pearson")
    assert found.ci.low == pytest.approx(low_of_all - most)
    assert found.ci.high == pytest.approx(1 - stats.beta.ppf(0.0125, 10, 11))
    assert 0 < found.p_value < 0.05


def test_where_no_run_differs_the_ends_are_what_shows_as_much_with_that_chance():
    """20 runs of the candidate may have lost unseen, and the baseline's ten that failed may have won; nine not both."""
    found = analyse(NAME, {"baseline": [[1, 1], [0, 0]] * 5, "candidate": [[1, 1]] * 10})
    assert (found.se, found.df, found.ci.method) == (0.0, None, "furthest")
    assert found.ci.low == pytest.approx(0.5 - 30 * (1 - 0.025 ** (1 / 30)) / 20)
    assert found.ci.high == pytest.approx(0.5 + 10 * (1 - 0.025 ** (1 / 10)) / 20)
    assert 0 < found.p_value < 0.05
    alone = analyse(NAME, {"values": [[1, 1]] * 10})
    assert (alone.mean, alone.ci.low, alone.ci.high) == (1.0, pytest.approx(0.025 ** (1 / 20)), 1.0)
    assert alone.p_value is None
    scores = analyse(NAME, {"baseline": [[7, 7]], "candidate": [[9, 9]]})
    assert (scores.ci.low, scores.p_value) == (None, None)
    assert [warning.code for warning in scores.warnings] == ["SEEN_RANGE"]


@pytest.mark.parametrize("noise", [1e-6, 0.01, 0.1])
@pytest.mark.parametrize("expected", [2.0, 3.6, 8.0])
@pytest.mark.parametrize(("n", "runs"), [(10, 3), (4, 12), (40, 2)])
def test_losses_that_runs_often_hold_none_of_are_in_the_interval(n, runs, expected, noise):
    """So many of all runs lose everything in the mean, the others differ little; the first version erred up to .12."""
    rng = np.random.default_rng([n, runs])
    share = expected / (n * runs)
    scores = 0.9 + noise * rng.uniform(-1, 1, (3000, n, runs))
    sets = RunSets((cells_of_sets(np.where(rng.random(scores.shape) < share, 0.0, scores)),), 0.0, 1.0)
    truth = 0.9 * (1 - share)
    low, high = sets.ends(0.025)
    assert (low > truth).mean() <= 0.025 + 3 * math.sqrt(0.025 * 0.975 / 3000)
    assert (high < truth).mean() <= 0.025 + 3 * math.sqrt(0.025 * 0.975 / 3000)
    if (n, expected, noise) == (10, 2.0, 1e-6):
        assert (SkewedRunSets(sets).ends(0.025)[0] > truth).mean() > 0.09


@pytest.mark.parametrize("bounds_of", [lambda items: items, SkewedRunSets])
@pytest.mark.parametrize(("n", "runs"), [(1, 2), (1, 6), (1, 12), (2, 4), (3, 3), (4, 2)])
def test_by_every_outcome_it_errs_no_more_than_it_says(n, runs, bounds_of):
    """All data sets of few items, weighed by the binomial law: arms alike, far apart, and one that never fails."""
    counts = np.array(list(itertools.product(range(runs + 1), repeat=n)))
    low, high = np.repeat(counts, len(counts), axis=0), np.tile(counts, (len(counts), 1))
    items = RunSets((cells_of_counts(low, runs), cells_of_counts(high, runs)), 0.0, 1.0)
    alone = RunSets((cells_of_counts(counts, runs),), 0.0, 1.0)
    ends, ends_alone = bounds_of(items).ends(0.025), bounds_of(alone).ends(0.025)
    rng = np.random.default_rng(n)
    uneven = [(rng.beta(0.4, 0.4, n), rng.beta(3, 0.5, n)) for _ in range(10)]
    for before, after in (
        *((0.5, 0.5), (1.0, 0.8), (1.0, 0.98), (0.9, 0.95), (0.3, 0.7), (0.99, 0.01), (0.5, 0.95)),
        *uneven,
    ):
        chances = [np.linspace(np.maximum(p - 0.05, 0), np.minimum(p + 0.05, 1), n) for p in (before, after)]
        chances = [each if each.ndim == 1 else np.diagonal(each) for each in chances]
        weights = [stats.binom.pmf(counts, runs, each).prod(axis=1) for each in chances]
        weight = np.outer(*weights).ravel()
        truth = chances[1].mean() - chances[0].mean()
        assert weight.sum() == pytest.approx(1)
        assert weight[ends[0] > truth + 1e-9].sum() <= 0.025
        assert weight[ends[1] < truth - 1e-9].sum() <= 0.025
        for each, of in zip(chances, weights, strict=True):
            assert of[ends_alone[0] > each.mean() + 1e-9].sum() <= 0.025
            assert of[ends_alone[1] < each.mean() - 1e-9].sum() <= 0.025


@pytest.mark.parametrize("tail", [0.001, 0.025, 0.2])
def test_where_runs_agree_p_is_the_tail_whose_end_is_the_value(tail):
    """No item differs between its runs, so that ends come from sums alone, and p from halving over them."""
    right = [[3, 3, 0, 0], [3, 0, 0, 0], [3, 3, 3, 3]]
    sets = SkewedRunSets(RunSets((cells_of_counts(np.array(right), 3),), 0.0, 1.0))
    low, high = sets.ends(tail)
    for at in range(3):
        assert low[at] == 0.0 or sets.p_above(float(low[at]))[at] == pytest.approx(tail, rel=1e-6)
        assert high[at] == 1.0 or sets.p_below(float(high[at]))[at] == pytest.approx(tail, rel=1e-6)
    assert (low > 0).any()
    assert (high < 1).any()


@pytest.mark.parametrize("mean", [0.5, 3.0, 4.0, 8.0, 12.0, 20.0, 40.0])
def test_of_rare_failures_of_one_arm_it_errs_no_more_than_it_says(mean):
    """A baseline that never fails, and a candidate that rarely does, nowhere twice: failures follow Poisson's law.

    Student's t alone would miss more often.
    """
    n, runs = 400, 3
    failures = np.arange(100)
    right = np.full((len(failures), n), runs) - (np.arange(n) < failures[:, None])
    sure = np.full_like(right, runs)
    items = RunSets((cells_of_counts(sure, runs), cells_of_counts(right, runs)), 0.0, 1.0)
    low, high = items.ends(0.025)
    law, truth = stats.poisson.pmf(failures, mean), -mean / (n * runs)
    assert law[low > truth].sum() <= 0.025
    assert law[high < truth].sum() <= 0.025
    if mean == 20:
        t = special_t(items)
        assert law[items.estimate - t > truth].sum() > 0.03


def special_t(items):
    return np.where(items.se > 0, stats.t.ppf(0.975, np.where(items.se > 0, items.df, 1)) * items.se, 0)


@pytest.mark.parametrize(("sent", "field"), [
    ({"baseline": [[1, 0], [1]], "candidate": [[1, 0], [1, 1]]}, "baseline.1"),
    ({"values": [[1]]}, "values.0"),
    ({"baseline": [[1, 0]], "candidate": [[1, 0], [1, 1]]}, "candidate"),
    ({"baseline": [[1, 0]]}, "values"),
    ({"values": [[1, 0]], "candidate": [[1, 0]]}, "values"),
    ({"values": [[1, 0]], "range": {"low": 0, "high": 0.5}}, "range"),
])  # fmt: skip
def test_what_is_no_repeat_is_refused(sent, field):
    with pytest.raises(InvalidData) as refused:
        ask(NAME, sent)
    assert refused.value.faults[0].path == field


def bodies():
    """One item, no spread, far values, tiny ones, unlike numbers of runs, and what is none."""
    for one, other in (
        ([[1, 1]], [[1, 1]]), ([[0, 1]], [[1, 0]]), ([[0, 0]] * 3, [[1, 1]] * 3),
        ([[0.1 + 0.2, 0.3]] * 4, [[0.3, 0.3]] * 4),
        ([[1e140, -1e140]], [[3, 4]]), ([[5e-324, 0.0]], [[0.0, 1e-323]]), ([], []), ([[]], [[]]),
        ([[1, 2], [3, 4, 5]], [[1, 1, 1], [2, 2]]), ([[1, 0]] * 2, [[1, 0]]), ([[0, 1] * 20] * 2, [[1, 1]] * 2),
    ):  # fmt: skip
        yield {"baseline": one, "candidate": other}
        yield {"values": other}
        yield {"baseline": one, "candidate": other, "clusters": list(range(len(one)))}


def simulated():
    """Level, coverage and power where failures are rare, and where most items always end alike."""
    reads = (Read("type I error", "p_value", ALPHA), Read("coverage", "ci", LEVEL))
    for name in ("fixed-rare", "fixed-mixed"):
        yield Batch(name, NAME, reads)


CASES = Cases(
    degenerate=bodies,
    growing=[lambda k: {"baseline": [[0.1, 0.4]] * (500 * k), "candidate": [[0.2, 0.3]] * (500 * k)}],
    unmirrored="its arms are nested lists: its own tests turn them around",
    simulated=simulated,
    varied={"level": [0.95, 0.9], "alternative": ["two-sided", "greater", "less"]},
)
