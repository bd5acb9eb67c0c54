"""Randomization against McNemar, every swap, scipy, sacrebleu, other software and its own symmetries."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU
from scipy import stats

from service.errors import InvalidData
from service.stats.shared.declaring import registry
from tests.drawing import draws
from tests.simulation.reads import CLUSTERED, SCORES, coverage, errors
from tests.simulation.rows import Batch
from tests.simulation.worlds import WORLDS
from tests.stats import bodies
from tests.stats.bodies import STATISTICS, bodies_of_pairs, bodies_of_tables, counted
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, cases, close, codes, corpus, tolerance
from tests.stats.shapes import columns, counts, table_of
from tests.stats.soundness import sound

NAME = "randomization"
pairs = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=40)
scores = st.lists(st.tuples(*[st.integers(-40, 40).map(lambda k: k / 8)] * 2), min_size=1, max_size=9)
decisions = st.lists(st.tuples(*[st.integers(0, 4)] * 6), min_size=1, max_size=6)


def bleu(texts, references):
    scorer = BLEU(tokenize="none", smooth_method="none", force=True)
    body = {"metric": "bleu"}
    for name, outputs in texts.items():
        rows = np.array(scorer._extract_corpus_statistics(outputs, [references]))
        body[name] = {
            "sys_len": rows[:, 0].tolist(),
            "ref_len": rows[:, 1].tolist(),
            "matches": rows[:, 2:6].tolist(),
            "totals": rows[:, 6:].tolist(),
        }
    return body


def sentences(seed, n):
    rng = np.random.default_rng(seed)
    references = [rng.integers(0, 9, 12).tolist() for _ in range(n)]

    def spoiled(share):
        return [
            " ".join("x" if rng.random() < share else str(word) for word in words) for words in references
        ]

    texts = {"baseline": spoiled(0.25), "candidate": spoiled(0.2)}
    return texts, [" ".join(map(str, words)) for words in references]


@settings(deadline=None)
@given(pairs, st.sampled_from(["two-sided", "greater", "less"]), st.sampled_from(["mean", "accuracy"]))
def test_on_accuracy_it_is_exact_mcnemar(rows, alternative, metric):
    body = columns(rows)
    ours = analyse(NAME, body, alternative=alternative, metric=metric)
    theirs = analyse("mcnemar", body, alternative=alternative)
    assert ours.p_value == pytest.approx(theirs.p_value, rel=1e-12)
    assert ours.min_attainable_p == pytest.approx(theirs.min_attainable_p, rel=1e-12)
    assert ours.delta == pytest.approx(theirs.delta, abs=1e-15)
    assert ours.counts == theirs.counts
    cells = [sum(row == cell for row in rows) for cell in ((1, 1), (1, 0), (0, 1), (0, 0))]
    names = ("both_correct", "only_baseline", "only_candidate", "both_wrong")
    from_counts = analyse(NAME, dict(zip(names, cells, strict=True)), alternative=alternative, metric=metric)
    assert from_counts.p_value == ours.p_value
    assert from_counts.ci.low == (None if ours.ci.low is None else pytest.approx(ours.ci.low, abs=1e-12))


@settings(deadline=None, max_examples=draws(60))
@given(scores)
def test_scores_by_definition(rows):
    d = np.array([b - a for a, b in rows])
    sums = np.array(list(itertools.product([-1, 1], repeat=len(d)))) @ d
    for alternative, share in (
        ("two-sided", np.mean(np.abs(sums) >= abs(d.sum()))),
        ("greater", np.mean(sums >= d.sum())),
        ("less", np.mean(sums <= d.sum())),
    ):
        found = analyse(NAME, columns(rows), alternative=alternative)
        assert found.p_value == pytest.approx(share, abs=1e-12)
        assert found.p_value >= found.min_attainable_p * (1 - 1e-9)


@settings(deadline=None, max_examples=draws(40))
@given(decisions, st.sampled_from(["precision", "recall", "f1"]))
def test_counts_by_definition(rows, metric):
    found = analyse(NAME, counts(rows, metric))

    def value(arm):
        tp, fp, fn = arm.sum(axis=0)
        top, bottom = {"precision": (tp, tp + fp), "recall": (tp, tp + fn), "f1": (2 * tp, 2 * tp + fp + fn)}[
            metric
        ]
        return top / bottom if bottom else 0.0

    grid = np.array(rows, dtype=float)
    baseline, candidate = grid[:, :3], grid[:, 3:]
    assert (found.baseline_value, found.candidate_value) == pytest.approx((value(baseline), value(candidate)))
    deltas = []
    for pattern in itertools.product([False, True], repeat=len(rows)):
        swap = np.array(pattern)[:, None]
        deltas.append(value(np.where(swap, baseline, candidate)) - value(np.where(swap, candidate, baseline)))
    expected = np.mean(np.abs(deltas) >= abs(found.delta) - 1e-12)
    assert found.p_value == pytest.approx(expected, abs=1e-12)
    assert found.route == "enumeration"


@settings(deadline=None, max_examples=draws(30))
@given(decisions, st.sampled_from(["greater", "two-sided"]))
def test_swapping_the_arms_mirrors(rows, alternative):
    swapped = [(*row[3:], *row[:3]) for row in rows]
    one = analyse(NAME, counts(rows), alternative=alternative)
    other = analyse(NAME, counts(swapped), alternative={"greater": "less"}.get(alternative, alternative))
    assert other.delta == -one.delta
    assert other.p_value == pytest.approx(one.p_value, abs=1e-12)
    if one.ci.low is not None:
        assert (other.ci.low, other.ci.high) == pytest.approx((-one.ci.high, -one.ci.low), abs=1e-9)


@settings(deadline=None, max_examples=draws(30))
@given(decisions, st.randoms(use_true_random=False))
def test_order_of_items_does_not_matter(rows, shuffle):
    one, other = analyse(NAME, counts(rows)), analyse(NAME, counts(shuffle.sample(rows, len(rows))))
    assert other.p_value == pytest.approx(one.p_value, abs=1e-12)
    assert other.delta == one.delta


@settings(deadline=None, max_examples=draws(30))
@given(pairs.filter(lambda rows: len(rows) > 3), st.permutations(["a", "b", "c", "d"]))
def test_names_of_clusters_do_not_matter(rows, names):
    labels = [i % 4 for i in range(len(rows))]
    one = analyse(NAME, columns(rows), clusters=labels)
    other = analyse(NAME, columns(rows), clusters=[names[label] for label in labels])
    assert other == one


@settings(deadline=None, max_examples=draws(40))
@given(pairs.filter(lambda rows: len(rows) > 1))
def test_clusters_of_one_item_are_items(rows):
    items = analyse(NAME, columns(rows))
    clusters = analyse(NAME, columns(rows), clusters=list(range(len(rows))))
    assert clusters.p_value == pytest.approx(items.p_value, rel=1e-9)
    assert (items.unit, clusters.unit) == ("item", "cluster")
    assert clusters.n_clusters == len(rows)


def test_clusters_are_swapped_whole_as_the_clustered_test_does():
    rng = np.random.default_rng(3)
    body = columns(rng.integers(0, 2, (80, 2)).tolist())
    labels = rng.integers(0, 13, 80).tolist()
    found = analyse(NAME, body, clusters=labels)
    theirs = analyse("clustered-mcnemar", {**body, "clusters": labels})
    assert found.p_value == theirs.p_value
    assert found.delta == pytest.approx(theirs.delta)
    grid = np.hstack([np.array([body["baseline"], body["candidate"]]).T, np.array(labels)[:, None]])
    g = len(set(labels))
    sums = np.array([(grid[grid[:, 2] == k][:, 1] - grid[grid[:, 2] == k][:, 0]).sum() for k in set(labels)])
    every = np.array(list(itertools.product([-1, 1], repeat=g))) @ sums
    assert found.p_value == pytest.approx(np.mean(np.abs(every) >= abs(sums.sum())), abs=1e-12)


def test_clusters_of_counts_by_definition():
    rng = np.random.default_rng(4)
    grid = rng.integers(0, 5, (30, 6))
    labels = rng.integers(0, 8, 30)
    found = analyse(NAME, counts(grid.tolist()), clusters=labels.tolist())
    whole = np.array([grid[labels == k].sum(axis=0) for k in np.unique(labels)])
    assert found.p_value == pytest.approx(analyse(NAME, counts(whole.tolist())).p_value, abs=1e-12)
    assert found.n_swappable <= found.n_clusters == len(whole)


def test_agrees_with_scipy_permutation_test_on_scores():
    rng = np.random.default_rng(8)
    one, other = rng.normal(size=13), rng.normal(0.4, 1, 13)
    theirs = stats.permutation_test(
        (other, one), lambda x, y, axis: (x - y).mean(axis=axis), permutation_type="samples",
        vectorized=True, n_resamples=np.inf,
    )  # fmt: skip
    found = analyse(NAME, columns(zip(one.tolist(), other.tolist(), strict=True)))
    assert found.p_value == pytest.approx(theirs.pvalue, abs=1e-12)
    assert found.route == "enumeration"


def test_agrees_with_sacrebleu_on_scores_and_with_drawing_on_p():
    texts, references = sentences(1, 15)
    body = bleu(texts, references)
    scorer = BLEU(tokenize="none", smooth_method="none", force=True)
    found = analyse(NAME, body)
    assert found.baseline_value == pytest.approx(scorer.corpus_score(texts["baseline"], [references]).score)
    assert found.candidate_value == pytest.approx(scorer.corpus_score(texts["candidate"], [references]).score)
    drawn = analyse(NAME, body, convention="seed", n_resamples=5000)
    assert (found.route, drawn.route) == ("enumeration", "monte_carlo")
    assert abs(found.p_value - drawn.p_value) < 4 * drawn.p_mc_se
    assert "BLEU" in found.sentence


@pytest.mark.parametrize("case", cases("sufficient_stats"))
def test_corpus_metrics_against_sacrebleu_and_other_code(case):
    body, expected = corpus(case["input"]), case["expected"]
    found = analyse(NAME, body)
    field = "approx_randomization_p_two_sided"
    assert close(found.p_value, expected[field], **tolerance(case, field))
    one_sided = analyse(NAME, body, alternative="greater" if found.delta > 0 else "less", n_resamples=10_000)
    if "approx_randomization_p_one_sided" in expected:
        assert close(one_sided.p_value, expected["approx_randomization_p_one_sided"], rel=0, abs=0.01)
        assert close(found.p_value, expected["sacrebleu_ar_p"], rel=0, abs=0.01)
        # the interval is a linearization: near the bootstrap's, not equal to it
        low, high = expected["ci95_percentile_A_minus_B"]
        assert (-found.ci.high, -found.ci.low) == pytest.approx(
            (low, high), abs=0.2 * expected["bootstrap_se"]
        )


def test_draws_repeat_and_carry_their_error():
    rng = np.random.default_rng(1)
    body = counts(rng.integers(0, 30, (60, 6)).tolist())
    answer = ask(NAME, body, n_resamples=2000, seed=7)
    found = answer.analysis
    assert found.route == "monte_carlo"
    assert (answer.provenance.exact, answer.provenance.n_resamples, answer.provenance.seed) == (
        False,
        2000,
        7,
    )
    assert found.min_attainable_p == pytest.approx(1 / 2001)
    assert found.p_mc_se == pytest.approx(math.sqrt(found.p_value * (1 - found.p_value) / 2000))
    assert ask(NAME, body, n_resamples=2000, seed=7).model_dump_json() == answer.model_dump_json()
    assert analyse(NAME, body, n_resamples=2000, seed=8).p_value != found.p_value
    literal = analyse(NAME, body, n_resamples=2000, seed=7, convention="seed")
    assert literal.p_value * 2000 + 1 == pytest.approx(found.p_value * 2001)


def test_seed_convention_that_counts_nothing_gives_a_bound():
    found = sound(ask(NAME, counts([(0, 5, 5, 9, 0, 0)] * 40), convention="seed", n_resamples=100)).analysis
    assert found.bounds["p_value"] == "< 0.01"
    assert found.p_value == found.min_attainable_p == 0.01


def test_unresolved_p_raises_the_draws_and_warns_when_told_not_to():
    rng = np.random.default_rng(12)
    body = counts(rng.integers(0, 30, (60, 6)).tolist())
    p = analyse(NAME, body).p_value
    assert ask(NAME, body, alpha=p).provenance.n_resamples == 100_000
    assert ask(NAME, body, alpha=min(0.99, p + 0.1)).provenance.n_resamples == 10_000
    assert "MC_UNRESOLVED" in codes(ask(NAME, body, alpha=p, n_resamples=1000))
    assert "MC_UNRESOLVED" not in codes(ask(NAME, body, alpha=min(0.99, p + 0.2), n_resamples=1000))


DOMINATED = {"DOMINANT_CLUSTER", "CAUTION"}


@pytest.mark.parametrize(
    ("body", "options", "expected"),
    [
        (columns([(0, 1)] * 6 + [(1, 1)]), {}, set()),
        (columns([(0, 1)] * 5), {}, {"FLOOR_ABOVE_ALPHA"}),
        (columns([(0, 1)] * 5), {"alternative": "greater"}, set()),
        (columns([(1, 1)] * 5), {}, {"NO_DISCORDANT"}),
        (columns([(0, 1)] * 20), {"clusters": [i % 10 for i in range(20)]}, {"CAUTION"}),
        (columns([(0, 1)] * 20), {"clusters": [i % 9 for i in range(20)]}, {"FEW_CLUSTERS"}),
        (columns([(0, 1), (1, 0)] * 30), {"clusters": [i % 30 for i in range(60)]}, set()),
        (columns([(0, 1)] * 20), {"clusters": [max(i - 6, 0) for i in range(20)]}, DOMINATED),
        (counts([(0, 0, 0, 1, 0, 0)] * 8), {}, {"METRIC_UNDEFINED"}),
        (counts([(1, 1, 1, 2, 0, 0)] * 8), {}, set()),
        (counts([(1, 0, 1, 0, 0, 1)] * 8, "precision"), {}, {"METRIC_UNDEFINED"}),
        (counts([(1, 1, 1, 2, 0, 0)] * 8, "recall"), {}, set()),
    ],
)
def test_warnings_fire_where_they_should(body, options, expected):
    assert codes(ask(NAME, body, **options)) == expected


def test_undefined_in_swaps_alone_is_counted():
    rows = [(1, 0, 0, 0, 1, 0)] * 3 + [(0, 0, 1, 1, 0, 0)] * 4
    warned = [w for w in ask(NAME, counts(rows, "precision")).warnings if w.code == "METRIC_UNDEFINED"]
    assert not warned
    rows = [(1, 0, 0, 0, 0, 1)] * 3 + [(0, 0, 1, 1, 0, 0)] * 4
    warned = [w for w in ask(NAME, counts(rows, "precision")).warnings if w.code == "METRIC_UNDEFINED"]
    assert "1.56% of swaps" in warned[0].message  # 2 of 128: one arm gets every prediction


def test_replicates_are_averaged_within_the_item():
    runs = [[0.5, 1.0], [0.25], [0.0, 0.5, 0.25], [1.0, 1.0]]
    other = [[1.0, 1.0], [0.75, 0.25], [0.5], [0.25, 0.5]]
    means = columns([(sum(a) / len(a), sum(b) / len(b)) for a, b in zip(runs, other, strict=True)])
    found = analyse(NAME, {"baseline": runs, "candidate": other})
    assert found.p_value == analyse(NAME, means).p_value
    assert found.n == 4


@pytest.mark.parametrize("clusters", [None, [k % 15 for k in range(45)]])
@pytest.mark.parametrize("scores", [1, 1e-100, 1e100])
def test_arms_that_rounding_alone_tells_apart_are_equal(clusters, scores):
    """0.1 k and k/10 are the same score computed in two ways: their last digits were 15 differences of one sign."""
    body = {
        "baseline": [0.1 * k * scores for k in range(1, 46)],
        "candidate": [k / 10 * scores for k in range(1, 46)],
    }
    for test in ("randomization", *(["clustered-mcnemar"] if clusters else [])):
        found = analyse(test, body if clusters is None else {**body, "clusters": clusters})
        assert (found.p_value, found.n_discordant) == (1, 0)
        assert "is rejected" not in found.sentence
        assert "are rejected" not in found.sentence


def test_clusters_whose_sums_are_zero_but_for_rounding_differ_in_nothing():
    items = [100.1, 100.2, 100.3]
    body = {"baseline": items * 8, "candidate": items[::-1] * 8, "clusters": [k // 3 for k in range(24)]}
    for test in ("randomization", "clustered-mcnemar"):
        assert analyse(test, body).p_value == 1


def test_many_scores_off_any_grid_stay_close_to_the_normal_tail():
    rng = np.random.default_rng(2)
    one = rng.lognormal(size=5000)
    other = one + rng.normal(0.02, 1, 5000)
    answer = ask(NAME, columns(zip(one.tolist(), other.tolist(), strict=True)))
    d = other - one
    z = d.sum() / math.sqrt((d**2).sum())
    assert answer.analysis.p_value == pytest.approx(2 * stats.norm.sf(abs(z)), abs=0.003)
    assert answer.analysis.route == "inversion"
    assert answer.provenance.error_bound < 1e-5


def test_values_with_one_common_size_go_to_the_grid():
    rng = np.random.default_rng(9)
    d = np.where(rng.random(400) < 0.6, math.pi, rng.normal(-4, 3, 400))
    answer = ask(NAME, columns([(0.0, x) for x in d.tolist()]))
    assert answer.analysis.route == "grid"
    signs = rng.choice([-1.0, 1.0], (40_000, 400))
    drawn = np.mean(np.abs(signs @ d) >= abs(d.sum()))
    error = answer.provenance.error_bound + 4 * math.sqrt(drawn / 40_000)
    assert answer.analysis.p_value == pytest.approx(drawn, abs=error)


def test_far_tails_of_scores_are_numbers_not_zero():
    rng = np.random.default_rng(3)
    found = sound(ask(NAME, columns([(0.0, x) for x in rng.normal(1, 1, 200).tolist()]))).analysis
    assert 0 < found.p_value < 1e-9


@pytest.mark.parametrize("body", [
    columns([(1, 0)]), columns([(0.5, 0.5)]), columns([(1e-300, 0.0), (0.0, 1e-300)]), columns([(-1e149, 1e149)] * 3),
    columns([(0.0, 0.1)] * 50), columns([(0.0, math.pi)] * 29 + [(0.0, 1e9)]), columns([(0, 1)] * 2000),
    counts([(0, 0, 0, 0, 0, 0)]), counts([(0, 0, 0, 0, 0, 0)] * 3, "recall"), counts([(1, 1, 1, 1, 1, 1)] * 30),
    counts([(10**9, 0, 0, 0, 10**9, 10**9)] * 3), table_of(0, 10**9, 1, 10**9),
])  # fmt: skip
def test_hostile_data_stay_sound(body):
    for alternative in ("two-sided", "greater", "less"):
        sound(ask(NAME, body, alternative=alternative))
    if isinstance(body.get("baseline"), list) and len(body["baseline"]) > 1:
        sound(ask(NAME, body, clusters=[i % 2 for i in range(len(body["baseline"]))]))


GRAMS = {"matches": [[3, 2, 1, 0]], "totals": [[4, 3, 2, 1]], "sys_len": [4], "ref_len": [5]}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"baseline": [1.0], "candidate": [1.0], "metric": "f1"}, "f1 needs counts"),
        ({**counts([(1, 0, 0, 1, 0, 0)]), "metric": "mean"}, "one value per item"),
        ({**counts([(1, 0, 0, 1, 0, 0)]), "metric": "bleu"}, "bleu needs counts"),
        ({"baseline": GRAMS, "candidate": GRAMS, "metric": "f1"}, "f1 needs counts"),
        ({"baseline": {**GRAMS, "matches": [[5, 2, 1, 0]]}, "candidate": GRAMS, "metric": "bleu"}, "more matches"),
        ({"baseline": {**GRAMS, "ref_len": []}, "candidate": GRAMS, "metric": "bleu"}, "ref_len"),
        ({"baseline": {"tp": [], "fp": [], "fn": []}, "candidate": GRAMS, "metric": "f1"}, "no items"),
        ({"baseline": [0.5], "candidate": [1], "metric": "accuracy"}, "outcomes 0 and 1"),
        ({"baseline": [1, 0], "candidate": [1]}, "has 1 values"),
        ({"baseline": [], "candidate": []}, "no items"),
        ({"baseline": [1e151], "candidate": [0.0]}, "beyond"),
        ({"baseline": [[1e308, 1e308]], "candidate": [0.0]}, "beyond"),
        ({"baseline": [1, 0], "candidate": [1, 1], "clusters": ["a", "a"]}, "single cluster"),
        ({"baseline": [1, 0], "candidate": [1, 1], "clusters": ["a"]}, "has 1 values"),
        ({**table_of(1, 1, 1, 1), "clusters": [1, 2, 3, 4]}, "clusters"),
        ({**table_of(1, 1, 1, 1), "metric": "f1"}, "f1 needs"),
    ],
)  # fmt: skip
def test_data_that_cannot_be_used_are_refused(body, message):
    with pytest.raises(InvalidData, match=message):
        ask(NAME, body)


@pytest.mark.parametrize("body", [
    {**counts([(1, 0, 0, 1, 0, 0)]), "baseline": {"tp": [-1], "fp": [0], "fn": [0]}},
    {**counts([(1, 0, 0, 1, 0, 0)]), "baseline": {"tp": [1.5], "fp": [0], "fn": [0]}},
    {"baseline": {**GRAMS, "matches": [[1, 1, 1]]}, "candidate": GRAMS, "metric": "bleu"},
    {"baseline": [[]], "candidate": [[1.0]]},
    {"baseline": [[1.0], 2.0], "candidate": [1.0, 2.0]},
])  # fmt: skip
def test_malformed_statistics_are_refused(body):
    with pytest.raises(ValueError, match="validation error"):
        ask(NAME, body)


def test_cost_tells_quick_from_slow():
    test = registry.find(NAME)

    def cost(body, **options):
        return test.cost(test.request.model_validate({**body, **options}))

    rng = random.Random(1)
    many = counts([[rng.randrange(30) for _ in range(6)] for _ in range(3000)])
    assert cost(columns([(1.0, 0.0), (0.0, 1.0)])) < 0.01 < cost(many) < cost(many, n_resamples=100_000)


@pytest.mark.slow
def test_size_under_exchangeable_f1():
    rng = np.random.default_rng(5)
    rejected = 0
    for _ in range(600):
        tp = rng.integers(0, 4, (40, 2))
        grid = np.hstack([tp[:, :1], rng.integers(0, 3, (40, 2)), tp[:, 1:], rng.integers(0, 3, (40, 2))])
        rejected += analyse(NAME, counts(grid.tolist()), n_resamples=999).p_value <= 0.05
    assert rejected / 600 == pytest.approx(0.05, abs=4 * math.sqrt(0.05 * 0.95 / 600))


def simulated() -> Iterator[Batch]:
    """What is drawn where the truth is known."""
    for world in SCORES:  # it moves with the data, so coverage of 0 is coverage of any difference
        yield Batch(world, "randomization", (errors(), coverage()))
    for world in CLUSTERED:
        yield Batch(world, "randomization", (errors(),))
        yield Batch(world, "randomization", (coverage(),), {}, WORLDS[world].effect)
    drawn: dict[str, object] = {"metric": "f1", "n_resamples": 1_000}
    yield Batch("documents", "randomization", (errors(), coverage()), drawn, simulations=1_000)


CASES = Cases(
    degenerate=lambda: [*bodies_of_tables(), *bodies_of_pairs(), *STATISTICS],
    growing=[
        lambda k: bodies.scores(2000 * k),
        lambda k: counted(100 * k),
        lambda k: {**counted(100), "n_resamples": 1000 * k},
    ],
    mirrored={"binary": [{}], "paired scores": [{}], "clusters": [{}]},
    simulated=simulated,
    varied={"n_resamples": [200]},
)


@pytest.mark.parametrize(
    ("clusters", "noun"), [(None, "items"), ([0, 0, 1, 1, 2, 2, 3, 3, 4, 4], "clusters")]
)
def test_a_floor_names_what_is_swapped(clusters, noun):
    n = 5 if clusters is None else 10
    body = {"metric": "mean", "baseline": [0.0] * n, "candidate": [1.0 + i for i in range(n)]}
    answer = ask(NAME, body | ({} if clusters is None else {"clusters": clusters}))
    (floor,) = [each for each in answer.warnings if each.code == "FLOOR_ABOVE_ALPHA"]
    assert f"swapping 5 {noun} can give" in floor.message
    assert floor.message.endswith(f"plan more {noun}.")
