"""Variance components against analysis of variance, known truth, and their own invariances."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.anova import anova_lm

from service.errors import InvalidData
from service.stats.shared.declaring import registry
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes
from tests.stats.soundness import sound

NAME = "variance-components"
COMPONENTS = ("within_items", "between_items", "between_clusters", "icc", "icc_clusters", "reliability", "se")
tables = st.integers(2, 4).flatmap(
    lambda k: st.lists(
        st.lists(st.integers(-20, 20).map(float), min_size=k, max_size=k), min_size=2, max_size=8
    )
)


def one_way(values):
    """Mean squares between and within items, balanced."""
    grid = np.array(values)
    n, k = grid.shape
    means = grid.mean(axis=1)
    between = k * ((means - grid.mean()) ** 2).sum() / (n - 1)
    return between, ((grid - means[:, None]) ** 2).sum() / (n * (k - 1))


def worlds(seed, clusters, items, runs, sds):
    """Nested normal scores: clusters x items x runs with standard deviations `sds`."""
    rng = np.random.default_rng(seed)
    shape = (clusters, items, runs)
    scores = (
        rng.normal(0, sds[0], (clusters, 1, 1)) + rng.normal(0, sds[1], (clusters, items, 1))
        + rng.normal(0, sds[2], shape)
    )  # fmt: skip
    return scores.reshape(clusters * items, runs), np.repeat(np.arange(clusters), items)


@given(tables)
def test_equal_runs_are_the_textbook_anova(values):
    found = analyse(NAME, {"values": values})
    between, within = one_way(values)
    k = len(values[0])
    assert found.within_items == pytest.approx(within, abs=1e-9)
    assert found.between_items == pytest.approx((between - within) / k, abs=1e-9)
    if found.icc is not None:  # Shrout & Fleiss ICC(1,1) and ICC(1,k)
        assert found.icc == pytest.approx(
            (between - within) / (between + (k - 1) * within), rel=1e-6, abs=1e-9
        )
    if found.reliability is not None:
        assert found.reliability == pytest.approx((between - within) / between, rel=1e-6, abs=1e-9)
        spearman_brown = None if found.icc is None else k * found.icc / (1 + (k - 1) * found.icc)
        assert found.reliability == pytest.approx(spearman_brown, rel=1e-6, abs=1e-9)


def test_nested_mean_squares_agree_with_statsmodels():
    values, labels = worlds(3, 6, 5, 4, (1, 2, 1.5))
    found = analyse(NAME, {"values": values.tolist(), "clusters": labels.tolist()})
    item = np.repeat(np.arange(30), 4)
    data = pd.DataFrame({"y": values.ravel(), "g": np.repeat(labels, 4), "i": item % 5})
    anova = anova_lm(sm.OLS.from_formula("y ~ C(g) + C(g):C(i)", data).fit())
    ms = (anova["sum_sq"] / anova["df"]).to_dict()
    runs, items, clusters = ms["Residual"], ms["C(g):C(i)"], ms["C(g)"]
    assert found.within_items == pytest.approx(runs)
    assert found.between_items == pytest.approx((items - runs) / 4)
    assert found.between_clusters == pytest.approx((clusters - items) / 20)
    true = found.between_items + found.between_clusters
    assert found.icc == pytest.approx(true / (true + runs))
    assert found.icc_clusters == pytest.approx(found.between_clusters / true)


def test_components_are_unbiased_with_unequal_runs_and_clusters():
    rng = np.random.default_rng(11)
    truth = (0.5, 2.0, 1.5)
    found = []
    for seed in range(250):
        values, labels = worlds(seed, 9, 6, 5, np.sqrt(truth))
        keep = rng.random(len(values)) < 0.7
        ragged = [row[: rng.integers(1, 6)].tolist() for row in values[keep]]
        parts = analyse(NAME, {"values": ragged, "clusters": labels[keep].tolist()})
        found.append((parts.between_clusters, parts.between_items, parts.within_items))
    error = np.std(found, axis=0) / math.sqrt(len(found))
    assert np.all(np.abs(np.mean(found, axis=0) - truth) < 4 * error)


def test_standard_error_is_that_of_item_means_and_cr1():
    values, labels = worlds(5, 7, 4, 3, (1, 1, 1))
    means = values.mean(axis=1)
    plain = analyse(NAME, {"values": values.tolist()})
    assert plain.se == pytest.approx(means.std(ddof=1) / math.sqrt(28))
    noise = plain.within_items / 3
    assert plain.se_many_runs == pytest.approx(math.sqrt((means.var(ddof=1) - noise) / 28))
    grouped = analyse(NAME, {"values": values.tolist(), "clusters": labels.tolist()})
    residual = np.bincount(labels, weights=means - means.mean())
    assert grouped.se == pytest.approx(math.sqrt(7 / 6 * residual @ residual) / 28)
    assert grouped.design_effect == pytest.approx((grouped.se / plain.se) ** 2)
    assert grouped.reliability == pytest.approx(plain.reliability)
    assert plain.mean == pytest.approx(means.mean())


@settings(deadline=None)
@given(tables, st.randoms(use_true_random=False), st.floats(0.1, 50), st.floats(-100, 100))
def test_order_shift_and_scale(values, random, scale, shift):
    labels = [i % 2 for i in range(len(values))]
    one = analyse(NAME, {"values": values, "clusters": labels})
    order = random.sample(range(len(values)), len(values))
    moved = [[scale * x + shift for x in random.sample(values[i], len(values[i]))] for i in order]
    other = analyse(NAME, {"values": moved, "clusters": [["x", "y"][labels[i]] for i in order]})
    size = scale**2 * max(1.0, *(abs(x) ** 2 for row in values for x in row))
    for name in ("within_items", "between_items", "between_clusters"):
        a, b = getattr(one, name), getattr(other, name)
        assert (a is None) == (b is None)
        assert a is None or b == pytest.approx(a * scale**2, abs=1e-6 * (size + shift**2 * 1e-6), rel=1e-6)


def test_one_run_per_item_cannot_tell_noise_from_items():
    answer = ask(NAME, {"values": [[0.1], [0.9], [0.4]]})
    found = answer.analysis
    assert codes(answer) == {"SINGLE_RUN"}
    assert found.within_items is found.icc is found.reliability is found.se_many_runs is None
    assert found.reasons["within_items"] == "every item has one run"
    assert found.between_items == pytest.approx(np.var([0.1, 0.9, 0.4], ddof=1))
    assert "was not shown" in found.sentence


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([[0.0, 1.0]] * 9, {"FEW_REPEATS", "NEGATIVE_COMPONENT"}),
        ([[0.0, 1.0]] * 10, {"NEGATIVE_COMPONENT"}),
        ([[float(i), i + 0.1] for i in range(10)], set()),
        ([[float(i), i + 0.1] for i in range(9)], {"FEW_REPEATS"}),
        ([[float(i), i + 0.1] for i in range(9)] + [[5.0]], {"FEW_REPEATS"}),
        ([[1.0]] * 4, {"SINGLE_RUN"}),
    ],
)
def test_warnings_fire_where_they_should(values, expected):
    assert codes(ask(NAME, {"values": values})) == expected


def test_clusters_alike_give_a_negative_component_between_them():
    values = [[float(i), i + 0.1] for i in range(5)] * 6
    answer = ask(NAME, {"values": values, "clusters": [i // 5 for i in range(30)]})
    assert answer.analysis.between_clusters < 0
    negative = next(warning for warning in answer.warnings if warning.code == "NEGATIVE_COMPONENT")
    assert "between_clusters" in negative.message
    assert answer.analysis.between_items > 0


@pytest.mark.parametrize("values", [
    [[1.0]], [[1.0, 2.0]], [[1.0, 1.0]], [[0.3] * 3] * 4, [[1e149], [-1e149]], [[1e-160, 2e-160]] * 3,
    [[0.1 + 0.2, 0.3]] * 5, [[1.0, 2.0], [1.0]],
])  # fmt: skip
def test_hostile_values_stay_sound(values):
    sound(ask(NAME, {"values": values}))
    if len(values) > 1:
        sound(ask(NAME, {"values": values, "clusters": list(range(len(values)))}))
        sound(ask(NAME, {"values": values, "clusters": [i % 2 for i in range(len(values))]}))


def test_rounding_is_not_variance():
    found = analyse(NAME, {"values": [[0.1 + 0.2, 0.3]] * 5})
    assert (found.within_items, found.between_items, found.se) == (0, 0, 0)
    assert found.reasons["reliability"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"values": []}, "no items"),
        ({"values": [[1.0], [2.0]], "clusters": ["a", "a"]}, "single cluster"),
        ({"values": [[1.0], [2.0]], "clusters": ["a"]}, "has 1 values"),
        ({"values": [[1e151]]}, "beyond"),
    ],
)
def test_values_that_cannot_be_used_are_refused(body, message):
    with pytest.raises(InvalidData, match=message):
        ask(NAME, body)


def test_an_item_without_a_run_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        ask(NAME, {"values": [[1.0], []]})


def test_cost_grows_with_values():
    test = registry.find(NAME)
    few, many = (test.request.model_validate({"values": [[1.0, 2.0]] * n}) for n in (5, 50_000))
    assert test.cost(few) < 0.002 < test.cost(many)


def test_few_items_with_many_runs_cost_as_much_as_many_items_with_few():
    test = registry.find(NAME)
    deep, wide = (
        test.request.model_validate({"values": [[1.0, 2.0] * (runs // 2)] * items})
        for items, runs in ((10, 5000), (25_000, 2))
    )
    assert test.cost(deep) == pytest.approx(test.cost(wide))


def replicates():
    """Runs per item: one, none, alike."""
    for values in ([], [[]], [[1.0]], [[1.0], [1.0]], [[1.0, 1.0]] * 4, [[0.0, 1.0]] * 4, [[1e200, -1e200]] * 2,
                   [[5e-324, 0.0], [0.0, 0.0]], [[0.1, 0.1 + 1e-17]] * 3):  # fmt: skip
        yield {"values": values}
        yield {"values": values, "clusters": ["a"] * len(values)}


CASES = Cases(
    degenerate=replicates,
    growing=[lambda k: {"values": [[0.1, 0.4, 0.2]] * (500 * k)}],
)
