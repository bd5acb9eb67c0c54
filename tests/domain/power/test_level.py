"""The level of a rule: against brute force over all outcomes, and what lint says of it."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from service.domain.lint import lint as service_lint
from service.domain.lint.level import level_findings
from service.domain.power.distributions.shapes import name_shape
from service.domain.power.levels.level import level_of, levels
from service.domain.rules.settings import resolve
from tests.domain import sample
from tests.drawing import mostly_slow

pytestmark = pytest.mark.usefixtures("no_power")

TESTS = [
    {"id": "m", "test": "mcnemar", "version": 1},
    {"id": "b", "test": "paired-bootstrap", "version": 1},
    {"id": "s", "test": "paired-bootstrap", "version": 1, "parameters": {"comparison": "strict"}},
    {"id": "d", "test": "paired-difference", "version": 1},
    {"id": "e", "test": "equivalence", "version": 1},
    {
        "id": "e5",
        "test": "equivalence",
        "version": 1,
        "parameters": {"margin": {"value": 5, "unit": "pp"}},
        "margin_reason": "as in the pilot",
    },
]


def changes(rule, claim="superiority", n=500, **more):
    return {
        "populations.0.n": n,
        "hypotheses.0.rule": rule,
        "hypotheses.0.claim": claim,
        "hypotheses.0.statement": "C2 and C1 compare",
        "tests": TESTS,
        **more,
    }


def level(rule, claim="superiority", n=500, **more):
    plan = sample.plan(changes(rule, claim, n, **more))
    return level_of(plan, {}, resolve(plan).settings[0])


@cache
def holds(rule, n, wins, losses, claim):
    """Whether the verdict on one table finds the rule true."""
    arms = sample.outcomes(*sample.binary(n, (n - wins - losses) // 2, wins, losses))
    return sample.verdict_of(changes(rule, claim, n), arms).hypotheses[0].rule_holds is True


def by_definition(rule, n, share, truth, claim="superiority"):
    """The chance that the rule holds, over every table of n pairs, each put to the tests themselves."""
    up, down = (share + truth) / 2, (share - truth) / 2
    total = 0.0
    for wins in range(n + 1):
        for losses in range(n + 1 - wins):
            rest = n - wins - losses
            ways = math.comb(n, wins) * math.comb(n - wins, losses)
            if holds(rule, n, wins, losses, claim):
                total += ways * up**wins * down**losses * (1 - share) ** rest
    return total


@pytest.mark.parametrize(
    ("rule", "claim", "truth"),
    [
        ("delta > 0 and s.p_value < 0.05", "superiority", 0.0),
        ("delta > 0 and m.p_value < 0.5", "superiority", 0.0),
        ("d.ci.low > -30 pp", "non_inferiority", -0.02),
    ],
)
def test_the_level_is_the_greatest_chance_over_all_tables(rule, claim, truth):
    n, found = 7, level(rule, claim, 7)
    assert found.truth == pytest.approx(truth)
    assert found.level == pytest.approx(by_definition(rule, n, found.discordance, truth, claim), abs=1e-12)
    for share in (0.06, 0.15, 0.25, 0.3):
        assert by_definition(rule, n, share, truth, claim) <= found.level + 1e-6


@pytest.mark.parametrize(
    ("rule", "n", "told"),
    [
        ("b.p_better < 0.05", 500, 0.0925),
        ("delta >= 2 pp", 500, 0.2189),
        ("m.p_value < 0.05 or b.p_better < 0.05", 500, 0.0925),
        ("delta >= 0 and m.p_value < 0.5", 500, 0.2246),
        ("delta > 0 and s.p_value < 0.05", 100, 0.0708),
    ],
)
def test_rules_that_hold_too_often_are_warned_about_with_the_number(rule, n, told):
    found = level(rule, n=n)
    assert found.level == pytest.approx(told, abs=5e-4)
    said = service_lint.lint(sample.plan(changes(rule, n=n)), {})
    (warned,) = [each for each in said if each.code == "LEVEL_EXCEEDED"]
    assert warned.asks
    assert f"{found.level:.2g}" in warned.message


@pytest.mark.parametrize(
    ("rule", "claim", "alpha"),
    [
        ("delta >= 2 pp and m.p_value < 0.05 and b.ci excludes 0", "superiority", 0.05),
        ("b.ci.low > 0", "superiority", 0.025),
        ("e.noninferior is true", "non_inferiority", 0.05),
        ("e5.equivalent is true", "equivalence", 0.05),
        ("e5.ci.low > -5 pp and e5.ci.high < 5 pp", "equivalence", 0.05),
        ("e.minimum_effect is true", "minimum_effect", 0.05),
    ],
)
def test_rules_that_keep_their_alpha_are_not(rule, claim, alpha):
    found = level(rule, claim)
    assert found.alpha == alpha
    assert found.level <= 1.1 * alpha
    said = {each.code for each in service_lint.lint(sample.plan(changes(rule, claim)), {})}
    assert not said & {"LEVEL_EXCEEDED", "CLAIM_NOT_ASSERTED"}


def test_a_margin_of_the_test_is_where_its_claim_fails():
    assert abs(level("e5.equivalent is true", "equivalence").truth) == pytest.approx(0.05)
    assert level("e.noninferior is true", "non_inferiority").truth == pytest.approx(-0.02)
    lower = {"endpoints.0.better": "lower"}
    assert level("e.p_upper < 0.05", "non_inferiority", **lower).truth == pytest.approx(0.02)


def test_a_claim_fails_first_at_the_number_of_its_statement():
    """Where it asks for more than the SESOI, which was taken."""
    half = {"hypotheses.0.statement": "C2 is not worse than C1 by more than 1 pp"}
    assert level("d.ci.low > -1 pp", "non_inferiority", **half).truth == pytest.approx(-0.01)
    larger = {"hypotheses.0.statement": "C2 is better than C1 by at least 4 pp"}
    assert level("d.ci.low > 4 pp", "minimum_effect", **larger).truth == pytest.approx(0.04)


def test_clusters_and_scores_are_simulated_with_their_error():
    grouped = {"populations.0.independence": None, "populations.0.clusters": {"key": "c", "n": 20}}
    sign_flip = [{"id": "c", "test": "clustered-mcnemar", "version": 1}]
    found = level("delta > 0 and c.p_value < 0.05", n=200, **grouped, tests=sign_flip)
    assert (found.method, found.icc in (0.05, 0.2)) == ("simulated", True)
    assert abs(found.level - 0.023) < 4 * found.standard_error
    paired = [{"id": "t", "test": "t-test", "version": 1, "parameters": {"method": "paired"}}]
    scores = {"endpoints.0.kind": "continuous", "sesoi": {"accuracy": {"value": 0.1, "unit": "score"}}}
    found = level("delta > 0 and t.p_value < 0.05", n=50, **scores, tests=paired)
    assert abs(found.worlds["normal"] - 0.025) < 0.03
    assert found.level == max(found.worlds.values()) > 0.08
    assert (found.world, found.worlds["rare_gains"] < 0.01) == ("rare_losses", True)


SCORES = {"endpoints.0.kind": "continuous", "sesoi": {"accuracy": {"value": 0.1, "unit": "score"}}}


def on_scores(rule, test, n, parameters=None, **more):
    tests = [{"id": "t", "test": test, "version": 1, "parameters": parameters or {}}]
    made = sample.plan(changes(rule, n=n, **SCORES, **{"tests": tests, **more}))
    return level_of(made, {}, resolve(made).settings[0]), [
        each for each in service_lint.lint(made, {}) if each.code.startswith("LEVEL_")
    ]


@pytest.mark.parametrize(
    ("rule", "test", "n", "parameters", "least"),
    [
        ("delta > 0 and t.p_value < 0.05", "t-test", 20, {"method": "paired"}, 0.24),
        ("t.ci.low > 0", "paired-bootstrap", 20, {}, 0.2),
    ],
)
def test_rules_on_scores_are_told_at_the_worst_shape_and_it_is_named(rule, test, n, parameters, least):
    """Told before: .024 and .04."""
    found, said = on_scores(rule, test, n, parameters)
    assert found.level > least
    assert found.worlds["normal"] < 0.06
    (asked,) = [each for each in said if each.code == "LEVEL_EXCEEDED"]
    assert f"with a chance of up to {found.level:.2g}" in asked.message
    assert name_shape(found.world).text("en") in asked.message
    assert "With normal differences it is about" in asked.message


@pytest.mark.parametrize(
    ("rule", "test", "parameters"),
    [
        ("delta > 0 and t.p_value < 0.05", "wilcoxon", {"alternative": "greater"}),
        ("delta > 0 and t.p_value < 0.05", "mann-whitney", {"alternative": "greater"}),
        ("delta > 0 and t.ci.low > 0", "quantile-difference", {"of": "differences"}),
    ],
)
def test_rules_about_ranks_and_medians_are_told_where_these_do_not_differ(rule, test, parameters):
    found, said = on_scores(rule, test, 200, parameters)
    assert found.level < 1.1 * found.alpha + 3 * found.standard_error
    assert {"normal", "skewed_left", "skewed_right", "heavy"} <= set(found.worlds)
    assert said == []


def test_ranks_beside_a_test_of_means_are_told_where_the_means_do_not_differ():
    """The ranks then answer for another effect: what is left is the level of the test of means."""
    rank = {"id": "w", "test": "wilcoxon", "version": 1, "parameters": {"alternative": "greater"}}
    mean = {"id": "t", "test": "t-test", "version": 1, "parameters": {"method": "paired"}}
    rule = "delta > 0 and w.p_value < 0.05 or t.ci.low > 0"
    made = sample.plan(changes(rule, n=200, **SCORES, tests=[rank, mean]))
    assert level_of(made, {}, resolve(made).settings[0]).level > 0.4


def test_a_t_test_of_many_scores_keeps_its_alpha_in_every_shape():
    found, said = on_scores("delta > 0 and t.p_value < 0.05", "t-test", 1000, {"method": "paired"})
    assert found.level < 0.055
    assert said == []


def test_a_pilot_stands_in_for_the_shapes():
    """Even differences of a pilot: no level of rare losses is told."""
    differences = tuple(np.linspace(-1, 1, 60))
    made = sample.plan(
        changes(
            "delta > 0 and t.p_value < 0.05", n=30, **SCORES,
            tests=[{"id": "t", "test": "t-test", "version": 1, "parameters": {"method": "paired"}}],
        )
    )  # fmt: skip
    (found,) = levels(made, {}, {"H1": differences})
    assert (found.world, set(found.worlds)) == ("pilot", {"pilot"})
    assert abs(found.level - 0.025) < 4 * found.standard_error + 0.005
    assert levels(made, {})[0].level > 0.2


def test_a_level_that_cannot_be_told_is_a_finding():
    found, said = on_scores("t.ci.low > 0", "paired-bootstrap", 40, {"method": "bca"})
    assert found.level is None
    (asked,) = said
    assert (asked.code, asked.severity, asked.asks) == ("LEVEL_UNKNOWN", "warning", True)
    assert found.reason in asked.message


def test_a_test_with_an_unusual_alpha_is_judged_as_what_it_does():
    """A level of .2 is what an alpha of .4 says, and no evidence."""
    loose = [{"id": "m", "test": "mcnemar", "version": 1, "parameters": {"alpha": 0.4}}]
    made = sample.plan(changes("delta > 0 and m.p_value < 0.4", tests=loose))
    found = level_of(made, {}, resolve(made).settings[0])
    assert (found.alpha, 0.15 < found.level <= 0.2) == (0.4, True)
    (asked,) = [each for each in service_lint.lint(made, {}) if each.code == "LEVEL_EXCEEDED"]
    assert "above 0.05 (its tests are set to an alpha of 0.4)" in asked.message
    assert asked.asks


def looked_at(rule, method="group_sequential", n=500, parameters=None, **more):
    """A plan with four looks, or one that is read after every item, and the level of its rule."""
    stopping = {"kind": "group_sequential", "looks": 4}
    test = {
        "id": "q",
        "test": "sequential",
        "version": 1,
        "parameters": {"method": method} | (parameters or {}),
    }
    made = sample.plan(
        {
            "populations.0.n": n, "populations.0.order_seed": 5, "missing": "fail", "tests": [test],
            "stopping": stopping if method == "group_sequential" else {"kind": "anytime_valid"},
            "hypotheses.0.rule": rule, "hypotheses.0.statement": "C2 and C1 compare", **more,
        }
    )  # fmt: skip
    return level_of(made, {}, resolve(made).settings[0]), [each.code for each in service_lint.lint(made, {})]


@pytest.mark.parametrize(
    ("parameters", "expected"), [({}, 0.025), ({"alternative": "greater"}, 0.05), ({"alpha": 0.01}, 0.005)]
)
def test_the_level_over_the_looks_is_the_error_that_the_boundaries_spend(parameters, expected):
    """Pocock's and O'Brien and Fleming's spend all of it by the last look; counts meet it closely, not exactly."""
    rule = f"q.p_value < {parameters.get('alpha', 0.05)} and delta > 0"
    for spending in ("pocock", "obrien_fleming"):
        stopping = {"kind": "group_sequential", "looks": 4, "spending": spending}
        found, said = looked_at(rule, parameters=parameters, stopping=stopping)
        assert abs(found.level - expected) < 4 * found.standard_error
        assert (found.method, found.alpha) == ("simulated", parameters.get("alpha", 0.05))
        assert "LEVEL_EXCEEDED" not in said


@pytest.mark.parametrize("method", ["group_sequential", "e_process"])
def test_a_sequential_rule_above_its_alpha_is_warned_about(method):
    found, said = looked_at("q.p_value < 0.3 and delta > 0", method)
    assert found.level > 0.055 + 3 * found.standard_error
    assert "LEVEL_EXCEEDED" in said
    within, said = looked_at("q.p_value < 0.05 and delta > 0", method)
    assert 0 < within.level < 0.04
    assert "LEVEL_EXCEEDED" not in said


def test_the_level_of_a_confidence_sequence_is_told_at_its_margin():
    claim = {"hypotheses.0.claim": "non_inferiority", "sesoi": {"accuracy": {"value": 10, "unit": "pp"}}}
    found, _ = looked_at("q.ci.low > -10 pp", "confidence_sequence", **claim)
    assert found.truth == pytest.approx(-0.1)
    assert 0 <= found.level <= 0.025 + 3 * found.standard_error


@pytest.mark.slow
def test_levels_of_so_many_units_that_few_are_simulated_rest_on_the_clauses():
    found, said = looked_at("q.p_value < 0.3 and delta > 0", "e_process", n=20_000)
    assert 3 * found.standard_error > found.alpha
    assert "LEVEL_EXCEEDED" in said
    assert looked_at("q.p_value < 0.05 and delta > 0", "e_process", n=20_001)[0].reason == (
        "levels are simulated up to 20000 units"
    )


def test_a_test_of_one_look_has_no_level_in_a_plan_with_several():
    fixed = [{"id": "m", "test": "mcnemar", "version": 1}]
    found, said = looked_at("m.p_value < 0.05 and delta > 0", tests=fixed)
    assert "SEQUENTIAL_TEST" in said
    assert (found.level, found.reason) == (None, "the plan is not complete here")


def test_what_is_not_known_has_a_reason():
    assert level("b.ci.low > nonsense").reason == "the plan is not complete here"
    bca = [{"id": "b", "test": "paired-bootstrap", "version": 1, "parameters": {"method": "studentized"}}]
    assert "b.ci" in level("b.ci.low > 0", tests=bca).reason
    assert level("delta > 0 and m.p_value < 0.05", n=30_000).reason.startswith("levels are worked out")


def test_a_family_that_nothing_corrects_is_warned_about():
    eight = {
        f"hypotheses.{index}": sample.VALUE["hypotheses"][0]
        | {"id": f"H{index + 1}", "candidate": f"C{index + 2}", "rule": "delta >= 2 pp and m.p_value < 0.05"}
        for index in range(8)
    }
    names = [f"H{index + 1}" for index in range(8)]
    for policy, warned in (("none", True), ("holm", False)):
        plan = sample.plan({**eight, "multiplicity": {"policy": policy, "family": names}})
        alone = [each.level for each in levels(plan, {})]
        found = [each for each in service_lint.lint(plan, {}) if each.code == "FAMILY_LEVEL"]
        assert bool(found) is warned
        if warned:
            assert f"{sum(alone):.2g} ({1 - np.prod([1 - each for each in alone]):.2g} if" in found[0].message
            assert found[0].asks


@pytest.mark.parametrize(
    ("rule", "by_policy"),
    [
        ("delta > 0 and m.p_value < 0.05", None),
        ("delta > 0 and m.p_value < 0.1", None),  # one of its two sides is claimed: .05
        ("delta > 0 and m.p_value < 0.05 and b.ci excludes 0", None),
        ("delta > 0 and m.p_value < 0.99 and b.ci excludes 0", 0.495),
        ("m.p_value < 0.5 and b.p_better < 0.05", 0.25),
    ],
)
@pytest.mark.parametrize("policy", mostly_slow(["holm", "fixed_sequence", "bh"]))
def test_a_policy_corrects_no_more_than_the_p_values_that_rules_ask_for(rule, by_policy, policy):
    first = sample.VALUE["hypotheses"][0] | {"rule": rule, "statement": "C2 is better"}
    plan = sample.plan(
        {
            "hypotheses": [first | {"id": f"H{at}", "candidate": f"C{at + 2}"} for at in range(5)],
            "tests.1": {"id": "b", "test": "paired-bootstrap", "version": 1, "parameters": {}},
            "multiplicity": {"policy": policy, "family": []},
        }
    )
    alone = sum(each.level for each in levels(plan, {}))
    found = [each for each in level_findings(plan, {}, resolve(plan).settings) if each.code == "FAMILY_LEVEL"]
    assert bool(found) is (by_policy is not None)
    assert not found or f"up to {min(alone, by_policy):.2g}, above alpha 0.05" in found[0].message


FEW_UNITS = [
    *[(kind, n, None) for kind in ("binary", "continuous") for n in (8, 10, 15)],
    *[(kind, 20 * g, g) for kind in ("binary", "continuous") for g in range(5, 11)],
]


@pytest.mark.parametrize(("kind", "n", "clusters"), mostly_slow(FEW_UNITS, 5))
def test_the_bootstraps_of_few_units_exceed_alpha_and_lint_asks_with_the_number(kind, n, clusters):
    """Right and wrong items are held to their signs; of scores so few are skewed at worst, to be acknowledged."""
    found = {"id": "one", "dataset": "D", "n": n, "independence": "drawn one by one"}
    if clusters is not None:
        found = {"id": "one", "dataset": "D", "n": n, "clusters": {"key": "c", "n": clusters}}
    unit = {"value": 2, "unit": "pp"} if kind == "binary" else {"value": 1, "unit": "score"}
    name = "paired-bootstrap" if clusters is None else "cluster-bootstrap"
    plan = sample.plan(
        {
            "populations.0": found,
            "hypotheses.0.statement": "C2 beats C1",
            "hypotheses.0.rule": "b.p_value < 0.05",
            "tests": [{"id": "b", "test": name, "version": 1, "parameters": {}}],
            "endpoints.0.kind": kind,
            "sesoi": {"accuracy": unit},
        }
    )
    (told,) = levels(plan, {})
    if kind == "binary":
        assert told.level < 0.055
        assert [each.code for each in service_lint.lint(plan, {}) if each.code == "LEVEL_EXCEEDED"] == []
        return
    assert told.level > 0.06
    assert told.worlds["normal"] < 0.06
    (asked,) = (each for each in service_lint.lint(plan, {}) if each.code == "LEVEL_EXCEEDED")
    assert asked.severity == "warning"
    assert f"with a chance of up to {told.level:.2g}" in asked.message
