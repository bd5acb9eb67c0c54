"""Prediction-powered inference against its definition, the classical interval, and clusters by hand."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from scipy import optimize, stats

from service.errors import InvalidData
from service.kernels.effects.prediction_powered import estimate_powered, share_ends
from service.kernels.planning.labelled_pairs import LabelledSets, draw_answers, powered_sets
from tests.simulation.rows import ALPHA, LEVEL, Batch, Read
from tests.simulation.worlds import labelled_pairs
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask
from tests.stats.soundness import sound

NAME = "prediction-powered"


def scores(seed, n=50, many=300, noise=0.7):
    rng = np.random.default_rng(seed)
    truth = rng.normal(1, 1, n + many)
    judge = 0.4 + 0.8 * truth + rng.normal(0, noise, n + many)
    return truth[:n], judge[:n], judge[n:]


def body(people, judge, others, **more):
    arm = {"people": people, "judge": judge, "unlabelled": others}
    return {"candidate": {name: np.asarray(column).tolist() for name, column in arm.items()}, **more}


def test_by_definition():
    people, judge, others = scores(1)
    found = analyse(NAME, body(people, judge, others), weight=0.6)
    assert found.estimate == pytest.approx(0.6 * others.mean() + (people - 0.6 * judge).mean())
    one, other = (people - 0.6 * judge).var(ddof=1) / 50, 0.36 * others.var(ddof=1) / 300
    assert found.se == pytest.approx(math.sqrt(one + other))
    # two independent means: Welch's interval of the one minus that of the other
    welch = stats.ttest_ind(people - 0.6 * judge, -0.6 * others, equal_var=False).confidence_interval(0.95)
    assert (found.ci.low, found.ci.high) == pytest.approx((welch.low, welch.high))
    assert found.judge_bias == pytest.approx(judge.mean() - people.mean())


def test_without_the_judge_it_is_the_classical_interval():
    people, judge, others = scores(2)
    classical = stats.ttest_1samp(people, 0).confidence_interval(0.95)
    found = analyse(NAME, body(people, judge, others), weight=0)
    for ci in (found.ci, found.labels_ci):
        assert (ci.low, ci.high) == pytest.approx((classical.low, classical.high))
    assert found.worth == pytest.approx(1)


def test_the_tuned_weight_has_the_least_variance():
    people, judge, others = scores(3)
    best = optimize.minimize_scalar(
        lambda w: estimate_powered(people, judge, others, w).variance, bounds=(0, 1), method="bounded"
    )
    found = analyse(NAME, body(people, judge, others))
    assert found.weight == pytest.approx(best.x, abs=1e-4)
    assert found.worth > 1.5
    # the formula of the paper, whose variances are of one law: many items make them alike
    several = scores(3, 2_000, 6_000)
    rough = np.cov(*several[:2])[0, 1] / (1 + 1 / 3) / np.concatenate(several[1:]).var(ddof=1)
    assert estimate_powered(*several, None).weight == pytest.approx(rough, rel=0.03)
    labels = [k // 2 for k in range(50)], [k // 5 + 10 for k in range(300)]
    codes = tuple(np.array(each) for each in labels)
    best = optimize.minimize_scalar(
        lambda w: estimate_powered(people, judge, others, w, codes).variance, bounds=(0, 1), method="bounded"
    )
    found = analyse(NAME, body(people, judge, others), clusters=labels[0], clusters_unlabelled=labels[1])
    assert found.weight == pytest.approx(best.x, abs=1e-4)


@pytest.mark.parametrize(
    "more", [{}, {"weight": 1}, {"clusters": [1, 1, 2, 3], "clusters_unlabelled": [4] * 5}]
)
def test_what_does_not_vary_is_no_certainty(more):
    """Two labels gave 'a mean of 1 (95% CI 1 to 1)', and 0.1 more of values in the thousands p < 1e-99."""
    alike = analyse(NAME, body([1] * 4, [1] * 4, [1] * 5), **more)
    base = [1000.1 * k + 0.3 for k in range(1, 6)]
    arms = [
        body(column[:4], column[:4], column)["candidate"]
        for column in (base, [value + 0.1 for value in base])
    ]
    shifted = analyse(NAME, {"baseline": arms[0], "candidate": arms[1]}, **more)
    assert shifted.estimate == pytest.approx(0.1)
    for found in (alike, shifted):
        assert found.se == 0
        assert found.ci.low is found.ci.high is found.labels_ci.low is found.p_value is None
        assert "no interval" in found.sentence


@pytest.mark.parametrize("seed", range(4, 8))
def test_the_sentence_of_two_arms_holds_the_difference_its_interval_and_p(seed):
    arms = [body(*scores(number))["candidate"] for number in (1, seed)]
    found = analyse(NAME, {"baseline": arms[0], "candidate": arms[1]})
    number = r"([+-]?[\d.]+)"
    read = re.match(
        rf"The candidate differs from the baseline by {number} \(95% CI {number} to {number};.*; p = {number}",
        found.sentence,
    )
    assert read is not None, found.sentence
    told = [float(value) for value in read.groups()]
    assert told == pytest.approx(
        [found.estimate, found.ci.low, found.ci.high, found.p_value], rel=2e-2, abs=6e-4
    )
    assert ("not rejected" in found.sentence) is (found.p_value > 0.05)


@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1e-85, 1e-78, 1e100, 1e145])
@pytest.mark.parametrize("labels", [None, [0, 0, 1, 1, 2, 3]])
def test_the_unit_changes_nothing_else(unit, labels):
    """From 1e-78 on the degrees of freedom were wrong, then refused; at 1e-200 nothing varied."""
    people, judge, others = scores(7, 6, 9)
    more = {} if labels is None else {"clusters": labels, "clusters_unlabelled": [k % 5 for k in range(9)]}
    one = analyse(NAME, body(people, judge, others), **more)
    other = analyse(NAME, body(unit * people, unit * judge, unit * others), **more)
    for name in ("weight", "df", "worth"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-9)
    for name in ("estimate", "se", "judge_alone", "judge_bias"):
        assert getattr(other, name) / unit == pytest.approx(getattr(one, name), rel=1e-9)
    assert other.ci.low / unit == pytest.approx(one.ci.low)


def test_a_judge_on_a_scale_far_below_that_of_people_is_no_overflow():
    people, judge, others = scores(7, 6, 9)
    found = analyse(NAME, body(1e148 * people, judge, others))
    classical = stats.ttest_1samp(people, 0).confidence_interval(0.95)
    assert found.ci.low / 1e148 <= people.mean() <= found.ci.high / 1e148
    assert (found.labels_ci.low / 1e148, found.labels_ci.high / 1e148) == pytest.approx(
        (classical.low, classical.high)
    )


@pytest.mark.parametrize(("slope", "weight"), [(-1.0, 0.0), (0.0, 0.0), (0.3, 1.0)])
def test_the_weight_stays_within_0_and_1(slope, weight):
    people, _, others = scores(4)
    assert analyse(NAME, body(people, slope * people, slope * others)).weight == weight


def test_two_arms_are_one_arm_of_differences():
    drawn = labelled_pairs(40, 200)(np.random.default_rng(5), 0.1)
    found = analyse(NAME, drawn)
    columns = [np.subtract(drawn["candidate"][name], drawn["baseline"][name]) for name in drawn["candidate"]]
    one = analyse(NAME, body(*columns))
    assert (found.estimate, found.se) == pytest.approx((one.estimate, one.se))
    assert one.p_value is None
    assert found.p_value == pytest.approx(2 * stats.t.sf(abs(found.estimate / found.se), found.df))


def test_clusters_by_hand():
    drawn = labelled_pairs(30, 60, 6)(np.random.default_rng(6), 0.1)
    people, judge, others = (
        np.subtract(drawn["candidate"][n], drawn["baseline"][n]) for n in drawn["candidate"]
    )
    found = analyse(NAME, drawn, weight=0.5)
    added = dict.fromkeys({*drawn["clusters"], *drawn["clusters_unlabelled"]}, 0.0)
    rest = people - 0.5 * judge
    for each, g in zip(rest - rest.mean(), drawn["clusters"], strict=True):
        added[g] += each / 30
    for each, g in zip(others - others.mean(), drawn["clusters_unlabelled"], strict=True):
        added[g] += 0.5 * each / 60
    g = len(set(drawn["clusters"]))
    assert found.se == pytest.approx(math.sqrt(g / (g - 1) * sum(each**2 for each in added.values())))
    assert (found.df, found.n_clusters) == (g - 1, g)


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (body([1], [1], [1, 2]), "single item"),
        (body([1, 2], [1], [1, 2]), "has 1 values"),
        (body([1, 2], [1, 2], [1, 2], clusters=[1, 2]), "labelled and unlabelled"),
        (body([1, 2], [1, 2], [1, 2], clusters=[1, 1], clusters_unlabelled=[1, 2]), "single cluster"),
        (body([1e151, 2], [1, 2], [1, 2]), "overflow|beyond"),
    ],
)
def test_what_cannot_be_used_is_refused(sent, message):
    with pytest.raises(InvalidData, match=message):
        ask(NAME, sent)


def test_nothing_that_varies_is_said():
    found = sound(
        ask(NAME, body([1, 1], [1, 1], [1, 1], baseline=body([1, 1], [1, 1], [1, 1])["candidate"]))
    ).analysis
    assert (found.estimate, found.se, found.p_value) == (0, 0, None)


def bodies():
    for people, judge, others in (
        ([], [], []), ([1], [1], [1]), ([0, 0], [0, 0], [1, 1]), ([0, 1], [0, 1], [0, 1]), ([0, 1], [1, 0], [0, 1]),
        ([0.1 + 0.2, 0.3], [0.3, 0.3], [0.3, 0.3]), ([5e-324, 0], [0, 5e-324], [0, 1e-323]),
        ([1e140, 0], [0, 1e140], [0, 1]),
        ([1e200, 1], [1, 2], [1, 2]), ([1, 2, 3], [1, 2], [1, 2]),
    ):  # fmt: skip
        arm = {"people": people, "judge": judge, "unlabelled": others}
        yield {"candidate": arm}
        yield {"candidate": arm, "baseline": arm}
        marks = {"clusters": list(range(len(people))), "clusters_unlabelled": [0] * len(others)}
        yield {"candidate": arm, "baseline": {**arm, "people": list(reversed(people))}, **marks}


def simulated():
    reads = (Read("type I error", "p_value", ALPHA), Read("coverage", "ci", LEVEL))
    for world in ("labelled-pairs", "labelled-pairs-clusters"):
        yield Batch(world, NAME, reads)


CASES = Cases(
    degenerate=bodies,
    varied={"weight": [None, 0.5], "level": [0.95, 0.9]},
    growing=[lambda k: body([0, 1] * (500 * k), [1, 1] * (500 * k), [0, 1] * (500 * k))],
    unmirrored="its arms are labels and scores: its own tests take differences",
    simulated=simulated,
)


def share_body(people, judge, others, **more):
    return body(people, judge, others, ends="share", **more)


def test_ends_of_a_share_by_hand():
    people, judge, others = [1] * 17 + [0] * 3, [1] * 16 + [0] * 4, [1] * 70 + [0] * 30
    plain = analyse(NAME, body(people, judge, others), weight=1)
    found = analyse(NAME, share_body(people, judge, others), weight=1)
    t = stats.t.ppf(0.975, min(plain.df, 2 * 3))
    half = t * plain.se + (2 * t**2 + 1) / 6 * 2 / 20
    assert found.ci.low == pytest.approx(max(plain.estimate - half, 0))
    assert found.ci.high == pytest.approx(min(plain.estimate + half, 1))
    assert (found.ci.method, found.estimate, found.se) == ("t_skewed", plain.estimate, plain.se)
    # without the judge's weight a label moves the estimate by one step of its own
    t = stats.t.ppf(0.975, min(19, 6))
    classical = np.std(people, ddof=1) / math.sqrt(20)
    assert found.labels_ci.low == pytest.approx(0.85 - t * classical - (2 * t**2 + 1) / 6 / 20)


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_labels_that_are_all_alike_leave_clopper_and_pearson(label):
    found = analyse(NAME, share_body([label] * 12, [1, 0] * 6, [1, 0] * 20))
    exact = stats.binomtest(int(12 * label), 12).proportion_ci(0.95, "exact")
    assert (found.ci.low, found.ci.high) == pytest.approx((exact.low, exact.high))
    assert found.ci.method == "clopper-pearson"


@pytest.mark.parametrize("share", [0.5, 0.8, 0.9, 0.95, 0.98])
@pytest.mark.parametrize("judge", [(0.9, 0.9), (0.99, 0.95), (0.7, 0.7), (1.0, 0.9), (0.95, 0.5)])
def test_each_end_of_a_share_errs_at_most_as_often_as_it_says(share, judge):
    """Nominal .025; Student's t alone errs up to .12 here. 20,000 data sets at three numbers of labels."""
    rng = np.random.default_rng([int(1000 * share), int(100 * judge[0])])
    joint = np.outer([share, 1 - share], [1.0, 1.0]) * [[judge[0], 1 - judge[0]], [1 - judge[1], judge[1]]]
    for n in (30, 100, 200):
        counts = rng.multinomial(n, joint.reshape(-1), size=20_000)
        rest = rng.binomial(4 * n, joint[:, 0].sum(), size=20_000) / (4 * n)
        sets = sets_of_counts(counts, rest, n)
        made = powered_sets(sets, None)
        right = counts[:, 0] + counts[:, 1]
        low, high = share_ends(made.estimate, made.se, made.df, made.weight, right, n, 0.025)
        assert (low > share).mean() < 0.0285, n
        assert (high < share).mean() < 0.0285, n


def sets_of_counts(counts, rest, n):
    """Moments of labels and scores from how many items have each pair of them, right first."""
    people, judge = (counts[:, 0] + counts[:, 1]) / n, (counts[:, 0] + counts[:, 2]) / n
    more, many = n / (n - 1), 4 * n
    return LabelledSets(
        n,
        many,
        people,
        judge,
        rest,
        people * (1 - people) * more,
        judge * (1 - judge) * more,
        (counts[:, 0] / n - people * judge) * more,
        rest * (1 - rest) * many / (many - 1),
    )


def test_many_data_sets_have_the_ends_that_each_has():
    rng = np.random.default_rng(3)
    sets = draw_answers(rng, 40, 25, 60, 0.85, 0.9)
    made = powered_sets(sets, None)
    right = np.round(sets.people * 25)
    low, high = share_ends(made.estimate, made.se, made.df, made.weight, right, 25, 0.025)
    for at in range(40):
        # a data set with these moments: its counts follow from them
        k, f, u = (round(float(mean) * n) for mean, n in
                   ((sets.people[at], 25), (sets.judge[at], 25), (sets.unlabelled[at], 60)))  # fmt: skip
        both = round(float(sets.both[at]) * 24 + k * f / 25)
        judge = [1] * both + [0] * (k - both) + [1] * (f - both) + [0] * (25 - k - f + both)
        found = analyse(NAME, share_body([1] * k + [0] * (25 - k), judge, [1] * u + [0] * (60 - u)))
        assert (found.ci.low, found.ci.high) == pytest.approx((low[at], high[at]), abs=1e-12)


@pytest.mark.parametrize(
    "sent",
    [
        share_body([0.5, 1, 0], [1, 1, 0], [1, 0]),
        share_body([1, 1, 0], [2, 1, 0], [1, 0]),
        share_body([1, 1, 0], [1, 1, 0], [1, 0], clusters=["a", "b", "a"], clusters_unlabelled=["a", "c"]),
        share_body([1, 1, 0], [1, 1, 0], [1, 0], baseline=body([1, 1, 0], [1, 1, 0], [1, 0])["candidate"]),
    ],
)
def test_ends_of_a_share_are_of_one_arm_that_is_right_or_wrong(sent):
    with pytest.raises(InvalidData, match="are those of a share"):
        ask(NAME, sent)
