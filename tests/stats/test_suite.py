"""Suites of tasks, against published tests, by definition, by brute force, by their properties."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.oneway import anova_oneway

from service.errors import InvalidData
from service.kernels.suites.design import Design
from service.kernels.suites.joint import Joint, joint
from service.kernels.suites.rare import NONE, Rare, Rate, ShareBounds, SuiteBounds
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes
from tests.stats.soundness import sound
from tests.stats.suites import golden

NAME = "suite"
RNG = np.random.default_rng(31)


def scored(n=90, n_tasks=3, clusters=12, rng=RNG):
    tasks = np.arange(n) % n_tasks
    codes_ = rng.integers(0, clusters, n)
    values = rng.normal(size=n) + tasks + rng.normal(size=clusters)[codes_]
    return {"tasks": tasks.tolist(), "values": values.tolist(), "clusters": codes_.tolist()}


def arms(body, rng=RNG):
    other = rng.normal(size=len(body["values"]))
    kept = {name: column for name, column in body.items() if name != "values"}
    return {**kept, "baseline": other.tolist(), "candidate": (other + body["values"]).tolist()}


def test_golden_values():
    found = analyse(NAME, golden())
    assert found.estimate == pytest.approx(0.085, abs=1e-12)
    assert found.item_weighted == pytest.approx(-7 / 1150)
    assert [task.estimate for task in found.tasks] == pytest.approx([-0.025, 0.08, 0.2])
    variance = sum(
        (0.175 - 0.025**2, 0.16 - 0.08**2, 0.28 - 0.2**2)[t] / (n - 1) for t, n in enumerate((1000, 100, 50))
    )
    assert found.se == pytest.approx(np.sqrt(variance) / 3)
    assert found.ci.low > 0
    assert found.losses.gained == ("small",)


def test_by_definition_cr2_of_the_regression_on_tasks():
    # Bell and McCaffrey by matrices: (I - H_gg)^(-1/2) of the least-squares fit with a mean for each task
    body = scored()
    y, tasks, units = (np.array(body[name]) for name in ("values", "tasks", "clusters"))
    weights = np.array([0.5, 0.3, 0.2])
    x = np.eye(3)[tasks]
    bread = np.linalg.inv(x.T @ x)
    left = np.eye(len(y)) - x @ bread @ x.T
    rows = []
    for unit in range(units.max() + 1):
        own = np.flatnonzero(units == unit)
        values, vectors = np.linalg.eigh(left[np.ix_(own, own)])
        root = vectors @ np.diag(values**-0.5) @ vectors.T
        rows.append(weights @ bread @ x[own].T @ root @ left[own])
    rows = np.array(rows)
    spread = np.diag([y[tasks == task].var(ddof=1) for task in tasks])
    moments = rows @ spread @ rows.T
    found = analyse(NAME, {**body, "weights": dict(zip("012", weights.tolist(), strict=True))})
    assert found.se == pytest.approx(np.sqrt(((rows @ y) ** 2).sum()))
    assert found.df == pytest.approx(np.trace(moments) ** 2 / (moments**2).sum())
    assert found.n_spanning > 0


def test_against_welch_of_two_tasks():
    one, other = RNG.normal(size=17), 3 * RNG.normal(size=9) + 1
    found = analyse(NAME, {"tasks": ["a"] * 17 + ["b"] * 9, "values": [*one, *other]})
    welch = stats.ttest_ind(one, -other, equal_var=False)
    interval = welch.confidence_interval(0.95)
    assert found.df == pytest.approx(welch.df)
    middle = (interval.low + interval.high) / 4
    assert found.estimate == pytest.approx(middle)
    assert found.se * stats.t.ppf(0.975, found.df) == pytest.approx(interval.high / 2 - middle)
    # no range is known: what was seen widens t, and never narrows it
    assert found.ci.low <= interval.low / 2
    assert found.ci.high >= interval.high / 2


@pytest.mark.parametrize("arms", [1, 2])
def test_a_task_all_alike_is_not_certain_where_no_range_is_known(arms):
    """Two of the four items are alike: by t alone of the other two p was .0125."""
    before, after = [80, 70, 90, 90], [85, 75.2, 90, 90]
    columns = {"values": after} if arms == 1 else {"baseline": before, "candidate": after}
    answer = ask(NAME, {"tasks": [*"aabb"], **columns})
    whole = answer.analysis
    spread = whole.se * stats.t.ppf(0.975, whole.df)
    assert "TASK_RANGES_UNKNOWN" in codes(answer)
    if arms == 2:
        assert whole.p_value > 0.5
        assert whole.ci.low < 0 < whole.ci.high
    # a score may have gone unseen in the task alike, as far off as scores of the other lie apart
    assert whole.ci.low < whole.estimate - spread
    assert whole.tasks[1].ci is None


def test_nothing_that_varies_anywhere_has_no_interval_where_no_range_is_known():
    whole = analyse(NAME, {"tasks": [*"aabb"], "values": [90, 90, 90, 90]})
    assert whole.ci is None
    assert whole.reasons["ci"] == "nothing varies, and no range is known of the scores"


def test_scores_rare_and_far_off_are_reckoned_with_where_no_range_is_known():
    """Log-normal scores of 2 tasks of 10 items: of these 60 means 9 lay above t's interval, nominal 2.5 in 100."""
    missed = 0
    for seed in range(60):
        values = np.exp(np.random.default_rng(seed).standard_normal(20))
        missed += analyse(
            NAME, {"tasks": ["a"] * 10 + ["b"] * 10, "values": values.tolist()}
        ).ci.high < np.exp(0.5)
    assert missed <= 5


@pytest.mark.parametrize("clustered", [False, True])
def test_agrees_with_the_tests_of_one_task(clustered):
    body = scored(n_tasks=1)
    if not clustered:
        del body["clusters"]
    found = analyse(NAME, body)
    alone = analyse("one-sample-mean", {name: column for name, column in body.items() if name != "tasks"})
    assert (found.estimate, found.se, found.df) == pytest.approx((alone.mean, alone.se, alone.df))
    assert found.tasks[0].se == pytest.approx(found.se)
    assert (found.ci.low, found.ci.high) == pytest.approx((found.tasks[0].ci.low, found.tasks[0].ci.high))


def test_new_tasks_are_the_further_of_a_t_test_of_the_tasks_means_and_of_these_tasks():
    body = {name: column for name, column in scored(n_tasks=5).items() if name != "clusters"}
    found, these = analyse(NAME, {**body, "estimand": "new_tasks"}), analyse(NAME, body)
    means = [task.estimate for task in found.tasks]
    expected = stats.ttest_1samp(means, 0.0)
    interval = expected.confidence_interval(0.95)
    assert found.ci.low == pytest.approx(min(interval.low, these.ci.low))
    assert found.ci.high == pytest.approx(max(interval.high, these.ci.high))
    assert found.df == pytest.approx(4)
    assert found.se == pytest.approx(np.std(means, ddof=1) / np.sqrt(5))


def test_tasks_that_tie_say_no_more_of_tasks_like_them_than_of_themselves():
    """Six tasks of ten items, five of them without any difference: a loss that these do not show is not ruled out."""
    tasks, difference = np.repeat(np.arange(6), 10), np.zeros(60)
    difference[:10] = 0.01
    body = {"tasks": tasks.tolist(), "baseline": [0.5] * 60, "candidate": (0.5 + difference).tolist()}
    body |= {"range": {"low": 0, "high": 1}, "margin": {"value": 0.01, "unit": "score"}}
    of_these, of_new = (analyse(NAME, {**body, "estimand": name}) for name in ("these_tasks", "new_tasks"))
    assert of_new.ci.low <= of_these.ci.low < -0.01
    assert of_new.ci.high >= of_these.ci.high
    assert of_new.p_value >= of_these.p_value


def test_two_tasks_reach_no_further_than_scores_can():
    body = {"tasks": ["a"] * 8 + ["b"] * 8, "baseline": [0, 1] * 8, "candidate": [1] * 8 + [1, 0] * 4}
    found = analyse(NAME, {**body, "estimand": "new_tasks"})
    assert (found.ci.low, found.ci.high) == (-1.0, 1.0)
    alone = {"tasks": ["a"] * 8 + ["b"] * 8, "values": [1] * 8 + [0, 1] * 4, "estimand": "new_tasks"}
    assert (analyse(NAME, alone).ci.low, analyse(NAME, alone).ci.high) == (0.0, 1.0)
    graded = {**alone, "values": [5] * 8 + [1, 5] * 4, "range": {"low": 1, "high": 5}}
    assert (analyse(NAME, graded).ci.low, analyse(NAME, graded).ci.high) == (1.0, 5.0)


def test_by_simulation_new_tasks_know_what_spanning_clusters_put_on_all_of_them():
    """The spread of ten tasks' values knows nothing of what moves all of them: t alone erred .49 of the time here."""
    rng, missed = np.random.default_rng(5), 0
    clusters, tasks = np.repeat(np.arange(15), 20), np.tile(np.repeat(np.arange(10), 2), 15)
    for _ in range(120):
        values = np.sqrt(0.3) * rng.normal(size=15)[clusters] + np.sqrt(0.7) * rng.normal(size=300)
        body = {"tasks": tasks.tolist(), "values": values.tolist(), "clusters": clusters.tolist()}
        found = analyse(NAME, {**body, "estimand": "new_tasks", "n_resamples": 100})
        missed += not found.ci.low <= 0 <= found.ci.high
    assert missed <= 14  # .05 of 120 and three and a half standard errors


@pytest.mark.slow
def test_by_simulation_new_tasks_of_unlike_weights_hold_their_level():
    rng = np.random.default_rng(8)
    weights = {str(task): float(weight) for task, weight in enumerate((5, 3, 1, 1, 1, 1))}
    tasks, held = np.repeat(np.arange(6), 2), 0
    for _ in range(500):
        values = np.repeat(rng.normal(size=6), 2)
        found = analyse(
            NAME,
            {"tasks": tasks.tolist(), "values": values.tolist(), "weights": weights, "estimand": "new_tasks"},
        )
        held += found.ci.low <= 0 <= found.ci.high
    assert 0.93 <= held / 500 <= 0.995  # of unlike weights on the safe side


def test_heterogeneity_against_welch_s_analysis_of_variance():
    body = scored(n_tasks=4) | {"alpha": 0.1}
    del body["clusters"]
    tasks, values = np.array(body["tasks"]), np.array(body["values"])
    groups = [values[tasks == task] for task in range(4)]
    found = analyse(NAME, body).heterogeneity
    assert found.p_value == pytest.approx(anova_oneway(groups, use_var="unequal").pvalue)
    variances = np.array([group.var(ddof=1) / len(group) for group in groups])
    means = np.array([group.mean() for group in groups])
    centre = (means / variances).sum() / (1 / variances).sum()
    assert found.q == pytest.approx((((means - centre) ** 2) / variances).sum())
    assert found.i2 == pytest.approx(max(0, (found.q - 3) / found.q))
    # DerSimonian and Laird, and the interval of Higgins, Thompson and Spiegelhalter
    w = 1 / variances
    tau2 = max(0, (found.q - 3) / (w.sum() - (w**2).sum() / w.sum()))
    assert found.tau == pytest.approx(np.sqrt(tau2))
    anew = 1 / (variances + tau2)
    half = stats.t.ppf(0.95, 2) * np.sqrt(tau2 + 1 / anew.sum())
    middle = (anew @ means) / anew.sum()
    assert (found.prediction.low, found.prediction.high) == pytest.approx((middle - half, middle + half))
    assert found.prediction.level == 0.9


def test_heterogeneity_knows_what_clusters_share():
    # every task moves with its cluster: the tasks differ less than their own errors say
    rng = np.random.default_rng(4)
    shared, found = rng.normal(size=30), []
    for _ in range(40):
        noise = rng.normal(scale=0.3, size=(30, 6))
        values = (rng.normal(size=30)[:, None] + noise).ravel()
        body = {
            "tasks": list(range(6)) * 30,
            "clusters": np.repeat(np.arange(30), 6).tolist(),
            "values": values.tolist(),
        }
        found.append(analyse(NAME, {**body, "n_resamples": 400}).heterogeneity)
    assert shared.size == 30
    assert np.mean([one.p_value < 0.2 for one in found]) < 0.45
    assert np.mean([one.p_value for one in found]) == pytest.approx(0.5, abs=0.17)
    assert any(one.tau > 0 for one in found)


def test_steps_of_independent_tasks_are_holm_and_sidak_s():
    p = RNG.random(7) / 10
    assert Joint(7, None, True).adjust(p) == pytest.approx(multipletests(p, method="holm-sidak")[1])
    assert Joint(7, None, False).adjust(p) == pytest.approx(multipletests(p, method="holm")[1])
    assert Joint(7, None, True).critical(0.05) == pytest.approx(stats.norm.isf((1 - 0.95 ** (1 / 7)) / 2))
    assert Joint(7, None, False).critical(0.05) == pytest.approx(stats.norm.isf(0.05 / 14))


def test_by_brute_force_signs_go_over_whole_clusters():
    rng = np.random.default_rng(12)
    tasks, units = np.tile([0, 1, 2], 24), np.repeat(np.arange(8), 9)
    values = rng.normal(size=72)
    design = Design(tasks, units)
    found = np.sort(np.abs(joint(design, values, 1, 100).signed).max(axis=1))
    literal = []
    for signs in itertools.product([-1, 1], repeat=8):
        largest = 0.0
        for task in range(3):
            own = tasks == task
            sums = np.bincount(units[own], values[own] - values[own].mean(), 8) / (1 - 3 / 24)
            flipped = np.array(signs) * sums
            mean = flipped.sum() / 24
            se = np.sqrt(8 / 7 * ((flipped - 3 * mean) ** 2).sum()) / 24
            # of clusters of one size the degrees of freedom are 7, and Wallace's scale is nearly exact
            p = stats.t.sf(abs(mean / se), 7)
            largest = max(largest, stats.norm.isf(p))
        literal.append(largest)
    assert found == pytest.approx(np.sort(literal), abs=0.03)


def test_tasks_that_move_together_need_a_lower_bar():
    shared = np.repeat(RNG.normal(size=40), 10)
    body = {"tasks": list(range(10)) * 40, "clusters": np.repeat(np.arange(40), 10).tolist()}
    together = analyse(NAME, {**body, "values": (shared + 0.01 * RNG.normal(size=400)).tolist()})
    alone = analyse(NAME, {**body, "values": RNG.normal(size=400).tolist()})
    assert together.critical_value < 2.2 < 2.6 < alone.critical_value <= stats.norm.isf(0.05 / 20)


def test_bounds_without_any_loss_are_the_rule_of_three():
    found = analyse(NAME, {"tasks": ["a"] * 100, "values": [1] * 100})
    assert found.ci.low == pytest.approx(0.025 ** (1 / 100))  # one task is a share, whose limits are exact
    assert found.ci.high == 1
    # of two tasks the smaller one has the heavier items: a loss there was the likeliest to be missed
    found = analyse(NAME, {"tasks": ["a"] * 100 + ["b"] * 20, "values": [1] * 120})
    assert found.ci.low == pytest.approx(1 + np.log(0.025) / 40)


def test_tasks_of_right_and_wrong_have_the_exact_limits_they_have_alone():
    """A task of 20 items with 8 right was told as 0 to 93 % where eleven tasks hold at once."""
    sizes, right = [20, 44, 7], [8, 11, 7]
    body = {
        "tasks": np.repeat(["a", "b", "c"], sizes).tolist(),
        "values": [int(at < k) for n, k in zip(sizes, right, strict=True) for at in range(n)],
    }
    found = analyse(NAME, body)
    tail = (1 - 0.95 ** (1 / 3)) / 2
    for task, n, k in zip(found.tasks, sizes, right, strict=True):
        alone = analyse("one-sample-mean", {"values": [1] * k + [0] * (n - k)})
        assert (task.ci.low, task.ci.high) == pytest.approx((alone.ci.low, alone.ci.high))
        assert task.ci.method == "clopper_pearson"
        limits = stats.beta.ppf(tail, k, n - k + 1), stats.beta.ppf(1 - tail, k + 1, n - k) if k < n else 1.0
        assert (task.simultaneous.low, task.simultaneous.high) == pytest.approx(limits)
    assert found.every.low == pytest.approx(min(task.ci.low for task in found.tasks))
    # rescaled, the same share of another length; a declared range that is wider makes them scores
    scaled = analyse(NAME, {**body, "rescale": {"a": {"floor": 0.25, "ceiling": 1}}})
    assert scaled.tasks[0].ci.low == pytest.approx((found.tasks[0].ci.low - 0.25) / 0.75)
    wider = analyse(NAME, {**body, "range": {"low": 0, "high": 2}})
    assert {task.ci.method for task in wider.tasks} == {"furthest"}
    # items that documents tie together are not independent, and those of a task in documents of one item are
    tied = analyse(
        NAME, {**body, "clusters": [*range(20), *[20 + at // 2 for at in range(44)], *range(50, 57)]}
    )
    assert [task.ci.method for task in tied.tasks] == ["clopper_pearson", "furthest", "clopper_pearson"]


def test_exact_limits_and_their_p_values_never_disagree():
    for right in (0, 3, 20):
        bounds = ShareBounds(right, 20, -1.0, 3.0, 0.5)
        for tail in (0.2, 0.025, 1e-12):
            low, high = bounds.ends(tail)
            assert bounds.p_above(low) == pytest.approx(tail if right else 1.0)
            assert bounds.p_below(high) == pytest.approx(tail if right < 20 else 1.0)


def test_against_fay_and_feuer_s_gamma_bound():
    # of rates under weights: quantile of a gamma law of mean y + w and variance v + w^2
    one = Rare(Rate(0.03, 0.0001), NONE, 0.005)
    gamma = stats.gamma(0.035**2 / 0.000125, scale=0.000125 / 0.035)
    assert one.reach(0.025, 1.0) == pytest.approx(gamma.isf(0.025) - 0.03)


@pytest.mark.parametrize("df", [1.0, 4.5, 200.0])
@pytest.mark.parametrize("mean", [-0.04, 0.0, 0.02])
def test_bounds_and_p_values_never_disagree(df, mean):
    rare = Rare(Rate(0.06, 0.0001), Rate(0.06 + mean, 0.0001), 0.005)
    bounds = SuiteBounds(mean, 0.014, df, rare, rare.turned)
    for tail in (0.2, 0.1, 0.025, 1e-4):
        low, high = bounds.ends(tail)
        assert bounds.p_above(low) == pytest.approx(tail, rel=1e-6)
        assert bounds.p_below(high) == pytest.approx(tail, rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_arms_that_change_places_turn_everything_round(seed):
    rng = np.random.default_rng(seed)
    body = {"tasks": rng.integers(0, 3, 60).tolist(), "clusters": rng.integers(0, 9, 60).tolist()}
    before, after = (rng.integers(0, 2, 60).tolist() for _ in range(2))
    one = analyse(NAME, {**body, "baseline": before, "candidate": after})
    other = analyse(NAME, {**body, "baseline": after, "candidate": before})
    assert one.estimate == pytest.approx(-other.estimate)
    assert (one.ci.low, one.ci.high) == pytest.approx((-other.ci.high, -other.ci.low))
    assert one.p_value == pytest.approx(other.p_value)
    assert one.losses.lost == other.losses.gained
    for task, turned in zip(one.tasks, other.tasks, strict=True):
        assert task.arms.p_lost == pytest.approx(turned.arms.p_gained)


def test_the_order_of_items_and_the_names_of_clusters_say_nothing():
    body = arms(scored())
    order = RNG.permutation(90)
    shuffled = {name: [column[at] for at in order] for name, column in body.items()}
    shuffled["clusters"] = [f"c{label}" for label in shuffled["clusters"]]
    one, other = analyse(NAME, body), analyse(NAME, shuffled)
    by_name = {task.name: task for task in other.tasks}
    assert (one.estimate, one.se, one.df) == pytest.approx((other.estimate, other.se, other.df))
    for task in one.tasks:
        assert task.ci.low == pytest.approx(by_name[task.name].ci.low)


def test_weights():
    body = arms(scored(n=91))
    equal = analyse(NAME, body)
    assert analyse(NAME, {**body, "weights": {"0": 7, "1": 7, "2": 7}}).ci == equal.ci
    items = analyse(NAME, {**body, "weights": "items"})
    assert items.estimate == pytest.approx(items.item_weighted)
    assert items.item_weighted == pytest.approx(np.mean(np.subtract(body["candidate"], body["baseline"])))


def test_rescaled_scores_are_as_if_they_had_been_sent_so():
    body = scored()
    direct = [
        value * (10 if task == 1 else 1) + (3 if task == 1 else 0)
        for value, task in zip(body["values"], body["tasks"], strict=True)
    ]
    rescaled = analyse(NAME, {**body, "values": direct, "rescale": {"1": {"floor": 3, "ceiling": 13}}})
    plain = analyse(NAME, body)
    assert (rescaled.estimate, rescaled.se) == pytest.approx((plain.estimate, plain.se))
    turned = analyse(NAME, {**body, "rescale": {str(task): {"floor": 1, "ceiling": 0} for task in range(3)}})
    assert turned.estimate == pytest.approx(1 - plain.estimate)


def test_no_task_loses_more_than_the_margin_asks_every_task():
    body = {**golden(), "margin": {"value": 6, "unit": "pp"}}
    found = analyse(NAME, body).losses.none_loses
    assert found.outcome == "pass"
    assert found.p_value < 0.025
    strict = analyse(NAME, {**body, "margin": {"value": 2, "unit": "pp"}})
    assert strict.losses.none_loses.outcome == "cannot_tell"
    assert strict.tasks[0].arms.standing == "cannot_tell"
    turned = {**golden(), "margin": {"value": 0.5, "unit": "pp"}}
    turned["baseline"], turned["candidate"] = turned["candidate"], turned["baseline"]
    lost = analyse(NAME, turned)
    assert lost.losses.none_loses.outcome == "fail"
    assert lost.tasks[2].arms.standing == "fail"


def test_what_is_undefined_is_null_with_a_reason():
    lone = sound(ask(NAME, {"tasks": ["a", "a", "b"], "values": [0.0, 1.0, 1.0]}))
    assert lone.analysis.ci is None
    assert "TASK_IN_ONE_CLUSTER" in codes(lone)
    assert (
        analyse(NAME, {"tasks": ["a", "a", "b"], "values": [0, 1, 1], "estimand": "new_tasks"}).ci is not None
    )
    still = sound(ask(NAME, {"tasks": ["a", "a", "b", "b"], "values": [3.0, 3.0, 4.0, 4.0]})).analysis
    assert still.ci is None
    assert "nothing varies" in still.reasons["ci"]
    alone = sound(ask(NAME, {"tasks": ["a", "a"], "values": [0, 1], "estimand": "new_tasks"})).analysis
    assert alone.ci is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"weights": {"a": 1}}, "none of task 'b'"),
        ({"weights": {"a": 1, "b": 1, "c": 1}}, "weights.c: is no task"),
        ({"rescale": {"z": {"floor": 0, "ceiling": 1}}}, "rescale.z: is no task"),
        ({"rescale": {"a": {"floor": 1, "ceiling": 1}}}, "is the floor"),
        ({"candidate": None}, "baseline and candidate two"),
        ({"margin": {"value": 1, "unit": "score"}}, "no score unit"),
        ({"clusters": [1, 1, 1, 1]}, "single cluster"),
        ({"range": {"low": 0.5, "high": 1}}, "holds 0"),
    ],
)
def test_refusals_name_the_field(change, said):
    body = {"tasks": ["a", "a", "b", "b"], "baseline": [1, 0, 1, 0], "candidate": [1, 1, 1, 0], **change}
    with pytest.raises(InvalidData, match=said):
        analyse(NAME, {name: column for name, column in body.items() if column is not None})


@pytest.mark.parametrize("estimand", ["these_tasks", "new_tasks"])
def test_weights_that_lie_far_apart_are_computed_with_and_those_beyond_refused(estimand):
    body = {"tasks": ["a", "b"] * 20, "values": [1, 0, 0, 1, 1, 1, 0, 0] * 5, "estimand": estimand}
    apart = analyse(NAME, {**body, "weights": {"a": 1e9, "b": 1e-9}})
    assert apart.estimate == pytest.approx(0.5, abs=1e-15)
    for weight in (0.9e-9, 1e-320, 1.1e9):
        with pytest.raises(ValidationError):
            analyse(NAME, {**body, "weights": {"a": 1, "b": weight}})


def test_refuses_a_margin_of_one_arm_and_too_many_tasks():
    with pytest.raises(InvalidData, match="one arm loses nothing"):
        analyse(NAME, {"tasks": ["a", "a"], "values": [1, 0], "margin": {"value": 1, "unit": "pp"}})
    with pytest.raises(InvalidData, match="501"):
        analyse(NAME, {"tasks": list(range(501)), "values": [0] * 501})


def degenerate():
    for values in (
        [],
        [1],
        [0, 0, 0],
        [1, 1, 1, 1],
        [0, 1, 0, 1],
        [5e-324, 0, 1e-323, 0],
        [1e149, 0, -1e149, 1],
    ):
        for tasks in ([0] * len(values), list(range(len(values))), [at % 2 for at in range(len(values))]):
            yield {"tasks": tasks, "values": values}
            yield {"tasks": tasks, "baseline": values, "candidate": values[::-1]}
            yield {
                "tasks": tasks,
                "baseline": values,
                "candidate": values,
                "clusters": [at // 2 for at in range(len(values))],
            }
    yield {"tasks": ["", "a"], "values": [0, 1]}
    yield {"tasks": ["a", "a"], "values": [1e149, 1], "rescale": {"a": {"floor": 0, "ceiling": 1e-300}}}
    yield {"tasks": ["a", "a"], "values": [0.1, 0.2], "rescale": {"a": {"floor": 0, "ceiling": 1e-149}}}


def growing(k):
    n = 3000 * k
    return {"tasks": [at % 5 for at in range(n)], "values": [float(at % 2) for at in range(n)]}


def spanning(k):
    return {
        "tasks": list(range(4)) * 60 * k,
        "values": [0, 1] * 120 * k,
        "clusters": [at // 4 for at in range(240 * k)],
    }


CASES = Cases(
    degenerate=degenerate,
    growing=[growing, spanning],
    unmirrored="it takes a column of tasks: test_arms_that_change_places_turn_everything_round",
    unsimulated="tests/simulation/suites.py measures it in worlds of its own, for docs/suites-coverage.md",
)
