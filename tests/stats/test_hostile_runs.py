"""Data nobody should send, to every test on runs, ranks and p-values: answers stay sound."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.errors import InvalidData
from tests.drawing import draws
from tests.stats.oracle import ask
from tests.stats.soundness import sound

PATIENT = settings(deadline=None, max_examples=draws(40))

COLUMNS = {
    "one": [3.0],
    "two equal": [1.0, 1.0],
    "all equal": [0.1] * 9,
    "one outlier": [0.0] * 11 + [1e9],
    "huge": [1e149, -1e149, 1e148, 3.0],
    "tiny": [1e-200, 2e-200, 5e-200],
    "denormal": [5e-324, 1e-323, 0.0],
    "ties": [1.0, 1.0, 2.0, 2.0, 2.0, 3.0],
    "binary": [0.0, 1.0, 1.0, 0.0, 1.0],
    "nearly equal": [1.0, 1.0 + 2e-16, 1.0],
    "thirds": [1 / 3, 2 / 3, 1.0, 0.0],
    "negative": [-5.0, -3.0, -4.0, -4.5],
}

TWO_SAMPLES = [
    ("t-test", {"method": "welch"}),
    ("t-test", {"method": "student"}),
    ("t-test", {"method": "paired"}),
    ("effect-size", {"design": "independent"}),
    ("effect-size", {"design": "paired"}),
    ("mann-whitney", {"method": "exact"}),
    ("mann-whitney", {"method": "corrected"}),
    ("wilcoxon", {"method": "exact"}),
    ("wilcoxon", {"method": "asymptotic", "zero_method": "pratt"}),
    ("wilcoxon", {"method": "corrected", "zero_method": "zsplit"}),
    ("bootstrap-difference", {"method": "percentile", "n_resamples": 200}),
    ("bootstrap-difference", {"method": "basic", "n_resamples": 200}),
    ("bootstrap-difference", {"method": "bca", "n_resamples": 200}),
]
ONE_SAMPLE = [
    ("describe", {"method": "t"}),
    ("describe", {"method": "percentile", "n_resamples": 200}),
    ("describe", {"method": "bca", "n_resamples": 200}),
    ("outliers", {"method": "iqr"}),
    ("outliers", {"method": "zscore"}),
    ("outliers", {"method": "mad"}),
]


def needs_pairs(options):
    return options.get("method") == "paired" or options.get("design") == "paired"


@pytest.mark.parametrize(("name", "options"), TWO_SAMPLES)
@pytest.mark.parametrize("alternative", ["two-sided", "less"])
def test_two_hostile_columns(name, options, alternative):
    side = {} if name == "effect-size" else {"alternative": alternative}
    columns = list(COLUMNS.values())
    for k, baseline in enumerate(columns):
        for candidate in (columns[k], columns[k - 1], columns[k - 5]):
            if name == "wilcoxon" or needs_pairs(options):
                n = min(len(baseline), len(candidate))
                body = {"baseline": baseline[:n], "candidate": candidate[:n]}
            else:
                body = {"baseline": baseline, "candidate": candidate}
            sound(ask(name, body, **options, **side))


@pytest.mark.parametrize(("name", "options"), ONE_SAMPLE)
@pytest.mark.parametrize("column", COLUMNS)
def test_one_hostile_column(name, options, column):
    sound(ask(name, {"values": COLUMNS[column]}, **options))


@PATIENT
@given(st.lists(st.floats(-1e150, 1e150, allow_subnormal=True), min_size=1, max_size=8), st.data())
def test_any_floats(values, data):
    other = data.draw(
        st.lists(st.floats(-1e150, 1e150, allow_subnormal=True), min_size=len(values), max_size=len(values))
    )
    for name, options in TWO_SAMPLES:
        sound(ask(name, {"baseline": values, "candidate": other}, **options))
    for name, options in ONE_SAMPLE:
        sound(ask(name, {"values": values}, **options))


@pytest.mark.parametrize("method", ["bonferroni", "holm", "hochberg", "hommel", "bh", "by", "fixed_sequence"])
@pytest.mark.parametrize("p_values", [[1e-320], [1.0] * 5, [None, None], [1e-300, 1.0, None], [0.05] * 3])
def test_extreme_p_values(method, p_values):
    sound(ask("multiple-comparisons", {"p_values": p_values}, method=method))


@pytest.mark.parametrize("values", [[1.0] * 4, [1.0, 1.0, 1.0, 2.0], [1e149, -1e149, 0.0, 1e-300]])
@pytest.mark.parametrize(
    "test", ["welch", "student", "mann-whitney", "bootstrap-percentile", "bootstrap-basic"]
)
def test_splits_of_hostile_runs(test, values):
    sound(ask("type-one-error", {"test": test, "values": values}, n_splits=100, n_resamples=100))


@pytest.mark.parametrize("name", ["paired-t", "wilcoxon", "sign-flip"])
@pytest.mark.parametrize("candidate", [[0.0], [1.0], [1e149, 1e-300], [1 / 3, 0.1, -0.7, 1e9]])
def test_flips_of_hostile_items(name, candidate):
    body = {"test": name, "baseline": [0.0] * len(candidate), "candidate": candidate}
    sound(ask("type-one-error", body, n_splits=100))


@pytest.mark.parametrize(
    "body",
    [
        {"test": "welch", "delta": 1e-12, "sd_baseline": 1.0, "sd_candidate": 1e-9},
        {"test": "welch", "delta": 1e9, "sd_baseline": 1.0, "sd_candidate": 1e9},
        {"test": "student", "delta": -1e150, "sd_baseline": 1e-150, "sd_candidate": 1e-150},
        {"test": "paired-t", "delta": 0.0, "sd_difference": 1e150},
        {"test": "mcnemar", "p_only_baseline": 0.0, "p_only_candidate": 1.0},
        {"test": "mcnemar", "p_only_baseline": 1e-9, "p_only_candidate": 1e-9, "method": "midp"},
        {
            "test": "tango",
            "p_only_baseline": 0.0,
            "p_only_candidate": 0.0,
            "margin": {"value": 9.0, "unit": "pp"},
        },
        {
            "test": "tango",
            "p_only_baseline": 0.5,
            "p_only_candidate": 0.5,
            "margin": {"value": 99.0, "unit": "pp"},
        },
        {
            "test": "sign-flip",
            "p_only_baseline": 0.0,
            "p_only_candidate": 1.0,
            "cluster_size": 1,
            "icc": 0.99,
        },
    ],
)
def test_extreme_designs(body):
    simulations = {"n_simulations": 100} if body["test"] == "sign-flip" else {}
    sound(ask("power", body, n=[2, 30, 200], **simulations))
    sound(ask("sample-size", body, max_n=400, **simulations))


@pytest.mark.parametrize("name", ["describe", "outliers"])
def test_no_values_are_refused(name):
    with pytest.raises(InvalidData, match="no values"):
        ask(name, {"values": []})
