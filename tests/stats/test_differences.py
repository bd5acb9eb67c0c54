"""Where other libraries answer differently, as docs/differences.md lists it; each row has its test here.

A test shows both sides: what the library says, so that a change there is noticed, and what is right, by
definition. The last test compares this file with the page.
"""

from __future__ import annotations

import itertools
import math
import re
import tomllib
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlxtend.evaluate import mcnemar as mlxtend_mcnemar
from mlxtend.evaluate import permutation_test as mlxtend_permutation_test
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest
from scipy import stats
from statsmodels.stats.contingency_tables import Table2x2
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.power import TTestIndPower
from statsmodels.stats.weightstats import ttost_paired

from tests.stats.oracle import analyse, ask, codes
from tests.stats.shapes import columns, table_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "differences.md"
FEW = settings(deadline=None, max_examples=25)


@pytest.fixture(autouse=True)
def libraries_may_warn():
    """They warn, or divide by zero, in just the cases shown here."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def release(library):
    """Major and minor version."""
    return tuple(map(int, version(library).split(".")[:2]))


def square(b, c):
    return np.array([[5, c], [b, 5]])


# --- scipy ---


@pytest.mark.parametrize("test", [stats.ttest_rel, stats.ttest_ind])
def test_scipy_gives_p_zero_where_nothing_varies(test):
    baseline, candidate = [1.0, 1.0, 1.0], [2.0, 2.0, 2.0]
    assert test(candidate, baseline).pvalue == 0
    method = "paired" if test is stats.ttest_rel else "welch"
    answer = ask("t-test", {"baseline": baseline, "candidate": candidate}, method=method)
    assert answer.analysis.p_value is None
    assert "CONSTANT_DATA" in codes(answer)


def test_scipy_exact_wilcoxon_does_not_see_ties():
    differences = [1.0, 1.0, 2.0, 2.0, -1.0]
    body = {"baseline": [0.0] * 5, "candidate": differences}
    ranks = stats.rankdata(np.abs(differences))
    sums = [sum(r for r, up in zip(ranks, s, strict=True) if up) for s in itertools.product([0, 1], repeat=5)]
    observed = ranks[np.array(differences) > 0].sum()
    right = min(1.0, 2 * min(np.mean(np.array(sums) >= observed), np.mean(np.array(sums) <= observed)))
    assert analyse("wilcoxon", body, method="exact").p_value == pytest.approx(right)
    assert stats.wilcoxon(differences, method="exact").pvalue == pytest.approx(0.1875)
    assert right == 0.25


def test_scipy_exact_mann_whitney_does_not_see_ties():
    baseline, candidate = [1.0, 2.0, 2.0, 3.0], [2.0, 3.0, 3.0, 4.0]
    pooled = np.array(baseline + candidate)
    ranks = stats.rankdata(pooled)
    sums = np.array([ranks[list(chosen)].sum() for chosen in itertools.combinations(range(8), 4)])
    observed = ranks[4:].sum()
    right = min(1.0, 2 * min(np.mean(sums >= observed), np.mean(sums <= observed)))
    found = analyse("mann-whitney", {"baseline": baseline, "candidate": candidate}, method="exact")
    assert found.p_value == pytest.approx(right)
    theirs = stats.mannwhitneyu(candidate, baseline, method="exact").pvalue
    assert theirs == pytest.approx(0.2)
    assert abs(theirs - right) > 0.01


def test_scipy_corrects_mann_whitney_for_continuity():
    rng = np.random.default_rng(1)
    baseline, candidate = rng.normal(size=80), rng.normal(0.3, 1, 80)
    body = {"baseline": baseline.tolist(), "candidate": candidate.tolist()}
    plain, corrected = (
        analyse("mann-whitney", body, method=each).p_value for each in ("asymptotic", "corrected")
    )
    theirs = stats.mannwhitneyu(candidate, baseline, method="asymptotic")
    assert theirs.pvalue == pytest.approx(corrected, rel=1e-12)
    assert stats.mannwhitneyu(
        candidate, baseline, method="asymptotic", use_continuity=False
    ).pvalue == pytest.approx(plain, rel=1e-12)
    assert (f"{theirs.pvalue:.4f}", f"{plain:.4f}") == ("0.0955", "0.0952")
    signed = analyse("wilcoxon", body, method="asymptotic").p_value
    assert stats.wilcoxon(candidate, baseline, method="asymptotic").pvalue == pytest.approx(signed, rel=1e-12)


def test_scipy_bootstrap_gives_nan_where_nothing_varies():
    theirs = stats.bootstrap((np.ones(5),), np.mean, method="BCa", n_resamples=99).confidence_interval
    assert math.isnan(theirs.low)
    found = analyse("describe", {"values": [1.0] * 5}, method="bca")
    assert found.ci is None or found.ci.low is None
    assert found.reasons


# --- statsmodels ---


def test_statsmodels_mcnemar_without_a_discordant_pair():
    assert statsmodels_mcnemar(square(0, 0), exact=False, correction=True).pvalue == 0
    assert math.isnan(statsmodels_mcnemar(square(0, 0), exact=False, correction=False).pvalue)
    for method in ("asymptotic", "corrected"):
        assert analyse("mcnemar", table_of(5, 0, 0, 5), method=method).p_value == 1


def test_statsmodels_corrects_a_tie_away_from_zero():
    assert statsmodels_mcnemar(square(4, 4), exact=False, correction=True).statistic == pytest.approx(1 / 8)
    found = analyse("mcnemar", table_of(5, 4, 4, 5), method="corrected")
    assert (found.statistic, found.p_value) == (0, 1)


def test_statsmodels_power_is_nan_near_one():
    """It is scipy that answers NaN, up to 1.17."""
    theirs = TTestIndPower().power(1, 3000, 0.05)
    assert math.isnan(theirs) if release("scipy") < (1, 18) else theirs == 1
    design = {"test": "student", "delta": 1.0, "sd_baseline": 1.0, "sd_candidate": 1.0, "n": 3000}
    assert analyse("power", design).points[0].power == 1


def test_statsmodels_calls_identical_arms_equivalent_with_p_zero():
    same = np.array([1.0, 2.0, 3.0])
    assert ttost_paired(same, same, -0.1, 0.1)[0] == 0
    body = {"baseline": same.tolist(), "candidate": same.tolist(), "margin": {"value": 0.1, "unit": "score"}}
    answer = ask("equivalence", body, method="t")
    assert answer.analysis.p_value is None
    assert "DEGENERATE" in codes(answer)


def test_statsmodels_adds_a_half_to_the_empty_cells_alone():
    table = [[5, 0], [0, 5]]
    assert Table2x2(np.array(table)).log_oddsratio == pytest.approx(math.log(5 * 5 / (0.5 * 0.5)))
    found = analyse("effect-conversion", {"effect": {"kind": "chi_square", "table": table}})
    log_odds = math.log(5.5 * 5.5 / (0.5 * 0.5))
    assert found.effect == pytest.approx(log_odds)
    assert found.d_equivalent == pytest.approx(log_odds * math.sqrt(3) / math.pi)


# --- mlxtend ---


def test_mlxtend_mcnemar_without_a_discordant_pair_and_on_a_tie():
    assert mlxtend_mcnemar(square(0, 0), exact=False)[1] == 0
    assert mlxtend_mcnemar(square(4, 4), exact=False)[0] == pytest.approx(1 / 8)
    assert analyse("mcnemar", table_of(5, 0, 0, 5), method="corrected").p_value == 1


@FEW
@given(st.lists(st.tuples(*[st.integers(-8, 8).map(lambda k: k / 4)] * 2), min_size=2, max_size=9))
def test_mlxtend_paired_permutation_test_agrees(rows):
    """Both list every swap."""
    body = columns(rows)
    theirs = mlxtend_permutation_test(
        body["candidate"], body["baseline"], method="exact", paired=True, func="x_mean != y_mean"
    )
    assert analyse("randomization", body).p_value == pytest.approx(theirs)


# --- sacrebleu ---

WORDS = [
    "the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "while", "cats", "sleep", "on",
    "mats",
]  # fmt: skip


def translations(seed, n=40, noise=(0.3, 0.25)):
    """Two systems and their references, as lines of text."""
    rng = np.random.default_rng(seed)
    references = [[WORDS[k] for k in rng.integers(0, len(WORDS), rng.integers(5, 14))] for _ in range(n)]
    systems = [
        [" ".join("Dog," if rng.random() < share else word for word in words) for words in references]
        for share in noise
    ]
    return systems, [" ".join(words) for words in references]


def statistics_of(scorer, lines, references):
    rows = np.array(scorer._extract_corpus_statistics(lines, references))
    return {
        "sys_len": rows[:, 0].tolist(), "ref_len": rows[:, 1].tolist(),
        "matches": rows[:, 2:6].tolist(), "totals": rows[:, 6:].tolist(),
    }  # fmt: skip


@pytest.mark.parametrize("options", [
    {}, {"tokenize": "none"}, {"tokenize": "char"}, {"tokenize": "intl"}, {"lowercase": True},
    {"smooth_method": "none"}, {"smooth_method": "floor"}, {"effective_order": True},
])  # fmt: skip
@pytest.mark.parametrize("two_references", [False, True])
def test_sacrebleu_corpus_scores_agree_whatever_its_settings(options, two_references):
    """Settings decide what is counted, or speak on zero counts alone: the score of the counts is the same."""
    systems, references = translations(5)
    other = [" ".join(reversed(line.split())) for line in references]
    streams = [references, other] if two_references else [references]
    scorer = BLEU(**options)
    arms = [statistics_of(scorer, lines, streams) for lines in systems]
    found = analyse("paired-bootstrap", {"baseline": arms[0], "candidate": arms[1], "metric": "bleu"})
    theirs = [scorer.corpus_score(lines, streams).score for lines in systems]
    assert (found.baseline_value, found.candidate_value) == pytest.approx(theirs, rel=1e-12)
    assert found.delta == pytest.approx(theirs[1] - theirs[0], abs=1e-10)


def test_sacrebleu_smooths_what_has_no_match_by_default():
    lines, references = ["the cat sat on the mat", "a dog"], ["the cat is on a mat", "the dog barks"]
    assert BLEU().corpus_score(lines, [references]).score == pytest.approx(16.0169, abs=1e-4)
    assert BLEU(smooth_method="none").corpus_score(lines, [references]).score == 0
    arm = statistics_of(BLEU(), lines, [references])
    answer = ask("paired-bootstrap", {"baseline": arm, "candidate": arm, "metric": "bleu"})
    assert answer.analysis.baseline_value == 0
    assert "METRIC_UNDEFINED" in codes(answer)


def test_sacrebleu_add_k_changes_every_order_above_the_first():
    systems, references = translations(5)
    plain, smoothed = (
        BLEU(smooth_method=each).corpus_score(systems[0], [references]).score for each in ("none", "add-k")
    )
    assert plain > 0
    assert abs(plain - smoothed) > 0.01
    arm = statistics_of(BLEU(), systems[0], [references])
    found = analyse("paired-bootstrap", {"baseline": arm, "candidate": arm, "metric": "bleu"})
    assert found.baseline_value == pytest.approx(plain)


def test_sacrebleu_randomization_does_not_count_ties():
    """Of the swaps only those that are strictly further apart count, so two equal systems have the least p."""
    systems, references = translations(5, n=12)
    named = [("baseline", systems[0]), ("same", systems[0])]
    scorer = BLEU(smooth_method="none")
    _, found = PairedTest(named, {"BLEU": scorer}, [references], test_type="ar", n_samples=200)()
    assert found["BLEU"][1].p_value == pytest.approx(1 / 201)
    arm = statistics_of(scorer, systems[0], [references])
    assert analyse("randomization", {"baseline": arm, "candidate": arm, "metric": "bleu"}).p_value == 1


# --- agreement where no other test has the peer ---


@FEW
@given(st.lists(st.integers(-99, 99).map(lambda k: k / 8), min_size=4, max_size=30))
def test_outliers_agree_with_numpy_and_scipy(values):
    array = np.array(values)
    q1, q3 = np.percentile(array, [25, 75])
    expected = {
        "iqr": (array < q1 - 1.5 * (q3 - q1)) | (array > q3 + 1.5 * (q3 - q1)),
        "zscore": np.abs(stats.zscore(array)) > 3 if np.ptp(array) else np.zeros(len(array), dtype=bool),
    }
    spread = stats.median_abs_deviation(array, scale="normal")
    if spread > 0:
        expected["mad"] = 0.6745 * np.abs(array - np.median(array)) / stats.median_abs_deviation(array) > 3.5
    for method, flagged in expected.items():
        found = analyse("outliers", {"values": values}, method=method)
        assert list(found.positions or ()) == np.flatnonzero(flagged).tolist(), method


@FEW
@given(st.integers(0, 30), st.integers(0, 30))
def test_odds_ratio_interval_agrees_with_scipy_binomtest(b, c):
    if b + c == 0:
        return
    found = analyse("mcnemar", table_of(3, c, b, 3)).odds_ratio.ci
    theirs = stats.binomtest(b, b + c).proportion_ci(0.95, method="exact")
    low, high = (end / (1 - end) if end < 1 else None for end in theirs)
    assert found.low == pytest.approx(low, rel=1e-9, abs=1e-12)
    assert found.high == (None if high is None else pytest.approx(high, rel=1e-9))


# --- the page ---


def test_the_page_names_every_test_and_the_versions_tried():
    text = PAGE.read_text("utf-8")
    named = set(re.findall(r"`(test_(?:scipy|statsmodels|mlxtend|sacrebleu)_\w+)`", text))
    assert named == {
        name for name in globals() if re.match(r"test_(scipy|statsmodels|mlxtend|sacrebleu)_", name)
    }
    locked = tomllib.loads((PAGE.parents[1] / "uv.lock").read_text("utf-8"))["package"]
    for library in ("scipy", "statsmodels", "mlxtend", "sacrebleu"):
        (tried,) = re.findall(rf"{library} ([\d.]+(?: and [\d.]+)*)[,.\s]", text.split("## scipy")[0])
        resolved = {each["version"] for each in locked if each["name"] == library}
        assert set(tried.rstrip(".").split(" and ")) == resolved, "look at its rows again"
        assert version(library) in resolved
