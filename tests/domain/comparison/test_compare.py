"""Two arms without a plan: what is told, and when nothing can be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from forelock.questions.forms.gate_form import exit_code
from service.domain.comparison.compare import compare
from service.domain.comparison.request import ComparisonRequest
from service.errors import InvalidData
from service.kernels.numeric.clusters import cluster_sums, codes_of
from service.kernels.randomization.flip_interval import flip_interval
from service.kernels.randomization.many_flips import low_of_many
from service.stats.shared.declaring import registry
from service.stats.shared.methods.slice_records import MOST_SLICES
from tests.domain.comparison.claims import compared
from tests.domain.comparison.worlds import body, of_world
from tests.drawing import draws
from tests.simulation.worlds import WORLDS

UNIT = {"low": 0, "high": 1}
WIDE = {"low": -3, "high": 3}
POINTS = {"value": 2, "unit": "pp"}
PAIRED = [
    name
    for name, world in WORLDS.items()
    if {"baseline", "both_correct"} & set(drawn := world.draw(np.random.default_rng(0), 0.0))
    and (not isinstance(drawn.get("baseline"), dict))
    and len(drawn.get("baseline", ())) == len(drawn.get("candidate", ()))
]
"""Worlds of two arms on the same items (five runs of an arm are paired as if they were; repeats by their means)."""


def table(b, c, both, neither, **more):
    cells = [(1, 1)] * both + [(0, 1)] * b + [(1, 0)] * c + [(0, 0)] * neither
    return body(*zip(*cells, strict=True), **more)


def test_right_or_wrong_by_tango_and_the_exact_test():
    answer = compared(table(40, 20, 50, 50, margin=POINTS))
    assert answer.outcome == "better"
    # Tango (1998) for 40 and 20 of 160
    assert (answer.ci.low, answer.ci.high) == pytest.approx((0.030865, 0.218064), abs=1e-6)
    assert answer.tests[0].p_value == pytest.approx(stats.binomtest(20, 60).pvalue)
    assert compared(table(20, 40, 50, 50, margin=POINTS)).outcome == "worse"


def test_exact_test_has_to_agree_before_a_claim_is_made():
    # five discordant items on one side: Tango's interval lies above 0, the exact p is .0625
    answer = compared(table(5, 0, 5, 5))
    assert answer.ci.low > 0
    assert answer.tests[0].p_value == 0.0625
    assert answer.outcome == "cannot_tell"
    assert "the exact test does not reject" in answer.sentence


def test_no_worse_within_the_margin_and_a_small_loss_is_said():
    assert compared(table(10, 10, 1000, 980, margin=POINTS)).outcome == "no_worse"
    lost = compared(table(2, 20, 1000, 978, margin=POINTS))
    assert lost.outcome == "no_worse"
    assert lost.worse
    assert "a loss is shown, smaller than the margin" in lost.sentence
    assert compared(table(2, 20, 1000, 978)).outcome == "worse"


def test_no_discordant_item_takes_an_exact_test():
    # .98^n, the least chance of such a table at a loss of 2 pp, is above .025 up to 182 items
    assert compared(table(0, 0, 100, 82, margin=POINTS)).outcome == "cannot_tell"
    # Tango's end is z^2 / (n + z^2), inside 2 pp from 189 items on: the exact p, .0256, is not there yet
    assert compared(table(0, 0, 100, 89, margin=POINTS)).ci.low > -0.02
    assert compared(table(0, 0, 100, 89, margin=POINTS)).outcome == "cannot_tell"
    assert compared(table(0, 0, 100, 130, margin=POINTS)).outcome == "no_worse"


@pytest.mark.parametrize("world", ["few-clusters", "many-clusters"])
def test_clusters_by_the_furthest_of_three_at_each_end(world):
    drawn = WORLDS[world].draw(np.random.default_rng(3), 0.2)
    answer = compared(of_world(drawn))
    bounded, robust, flips = answer.tests
    assert answer.ci == bounded.ci
    assert answer.ci.low <= robust.ci.low
    assert answer.ci.high >= robust.ci.high
    groups = cluster_sums(np.subtract(drawn["candidate"], drawn["baseline"]), codes_of(drawn["clusters"]))
    if groups.n_clusters <= 30:
        least, most = flip_interval(groups.sums, groups.sizes, 0.025)
        assert answer.ci.low <= least
        assert answer.ci.high >= most
    test = registry.serving("clustered")
    asked = {**drawn, "method": "cr2_t"}
    assert robust.p_value == test.answer(test.request.model_validate(asked)).analysis.p_value
    assert flips.ci is None
    assert (answer.unit, answer.scale.source) == ("clusters", "binary")


def test_unequal_clusters_have_sign_flips_at_any_number():
    """At 40 clusters of very unequal sizes CR2 alone errs twice as often as it says."""
    rng = np.random.default_rng(4)
    sizes = np.maximum(1, np.round(rng.lognormal(2.7, 1.2, 40))).astype(int)
    labels = np.repeat(np.arange(40), sizes)
    wins = rng.random(len(labels)) < np.clip(rng.normal(0.45, 0.4, 40), 0, 1)[labels]
    answer = compared(body(np.zeros(len(wins)), wins, [str(each) for each in labels]))
    groups = cluster_sums(wins.astype(float), labels)
    assert answer.ci.low <= low_of_many(groups.sums, groups.sizes, 0.025) < answer.tests[1].ci.low - 0.01


def test_scores_by_the_range_they_are_taken_to_have():
    rng = np.random.default_rng(1)
    baseline = rng.uniform(0.2, 0.8, 40).round(2)
    candidate = np.clip(baseline + rng.normal(0.05, 0.1, 40), 0, 1).round(2)
    unit = compared(body(baseline, candidate))
    assert (unit.scale.low, unit.scale.high, unit.scale.source) == (0, 1, "unit")
    assert unit.ci == unit.tests[0].ci
    assert "Every score lies between 0 and 1, taken as the ends" in unit.rule
    declared = compared(body(baseline, candidate, range={"low": 0, "high": 1}))
    assert declared.ci == unit.ci
    assert "Scores lie between 0 and 1, as declared" in declared.rule
    wider = compared(body(baseline, candidate, range={"low": 0, "high": 10}))
    assert wider.ci.low < unit.ci.low - 0.5
    shown = compared(body(10 * baseline, 10 * candidate))
    assert (shown.scale.low, shown.scale.source) == (10 * min(*baseline, *candidate), "observed")
    assert "The least and the greatest score seen" in shown.rule
    t = stats.ttest_1samp(10 * (candidate - baseline), 0.0).confidence_interval()
    assert (shown.tests[1].ci.low, shown.tests[1].ci.high) == pytest.approx((t.low, t.high))
    assert shown.ci.low <= min(t.low, shown.tests[0].ci.low)
    with pytest.raises(InvalidData, match="candidate holds"):
        compare(ComparisonRequest.model_validate(body(baseline, candidate + 1, range={"low": 0, "high": 1})))


def test_right_and_wrong_on_a_wider_scale_are_scores():
    answer = compared(body([0, 1] * 20, [1, 1] * 20, range={"low": 0, "high": 5}))
    assert answer.scale.source == "declared"
    assert answer.ci.low < compared(body([0, 1] * 20, [1, 1] * 20)).ci.low - 0.3
    slices = ["a"] * 20 + ["b"] * 20
    part = compared(
        body([0, 1] * 20, [1, 1] * 10 + [0.5, 1] * 10, slices=slices, range={"low": 0, "high": 5})
    )
    assert part.slices.results[0].ci.method == "gaffke"


def test_five_alike_and_one_gained_of_six_cannot_tell():
    margin = {"value": 0.05, "unit": "score"}
    answer = compared(body([0.5] * 6, [0.5] * 5 + [1], margin=margin))
    assert answer.outcome == "cannot_tell"
    assert answer.no_worse is False
    none = next(each for each in answer.more if each.assuming == "no_difference")
    # without any loss seen 72 items rule out a loss of .05
    assert none.total > 72
    assert "more items would show it no worse" in answer.sentence
    quiet = compared(body([0.5] * 6, [0.5] * 6, margin=margin))
    assert [each.total for each in quiet.more] == [72]
    assert compared(body([0.5] * 71, [0.5] * 71, margin=margin)).outcome == "cannot_tell"
    assert compared(body([0.5] * 72, [0.5] * 72, margin=margin)).outcome == "no_worse"


RARE = {
    "losses of 1 and gains of a half": ([-1, 0.5, 0], [0.1, 0.1, 0.8]),
    "losses alone": ([-1, 0], [0.05, 0.95]),
    "small gains, large losses": ([-0.9, 0.1], [0.15, 0.85]),
}


@pytest.mark.slow
@pytest.mark.parametrize("n", [6, 20, 50, 200])
@pytest.mark.parametrize("world", RARE)
def test_a_loss_of_the_margin_is_seldom_called_no_worse(world, n):
    values, shares = RARE[world]
    rng, sets, told = np.random.default_rng([n, len(world)]), 400, 0
    for _ in range(sets):
        loss = rng.choice(values, n, p=shares)
        baseline = np.where(loss < 0, 1.0, np.where(loss > 0.2, 0.5, 0.4))
        request = body(baseline, baseline + loss, margin={"value": 0.05, "unit": "score"}, range=UNIT)
        answer = compare(ComparisonRequest.model_validate(request))
        told += bool(answer.better or answer.no_worse)
    assert told / sets <= 0.025 + 3.3 * np.sqrt(0.025 * 0.975 / sets)


def test_pairs_by_id_and_names_what_did_not_pair():
    request = table(3, 2, 2, 2)
    request["baseline"]["item_ids"][0] = "only-here"
    request["candidate"]["values"][1] = None
    order = list(reversed(range(9)))
    for name in ("item_ids", "values"):
        request["candidate"][name] = [request["candidate"][name][row] for row in order]
    answer = compared(request)
    assert answer.n == 7
    assert answer.unpaired.only_baseline_ids == ("only-here",)
    assert answer.unpaired.only_candidate_ids == ("item-0",)
    assert answer.unpaired.missing_ids == ("item-1",)
    assert compared({**request, "missing": "fail"}).n == 10


def test_runs_of_an_item_are_averaged():
    request = body([1, 0, 1, 1], [1, 1, 0, 1], margin=POINTS)
    for arm in ("baseline", "candidate"):
        request[arm] |= {"item_ids": ["a", "a", "b", "b"], "replicates": [1, 2, 1, 2]}
    answer = compared(request)
    assert (answer.n, answer.binary, answer.points) == (2, False, True)
    assert answer.delta == 0.0


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"item_ids": ["a", "a", "b", "c"]}, "baseline.item_ids"),
        ({"clusters": ["x", None, "y", "z"]}, "baseline.clusters"),
        ({"clusters": ["x", "x", "y"]}, "clusters"),
        (
            {"item_ids": list("aabc"), "clusters": list("xyyz"), "replicates": [1, 2, 1, 1]},
            "baseline.clusters",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_paired_is_refused(change, path):
    request = body([1, 0, 1, 1], [1, 1, 0, 1])
    request["baseline"] |= change
    with pytest.raises(InvalidData) as refused:
        compare(ComparisonRequest.model_validate(request))
    assert refused.value.document()["errors"][0]["path"] == path


def test_arms_that_disagree_about_a_cluster_are_refused():
    request = body([1, 0], [1, 1], clusters=["x", "y"])
    request["candidate"]["clusters"] = ["x", "x"]
    with pytest.raises(InvalidData, match="elsewhere than the baseline"):
        compare(ComparisonRequest.model_validate(request))


def test_a_margin_of_another_unit_is_refused():
    with pytest.raises(InvalidData, match="margin"):
        compare(ComparisonRequest.model_validate(body([1, 0], [1, 1], margin={"value": 2, "unit": "score"})))
    with pytest.raises(InvalidData, match="margin"):
        compare(ComparisonRequest.model_validate(body([0.5, 3], [1, 1], margin=POINTS)))


DEGENERATE = {
    "no pair": body([None, 1], [1, None]),
    "one item": body([1], [0]),
    "one score": body([0.3], [0.9]),
    "one cluster": body([1, 0, 1], [0, 0, 1], ["a"] * 3),
    "two clusters": body([1, 0, 1], [0, 0, 1], ["a", "a", "b"]),
    "all tied": body([1, 0] * 20, [1, 0] * 20),
    "tied in clusters": body([1, 0] * 20, [1, 0] * 20, ["a", "b", "c", "d"] * 10),
    "all won": body([0] * 8, [1] * 8),
    "all won in clusters": body([0] * 20, [1] * 20, list("abcdefghij") * 2),
    "constant scores": body([0.5] * 9, [0.5] * 9),
    "constant gain": body([0.5] * 9, [0.7] * 9),
    "constant gain of many": body([0.5] * 40, [0.75] * 40),
    "tiny and huge": body([1e-150, 0.5, 1e140], [1e140, 0.5, 1e-150]),
}


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("margin", [None, 0.02])
def test_degenerate_data_claim_nothing_they_do_not_carry(name, margin):
    request = DEGENERATE[name]
    whole = compare(ComparisonRequest.model_validate(request))
    unit = "proportion" if whole.binary else "score"
    answer = compared({**request, **({} if margin is None else {"margin": {"value": margin, "unit": unit}})})
    answer.model_dump_json()
    nulls = {name for name, value in answer if value is None} - {"slices"}
    assert nulls <= set(answer.reasons)
    if name not in ("all won", "all tied", "all won in clusters", "constant gain of many"):
        assert answer.outcome == "cannot_tell"


def test_how_many_more_by_the_law_of_a_mean():
    rng = np.random.default_rng(2)
    values = rng.normal(0, 1, 50)
    values -= values.mean()
    answer = compared(body(np.zeros(50), values, margin={"value": 0.2, "unit": "score"}))
    (more,) = answer.more
    assert (more.claim, more.assuming) == ("no_worse", "no_difference")
    normal = (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) ** 2 * values.var(ddof=1) / 0.2**2
    assert normal < more.total < 1.5 * normal  # beyond the law of a mean: one more that is lost outright
    assert more.more == more.total - 50
    low = compared(body(np.zeros(more.total), np.resize(values, more.total), range=WIDE)).ci.low
    short = stats.norm.ppf(0.8) * values.std(ddof=1) / np.sqrt(more.total)
    assert low - np.resize(values, more.total).mean() == pytest.approx(-0.2 + short, abs=0.02)


def test_more_says_nothing_of_sizes_that_are_there():
    assert all(each.more > 0 for each in compared(table(2, 20, 100, 100, margin=POINTS)).more)
    assert compared(table(40, 20, 50, 50)).more == ()


def test_slices_by_the_rule_of_the_whole_and_holm():
    rng = np.random.default_rng(5)
    base = rng.integers(0, 2, 600)
    other = np.where(rng.random(600) < 0.1, 1 - base, base)
    slices = np.repeat(["even", "lost", "tiny"], [299, 300, 1])
    other[299:599] = np.where(rng.random(300) < 0.3, 0, base[299:599])
    answer = compared(body(base, other, slices=slices, margin=POINTS))
    told = {each.name: each for each in answer.slices.results}
    assert answer.slices.left_out == ("tiny",)
    assert told["lost"].shown_worse
    assert not told["even"].shown_worse
    assert told["lost"].p_adjusted == pytest.approx(min(1, 2 * told["lost"].p_value))
    assert answer.slices.none_worse is False
    assert answer.slices.outcome == "fail"
    assert [told[name].standing for name in ("even", "lost")] == ["cannot_tell", "fail"]
    alone = compared(body(base[299:599], other[299:599], margin=POINTS))
    assert (told["lost"].ci, told["lost"].outcome) == (alone.ci, alone.outcome)


def test_slices_pass_together_or_not_at_all_and_reversals_are_tested():
    wins, losses = np.zeros(600), np.zeros(600)
    wins[:60], losses[60:80] = 1, 1
    wins[300:320], losses[320:380] = 1, 1
    names = np.repeat(["one", "two"], 300)
    wide = {"value": 40, "unit": "pp"}
    answer = compared(body(losses, wins, slices=names, margin=wide)).slices
    assert (answer.outcome, answer.none_worse) == ("pass", True)
    expected = 0.5 * stats.chi2.sf(40**2 / 80, 1)  # wins minus losses over the root of both, squared
    assert (answer.reversal.p_value, answer.reversal.shown) == (pytest.approx(expected), True)
    without = compared(body(losses, wins, slices=names)).slices
    assert (without.outcome, without.results[0].standing) == (None, None)
    assert without.reversal == answer.reversal
    clusters = [f"c{k % 50}" for k in range(600)]
    assert "several slices" in compared(body(losses, wins, clusters, names)).slices.reversal.reason
    tiny = compared(body(losses, wins, slices=["alone", *names[1:]], margin=wide)).slices
    assert (tiny.outcome, tiny.left_out) == ("cannot_tell", ("alone",))


@pytest.mark.parametrize(
    ("b", "c", "outcome", "shown_worse"),
    # slice b: the exact p is .033, .066 after Holm's correction; that of a loss of the margin .012, and .024
    [(60, 5, "better", True), (20, 10, "cannot_tell", False)],
)
def test_no_loss_of_a_slice_is_shipped_or_passes_a_gate(b, c, outcome, shown_worse):
    arms = [table(b, c, 0, 200 - b - c), table(20, 37, 0, 243)]
    values = [[*arms[0][side]["values"], *arms[1][side]["values"]] for side in ("baseline", "candidate")]
    margin = {"value": 0.01, "unit": "pp"}
    answer = compared(body(*values, slices=["a"] * 200 + ["b"] * 300, margin=margin))
    assert (answer.outcome, answer.slices.outcome) == (outcome, "fail")
    assert answer.slices.results[1].shown_worse is shown_worse
    assert answer.next.startswith("Look at the items of slice 'b', where a loss is shown")
    assert exit_code(answer.model_dump(mode="json")) == 10


def test_a_slice_fails_by_no_more_than_its_interval():
    """Of skewed scores the bounds reach where t does not."""
    asked = {"margin": {"value": 0.1, "unit": "score"}, "range": {"low": -8, "high": 8}}
    scores = np.r_[np.full(3, 5.0), np.linspace(0, 0.3, 35)]
    for _ in range(30):  # the limit stays where it is while the scores move
        scores -= compared(body(np.zeros(38), scores, **asked)).ci.high + 0.1 - 1e-4
    (told,) = compared(body(np.zeros(38), scores, slices=["all"] * 38, **asked)).slices.results
    assert -0.1 < told.ci.high < -0.0998
    assert told.standing == "cannot_tell"
    scores -= 2e-4
    (told,) = compared(body(np.zeros(38), scores, slices=["all"] * 38, **asked)).slices.results
    assert (told.ci.high < -0.1, told.standing) == (True, "fail")


def test_slices_that_are_not_weighed_are_not_said_to_pass():
    n = 2 * (MOST_SLICES + 1)
    names = np.repeat([f"s{k:03d}" for k in range(MOST_SLICES + 1)], 2)
    wide = {"value": 99, "unit": "pp"}
    ones = np.ones(n)
    every = compared(body(0 * ones[:-2], ones[:-2], slices=names[:-2], margin=wide)).slices
    assert (every.outcome, len(every.results)) == ("pass", MOST_SLICES)
    more = compared(body(0 * ones, ones, slices=names, margin=wide)).slices
    assert (more.outcome, more.none_worse) == ("cannot_tell", False)


def test_items_without_a_slice_do_not_make_clusters_span_slices():
    rng = np.random.default_rng(2)
    base, other = rng.integers(0, 2, (2, 80))
    clusters = [f"c{k // 4}" for k in range(80)]
    names = [None if k % 4 == 0 else "a" if k < 40 else "b" for k in range(80)]
    assert compared(body(base, other, clusters, names)).slices.reversal.reason is None


@settings(max_examples=draws(40))
@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 8)), min_size=1, max_size=60),
    st.sampled_from([None, 1, 5, 40]),
    st.booleans(),
)
def test_no_answer_claims_more_than_its_interval(rows, margin, clustered):
    base, other, labels = zip(*rows, strict=True)
    more = {} if margin is None else {"margin": {"value": margin, "unit": "pp"}}
    answer = compared(body(base, other, [f"c{each}" for each in labels] if clustered else None, **more))
    mirrored = compared(body(other, base, [f"c{each}" for each in labels] if clustered else None, **more))
    assert (answer.better, answer.worse) == (mirrored.worse, mirrored.better)


def worlds(names, draws):
    for name in names:
        world = WORLDS[name]
        unit = (
            "proportion"
            if world.unit == "pp" or "both_correct" in world.draw(np.random.default_rng(0), 0.0)
            else "score"
        )
        for effect in (0.0, world.effect, -world.effect):
            for seed in range(draws):
                drawn = world.draw(np.random.default_rng([seed, 7]), effect)
                margin = (
                    {} if not world.margin or seed % 2 else {"margin": {"value": world.margin, "unit": unit}}
                )
                yield of_world(drawn, **margin)


def test_words_on_a_few_worlds():
    names = ("binary-low", "small-n-scores", "few-clusters", "costs-20-clusters", "judged-runs-clusters")
    for request in worlds(names, 1):
        compared(request)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIRED)
def test_words_on_every_world_of_two_arms(name):
    for request in worlds((name,), 25):
        compared(request)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["binary-high", "small-n", "few-clusters", "many-clusters", "unequal-clusters"]
)
def test_type_one_error(name):
    outcomes = [
        compare(
            ComparisonRequest.model_validate(
                of_world(WORLDS[name].draw(np.random.default_rng([seed, 3]), 0.0))
            )
        ).outcome
        for seed in range(1000)
    ]
    wrong = np.mean([outcome in ("better", "worse") for outcome in outcomes])
    assert wrong <= 0.05 + 3 * (0.05 * 0.95 / 1000) ** 0.5
