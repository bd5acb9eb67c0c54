"""The worked examples of docs/power-of-a-rule.md are what the code answers, and lint says what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.domain.lint import lint
from service.domain.power.enumerated.enumerated_tests import BinaryTest
from service.domain.power.rule_power import MOST_HYPOTHESES, rule_powers
from service.domain.power.two_arms.equivalence_reach import equivalence_reach
from service.domain.rules.settings import resolve
from tests.domain.lint.worked import worked_example
from tests.domain.sample import VALUE, facts_of, plan
from tests.drawing import one_in

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "power-of-a-rule.md").read_text("utf-8")


def powers(changes):
    changed = plan(changes)
    return rule_powers(changed, facts_of(changed))


def findings(changes):
    changed = plan(changes)
    return lint.lint(changed, facts_of(changed))


def percent(value):
    return f"{100 * value:.1f} %"


def rows_of(power, *, error=False):
    """The power table as the page prints it: one row per discordance."""
    found = {}
    for each in power:
        shown = "" if each.power is None else percent(each.power)
        if error and each.standard_error is not None:
            shown += f" ({100 * each.standard_error:.1f})"
        found.setdefault(each.discordance, []).append(shown)
    return [f"| {100 * share:.0f} % | {' | '.join(cells)} |" for share, cells in found.items()]


def test_an_item_level_rule():
    """About a quarter at the SESOI and 10 % discordance, whatever one hopes from 500 items."""
    first = powers(worked_example(5))[0]
    assert (first.method, first.can_pass, first.least_discordant) == ("exact", True, 10)
    for row in rows_of(first.power):
        assert row in PAGE
    at = next(each for each in first.power if (each.discordance, each.truth) == (0.1, 0.02))
    assert at.power == pytest.approx(0.249, abs=0.0005)
    by_target = {
        target: [each for each in first.detectable if each.target == target] for target in (0.8, 0.9)
    }
    for often, oftener in zip(*by_target.values(), strict=True):
        effects = f"{100 * often.effect:.2f} pp | {100 * oftener.effect:.2f} pp"
        assert f"| {100 * often.discordance:.0f} % | {effects} |" in PAGE
    at_sesoi, often, oftener = first.required
    assert f"{often.n} items, for 90 % {oftener.n}" in PAGE
    assert at_sesoi.n is None
    assert at_sesoi.reason in PAGE


@pytest.mark.slow
def test_five_clusters_never_pass_and_six_seldom():
    never = powers(worked_example(5))[1]
    assert (never.can_pass, never.power) == (False, ())
    message = next(each.message for each in findings(worked_example(5)) if each.code == "RULE_NEVER_PASSES")
    assert message in PAGE
    for n_clusters in (6, 40):
        found = powers(worked_example(n_clusters))[1]
        assert found.method == "simulated"
        for row in rows_of(found.power, error=True):
            assert row in PAGE, row


def test_low_power_is_warned_about_with_its_numbers():
    warned = [each for each in findings(worked_example(40)) if each.code == "LOW_POWER"]
    assert [each.path for each in warned] == ["hypotheses[0].rule", "hypotheses[1].rule"]
    assert {each.severity for each in warned} == {"warning"}
    assert warned[0].message in PAGE
    assert "±" in warned[1].message
    many = {
        "populations.0.n": 8000,
        "hypotheses.0.rule": "delta > 0 and m.p_value < 0.05",
        "hypotheses.0.statement": "C2 beats C1",
    }
    assert not [each for each in findings(many) if each.code == "LOW_POWER"]


REACHES = [
    (500, {}, 34),
    (500, {"method": "bootstrap_ci"}, 32),
    (500, {"method": "bootstrap_ci", "bounds": "seed"}, 40),
    (764, {}, 84),
    (1000, {}, 144),
    (2000, {}, 590),
    (149, {}, 0),
    (148, {}, None),
]


def reach(n, parameters):
    changed = plan(
        {
            "populations.0.n": n,
            "tests.1": {"id": "e", "test": "equivalence", "version": 1, "parameters": parameters},
            "hypotheses.0.equivalence": "e",
        }
    )
    use = resolve(changed).settings[0].uses["e"]
    return changed, equivalence_reach(BinaryTest(use, changed.endpoints[0], n, changed.sesoi["accuracy"]))


@pytest.mark.parametrize(("n", "parameters", "most"), one_in(3, REACHES))
def test_how_many_discordant_items_equivalence_bears(n, parameters, most):
    changed, found = reach(n, parameters)
    assert found.most_discordant == most
    codes = [each.code for each in lint.lint(changed, facts_of(changed))]
    assert ("EQUIVALENCE_OUT_OF_REACH" in codes) is (most is None)
    if most and not parameters:
        assert f"| {n} | {most} | {percent(most / n)} |" in PAGE


@pytest.mark.parametrize(("n", "parameters"), [(60, {}), (40, {"method": "bootstrap_ci"})])
def test_no_outcome_with_more_discordant_items_shows_equivalence(n, parameters):
    """By asking the test for every cell; the margin is 10 pp."""
    parameters = {**parameters, "margin": {"value": 10, "unit": "pp"}}
    changed, found = reach(n, parameters)
    test = BinaryTest(resolve(changed).settings[0].uses["e"], changed.endpoints[0], n, None)
    shown = [
        m
        for m in range(n + 1)
        if any(
            test.answer(b, m)["analysis"]["equivalent"]
            for b in range(max(0, m // 2 - 3), m // 2 + 4)
            if b <= m
        )
    ]
    assert found.most_discordant == max(shown)


def test_what_cannot_be_enumerated_is_said():
    changes = {
        "tests.1": {
            "id": "boot",
            "test": "paired-bootstrap",
            "version": 1,
            "parameters": {"method": "bca"},
        },
        "hypotheses.0.rule": "delta >= 2 pp and boot.ci excludes 0",
    }
    (found,) = powers(changes)
    assert (found.method, found.can_pass) == (None, None)
    assert "`boot.ci` is not decided by the discordant counts" in found.reason
    assert all(each.power is None and each.reason for each in found.power)
    # an impossible part settles the rule all the same
    (never,) = powers({**changes, "hypotheses.0.rule": "boot.ci excludes 0 and m.p < 0.05 and delta == 0"})
    assert never.can_pass is False


@pytest.mark.slow
def test_a_plan_of_many_hypotheses_is_worked_out_in_part():
    many = [{**VALUE["hypotheses"][0], "id": f"H{index}"} for index in range(MOST_HYPOTHESES + 2)]
    found = powers({"hypotheses": many})
    assert [each.hypothesis for each in found] == [each["id"] for each in many]
    assert all(each.method == "exact" for each in found[:MOST_HYPOTHESES])
    assert all("first 20" in each.reason for each in found[MOST_HYPOTHESES:])


@pytest.mark.parametrize(
    "changes",
    [
        {"hypotheses.0.rule": "delta is large"},
        {"hypotheses.0.rule": "q.p < 0.05"},
        {"hypotheses.0.population": "two"},
        {"hypotheses.0.endpoint": "speed"},
        {"tests.0.parameters": {"alpha": "0.05"}},
        {"sesoi": {}},
        {"endpoints.0.kind": "counts"},
        {"sesoi.accuracy": {"value": 2, "unit": "score"}},
    ],
)
def test_drafts_with_gaps_have_no_power_and_no_fault(changes):
    (found,) = powers(changes)
    assert (found.method, found.power) == (None, ())
    assert found.reason
    assert "LOW_POWER" not in [each.code for each in findings(changes)]


@pytest.mark.parametrize(
    ("claim", "truth"), [("equivalence", 0), ("non_inferiority", 0), ("superiority", 0.02)]
)
def test_the_reference_is_where_the_claim_should_come_out(claim, truth):
    rule = "t.ci within (-2 pp, 2 pp)" if claim != "superiority" else "m.p_value < 0.05 and delta >= 2 pp"
    tango = {"id": "t", "test": "paired-difference", "version": 1}
    (found,) = powers({"hypotheses.0.claim": claim, "hypotheses.0.rule": rule, "tests.1": tango})
    assert (found.reference.discordance, found.reference.truth) == (0.1, truth)


def test_a_rule_that_favours_the_baseline_is_told_in_its_direction():
    lower = {"hypotheses.0.rule": "delta <= -2 pp and m.p_value < 0.05", "endpoints.0.better": "lower"}
    (found,), (mirror,) = powers(lower), powers({"hypotheses.0.rule": "delta >= 2 pp and m.p_value < 0.05"})
    assert len(found.power) == 12
    assert [each.truth for each in found.power] == [-each.truth for each in mirror.power]
    assert [each.power for each in found.power] == pytest.approx([each.power for each in mirror.power])
