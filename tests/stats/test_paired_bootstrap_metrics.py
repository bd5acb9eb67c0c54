"""The bootstrap of corpus metrics, clusters, replicates, and its BCa and studentized intervals."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU
from scipy import stats

from service.errors import InvalidData
from service.stats.shared.declaring import registry
from tests.drawing import mostly_slow
from tests.stats.oracle import analyse, ask, cases, close, codes, corpus, table, tolerance
from tests.stats.shapes import columns, counts, table_of
from tests.stats.soundness import sound

NAME = "paired-bootstrap"
METHODS = ("percentile", "basic", "bca", "studentized")


def f1(rows):
    tp, fp, fn, tp2, fp2, fn2 = np.asarray(rows).sum(axis=0)
    one, other = 2 * tp + fp + fn, 2 * tp2 + fp2 + fn2
    return (2 * tp2 / other if other else 0.0) - (2 * tp / one if one else 0.0)


def drawn_rows(seed, n, top=6):
    return np.random.default_rng(seed).integers(0, top, (n, 6))


def scores(seed, n):
    rng = np.random.default_rng(seed)
    return rng.lognormal(size=n), rng.lognormal(0.1, 1.1, n)


@pytest.mark.parametrize("case", cases("sufficient_stats"))
def test_corpus_metrics_against_sacrebleu_numpy_and_r(case):
    expected, body = case["expected"], corpus(case["input"])
    found = analyse(NAME, body)
    assert found.route == "monte_carlo"
    if body["metric"] == "bleu":
        assert close(found.baseline_value, expected["bleu_A"], **tolerance(case, "bleu_A"))
        assert close(found.candidate_value, expected["bleu_B"], **tolerance(case, "bleu_B"))
        mirrored = [-found.ci.high, -found.ci.low]
        assert close(mirrored, expected["ci95_percentile_A_minus_B"], **tolerance(case, "ci95"))
        ninety = analyse(NAME, body, level=0.9).ci
        assert close(
            [-ninety.high, -ninety.low], expected["ci90_percentile_A_minus_B"], **tolerance(case, "ci90")
        )
    else:
        assert close(found.baseline_value, expected["f1_A"], **tolerance(case, "f1_A"))
        assert close(found.candidate_value, expected["f1_B"], **tolerance(case, "f1_B"))
        assert close([found.ci.low, found.ci.high], expected["ci95_percentile"], **tolerance(case, "ci95"))
    assert close(found.bootstrap_se, expected["bootstrap_se"], **tolerance(case, "bootstrap_se"))
    field = "bk_p_ge_2delta_better_system"
    assert close(found.p_better, expected[field], **tolerance(case, field))


@pytest.mark.parametrize("case", [case for case in cases("bootstrap_ci") if "swe" in case.id])
def test_intervals_of_a_paired_mean_against_scipy_boot_and_arch(case):
    candidate, baseline = case["input"]["x"].split(" minus ")
    rows, expected = table(case["input"]["file"]), case["expected"]
    body = columns([(float(row[baseline]), float(row[candidate])) for row in rows])
    for method in ("percentile", "basic", "bca"):
        found = analyse(NAME, body, method=method)
        name = f"ci95_{method}"
        assert close([found.ci.low, found.ci.high], expected[name], **tolerance(case, name)), method
    assert close(found.delta, expected["estimate"])
    assert close(found.bootstrap_se, expected["bootstrap_se"], **tolerance(case, "bootstrap_se"))


@pytest.mark.parametrize("metric", ["precision", "recall", "f1"])
def test_law_of_the_difference_by_listing_every_resample(metric):
    rows = np.array(
        [(3, 1, 0, 2, 0, 1), (0, 2, 1, 2, 1, 0), (1, 0, 3, 1, 1, 1), (2, 2, 2, 4, 0, 0), (1, 1, 1, 0, 2, 1)]
    )

    def value(tp, fp, fn):
        return {"precision": tp / (tp + fp), "recall": tp / (tp + fn), "f1": 2 * tp / (2 * tp + fp + fn)}[
            metric
        ]

    deltas = []
    for picked in itertools.product(range(5), repeat=5):
        total = rows[list(picked)].sum(axis=0).astype(float)
        deltas.append(value(*total[3:]) - value(*total[:3]))
    found = analyse(NAME, counts(rows.tolist(), metric), n_resamples=40_000)
    delta = found.delta
    assert delta == pytest.approx(
        value(*rows.sum(0)[3:].astype(float)) - value(*rows.sum(0)[:3].astype(float))
    )
    for share, exact in (
        (found.fraction_le_0, np.mean(np.array(deltas) <= 1e-12)),
        (found.p_value, np.mean(np.array(deltas) >= 2 * delta - 1e-12)),
    ):
        assert share == pytest.approx(exact, abs=4.5 * math.sqrt(exact * (1 - exact) / 40_000) + 1e-4)
    assert found.bootstrap_se == pytest.approx(np.std(deltas), rel=0.03)


def test_micro_f1_is_not_the_mean_of_f1():
    rows = [(9, 1, 0, 8, 1, 1), (0, 1, 1, 1, 0, 0)] * 12
    per_item = [tuple(2 * tp / (2 * tp + fp + fn) for tp, fp, fn in (row[:3], row[3:])) for row in rows]
    micro, mean = analyse(NAME, counts(rows)), analyse(NAME, columns(per_item))
    assert (micro.metric, mean.metric) == ("f1", "mean")
    assert abs(micro.delta - mean.delta) > 0.1


@settings(deadline=None, max_examples=15)
@given(
    st.lists(st.tuples(*[st.integers(0, 4)] * 6), min_size=2, max_size=9),
    st.sampled_from(["percentile", "bca"]),
)
def test_swapping_the_arms_mirrors_counts(rows, method):
    swapped = [(*row[3:], *row[:3]) for row in rows]
    one = analyse(NAME, counts(rows), n_resamples=400, method=method)
    other = analyse(NAME, counts(swapped), n_resamples=400, method=method)
    assert other.delta == -one.delta
    assert {one.better, other.better} in ({"baseline", "candidate"}, {None})
    if one.bootstrap_se > 0:
        assert other.bootstrap_se == pytest.approx(one.bootstrap_se, rel=0.35)


def test_bleu_and_sacrebleu_give_the_same_scores_and_interval():
    rng = np.random.default_rng(4)
    references = [rng.integers(0, 9, 12).tolist() for _ in range(120)]
    texts = [
        [" ".join("x" if rng.random() < share else str(w) for w in words) for words in references]
        for share in (0.25, 0.2)
    ]
    lines = [" ".join(map(str, words)) for words in references]
    scorer = BLEU(tokenize="none", smooth_method="none", force=True)
    arms = []
    for outputs in texts:
        rows = np.array(scorer._extract_corpus_statistics(outputs, [lines]))
        arms.append({
            "sys_len": rows[:, 0].tolist(), "ref_len": rows[:, 1].tolist(),
            "matches": rows[:, 2:6].tolist(), "totals": rows[:, 6:].tolist(),
        })  # fmt: skip
    found = analyse(NAME, {"baseline": arms[0], "candidate": arms[1], "metric": "bleu"})
    theirs = [scorer.corpus_score(outputs, [lines]) for outputs in texts]
    assert (found.baseline_value, found.candidate_value) == pytest.approx([one.score for one in theirs])
    picks = rng.integers(0, 120, (1000, 120))
    drawn = [
        scorer._compute_score_from_stats(stats[pick].sum(axis=0).tolist()).score
        for stats in [np.array(scorer._extract_corpus_statistics(texts[1], [lines]))]
        for pick in picks
    ]
    one_arm = analyse(
        NAME, {"baseline": arms[0], "candidate": arms[1], "metric": "bleu"}, method="basic"
    ).bootstrap_se
    assert 0.3 * np.std(drawn) < one_arm < 2 * np.std(drawn)


@pytest.mark.parametrize("seed", range(3))
def test_bca_agrees_with_scipy(seed):
    one, other = scores(seed, 50)
    found = analyse(NAME, columns(zip(one.tolist(), other.tolist(), strict=True)), method="bca")
    theirs = stats.bootstrap(
        (other - one,), np.mean, method="BCa", n_resamples=40_000, rng=np.random.default_rng(seed)
    ).confidence_interval
    assert (found.ci.low, found.ci.high) == pytest.approx(
        (theirs.low, theirs.high), abs=0.05 * found.bootstrap_se
    )
    assert found.ci == found.intervals["bca"]
    assert set(found.intervals) == {"percentile", "basic", "bca"}


def test_bca_of_a_ratio_agrees_with_scipy():
    rows = drawn_rows(6, 40)
    found = analyse(NAME, counts(rows.tolist()), method="bca", n_resamples=40_000)
    theirs = stats.bootstrap(
        (np.arange(40),), lambda picked: f1(rows[picked.astype(int)]), method="BCa", n_resamples=10_000,
        vectorized=False, rng=np.random.default_rng(1),
    ).confidence_interval  # fmt: skip
    assert (found.ci.low, found.ci.high) == pytest.approx(
        (theirs.low, theirs.high), abs=0.08 * found.bootstrap_se
    )


def test_bca_by_definition_on_binary_items():
    rows = [(0, 1)] * 9 + [(1, 0)] * 3 + [(1, 1)] * 18
    found = analyse(NAME, columns(rows), method="bca")
    d = np.array([b - a for a, b in rows])
    n, delta = len(d), d.mean()
    sums = np.random.default_rng(0).multinomial(n, [9 / 30, 3 / 30, 18 / 30], 400_000)
    star = (sums[:, 0] - sums[:, 1]) / n
    z0 = stats.norm.ppf(np.mean(star < delta - 1e-12) + np.mean(np.abs(star - delta) < 1e-12) / 2)
    left = (d.sum() - d) / (n - 1)
    away = left.mean() - left
    a = (away**3).sum() / (6 * (away**2).sum() ** 1.5)
    levels = [stats.norm.cdf(z0 + (z0 + z) / (1 - a * (z0 + z))) for z in stats.norm.ppf([0.025, 0.975])]
    expected = np.quantile(star, levels, method="inverted_cdf")
    assert (found.ci.low, found.ci.high) == pytest.approx(expected, abs=1 / n + 1e-9)
    assert found.route == "fft"


@pytest.mark.parametrize("seed", range(2))
def test_studentized_interval_by_definition(seed):
    one, other = scores(seed + 10, 30)
    d = other - one
    found = analyse(
        NAME,
        columns(zip(one.tolist(), other.tolist(), strict=True)),
        method="studentized",
        n_resamples=20_000,
    )
    rng = np.random.default_rng(5)
    draws = d[rng.integers(0, 30, (20_000, 30))]
    pivots = (draws.mean(1) - d.mean()) / (draws.std(1, ddof=1) / math.sqrt(30))
    se = d.std(ddof=1) / math.sqrt(30)
    expected = d.mean() - np.quantile(pivots, [0.975, 0.025]) * se
    assert (found.ci.low, found.ci.high) == pytest.approx(expected, abs=0.12 * se)
    assert found.route == "monte_carlo"
    assert set(found.intervals) == {"percentile", "basic", "studentized"}


def test_studentized_interval_mirrors_the_skew_that_percentile_follows():
    rng = np.random.default_rng(3)
    d = rng.exponential(size=40)
    body = {"baseline": [0.0] * 40, "candidate": d.tolist()}
    found = analyse(NAME, body, method="studentized")
    up, down = found.ci.high - found.delta, found.delta - found.ci.low
    assert up > down
    assert up > found.intervals["percentile"].high - found.delta


@pytest.mark.parametrize("method", mostly_slow(METHODS, 2))
def test_clusters_are_drawn_whole_as_the_cluster_bootstrap_does(method):
    rng = np.random.default_rng(7)
    body = {**columns(rng.normal(0.3, 1, (90, 2)).tolist()), "clusters": rng.integers(0, 15, 90).tolist()}
    ours = analyse(NAME, body, method=method)
    theirs = analyse("cluster-bootstrap", body, method=method)
    assert ours.n_clusters == theirs.n_clusters == 15
    assert (ours.delta, ours.p_value) == pytest.approx((theirs.delta, theirs.p_value), abs=1e-9)
    assert (ours.ci.low, ours.ci.high) == pytest.approx((theirs.ci.low, theirs.ci.high), abs=1e-6)


def test_clusters_of_counts_are_drawn_whole():
    rng = np.random.default_rng(2)
    rows = np.repeat(drawn_rows(3, 12), rng.integers(2, 9, 12), axis=0)
    labels = np.repeat(np.arange(12), np.bincount(rng.integers(0, 12, 200), minlength=12).clip(1))[
        : len(rows)
    ]
    labels = np.concatenate([labels, np.full(len(rows) - len(labels), 11)])
    found = analyse(NAME, counts(rows.tolist()), clusters=labels.tolist())
    sums = np.array([rows[labels == k].sum(axis=0) for k in np.unique(labels)])
    g = len(sums)
    drawn = [f1(sums[pick]) for pick in rng.integers(0, g, (4000, g))]
    assert found.n_clusters == g
    assert found.bootstrap_se == pytest.approx(np.std(drawn), rel=0.06)
    alone = analyse(NAME, counts(rows.tolist()))
    assert found.bootstrap_se > alone.bootstrap_se


@settings(deadline=None, max_examples=15)
@given(st.permutations(range(12)), st.permutations(["a", "b", "c"]))
def test_names_and_order_of_clusters_do_not_matter(order, names):
    rows = [(i % 3 == 0, i % 2 == 0) for i in range(12)]
    labels = [i % 3 for i in range(12)]
    one = analyse(NAME, columns([tuple(map(int, row)) for row in rows]), clusters=labels)
    shuffled = columns([tuple(map(int, rows[i])) for i in order])
    other = analyse(NAME, shuffled, clusters=[names[labels[i]] for i in order])
    assert other.p_value == pytest.approx(one.p_value, abs=1e-12)
    assert (other.ci.low, other.ci.high) == pytest.approx((one.ci.low, one.ci.high), abs=1e-12)


def test_a_tail_below_the_error_of_inversion_is_a_bound():
    rng = np.random.default_rng(5)
    answer = ask(NAME, columns([(0.0, x) for x in rng.normal(1, 1, 300).tolist()]), alternative="less")
    strong = sound(ask(NAME, columns([(0.0, x) for x in rng.normal(1, 1, 300).tolist()])))
    assert answer.analysis.p_value > 0.99
    assert strong.analysis.route == "inversion"
    assert strong.analysis.p_value == strong.provenance.error_bound
    assert strong.analysis.bounds["p_value"].startswith("< ")


def test_replicates_are_averaged_within_the_item():
    rng = np.random.default_rng(1)
    runs = rng.normal(0, 1, (25, 2, 4))
    found = analyse(NAME, {"baseline": runs[:, 0].tolist(), "candidate": runs[:, 1].tolist()})
    means = analyse(NAME, columns(runs.mean(axis=2).tolist()))
    assert found.n == 25
    assert (found.ci.low, found.ci.high) == pytest.approx((means.ci.low, means.ci.high), abs=1e-6)
    ragged = {"baseline": [[1.0], [0.0, 1.0, 1.0]], "candidate": [1.0, 0.5]}
    assert analyse(NAME, ragged).delta == pytest.approx((0 + 0.5 - 2 / 3) / 2)


def test_draws_of_counts_repeat_and_carry_their_seed():
    body = counts(drawn_rows(1, 60).tolist())
    answer = ask(NAME, body, n_resamples=500, seed=5)
    assert (answer.provenance.exact, answer.provenance.n_resamples, answer.provenance.seed) == (False, 500, 5)
    assert ask(NAME, body, n_resamples=500, seed=5).model_dump_json() == answer.model_dump_json()
    assert analyse(NAME, body, n_resamples=500, seed=6).ci != answer.analysis.ci


def test_seed_convention_of_counts_counts_over_b():
    rows = drawn_rows(8, 30)
    found = analyse(NAME, counts(rows.tolist()), convention="seed", n_resamples=300)
    draws = np.random.default_rng(42)
    expected = np.array([f1(rows[draws.choice(30, 30, replace=True)]) for _ in range(300)])
    assert found.p_value == pytest.approx(max(np.mean(expected >= 2 * f1(rows) - 1e-12), 1 / 300))
    assert (found.ci.low, found.ci.high) == pytest.approx(
        tuple(np.percentile(expected, [2.5, 97.5])), abs=1e-12
    )
    assert found.route == "seed"


def test_seed_convention_of_clusters_is_the_published_code():
    rng = np.random.default_rng(0)
    body = {**columns(rng.integers(0, 2, (60, 2)).tolist()), "clusters": rng.integers(0, 9, 60).tolist()}
    ours, theirs = (analyse(name, body, convention="seed") for name in (NAME, "cluster-bootstrap"))
    assert (ours.ci, ours.p_value) == (theirs.ci, theirs.p_value)


@pytest.mark.parametrize(
    ("body", "options", "expected"),
    [
        (counts([(1, 1, 0, 2, 0, 0)] * 25), {}, set()),
        (counts([(0, 0, 0, 1, 0, 0)] * 25), {}, {"METRIC_UNDEFINED", "NOTHING_VARIES"}),
        (counts([(0, 0, 0, 1, 0, 0)] * 9 + [(1, 1, 0, 1, 0, 0)]), {}, {"METRIC_UNDEFINED", "FEW_DISCORDANT"}),
        (columns([(0, 1), (1, 1)] * 60), {"clusters": [i % 30 for i in range(120)]}, {"FEW_SIGNS"}),
        (columns([(0, 1), (1, 1)] * 60), {"clusters": [i % 29 for i in range(120)]}, {"CAUTION"}),
        (
            columns([(0, 1), (1, 1)] * 60),
            {"clusters": [i % 9 for i in range(120)]},
            {"FEW_CLUSTERS", "BEYOND_RESAMPLES"},
        ),
        (columns([(1, 1)] * 60), {"clusters": [i % 30 for i in range(60)]}, {"NO_DISCORDANT"}),
    ],
)
def test_warnings_fire_where_they_should(body, options, expected):
    assert codes(ask(NAME, body, **options)) == expected


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("body", [
    columns([(1, 1)] * 12), columns([(0, 1)] * 12), columns([(0.5, 0.7)]), columns([(1, 0)]),
    columns([(0.25, 0.5)] * 40), counts([(0, 0, 0, 0, 0, 0)] * 4), counts([(1, 0, 0, 1, 0, 0)] * 4),
    counts([(10**9, 1, 1, 10**9, 1, 1)] * 3), table_of(5, 0, 0, 0),
])  # fmt: skip
def test_data_without_spread_have_no_corrected_interval(body, method):
    found = sound(ask(NAME, body, method=method)).analysis
    if method in ("bca", "studentized"):
        assert found.ci.low is None
        assert "spread" in found.reasons["ci.low"]
        assert "no " in found.sentence
    else:
        assert found.ci.low is not None


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("body", [
    columns([(0.0, 0.1 * i) for i in range(30)]), columns([(-1e149, 1e149 * (i % 2)) for i in range(30)]),
    counts([(i % 3, 1, i % 2, 2, i % 4, 0) for i in range(40)]), table_of(10**6, 400, 500, 10**6),
    columns([(i % 2, (i // 2) % 2) for i in range(40)]),
])  # fmt: skip
def test_hostile_data_stay_sound(body, method):
    found = sound(ask(NAME, body, method=method)).analysis
    assert found.ci.low <= found.ci.high


def test_too_many_resamples_without_spread_are_refused():
    with pytest.raises(InvalidData, match="standard error that is 0"):
        ask(NAME, columns([(0, 1)] + [(0, 0)] * 30), method="studentized")
    with pytest.raises(InvalidData, match="seed convention"):
        ask(NAME, columns([(0, 1), (1, 0)]), method="studentized", convention="seed")


def test_counts_and_columns_draw_the_same_studentized_law():
    rows = [(0, 1)] * 20 + [(1, 0)] * 12 + [(1, 1)] * 8
    from_columns = analyse(NAME, columns(rows), method="studentized", n_resamples=20_000)
    from_counts = analyse(NAME, table_of(8, 12, 20, 0), method="studentized", n_resamples=20_000)
    assert (from_counts.ci.low, from_counts.ci.high) == pytest.approx(
        (from_columns.ci.low, from_columns.ci.high), abs=0.05
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"baseline": [1.0], "candidate": [1.0], "metric": "f1"}, "f1 needs counts"),
        ({**counts([(1, 0, 0, 1, 0, 0)]), "metric": "mean"}, "one value per item"),
        ({"baseline": [0.5], "candidate": [1], "metric": "accuracy"}, "outcomes 0 and 1"),
        ({"baseline": [1, 0], "candidate": [1, 1], "clusters": [1, 1]}, "single cluster"),
    ],
)
def test_statistics_that_do_not_fit_are_refused(body, message):
    with pytest.raises(InvalidData, match=message):
        ask(NAME, body)


def test_cost_grows_with_draws_and_items():
    test = registry.find(NAME)

    def cost(body, **options):
        return test.cost(test.request.model_validate({**body, **options}))

    few, many = counts(drawn_rows(1, 50).tolist()), counts(drawn_rows(1, 3000).tolist())
    assert cost(few) < cost(many) < cost(many, n_resamples=100_000)
    assert cost(many) < cost(many, method="studentized")


@pytest.mark.slow
@pytest.mark.parametrize(("method", "least"), [("percentile", 0.84), ("bca", 0.85), ("studentized", 0.88)])
def test_coverage_on_skewed_scores(method, least):
    rng = np.random.default_rng(21)
    covered = 0
    for _ in range(400):
        d = rng.lognormal(0, 1, 40).round(2)
        body = {"baseline": [0.0] * 40, "candidate": d.tolist()}
        interval = analyse(NAME, body, method=method, n_resamples=1000).ci
        covered += interval.low <= math.exp(0.5) <= interval.high
    assert least < covered / 400 < 0.99
