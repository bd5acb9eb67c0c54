"""One arm's mean against published values, by its definition, by brute force, and by its properties."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from service.errors import InvalidData
from service.kernels.numeric.clusters import cluster_sums, codes_of, robust_errors
from service.kernels.pairs import gaffke
from service.stats.shared.declaring import registry
from service.stats.shared.methods.one_mean import OneMean
from tests.drawing import draws
from tests.stats.bodies import CLUSTERS, COLUMNS
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes
from tests.stats.shapes import ends
from tests.stats.soundness import sound

NAME = "one-sample-mean"
CASES_OF_SHARES = st.integers(1, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))

SIZES = (44, 96, 55, 85, 62, 76, 91, 57, 65, 79, 20)
RIGHT = (11, 53, 18, 28, 27, 23, 50, 22, 27, 52, 8)
"""Instances of 11 repositories, and how many of them one agent resolved."""


def share(right, n, **options):
    return analyse(NAME, {"values": [1] * right + [0] * (n - right)}, **options)


def in_clusters(right, sizes):
    values = [x for k, n in zip(right, sizes, strict=True) for x in [1] * k + [0] * (n - k)]
    return {"values": values, "clusters": [g for g, n in enumerate(sizes) for _ in range(n)]}


@pytest.mark.parametrize(
    ("right", "n", "method", "low", "high"),
    [
        (10, 10, "clopper-pearson", 0.691503, 1.0),
        (45, 50, "clopper-pearson", 0.781865, 0.966725),
        (45, 50, "wilson", 0.786398, 0.956524),
        (0, 10, "clopper-pearson", 0.0, 0.308497),
        (1, 1, "clopper-pearson", 0.025, 1.0),
    ],
)
def test_against_published_intervals_of_shares(right, n, method, low, high):
    found = share(right, n, method=method)
    assert ends(found.ci) == pytest.approx((low, high), abs=1e-6)
    assert found.ci.method == method
    assert found.intervals[method] == found.ci


@given(CASES_OF_SHARES)
@settings(deadline=None, max_examples=draws(40))
def test_agrees_with_statsmodels(case):
    right, n = case
    found = share(right, n)
    for ours, theirs in (("clopper-pearson", "beta"), ("wilson", "wilson"), ("jeffreys", "jeffreys")):
        low, high = proportion_confint(right, n, 0.05, theirs)
        if theirs == "jeffreys":  # of none and of all the ends of the range
            low, high = (0.0 if right == 0 else low), (1.0 if right == n else high)
        assert ends(found.intervals[ours]) == pytest.approx((low, high), abs=1e-9)


@given(CASES_OF_SHARES, st.floats(0.01, 0.99))
@settings(deadline=None, max_examples=draws(40))
def test_by_definition_the_p_of_a_threshold_is_the_binomial_tail(case, threshold):
    right, n = case
    against = share(right, n, threshold=threshold).against
    assert against.p_meets == pytest.approx(stats.binom.sf(right - 1, n, threshold), rel=1e-9, abs=1e-300)
    assert against.p_falls_short == pytest.approx(stats.binom.cdf(right, n, threshold), rel=1e-9, abs=1e-300)
    prior = stats.beta(right + 0.5, n - right + 0.5)
    assert against.posterior == pytest.approx(prior.sf(threshold), abs=1e-9)


@given(
    CASES_OF_SHARES,
    st.floats(0.01, 0.99),
    st.sampled_from(["clopper-pearson", "wilson"]),
    st.sampled_from(["higher", "lower"]),
)
@settings(deadline=None, max_examples=draws(60))
def test_interval_and_test_never_disagree(case, threshold, method, better):
    found = share(*case, threshold=threshold, method=method, better=better)
    against, (low, high) = found.against, ends(found.ci)
    if min(abs(low - threshold), abs(high - threshold)) < 1e-8:
        return
    good, bad = (
        (low > threshold, high < threshold) if better == "higher" else (high < threshold, low > threshold)
    )
    assert against.outcome == ("meets" if good else "falls_short" if bad else "cannot_tell")
    assert (against.p_meets < 0.025) == good
    assert (against.p_falls_short < 0.025) == bad


def test_against_a_published_evaluation_in_clusters():
    # SWE-bench Pro, 730 instances in 11 repositories, Claude Sonnet 4.5; closed forms computed apart from the service
    found = analyse(NAME, in_clusters(RIGHT, SIZES))
    assert (found.n, found.mean) == (730, pytest.approx(0.436986, abs=5e-7))
    assert (found.se, found.df) == (pytest.approx(0.0419347, abs=5e-8), pytest.approx(8.98214, abs=5e-6))
    assert found.clusters.cr0_se == pytest.approx(0.0395905, abs=5e-8)
    assert found.ci.method == "cr2_t"
    assert ends(found.ci) == pytest.approx((0.342095, 0.531878), abs=1e-6)
    assert ends(found.clusters.independent) == pytest.approx((0.401427, 0.473205), abs=1e-6)
    assert found.clusters.design_effect == pytest.approx(
        (0.0395905**2 * 11 / 10) / (0.0183583**2 * 730 / 729), rel=1e-4
    )
    assert found.clusters.effective_n == pytest.approx(730 / found.clusters.design_effect)


def test_by_definition_cr2_and_its_degrees_of_freedom():
    rng = np.random.default_rng(3)
    sizes = np.array([3, 9, 4, 12, 7])
    labels = np.repeat(np.arange(5), sizes)
    values = rng.random(35)
    found = analyse(NAME, {"values": values.tolist(), "clusters": labels.tolist()})
    n, away = 35, values - values.mean()
    sums = np.bincount(labels, away)
    assert found.se == pytest.approx(math.sqrt((sums**2 / (1 - sizes / n)).sum()) / n)
    a = 1 / (n * np.sqrt(1 - sizes / n))
    k = np.outer(a, a) * (np.diag(sizes) - np.outer(sizes, sizes) / n)
    assert found.df == pytest.approx(np.trace(k) ** 2 / np.trace(k @ k))
    half = stats.t.ppf(0.975, found.df) * found.se
    assert found.intervals["cr2_t"].low == pytest.approx(found.mean - half)
    assert found.intervals["cr0_z"].high == pytest.approx(
        found.mean + 1.959964 * math.sqrt((sums**2).sum()) / n, abs=1e-6
    )


def test_clusters_of_one_item_are_independent_items():
    values = np.random.default_rng(1).random(40).tolist()
    alone = analyse(NAME, {"values": values})
    grouped = analyse(NAME, {"values": values, "clusters": list(range(40))})
    assert grouped.se == pytest.approx(alone.se)
    assert grouped.df == pytest.approx(alone.df)
    assert ends(grouped.intervals["cr2_t"]) == pytest.approx(ends(alone.intervals["t"]))


def test_both_estimands_against_a_published_evaluation_with_runs():
    # tau-bench airline, gpt-4o: 50 tasks, four trials each, by how many trials were right
    counts = {0: 14, 1: 12, 2: 10, 3: 4, 4: 10}
    runs = [[1] * right + [0] * (4 - right) for right, tasks in counts.items() for _ in range(tasks)]
    found = analyse(NAME, {"values": runs})
    assert found.mean == pytest.approx(0.42)
    assert found.se == pytest.approx(0.0522162, abs=5e-8)
    assert found.these_items.se == pytest.approx(0.0270801, abs=5e-8)
    assert (found.n, found.n_values, found.least_runs, found.most_runs) == (50, 200, 4, 4)
    spread = np.array([np.var(each, ddof=1) / 4 for each in runs])
    assert found.these_items.df == pytest.approx(spread.sum() ** 2 / (spread**2 / 3).sum())
    assert found.these_items.ci.high - found.these_items.ci.low < 0.6 * (found.ci.high - found.ci.low)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([1, 0, 1], "every item has one run"),
        ([[1, 0], [1]], "1 of 2 items have one run"),
        ([[1, 1], [0, 0]], "no item's runs differ"),
    ],
)
def test_these_items_alone_need_runs_that_differ(values, why):
    answer = sound(ask(NAME, {"values": values}))
    assert answer.analysis.these_items.ci is None
    assert why in answer.analysis.reasons["these_items.ci"]


def test_scores_have_gaffkes_bounds_and_right_and_wrong_is_a_case_of_them():
    exact = share(7, 20)
    # the same column in another unit is scores in a range
    scaled = analyse(NAME, {"values": [4.0] * 7 + [2.0] * 13, "range": {"low": 2, "high": 4}})
    assert scaled.ci.method == "gaffke"
    assert ends(scaled.ci) == pytest.approx([2 + 2 * end for end in ends(exact.ci)], rel=1e-7)


def test_few_skewed_scores_do_not_mislead():
    answer = ask(NAME, {"values": [1.0] * 9 + [0.9], "threshold": 0.95})
    found = answer.analysis
    assert found.intervals["t"].low > 0.95
    assert found.ci.low < 0.75
    assert found.against.outcome == "cannot_tell"
    assert "UNIT_TAKEN" in codes(answer)


def test_bounds_of_scores_hold_their_level_where_few_are_bad():
    """By brute force: every sample of six of these three scores, with its chance."""
    support, chances = np.array([0.0, 0.9, 1.0]), np.array([0.08, 0.12, 0.8])
    truth, missed, missed_by_t = float(support @ chances), 0.0, 0.0
    for counts in itertools.product(range(7), repeat=3):
        if sum(counts) != 6:
            continue
        chance = stats.multinomial.pmf(counts, 6, chances)
        found = analyse(NAME, {"values": np.repeat(support, counts).tolist()})
        missed += chance * (not found.ci.low <= truth <= found.ci.high)
        t = found.intervals.get("t")
        missed_by_t += chance * (t is None or not t.low <= truth <= t.high)
    assert missed <= 0.05
    assert missed_by_t > 0.2


@pytest.mark.parametrize(("clusters", "size"), [(12, 5), (40, 5), (100, 3)])
def test_scores_in_clusters_know_of_items_too_rare_to_have_been_seen(clusters, size):
    """Three in a hundred items have 0, the rest about a half: none was seen, and CR2 alone called .49 met."""
    half = 0.5 + 0.001 * np.random.default_rng(2).standard_normal(clusters * size)
    labels = np.repeat(np.arange(clusters), size).tolist()
    body = {"values": half.tolist(), "clusters": labels, "range": {"low": 0, "high": 1}}
    answer = analyse(NAME, {**body, "threshold": 0.499})
    assert answer.intervals["cr2_t"].low > 0.499
    assert answer.against.outcome == "cannot_tell"
    assert answer.ci.method == "furthest"
    alone = analyse(NAME, {"values": half.tolist(), "range": {"low": 0, "high": 1}})
    assert answer.ci.low <= alone.ci.low + 1e-12


def test_right_and_wrong_in_another_unit_are_judged_as_right_and_wrong():
    plain = in_clusters([12, 8, 11, 9, 10, 10, 13, 7], [20] * 8)
    scaled = {**plain, "values": [100.0 * x for x in plain["values"]], "range": {"low": 0, "high": 100}}
    one, other = analyse(NAME, plain), analyse(NAME, scaled)
    assert one.ci.method == other.ci.method == "cr2_t"
    assert ends(other.ci) == pytest.approx([100 * end for end in ends(one.ci)])


def test_of_few_without_a_known_range_it_is_students_t():
    values = [12.0, 15.0, 9.0, 30.0, 11.0]
    answer = ask(NAME, {"values": values, "threshold": 40})
    low, high = stats.t.interval(0.95, 4, np.mean(values), stats.sem(values))
    assert ends(answer.analysis.ci) == pytest.approx((low, high))
    assert ends(answer.analysis.intervals["t"]) == pytest.approx((low, high))
    assert answer.analysis.ci.method == "furthest"
    assert answer.analysis.against.outcome == "falls_short"
    assert answer.analysis.against.p_falls_short == pytest.approx(
        stats.ttest_1samp(values, 40, alternative="less").pvalue
    )
    assert "NO_RANGE" in codes(answer)


RARE = [5.0] * 45 + [1.0] * 5
"""Ratings from 1 to 5, nobody said that they are."""


@pytest.mark.parametrize("times", [1.0, 1e140])
def test_without_a_known_range_what_was_seen_stands_for_it(times):
    found = analyse(NAME, {"values": [times * x for x in RARE], "threshold": 4 * times})
    bounded = analyse(NAME, {"values": RARE, "range": {"low": 1, "high": 5}, "threshold": 4})
    t = found.intervals["t"]
    assert found.intervals["gaffke_observed"].low == pytest.approx(times * bounded.ci.low)
    # the side on which rare scores lie is Gaffke's, where t knows of none; the other one stays t's
    assert found.ci.low == found.intervals["gaffke_observed"].low < t.low
    assert found.ci.high == t.high > found.intervals["gaffke_observed"].high
    assert found.against.p_meets == pytest.approx(bounded.against.p_meets)


def test_bounds_are_computed_once_for_all_that_an_answer_says(monkeypatch):
    asked = []
    plain = gaffke.lower_end
    monkeypatch.setattr(gaffke, "lower_end", lambda *given: asked.append(given) or plain(*given))
    analyse(NAME, {"values": RARE, "range": {"low": 1, "high": 5}, "threshold": 4})
    assert len(asked) == 2  # a lower end, and the upper one as that of the values turned around


def test_in_clusters_scores_without_a_known_range_have_an_interval():
    sizes = [5] * 10
    clusters = [g for g, n in enumerate(sizes) for _ in range(n)]
    found = analyse(NAME, {"values": RARE[::-1], "clusters": clusters})
    known = analyse(NAME, {"values": RARE[::-1], "clusters": clusters, "range": {"low": 1, "high": 5}})
    assert found.intervals["cr2_t"].low == pytest.approx(known.intervals["cr2_t"].low)
    assert found.intervals["korn-graubard"].low == pytest.approx(known.intervals["korn-graubard"].low)
    assert found.ci.method == "furthest"
    assert "ci" not in found.reasons


def test_what_was_seen_alone_decides_nothing():
    """Clusters that do not differ leave t without a width; the range seen, alone, showed 4.9 to be met by three."""
    body = {"values": [5.0, 7.0] * 3, "clusters": [1, 1, 2, 2, 3, 3], "threshold": 4.9}
    found = analyse(NAME, body)
    assert (found.ci, found.against.outcome) == (None, "cannot_tell")


def test_rare_scores_without_a_known_range_are_seldom_beyond_the_interval():
    """The truth is above Student's t alone in more than .08 of these log-normal columns, nominal .025."""
    rng = np.random.default_rng(7)
    means = [OneMean(np.exp(1.2 * rng.standard_normal(60)) + 3, None, None) for _ in range(150)]
    truth = math.exp(0.72) + 3
    assert np.mean([mean.beside["t"].p_below(truth) < 0.025 for mean in means]) > 0.08
    assert np.mean([mean.deciding[1].p_below(truth) < 0.025 for mean in means]) < 0.06


def test_near_an_end_the_exact_interval_of_the_effective_items_has_a_say():
    found = analyse(NAME, in_clusters([20, 20, 20, 20, 20, 18], [20] * 6))
    assert found.ci.method == "furthest"
    kinds = [found.intervals[name] for name in ("cr2_t", "korn-graubard", "whole_clusters")]
    assert ends(found.ci) == (min(kind.low for kind in kinds), max(kind.high for kind in kinds))


def test_all_right_in_clusters_is_the_exact_interval_of_one_item_per_cluster():
    found = analyse(NAME, in_clusters([10, 30, 5, 5], [10, 30, 5, 5]))
    assert found.ci.method == "korn-graubard"
    assert ends(found.ci) == pytest.approx((0.025 ** (1 / 4), 1.0))
    assert found.clusters.design_effect is None


def test_korn_and_graubards_interval_is_the_exact_one_of_fewer_items():
    body = in_clusters(RIGHT, SIZES)
    found = analyse(NAME, body)
    low, high = ends(found.intervals["korn-graubard"])
    groups = cluster_sums(np.array(body["values"], dtype=float), codes_of(body["clusters"]))
    error, p = robust_errors(groups)["cr2"], found.mean
    effective = (
        p * (1 - p) * 730 / 729 / error.se**2 / (stats.t.ppf(0.975, error.df) / stats.norm.ppf(0.975)) ** 2
    )
    assert low == pytest.approx(stats.beta.ppf(0.025, p * effective, (1 - p) * effective + 1), abs=1e-6)
    assert high == pytest.approx(stats.beta.ppf(0.975, p * effective + 1, (1 - p) * effective), abs=1e-6)


@pytest.mark.parametrize(("level", "threshold", "n"), [(0.9, 0.9, 29), (0.95, 0.9, 36), (0.95, 0.5, 6)])
def test_what_all_right_can_show(level, threshold, n):
    at, below = (share(k, k, threshold=threshold, level=level).against for k in (n, n - 1))
    assert (at.outcome, below.outcome) == ("meets", "cannot_tell")
    assert at.attainable.least_units == below.attainable.least_units == n
    assert below.attainable.bound < threshold <= at.attainable.bound


def test_three_of_three_can_never_show_nine_in_ten():
    against = share(3, 3, threshold=0.9).against
    assert against.attainable.bound == pytest.approx(0.025 ** (1 / 3))
    assert against.attainable.least_units == 36


@pytest.mark.parametrize(("right", "n", "threshold"), [(19, 20, 0.85), (10, 20, 0.6), (48, 50, 0.9)])
def test_about_how_many_more_by_the_exact_binomial(right, n, threshold):
    more = share(right, n, threshold=threshold).against.more
    truth = right / n

    def power(size):
        counts = np.arange(size + 1)
        low = stats.beta.ppf(0.025, counts, size - counts + 1)
        high = stats.beta.ppf(0.975, counts + 1, size - counts)
        tells = np.nan_to_num(low, nan=0.0) >= threshold if truth > threshold else high < threshold
        return float(stats.binom.pmf(counts, size, truth)[tells].sum())

    assert more.total == more.more + n
    assert power(more.total) >= 0.8 > power(more.total - 1)


def test_more_clusters_tell_what_more_items_of_them_do_not():
    body = in_clusters(RIGHT, SIZES)
    more = analyse(NAME, body, threshold=0.5).against.more
    assert (more.claim, more.unit) == ("falls_short", "clusters")
    many = {
        "values": body["values"] * (more.total // 11 + 1),
        "clusters": [f"{label}-{copy}" for copy in range(more.total // 11 + 1) for label in body["clusters"]],
    }
    assert analyse(NAME, many, threshold=0.5).against.outcome == "falls_short"


@given(
    st.lists(st.integers(0, 8).map(lambda x: x / 8), min_size=2, max_size=25),
    st.floats(0.5, 20),
    st.floats(-50, 50),
)
@settings(deadline=None, max_examples=draws(30))
def test_shift_and_scale_of_the_range(values, factor, shift):
    one = analyse(NAME, {"values": values, "range": {"low": -0.5, "high": 1.5}})
    other = analyse(
        NAME,
        {
            "values": [factor * x + shift for x in values],
            "range": {"low": shift - 0.5 * factor, "high": shift + 1.5 * factor},
        },
    )
    assert other.mean == pytest.approx(factor * one.mean + shift, abs=1e-9 * (factor + abs(shift)))
    for mine, theirs in zip(ends(one.ci), ends(other.ci), strict=True):
        assert theirs == pytest.approx(factor * mine + shift, abs=1e-6 * (factor + abs(shift)))


def test_lower_is_better_is_the_mirror_image():
    values = np.random.default_rng(2).random(30)
    high = analyse(NAME, {"values": values.tolist(), "threshold": 0.4})
    low = analyse(NAME, {"values": (1 - values).tolist(), "threshold": 0.6, "better": "lower"})
    assert low.against.outcome == high.against.outcome
    assert low.against.p_meets == pytest.approx(high.against.p_meets)
    assert low.against.attainable.bound == pytest.approx(1 - high.against.attainable.bound)
    assert low.against.attainable.least_units == high.against.attainable.least_units


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"values": []}, "no items"),
        ({"values": [1, 0], "clusters": ["a", "a"]}, "single cluster"),
        ({"values": [1, 0], "clusters": ["a"]}, "has 1 values"),
        ({"values": [1, 0], "threshold": 95}, "strictly between"),
        ({"values": [1, 0], "threshold": 1}, "strictly between"),
        ({"values": [1, 7], "range": {"low": 1, "high": 5}}, "values holds 7"),
        ({"values": [1e151]}, "beyond"),
    ],
)
def test_what_cannot_be_used_is_refused(body, message):
    with pytest.raises(InvalidData, match=message):
        ask(NAME, body)


def test_a_percentage_as_threshold_is_asked_back():
    with pytest.raises(InvalidData) as refused:
        ask(NAME, {"values": [1, 0], "threshold": 95})
    assert "did you mean 0.95?" in refused.value.faults[0].fix


def test_zeros_and_ones_in_a_wider_range_are_scores():
    found = analyse(NAME, {"values": [1, 1, 1, 0], "range": {"low": 0, "high": 5}})
    assert (found.binary, found.ci.method) == (False, "gaffke")
    assert found.ci.high > 2


@pytest.mark.parametrize("values", [
    [5.0], [5.0, 5.0], [1e149, -1e149], [1e-200, 3e-200], [0.1 + 0.2, 0.3], [[0.1, 0.2, 0.3], [0.2, 0.2, 0.2]],
    [1], [0], [[1, 0], [0, 1]], [-0.0, 0.0],
])  # fmt: skip
def test_hostile_values_stay_sound(values):
    for more in ({}, {"threshold": 0.5}):
        sound(ask(NAME, {"values": values}, **more))
        if len(values) > 1:
            sound(ask(NAME, {"values": values}, clusters=list(range(len(values))), **more))


def test_answers_name_few_clusters_and_few_degrees_of_freedom():
    few = ask(NAME, in_clusters([5, 8, 60], [10, 10, 100]))
    assert {"FEW_CLUSTERS", "LOW_DF"} <= codes(few)
    assert "APPROXIMATE_SHARE" in codes(ask(NAME, {"values": [1, 0, 1]}, method="wilson"))
    assert "APPROXIMATE_SHARE" not in codes(ask(NAME, {"values": [1, 0] * 150}, method="wilson"))


def test_cost_grows_with_items():
    test = registry.find(NAME)
    few, many = (test.request.model_validate({"values": [1.0] * n}) for n in (5, 100_000))
    assert test.cost(few) < 0.02 < test.cost(many)


def bodies():
    """Columns that nobody should send, with every kind of cluster, with and without a threshold."""
    for column in COLUMNS:
        for labels in CLUSTERS.values():
            body = {"values": column} | ({} if labels is None else {"clusters": labels(len(column))})
            yield body
            yield body | {"threshold": 0.5}
    yield {"values": [[]]}
    yield {"values": [[1, 0], [1, 1]], "threshold": 0.9}


def test_skew_of_scores_without_a_range_is_said_where_items_are_independent():
    drawn = np.random.default_rng(3).lognormal(1, 1.2, 40)
    assert 25 * stats.skew(drawn) ** 2 > 40  # Cochran's rule asks for more items
    (skewed,) = (
        warning for warning in ask(NAME, {"values": drawn.tolist()}).warnings if warning.code == "SKEWED"
    )
    assert f"({stats.skew(drawn):+.1f})" in skewed.message
    # where clusters are what varies, the skew of items says nothing
    clusters = [at // 2 for at in range(40)]
    assert "SKEWED" not in codes(ask(NAME, {"values": drawn.tolist(), "clusters": clusters}))
    assert "SKEWED" not in codes(ask(NAME, {"values": np.linspace(2, 9, 40).tolist()}))


CASES = Cases(
    degenerate=bodies,
    growing=[lambda k: {"values": [0.1, 0.4, 1.0] * (1000 * k)}],
    unsimulated="docs/score-coverage.md has its coverage",
)


@pytest.mark.parametrize("values", [[85.0], [85.0, 85.0]])
def test_a_sentence_without_an_interval_says_so(values):
    """One score of 85 was said to be held by an interval that there was not."""
    sentence = analyse("one-sample-mean", {"values": values, "threshold": 80}).sentence
    assert "there is no interval, so neither is shown" in sentence
    assert "the interval holds it" not in sentence


@pytest.mark.parametrize(
    ("values", "mean", "unit"), [([1, 1, 1, 0] * 20, 75.0, "%"), ([2.5, 3.5, 4.0, 6.0] * 20, 4.0, "")]
)
def test_a_sentence_names_the_mean_and_both_ends_of_its_interval(values, mean, unit):
    answer = analyse("one-sample-mean", {"values": values})
    scale = 100 if unit else 1
    shown = [
        float(number) for number in re.findall(rf"(?<![\w.])(\d+\.?\d*){unit}(?![\w%])", answer.sentence)
    ]
    for expected in (mean, answer.ci.low * scale, answer.ci.high * scale):
        assert any(number == pytest.approx(expected, abs=0.05) for number in shown), answer.sentence
