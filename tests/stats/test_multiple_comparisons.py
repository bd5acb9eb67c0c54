"""Corrections for many tests: against statsmodels, by definition, and bounds where a p is zero."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from statsmodels.stats.multitest import multipletests

from service.errors import InvalidData
from service.stats.multiple_comparisons import Method
from tests.drawing import draws
from tests.simulation.reads import MEMOISED, errors
from tests.simulation.rows import Batch
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes

PATIENT = settings(deadline=None, max_examples=draws(80))
NAMES = {
    "bonferroni": "bonferroni",
    "holm": "holm",
    "hochberg": "simes-hochberg",
    "hommel": "hommel",
    "bh": "fdr_bh",
    "by": "fdr_by",
}
p_lists = st.lists(st.integers(0, 100).map(lambda k: k / 100), min_size=1, max_size=9)


@PATIENT
@given(p_lists, st.sampled_from(sorted(NAMES)))
def test_agrees_with_statsmodels(p_values, method):
    found = analyse("multiple-comparisons", {"p_values": p_values}, method=method)
    theirs = multipletests(p_values, alpha=0.05, method=NAMES[method])
    assert list(found.adjusted) == pytest.approx(list(theirs[1]), abs=1e-12)


@PATIENT
@given(st.lists(st.integers(1, 100).map(lambda k: k / 100), min_size=1, max_size=6))
def test_hommel_by_definition_is_the_closed_simes_test(p_values):
    found = analyse("multiple-comparisons", {"p_values": p_values}, method="hommel").adjusted
    m = len(p_values)
    for i in range(m):
        subsets = (
            set(pick) for size in range(1, m + 1) for pick in combinations(range(m), size) if i in pick
        )
        simes = [
            min(len(subset) * p / rank for rank, p in enumerate(sorted(p_values[j] for j in subset), 1))
            for subset in subsets
        ]
        assert found[i] == pytest.approx(min(1.0, max(simes)), abs=1e-12)


@PATIENT
@given(p_lists, st.sampled_from([*NAMES, "fixed_sequence"]))
def test_adjusted_never_fall_below_p_and_keep_its_order(p_values, method):
    adjusted = analyse("multiple-comparisons", {"p_values": p_values}, method=method).adjusted
    assert all(p - 1e-12 <= a <= 1 for p, a in zip(p_values, adjusted, strict=True))
    if method != "fixed_sequence":
        order = np.argsort(p_values, kind="stable")
        assert np.all(np.diff(np.array(adjusted)[order]) >= -1e-12)


@PATIENT
@given(p_lists)
def test_hommel_rejects_what_hochberg_does_and_hochberg_what_holm_does(p_values):
    by = {m: analyse("multiple-comparisons", {"p_values": p_values}, method=m).adjusted for m in NAMES}
    for weaker, stronger in (
        ("bonferroni", "holm"),
        ("holm", "hochberg"),
        ("hochberg", "hommel"),
        ("by", "bh"),
    ):
        assert all(a >= b - 1e-12 for a, b in zip(by[weaker], by[stronger], strict=True))


def test_fixed_sequence_stops_at_the_first_failure():
    found = analyse("multiple-comparisons", {"p_values": [0.01, 0.04, 0.2, 0.001]}, method="fixed_sequence")
    assert found.adjusted == (0.01, 0.04, 0.2, 0.2)
    assert found.reject == (True, True, False, False)


def test_what_never_ran_counts_as_one():
    answer = ask("multiple-comparisons", {"p_values": [0.02, None, None]}, method="holm")
    assert answer.analysis.adjusted == pytest.approx((0.06, 1.0, 1.0))
    assert answer.analysis.n_never_ran == 2
    assert "NEVER_RAN" in codes(answer)
    assert "NEVER_RAN" not in codes(ask("multiple-comparisons", {"p_values": [0.02]}))


@pytest.mark.parametrize(
    ("method", "warned"), [("bh", True), ("hochberg", True), ("hommel", True), ("holm", False), ("by", False)]
)
def test_dependence_is_told_where_it_matters(method, warned):
    assert (
        "NEEDS_DEPENDENCE" in codes(ask("multiple-comparisons", {"p_values": [0.1, 0.2]}, method=method))
    ) == warned
    assert "NEEDS_DEPENDENCE" not in codes(ask("multiple-comparisons", {"p_values": [0.1]}, method=method))


@pytest.mark.parametrize("method", [*NAMES, "fixed_sequence"])
def test_one_hypothesis_keeps_its_p(method):
    assert analyse("multiple-comparisons", {"p_values": [0.03]}, method=method).adjusted == (0.03,)


def test_order_and_names_are_kept():
    body = {"p_values": [0.5, 0.001, 0.03], "labels": ["H1", "H2", "H3"]}
    found = analyse("multiple-comparisons", body)
    assert found.adjusted == pytest.approx((0.5, 0.003, 0.06))
    assert found.labels == ("H1", "H2", "H3")
    with pytest.raises(InvalidData, match="2 names"):
        analyse("multiple-comparisons", {**body, "labels": ["H1", "H2"]})


@pytest.mark.parametrize("p_values", [[], [1.2], [-0.1]])
def test_what_is_no_p_value_is_refused(p_values):
    with pytest.raises(ValidationError):
        analyse("multiple-comparisons", {"p_values": p_values})


def test_largest_family_is_done_at_once():
    p_values = list(np.random.default_rng(0).uniform(size=5_000))
    found = analyse("multiple-comparisons", {"p_values": p_values}, method="hommel")
    assert len(found.adjusted) == 5_000


@pytest.mark.parametrize("method", get_args(Method))
def test_a_p_of_zero_is_a_bound_and_says_so(method):
    answer = ask("multiple-comparisons", {"p_values": [0.0, 0.01, 0.9]}, method=method)
    found = answer.analysis
    assert "ZERO_P" in codes(answer)
    assert 0 < found.adjusted[0] <= 1e-300
    assert found.bounds == {"adjusted.0": "< 1e-300"}
    assert found.reject[0]
    tiny = ask("multiple-comparisons", {"p_values": [1e-250, 0.01, 0.9]}, method=method)
    assert "ZERO_P" not in codes(tiny)
    assert tiny.analysis.bounds == {}
    assert tiny.analysis.adjusted[1:] == found.adjusted[1:]


def test_a_zero_behind_a_failure_is_no_bound():
    answer = ask("multiple-comparisons", {"p_values": [0.5, 0.0]}, method="fixed_sequence")
    assert answer.analysis.adjusted == (0.5, 0.5)
    assert "ZERO_P" not in codes(answer)


def test_an_adjusted_p_at_alpha_does_not_reject_as_in_every_test():
    # exactly representable, so that nothing is rounded
    body = {"p_values": [0.03125], "alpha": 0.03125}
    assert not analyse("multiple-comparisons", body).reject[0]
    same = {"both_correct": 0, "only_baseline": 0, "only_candidate": 6, "both_wrong": 0}
    found = analyse("mcnemar", same, alpha=0.03125)
    assert found.p_value == 0.03125
    assert "not rejected" in found.sentence
    assert analyse("multiple-comparisons", body, alpha=0.03126).reject[0]


def simulated() -> Iterator[Batch]:
    """What is drawn where the truth is known."""
    for method in ("bonferroni", "holm", "hochberg", "hommel", "bh", "by", "fixed_sequence"):
        options = {"method": method}
        yield Batch(
            "ten-nulls", "multiple-comparisons", (errors("n_rejected"),), options, simulations=MEMOISED
        )


CASES = Cases(
    degenerate=lambda: (
        {"p_values": p} for p in ([], [0.0], [None], [1e-320, 1.0, None], [1.0] * 4, [0.05] * 3, [1.5])
    ),
    growing=[lambda k: {"p_values": [0.5] * (50 * k)}],
    simulated=simulated,
)
