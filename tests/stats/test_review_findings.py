"""What a statistician found wrong once: each has its test."""

from __future__ import annotations

import math

import numpy as np
import pytest

from service.errors import InvalidData
from service.kernels.bootstrap.bootstrap_draws import seed_means
from service.kernels.numeric.streams import generator, picks
from tests.drawing import one_in
from tests.stats.oracle import analyse, ask, codes
from tests.stats.shapes import table_of

CLUSTERS = [k // 3 for k in range(30)]


@pytest.mark.parametrize("n", [5, 30])
def test_a_bootstrap_of_equal_differences_says_that_nothing_varies(n):
    answer = ask("paired-bootstrap", table_of(0, 0, n, 0))
    assert "NOTHING_VARIES" in codes(answer)
    assert answer.analysis.bounds["p_value"].startswith("<")
    assert answer.analysis.p_value >= min(float(n) ** -n, 1e-30)
    assert "p < " in answer.analysis.sentence
    assert "NOTHING_VARIES" not in codes(ask("paired-bootstrap", table_of(3, 1, n, 0)))


def test_a_p_that_no_resample_reaches_is_bounded_by_the_rarest_resample():
    assert analyse("paired-bootstrap", table_of(2, 0, 8, 0)).p_value == pytest.approx(1e-10)


def test_clusters_that_do_not_vary_are_told():
    body = {"baseline": [0.0] * 40, "candidate": [1.0] * 40, "clusters": [i // 2 for i in range(40)]}
    answer = ask("cluster-bootstrap", body)
    assert "NOTHING_VARIES" in codes(answer)
    assert f"p {answer.analysis.bounds['p_value']}" in answer.analysis.sentence
    body["candidate"] = [float(i % 3 > 0) for i in range(40)]
    assert "NOTHING_VARIES" not in codes(ask("cluster-bootstrap", body))


@pytest.mark.parametrize("method", ["t", "bootstrap_ci"])
def test_methods_without_an_exact_safeguard_warn_on_sparse_pairs(method):
    margin = {"value": 3, "unit": "pp"}
    sparse = ask("equivalence", table_of(99, 0, 1, 0), margin=margin, method=method)
    assert "SPARSE_UNGUARDED" in codes(sparse)
    assert "SPARSE_UNGUARDED" in codes(
        ask("equivalence", table_of(80, 12, 12, 0), margin=margin, method=method)
    )
    assert "SPARSE_UNGUARDED" not in codes(
        ask("equivalence", table_of(80, 13, 12, 0), margin=margin, method=method)
    )
    assert "SPARSE_UNGUARDED" not in codes(
        ask("equivalence", table_of(99, 0, 1, 0), margin=margin, method="tango")
    )


def test_an_interval_beyond_the_margin_is_not_called_undecided():
    margin = {"value": 2, "unit": "pp"}
    found = analyse("equivalence", table_of(15, 0, 15, 0), margin=margin, method="bootstrap_ci")
    assert "the whole interval lies beyond ±2.00 pp" in found.sentence
    assert "does not show" not in found.sentence


@pytest.mark.parametrize(("baseline", "candidate", "side"), [(3, 0, "below"), (0, 3, "above")])
def test_equivalent_and_different_is_said_on_both_sides(baseline, candidate, side):
    found = analyse("equivalence", table_of(997, baseline, candidate, 0), margin={"value": 2, "unit": "pp"})
    assert found.equivalent
    assert f"at the same one-sided alpha the difference is {side} zero" in found.sentence


@pytest.mark.parametrize(("b", "c"), one_in(4, [(b, c) for b in range(13) for c in range(13) if b + c > 0]))
def test_an_exact_p_of_few_items_is_the_dyadic_itself(b, c):
    m, k = b + c, min(b, c)
    exact = min(1.0, 2 * sum(math.comb(m, i) for i in range(k + 1)) / 2**m) if b != c else 1.0
    assert analyse("mcnemar", table_of(1, c, b, 0)).p_value == exact


@pytest.mark.parametrize("cells", [(1, 0, 0, 0), (1, 0, 1, 0), (1, 0, 1, 1), (3, 0, 1, 0), (2, 0, 1, 1)])
def test_a_small_table_is_resampled_as_its_items_are(cells):
    """Four cells are not four items: a table of four items or fewer once drew its cells evenly, or crashed."""
    both, c, b, neither = cells
    columns = {
        "baseline": [1] * (both + c) + [0] * (b + neither),
        "candidate": [1] * both + [0] * c + [1] * b + [0] * neither,
    }
    told = []
    for body in (table_of(*cells), columns):
        try:
            found = ask("paired-bootstrap", body, method="studentized", seed=1)
        except InvalidData as refused:
            share = float(refused.detail.rsplit(" in ", 1)[1].split("%")[0])
            told.append(pytest.approx(share, abs=2))
        else:
            told.append(found.analysis.p_value)
    assert told[0] == told[1]


def test_the_literal_recipe_does_not_wrap_huge_values_into_integers():
    values = np.array([1e149, -1e149, 3.0])
    assert seed_means(values, 50, 42).estimates.max() == pytest.approx(1e151, rel=1e-9)
    picked = np.random.default_rng(42).choice(3, 3, replace=True)
    assert seed_means(values, 1, 42).estimates[0] == pytest.approx((values * 100)[picked].mean())


@pytest.mark.parametrize("n", [1, 2, 3, 250, 65_535, 65_536, 65_537])
def test_a_pick_is_uniform_whatever_the_number_to_pick_from(n):
    """One to pick from once overflowed, and was told as values too extreme."""
    count = 20_000
    picked = picks(generator(3, 0), n, count)
    assert picked.min() >= 0
    assert picked.max() < n
    mean, se = (n - 1) / 2, math.sqrt((n * n - 1) / 12 / count)
    assert abs(picked.mean() - mean) <= 4.5 * se


@pytest.mark.parametrize("method", ["asymptotic", "corrected"])
@pytest.mark.parametrize(("n0", "n1"), [(2, 4), (3, 3), (1, 9), (5, 7)])
def test_ties_never_take_a_rank_test_below_the_least_p_it_names(method, n0, n1):
    """FLOOR_ABOVE_ALPHA once said that nothing could be rejected beside a p below alpha."""
    body = {"baseline": [0.0] * n0, "candidate": [1.0] * n1}
    answer = ask("mann-whitney", body, method=method)
    assert answer.analysis.p_value == pytest.approx(answer.analysis.min_attainable_p)
    assert ("FLOOR_ABOVE_ALPHA" in codes(answer)) is (answer.analysis.p_value >= 0.05)
    apart = analyse(
        "mann-whitney", {"baseline": range_of(0, n0), "candidate": range_of(50, n1)}, method=method
    )
    assert apart.p_value >= apart.min_attainable_p


def range_of(start, count):
    return [float(start + k) for k in range(count)]


@pytest.mark.parametrize(
    ("name", "more"), [("paired-bootstrap", {}), ("cluster-bootstrap", {"clusters": CLUSTERS})]
)
def test_differences_that_are_equal_but_for_rounding_do_not_vary(name, more):
    baseline = [k / 10 for k in range(30)]
    body = {"baseline": baseline, "candidate": [value + 0.1 for value in baseline], **more}
    assert "NOTHING_VARIES" in [warning.code for warning in ask(name, body).warnings]
