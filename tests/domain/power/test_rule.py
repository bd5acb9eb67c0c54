"""Power in the whole procedure of a plan: what it assumes, its family, looks, missing results and fallbacks."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from service.domain.lint.lint import lint
from service.domain.plans.plan import Plan
from service.domain.power.distributions.shapes import name_shape
from service.domain.power.procedure.cost import BLOCK, READ
from service.domain.power.procedure.procedure import Procedure
from service.domain.power.rule_power import LINT_BUDGET, TABLE_BUDGET, rule_powers
from tests.domain.sample import VALUE, facts_of, plan
from tests.drawing import mostly_slow

EFFECT = {"value": 4, "unit": "pp"}
STATED = {"discordance": 0.1, "effect": EFFECT}
CLUSTERED = {
    "populations.0.independence": None,
    "tests.0": {"id": "m", "test": "clustered-mcnemar", "version": 1, "parameters": {"method": "cr2_t"}},
}
TANGO = {"tests.1": {"id": "e", "test": "equivalence", "version": 1}, "hypotheses.0.equivalence": "e"}


def clusters(g, n):
    return {**CLUSTERED, "populations.0.n": n, "populations.0.clusters": {"key": "c", "n": g}}


def family(policy, count=3):
    return {
        "populations": [
            {"id": f"p{k}", "dataset": "D", "n": 500, "independence": "drawn one by one"}
            for k in range(count)
        ],
        "hypotheses": [
            {**VALUE["hypotheses"][0], "id": f"H{k}", "population": f"p{k}"} for k in range(count)
        ],
        "multiplicity": {"policy": policy, "family": [f"H{k}" for k in range(count)]},
    }


def powers(changes):
    made = plan(changes)
    return rule_powers(made, facts_of(made))


def reference(changes, **assumed):
    (first, *_) = powers({**changes, "assumptions": {**STATED, **assumed}})
    return first.reference


def findings(changes):
    made = plan(changes)
    return {each.code: each for each in lint(made, facts_of(made))}


def test_a_plan_without_assumptions_keeps_its_text():
    made = plan()
    assert "assumptions" not in made.canonical_text()
    assert Plan.from_json(made.canonical_text()).sha256() == made.sha256()


def test_assumptions_are_read_strictly_and_by_hypothesis():
    made = plan({"assumptions": {**STATED, "icc": 0.1, "hypotheses": {"H1": {"icc": 0.2}}}})
    assert made.assumptions is not None
    assert (made.assumptions.of("H1").icc, made.assumptions.of("H1").discordance) == (0.2, 0.1)
    assert made.assumptions.of("H2").icc == 0.1
    for wrong in (
        {"icc": 1},
        {"discordance": 0},
        {"sd": -1},
        {"missing": 1.2},
        {"effects": {}},
        {"effect": 4},
    ):
        with pytest.raises(ValueError, match="assumptions"):
            plan({"assumptions": wrong})


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"assumptions": {"discordance": 0.03, "effect": EFFECT}}, "assumptions.effect"),
        ({"assumptions": {"icc": 0.2}}, "assumptions.icc"),
        ({"assumptions": {"sd": 2}}, "assumptions.sd"),
        ({"assumptions": {"hypotheses": {"H1": {"baseline_mean": 1.2}}}}, "assumptions.hypotheses.H1.baseline_mean"),
    ],
)  # fmt: skip
def test_assumptions_that_cannot_be_are_warned_about(changes, path):
    found = findings(changes)["ASSUMPTION"]
    assert (found.severity, found.path) == ("warning", path)


def test_assumptions_of_nothing_are_refused():
    assert findings({"assumptions": {"hypotheses": {"H9": {"icc": 0.1}}}})["UNKNOWN_NAME"].severity == "error"
    assert findings({"assumptions": {"effect": {"value": 4, "unit": "score"}}})["UNIT"].severity == "error"


def test_without_assumptions_power_is_a_range():
    (found,) = powers({})
    assert (found.low.discordance, found.high.discordance, found.stated) == (0.3, 0.05, False)
    assert found.low.power < found.reference.power < found.high.power
    message = findings({})["LOW_POWER"].message
    assert f"from {found.low.power:.2g} (30% of items discordant) to {found.high.power:.2g}" in message
    (stated,) = powers({"assumptions": {"discordance": 0.1}})
    assert (stated.low, stated.high, stated.stated) == (None, None, True)
    assert stated.reference.power == found.reference.power
    assert [each.discordance for each in stated.detectable] == [0.1, 0.1]


@pytest.mark.parametrize("rule", ["m.p_value < 0.05 and delta >= 2 pp", "m.p_value < 0.05 and delta > 0"])
@pytest.mark.parametrize("assumed", [{}, {"assumptions": STATED}])
def test_power_is_told_first_at_the_sesoi_whatever_the_plan_assumes(rule, assumed):
    asked = {"hypotheses.0.rule": rule, "hypotheses.0.statement": "C2 beats C1", **assumed}
    (found,) = powers(asked)
    lead, at_sesoi = found.lead, [each for each in found.power if each.truth == 0.02]
    assert (lead.effect, lead.reference.truth) == ("sesoi", 0.02)
    assert lead.reference.power == next(each.power for each in at_sesoi if each.discordance == 0.1)
    assert found.reference.truth == (0.04 if assumed else 0.02)
    assert lead.asks_observed == (0.02 if "2 pp" in rule else None)
    message = findings(asked)["LOW_POWER"].message
    assert message.startswith("with a true difference of 2 pp (the SESOI)")
    assert f"{lead.least.power:.2g}" in message
    assert ("about half of all studies or more miss that" in message) is ("2 pp" in rule)


def test_a_rule_that_asks_for_the_sesoi_holds_half_the_time_there_however_many_items():
    """By the chance of the observed difference alone, exact at 500 and at 20,000 items."""
    for n in (500, 20_000):
        rule = {"hypotheses.0.rule": "delta >= 2 pp", "populations.0.n": n}
        half = reference(rule, effect={"value": 2, "unit": "pp"})
        assert half.power == pytest.approx(0.5, abs=0.04)
        (found,) = powers({**rule, "assumptions": {"discordance": 0.1}})
        assert found.lead.reference.power == half.power
        assert found.lead.asks_observed == 0.02


def test_scores_are_told_over_spreads_that_occur():
    """A benchmark whose SD is 20 times the SESOI lies within the range."""
    scores = {
        "endpoints.0.kind": "continuous", "sesoi": {"accuracy": {"value": 0.02, "unit": "score"}},
        "populations.0.n": 200, "hypotheses.0.rule": "m.p_value < 0.05 and delta > 0",
        "tests.0": {"id": "m", "test": "t-test", "version": 1, "parameters": {"method": "paired"}},
    }  # fmt: skip
    for bounds in (None, {"low": 0, "high": 1}):
        (found,) = powers({**scores, **({"endpoints.0.bounds": bounds} if bounds else {})})
        assert found.low.power < 0.35 < 0.75 < found.high.power
        assert found.low.spread >= 0.4


@pytest.mark.parametrize("assumed", [{}, {"assumptions": {"sd": 0.2}}])
def test_the_range_of_power_on_scores_takes_in_shapes_that_are_not_normal(assumed):
    scores = {
        "endpoints.0.kind": "continuous", "sesoi": {"accuracy": {"value": 0.05, "unit": "score"}},
        "populations.0.n": 100, "hypotheses.0.rule": "m.p_value < 0.05 and delta > 0",
        "hypotheses.0.statement": "C2 beats C1",
        "tests.0": {"id": "m", "test": "t-test", "version": 1, "parameters": {"method": "paired"}}, **assumed,
    }  # fmt: skip
    (found,) = powers(scores)
    low = found.lead.low
    assert low.shape is not None
    assert low.power < found.lead.reference.power <= found.lead.high.power
    assert name_shape(low.shape).text("en") in findings(scores)["LOW_POWER"].message


@pytest.mark.slow
def test_one_true_of_three_by_holm_is_told_as_such():
    one_true = {
        "effect": {"value": 0, "unit": "pp"}, "discordance": 0.1, "hypotheses": {"H0": {"effect": EFFECT}},
    }  # fmt: skip
    holm = powers({**family("holm"), "assumptions": one_true})[0].reference
    bonferroni = powers({**family("bonferroni"), "assumptions": one_true})[0].reference
    assert (holm.others, bonferroni.others) == ("stated", None)
    assert bonferroni.power == pytest.approx(0.6365, abs=1e-4)
    assert abs(holm.power - bonferroni.power) < 4 * holm.standard_error
    alone = reference({})
    assert alone.power == pytest.approx(0.7854, abs=1e-4)
    (first, *_) = powers(family("holm"))
    assert (first.low.others, first.high.others) == ("not_true", "at_goal")
    assert first.low.power < first.high.power


@pytest.mark.slow
def test_families_on_shared_data_are_simulated_on_shared_data():
    """Twice the same hypothesis: both or neither is rejected, so that Holm costs what Bonferroni does."""
    same = [{**VALUE["hypotheses"][0], "id": f"H{k}"} for k in range(2)]
    twin = {"hypotheses": same, "multiplicity": {"policy": "holm", "family": ["H0", "H1"]}}
    found = powers({**twin, "assumptions": STATED})[0].reference
    halved = "delta >= 2.0 pp and m.p_value < 0.025 and m.ci excludes 0"
    assert abs(found.power - reference({"hypotheses.0.rule": halved}).power) < 4 * found.standard_error


def by_hand(n, win, lose, ties, holds):
    """Sum over all outcomes of n items."""
    m = np.arange(n + 1)
    log = np.array([math.lgamma(k + 1) for k in m])
    total = 0.0
    for b in range(n + 1):
        for c in range(n + 1 - b):
            if holds(b, c):
                chance = log[n] - log[b] - log[c] - log[n - b - c]
                chance += b * math.log(win) + c * math.log(lose) + (n - b - c) * math.log(ties)
                total += math.exp(chance)
    return total


def test_filled_results_are_enumerated():
    """Every item by its two results and what is missing of them, against a definition written out here."""
    n, rate, accuracy = 60, 0.03, 0.5
    won, lost = 0.12, 0.04
    states = {(0, 1): won, (1, 0): lost, (1, 1): accuracy - lost, (0, 0): 1 - won - accuracy}
    shares = {1: 0.0, 0: 0.0, -1: 0.0}
    for (before, after), p in states.items():
        for gone_before in (False, True):
            for gone_after in (False, True):
                d = (0 if gone_after else after) - (1 if gone_before else before)
                q = (rate if gone_before else 1 - rate) * (rate if gone_after else 1 - rate)
                shares[d] += p * q
    changes = {
        "populations.0.n": n, "missing": "worst_case", "hypotheses.0.rule": "delta >= 5 pp", "sesoi.accuracy.value": 4,
    }  # fmt: skip
    found = reference(changes, discordance=0.16, effect={"value": 8, "unit": "pp"}, missing=rate)
    expected = by_hand(n, shares[1], shares[-1], shares[0], lambda b, c: b - c >= 0.05 * n)
    assert found.standard_error is None
    assert found.power == pytest.approx(expected, abs=1e-9)
    one_arm = reference(
        changes, discordance=0.16, effect={"value": 8, "unit": "pp"}, missing={"candidate": rate}, baseline_mean=0.9
    )  # fmt: skip
    assert one_arm.power < found.power + 0.2  # a candidate that is seldom in is mostly wrong where it is not


@pytest.mark.parametrize(
    ("policy", "least", "most"), [("fail", 0, 1e-8), ("worst_case", 0.1, 0.3), ("exclude_pair", 0.72, 0.79)]
)
def test_missing_results_cost_what_the_policy_makes_them_cost(policy, least, most):
    found = reference({"missing": policy}, missing=0.02)
    assert least <= found.power <= most
    assert (found.invalid is not None) is (policy == "fail")
    assert found.missing == 0.02


@pytest.mark.slow
def test_the_chance_of_equivalence_is_computed_and_simulated_alike():
    same = {"discordance": 0.05, "effect": {"value": 0, "unit": "pp"}}
    exact = reference({**TANGO, "populations.0.n": 800}, **same)
    assert exact.standard_error is None
    assert exact.equivalent > 0.5
    filled = reference({**TANGO, "populations.0.n": 800, "missing": "worst_case"}, **same, missing=0.005)
    assert filled.standard_error is not None
    assert filled.equivalent < exact.equivalent
    simulated = reference({**TANGO, "populations.0.n": 800, "missing": "exclude_pair"}, **same, missing=1e-9)
    assert abs(simulated.equivalent - exact.equivalent) < 0.06


@pytest.mark.slow
def test_correlation_costs_power():
    few, many = (reference(clusters(20, 400), icc=icc) for icc in (0.01, 0.2))
    assert many.power < few.power - 0.1
    (found,) = powers(clusters(20, 400))
    assert (found.low.icc, found.high.icc) == (0.2, 0.01)


@pytest.mark.slow
def test_every_simulated_hypothesis_has_its_detectable_effect_and_its_n():
    (found,) = powers({**clusters(40, 400), "assumptions": {**STATED, "icc": 0.05}})
    often, oftener = found.detectable
    assert (often.target, oftener.target) == (0.8, 0.9)
    assert 0 < often.effect < oftener.effect < 0.1
    at_sesoi, first, second = found.required
    assert (at_sesoi.truth, at_sesoi.n) == (0.02, None)
    assert "about half of all studies miss" in at_sesoi.reason
    assert first.n < second.n
    assert first.n == pytest.approx(first.n_clusters * 10, abs=1)
    assert reference(clusters(first.n_clusters, first.n), icc=0.05).power == pytest.approx(0.8, abs=0.06)
    assert reference(
        clusters(40, 400), icc=0.05, effect={"value": 100 * often.effect, "unit": "pp"}
    ).power == (pytest.approx(0.8, abs=0.06))


LOOKS = {
    "populations.0.order_seed": 5, "missing": "fail", "hypotheses.0.rule": "m.p_value < 0.05 and delta >= 2 pp",
}  # fmt: skip


@pytest.mark.parametrize(
    ("stopping", "method"),
    mostly_slow(
        [
            ({"kind": "group_sequential", "looks": 2, "spending": "pocock"}, "group_sequential"),
            ({"kind": "anytime_valid"}, "e_process"),
        ]
    ),
)
def test_sequential_plans_have_power_and_an_expected_n(stopping, method):
    test = {"id": "m", "test": "sequential", "version": 1, "parameters": {"method": method}}
    (found,) = powers({**LOOKS, "stopping": stopping, "tests.0": test, "assumptions": STATED})
    fixed = reference({"hypotheses.0.rule": "m.p_value < 0.05 and delta >= 2 pp"}).power
    assert 0.3 < found.reference.power < fixed + 0.03
    assert 200 < found.reference.expected_n < 480
    assert found.detectable[0].effect > 0.03


@pytest.mark.parametrize(
    "changes",
    [
        {**clusters(20, 400_000), "tests.0": {"id": "m", "test": "clustered-mcnemar", "version": 1}},
        {**clusters(100_000, 1_000_000)},
        {**family("hommel", 20)},
        {**clusters(200, 20_000), "tests.0": {"id": "m", "test": "cluster-bootstrap", "version": 1}},
        {**LOOKS, "populations.0.n": 100_000, "stopping": {"kind": "anytime_valid"},
         "tests.0": {"id": "m", "test": "sequential", "version": 1, "parameters": {"method": "e_process"}}},
    ],
)  # fmt: skip
@pytest.mark.slow
def test_the_cost_of_lint_is_bounded(changes):
    """Seconds of CPU, with room for a slow machine; some of these took minutes."""
    made = plan(changes)
    facts = facts_of(made)
    before = time.process_time()
    lint(made, facts)
    found = rule_powers(made, facts)
    assert time.process_time() - before < 12
    for each in found:
        told = each.reference is not None and each.reference.power is not None
        assert told or each.reason or each.cut


def test_two_statements_about_one_hypothesis_share_its_error():
    """By Bonferroni each of the two has half of it, so that an enumerated rule at half the level says the same."""
    claim = {
        "hypotheses.0.claim": "minimum_effect", "hypotheses.0.statement": "better by more than the SESOI",
        "tests.1": {"id": "e", "test": "equivalence", "version": 1}, "multiplicity.policy": "bonferroni",
    }  # fmt: skip
    rule = "e.minimum_effect is true and m.p_value < {}"
    both = reference({**claim, "hypotheses.0.rule": rule.format("0.01"), "hypotheses.0.equivalence": "e"})
    alone = reference({**claim, "hypotheses.0.rule": rule.format("0.005")})
    assert (both.standard_error is None, alone.standard_error is None) == (False, True)
    assert abs(both.power - alone.power) < 4 * both.standard_error


def test_a_rule_that_its_family_puts_out_of_reach_has_no_power():
    """Six clusters have a least p of 1/32, which Bonferroni over three makes 3/32."""
    three = family("bonferroni")
    for population in three["populations"]:
        population.pop("independence")
        population |= {"n": 60, "clusters": {"key": "c", "n": 6}}
    flips = {"id": "m", "test": "clustered-mcnemar", "version": 1, "parameters": {"method": "sign_flip"}}
    changes = {**three, "tests.0": flips}
    for hypothesis in three["hypotheses"]:
        hypothesis["rule"] = "m.p_value < 0.05 and delta >= 2 pp"
    assert {each.can_pass for each in powers(changes)} == {False}
    alone = {**changes, "multiplicity": {"policy": "none", "family": ["H0"]}}
    assert powers(alone)[0].can_pass is not False


@pytest.mark.parametrize(
    "changes",
    [
        {"hypotheses.0.rule": "m.p_value < 0.05"},
        {"hypotheses.0.rule": "delta <= -3 pp and m.p_value < 0.05"},
        {"hypotheses.0.claim": "equivalence", "hypotheses.0.rule": "m.p_value > 0.05"},
        {**clusters(20, 400), "hypotheses.0.rule": "m.p_value < 0.05"},
    ],
)
def test_a_rule_that_lint_refuses_has_no_power(changes):
    """Enumerated, it would count outcomes in which the rule holds and the claim does not."""
    (found,) = powers({**changes, "assumptions": STATED})
    assert found.can_pass is not False
    assert (found.reference, found.low, found.high, found.power) == (None, None, None, ())
    assert "lint refuses it" in found.reason
    said = findings(changes)
    assert {"CLAIM_NOT_ASSERTED", "ABSENCE_OF_EVIDENCE"} & set(said)
    assert "LOW_POWER" not in said


@pytest.mark.slow
@pytest.mark.parametrize("n", [50_000, 500, 1_000_000])
def test_blocks_of_few_data_sets_count_in_the_cost(n, monkeypatch):
    """Under `exclude_pair` data sets are drawn in blocks, and a search makes many small ones: all are paid for."""
    blocks = []
    block = Procedure._block

    def counted(self, worlds, n_sets, seed, only):
        blocks.append(BLOCK + READ * sum(len(each.uses) for each in self.settings))
        return block(self, worlds, n_sets, seed, only)

    monkeypatch.setattr(Procedure, "_block", counted)
    boot = {"id": "boot", "test": "paired-bootstrap", "version": 1}
    rule = "delta >= 2.0 pp and m.p_value < 0.05 and boot.ci excludes 0"
    assumed = {"discordance": 0.12, "missing": 0.0201}
    (found,) = rule_powers(
        plan({"populations.0.n": n, "tests.1": boot, "hypotheses.0.rule": rule, "assumptions": assumed}), {}
    )
    assert sum(blocks) < LINT_BUDGET + TABLE_BUDGET
    assert found.reference.power is not None
    assert all(each.power is not None for each in found.power)


def test_the_table_comes_before_the_searches():
    """Whose steps may take all that is left: they say so, and no cell is empty."""
    boot = {"id": "boot", "test": "cluster-bootstrap", "version": 1, "parameters": {}}
    flip = {"id": "m", "test": "clustered-mcnemar", "version": 1, "parameters": {"method": "sign_flip"}}
    rule = "delta >= 2.0 pp and m.p_value < 0.05 and boot.ci excludes 0"
    more = {"tests.0": flip, "tests.1": boot, "hypotheses.0.rule": rule}
    (found,) = powers({**clusters(40, 764), **more})
    assert all(each.power is not None for each in found.power)
