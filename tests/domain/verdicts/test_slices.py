"""What a plan asks of its slices: no loss of the margin in any, and whether the arms change sides."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats as reference
from statsmodels.stats.multitest import multipletests

from service.domain.lint import lint as service_lint
from service.domain.lint.slices import least_alike, least_ever, passes_alike
from service.domain.notes.notes import sentences
from service.domain.plans.manifest import Manifest
from service.domain.plans.plan import Plan
from service.kernels.multiplicity.reversal import of_sides
from service.kernels.pairs.paired_exact import exact_p_below
from service.stats.shared.declaring import registry
from service.stats.shared.methods.bounded import Bounded
from service.stats.shared.methods.slicing import Lean, lean, overall, reversal_of, standings, weigh
from tests.domain import sample

NAMES = ("code", "math", "prose")
MARGIN = {"value": 10, "unit": "pp"}
ASKED = {"slices": {"by": "stratum", "no_worse_than": MARGIN}}


def arms(wins, losses, per=150):
    """Three slices one after another, each with so many items won and lost of `per`."""
    baseline, candidate = np.zeros(3 * per), np.zeros(3 * per)
    for at, (won, lost) in enumerate(zip(wins, losses, strict=True)):
        candidate[at * per : at * per + won] = 1
        baseline[at * per + won : at * per + won + lost] = 1
    return baseline, candidate


def found(baseline, candidate, *, strata=None, clusters=None, **changes):
    n = len(baseline)
    labels = [NAMES[k * 3 // n] for k in range(n)] if strata is None else strata
    items = {"one": Manifest.create([f"i{k}" for k in range(n)], clusters, labels or None)}
    if clusters is not None:
        changes |= {
            "populations.0.clusters": {"key": "c", "n": len(set(clusters))},
            "populations.0.independence": None,
            "tests.0": {"id": "m", "test": "clustered-mcnemar", "version": 1, "parameters": {}},
        }
    changes = {**ASKED, "populations.0.n": n, **changes}
    outcomes = sample.outcomes(baseline, candidate)
    return sample.verdict_of(changes, outcomes, manifests=items).hypotheses[0]


def equivalence(baseline, candidate, margin=MARGIN, **more):
    test = registry.find("equivalence")
    body = {"baseline": list(baseline), "candidate": list(candidate), "margin": margin, **more}
    return test.compute(test.request.model_validate(body))


def test_every_slice_is_weighed_as_the_equivalence_test_does():
    baseline, candidate = arms((20, 14, 11), (8, 12, 13))
    told = found(baseline, candidate).slices
    assert (told.outcome, told.method, told.no_worse_than, told.level) == ("pass", "tango", 0.1, 0.9)
    for at, each in enumerate(told.slices):
        part = slice(150 * at, 150 * at + 150)
        expected = equivalence(baseline[part], candidate[part])
        assert (each.slice, each.n, each.outcome) == (NAMES[at], 150, "pass")
        assert each.delta == pytest.approx(expected.delta)
        assert each.p_value == pytest.approx(expected.p_lower, rel=1e-9)
        assert (each.ci.low, each.ci.high) == pytest.approx((expected.ci.low, expected.ci.high))
    holm = multipletests([each.p_value for each in told.slices], method="holm")[1]
    assert [each.p_holm for each in told.slices] == pytest.approx(holm)


def test_slices_of_bounded_scores_know_of_losses_too_rare_to_be_seen():
    part, baseline = np.r_[np.full(2, 0.5), np.zeros(18)], np.full(60, 0.5)
    candidate = baseline + np.tile(part, 3)
    scores = {
        "endpoints.0.kind": "continuous", "sesoi.accuracy": {"value": 0.2, "unit": "score"},
        "hypotheses.0.rule": "m.p_value < 0.05",
        "hypotheses.0.statement": "C2 improves accuracy over C1",
        "tests.0": {"id": "m", "test": "randomization", "version": 1, "parameters": {}},
        "slices": {"by": "stratum", "no_worse_than": {"value": 0.05, "unit": "score"}},
    }  # fmt: skip
    assert found(baseline, candidate, **scores).slices.outcome == "pass"
    within = found(baseline, candidate, **scores, **{"endpoints.0.bounds": {"low": 0, "high": 1}}).slices
    assert within.outcome == "cannot_tell"
    for each in within.slices:
        assert each.p_value == pytest.approx(Bounded(part, None, 1.0).p_above(-0.05))
        assert each.ci.low == pytest.approx(Bounded(part, None, 1.0).ends(0.05)[0])


def test_one_slice_that_is_not_shown_leaves_the_whole_open():
    read = found(*arms((20, 14, 11), (8, 12, 20)))
    assert [each.outcome for each in read.slices.slices] == ["pass", "pass", "cannot_tell"]
    assert read.slices.outcome == "cannot_tell"
    assert "cannot tell, 2 of 3 are shown to lose less, but not 'prose'" in read.sentence


def test_a_loss_beyond_the_margin_fails_after_holm():
    read = found(*arms((20, 14, 5), (8, 12, 50)))
    assert read.slices.outcome == "fail"
    last = read.slices.slices[-1]
    assert last.outcome == "fail"
    assert last.p_loss_holm == pytest.approx(3 * last.p_loss)
    assert last.p_loss_holm < 0.05
    assert "fail, shown to lose more after Holm's correction: 'prose'" in read.sentence
    near = found(*arms((20, 14, 5), (8, 12, 31))).slices.slices[-1]
    assert near.p_loss < 0.05 < near.p_loss_holm
    assert near.outcome == "cannot_tell"


def test_with_fewer_than_ten_discordant_items_the_exact_p_counts():
    told = found(*arms((0, 1, 5), (0, 0, 1), per=30)).slices
    for each, (b, c) in zip(told.slices, ((0, 0), (1, 0), (5, 1)), strict=True):
        assert each.p_value >= exact_p_below(c, b, 30, 0.1) - 1e-15
    assert told.slices[0].p_value == pytest.approx(0.9**30, rel=1e-6)
    lost = weigh(-np.ones(8), np.arange(8), 0.05, 0.05, by_score=True)
    assert lost.p_loss == pytest.approx(0.525**8)
    assert weigh(np.zeros(8), np.arange(8), 0.05, 0.05, by_score=True).p_loss == 1.0


def test_the_exact_loss_holds_its_level():
    """Over every table of 12 items where the candidate loses just the margin, whatever share is discordant."""
    n, margin, alpha = 12, 0.2, 0.05
    rejects = {}
    for c in range(n + 1):
        for b in range(n + 1 - c):
            difference = np.concatenate([-np.ones(c), np.ones(b), np.zeros(n - b - c)])
            if b + c < 10:
                p = weigh(difference, np.arange(n), margin, alpha, by_score=True).p_loss
                rejects[b, c] = p < alpha
    log = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    for share in np.linspace(margin, 1, 17):
        won, lost = (share - margin) / 2, (share + margin) / 2
        size = sum(
            np.exp(log[n] - log[b] - log[c] - log[n - b - c]) * won**b * lost**c * (1 - share) ** (n - b - c)
            for (b, c), rejected in rejects.items()
            if rejected
        )
        assert size <= alpha


@pytest.mark.parametrize("kind", ["clusters", "scores"])
def test_others_go_by_cr2_and_below_thirty_by_signs_too(kind):
    rng = np.random.default_rng(5)
    baseline, candidate = rng.integers(0, 2, 300) * 1.0, rng.integers(0, 2, 300) * 1.0
    margin, changes, clusters, more = {"value": 25, "unit": "pp"}, {}, None, {}
    if kind == "clusters":
        clusters = [f"c{k // 5}" for k in range(300)]
        more = {"clusters": clusters[:100], "method": "t"}
    else:
        baseline, candidate, margin = (
            rng.normal(size=300),
            rng.normal(size=300),
            {"value": 0.5, "unit": "score"},
        )
        changes = {
            "endpoints.0.kind": "continuous", "sesoi.accuracy": {"value": 0.2, "unit": "score"},
            "tests.0": {"id": "m", "test": "randomization", "version": 1, "parameters": {"metric": "mean"}},
        }  # fmt: skip
        more = {"method": "t"}
    slices = {"by": "stratum", "no_worse_than": margin, "alpha": 0.1}
    told = found(baseline, candidate, clusters=clusters, slices=slices, **changes).slices
    assert (told.method, told.level) == ("cr2_t", 0.8)
    first = told.slices[0]
    expected = equivalence(baseline[:100], candidate[:100], margin, alpha=0.1, **more)
    if kind == "scores":  # a hundred units: no signs
        assert first.p_value == pytest.approx(expected.p_lower, rel=1e-9)
        assert (first.ci.low, first.ci.high) == pytest.approx((expected.ci.low, expected.ci.high))
    else:
        assert first.n_clusters == 20
        assert first.p_value >= expected.p_lower * (1 - 1e-9)
        assert first.ci.low <= expected.ci.low + 1e-12


def test_lower_is_better_turns_the_loss_around():
    baseline, candidate = arms((8, 12, 13), (20, 14, 11))
    changes = {"endpoints.0.better": "lower", "hypotheses.0.rule": "delta <= -2.0 pp and m.p_value < 0.05"}
    turned = found(candidate, baseline, **changes).slices
    plain = found(baseline, candidate).slices
    assert [each.p_value for each in turned.slices] == pytest.approx([each.p_value for each in plain.slices])
    for one, other in zip(turned.slices, plain.slices, strict=True):
        assert (one.delta, one.outcome) == (pytest.approx(-other.delta), other.outcome)
        assert (one.ci.low, one.ci.high) == (pytest.approx(-other.ci.high), pytest.approx(-other.ci.low))


def test_a_change_of_sides_is_tested_by_gail_and_simon():
    baseline, candidate = arms((30, 4, 11), (4, 30, 13))
    told = found(baseline, candidate)
    reversal = told.slices.reversal
    # by McNemar's score: wins minus losses over the root of both
    z = np.array([26.0, -26.0, -2.0]) / np.sqrt([34.0, 34.0, 24.0])
    expected = of_sides(np.maximum(z, 0.0), np.maximum(-z, 0.0))
    assert (reversal.p_value, reversal.shown, reversal.slices) == (pytest.approx(expected.p), True, 3)
    assert (reversal.gains, reversal.losses) == pytest.approx((expected.above, expected.below))
    assert "The arms change sides between slices (Gail and Simon" in told.sentence
    calm = found(*arms((20, 14, 11), (8, 12, 10)))
    assert (calm.slices.reversal.p_value, calm.slices.reversal.shown) == (1.0, False)
    assert "It is not shown that the arms change sides" in calm.sentence


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("flat", "no standard error"),
        ("spans", "several slices"),
        ("one", "a single slice"),
        ("none", "no strata"),
        ("many", "too many"),
    ],
)
def test_what_is_undefined_is_null_with_a_reason(case, reason):
    baseline, candidate = arms((20, 14, 0), (8, 12, 0))
    clusters, strata = None, None
    if case == "spans":
        clusters = [f"c{k % 40}" for k in range(450)]
    elif case == "one":
        strata = ["all"] * 450
    elif case == "none":
        strata = []
    elif case == "many":
        strata = [f"s{k}" for k in range(450)]
    told = found(baseline, candidate, strata=strata, clusters=clusters)
    assert told.slices.reversal.p_value is None
    assert reason in (told.slices.reason or told.slices.reversal.reason)
    assert "NaN" not in json.dumps(told.model_dump(mode="json"), allow_nan=False)
    assert "change sides" in told.sentence or reason in told.sentence


def test_a_slice_without_items_or_spread_cannot_tell():
    nothing = weigh(np.zeros(0), np.zeros(0, dtype=np.int64), 0.1, 0.05, by_score=True)
    assert (nothing.p, nothing.reason) == (None, "no item is left")
    single = weigh(np.array([0.3]), np.zeros(1, dtype=np.int64), 0.1, 0.05, by_score=False)
    flat = weigh(np.full(9, 0.3), np.arange(9), 0.1, 0.05, by_score=False)
    assert single.p is None
    assert flat.p is None
    told = standings([0.01, None], [1.0, None], 0.05)
    assert [each[0] for each in told] == ["pass", "cannot_tell"]
    assert told[0][1] == pytest.approx(0.02)
    assert overall([each[0] for each in told]) == "cannot_tell"
    assert overall([]) == "cannot_tell"
    assert reversal_of([], 0.05).reason == "there are no slices"


def test_items_left_out_leave_their_slice():
    baseline, candidate = arms((20, 14, 11), (8, 12, 13))
    baseline[:30] = np.nan
    told = found(baseline, candidate).slices
    assert [each.n for each in told.slices] == [120, 150, 150]


@pytest.mark.parametrize("layout", ["blocks", "in turn"])
def test_a_slice_knows_of_its_own_clusters_alone(layout):
    # 120 clusters of 3, six of them in the last slice: clusters of other slices are none of its own
    names = ["code"] * 57 + ["math"] * 57 + ["prose"] * 6
    if layout == "in turn":
        names = ["math", "code"] * 57 + ["prose"] * 6
    rng = np.random.default_rng(5)
    strata, clusters = np.repeat(names, 3), np.repeat([f"c{k}" for k in range(120)], 3)
    baseline, candidate = (rng.random(360) < rate for rate in (0.5, 0.6))
    told = found(baseline, candidate, strata=strata.tolist(), clusters=clusters.tolist()).slices
    for each in told.slices:
        inside = strata == each.slice
        difference = candidate[inside].astype(float) - baseline[inside]
        alone = weigh(
            difference, np.repeat(np.arange(inside.sum() // 3), 3), 0.1, 0.05, by_score=False, limit=1.0
        )
        assert (each.ci.low, each.ci.high) == pytest.approx((alone.low, alone.high))
        assert (each.p_value, each.p_loss) == pytest.approx((alone.p, alone.p_loss))


def test_a_slice_that_keeps_one_cluster_cannot_tell():
    # the last slice loses all clusters but one to missing results, and the verdict is made all the same
    clusters = [f"c{k // 5}" for k in range(90)]
    baseline, candidate = (np.random.default_rng(seed).integers(0, 2, 90).astype(float) for seed in (1, 2))
    baseline[60:85] = np.nan
    last = found(baseline, candidate, clusters=clusters).slices.slices[-1]
    assert (last.outcome, last.n_clusters, last.p_value) == ("cannot_tell", 1, None)
    assert last.reason == "a single cluster says nothing of others"


def test_worst_case_counts_against_the_candidate_in_every_slice():
    baseline, candidate = arms((20, 14, 11), (8, 12, 13))
    candidate[140:150] = np.nan
    told = found(baseline, candidate, missing="worst_case").slices
    filled = candidate.copy()
    filled[140:150] = 0
    worst = baseline.copy()
    told_by_hand = equivalence(worst[:150], filled[:150])
    assert told.slices[0].p_value == pytest.approx(told_by_hand.p_lower, rel=1e-9)


def test_results_that_are_not_there_show_no_loss_and_no_change_of_sides():
    """`worst_case` takes them against the candidate for a pass, and for it before a loss is said."""
    baseline, candidate = arms((40, 14, 6), (4, 12, 6))
    baseline[340:440], candidate[340:440] = 1, np.nan
    told = found(baseline, candidate, missing="worst_case").slices
    last = told.slices[-1]
    assert (last.outcome, told.outcome) == ("cannot_tell", "cannot_tell")
    filled = {value: np.where(np.isnan(candidate), value, candidate) for value in (0.0, 1.0)}
    low, high = (equivalence(baseline[300:], filled[value][300:]) for value in (0.0, 1.0))
    assert (last.ci.low, last.ci.high) == pytest.approx((low.ci.low, high.ci.high))
    assert last.p_value == pytest.approx(low.p_lower)
    assert last.delta == pytest.approx(low.delta)
    assert told.reversal.shown is False


def lower_better(baseline, candidate, **changes):
    rule = {"endpoints.0.better": "lower", "hypotheses.0.rule": "delta <= -2.0 pp and m.p_value < 0.05"}
    return found(baseline, candidate, **rule, **changes).slices


def test_where_lower_is_better_a_loss_is_shown_with_what_is_missing_taken_low():
    baseline, candidate = arms((4, 14, 60), (40, 12, 6))
    candidate[300:310] = np.nan
    told = lower_better(baseline, candidate, missing="worst_case")
    filled = {value: np.where(np.isnan(candidate), value, candidate) for value in (0.0, 1.0)}
    low, high = (equivalence(baseline[300:], filled[value][300:]) for value in (0.0, 1.0))
    last = told.slices[-1]
    assert (last.ci.low, last.ci.high) == pytest.approx((low.ci.low, high.ci.high))
    assert (last.outcome, last.delta) == ("fail", pytest.approx(high.delta))
    assert told.reversal.gains > told.reversal.losses / 2


@pytest.mark.parametrize(("units", "by_score"), [(2, False), (5, False), (12, False), (20, True)])
def test_few_units_do_not_change_sides_by_themselves(units, by_score):
    """One slice far on one side, one without a difference: the other side is shown 5 times in 100 at most."""
    rng = np.random.default_rng(7)
    far = Lean(1e3, 0.0)
    shown = []
    for _ in range(1000):
        difference = (
            rng.choice([-1.0, 0.0, 1.0], p=[0.1, 0.8, 0.1], size=units)
            if by_score
            else rng.normal(size=units)
        )
        other = lean(difference, np.arange(units), by_score=by_score)
        shown.append(other is not None and reversal_of([far, other], 0.05).shown)
    assert np.mean(shown) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 1000) * (units > 5)


def test_a_slice_leans_as_its_tests_say():
    rng = np.random.default_rng(3)
    values = rng.normal(0.4, 1, 40)
    expected = reference.ttest_1samp(values, 0, alternative="greater").pvalue
    assert lean(values, np.arange(40), by_score=False).above == pytest.approx(reference.norm.isf(expected))
    few = lean(np.array([1.0, 2.0, 3.0, 5.0]), np.arange(4), by_score=False)
    assert (few.above, few.below) == (pytest.approx(reference.norm.isf(1 / 16)), 0.0)
    wins = np.r_[np.ones(6), -np.ones(1), np.zeros(30)]
    exact = reference.binomtest(6, 7, alternative="greater").pvalue
    assert lean(wins, np.arange(37), by_score=True).above == pytest.approx(reference.norm.isf(exact))
    assert lean(np.ones(9), np.arange(9), by_score=True) is None


def test_without_slices_a_verdict_and_a_plan_keep_their_bytes():
    baseline, candidate = arms((20, 14, 11), (8, 12, 13))
    verdict = sample.verdict_of({}, sample.outcomes(baseline, candidate))
    assert "slices" not in verdict.model_dump(mode="json")["hypotheses"][0]
    assert sample.plan().sha256() == "6cac87466b766cda9c25cf8e50326cb9857f0c9c762199803ee61b3ecd609369"


def test_it_is_said_in_both_languages_and_kept_through_json():
    baseline, candidate = arms((20, 14, 11), (8, 12, 20))
    n = len(baseline)
    items = {"one": Manifest.create([f"i{k}" for k in range(n)], None, [NAMES[k // 150] for k in range(n)])}
    changes = {**ASKED, "populations.0.n": n}
    verdict = sample.verdict_of(changes, sample.outcomes(baseline, candidate), manifests=items)
    again = type(verdict).model_validate_json(verdict.model_dump_json())
    assert again == verdict
    (said,) = sentences(sample.plan(changes), verdict, {})
    assert said.sentences.en == verdict.hypotheses[0].sentence
    assert "无法判定，3 个切片中有 2 个表明损失小于该界值，但“prose”没有" in said.sentences.zh
    assert "检验未表明两组的优劣随切片反转" in said.sentences.zh


def test_only_the_hypotheses_that_are_named_are_sliced():
    baseline, candidate = arms((20, 14, 11), (8, 12, 13))
    other = {**sample.VALUE["hypotheses"][0], "id": "H2"}
    two = {"hypotheses.1": other, "slices": ASKED["slices"] | {"hypotheses": ["H2"]}}
    n = len(baseline)
    items = {"one": Manifest.create([f"i{k}" for k in range(n)], None, [NAMES[k // 150] for k in range(n)])}
    verdict = sample.verdict_of(
        {**two, "populations.0.n": n}, sample.outcomes(baseline, candidate), manifests=items
    )
    assert [each.slices is None for each in verdict.hypotheses] == [True, False]


def findings(strata, clusters=None, **changes):
    n = len(strata)
    items = Manifest.create([f"i{k}" for k in range(n)], clusters, strata)
    plan = sample.plan({**ASKED, "populations.0.n": n, **changes})
    facts = {"one": items.with_strata(items.facts())}
    codes = ("SLICES", "SLICE_NEVER_PASSES", "SLICE_SMALL", "SLICES_SHARE_CLUSTERS", "UNIT", "UNKNOWN_NAME")
    return {each.code: each for each in service_lint.lint(plan, facts) if each.code in codes}


def labels(**sizes):
    return [name for name, size in sizes.items() for _ in range(size)]


def test_lint_tells_the_least_size_of_slices_that_are_too_small():
    assert findings(labels(a=100, b=100)) == {}
    small = findings(labels(a=100, b=20, c=3))
    assert small["SLICE_NEVER_PASSES"].severity == "error"
    assert "slice 'c' (3)" in small["SLICE_NEVER_PASSES"].message
    assert "4 items in a slice are the least" in small["SLICE_NEVER_PASSES"].message
    assert "slice 'b' (20)" in small["SLICE_SMALL"].message
    assert "29 items in a slice" in small["SLICE_SMALL"].message


CLUSTERED = {
    "populations.0.independence": None,
    "tests.0": {"id": "m", "test": "clustered-mcnemar", "version": 1, "parameters": {}},
}


def test_lint_counts_clusters_where_there_are_some():
    strata = labels(a=100, b=100)
    clusters = [f"c{k // 10}" for k in range(100)] + [f"d{k // 25}" for k in range(100)]
    changes = {**CLUSTERED, "populations.0.clusters": {"key": "c", "n": 14}}
    told = findings(strata, clusters, **changes)["SLICE_NEVER_PASSES"].message
    assert "slice 'b' (4)" in told
    assert "5 clusters in a slice are the least" in told
    crossed = [f"c{k % 20}" for k in range(200)]
    changes = {**CLUSTERED, "populations.0.clusters": {"key": "c", "n": 20}}
    assert set(findings(strata, crossed, **changes)) == {"SLICES_SHARE_CLUSTERS"}


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"slices.no_worse_than": {"value": 1, "unit": "score"}}, "UNIT", "score unit"),
        ({"slices.hypotheses": ["H9"]}, "UNKNOWN_NAME", "H9"),
        ({"endpoints.0.role": "secondary"}, "SLICES", "no hypothesis is sliced"),
        ({"stopping": {"kind": "anytime_valid"}}, "SLICES", "once"),
    ],
)
def test_lint_says_what_cannot_be_sliced(changes, code, words):
    assert words in findings(labels(a=100, b=100), **changes)[code].message


def test_lint_asks_for_strata():
    plan = sample.plan(ASKED)
    items = sample.manifest(500)
    found_ = service_lint.lint(plan, {"one": items.with_strata(items.facts())})
    assert any(each.code == "SLICES" and "`strata` column" in each.message for each in found_)
    many = findings([f"s{k}" for k in range(300)])
    assert "more than 200 strata" in many["SLICES"].message


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.001])
@pytest.mark.parametrize("margin", [0.02, 0.05, 0.1, 0.3])
def test_the_least_sizes_are_where_a_slice_begins_to_pass(margin, alpha):
    for least, value in ((least_ever("score", margin, alpha), 1.0), (least_alike(margin, alpha), 0.0)):
        passes = [
            weigh(np.full(n, value), np.arange(n), margin, alpha, by_score=True).p < alpha
            for n in (least - 1, least)
        ]
        assert passes == [False, True]


def test_slices_are_called_small_by_their_own_size():
    """An exact p does not fall with every item: at one-sided .025 and 5 pp 75 alike items pass, 76 do not."""
    sizes = (74, 75, 76, 77)
    passes = [weigh(np.zeros(n), np.arange(n), 0.05, 0.025, by_score=True).p < 0.025 for n in sizes]
    assert passes == [False, True, False, True]
    assert [passes_alike(n, 0.05, 0.025) for n in sizes] == passes


def test_the_least_size_at_a_tiny_margin_is_a_bound_that_costs_nothing():
    assert least_alike(1e-9, 1e-6) > 10**10
    assert not passes_alike(10**9, 1e-9, 1e-6)


def test_few_units_never_pass_by_signs():
    least = least_ever("items", 0.1, 0.05)
    for n, passes in ((least - 1, False), (least, True)):
        difference = 5.0 + np.arange(n) / 100
        assert (weigh(difference, np.arange(n), 0.1, 0.05, by_score=False).p < 0.05) is passes


def test_plans_refuse_odd_slices():
    for odd in (
        {"by": "topic", "no_worse_than": MARGIN},
        {"by": "stratum"},
        {**ASKED["slices"], "alpha": 0.5},
    ):
        with pytest.raises(ValueError, match="slices"):
            Plan.from_dict({**sample.VALUE, "slices": odd})
    read = Plan.from_dict({**sample.VALUE, **ASKED})
    assert Plan.from_json(read.canonical_text()) == read


def test_p_falls_as_the_candidate_wins_more():
    found_ = [
        weigh(np.r_[np.ones(b), -np.ones(12), np.zeros(88 - b)], np.arange(100), 0.05, 0.05, by_score=True)
        for b in range(0, 60, 5)
    ]
    assert all(one.p > other.p and one.p_loss < other.p_loss for one, other in pairwise(found_))
