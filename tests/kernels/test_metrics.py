"""Metrics of sums against their definitions, sacrebleu, finite differences and every resample."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sacrebleu.metrics import BLEU

from service.kernels.bootstrap.metric_bootstrap import difference_blocks, seed_differences
from service.kernels.numeric import metrics
from service.kernels.numeric.metrics import MEAN, METRICS, PairedSums, distinct_rows, in_single
from service.kernels.numeric.streams import BLOCK
from service.kernels.randomization import metric_flips
from service.kernels.randomization.metric_flips import flip_blocks
from tests.kernels.drawn import draw_differences, flip

F1 = METRICS["f1"]
# baseline tp, fp, fn, candidate tp, fp, fn
decisions = st.lists(st.tuples(*[st.integers(0, 4)] * 6), min_size=1, max_size=7)


def paired(rows, metric=F1, copies=None):
    rows = np.array(rows, dtype=float)
    width = rows.shape[1] // 2
    copies = np.ones(len(rows)) if copies is None else np.array(copies, dtype=float)
    return PairedSums(metric, rows[:, :width], rows[:, width:], copies)


def translations(seed, n=60):
    """Token lists that share n-grams with their references, as sacrebleu statistics."""
    rng = np.random.default_rng(seed)
    references = [rng.integers(0, 6, rng.integers(4, 12)).tolist() for _ in range(n)]
    outputs = [[w if rng.random() < 0.8 else 7 for w in words][: rng.integers(3, 12)] for words in references]
    texts = [[" ".join(map(str, words)) for words in side] for side in (outputs, references)]
    scorer = BLEU(tokenize="none", smooth_method="none", force=True)
    stats = np.array(scorer._extract_corpus_statistics(texts[0], [texts[1]]), dtype=float)
    return scorer, texts, stats  # sys_len, ref_len, matches 1-4, totals 1-4


def bleu_rows(stats):
    return np.hstack([stats[:, 2:], stats[:, :2]])


def every_swap(sums):
    found = []
    for pattern in itertools.product([False, True], repeat=len(sums.baseline)):
        swap = np.array(pattern)[:, None]
        arms = np.where(swap, sums.candidate, sums.baseline), np.where(swap, sums.baseline, sums.candidate)
        found.append(PairedSums(sums.metric, *arms, sums.copies).delta)
    return np.array(found)


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
def test_precision_recall_and_f1_by_definition(tp, fp, fn):
    sums = np.array([tp, fp, fn], dtype=float)
    precision = tp / (tp + fp) if tp + fp else 0.0
    recall = tp / (tp + fn) if tp + fn else 0.0
    assert METRICS["precision"].value(sums) == precision
    assert METRICS["recall"].value(sums) == recall
    assert METRICS["precision"].is_undefined(sums) == (tp + fp == 0)
    assert METRICS["recall"].is_undefined(sums) == (tp + fn == 0)
    assert F1.is_undefined(sums) == (tp + fp + fn == 0)
    harmonic = 2 * precision * recall / (precision + recall) if tp else 0.0
    assert F1.value(sums) == pytest.approx(harmonic, abs=1e-15)


@pytest.mark.parametrize("seed", range(6))
def test_bleu_agrees_with_sacrebleu(seed):
    scorer, texts, stats = translations(seed)
    theirs = scorer.corpus_score(texts[0], [texts[1]]).score
    assert METRICS["bleu"].value(bleu_rows(stats).sum(axis=0)) == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("totals", [[3, 2, 1, 0], [3, 2, 1, 1], [0, 0, 0, 0]])
def test_bleu_without_a_match_of_some_order_is_zero_as_sacrebleu_says(totals):
    matches = [min(total, 2) for total in totals[:3]] + [0]
    row = np.array([*matches, *totals, 3, 4], dtype=float)
    theirs = BLEU.compute_bleu(matches, totals, 3, 4, smooth_method="none", max_ngram_order=4).score
    assert METRICS["bleu"].value(row) == theirs == 0
    assert METRICS["bleu"].is_undefined(row)


@pytest.mark.parametrize("name", METRICS)
def test_gradient_by_finite_differences(name):
    metric = METRICS[name]
    rng = np.random.default_rng(3)
    for short in (False, True):
        sums = rng.uniform(20, 40, metric.width)
        if name == "bleu":
            sums[4:8] += 40
            sums[8:] = (70, 90) if short else (90, 70)
        slopes = metric.gradient(sums)
        for place in range(metric.width):
            step = np.zeros(metric.width)
            step[place] = 1e-5
            expected = (metric.value(sums + step) - metric.value(sums - step)) / 2e-5
            assert slopes[place] == pytest.approx(expected, rel=1e-6, abs=1e-9)
        assert slopes @ sums == pytest.approx(0, abs=1e-9)


def test_gradient_is_zero_where_undefined():
    assert not METRICS["bleu"].gradient(np.zeros(10)).any()
    assert not F1.gradient(np.zeros(3)).any()


@given(st.lists(st.tuples(*[st.integers(-5, 5)] * 2), min_size=2, max_size=12))
def test_error_of_a_mean_is_the_textbooks(rows):
    one, other = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    ones = np.ones(len(rows))
    sums = PairedSums(MEAN, np.stack([one, ones], 1), np.stack([other, ones], 1), ones)
    expected = (other - one).std(ddof=1) / math.sqrt(len(rows))
    assert sums.standard_error() == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_error_of_clusters_is_cr1():
    rng = np.random.default_rng(1)
    n, codes = 60, rng.integers(0, 9, 60)
    d = rng.normal(size=n)
    ones = np.ones(n)
    items = PairedSums(MEAN, np.stack([0 * d, ones], 1), np.stack([d, ones], 1), ones)
    sizes = np.bincount(codes)
    residual = np.bincount(codes, weights=d) - sizes * d.mean()
    expected = math.sqrt(9 / 8 * residual @ residual) / n
    assert items.by_cluster(codes).standard_error() == pytest.approx(expected, rel=1e-12)


@given(decisions)
def test_merged_units_say_the_same(rows):
    sums = paired(rows + rows[:1])
    merged = sums.distinct
    assert merged.n_units == sums.n_units
    assert merged.delta == pytest.approx(sums.delta, abs=1e-14)
    assert merged.standard_error() == pytest.approx(sums.standard_error(), abs=1e-14)
    a, b = merged.acceleration(), sums.acceleration()
    assert a == b is None or a == pytest.approx(b, abs=1e-9)


@given(decisions)
def test_acceleration_by_definition(rows):
    rows = [*rows, (1, 0, 0, 0, 1, 2)]
    sums = paired(rows)
    left = np.array(
        [paired(rows[:i] + rows[i + 1 :]).delta if len(rows) > 1 else 0 for i in range(len(rows))]
    )
    away = left.mean() - left
    if len(rows) < 2 or np.abs(away).max() < 1e-9:
        assert sums.acceleration() is None or np.abs(away).max() > 0
    else:
        expected = (away**3).sum() / (6 * (away**2).sum() ** 1.5)
        assert sums.acceleration() == pytest.approx(expected, rel=1e-6, abs=1e-9)


@settings(deadline=None, max_examples=60)
@given(decisions, st.sampled_from(["precision", "recall", "f1"]))
def test_listed_swaps_by_definition(rows, name):
    sums = paired(rows, METRICS[name])
    found, expected = flip(sums, 100, 1), every_swap(sums)
    delta = sums.delta
    assert found.route == "enumeration"
    assert found.at_least == pytest.approx(np.mean(expected >= delta - 1e-12), abs=1e-12)
    assert found.at_most == pytest.approx(np.mean(expected <= delta + 1e-12), abs=1e-12)
    assert found.two_sided == pytest.approx(np.mean(np.abs(expected) >= abs(delta) - 1e-12), abs=1e-12)


def test_listed_swaps_of_bleu_by_definition():
    rows = np.hstack([bleu_rows(translations(seed, 9)[2]) for seed in (1, 2)])
    sums = paired(rows, METRICS["bleu"])
    found, expected = flip(sums, 100, 1), every_swap(sums)
    assert found.two_sided == pytest.approx(np.mean(np.abs(expected) >= abs(sums.delta) - 1e-9), abs=1e-12)
    undefined = [
        PairedSums(sums.metric, np.where(s, sums.candidate, sums.baseline),
                   np.where(s, sums.baseline, sums.candidate), sums.copies).undefined
        for s in (np.array(p)[:, None] for p in itertools.product([False, True], repeat=9))
    ]  # fmt: skip
    assert found.undefined == pytest.approx(np.mean(undefined), abs=1e-12)


def test_listing_in_chunks_changes_nothing(monkeypatch):
    rng = np.random.default_rng(5)
    sums = paired(rng.integers(0, 30, (11, 6)))
    whole = flip(sums, 100, 1)
    monkeypatch.setattr(metric_flips, "CHUNK_PATTERNS", 8)
    assert flip(sums, 100, 1).two_sided == pytest.approx(whole.two_sided, abs=1e-14)


def test_drawn_swaps_agree_with_listed_ones():
    rng = np.random.default_rng(6)
    for sums in (
        paired(rng.integers(0, 30, (14, 6))),
        paired([(1, 0, 1, 1, 0, 0), (1, 0, 0, 0, 1, 1), (0, 1, 0, 1, 0, 0)], copies=[20, 15, 3]),
    ):
        exact, drawn = flip(sums, 100, 1), flip(sums, 40_000, 1, listed=False)
        assert drawn.route == "monte_carlo"
        for side in ("at_least", "at_most", "two_sided"):
            p = getattr(exact, side)
            assert getattr(drawn, side) == pytest.approx(p, abs=4.5 * math.sqrt(p * (1 - p) / 40_000) + 1e-9)


@pytest.mark.parametrize("values", [200, 3])
def test_draws_depend_on_the_seed_and_not_on_how_blocks_are_shared_out(values):
    """Of units that hardly repeat, and of few cells."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 9, (values, 6))
    sums = paired(kinds[rng.integers(0, values, 200)])
    cuts = [range(1), range(1, 4), range(4, 5)]
    one, parts = difference_blocks(sums, 1, range(5)), [difference_blocks(sums, 1, cut) for cut in cuts]
    assert not np.array_equal(one.differences, difference_blocks(sums, 2, range(5)).differences)
    np.testing.assert_array_equal(one.differences, np.concatenate([part.differences for part in parts]))
    flips, parts = flip_blocks(sums, 1, range(5)), [flip_blocks(sums, 1, cut) for cut in cuts]
    assert flips[0].size == 5 * BLOCK
    np.testing.assert_array_equal(flips[0], np.concatenate([part[0] for part in parts]))


def test_single_precision_only_where_whole_numbers_stay_exact():
    rows = np.array([[3.0, 7.0], [1.0, 2.0]])
    assert in_single(rows, 1000).dtype == np.float32
    assert in_single(rows + 0.5, 1000).dtype == np.float64
    assert in_single(rows, 2**24 / 7 + 1).dtype == np.float64


@given(
    arrays(
        np.float64,
        st.tuples(st.integers(0, 30), st.integers(1, 4)),
        elements=st.sampled_from([-0.0, 0, 1, 2, 0.5]),
    )
)
def test_distinct_rows_are_those_of_numpy(rows):
    found, place = distinct_rows(rows)
    np.testing.assert_array_equal(found[place], rows)
    assert sorted(found.tolist()) == np.unique(rows, axis=0).tolist()


def test_distinct_rows_survive_equal_hashes(monkeypatch):
    rows = np.random.default_rng(1).integers(0, 3, (40, 3)).astype(float)
    monkeypatch.setattr(metrics, "ODD", np.zeros(64, dtype=np.uint64))
    found, place = distinct_rows(rows)
    np.testing.assert_array_equal(found[place], rows)
    assert len(found) == len(np.unique(rows, axis=0))


def every_resample(sums):
    n = len(sums.baseline)
    for chosen in itertools.product(range(n), repeat=n):
        picked = list(chosen)
        yield PairedSums(sums.metric, sums.baseline[picked], sums.candidate[picked], np.ones(n))


@pytest.mark.parametrize("copies", [None, [1, 1, 1, 1, 80]])
def test_resamples_have_the_law_of_the_bootstrap(copies):
    rows = [
        (2, 1, 0, 3, 0, 0),
        (0, 0, 1, 1, 0, 1),
        (1, 2, 1, 0, 1, 2),
        (4, 0, 1, 4, 1, 0),
        (1, 1, 1, 1, 0, 1),
    ]
    sums = paired(rows, copies=copies)
    drawn = draw_differences(sums, 20_000, 3, studentize=True)
    if copies is None:
        deltas = np.array([one.delta for one in every_resample(sums)])
        mean, sd = drawn.moments()
        assert mean == pytest.approx(deltas.mean(), abs=5 * deltas.std() / math.sqrt(20_000))
        assert sd == pytest.approx(deltas.std(), rel=0.03)
        pivots = np.array(
            [
                (one.delta - sums.delta) / error
                for one in every_resample(sums)
                if (error := one.standard_error()) > 1e-9
            ]
        )
        assert drawn.without_spread == pytest.approx(1 - len(pivots) / 5**5, abs=0.005)
        for q in (0.1, 0.5, 0.9):
            low, high = np.quantile(pivots, [q - 0.015, q + 0.015])
            assert low <= np.quantile(drawn.pivots, q) <= high
    else:
        assert drawn.moments()[1] == pytest.approx(sums.standard_error(), rel=0.05)


def test_cells_and_units_have_the_same_law():
    rng = np.random.default_rng(2)
    kinds = rng.integers(0, 4, (4, 6))
    rows = np.repeat(kinds, 40, axis=0)
    by_cell, by_unit = (
        draw_differences(paired(rows), 20_000, 1),
        draw_differences(paired(rows + rng.uniform(0, 1e-9, rows.shape)), 20_000, 1),
    )
    for q in (0.05, 0.5, 0.95):
        assert by_cell.quantile(q) == pytest.approx(by_unit.quantile(q), abs=0.06 * by_unit.moments()[1])


def test_literal_recipe_for_a_ratio():
    rng = np.random.default_rng(8)
    rows = rng.integers(0, 6, (12, 6))
    draws = np.random.default_rng(42)
    expected = []
    for _ in range(200):
        picked = draws.choice(12, 12, replace=True)
        tp, fp, fn, tp2, fp2, fn2 = rows[picked].sum(axis=0)
        expected.append(2 * tp2 / (2 * tp2 + fp2 + fn2) - 2 * tp / (2 * tp + fp + fn))
    found = seed_differences(paired(rows), 200, 42)
    assert found.estimates == pytest.approx(np.sort(expected), abs=1e-14)
    assert found.route == "seed"
