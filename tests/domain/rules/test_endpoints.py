"""A rule that speaks of several endpoints: no worse in quality and cheaper."""

from __future__ import annotations

import numpy as np
import pytest

from service.domain.calibration.case import case_of
from service.domain.lint import lint as whole
from service.domain.plans.plan import Plan
from service.domain.power.amounts import amounts_of, beside_words
from service.domain.power.levels.level import level_of
from service.domain.power.rule_power import power_at_reference
from service.domain.results.batches import ReceivedBatch, place_batch
from service.domain.results.secret_rows import SecretRows
from service.domain.rules.rule import sentence as rule_text
from service.domain.rules.settings import other_endpoints, own_part, parts_of, resolve
from service.domain.verdicts.joint import flips
from service.domain.verdicts.outcomes import Outcomes
from service.domain.verdicts.words.sentences import sentence
from service.errors import InvalidData
from tests.domain.rules.swaps import RULE, SWAP
from tests.domain.sample import binary, cell, codes, facts_of, findings, manifest, manifests, plan, verdict_of

N = 1000
RNG = np.random.default_rng(5)
COST = np.exp(RNG.normal(0, 0.5, N))
CHEAPER = 0.6 * COST * np.exp(RNG.normal(0, 0.3, N))


def results(before=COST, after=CHEAPER, quality=(N, 700, 24, 20)):
    """Accuracy and costs of both arms."""
    arms = dict(zip(("C1", "C2"), zip(binary(*quality), (before, after), strict=True), strict=True))
    return Outcomes(
        {
            ("one", arm, name): cell(values)
            for arm, columns in arms.items()
            for name, values in zip(("accuracy", "usd"), columns, strict=True)
        }
    )


def judged(changes, found):
    return verdict_of({**SWAP, **changes}, found).hypotheses[0]


def test_a_plan_without_them_says_nothing_new():
    text = plan().canonical_text()
    assert "positive" not in text
    assert '"endpoint":"accuracy"' in text
    assert text.count("endpoint") == 2  # the hypothesis' and the section


def test_the_swap_rule_locks():
    assert [each.code for each in findings(SWAP) if each.severity == "error"] == []
    setting = resolve(plan(SWAP)).settings[0]
    parts = parts_of(setting)
    assert other_endpoints(setting) == ("usd",)
    assert rule_text(parts.own) == "quality.ci.low > -2 pp"
    assert rule_text(parts.others["usd"]) == "cost.ratio.ci.high < 0.8"
    assert own_part(setting, parts.own).hypothesis.rule == "quality.ci.low > -2 pp"
    assert plan(SWAP).endpoints_asked(setting.hypothesis) == ("accuracy", "usd")


@pytest.mark.parametrize(
    ("changes", "code", "path"),
    [
        ({"hypotheses.0.rule": RULE.replace("0.8", "20 pp")}, "UNIT", "hypotheses[0].rule"),
        ({"hypotheses.0.rule": RULE.replace("< 0.8", "< -0.2")}, "UNIT", "hypotheses[0].rule"),
        ({"endpoints.1.positive": None}, "TEST_ENDPOINT", "hypotheses[0].rule"),
        ({"tests.1.endpoint": None}, "TEST_ENDPOINT", "hypotheses[0].rule"),
        ({"tests.1.endpoint": "eur"}, "UNKNOWN_NAME", "tests[1].endpoint"),
        ({"endpoints.1.populations": ["two"]}, "UNKNOWN_NAME", "tests[1].endpoint"),
        ({"endpoints.1.bounds": {"low": -1, "high": 2}}, "BOUNDS", "endpoints[1].bounds.low"),
        ({"endpoints.0.positive": True}, "BOUNDS", "endpoints[0].positive"),
        ({"missing": "worst_case"}, "WORST_CASE", "endpoints[1].bounds"),
        ({"hypotheses.0.equivalence": "cost"}, "TEST_ENDPOINT", "hypotheses[0].equivalence"),
    ],
)
def test_lint_knows_other_endpoints(changes, code, path):
    assert (code, path) in codes({**SWAP, **changes})


def refused(changes):
    changed = plan({**SWAP, **changes})
    facts = facts_of(changed)
    return {each.code for each in whole.lint(changed, facts) if each.severity == "error"}


def test_another_endpoint_bears_out_no_claim():
    assert "CLAIM_NOT_ASSERTED" in refused({"hypotheses.0.rule": RULE.replace("and", "or")})
    assert "CLAIM_NOT_ASSERTED" in refused({"hypotheses.0.rule": "cost.ratio.ci.high < 0.8"})
    assert "CLAIM_NOT_ASSERTED" not in refused({})


def test_a_ratio_below_one_asserts_the_direction_and_no_size():
    own = {
        "hypotheses.0.endpoint": "usd",
        "hypotheses.0.statement": "C2 is cheaper than C1",
        "sesoi": {"accuracy": {"value": 2, "unit": "pp"}, "usd": {"value": 0.1, "unit": "score"}},
    }
    cheaper = {**own, "hypotheses.0.rule": "cost.ratio.ci.high < 0.8", "hypotheses.0.claim": "superiority"}
    assert not refused(cheaper)
    assert "CLAIM_NOT_ASSERTED" in refused({**cheaper, "hypotheses.0.rule": "cost.ratio.ci.low > 1.2"})
    assert "CLAIM_NOT_ASSERTED" in refused({**cheaper, "hypotheses.0.claim": "minimum_effect"})


def test_both_parts_have_to_hold():
    found = judged({}, results())
    assert (found.outcome, [each.holds for each in found.clauses]) == ("supported", [True, True])
    assert judged({}, results(after=0.95 * COST)).outcome != "supported"
    assert judged({}, results(quality=(N, 700, 20, 120))).outcome == "not_supported"
    (other,) = found.others
    assert (other.endpoint, other.n) == ("usd", N)
    assert other.delta == pytest.approx(float(np.mean(CHEAPER) - np.mean(COST)))
    assert found.reading_of == "quality.ci"


def test_sentences_say_how_many_times_as_much_in_both_languages():
    found = judged({}, results())
    ratio = found.analyses["cost"]["analysis"]["ratio"]
    low, high = ratio["ci"]["low"], ratio["ci"]["high"]
    told = f"In usd, C2 costs {ratio['value']:.2f} times as much as C1 (95% interval {low:.2f} to {high:.2f}, n = {N})."
    assert told in found.sentence
    changed = plan({**SWAP, "populations.0.n": N})
    chinese = sentence(resolve(changed).require(found.id), found, language="zh")
    assert (
        f"C2 的花费是 C1 的 {ratio['value']:.2f} 倍（95% 区间 {low:.2f} 至 {high:.2f}，n = {N}）" in chinese
    )


def test_a_printed_ratio_stays_on_its_side_of_the_threshold():
    found = judged({"hypotheses.0.rule": RULE.replace("0.8", "0.6301")}, results())
    high = found.analyses["cost"]["analysis"]["ratio"]["ci"]["high"]
    printed = found.sentence.split(" to ")[1].split(",")[0]
    assert (float(printed) < 0.6301) == (high < 0.6301)


def test_missing_results_of_another_endpoint_count_by_the_plans_policy():
    holes = CHEAPER.copy()
    holes[:7] = np.nan
    out = judged({"missing": "exclude_pair"}, results(after=holes))
    assert (out.n, out.others[0].n, out.others[0].excluded.pairs) == (N, N - 7, 7)
    assert judged({"missing": "fail"}, results(after=holes)).outcome == "invalid"
    bounded = {"missing": "worst_case", "endpoints.1.bounds": {"low": 0, "high": 1000}}
    worst = judged(bounded, results(after=holes))
    assert worst.others[0].excluded.filled == 7
    assert worst.analyses["cost"]["analysis"]["ratio"]["value"] > 5  # at 1000 each
    assert worst.outcome == "not_supported"


def test_amounts_that_are_not_above_zero_are_refused_without_their_values():
    changed = plan(SWAP)
    batch = ReceivedBatch(
        "one", "C1", "usd", None, ("item 0", "item 1", "item 2"), np.ones(3, dtype=np.uint16),
        SecretRows(np.array([0.25, 0.0, -3.0]), np.zeros(3, dtype=np.uint8)),
    )  # fmt: skip
    with pytest.raises(InvalidData) as refusal:
        place_batch(batch, changed, {"one": manifest(500)})
    said = [f"{each.path} {each.message}" for each in refusal.value.faults]
    assert len(said) == 2
    assert all("is not above 0" in each for each in said)
    assert not any(number in " ".join(said) for number in ("0.25", "-3"))
    stored = judged({}, results(after=np.where(np.arange(N) == 3, 0.0, CHEAPER)))
    assert stored.outcome == "invalid"


def power_of(changed: Plan):
    return power_at_reference(changed, facts_of(changed), resolve(changed).settings[0])


def test_power_is_that_of_all_parts_and_never_above_one_of_them():
    both = plan({**SWAP, "populations.0.n": 150})
    alone = plan({**SWAP, "populations.0.n": 150, "hypotheses.0.rule": "quality.ci.low > -2 pp"})
    power, own = (power_of(each) for each in (both, alone))
    assert power.reference.power <= own.reference.power
    # costs are clear at 150 items
    assert power.reference.power == pytest.approx(own.reference.power, abs=0.05)
    assert power.method == "simulated"
    mixed = plan(
        {**SWAP, "hypotheses.0.rule": f"{RULE} and (quality.ci.low > 0 pp or cost.ratio.value < 0.7)"}
    )
    assert "otherwise than by `and`" in power_of(mixed).reason


def test_power_of_costs_falls_with_their_ratio():
    close = plan({**SWAP, "populations.0.n": 40, "hypotheses.0.rule": RULE.replace("0.8", "0.9")})
    far = plan({**SWAP, "populations.0.n": 40, "hypotheses.0.rule": RULE.replace("0.8", "0.5")})
    powers = [power_of(each).reference.power for each in (close, far)]
    alone = plan({**SWAP, "populations.0.n": 40, "hypotheses.0.rule": "quality.ci.low > -2 pp"})
    assert powers[0] < powers[1] <= power_of(alone).reference.power


def test_power_rests_on_the_amounts_that_a_plan_assumes():
    base = {**SWAP, "populations.0.n": 40, "assumptions": {"amounts": {"usd": {"ratio": 0.7, "cv": 1.5}}}}
    wide, narrow = (
        plan({**base, "assumptions": {"amounts": {"usd": {"ratio": 0.7, "cv": cv, "correlation": 0.6}}}})
        for cv in (1.5, 0.3)
    )
    found = [power_of(each) for each in (wide, narrow)]
    assert found[0].reference.power < found[1].reference.power
    (part,) = amounts_of(wide, facts_of(wide), resolve(wide).settings[0], parts_of(resolve(wide).settings[0]))
    told = beside_words(part)
    assert "of 1.5 and a correlation of 0.6 between the arms, 0.7 times as much" in told
    assert "independent of the rest" in told
    assert ("ASSUMPTION", "assumptions.amounts.accuracy") in codes(
        {**SWAP, "assumptions": {"amounts": {"accuracy": {"cv": 1.0}}}}
    )


def test_the_level_is_that_of_the_part_that_errs_most():
    """Berger (1982): an intersection-union test keeps the level of its parts."""
    changed = plan({**SWAP, "populations.0.n": 200})
    found = level_of(changed, facts_of(changed), resolve(changed).settings[0])
    assert found.level == pytest.approx(0.025, abs=0.02)
    loose = {"populations.0.n": 200, "hypotheses.0.rule": "quality.ci.low > -2 pp and cost.p_value < 0.2"}
    changed = plan({**SWAP, **loose})
    found = level_of(changed, facts_of(changed), resolve(changed).settings[0])
    assert (found.endpoint, found.ratio, found.alpha) == ("usd", 1.0, 0.05)
    assert found.level == pytest.approx(0.2, abs=0.04)
    facts = facts_of(changed)
    (said,) = (each.message for each in whole.lint(changed, facts) if each.code == "LEVEL_EXCEEDED")
    assert "where 'usd' is 1 times as much" in said


def test_labels_flip_on_all_endpoints_at_once():
    changed = plan({**SWAP, "populations.0.n": N})
    outcomes = results()
    case = case_of(changed, manifests(changed), outcomes.cells, runs=100, seed=1, about={})
    (hypothesis,) = case.plan.hypotheses
    up = np.zeros(N, dtype=bool)
    up[::2] = True
    flipped = case.flip({"one": up}, [hypothesis])
    for endpoint in ("accuracy", "usd"):
        after = flipped.cells["one", hypothesis.candidate, endpoint].values[:, 0]
        plain = [outcomes.cells["one", arm, endpoint].values[:, 0] for arm in ("C1", "C2")]
        np.testing.assert_array_equal(after, np.where(up, plain[0], plain[1]))
    assert case.differing(hypothesis).all()  # costs differ everywhere


def test_signs_of_another_endpoint_are_not_shared_by_a_family():
    by_signs = {"id": "cost", "test": "randomization", "version": 1}
    rule = {"hypotheses.0.rule": "quality.ci.low > -2 pp and cost.p_value < 0.05"}
    own, other = (
        resolve(plan({**SWAP, **rule, "tests.1": {**by_signs, **where}})).settings[0]
        for where in ({}, {"endpoint": "usd"})
    )
    assert flips(own.uses["cost"], own)
    assert not flips(other.uses["cost"], other)
