"""Every sentence of a verdict in English and Chinese: its numbers are those of the analysis, and no more is said."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from service.domain.notes.notes import HypothesisSentences, sentences
from service.domain.notes.said import Words
from service.domain.notes.winners_curse import exaggeration
from service.domain.plans.plan import Plan
from service.domain.power.answers.records import RulePower
from service.domain.power.rule_power import power_at_reference
from service.domain.rules.settings import resolve
from tests.domain.sample import binary, facts_of, outcomes
from tests.domain.told import EQUIVALENCE, judged, said

NUMBER = re.compile(r"[+-]\d+(?:\.\d+)?(?:e[+-]?\d+)?")
NEVER = re.compile(
    r"no effect|no difference|confirm|prove[sn]?\b|marginal|无差异|没有差异|没有影响|证明|证实|边缘显著|显著",
    re.IGNORECASE,
)
MISSING = np.array([np.nan, *np.ones(59)])


def scored(n: int, shift: float) -> Any:
    """Scores of two arms, `shift` apart on average."""
    base = np.linspace(0, 1, n)
    return outcomes(base, base + shift + np.where(np.arange(n) % 2, 0.05, -0.05), "score")


SCORE = {
    "hypotheses.0.endpoint": "score",
    "hypotheses.0.rule": "delta > 0.01 and w.p_value < 0.05 and w.ci excludes 0",
    "endpoints.0": {"id": "score", "kind": "continuous", "role": "primary"},
    "tests.0": {"id": "w", "test": "t-test", "version": 1, "parameters": {"method": "paired"}},
    "sesoi": {"score": {"value": 0.02, "unit": "score"}},
}

CASES: dict[str, tuple[dict[str, Any], Any, str]] = {
    "supported": ({}, outcomes(*binary(500, 300, 40, 10)), "supported"),
    "not supported": ({}, outcomes(*binary(500, 200, 30, 20)), "not_supported"),
    "negative": ({}, outcomes(*binary(500, 200, 10, 40)), "not_supported"),
    "equivalent by the test": (EQUIVALENCE, outcomes(*binary(2000, 1500, 5, 5)), "equivalent"),
    "equivalent by the rule": (
        {"hypotheses.0.claim": "equivalence", "hypotheses.0.rule": "m.ci within (-2 pp, 2 pp)"},
        outcomes(*binary(2000, 1500, 5, 5)),
        "equivalent",
    ),
    "positive within the SESOI": (
        {"hypotheses.0.rule": "delta >= 2.0 pp and m.ci excludes 0"},
        outcomes(*binary(5000, 3000, 40, 8)),
        "not_supported",
    ),
    "minimum effect": (
        {"hypotheses.0.claim": "minimum_effect", "hypotheses.0.rule": "m.ci.low > 2 pp"},
        outcomes(*binary(500, 200, 90, 10)),
        "supported",
    ),
    "non-inferior": (
        {"hypotheses.0.claim": "non_inferiority", "hypotheses.0.rule": "m.ci.low > -2 pp"},
        outcomes(*binary(2000, 1500, 5, 5)),
        "supported",
    ),
    "pairs left out": ({}, outcomes(MISSING, np.zeros(60)), "not_supported"),
    "invalid": ({"missing": "fail"}, outcomes(MISSING, np.zeros(60)), "invalid"),
    "inconclusive": ({}, outcomes(np.full(5, np.nan), np.zeros(5)), "inconclusive"),
    "scores": (SCORE, scored(40, 0.2), "supported"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_both_languages_say_the_outcome_and_no_more(case: str) -> None:
    changes, results, outcome = CASES[case]
    _, verdict, found = said(changes, results)
    (hypothesis,) = verdict.hypotheses
    assert hypothesis.outcome == found.outcome == outcome
    assert found.sentences.en == hypothesis.sentence
    for text in (found.sentences.en, found.sentences.zh):
        outside_code = re.sub(r"`[^`]*`|“[^”]*”|\([^()]*`[^()]*\)", "", text)
        assert not NEVER.search(outside_code), text
        if hypothesis.excluded.pairs and hypothesis.delta is not None:
            assert re.search(rf"\b{hypothesis.excluded.pairs} (?:pair|对)", text)


@pytest.mark.parametrize("case", ["equivalent by the test", "equivalent by the rule"])
def test_equivalent_always_names_its_margin_and_level(case: str) -> None:
    _, _, found = said(*CASES[case][:2])
    for text in (found.sentences.en, found.sentences.zh):
        assert re.search(r"(beyond|超出) ±2\.00 ", text), text
    assert re.search(r"at alpha = 0\.05|by the 95% interval", found.sentences.en)


def test_scores_have_no_percentage_points() -> None:
    _, verdict, found = said(*CASES["scores"][:2])
    (hypothesis,) = verdict.hypotheses
    ci = hypothesis.analyses["w"]["analysis"]["ci"]  # type: ignore[index, call-overload]
    for text in (found.sentences.en, found.sentences.zh):
        assert " pp" not in text.split("`")[-1]
        assert "个百分点" not in text
        for value in (hypothesis.delta, ci["low"], ci["high"]):  # type: ignore[index, call-overload]
            assert f"{value:+.4g}" in text


@pytest.mark.parametrize(
    ("case", "en", "zh"),
    [
        ("supported", "is supported: the rule `delta", "得到支持：规则 `delta"),
        ("not supported", "This does not show that the arms are equal.", "这并不表明两组相同。"),
        (
            "not supported",
            "(`m.p_value < 0.05`, `m.ci excludes 0` do not hold)",
            "（`m.p_value < 0.05`、`m.ci excludes 0` 不成立）",
        ),
        ("negative", "it lies below 0", "整体低于 0"),
        ("equivalent by the test", "rejects differences beyond its margin", "拒绝了超出界值的差异"),
        (
            "equivalent by the rule",
            "the rule `m.ci within (-2 pp, 2 pp)` holds",
            "规则 `m.ci within (-2 pp, 2 pp)` 成立",
        ),
        (
            "positive within the SESOI",
            "although also within ±2.00 pp",
            "但同时也在 ±2.00 个百分点之内",
        ),
        ("invalid", "cannot be judged as planned, because", "无法按计划判定，因为"),
        ("inconclusive", "the rule cannot be decided (", "规则无法判定（"),
    ],
)
def test_each_outcome_says_why(case: str, en: str, zh: str) -> None:
    changes, results, _ = CASES[case]
    _, verdict, found = said(changes, results)
    assert en in found.sentences.en
    assert zh in found.sentences.zh
    reason = verdict.hypotheses[0].reason
    if reason is not None:
        assert reason not in found.sentences.zh


def test_only_outcomes_without_support_say_that_equality_was_not_shown() -> None:
    for case, (changes, results, outcome) in CASES.items():
        _, _, found = said(changes, results)
        for text, phrase in ((found.sentences.en, "does not show"), (found.sentences.zh, "并不表明")):
            assert (phrase in text) == (outcome == "not_supported"), case


def powers(judged_plan: Plan) -> dict[str, RulePower]:
    facts = facts_of(judged_plan)
    every = resolve(judged_plan).settings
    return {setting.hypothesis.id: power_at_reference(judged_plan, facts, setting) for setting in every}


def test_a_supported_claim_of_low_power_comes_with_its_numbers() -> None:
    """Exact: of all outcomes of 500 pairs with 10 % discordant and a true +2 pp, those in which the rule holds."""
    changes, results, _ = CASES["supported"]
    judged_plan, verdict = judged(changes, results)
    known = exaggeration(judged_plan, verdict.hypotheses[0])
    assert known is not None
    assert known.power < 0.8
    (sentence,) = sentences(judged_plan, verdict, {})
    (note,) = sentence.notes
    assert note.code == "WINNERS_CURSE"
    assert isinstance(note.says, Words)
    for text in (note.says.en, note.says.zh):
        assert NUMBER.findall(text) == ["+2.00", f"{100 * known.mean:+.2f}", "+6.00"]
        assert f"{100 * known.power:.0f}%" in text
        assert f"{known.factor:.2g} " in text
        assert "10%" in text
        assert "99%" in text  # of all such studies so many find less
        assert "likely" not in text


def brute(n: int, ahead: float, behind: float, delta: float, holds: Any) -> tuple[float, float, float]:
    """Power, mean estimate where the rule holds, chance of less than delta: every outcome of n pairs by itself."""
    power = total = less = 0.0
    for b in range(n + 1):
        for c in range(n + 1 - b):
            ways = math.comb(n, b) * math.comb(n - b, c)
            chance = ways * ahead**b * behind**c * (1 - ahead - behind) ** (n - b - c)
            less += chance * ((b - c) / n < delta - 1e-12)
            if holds(b, c):
                power += chance
                total += chance * (b - c) / n
    return power, total / power, less


@pytest.mark.parametrize(("b", "c"), [(12, 1), (14, 3), (9, 0)])
def test_the_exaggeration_agrees_with_listing_every_outcome(b: int, c: int) -> None:
    n, rule = 40, "delta >= 2.0 pp and m.p_value < 0.05"
    judged_plan, verdict = judged({"hypotheses.0.rule": rule}, outcomes(*binary(n, 10, b, c)))
    (hypothesis,) = verdict.hypotheses
    found = exaggeration(judged_plan, hypothesis)
    assert found is not None
    share = (b + c) / n

    def holds(b: int, c: int) -> bool:
        return b > c and (b - c) / n >= 0.02 and binomtest(b, b + c).pvalue < 0.05

    power, mean, less = brute(n, (share + 0.02) / 2, (share - 0.02) / 2, hypothesis.delta or 0, holds)
    assert found.power == pytest.approx(power, abs=1e-8)
    assert found.mean == pytest.approx(mean, abs=1e-7)
    assert found.smaller == pytest.approx(less, abs=1e-8)


def test_the_exaggeration_of_a_smaller_candidate_is_the_mirror_image() -> None:
    up = judged(
        {"hypotheses.0.rule": "delta >= 2.0 pp and m.p_value < 0.05"}, outcomes(*binary(60, 10, 14, 3))
    )
    down = judged(
        {"hypotheses.0.rule": "delta <= -2.0 pp and m.p_value < 0.05"}, outcomes(*binary(60, 10, 3, 14))
    )
    first, second = (exaggeration(each, verdict.hypotheses[0]) for each, verdict in (up, down))
    assert first is not None
    assert second is not None
    assert (second.truth, second.mean) == (-first.truth, pytest.approx(-first.mean))
    assert second.factor == pytest.approx(first.factor)
    assert second.smaller == pytest.approx(first.smaller)


def test_where_outcomes_cannot_be_listed_the_note_says_so() -> None:
    changes, results, _ = CASES["scores"]
    judged_plan, verdict = judged(changes, results)
    known = powers(judged_plan)["H1"]
    assert known.lead is not None
    at_sesoi = known.lead.reference.model_copy(update={"power": 0.3})
    weak = known.model_copy(update={"lead": known.lead.model_copy(update={"reference": at_sesoi})})
    (note,) = sentences(judged_plan, verdict, {"H1": weak})[0].notes
    assert "about 30% of such studies" in note.says.en
    assert "worked out for independent right and wrong answers alone" in note.says.en
    for power in (weak.model_copy(update={"lead": None}), None):
        assert sentences(judged_plan, verdict, {} if power is None else {"H1": power})[0].notes == ()


@pytest.mark.parametrize(
    "case", [each for each in CASES if each not in ("supported", "minimum effect", "scores")]
)
def test_other_outcomes_have_no_such_note(case: str) -> None:
    changes, results, _ = CASES[case]
    judged_plan, verdict = judged(changes, results)
    (sentence,) = sentences(judged_plan, verdict, powers(judged_plan))
    assert sentence.notes == ()


def test_enough_power_has_no_such_note() -> None:
    changes = {"hypotheses.0.rule": "delta > 0 and m.p_value < 0.05"}
    assert said(changes, outcomes(*binary(9000, 5000, 400, 120)))[2].notes == ()


# --- what to do next ---


@pytest.mark.parametrize("case", CASES)
def test_every_outcome_ends_with_what_can_be_done(case: str) -> None:
    _, _, found = said(*CASES[case][:2])
    assert found.next.en.startswith("Next: ")
    assert found.next.zh.startswith("下一步：")
    assert not re.search(r"\bnan\b|\binf\b|None|\+-", found.next.en + found.next.zh)
    assert not NEVER.search(found.next.en)


@pytest.mark.parametrize(
    ("statement", "rule", "better", "told"),
    [
        ("C2 improves by at least 2 pp", "delta >= 2 pp and m.p_value < 0.05", "higher", "+2.00"),
        ("C2 improves by at least 2 pp", "delta >= 2 pp and m.ci.low > 2 pp", "higher", None),
        ("C2 improves by at least 2 pp", "delta >= 2 pp and (m.ci.low > 2 pp or m.p_value < 0.05)", "higher", None),
        ("C2 improves", "delta > 0 and m.p_value < 0.05", "higher", None),
        ("C2 errs by at least 2 pp", "delta <= -2 pp and m.p_value < 0.05", "lower", "-2.00"),
    ],
)  # fmt: skip
def test_a_size_that_the_statement_names_and_nothing_shows_is_said(
    statement: str, rule: str, better: str, told: str | None
) -> None:
    changes = {
        "hypotheses.0.statement": statement,
        "hypotheses.0.rule": rule,
        "endpoints.0.better": better,
    }
    arms = binary(1000, 300, 100, 10) if better == "higher" else binary(1000, 300, 10, 100)
    _, verdict, found = said(changes, outcomes(*arms))
    assert verdict.hypotheses[0].outcome == "supported"
    en = re.findall(r"The rule asks the (\S+) pp of the statement", found.sentences.en)
    zh = re.findall(r"陈述所称的 (\S+) 个百分点", found.sentences.zh)
    assert en == zh == ([] if told is None else [told])


def open_case(test: dict[str, Any], clause: str, arms: Any, **changes: Any) -> HypothesisSentences:
    """What is said where this clause of a superiority claim is unknown."""
    named = {"tests.0": {"id": "b", "version": 1, **test}, "hypotheses.0.rule": f"delta > 0 and {clause}"}
    _, verdict, found = said({"hypotheses.0.statement": "C2 is better", **named, **changes}, outcomes(*arms))
    assert verdict.hypotheses[0].outcome == "inconclusive"
    return found


@pytest.mark.parametrize(
    ("changes", "arms", "named"),
    [
        ({}, binary(20, 0, 20, 0), "`mcnemar` (`exact`)"),
        ({}, binary(15, 0, 9, 0), "`mcnemar` (`exact`)"),
        (
            {
                "populations.0.clusters": {"key": "c", "n": 8},
                "populations.0.independence": None,
            },
            binary(20, 0, 20, 0),
            "`clustered-mcnemar` (`sign_flip`)",
        ),
        (
            {"endpoints.0.kind": "continuous", "sesoi": {"accuracy": {"value": 2, "unit": "score"}}},
            (np.zeros(20), np.full(20, 1.5)),
            "`randomization`",
        ),
    ],
)
def test_where_nothing_varies_a_test_is_named_that_is_defined(
    changes: dict[str, Any], arms: Any, named: str
) -> None:
    clustered = "populations.0.clusters" in changes
    test = {"test": "cluster-bootstrap" if clustered else "paired-bootstrap"}
    found = open_case(test, "b.p_value < 0.0011", arms, **changes)
    assert f"ask {named}, which" in found.next.en
    assert f"使用 {named.replace(' (', '（').replace(')', '）')}，" in found.next.zh
    name, *method = re.findall(r"`([\w-]+)`", named)
    test = {"id": "b", "test": name, "version": 1, "parameters": {"method": method[0]} if method else {}}
    rule = {"tests.0": test, "hypotheses.0.rule": "delta > 0 and b.p_value < 0.05"}
    _, verdict, _ = said({"hypotheses.0.statement": "C2 is better", **changes, **rule}, outcomes(*arms))
    assert verdict.hypotheses[0].outcome == "supported"  # it is defined, and tells


def test_where_draws_are_too_few_more_are_advised() -> None:
    test = {"test": "paired-bootstrap", "parameters": {"method": "studentized", "n_resamples": 100}}
    found = open_case(test, "b.ci.low > 0.1 pp", binary(60, 20, 14, 6))
    assert "more `n_resamples`" in found.next.en


def test_a_claim_that_does_not_follow_is_told_to_change_its_rule() -> None:
    """Locked before lint saw to it: nothing in the rule shows equivalence."""
    changes = {"hypotheses.0.claim": "equivalence", "hypotheses.0.rule": "m.p_value > 0.05"}
    _, verdict, found = said(changes, outcomes(*binary(500, 200, 30, 28)))
    assert (verdict.hypotheses[0].outcome, verdict.hypotheses[0].rule_holds) == ("inconclusive", True)
    assert "the rule held without its claim" in found.next.en


def test_what_fills_in_one_way_is_not_read_as_equivalent() -> None:
    """+3.1 pp among 970 items, 30 filled in as losses: the interval around 0 is the filling's doing."""
    baseline, candidate = binary(1000, 500, 40, 10)
    baseline[-30:] = candidate[-30:] = np.nan
    _, verdict, found = said({"missing": "worst_case"}, outcomes(baseline, candidate))
    assert verdict.hypotheses[0].reading == "inconclusive"
    assert "30 of them filled in against the claim" in found.sentences.en
    assert "within ±2.00 pp" not in found.sentences.en


@pytest.mark.parametrize(
    ("better", "arm", "zh"), [("higher", "candidate", "候选组"), ("lower", "baseline", "基线组")]
)
def test_the_arm_that_fillings_favour_is_told_as_the_endpoint_is_better(
    better: str, arm: str, zh: str
) -> None:
    """All that is missing gives C2 a 1 and C1 a 0, which favours C1 where less is better."""
    baseline, candidate = binary(1000, 500, 40, 30)
    baseline[-10:] = candidate[-10:] = np.nan
    changes = {
        "missing": "worst_case",
        "endpoints.0.better": better,
        "hypotheses.0.claim": "equivalence",
        "hypotheses.0.rule": "e.equivalent is true",
        "tests": [{"id": "e", "test": "equivalence", "version": 1, "parameters": {"method": "tango"}}],
        "sesoi.accuracy.value": 5,
    }
    _, verdict, found = said(changes, outcomes(baseline, candidate))
    assert verdict.hypotheses[0].filled == "up"
    assert f"10 of them filled in for the {arm}" in found.sentences.en
    assert f"10 个按有利于{zh}的取值填补" in found.sentences.zh


def test_ends_that_a_rule_bounds_on_both_sides_are_a_margin() -> None:
    """An equivalence claim by its interval: the sentence says what both clauses reject, in either order."""
    for rule in ("m.ci.low > -3 pp and m.ci.high < 3 pp", "m.ci.high < 3 pp and m.ci.low > -3 pp"):
        changes = {"hypotheses.0.claim": "equivalence", "hypotheses.0.rule": rule}
        changes["sesoi"] = {"accuracy": {"value": 3, "unit": "pp"}}
        _, verdict, words = said(changes, outcomes(*binary(4000, 2000, 40, 40)))
        assert verdict.hypotheses[0].outcome == "equivalent"
        assert "differences beyond ±3.00 pp are rejected, by the 95% interval m.ci" in words.sentences.en
