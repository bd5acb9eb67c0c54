"""Equivalence against statsmodels, feasibility facts, exact sizes, dualities and degenerate data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.weightstats import ttost_ind, ttost_paired

from service.errors import InvalidData
from service.kernels.bootstrap.paired_bootstrap import BinaryPairs
from service.kernels.pairs.two_one_sided import by_tango
from service.stats.shared.declaring import registry
from tests.simulation import reads
from tests.simulation.reads import BINARY, CLUSTERED, RUNS, predicted, size
from tests.simulation.rows import Batch
from tests.stats.bodies import MARGIN, bodies_of_pairs, bodies_of_tables, pairs, scores
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes
from tests.stats.soundness import sound

NAME = "equivalence"
METHODS = ("tango", "bootstrap_ci", "t")
TWO_PP = {"value": 2, "unit": "pp"}
tables = st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(0, 300)).filter(any)


def pp(value):
    return {"value": value, "unit": "pp"}


def counts(b, c, n):
    return {"both_correct": n - b - c, "only_baseline": c, "only_candidate": b, "both_wrong": 0}


def in_clusters(sums, size=20):
    body = {"baseline": [], "candidate": [], "clusters": []}
    for label, d in enumerate(sums):
        body["baseline"] += [int(k < -d) for k in range(size)]
        body["candidate"] += [int(k < d) for k in range(size)]
        body["clusters"] += [label] * size
    return body


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3)), min_size=3, max_size=30), st.floats(0.1, 3))
def test_t_agrees_with_statsmodels(rows, margin):
    baseline, candidate = (np.array(column) for column in zip(*rows, strict=True))
    if np.std(candidate - baseline) < 1e-3 or {*baseline, *candidate} <= {0.0, 1.0}:
        return
    body = {"baseline": baseline.tolist(), "candidate": candidate.tolist()}
    bound = {"value": margin, "unit": "score"}
    found = analyse(NAME, body, method="t", margin=bound)
    p, lower, upper = ttost_paired(candidate, baseline, -margin, margin)
    assert (found.p_value, found.p_lower, found.p_upper) == pytest.approx((p, lower[1], upper[1]), rel=1e-7)
    assert (found.t_lower, found.t_upper, found.df) == pytest.approx((lower[0], upper[0], lower[2]), rel=1e-7)


@pytest.mark.parametrize(("variance", "theirs"), [("welch", "unequal"), ("student", "pooled")])
def test_independent_t_agrees_with_statsmodels(variance, theirs):
    rng = np.random.default_rng(4)
    baseline, candidate = rng.normal(10, 2, 14), rng.normal(10.3, 3, 9)
    body = {"baseline": baseline.tolist(), "candidate": candidate.tolist(), "design": "independent"}
    found = analyse(NAME, body, method="t", variance=variance, margin={"value": 2.5, "unit": "score"})
    p, lower, upper = ttost_ind(candidate, baseline, -2.5, 2.5, usevar=theirs)
    assert (found.p_value, found.df) == pytest.approx((p, lower[2]), rel=1e-9)
    assert (found.t_lower, found.t_upper) == pytest.approx((lower[0], upper[0]), rel=1e-9)
    assert found.n == 23
    assert found.n_discordant is None
    assert found.ci.method == f"{variance}_t"


@settings(deadline=None, max_examples=60)
@given(tables, st.sampled_from([0.01, 0.05, 0.1]), st.integers(1, 30))
def test_interval_inside_exactly_when_both_tests_reject(table, alpha, margin):
    b, c, rest = table
    n = b + c + rest
    for method in ("tango", "t"):
        if method == "tango" and b + c < 10:
            continue
        found = analyse(NAME, counts(b, c, n), method=method, alpha=alpha, margin=pp(margin))
        if found.p_value is None or abs(found.p_value - alpha) < 1e-8:
            continue
        assert found.equivalent == (found.p_value < alpha)
        assert found.noninferior == (found.p_lower < alpha)
        assert found.ci.level == pytest.approx(1 - 2 * alpha)


@settings(deadline=None, max_examples=40)
@given(tables, st.sampled_from(METHODS), st.integers(1, 20))
def test_swapping_the_arms_mirrors(table, method, margin):
    b, c, rest = table
    n = b + c + rest
    one = sound(ask(NAME, counts(b, c, n), method=method, margin=pp(margin))).analysis
    other = analyse(NAME, counts(c, b, n), method=method, margin=pp(margin))
    assert other.equivalent == one.equivalent
    if one.p_lower is not None:
        assert other.p_upper == pytest.approx(one.p_lower, rel=1e-7, abs=1e-12)
    if one.superior:
        assert other.conclusion in ("negative", "equivalent")


@settings(deadline=None, max_examples=30)
@given(tables, st.sampled_from(METHODS))
def test_a_wider_margin_is_easier(table, method):
    b, c, rest = table
    found = [
        analyse(NAME, counts(b, c, b + c + rest), method=method, margin=pp(margin)).p_value
        for margin in (2, 5, 20)
    ]
    if found[0] is not None:
        assert found[0] >= found[1] - 1e-12
        assert found[1] >= found[2] - 1e-12


def test_columns_and_counts_agree():
    columns = {"baseline": [1] * 40 + [1, 0] * 6, "candidate": [1] * 40 + [0, 1] * 6}
    for method in METHODS:
        assert analyse(NAME, columns, method=method, margin=pp(20)) == analyse(
            NAME, counts(6, 6, 52), method=method, margin=pp(20)
        )


# --- facts about the margin of 2 pp


def test_without_discordant_pairs_149_items_are_needed():
    found = {n: ask(NAME, counts(0, 0, n), margin=TWO_PP) for n in (132, 133, 148, 149)}
    for n, answer in found.items():
        assert answer.analysis.p_value == pytest.approx(0.98**n, rel=1e-9)
        assert codes(answer) == {"SPARSE_DISCORDANT"}
        assert (stats.norm.cdf(answer.analysis.z_upper) < 0.05) == (n >= 133)
        assert answer.analysis.equivalent == (n >= 149)


@pytest.mark.parametrize(("n", "share"), [(500, 0.068), (764, 0.110), (1000, 0.144), (2000, 0.295)])
def test_greatest_discordant_share_that_tango_can_call_equivalent(n, share):
    def feasible(pairs):
        return analyse(NAME, counts(pairs // 2, pairs // 2, n), margin=TWO_PP).equivalent

    even = [2 * k for k in range(5, n // 4)]
    greatest = max(pairs for pairs in even if feasible(pairs)) / n
    assert greatest < share + 2 / n
    assert greatest > share - 3 / n


@pytest.mark.parametrize(("bounds", "share"), [("strict", 0.064), ("seed", 0.080)])
def test_greatest_discordant_share_that_the_bootstrap_can_call_equivalent(bounds, share):
    def feasible(pairs):
        body = counts(pairs // 2, pairs // 2, 500)
        return analyse(NAME, body, method="bootstrap_ci", bounds=bounds, margin=TWO_PP).equivalent

    greatest = max(pairs for pairs in range(10, 60, 2) if feasible(pairs)) / 500
    assert greatest == pytest.approx(share, abs=2 / 500)


def test_an_end_on_the_margin_is_not_inside():
    # 500 items, 40 discordant in balance: the 90 % interval ends exactly on 2 pp
    body = counts(20, 20, 500)
    strict = ask(NAME, body, method="bootstrap_ci", margin=TWO_PP)
    closed = ask(NAME, body, method="bootstrap_ci", margin=TWO_PP, bounds="seed")
    assert (strict.analysis.ci.low, strict.analysis.ci.high) == pytest.approx((-0.02, 0.02), abs=1e-12)
    assert (strict.analysis.equivalent, closed.analysis.equivalent) == (False, True)
    assert "SEED_BOUNDS" in codes(closed)
    assert "SEED_BOUNDS" not in codes(strict)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "reached"), [(500, 0.12), (150, 0.20)])
def test_seed1_lets_the_interval_touch_the_margin_and_errs_too_often(n, reached):
    """Chance of calling a true difference of exactly 2 pp equivalent, by enumerating the tables."""
    margin, worst = 0.02, {"seed": 0.0, "strict": 0.0}
    limit = {}
    for discordant in range(n // 6):
        for b in range(discordant + 1):
            found = BinaryPairs(b, discordant - b, n)
            low, high = found.quantile(0.05), found.quantile(0.95)
            limit[b, discordant - b] = (
                low >= -margin - 1e-9 and high <= margin + 1e-9,
                low > -margin + 1e-9 and high < margin - 1e-9,
            )
    for share in np.arange(0.02, 0.1, 0.002):
        p = np.array([(share + margin) / 2, (share - margin) / 2])
        sizes = [0.0, 0.0]
        for (b, c), inside in limit.items():
            if any(inside):
                mass = math.exp(stats.multinomial.logpmf([b, c, n - b - c], n, [*p, 1 - p.sum()]))
                sizes = [size + mass * flag for size, flag in zip(sizes, inside, strict=True)]
        worst = {"seed": max(worst["seed"], sizes[0]), "strict": max(worst["strict"], sizes[1])}
    assert worst["seed"] == pytest.approx(reached, abs=0.02)
    assert worst["strict"] < worst["seed"]


# --- sparse, degenerate and clustered data


def test_sparse_tables_take_the_larger_p():
    answer = ask(NAME, counts(3, 2, 500), margin=TWO_PP)
    plain = by_tango(3, 2, 500, 0.02, 0.05, exact=False)
    assert answer.analysis.p_upper >= plain.p_upper
    assert answer.analysis.p_lower >= plain.p_lower
    assert codes(answer) == {"SPARSE_DISCORDANT"}
    assert codes(ask(NAME, counts(5, 5, 500), margin=TWO_PP)) == set()
    assert codes(ask(NAME, counts(5, 4, 500), margin=TWO_PP)) == {"SPARSE_DISCORDANT"}


@pytest.mark.parametrize("n", [1_000_000, 1_000_000_000])
def test_sparse_tables_of_many_items_do_not_hang(n):
    found = sound(ask(NAME, counts(3, 2, n), margin=TWO_PP)).analysis
    assert found.equivalent
    assert "p_value" in found.bounds


@pytest.mark.parametrize("method", ["t", "bootstrap_ci"])
@pytest.mark.parametrize(
    "body",
    [
        counts(0, 0, 50), counts(50, 0, 50), {"baseline": [1], "candidate": [1]},
        {"baseline": [0.3, 0.1, 0.7], "candidate": [0.3, 0.1, 0.7]},
        {"baseline": [0.3, 0.1, 0.7], "candidate": [0.4, 0.2, 0.8]},
        {"baseline": [0.25], "candidate": [0.75]},
    ],
)  # fmt: skip
def test_differences_that_do_not_vary_decide_nothing(method, body):
    scores = 0.3 in body.get("baseline", []) or 0.25 in body.get("baseline", [])
    margin = {"value": 0.5, "unit": "score"} if scores else pp(5)
    answer = sound(ask(NAME, body, method=method, margin=margin))
    found = answer.analysis
    assert codes(answer) == {"DEGENERATE"}
    assert found.p_value is found.equivalent is found.conclusion is found.noninferior is None


def test_identical_independent_arms_decide_nothing():
    body = {"baseline": [2.5, 2.5], "candidate": [2.5, 2.5, 2.5], "design": "independent"}
    answer = sound(ask(NAME, body, method="t", margin={"value": 1, "unit": "score"}))
    assert answer.analysis.equivalent is None
    assert codes(answer) == {"DEGENERATE"}


@pytest.mark.parametrize("variance", ["cr2", "cv3"])
def test_clusters_bring_the_clustered_interval(variance):
    body = in_clusters([1, 0, -1, 2, 0, 1, -1, 0, 1, 0, 0, -1])
    t = ask(NAME, body, method="t", margin=pp(10), cluster_variance=variance)
    tango = ask(NAME, body, margin=pp(10), cluster_variance=variance)
    clustered = analyse("clustered-mcnemar", body, method=f"{variance}_t", level=0.9)
    for answer in (t, tango):
        found = answer.analysis
        assert (found.ci.low, found.ci.high) == pytest.approx((clustered.ci.low, clustered.ci.high), rel=1e-9)
        assert found.ci.method == f"{variance}_t"
        assert found.n_clusters == 12
        assert found.equivalent == (found.p_value < 0.05)
    assert codes(tango) - codes(t) == {"CLUSTERED_INTERVAL_USED"}


def test_clusters_are_resampled_by_bootstrap_ci():
    body = in_clusters([1, 0, -1, 2, 0, 1, -1, 0])
    found = analyse(NAME, body, method="bootstrap_ci", margin=pp(10))
    bootstrap = analyse("cluster-bootstrap", body, level=0.9)
    assert (found.ci.low, found.ci.high) == (bootstrap.ci.low, bootstrap.ci.high)
    assert found.se == bootstrap.bootstrap_se


def test_ignoring_clusters_would_mislead():
    body = in_clusters([10, -10, 10, -10, 10, -10])
    plain = {name: body[name] for name in ("baseline", "candidate")}
    assert analyse(NAME, body, margin=pp(20)).p_value > analyse(NAME, plain, margin=pp(20)).p_value


# --- conclusions


@pytest.mark.parametrize(
    ("table", "margin", "conclusion", "true"),
    [
        ((60, 10, 400), 5, "positive", {"noninferior", "superior", "minimum_effect"}),
        ((60, 30, 400), 5, "positive", {"noninferior", "superior"}),
        ((10, 60, 400), 5, "negative", set()),
        ((30, 30, 400), 5, "equivalent", {"equivalent", "noninferior"}),
        ((45, 22, 1000), 5, "equivalent", {"equivalent", "noninferior", "superior"}),
        ((30, 28, 100), 5, "inconclusive", set()),
    ],
)
def test_conclusions(table, margin, conclusion, true):
    found = analyse(NAME, counts(*table), margin=pp(margin))
    assert found.conclusion == conclusion
    fields = ("equivalent", "noninferior", "superior", "minimum_effect")
    assert {name for name in fields if getattr(found, name)} == true


def test_sentence_says_when_a_difference_is_real_and_too_small():
    found = analyse(NAME, counts(45, 22, 1000), margin=pp(5))
    assert "are rejected" in found.sentence
    assert "above zero" in found.sentence
    not_shown = analyse(NAME, counts(30, 28, 100), margin=pp(5))
    assert "does not show" in not_shown.sentence


def test_margin_is_read_with_its_unit():
    one = analyse(NAME, counts(30, 30, 400), margin={"value": 5, "unit": "pp"})
    other = analyse(NAME, counts(30, 30, 400), margin={"value": 0.05, "unit": "proportion"})
    assert (one.margin, one.p_value) == (other.margin, other.p_value) == (0.05, one.p_value)


SCORES = {"baseline": [0.1, 0.5, 0.3], "candidate": [0.2, 0.4, 0.6]}


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({**counts(3, 3, 9), "margin": {"value": 2, "unit": "score"}}, "score unit"),
        ({**counts(3, 3, 9), "margin": {"value": 2, "unit": "proportion"}}, "below 1"),
        ({**SCORES, "method": "t", "margin": TWO_PP}, "binary endpoints"),
        ({**SCORES, "margin": {"value": 1, "unit": "score"}}, "other than 0 and 1"),
        ({"baseline": [1, 0], "candidate": [1], "margin": TWO_PP}, "candidate"),
        ({"baseline": [], "candidate": [], "margin": TWO_PP}, "no items"),
        ({"baseline": [1, 0], "candidate": [1, 1], "clusters": [1, 1], "margin": TWO_PP}, "single cluster"),
        ({**counts(3, 3, 9), "clusters": [1, 2], "margin": TWO_PP}, "counts have none"),
        ({**SCORES, "design": "independent", "margin": TWO_PP}, "independent"),
        ({**counts(1, 1, 9), "design": "independent", "method": "t", "margin": TWO_PP}, "independent"),
        ({"baseline": [1e200, 0.5], "candidate": [0.5, 0.1], "method": "t",
          "margin": {"value": 1, "unit": "score"}}, "beyond 1e"),
        ({"baseline": [], "candidate": [0.5], "design": "independent", "method": "t",
          "margin": {"value": 1, "unit": "score"}}, "is empty"),
    ],
)  # fmt: skip
def test_unusable_requests_are_refused(body, says):
    with pytest.raises(InvalidData, match=says):
        ask(NAME, body)


@pytest.mark.parametrize(
    "margin", [None, 2, {"value": 2}, {"value": 0, "unit": "pp"}, {"value": -1, "unit": "pp"}]
)
def test_margin_needs_a_positive_value_and_a_unit(margin):
    with pytest.raises(ValueError, match="validation error"):
        ask(NAME, {**counts(3, 3, 9), "margin": margin})


@pytest.mark.parametrize("alpha", [0, 0.5, 0.9])
def test_alpha_stays_below_one_half(alpha):
    with pytest.raises(ValueError, match="validation error"):
        ask(NAME, {**counts(3, 3, 9), "margin": TWO_PP}, alpha=alpha)


def test_extreme_p_is_a_bound():
    found = sound(ask(NAME, counts(3000, 3000, 1_000_000), margin=pp(5))).analysis
    assert found.p_value == 1e-300
    assert found.bounds["p_value"] == "< 1e-300"


PP, SCORE = {"value": 10, "unit": "pp"}, {"value": 0.5, "unit": "score"}


def test_bounded_scores_know_of_losses_too_rare_to_be_seen():
    margin = {"value": 0.05, "unit": "score"}
    six = {"baseline": [0.5] * 6, "candidate": [0.5] * 5 + [1.0], "margin": margin}
    by_t, bounded = (analyse("equivalence", six, method=each) for each in ("t", "bounded"))
    assert by_t.noninferior is False or by_t.ci.low > -0.05
    assert bounded.noninferior is False
    assert bounded.ci.low < -0.3
    # nothing differs: all of them could be lost but for chance alpha; 59 items at .05
    for n, shown in ((58, False), (59, True)):
        alike = {"baseline": [0.5] * n, "candidate": [0.5] * n, "margin": margin}
        told = analyse("equivalence", alike, method="bounded")
        assert told.equivalent is shown
        assert told.p_lower == told.p_upper == pytest.approx(0.95**n, rel=1e-9)
        assert analyse("equivalence", alike, method="t").equivalent is None


def test_bounded_is_the_interval_of_bounded_difference():
    rng = np.random.default_rng(4)
    baseline = rng.integers(1, 6, 90).astype(float)
    body = {
        "baseline": baseline.tolist(),
        "candidate": np.clip(baseline + rng.integers(-1, 2, 90), 1, 5).tolist(),
    }
    for clusters in (None, [k // 9 for k in range(90)]):
        both = {**body, "clusters": clusters, "range": {"low": 1, "high": 5}}
        told = analyse("equivalence", both, method="bounded", margin=SCORE, alpha=0.025)
        ends = analyse("bounded-difference", both, level=0.95).ci
        assert (told.ci.low, told.ci.high) == pytest.approx((ends.low, ends.high), rel=1e-9)
        assert told.equivalent is bool(ends.low > -0.5 and ends.high < 0.5)
        assert (told.p_lower < 0.025) is (ends.low > -0.5)


def test_a_range_is_asked_for_and_belongs_to_bounded_alone():
    body = {"baseline": [1.0, 4.0, 3.0], "candidate": [2.0, 4.0, 5.0], "margin": SCORE}
    with pytest.raises(InvalidData, match="lie outside 0 to 1"):
        analyse("equivalence", body, method="bounded")
    with pytest.raises(InvalidData, match="does not go with method 't'"):
        analyse("equivalence", body, method="t", range={"low": 1, "high": 5})


def test_a_request_without_a_range_has_the_bytes_it_had():
    request = registry.find("equivalence").request.model_validate({"both_correct": 1, "only_baseline": 0,
        "only_candidate": 1, "both_wrong": 0, "margin": PP})  # fmt: skip
    assert b"range" not in request.json_bytes()


def simulated() -> Iterator[Batch]:
    """What is drawn where the truth is known."""
    at_margin = partial(size, test="equivalence")
    for world in BINARY:
        for method in ("tango", "t", "bootstrap_ci"):
            yield at_margin(world, simulations=4_000, method=method)
        yield at_margin(world, simulations=4_000, method="bootstrap_ci", bounds="seed")
    for world in reads.SCORES:
        for method in ("t", "bootstrap_ci"):
            yield at_margin(world, method=method)
    for world in RUNS:
        for variance in ("welch", "student"):
            yield at_margin(world, design="independent", method="t", variance=variance)
    for world in CLUSTERED:
        for variance in ("cr2", "cv3"):
            yield at_margin(world, method="t", cluster_variance=variance)
        if world != "unequal-clusters":  # seconds per data set
            yield at_margin(world, method="bootstrap_ci")
    margin = {"value": 2.0, "unit": "pp"}
    few = {"test": "tango", "p_only_baseline": 0.02, "p_only_candidate": 0.02, "n": 500, "margin": margin}
    yield predicted("binary-low", "equivalence", 0.0, few, margin=margin)


CASES = Cases(
    degenerate=lambda: [
        *bodies_of_tables(margin=MARGIN),
        *bodies_of_pairs(margin=MARGIN),
        *bodies_of_pairs(margin={"value": 0.01, "unit": "score"}, method="t"),
        *bodies_of_pairs(margin={"value": 0.01, "unit": "score"}, method="bounded"),
    ],
    growing=[
        lambda k: {
            **scores(2000 * k),
            "method": "bootstrap_ci",
            "margin": {"value": 1, "unit": "score"},
        },
        lambda k: {**scores(2000 * k), "method": "t", "margin": {"value": 1, "unit": "score"}},
        lambda k: {**pairs(2000 * k), "margin": {"value": 1, "unit": "pp"}},
        lambda k: {**pairs(2000 * k), "margin": {"value": 1, "unit": "pp"}, "method": "bounded"},
    ],
    mirrored={
        "binary": [{"method": each, "margin": PP} for each in ("tango", "t", "bootstrap_ci", "bounded")],
        "paired scores": [
            {"method": "t", "margin": SCORE},
            {"method": "bounded", "margin": SCORE, "range": {"low": -16, "high": 16}},
        ],
        "runs": [
            {"method": "t", "design": "independent", "margin": SCORE},
            {"method": "t", "design": "independent", "variance": "student", "margin": SCORE},
        ],
        "clusters": [
            {"method": "t", "margin": PP},
            {"method": "t", "cluster_variance": "cv3", "margin": PP},
            {"method": "bootstrap_ci", "margin": PP},
            {"method": "bounded", "margin": PP, "range": {"low": -16, "high": 16}},
        ],
    },
    simulated=simulated,
    varied={"method": ["tango", "bootstrap_ci", "t"]},
    shown={"method": ["tango", "bootstrap_ci", "t", "bounded"]},
)


@pytest.mark.parametrize("cells", [(1, 0, 0, 0), (0, 0, 1, 0), (50, 2, 7, 41)])
def test_bounded_answers_counts_as_it_answers_the_items(cells):
    counts = dict(zip(("both_correct", "only_baseline", "only_candidate", "both_wrong"), cells, strict=True))
    columns = {
        "baseline": np.repeat([1.0, 1.0, 0.0, 0.0], cells).tolist(),
        "candidate": np.repeat([1.0, 0.0, 1.0, 0.0], cells).tolist(),
    }
    asked = {"margin": {"value": 5, "unit": "pp"}, "method": "bounded"}
    by_counts, by_items = (analyse("equivalence", {**data, **asked}) for data in (counts, columns))
    assert by_counts.ci == by_items.ci
    assert by_counts.p_value == by_items.p_value
    assert by_counts.conclusion == by_items.conclusion
