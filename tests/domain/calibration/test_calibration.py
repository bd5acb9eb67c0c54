"""Self-calibration: the whole rule under flipped labels, against brute force and against itself."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from service.domain.calibration.calibration import (
    BLOCK,
    PASSES,
    Calibrator,
    block_count,
    clopper_pearson,
    conclude,
    flips_of,
)
from service.domain.calibration.case import case_of, pack, unpack
from service.domain.deviations.as_run import verdicts_of
from service.domain.plans.manifest import Manifest
from service.domain.rules.settings import resolve
from service.domain.verdicts.outcomes import NOT_RECEIVED, Rows
from service.errors import Conflict
from service.stats.shared.declaring.registry import join_blocks
from tests.domain import sample
from tests.domain.calibration.cases import ABOUT
from tests.drawing import mostly_slow

BOTH = "m.p_value < 0.05 and delta > 0"


def case(baseline, candidate, *, clusters=None, runs=1000, seed=7, **changes):
    found = {"populations.0.n": len(baseline)} | changes
    manifests = None
    if clusters is not None:
        found |= {
            "populations.0.clusters": {"key": "conversation", "n": len(set(clusters))},
            "populations.0.independence": None,
        }
        manifests = {"one": Manifest.create([f"item {at}" for at in range(len(baseline))], clusters)}
    plan = sample.plan(found)
    cells = sample.outcomes(baseline, candidate).cells
    return case_of(plan, manifests or sample.manifests(plan), cells, runs=runs, seed=seed, about=ABOUT)


def calibrated(made):
    return conclude(made, Calibrator(made).draw(range(block_count(made))))


def by_brute_force(baseline, candidate, units, **changes):
    """The share of all flips of all units whose verdict passes, each judged as a record would be."""
    baseline, candidate, units = (np.asarray(each) for each in (baseline, candidate, units))
    names, passed = list(dict.fromkeys(units.tolist())), 0
    clusters = (
        {}
        if len(names) == len(units)
        else {
            "populations.0.clusters": {"key": "conversation", "n": len(names)},
            "populations.0.independence": None,
        }
    )
    plan = sample.plan({"populations.0.n": len(units)} | clusters | changes)
    ids = [f"item {at}" for at in range(len(units))]
    manifests = {"one": Manifest.create(ids, units.tolist() if clusters else None)}
    for coins in product((False, True), repeat=len(names)):
        up = np.isin(units, [name for name, coin in zip(names, coins, strict=True) if coin])
        flipped = sample.outcomes(np.where(up, candidate, baseline), np.where(up, baseline, candidate))
        verdict = verdicts_of(Rows(resolve(plan), manifests, flipped))["H1"]
        passed += verdict.rule_holds is True
    return passed / 2 ** len(names)


@pytest.mark.parametrize(
    "rule",
    mostly_slow(["m.p_value < 0.05", BOTH, "m.p_value < 0.2 and m.ci excludes 0 and delta >= 10 pp"], 2),
)
@pytest.mark.parametrize("wins", mostly_slow([6, 4], 2))
def test_all_flips_of_few_items_give_the_exact_type_one_error(rule, wins):
    baseline, candidate = sample.binary(7, 1, wins, 6 - wins)
    units = [str(at) for at in range(7)]
    truth = by_brute_force(baseline, candidate, units, **{"hypotheses.0.rule": rule})
    found = calibrated(case(baseline, candidate, **{"hypotheses.0.rule": rule}))
    (hypothesis,) = found.hypotheses
    assert (found.enumerated, found.runs, found.seed) == (True, 2**6, None)
    assert (hypothesis.rate, hypothesis.exact_rate, hypothesis.mc_ci) == (truth, truth, None)
    assert (hypothesis.units, hypothesis.units_that_differ) == (7, 6)


@pytest.mark.parametrize(
    "rule", ["m.p_value < 0.05", BOTH, "delta >= 10 pp and m.ci excludes 0", "not m.p_value >= 0.3"]
)
@pytest.mark.parametrize("m", [7, 8])
def test_counting_all_flips_is_the_same_as_running_them(rule, m):
    made = case(*sample.binary(20, 3, m, 0), **{"hypotheses.0.rule": rule})
    listed = calibrated(made).hypotheses[0].rate
    drawn = case(*sample.binary(20, 3, m, 0), runs=100, **{"hypotheses.0.rule": rule})
    assert not drawn.enumerated
    assert calibrated(drawn).hypotheses[0].exact_rate == pytest.approx(listed, abs=1e-12)


def test_drawn_flips_agree_with_all_of_them():
    found = calibrated(case(*sample.binary(200, 60, 25, 15)))
    (hypothesis,) = found.hypotheses
    p = stats.binom(40, 0.5)  # delta >= 2 pp, p < .05 and the interval above 0: at least 27 of 40
    two_sided = [2 * p.sf(wins - 1) for wins in range(21, 41)]
    least = 21 + next(at for at, value in enumerate(two_sided) if value < 0.05)
    assert hypothesis.exact_rate == pytest.approx(p.sf(least - 1), rel=1e-9)
    assert (found.enumerated, found.runs, found.seed) == (False, 1000, 7)
    assert hypothesis.mc_ci.low <= hypothesis.exact_rate <= hypothesis.mc_ci.high
    assert hypothesis.rate == hypothesis.passed / 1000
    assert (hypothesis.nominal_alpha, hypothesis.reading) == (0.05, "conservative")


def test_flips_that_a_rule_cannot_tell_apart_are_judged_once_with_the_same_answer(monkeypatch):
    made = case(*sample.binary(60, 20, 12, 8), runs=200)
    quick, slow = Calibrator(made), Calibrator(made)
    monkeypatch.setattr(slow, "_alike", lambda *_: None)
    which = range(block_count(made))
    assert np.array_equal(quick.draw(which)["truths"], slow.draw(which)["truths"])
    assert len(quick._known) <= 21


@pytest.mark.parametrize("cuts", [(1, 2, 4), (3,), (1,)])
def test_any_cut_gives_the_same_bytes(cuts):
    made = case(*sample.binary(60, 20, 12, 8), runs=220)
    blocks = block_count(made)
    assert blocks == 5
    ends = [*cuts, blocks]
    parts = [range(low, high) for low, high in zip([0, *cuts], ends, strict=True)]
    drawn = join_blocks([Calibrator(unpack(pack(made))).draw(part) for part in parts])
    assert len(drawn["truths"]) == 220
    assert conclude(made, drawn).model_dump_json() == calibrated(made).model_dump_json()


def test_the_seed_decides_the_flips():
    one, same, other = (case(*sample.binary(60, 20, 12, 8), seed=seed) for seed in (1, 1, 2))
    flips = [np.array([each["one"] for each in flips_of(made, 0)]) for made in (one, same, other)]
    assert flips[0].shape == (BLOCK, 60)
    assert np.array_equal(flips[0], flips[1])
    assert not np.array_equal(flips[0], flips[2])
    discordant = slice(20, 40)
    assert not np.delete(flips[0], np.r_[discordant], axis=1).any()
    assert 0.4 < flips[0][:, discordant].mean() < 0.6


def test_a_packed_case_is_the_same_case():
    made = case(*sample.binary(12, 4, 3, 1), clusters=[f"c{at % 4}" for at in range(12)])
    again = unpack(pack(made))
    assert pack(again) == pack(made)
    assert calibrated(again) == calibrated(made)


CLUSTERED = {
    "tests.0": {"id": "m", "test": "clustered-mcnemar", "version": 1, "parameters": {"method": "sign_flip"}},
    "hypotheses.0.rule": "m.p_value < 0.05",
}
UNITS = [f"c{at // 3}" for at in range(24)]


def clustered_arms():
    rng = np.random.default_rng(3)
    baseline = rng.integers(0, 2, 24).astype(float)
    candidate = np.where(np.arange(24) % 3 == 0, 1 - baseline, baseline)
    return baseline, candidate


@pytest.mark.slow
def test_whole_clusters_are_flipped_where_the_population_has_them():
    baseline, candidate = clustered_arms()
    found = calibrated(case(baseline, candidate, clusters=UNITS, **CLUSTERED))
    (hypothesis,) = found.hypotheses
    assert (hypothesis.flipped, hypothesis.units, hypothesis.units_that_differ) == ("clusters", 8, 8)
    assert (found.enumerated, found.runs) == (True, 256)
    assert hypothesis.rate == by_brute_force(baseline, candidate, UNITS, **CLUSTERED) == 2 / 256


def test_a_test_that_ignores_clusters_is_liberal_under_flips_of_clusters():
    rng = np.random.default_rng(5)
    units = [f"c{at // 10}" for at in range(300)]
    up = np.repeat(rng.random(30) < 0.5, 10)
    baseline, candidate = np.where(up, 0.0, 1.0), np.where(up, 1.0, 0.0)  # all of a cluster goes one way
    plan = {"hypotheses.0.rule": "m.p_value < 0.05"}
    found = calibrated(case(baseline, candidate, clusters=units, **plan)).hypotheses[0]
    k = stats.binom(30, 0.5)
    least = next(wins for wins in range(15, 31) if 2 * stats.binom(300, 0.5).sf(10 * wins - 1) < 0.05)
    assert (found.exact_rate, found.reading) == (None, "liberal")
    assert found.mc_ci.low < 2 * k.sf(least - 1) < found.mc_ci.high
    assert "the rule is liberal" in found.sentence


def test_two_claims_share_their_coins_and_a_correction_is_part_of_the_procedure():
    two = {"hypotheses.1": dict(sample.VALUE["hypotheses"][0], id="H2"), "multiplicity": {"policy": "none"}}
    rule = {"hypotheses.0.rule": "m.p_value < 0.05", "hypotheses.1.rule": "m.p_value < 0.05"}
    arms = sample.binary(60, 20, 12, 8)

    def made(policy):
        changes = {key: value for key, value in two.items() if key != "multiplicity"}
        changes["multiplicity"] = {"policy": policy}
        changes["hypotheses.1"] = changes["hypotheses.1"] | {"rule": rule["hypotheses.1.rule"]}
        return calibrated(
            case(*arms, runs=400, **(changes | {"hypotheses.0.rule": rule["hypotheses.0.rule"]}))
        )

    plain, corrected = made("none"), made("bonferroni")
    assert plain.family.hypotheses == ("H1", "H2")
    assert plain.family.passed == plain.hypotheses[0].passed == plain.hypotheses[1].passed
    assert "nothing is done" in plain.family.sentence
    assert corrected.hypotheses[0].passed < plain.hypotheses[0].passed
    assert corrected.hypotheses[0].exact_rate is None
    assert "bonferroni" in corrected.family.sentence


def test_a_claim_that_is_true_without_a_difference_has_power_and_no_error():
    equivalence = {
        "hypotheses.0.claim": "equivalence",
        "hypotheses.0.rule": "e.equivalent is true",
        "tests.1": {"id": "e", "test": "equivalence", "version": 1, "parameters": {"method": "tango"}},
        "sesoi.accuracy": {"value": 10, "unit": "pp"},
    }
    found = calibrated(case(*sample.binary(200, 60, 6, 4), **equivalence))
    (hypothesis,) = found.hypotheses
    assert (hypothesis.tells, hypothesis.reading) == ("power_at_zero", None)
    assert hypothesis.rate > 0.9
    assert found.family is None
    assert "true without a difference" in hypothesis.sentence


@pytest.mark.slow
def test_what_is_missing_changes_places_with_its_label():
    baseline, candidate = sample.binary(8, 1, 6, 0)
    candidate[[2, 7]] = np.nan
    plan = {"missing": "worst_case", "hypotheses.0.rule": "m.p_value < 0.2 and delta > 0"}
    found = calibrated(case(baseline, candidate, **plan))
    truth = by_brute_force(baseline, candidate, [str(at) for at in range(8)], **plan)
    assert (found.runs, found.hypotheses[0].units_that_differ) == (2**7, 7)
    assert found.hypotheses[0].rate == truth > 0


def test_left_out_pairs_stay_left_out():
    baseline, candidate = sample.binary(30, 6, 12, 4)
    candidate[[7, 8]] = np.nan
    kept = ~np.isnan(candidate)
    with_gaps = calibrated(case(baseline, candidate)).hypotheses[0]
    without = calibrated(case(baseline[kept], candidate[kept])).hypotheses[0]
    assert with_gaps.exact_rate == without.exact_rate
    assert with_gaps.undecided == 0


def test_a_plan_that_its_results_break_never_passes_and_says_so():
    baseline, candidate = sample.binary(30, 6, 12, 0)
    candidate[7] = np.nan
    (found,) = calibrated(case(baseline, candidate, missing="fail")).hypotheses
    assert (found.passed, found.undecided) == (0, 1000)
    assert "could not be decided" in found.sentence


def test_equal_arms_leave_one_flip():
    found = calibrated(case(*sample.binary(30, 12, 0, 0)))
    assert (found.runs, found.hypotheses[0].rate) == (1, 0.0)
    assert "differ in none of its items" in found.hypotheses[0].sentence


def test_scores_are_flipped_too():
    rng = np.random.default_rng(11)
    baseline = rng.normal(0, 1, 6)
    candidate = baseline + np.abs(rng.normal(1, 0.2, 6))
    changes = {
        "endpoints.0.kind": "continuous",
        "sesoi.accuracy": {"value": 0.1, "unit": "score"},
        "tests.0": {"id": "m", "test": "wilcoxon", "version": 1, "parameters": {}},
        "hypotheses.0.rule": "m.p_value < 0.05",
    }
    found = calibrated(case(baseline, candidate, **changes))
    truth = by_brute_force(baseline, candidate, [str(at) for at in range(6)], **changes)
    assert found.hypotheses[0].rate == truth > 0


@pytest.mark.slow
def test_planned_looks_are_taken_in_every_run():
    changes = {
        "populations.0.order_seed": 4,
        "stopping": {"kind": "group_sequential", "looks": 2, "spending": "pocock"},
        "tests.0": {
            "id": "s",
            "test": "sequential",
            "version": 1,
            "parameters": {"method": "group_sequential"},
        },
        "hypotheses.0.rule": "s.p_value < 0.05",
    }
    made = case(*sample.binary(40, 6, 6, 2), runs=256, **changes)
    found = calibrated(made)
    assert Calibrator(made).groups == ((0,),)
    assert (found.enumerated, found.runs) == (True, 256)
    assert found.hypotheses[0].undecided < 256
    assert 0 < found.hypotheses[0].rate < 0.2


def test_rows_that_an_early_stop_left_out_cannot_be_flipped():
    baseline, candidate = sample.binary(10, 3, 3, 0)
    cells = sample.outcomes(baseline, candidate).cells
    cells["one", "C1", "accuracy"].statuses[9] = NOT_RECEIVED
    plan = sample.plan({"populations.0.n": 10})
    with pytest.raises(Conflict, match="ended the collection early"):
        case_of(plan, sample.manifests(plan), cells, runs=1000, seed=0, about=ABOUT)


@pytest.mark.parametrize(("passed", "runs"), [(0, 1000), (23, 1000), (1000, 1000)])
def test_the_interval_is_clopper_and_pearsons(passed, runs):
    found = clopper_pearson(passed, runs)
    wanted = stats.binomtest(passed, runs).proportion_ci(0.95, method="exact")
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=1e-12)


@pytest.mark.parametrize(
    ("rule", "alpha"),
    [
        ("m.p_value < 0.01 and m.ci excludes 0", 0.01),
        ("m.ci excludes 0 and delta > 0", 0.05),
        ("m.p_value < 0.01 or delta > 5 pp", None),
        ("delta > 5 pp", None),
    ],
)
def test_the_alpha_is_the_least_that_the_rule_states(rule, alpha):
    found = calibrated(case(*sample.binary(30, 12, 2, 1), **{"hypotheses.0.rule": rule})).hypotheses[0]
    assert found.nominal_alpha == alpha
    assert (found.reading is None) == (alpha is None)


def test_the_cost_counts_judgements_and_not_flips():
    few, many = (
        Calibrator(case(*sample.binary(200, 60, 25, 15), runs=runs)).seconds() for runs in (1000, 2000)
    )
    assert many - few == pytest.approx(1000 * 3e-4)
    slow = case(*clustered_arms(), clusters=UNITS, runs=200, **CLUSTERED)
    assert Calibrator(slow).seconds() > 200 * 0.002


def test_passing_is_what_the_verdict_calls_a_rule_that_holds():
    made = case(*sample.binary(60, 20, 20, 0))
    nothing = {"one": np.zeros(60, dtype=bool)}
    assert Calibrator(made).run(nothing) == [PASSES]
