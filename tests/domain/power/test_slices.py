"""How often every slice passes, by enumeration; and second endpoints in a corrected family."""

from __future__ import annotations

from math import comb

import pytest

from service.domain.plans.manifest import ManifestFacts, StratumFacts
from service.domain.power.rule_power import rule_powers
from service.domain.power.two_arms.slices import slice_power
from service.stats.shared.methods.slicing import weigh_counts
from tests.domain.rules.swaps import SWAP
from tests.domain.sample import VALUE, facts_of, plan
from tests.drawing import mostly_slow

ASKED = {"slices": {"by": "stratum", "no_worse_than": {"value": 40, "unit": "pp"}}}


def told(sizes, changes=None, **facts):
    made = plan({"populations.0.n": sum(sizes), **ASKED, **(changes or {})})
    strata = tuple(StratumFacts(stratum=f"s{k}", n=n, n_clusters=None) for k, n in enumerate(sizes))
    known = ManifestFacts(
        **{"n": sum(sizes), "items_sha256": "", "n_clusters": None, "strata": strata, **facts}
    )
    return rule_powers(made, {"one": known})[0]


def by_hand(n, won, lost, margin, alpha=0.05):
    """Every outcome of n items, weighed as the verdict weighs a slice."""
    return sum(
        comb(n, c) * comb(n - c, b) * won**b * lost**c * (1 - won - lost) ** (n - b - c)
        for c in range(n + 1)
        for b in range(n - c + 1)
        if weigh_counts(b, c, n, margin, alpha).p < alpha
    )


@pytest.mark.parametrize("margin", mostly_slow([0.1, 0.4]))
@pytest.mark.parametrize("n", mostly_slow([1, 6, 13, 30], 2))
def test_a_slice_against_every_outcome(n, margin):
    for discordance, better in ((0.3, 0.0), (0.3, 0.2), (0.2, -0.1), (0.2, 0.2), (0.2, -0.2), (1.0, 0.5)):
        won, lost = (discordance + better) / 2, (discordance - better) / 2
        expected = by_hand(n, won, lost, margin)
        assert slice_power(n, better, discordance, margin, 0.05) == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("better", mostly_slow(["higher", "lower"]))
def test_all_slices_pass_with_the_product_of_their_chances(better):
    sizes, sign = (8, 12, 9), 1 if better == "higher" else -1
    rule = "delta <= -2.0 pp and m.p_value < 0.05 and m.ci excludes 0"
    lower = {"endpoints.0.better": "lower", "hypotheses.0.rule": rule} if sign < 0 else {}
    found = told(sizes, {"assumptions": {"discordance": 0.3}, **lower}).slices
    assert {(each.discordance, each.truth) for each in found.power} == {(0.3, 0.0), (0.3, sign * 0.02)}
    for each in found.power:
        won, lost = (0.3 + sign * each.truth) / 2, (0.3 - sign * each.truth) / 2
        chances = [by_hand(n, won, lost, 0.4) for n in sizes]
        assert each.power == pytest.approx(chances[0] * chances[1] * chances[2], abs=1e-11)
        assert each.weakest == f"s{chances.index(min(chances))}"
        assert each.weakest_power == pytest.approx(min(chances), abs=1e-11)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"assumptions": {"missing": 0.1}}, "all results in"),
        ({"sesoi": {}}, "SESOI"),
        (
            {
                "endpoints.0.kind": "continuous",
                "tests.0": {"id": "m", "test": "t-test", "version": 1},
                "sesoi": {"accuracy": {"value": 0.1, "unit": "score"}},
                "slices.no_worse_than": {"value": 0.4, "unit": "score"},
                "hypotheses.0.rule": "delta >= 0.1 and m.p_value < 0.05 and m.ci excludes 0",
            },
            "scores are not simulated",
        ),
    ],
)
def test_what_is_not_told_of_slices_says_why(changes, reason):
    found = told((30, 30), changes).slices
    assert found.power == ()
    assert reason in found.reason


def test_slices_of_clusters_are_not_told():
    clusters = {
        "populations.0.independence": None,
        "populations.0.clusters": {"key": "c", "n": 12},
        "tests.0": {"id": "m", "test": "clustered-mcnemar", "version": 1},
    }
    found = told((30, 30), clusters, n_clusters=12, cluster_sizes=(5,) * 12).slices
    assert "clusters are not simulated" in found.reason


def test_power_of_a_plan_without_slices_keeps_its_bytes():
    made = plan()
    (found,) = rule_powers(made, facts_of(made))
    assert "slices" not in found.model_dump_json()


def family(policy, order=("H1", "H2"), own="0.05", beside="0.05"):
    """H1 on accuracy alone, H2 on accuracy and costs."""
    first = {**VALUE["hypotheses"][0], "rule": "delta >= 2.0 pp and quality.p_value < 0.05"}
    second = f"delta >= 2.0 pp and quality.p_value < {own} and cost.p_value < {beside}"
    made = plan(
        {
            "populations.0.n": 60,
            "endpoints.1": SWAP["endpoints.1"],
            "tests": [
                {"id": "quality", "test": "mcnemar", "version": 1},
                {
                    "id": "cost", "test": "ratio-of-means", "version": 1, "endpoint": "usd",
                    "parameters": {"alternative": "less"},
                },
            ],
            "hypotheses": [first, {**first, "id": "H2", "rule": second}],
            "multiplicity": {"policy": policy, "family": list(order)},
            "assumptions": {"discordance": 0.4, "effect": {"value": 20, "unit": "pp"}},
        }
    )  # fmt: skip
    return rule_powers(made, facts_of(made))


@pytest.mark.slow
def test_bonferroni_shares_out_the_thresholds_of_every_endpoint():
    _, shared = family("bonferroni")
    _, by_hand = family("none", own="0.025", beside="0.025")
    _, alone = family("none")
    assert shared.reference.power == pytest.approx(by_hand.reference.power)
    assert 0 < shared.reference.power < 0.95 * alone.reference.power


def test_a_second_endpoint_in_a_family_of_steps_is_told_to_be_left_out():
    first, second = family("holm")
    assert second.reference is None
    assert "`cost.p_value` of another endpoint is adjusted in the family by `holm`" in second.reason
    # it counts as never shown, so H1 keeps Bonferroni's share
    assert "p-values of H2 are not simulated and count as 1 in the family" in first.assumptions
    assert "no less than this" in first.assumptions
    floor, _ = family("bonferroni")
    assert first.reference.power == pytest.approx(
        floor.reference.power, abs=4 * first.reference.standard_error
    )


def test_a_sequence_does_not_go_on_past_what_is_not_simulated():
    after, _ = family("fixed_sequence", order=("H2", "H1"))
    assert after.reference is None
    assert "tests H2 before" in after.reason
    before, _ = family("fixed_sequence")
    assert before.reference.power is not None
