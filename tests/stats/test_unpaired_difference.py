"""Two arms on different items by their definitions, against SciPy, and in worlds far from normal."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from service.errors import InvalidData
from service.kernels.numeric.clusters import codes_of
from service.kernels.pairs.mean_bounds import ExactShare, GaffkeBounds
from service.kernels.unpaired.melded import Melded
from service.kernels.unpaired.regression import difference
from service.kernels.unpaired.unconditional import fisher_p
from tests.simulation.reads import coverage, errors
from tests.simulation.rows import Batch
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes
from tests.stats.shapes import ends
from tests.stats.soundness import sound

NAME = "unpaired-difference"
RNG = np.random.default_rng(5)
BASELINE, CANDIDATE = RNG.random(24), 0.9 * RNG.random(31) + 0.1


def body(baseline, candidate, **more):
    return {"baseline": list(map(float, baseline)), "candidate": list(map(float, candidate)), **more}


def of_arms(codes, n0):
    return {"baseline": [int(code) for code in codes[:n0]], "candidate": [int(code) for code in codes[n0:]]}


@pytest.mark.parametrize("table", [(7, 10, 3, 12), (50, 60, 40, 60), (10, 10, 0, 8), (3, 3, 1, 3)])
def test_melded_shares_test_no_difference_as_fisher_does(table):
    right1, n1, right0, n0 = table
    melded = Melded(ExactShare(right0, n0), ExactShare(right1, n1))
    assert melded.p_above(0.0) == pytest.approx(fisher_p(*table), rel=3e-3)


def test_by_definition_a_melded_p_is_the_chance_over_both_distributions():
    melded = Melded(ExactShare(6, 20), ExactShare(15, 25))
    low1, high0 = stats.beta(15, 11), stats.beta(7, 14)
    for margin in (-0.1, 0.05, 0.2):
        chance, _ = integrate.quad(lambda u, d=margin: low1.cdf(u + d) * high0.pdf(u), 0, 1)
        assert melded.p_above(margin) == pytest.approx(chance, abs=2e-5)
    low, high = melded.ends(0.025)
    assert melded.p_above(low) == pytest.approx(0.025, abs=1e-6)
    assert melded.p_below(high) == pytest.approx(0.025, abs=1e-6)


def test_melded_scores_agree_with_draws_of_both_distributions():
    draws = 200_000
    rng = np.random.default_rng(8)
    lower = rng.dirichlet(np.ones(len(CANDIDATE) + 1), draws) @ [*CANDIDATE, 0.0]
    upper = rng.dirichlet(np.ones(len(BASELINE) + 1), draws) @ [*BASELINE, 1.0]
    melded = Melded(GaffkeBounds.of_items(BASELINE, 0, 1), GaffkeBounds.of_items(CANDIDATE, 0, 1))
    assert melded.ends(0.025)[0] == pytest.approx(np.quantile(lower - upper, 0.025), abs=3e-3)
    assert melded.p_above(0.0) == pytest.approx(np.mean(lower <= upper), abs=4e-3)


def test_right_and_wrong_are_a_case_of_bounded_scores():
    ones = np.repeat([1.0, 0.0], [15, 5])
    shares = Melded(ExactShare(4, 12), ExactShare(15, 20))
    scores = Melded(
        GaffkeBounds.of_items(np.repeat([1.0, 0.0], [4, 8]), 0, 1), GaffkeBounds.of_items(ones, 0, 1)
    )
    assert scores.ends(0.025) == pytest.approx(shares.ends(0.025), abs=1e-7)


def test_arms_without_spread_decide_nothing_where_no_range_is_known():
    found = analyse(NAME, body([2.0] * 9, [3.0] * 9))
    assert (found.ci, found.p_value) == (None, None)
    assert found.reasons["ci"] == "nothing varies, which is no certainty"


def test_without_a_range_what_was_seen_stands_for_it_and_welch_has_a_say():
    found = analyse(NAME, body(BASELINE - 3, CANDIDATE - 3))
    welch = stats.ttest_ind(CANDIDATE, BASELINE, equal_var=False)
    seen = {"low": min(*BASELINE, *CANDIDATE) - 3, "high": max(*BASELINE, *CANDIDATE) - 3}
    known = analyse(NAME, body(BASELINE - 3, CANDIDATE - 3, range=seen))
    assert ends(found.intervals["t"]) == pytest.approx(tuple(welch.confidence_interval()))
    assert ends(found.intervals["melded"]) == pytest.approx(ends(known.ci))
    assert ends(found.ci) == pytest.approx(
        (
            min(welch.confidence_interval().low, known.ci.low),
            max(welch.confidence_interval().high, known.ci.high),
        )
    )
    assert found.p_value == pytest.approx(max(welch.pvalue, known.p_value), rel=1e-9)
    assert (found.ci.method, found.df) == ("furthest", pytest.approx(welch.df))


def literal_cr2(y, treated, codes_, covariates):
    """CR2 and its degrees of freedom by matrices over all items (Pustejovsky & Tipton 2018, eqs. 6, 11)."""
    columns = [np.ones_like(treated), treated]
    if covariates is not None:
        centred = covariates - covariates.mean(axis=0)
        columns += [*centred.T, *(treated * centred.T)]
    x = np.array(columns).T
    m = np.linalg.inv(x.T @ x)
    hat = np.eye(len(y)) - x @ m @ x.T
    variance, g = 0.0, []
    for code in np.unique(codes_):
        rows = np.flatnonzero(codes_ == code)
        values, vectors = np.linalg.eigh(hat[np.ix_(rows, rows)])
        a = (vectors / np.sqrt(values)) @ vectors.T @ x[rows] @ m[:, 1]
        variance += float(a @ (hat @ y)[rows]) ** 2
        g.append(hat[:, rows] @ a)
    products = np.array(g) @ np.array(g).T
    return float((m @ x.T @ y)[1]), variance, np.trace(products) ** 2 / (products**2).sum()


@pytest.mark.parametrize("span", [False, True])
@pytest.mark.parametrize("q", [0, 1, 2])
def test_by_definition_cr2_of_clusters_that_may_span_the_arms(span, q):
    rng = np.random.default_rng(10 + q)
    n0, n1 = 22, 27
    y = rng.random(n0 + n1)
    treated = np.repeat([0.0, 1.0], [n0, n1])
    labels = np.array(codes_of([*rng.integers(0, 5, n0), *(rng.integers(0, 6, n1) + (0 if span else 5))]))
    covariates = None if q == 0 else rng.random((n0 + n1, q))
    delta, variance, df = literal_cr2(y, treated, labels, covariates)
    found = difference(y[:n0], y[n0:], labels, covariates)
    assert (found.delta, found.df) == (pytest.approx(delta), pytest.approx(df))
    if q == 0:
        assert found.se**2 == pytest.approx(variance)
    else:  # and what the covariates' mean adds
        assert variance <= found.se**2 <= 1.2 * variance


def test_two_groups_have_a_closed_form():
    # CR2 of each arm's mean by itself, added
    sizes = [3, 9, 4, 12, 7, 5]
    labels = np.repeat(np.arange(6), sizes)
    y = np.random.default_rng(3).random(40)
    n0 = 16
    found = difference(y[:n0], y[n0:], labels)
    parts = 0.0
    for rows in (np.arange(n0), np.arange(n0, 40)):
        away = y[rows] - y[rows].mean()
        n = len(rows)
        for code in np.unique(labels[rows]):
            inside = labels[rows] == code
            parts += away[inside].sum() ** 2 / (1 - inside.sum() / n) / n**2
    assert found.se**2 == pytest.approx(parts)


def test_a_covariate_that_explains_everything_but_the_arm_leaves_the_arm():
    x = np.linspace(0, 1, 60)
    y = 0.2 + 0.5 * x + 0.001 * np.cos(37 * x)
    before = {"baseline": x[::2].tolist(), "candidate": x[1::2].tolist()}
    found = analyse(NAME, body(y[::2], y[1::2] + 0.05, covariates={"before": before}))
    assert found.delta == pytest.approx(0.05, abs=1e-3)
    assert found.adjustment.explained > 0.99
    assert found.adjustment.items_saved > 0.99
    assert ends(found.intervals["hc2_t"]) == pytest.approx((0.05, 0.05), abs=2e-3)
    assert found.ci.low < found.intervals["hc2_t"].low  # what was not seen may lie at the ends of the range


def test_adjusted_scores_turned_round_have_their_ends_turned_round():
    """A skewed covariate moves outcomes further up than down, and with them the outcomes that were not seen."""
    rng = np.random.default_rng(9)
    before = rng.exponential(size=40)
    y = np.clip(0.2 + 0.15 * before + 0.1 * rng.random(40), 0, 1)
    more = {
        "covariates": {"before": {"baseline": before[::2].tolist(), "candidate": before[1::2].tolist()}},
        "range": {"low": 0, "high": 1},
    }
    found, turned = (analyse(NAME, body(z[::2], z[1::2], **more)) for z in (y, 1 - y))
    assert ends(turned.ci) == pytest.approx((-found.ci.high, -found.ci.low), abs=1e-6)


def test_a_covariate_that_explains_nothing_changes_little():
    rng = np.random.default_rng(4)
    noise = {"baseline": rng.random(24).tolist(), "candidate": rng.random(31).tolist()}
    plain = analyse(NAME, body(BASELINE, CANDIDATE))
    found = analyse(NAME, body(BASELINE, CANDIDATE, covariates={"noise": noise}))
    assert found.adjustment.unadjusted == pytest.approx(plain.delta)
    assert found.delta == pytest.approx(plain.delta, abs=0.02)
    assert found.se == pytest.approx(plain.se, rel=0.1)


def test_losses_too_rare_to_have_been_seen_are_in_the_interval():
    found = analyse(NAME, body([1.0] * 40, [1.0] * 40))
    assert found.delta == 0
    assert found.ci.low < -0.05  # Welch's interval is a point
    clusters = of_arms(np.arange(80) // 8, 40)
    clustered = analyse(NAME, body([1.0] * 40, [1.0] * 40, clusters=clusters))
    assert clustered.ci.low < found.ci.low


@pytest.mark.slow
@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: (rng.random(n) > 0.02).astype(float),
        lambda rng, n: np.where(rng.random(n) < 0.03, 0.0, 0.9 + 0.1 * rng.random(n)),
        lambda rng, n: np.minimum(np.exp(rng.normal(size=n) * 1.5 - 4), 1.0),
    ],
)
def test_level_where_rare_outcomes_carry_the_mean(draw):
    # equal arms of 40 items: a gain, and a loss, are each claimed at most 2.5% of the time; Welch's t errs more often
    rng = np.random.default_rng(11)
    wrong = np.zeros(2)
    runs = 120
    for _ in range(runs):
        melded = Melded(*(GaffkeBounds.of_items(draw(rng, 40), 0, 1) for _ in range(2)))
        low, high = melded.ends(0.025)
        wrong += low > 0, high < 0
    # 8 of 120 and more come with a chance of .008 at .025
    assert np.all(wrong <= 7)


def test_warnings():
    unit = {"low": 0, "high": 1}
    assert codes(ask(NAME, body(BASELINE, CANDIDATE, range=unit))) == set()
    assert "RANGE_TAKEN" in codes(ask(NAME, body(BASELINE, CANDIDATE)))
    assert "UNKNOWN_RANGE" in codes(ask(NAME, body(BASELINE + 3, CANDIDATE)))
    few = ask(NAME, body(BASELINE, CANDIDATE, range=unit, clusters=of_arms(np.arange(55) // 9, 24)))
    assert {"FEW_CLUSTERS", "FLOOR_ABOVE_ALPHA"} <= codes(few)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"clusters": of_arms([0] * 24 + [1, 2] * 15 + [1], 24)}, "clusters.baseline: hold a single cluster"),
        ({"clusters": {"baseline": [1, 2], "candidate": [1, 2]}}, "clusters.baseline: has 2 values"),
        ({"covariates": {"x": {"baseline": [1.0] * 24, "candidate": [2.0] * 31}}}, "does not vary"),
        ({"range": {"low": 0, "high": 0.5}}, "candidate holds|baseline holds"),
    ],
)
def test_refusals_name_the_field(more, told):
    with pytest.raises(InvalidData, match=told):
        analyse(NAME, body(BASELINE, CANDIDATE, **more))


@pytest.mark.parametrize(
    ("baseline", "candidate"),
    [
        ([1.0], [0.0]),
        ([0.5], [0.5, 0.5]),
        ([3.0, 3.0], [3.0, 3.0]),
        ([0.0] * 9, [1.0] * 9),
        ([1e149, 0.0], [5.0]),
    ],
)
def test_answers_are_sound_where_little_varies(baseline, candidate):
    sound(ask(NAME, body(baseline, candidate)))


def degenerate():
    for baseline, candidate in (
        ([], [1.0]),
        ([1.0], [1.0]),
        ([2.0] * 3, [2.0] * 3),
        ([1e200], [1.0]),
        (["a"], [None]),
    ):
        yield {"baseline": baseline, "candidate": candidate}
    yield body([0.0, 1.0, 1.0], [1.0, 0.0], clusters={"baseline": [1, 1, 2], "candidate": [1, 2]})
    yield body([5e-324, 0.0, 1e-323], [0.0, 1e-323])
    line = {"baseline": [0.0, 1.0, 2.0], "candidate": [0.0, 1.0]}
    yield body([0.0, 1.0, 1.0], [1.0, 0.0], covariates={"x": line, "y": line})
    yield body([0.0, 1.0, 1.0], [1.0, 0.0], covariates={"x": line})


def simulated():
    reads = (errors(), coverage())
    for world in ("unpaired-scores", "unpaired-rare-losses", "unpaired-covariate"):
        yield Batch(world, NAME, reads, simulations=500)  # Gaffke's bounds are slow
    for world in ("unpaired-clusters", "unpaired-few-clusters"):
        yield Batch(world, NAME, reads)


CASES = Cases(
    degenerate=degenerate,
    growing=[lambda k: body(np.linspace(0, 1, 5000 * k), np.linspace(0, 1, 5000 * k))],
    unmirrored="a range binds its scores, which are no free numbers; the arms are swapped in its own tests",
    simulated=simulated,
)


def test_swapping_the_arms_turns_the_answer_round():
    one, other = analyse(NAME, body(BASELINE, CANDIDATE)), analyse(NAME, body(CANDIDATE, BASELINE))
    assert ends(other.ci) == pytest.approx((-one.ci.high, -one.ci.low), abs=1e-12)
    assert other.p_value == pytest.approx(one.p_value, rel=1e-9)
    greater = analyse(NAME, body(BASELINE, CANDIDATE), alternative="greater")
    less = analyse(NAME, body(CANDIDATE, BASELINE), alternative="less")
    assert greater.p_value == pytest.approx(less.p_value, rel=1e-9)


@pytest.mark.parametrize("high", [1e-308, 2.0**-1000, 1e-60, 1e100])
def test_scores_in_any_unit_have_the_ends_of_the_same_scores_from_0_to_1(high):
    unit = analyse(NAME, body([0, 0.25, 1], [1, 0.5, 0], range={"low": 0, "high": 1}))
    scaled = analyse(NAME, body([0, high / 4, high], [high, high / 2, 0], range={"low": 0, "high": high}))
    assert [end / high for end in ends(scaled.ci)] == pytest.approx(ends(unit.ci), rel=1e-6)
    assert scaled.p_value == pytest.approx(unit.p_value, rel=1e-6)
