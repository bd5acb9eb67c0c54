"""Plans on bounded scores: the range is the endpoint's, and verdicts know of losses too rare to be seen."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from service.domain.lint.lint import lint
from service.domain.power.levels.level import level_of
from service.domain.power.rule_power import rule_powers
from service.domain.rules.settings import resolve
from service.stats.shared.methods.bounded import Bounded
from tests.domain import sample
from tests.drawing import mostly_slow

pytestmark = pytest.mark.usefixtures("no_search")

SCORES = {
    "endpoints.0": {
        "id": "accuracy",
        "kind": "continuous",
        "role": "primary",
        "bounds": {"low": 1, "high": 5},
    },
    "sesoi": {"accuracy": {"value": 0.2, "unit": "score"}},
    "hypotheses.0.claim": "non_inferiority",
    "hypotheses.0.statement": "C2 is not worse than C1 by more than 0.2",
}
TESTS = {
    "bounded-difference": ("ci.low > -0.2", {}),
    "equivalence": ("noninferior is true", {"method": "bounded"}),
}


def plan(test, **changes):
    clause, parameters = TESTS[test]
    return {
        **SCORES,
        "hypotheses.0.rule": f"b.{clause}",
        "tests.0": {"id": "b", "test": test, "version": 1, "parameters": parameters},
        **changes,
    }


def holds(changes, difference):
    arms = sample.outcomes(np.full(len(difference), 3.0), 3.0 + np.asarray(difference))
    return sample.verdict_of({**changes, "populations.0.n": len(difference)}, arms).hypotheses[0].rule_holds


@pytest.mark.parametrize("test", TESTS)
def test_most_items_that_tie_show_no_more_than_they_can(test):
    few, many = np.r_[np.zeros(35), np.full(5, 0.5)], np.zeros(150)
    assert holds(plan(test), few) is False
    assert holds(plan(test), many) is True
    # on a wider scale an item that was not seen can lose more
    wider = {"endpoints.0.bounds": {"low": 0, "high": 20}}
    assert holds(plan(test, **wider), many) is False


def test_t_would_have_called_it_shown():
    few = np.r_[np.zeros(35), np.full(5, 0.5)]
    by_t = plan("equivalence", **{"tests.0.parameters": {"method": "t"}})
    assert holds(by_t, few) is True


@pytest.mark.parametrize("test", TESTS)
def test_a_plan_without_bounds_is_told_to_declare_them(test):
    told = [
        each for each in sample.findings(plan(test, **{"endpoints.0.bounds": None})) if each.code == "BOUNDS"
    ]
    assert told
    assert told[0].severity == "error"
    assert "declare them as its `bounds`" in told[0].message
    assert "BOUNDS" not in [code for code, _ in sample.codes(plan(test))]
    assert "TEST_PARAMETERS" not in [code for code, _ in sample.codes(plan(test))]


def said_of_levels(changes):
    made = sample.plan(changes)
    facts = sample.facts_of(made)
    return {each.code: each.message for each in lint(made, facts) if each.code.startswith("LEVEL")}


def level(changes):
    made = sample.plan(changes)
    facts = sample.facts_of(made)
    (setting,) = resolve(made).settings
    return level_of(made, facts, setting)


@pytest.mark.parametrize("test", TESTS)
def test_a_rule_by_such_a_test_keeps_its_level_whatever_the_scores_are_like(test):
    told = level(plan(test))
    assert (told.level, told.method, told.truth) == (pytest.approx(told.alpha), "bound", -0.2)
    assert said_of_levels(plan(test)) == {}


def test_what_else_the_rule_asks_makes_it_no_likelier_and_another_way_to_hold_is_drawn():
    both = plan("bounded-difference", **{"hypotheses.0.rule": "b.ci.low > -0.2 and delta > -0.1"})
    assert level(both).level == pytest.approx(0.025)
    either = plan("bounded-difference", **{"hypotheses.0.rule": "b.ci.low > -0.2 or delta > 0.1"})
    assert level(either).method == "simulated"
    # below a limit that is not the margin the interval may lie where the claim is false
    short = plan("bounded-difference", **{"hypotheses.0.rule": "b.ci.low > -0.5"})
    assert (level(short).method, level(short).level > 0.2) == ("simulated", True)


def test_a_two_sided_p_counts_the_side_that_the_rule_keeps():
    superiority = {
        "hypotheses.0.claim": "superiority",
        "hypotheses.0.statement": "C2 is better than C1",
        "hypotheses.0.rule": "delta > 0 and b.p_value < 0.05",
    }
    told = level(plan("bounded-difference", **superiority))
    assert (told.level, told.method, told.truth) == (pytest.approx(0.025), "bound", 0.0)


def of_clusters(test, n, clusters, **changes):
    more = {"populations.0.clusters": {"key": "c", "n": clusters}, "populations.0.independence": None}
    return plan(test, **more, **{"populations.0.n": n}, **changes)


@pytest.mark.slow
def test_whole_clusters_of_one_size_are_independent_values_alike():
    """What was not seen is a whole one: the level is proven, and of clusters of two sizes it is drawn."""
    whole = of_clusters("bounded-difference", 500, 50, **{"tests.0.parameters": {"unseen": "clusters"}})
    assert (level(whole).level, level(whole).method) == (pytest.approx(0.025), "bound")
    assert "LEVEL_UNKNOWN" not in said_of_levels(whole)
    uneven = level({**whole, "populations.0.n": 501})
    assert uneven.method == "simulated"
    assert uneven.level < 0.025


@pytest.mark.slow
@pytest.mark.parametrize("test", TESTS)
def test_the_level_of_single_items_in_clusters_is_drawn_over_shapes(test):
    few = of_clusters(test, 48, 12)
    told = level(few)
    assert told.method == "simulated"
    assert {"normal", "rare_losses"} <= set(told.worlds)
    assert 0 < told.level < 0.5
    assert "LEVEL_UNKNOWN" not in said_of_levels(few)


@pytest.mark.parametrize("test", mostly_slow(TESTS))
def test_power_in_clusters_is_told_and_falls_with_what_items_share(test):
    tight = {"hypotheses.0.statement": "C2 is not worse than C1 by more than 0.6"}
    tight |= {"sesoi": {"accuracy": {"value": 0.6, "unit": "score"}}}
    if test == "bounded-difference":
        tight |= {"hypotheses.0.rule": "b.ci.low > -0.6"}
    powers = []
    for icc in (0.01, 0.5):
        made = sample.plan(of_clusters(test, 200, 40, **tight, assumptions={"sd": 1.5, "icc": icc}))
        (power,) = rule_powers(made, {})
        powers.append(power.lead.reference.power)
    assert powers[0] > powers[1] > 0


@pytest.mark.parametrize("test", mostly_slow(TESTS))
def test_power_is_that_of_the_verdict(test):
    """Simulated over the worlds of the plan; here each data set of one of them is put to the test itself."""
    n, spread = 60, 1.0
    changes = plan(
        test, **{"populations.0.n": n, "hypotheses.0.statement": "C2 is not worse than C1 by more than 0.45"}
    )
    changes |= {"sesoi": {"accuracy": {"value": 0.45, "unit": "score"}}, "assumptions": {"sd": spread}}
    clause, _ = TESTS[test]
    changes["hypotheses.0.rule"] = f"b.{clause}".replace("-0.2", "-0.45")
    made = sample.plan(changes)
    (found,) = rule_powers(made, {})
    assert found.method == "simulated"
    at = next(each for each in found.power if each.truth == 0 and each.shape is None)
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(120):
        difference = np.clip(rng.normal(0, spread, n), -4, 4)
        bounded = Bounded(difference, None, 4.0)
        tail = 0.025 if test == "bounded-difference" else 0.05
        held += bounded.ends(tail)[0] > -0.45
    share = held / 120
    assert at.power == pytest.approx(share, abs=4 * (0.25 / 120) ** 0.5)
    assert 0.2 < at.power < 0.98


@pytest.mark.slow
def test_power_of_right_and_wrong_is_enumerated():
    binary = {
        "hypotheses.0.claim": "non_inferiority",
        "hypotheses.0.statement": "C2 is not worse than C1 by more than 30 pp",
        "sesoi": {"accuracy": {"value": 30, "unit": "pp"}},
        "populations.0.n": 14,
        "assumptions": {"discordance": 0.3},
    }
    by = {
        "bounded-difference": ("b.ci.low > -30 pp", {}),
        "equivalence": ("b.noninferior is true", {"method": "bounded"}),
    }
    for test, (rule, parameters) in by.items():
        tests = {"id": "b", "test": test, "version": 1, "parameters": parameters}
        changes = {**binary, "hypotheses.0.rule": rule, "tests.0": tests}
        (found,) = rule_powers(sample.plan(changes), {})
        assert found.method == "exact"
        at = next(each for each in found.power if each.truth == 0 and each.discordance == 0.3)
        total, tail = 0.0, 0.025 if test == "bounded-difference" else 0.05
        for won in range(15):
            for lost in range(15 - won):
                difference = np.r_[np.ones(won), -np.ones(lost), np.zeros(14 - won - lost)]
                if Bounded(difference, None, 1.0).ends(tail)[0] > -0.3:
                    total += stats.multinomial.pmf([won, lost, 14 - won - lost], 14, [0.15, 0.15, 0.7])
        assert at.power == pytest.approx(total, abs=1e-9)


def test_where_t_errs_too_often_the_test_that_does_not_is_named_and_helps():
    by_t = plan(
        "bounded-difference", **{"tests.0.test": "t-test", "tests.0.parameters": {"method": "paired"}}
    )
    few = {"populations.0.n": 30}
    assert "`bounded-difference`" in said_of_levels({**by_t, **few})["LEVEL_EXCEEDED"]
    assert said_of_levels({**plan("bounded-difference"), **few}) == {}
    # without bounds, or in clusters, it would be no way out
    without = said_of_levels({**by_t, **few, "endpoints.0.bounds": None})
    assert "bounded-difference" not in without["LEVEL_EXCEEDED"]
