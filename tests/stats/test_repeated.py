"""Repeated runs against mean squares, statsmodels' mixed model, simulation, and brute force over budgets."""

from __future__ import annotations

import math
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from service.errors import InvalidData
from service.kernels.planning import allocation
from service.kernels.planning.allocation import Costs, Spread
from service.kernels.repeats.repeated_runs import reml
from service.stats.repeated.repeats import flatten
from tests.simulation.rows import ALPHA, LEVEL, Batch, Read
from tests.simulation.worlds import judged_runs
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes
from tests.stats.soundness import sound

NAME = "repeated"
SDS = (1.0, 0.5, 0.7, 0.4)
NAMES = ("item", "item_by_arm", "run", "judge")


def world(seed, n=30, runs=3, judgements=2, sds=SDS):
    return judged_runs(n, runs, judgements, sds)(np.random.default_rng(seed), 0.3)


def ragged(seed, n=30):
    body, rng = world(seed, n, 4, 3), np.random.default_rng(seed + 1)
    for arm in ("baseline", "candidate"):
        body[arm] = [[run[: rng.integers(1, 4)] for run in runs[: rng.integers(1, 5)]] for runs in body[arm]]
    return body


def variances(found):
    return [getattr(found.components, name).variance for name in NAMES]


def test_equal_counts_are_the_textbook_mean_squares():
    body = world(1)
    y = np.stack([body["baseline"], body["candidate"]], axis=1)  # item, arm, run, judge
    n, _, r, j = y.shape
    run, cell, item, arm = y.mean(3), y.mean((2, 3)), y.mean((1, 2, 3)), y.mean((0, 2, 3))
    judge_ms = ((y - run[..., None]) ** 2).sum() / (2 * n * r * (j - 1))
    run_ms = j * ((run - cell[..., None]) ** 2).sum() / (2 * n * (r - 1))
    both_ms = j * r * ((cell - item[:, None] - arm + y.mean()) ** 2).sum() / (n - 1)
    item_ms = 2 * j * r * ((item - y.mean()) ** 2).sum() / (n - 1)
    expected = [
        (item_ms - both_ms) / (2 * j * r),
        (both_ms - run_ms) / (j * r),
        (run_ms - judge_ms) / j,
        judge_ms,
    ]
    found = analyse(NAME, body, n_resamples=100)
    assert found.method == "anova"
    assert variances(found) == pytest.approx(expected, rel=1e-9)
    error = 2 * (expected[1] + expected[2] / r + expected[3] / (r * j)) / n
    assert found.error.se == pytest.approx(math.sqrt(error))
    # so the model's error is the observed one: the variance of the differences of item means
    difference = cell[:, 1] - cell[:, 0]
    assert found.error.se == pytest.approx(difference.std(ddof=1) / math.sqrt(n))
    assert found.se == pytest.approx(found.error.se)


def test_likelihood_and_analysis_of_variance_agree_on_equal_counts():
    body = world(2)
    data, size, _ = flatten(body["baseline"], body["candidate"])
    assert reml(data) * size**2 == pytest.approx(variances(analyse(NAME, body, n_resamples=100)), rel=1e-5)


def test_unequal_counts_agree_with_statsmodels():
    body = ragged(3)
    rows = [
        (i, a, f"{i}.{a}", f"{i}.{a}.{r}", y)
        for a, arm in enumerate(("baseline", "candidate"))
        for i, runs in enumerate(body[arm])
        for r, run in enumerate(runs)
        for y in run
    ]
    table = pd.DataFrame(rows, columns=["i", "a", "cell", "run", "y"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = {"cell": "0+C(cell)", "run": "0+C(run)"}
        fit = smf.mixedlm("y ~ C(a)", table, groups="i", re_formula="1", vc_formula=parts).fit(reml=True)
    data, size, _ = flatten(body["baseline"], body["candidate"])
    expected = [fit.cov_re.iloc[0, 0], *fit.vcomp, fit.scale]
    assert reml(data) * size**2 == pytest.approx(expected, rel=2e-3, abs=1e-4)


def test_items_counted_twice_are_items_sent_twice():
    body = ragged(4, 12)
    copies = np.array([2, 0, 1] * 4)
    sent = {arm: [runs for runs, k in zip(body[arm], copies, strict=True) for _ in range(k)] for arm in body}
    data, size, _ = flatten(body["baseline"], body["candidate"])
    other, unit, _ = flatten(sent["baseline"], sent["candidate"])
    assert reml(data, copies.astype(float)) * size**2 == pytest.approx(
        reml(other) * unit**2, rel=1e-4, abs=1e-7
    )


def test_components_are_recovered():
    found = np.array([variances(analyse(NAME, world(seed), n_resamples=100)) for seed in range(60)])
    error = found.std(axis=0, ddof=1) / math.sqrt(len(found))
    assert np.all(np.abs(found.mean(axis=0) - np.square(SDS)) < 4 * error)
    data = (flatten(*ragged(seed).values()) for seed in range(40))
    found = np.array([reml(each) * size**2 for each, size, _ in data])
    error = found.std(axis=0, ddof=1) / math.sqrt(len(found))
    assert np.all(np.abs(found.mean(axis=0) - np.square(SDS)) < 4 * error)


def test_the_difference_is_that_of_item_means():
    body = ragged(6)
    means = [np.array([np.mean([np.mean(run) for run in runs]) for runs in body[arm]]) for arm in body]
    difference = means[1] - means[0]
    found = analyse(NAME, body, n_resamples=100)
    assert found.delta == pytest.approx(difference.mean())
    assert found.se == pytest.approx(difference.std(ddof=1) / math.sqrt(30))
    assert found.df == pytest.approx(29)
    grouped = analyse("cluster-bootstrap", {
        "baseline": means[0].tolist(), "candidate": means[1].tolist(), "clusters": [i // 3 for i in range(30)],
    })  # fmt: skip
    in_clusters = analyse(NAME, body, clusters=[i // 3 for i in range(30)], n_resamples=100)
    assert in_clusters.delta == pytest.approx(grouped.delta)
    assert in_clusters.ci.method == "cr2_t"


@pytest.mark.parametrize("costs", [Costs(1, 1, 1), Costs(30, 2, 0.5), Costs(0, 1, 5)])
@pytest.mark.parametrize("spread", [Spread(0.25, 0.5, 0.2), Spread(0.02, 1.5, 3.0), Spread(1.0, 0.0, 0.0)])
def test_the_best_allocation_agrees_with_brute_force(costs, spread):
    budget, most = 300.0, 40

    def cost(i, r, j):
        return sum(costs.item for _ in range(i)) + 2 * i * r * (costs.run + j * costs.judge)

    tried = [
        (2 * (spread.item_by_arm / i + spread.run / (i * r) + spread.judge / (i * r * j)))
        for i, r, j in product(range(2, most + 1), range(1, 13), range(1, 13))
        if cost(i, r, j) <= budget
    ]
    found = allocation.best(spread, costs, budget, most_items=most, most_runs=12, most_judgements=12)
    assert found.variance == pytest.approx(min(tried), rel=1e-12)
    assert found.cost <= budget
    assert found.cost == pytest.approx(cost(found.items, found.runs, found.judgements))


def test_gains_are_slopes_per_cost():
    spread, costs, at = Spread(0.25, 0.5, 0.2), Costs(3, 2, 1), np.array([40.0, 3.0, 2.0])
    for place, gain in enumerate(allocation.gains(spread, costs, *at)):
        step = np.eye(3)[place] * 1e-5
        lost = allocation.variance(spread, *(at - step)) - allocation.variance(spread, *(at + step))
        paid = allocation.cost(costs, *(at + step)) - allocation.cost(costs, *(at - step))
        assert gain == pytest.approx(lost / paid, rel=1e-6)


def test_flips_count_changed_majorities_and_pairs_of_runs():
    body = {
        "baseline": [[[1, 1, 0], [1, 0, 1], [0, 0, 1]], [[1], [1]], [[0], [1]], [[1]]],
        "candidate": [[[0]], [[1]], [[0]], [[1]]],
    }
    answer = ask(NAME, body, n_resamples=100)
    base = answer.analysis.flips_baseline
    assert (base.rate, base.n_items) == (pytest.approx(2 / 3), 3)
    assert base.two_runs == pytest.approx((2 / 3 + 0 + 1) / 3)
    assert answer.analysis.flips_candidate.rate is None
    assert "two runs" in answer.analysis.reasons["flips_candidate.rate"]
    scores = analyse(NAME, {"baseline": [[0.5, 0.2], [1, 0]], "candidate": [[1, 0], [0, 1]]}, n_resamples=100)
    assert scores.flips_baseline.rate is None


def test_levels_that_nothing_repeats_are_inside_the_one_above():
    answer = ask(
        NAME, {"baseline": [[0.1], [0.9], [0.3]], "candidate": [[0.2], [0.5], [0.8]]}, n_resamples=100
    )
    found = answer.analysis
    assert "NO_REPEATED_RUN" in codes(answer)
    assert found.components.run.variance is found.components.judge.variance is found.next_unit.runs is None
    assert found.components.item_by_arm.variance == pytest.approx(np.var([0.1, -0.4, 0.5], ddof=1) / 2)
    assert "run-to-run noise among it" in found.sentence


@pytest.mark.parametrize("clusters", [None, [0, 0, 1, 1, 2, 2, 3]])
@pytest.mark.parametrize("baseline", [[[0, 0]] * 7, [[1000.1 * k + 0.3] for k in range(1, 8)]])
def test_differences_that_do_not_vary_are_no_certainty(baseline, clusters):
    """The interval was a single point, which a rule of `ci.low > 0` took for evidence; of rounding p was 3.5e-70."""
    gain = 1 if baseline[0] == [0, 0] else 0.1
    candidate = [[value + gain for value in runs] for runs in baseline]
    body = {"baseline": baseline, "candidate": candidate, "n_resamples": 100, "clusters": clusters}
    answer = sound(ask(NAME, body))
    found = answer.analysis
    assert found.delta == pytest.approx(gain)
    assert found.p_value is found.ci.low is found.ci.high is None
    assert "same difference" in found.reasons["ci.low"]
    assert "DEGENERATE" in codes(answer)
    assert "no interval" in found.sentence


@pytest.mark.parametrize("unit", [1e-9])
def test_scale_changes_the_unit_and_nothing_else(unit):
    body = ragged(8, 12)
    scaled = {arm: [[[unit * y for y in run] for run in runs] for runs in body[arm]] for arm in body}
    one, other = (analyse(NAME, each, n_resamples=100) for each in (body, scaled))
    assert variances(other) == pytest.approx([unit**2 * each for each in variances(one)], rel=1e-4)
    assert other.p_value == pytest.approx(one.p_value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"baseline": [[1.0]], "candidate": [[1.0]]}, "single item"),
        ({"baseline": [[1.0]] * 2, "candidate": [[1.0]]}, "has 1 values"),
        ({"baseline": [[1.0]] * 2, "candidate": [[1.0]] * 2, "clusters": [1, 1]}, "single cluster"),
        ({"baseline": [[1e151]] * 2, "candidate": [[1.0]] * 2}, "beyond"),
    ],
)
def test_what_cannot_be_used_is_refused(body, message):
    with pytest.raises(InvalidData, match=message):
        ask(NAME, body)


def test_a_budget_buys_no_further_runs_where_no_run_was_repeated():
    """What runs add is not known then, and stands in the spread of items: the more items, the better."""
    rng = np.random.default_rng(4)
    base, cand = ((rng.normal(size=(12, 1, 1)) + rng.normal(size=(12, 1, 2))).tolist() for _ in range(2))
    found = analyse(
        NAME, {"baseline": base, "candidate": cand, "n_resamples": 100, "most_items": 12, "budget": 1e4}
    )
    assert found.allocation.runs == 1
    assert found.allocation.judgements > 1


def bodies():
    for base, cand in (
        ([[1.0], [1.0]], [[1.0], [1.0]]), ([[0, 0]] * 3, [[1, 1]] * 3), ([[0, 1]] * 3, [[1, 0]] * 3),
        ([[0.1 + 0.2, 0.3]] * 4, [[0.3]] * 4), ([[[1, 1], [1]], [[0, 0]]], [[[1]], [[0, 1], [1]]]),
        ([[[0, 1]], [[1, 0]]], [[[0, 1]], [[1, 1]]]), ([[1e140, -1e140], [3]], [[4], [5]]),
        ([[5e-324], [0.0, 0.0]], [[0.0], [1e-323]]), ([], []), ([[]], [[]]), ([[1], [2]], [[1]]),
        ([[1, [2]]] * 2, [[1]] * 2), ([[0.0, 0.0], [1.0]], [[0.0], [1.0, 1.0]]),
    ):  # fmt: skip
        yield {"baseline": base, "candidate": cand, "n_resamples": 100}
        yield {"baseline": base, "candidate": cand, "n_resamples": 100, "clusters": list(range(len(base)))}
    yield {"baseline": [[0, 1]] * 3, "candidate": [[1], [0, 1], [1]], "budget": 1.0, "n_resamples": 100}


def simulated():
    """Level and coverage of the difference; the variances' intervals as they are."""
    reads = (Read("type I error", "p_value", ALPHA), Read("coverage", "ci", LEVEL))
    for name in ("judged-runs", "judged-runs-clusters"):
        yield Batch(name, NAME, reads, {"n_resamples": 100})


CASES = Cases(
    degenerate=bodies,
    growing=[
        lambda k: {"baseline": [[0.1, 0.4]] * (500 * k), "candidate": [[0.2, 0.3]] * (500 * k)},
        lambda k: {"baseline": [[0.1, 0.4]] * (50 * k), "candidate": [[0.2], [0.3, 0.1]] * (25 * k)},
    ],
    unmirrored="its arms are nested lists: its own tests scale them",
    simulated=simulated,
    varied={"level": [0.95, 0.9]},
    shown={"n_resamples": [100]},
)
