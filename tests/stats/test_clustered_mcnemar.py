"""The clustered tests against sign patterns, ordinary tests of singletons, symmetries and hostile clusters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from service.errors import InvalidData
from service.stats import clustered_mcnemar
from tests.drawing import draws
from tests.simulation.reads import CLUSTERED, coverage, errors, predicted
from tests.simulation.rows import Batch
from tests.simulation.worlds import WORLDS
from tests.stats.bodies import bodies_of_pairs, by_cluster, clustered_rows, pairs
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes
from tests.stats.soundness import sound

METHODS = ("sign_flip", "obuchowski", "durkalski", "yang", "eliasziw_donner", "cr1_t", "cr2_t", "cv3_t")
CELLS = ((1, 1), (1, 0), (0, 1), (0, 0))
items = clustered_rows(7, min_size=4, max_size=60)


def from_cells(table):
    rows = [
        (*cell, label)
        for label, row in enumerate(table)
        for cell, count in zip(CELLS, row, strict=True)
        for _ in range(count)
    ]
    return by_cluster(rows)


def of_sums(sums, size=10):
    return from_cells([[0, max(-d, 0), max(d, 0), size - abs(d)] for d in sums])


@settings(deadline=None, max_examples=draws(50))
@given(items)
def test_sign_flip_by_definition(rows):
    body = by_cluster(rows)
    sums = {}
    for a, b, g in rows:
        sums[g] = sums.get(g, 0) + b - a
    d = np.array(list(sums.values()))
    flips = np.array(list(itertools.product([-1, 1], repeat=len(d)))) @ d
    expected = {
        "two-sided": np.mean(np.abs(flips) >= abs(d.sum())),
        "greater": np.mean(flips >= d.sum()),
        "less": np.mean(flips <= d.sum()),
    }
    for alternative, p in expected.items():
        found = analyse("clustered-mcnemar", body, alternative=alternative)
        assert found.p_value == pytest.approx(p, abs=1e-12)
        assert found.p_value >= found.min_attainable_p - 1e-15


@settings(deadline=None, max_examples=draws(40))
@given(items, st.sampled_from(METHODS), st.randoms(use_true_random=False))
def test_order_and_names_of_clusters_do_not_matter(rows, method, random):
    names = [f"c{k}" for k in random.sample(range(100), 7)]
    shuffled = [(a, b, names[g]) for a, b, g in random.sample(rows, len(rows))]
    one = sound(ask("clustered-mcnemar", by_cluster(rows), method=method)).analysis
    other = analyse("clustered-mcnemar", by_cluster(shuffled), method=method)
    for field in ("delta", "p_value", "statistic", "se", "df"):
        mine, theirs = getattr(one, field), getattr(other, field)
        assert (mine is None) == (theirs is None), field
        assert mine is None or mine == pytest.approx(theirs, rel=1e-9, abs=1e-12), field


@settings(deadline=None, max_examples=draws(40))
@given(items, st.sampled_from(METHODS))
def test_swapping_the_arms_mirrors(rows, method):
    swapped = [(b, a, g) for a, b, g in rows]
    one = analyse("clustered-mcnemar", by_cluster(rows), method=method, alternative="greater")
    other = analyse("clustered-mcnemar", by_cluster(swapped), method=method, alternative="less")
    assert other.delta == pytest.approx(-one.delta, abs=1e-12)
    if one.p_value is None:
        assert other.p_value is None
    else:
        assert other.p_value == pytest.approx(one.p_value, rel=1e-7, abs=1e-12)


@settings(deadline=None, max_examples=draws(30))
@given(items, st.sampled_from(["cr1_t", "cr2_t", "cv3_t"]), st.sampled_from([0.8, 0.95]))
def test_t_interval_excludes_zero_exactly_when_the_test_rejects(rows, method, level):
    found = analyse("clustered-mcnemar", by_cluster(rows), method=method, level=level)
    if found.p_value is not None and found.ci.low is not None and abs(found.p_value - (1 - level)) > 1e-9:
        excludes = found.ci.low > 0 or found.ci.high < 0
        assert excludes == (found.p_value < 1 - level)


def test_singletons_give_the_ordinary_tests():
    rng = np.random.default_rng(2)
    rows = [(int(a), int(b), k) for k, (a, b) in enumerate(rng.integers(0, 2, (40, 2)))]
    body = by_cluster(rows)
    difference = np.array(body["candidate"]) - np.array(body["baseline"])
    t = stats.ttest_1samp(difference, 0)
    for method in ("cr1_t", "cr2_t", "cv3_t"):
        found = analyse("clustered-mcnemar", body, method=method)
        assert (found.statistic, found.p_value) == pytest.approx((t.statistic, t.pvalue), rel=1e-9)
    plain = analyse("mcnemar", {k: body[k] for k in ("baseline", "candidate")})
    assert analyse("clustered-mcnemar", body).p_value == pytest.approx(plain.p_value, rel=1e-9)
    undefined = sound(ask("clustered-mcnemar", body, method="eliasziw_donner")).analysis
    assert undefined.p_value is None


def test_seed1_asks_for_p_below_five_percent_of_five_conversations():
    answer = ask("clustered-mcnemar", of_sums([3, 4, 5, 2, 6]))
    assert answer.analysis.p_value == answer.analysis.min_attainable_p == 0.0625
    one_sided = analyse("clustered-mcnemar", of_sums([3, 4, 5, 2, 6]), alternative="greater")
    assert one_sided.p_value == one_sided.min_attainable_p == 0.03125
    assert codes(answer) == {"FEW_CLUSTERS", "FLOOR_ABOVE_ALPHA"}
    for reaching in ({"alternative": "greater"}, {"alpha": 0.1}):
        assert codes(ask("clustered-mcnemar", of_sums([3, 4, 5, 2, 6]), **reaching)) == {"FEW_CLUSTERS"}


def test_clusters_that_cancel_do_not_lower_the_least_p():
    assert analyse("clustered-mcnemar", of_sums([3, 0, 0, 2, 0, 0])).min_attainable_p == 0.5


def test_estimands_part_and_are_named():
    body = from_cells([[0, 0, 1, 0], [0, 10, 0, 90], [0, 2, 12, 36]])
    items_alike = analyse("clustered-mcnemar", body, method="cr2_t")
    clusters_alike = analyse("clustered-mcnemar", body, method="durkalski")
    assert items_alike.delta == pytest.approx(1 / 151)
    assert clusters_alike.delta == pytest.approx((1 - 0.1 + 0.2) / 3)
    assert clusters_alike.estimand == "cluster_weighted"
    assert items_alike.estimates == clusters_alike.estimates
    t = stats.ttest_1samp([1, -0.1, 0.2], 0).confidence_interval(0.95)
    assert (clusters_alike.ci.low, clusters_alike.ci.high) == pytest.approx((t.low, t.high), rel=1e-9)


def test_an_estimand_that_does_not_go_with_the_method_is_refused():
    body = of_sums([1, 2, 3])
    with pytest.raises(InvalidData, match="cluster_weighted"):
        ask("clustered-mcnemar", body, method="durkalski", estimand="item_weighted")
    assert analyse("clustered-mcnemar", body, method="durkalski", estimand="cluster_weighted").p_value < 1


@pytest.mark.parametrize("method", METHODS)
def test_no_discordant_item_gives_one(method):
    answer = sound(ask("clustered-mcnemar", from_cells([[3, 0, 0, 2]] * 6), method=method))
    assert answer.analysis.p_value == 1
    assert answer.analysis.ci.low is None
    assert "NO_DISCORDANT" in codes(answer)


@pytest.mark.parametrize("method", METHODS)
def test_clusters_that_all_cancel(method):
    found = sound(ask("clustered-mcnemar", from_cells([[1, 2, 2, 1]] * 5), method=method)).analysis
    assert found.delta == 0
    if method == "sign_flip":
        assert found.p_value == 1
    elif method != "eliasziw_donner":
        assert found.p_value is None


@pytest.mark.parametrize("method", ["cr1_t", "cr2_t", "cv3_t"])
def test_clusters_that_do_not_vary_have_no_t(method):
    answer = sound(ask("clustered-mcnemar", of_sums([2, 2, 2, 2]), method=method))
    found = answer.analysis
    assert "DEGENERATE" in codes(answer)
    assert "do not vary" in found.reasons["p_value"]
    assert "DEGENERATE" not in codes(ask("clustered-mcnemar", of_sums([2, 2, 2, 1]), method=method))
    assert "DEGENERATE" not in codes(ask("clustered-mcnemar", of_sums([2, 2, 2, 2]), method="sign_flip"))
    assert found.se == 0
    assert found.p_value is None
    assert found.ci.high is None


@pytest.mark.parametrize("method", ["cr1_t", "cr2_t", "cv3_t"])
@pytest.mark.parametrize("steps", [(0.1, 0.1), (0.2, 0.4)])
def test_what_rounding_makes_of_equal_clusters_is_no_spread(method, steps):
    """1000.4 - 1000.3 is not 2000.5 - 2000.4: cr2_t gave p = 1e-99 of 20 clusters that all gain the same."""
    baseline = [1000.1 * k + 0.3 for k in range(1, 41)]
    body = {
        "baseline": baseline,
        "candidate": [value + steps[k % 2] for k, value in enumerate(baseline)],
        "clusters": [k // 2 for k in range(40)],
    }
    answer = sound(ask("clustered-mcnemar", body, method=method))
    assert answer.analysis.se == 0
    assert answer.analysis.p_value is answer.analysis.ci.low is None
    assert "DEGENERATE" in codes(answer)
    margin = {"value": 0.5, "unit": "score"}
    assert ask("equivalence", body, method="t", margin=margin).analysis.equivalent is None


@pytest.mark.parametrize("table", [
    [[0, 0, 1, 0], [0, 1, 0, 0]],
    [[0, 0, 1, 0], [5, 0, 0, 5], [5, 1, 0, 5]],
    [[100, 0, 40, 100], [1, 0, 0, 0], [0, 1, 0, 0]],
    [[0, 0, 1, 0]] * 3,
])  # fmt: skip
@pytest.mark.parametrize("method", METHODS)
def test_hostile_clusters_stay_sound(table, method):
    found = sound(ask("clustered-mcnemar", from_cells(table), method=method)).analysis
    assert found.p_value is None or 0 < found.p_value <= 1


@pytest.mark.parametrize(
    ("clusters", "expected"),
    [(9, {"FEW_CLUSTERS"}), (10, {"CAUTION"}), (29, {"CAUTION"}), (30, set())],
)
def test_warnings_follow_the_number_of_clusters(clusters, expected):
    body = of_sums([(-1) ** k * (k % 3) for k in range(clusters)])
    assert codes(ask("clustered-mcnemar", body)) == expected


def test_unequal_sizes_warn():
    table = [[0, 1, 2, 7]] * 29 + [[0, 20, 30, 300]]
    assert codes(ask("clustered-mcnemar", from_cells(table))) == {"CAUTION", "UNEQUAL_CLUSTERS", "LOW_DF"}
    assert "UNEQUAL_CLUSTERS" not in codes(ask("clustered-mcnemar", from_cells(table), method="yang"))


def test_low_df_does_not_warn_for_even_clusters():
    assert "LOW_DF" not in codes(ask("clustered-mcnemar", of_sums([1, 2, -1, 3, 1, 2, 0, 1]), method="cr2_t"))


def test_diagnostics_by_hand():
    facts = analyse("clustered-mcnemar", from_cells([[0, 0, 3, 1], [1, 1, 1, 1], [4, 1, 0, 7]])).clusters
    assert facts.sizes == [4, 4, 12]
    assert facts.n_nonzero == 2
    assert facts.largest_share == 0.6
    assert facts.size_cv == pytest.approx(np.std([4, 4, 12]) / (20 / 3))


def test_scores_go_with_sign_flip_and_t_only():
    body = {
        "baseline": [0.2, 0.5, 0.1, 0.9, 0.4, 0.4],
        "candidate": [0.3, 0.9, 0.2, 0.7, 0.8, 0.5],
        "clusters": ["a", "a", "b", "b", "c", "c"],
    }
    for method in ("sign_flip", "cr1_t", "cr2_t", "cv3_t"):
        found = sound(ask("clustered-mcnemar", body, method=method)).analysis
        assert found.delta == pytest.approx(0.15)
        assert found.counts is None
    for method in ("obuchowski", "durkalski", "yang", "eliasziw_donner"):
        with pytest.raises(InvalidData, match="0 and 1"):
            ask("clustered-mcnemar", body, method=method)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"clusters": ["a"] * 4}, "single cluster"),
        ({"clusters": ["a", "b"]}, "clusters"),
        ({"candidate": [1]}, "candidate"),
        ({"candidate": [1, 1e200, 0, 0]}, "beyond 1e"),
        ({"baseline": [], "candidate": [], "clusters": []}, "no items"),
    ],
)
def test_unusable_clusters_are_refused(change, says):
    body = {"baseline": [1, 0, 1, 0], "candidate": [1, 1, 0, 0], "clusters": ["a", "a", "b", "b"]}
    with pytest.raises(InvalidData, match=says):
        ask("clustered-mcnemar", {**body, **change})


def test_labels_are_strings_or_integers():
    body = {"baseline": [1, 0], "candidate": [0, 0]}
    assert analyse("clustered-mcnemar", body, clusters=[7, 9]).n_clusters == 2
    with pytest.raises(ValueError, match="validation error"):
        ask("clustered-mcnemar", body, clusters=[1.5, 2.5])


def test_many_clusters_are_exact():
    rng = np.random.default_rng(0)
    rows = [(int(a), int(b), k // 3) for k, (a, b) in enumerate(rng.integers(0, 2, (3000, 2)))]
    answer = ask("clustered-mcnemar", by_cluster(rows))
    assert answer.provenance.exact
    assert answer.provenance.error_bound < 1e-12
    d = np.zeros(1000)
    for a, b, g in rows:
        d[g] += b - a
    z = d.sum() / math.sqrt((d**2).sum())
    assert answer.analysis.p_value == pytest.approx(2 * stats.norm.sf(abs(z)), abs=0.02)


def simulated() -> Iterator[Batch]:
    """What is drawn where the truth is known."""
    methods = (
        "sign_flip", "obuchowski", "durkalski", "yang", "eliasziw_donner", "cr1_t", "cr2_t", "cv3_t",
    )  # fmt: skip
    for world in CLUSTERED:
        for method in methods:
            yield Batch(world, "clustered-mcnemar", (errors(),), {"method": method})
        for method in ("cr1_t", "cr2_t", "cv3_t", "durkalski"):
            options = {"method": method}
            yield Batch(world, "clustered-mcnemar", (coverage(),), options, WORLDS[world].effect)
    shares = {"p_only_baseline": 0.1, "p_only_candidate": 0.2, "cluster_size": 10, "icc": 0.2}
    flips = {"test": "sign-flip", "n": 60, "n_simulations": 20_000, **shares}
    yield predicted("many-clusters", "clustered-mcnemar", 0.1, flips)


CASES = Cases(
    degenerate=lambda: bodies_of_pairs(),
    growing=[lambda k: {**pairs(400 * k), "clusters": [i // 4 for i in range(400 * k)]}],
    mirrored={"clusters": [{"method": each} for each in get_args(clustered_mcnemar.Method)]},
    simulated=simulated,
    varied={"method": ["sign_flip", "obuchowski", "yang", "eliasziw_donner", "cr1_t", "cr2_t", "cv3_t"]},
)


@pytest.mark.parametrize(("size", "noun"), [(1, "items"), (2, "clusters")])
def test_a_floor_names_what_is_flipped(size, noun):
    n = 5 * size
    body = {"baseline": [0.0] * n, "candidate": [1.0 + 0.1 * i for i in range(n)],
            "clusters": [i // size for i in range(n)], "method": "sign_flip"}  # fmt: skip
    (floor,) = [each for each in ask("clustered-mcnemar", body).warnings if each.code == "FLOOR_ABOVE_ALPHA"]
    assert f"flipping 5 {noun} can give" in floor.message
    assert floor.message.endswith(f"plan more {noun}.")


def test_skewed_clusters_of_one_item_are_skewed_items():
    n = 60
    body = {"baseline": [0.0] * n, "candidate": [0.1 * (i % 3) for i in range(n - 1)] + [40.0],
            "clusters": list(range(n)), "method": "cr2_t"}  # fmt: skip
    (skewed,) = [each for each in ask("clustered-mcnemar", body).warnings if each.code == "SKEWED"]
    assert skewed.message.startswith(f"The {n} items are skewed")
    assert "cluster" not in skewed.message
