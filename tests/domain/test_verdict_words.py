"""Every sentence of a verdict in English and Chinese: its numbers are those of the analysis, and no more is said."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from service.domain.lint_settings import settings
from service.domain.plan import Plan
from service.domain.rule_power import power_at_reference
from service.domain.rule_power_records import RulePower
from service.domain.verdict import Verdict
from service.domain.verdict_notes import HypothesisSentences, Words, sentences
from service.domain.verdict_words import equivalence_shown
from tests.domain.sample import binary, manifests, outcomes, plan, verdict_of

NUMBER = re.compile(r"[+-]\d+(?:\.\d+)?(?:e[+-]?\d+)?")
NEVER = re.compile(
    r"no effect|no difference|confirm|prove[sn]?\b|marginal|无差异|没有差异|没有影响|证明|证实|边缘显著|显著",
    re.IGNORECASE,
)
EQUIVALENCE = {
    "tests.1": {"id": "eq", "test": "equivalence", "version": 1, "parameters": {"method": "tango"}},
    "hypotheses.0.equivalence": "eq",
}
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


def judged(changes: dict[str, Any], results: Any) -> tuple[Plan, Verdict]:
    verdict = verdict_of(changes, results)
    size = len(next(iter(results.cells.values())).values)
    return plan({"populations.0.n": size, **changes}), verdict


def said(
    changes: dict[str, Any], results: Any, powers: Any = None
) -> tuple[Plan, Verdict, HypothesisSentences]:
    judged_plan, verdict = judged(changes, results)
    (found,) = sentences(judged_plan, verdict, powers or {})
    return judged_plan, verdict, found


@pytest.mark.parametrize("case", CASES)
def test_the_numbers_of_both_languages_are_those_of_the_analysis(case: str) -> None:
    changes, results, outcome = CASES[case]
    judged_plan, verdict, found = said(changes, results)
    (hypothesis,) = verdict.hypotheses
    assert hypothesis.outcome == found.outcome == outcome
    assert found.sentences.en == hypothesis.sentence
    scale, digits = (1, ".4g") if "score" in str(changes) else (100, ".2f")
    expected = [] if hypothesis.delta is None else [f"{scale * hypothesis.delta:+{digits}}"]
    if hypothesis.reading_of is not None:
        test, *_ = hypothesis.reading_of.split(".")
        ci = hypothesis.analyses[test]["analysis"]["ci"]  # type: ignore[index]
        expected += [f"{scale * ci[end]:+{digits}}" for end in ("low", "high")]  # type: ignore[index]
    if (shown := equivalence_shown(judged_plan, hypothesis)) is not None:
        ci = hypothesis.analyses["eq"]["analysis"]["ci"]  # type: ignore[index]
        expected += [f"{scale * ci[end]:+{digits}}" for end in ("low", "high")]  # type: ignore[index]
        for text in (found.sentences.en, found.sentences.zh):
            assert "±2.00" in text
            assert "alpha = 0.05" in text
            assert re.search(r"\b90 ?%", text)
        assert (shown.margin, shown.alpha) == (0.02, 0.05)
    for text in (found.sentences.en, found.sentences.zh):
        outside_code = re.sub(r"`[^`]*`|“[^”]*”|\([^()]*`[^()]*\)", "", text)
        assert NUMBER.findall(outside_code) == expected, text
        if hypothesis.delta is not None:
            assert f"(n = {hypothesis.n}" in text
        if hypothesis.excluded.pairs and hypothesis.delta is not None:
            assert re.search(rf"\b{hypothesis.excluded.pairs} (?:pair|对)", text)
        assert not NEVER.search(outside_code), text


@pytest.mark.parametrize(
    ("case", "en", "zh"),
    [
        ("supported", "is supported: the rule `delta", "得到支持:规则 `delta"),
        ("not supported", "This does not show that the arms are equal.", "这并不表明两者相同。"),
        (
            "not supported",
            "(`m.p_value < 0.05`, `m.ci excludes 0` do not hold)",
            "(`m.p_value < 0.05`、`m.ci excludes 0` 不成立)",
        ),
        ("negative", "reads as negative", "整体低于 0"),
        ("equivalent by the test", "rejects differences beyond its margin", "拒绝了超出界限的差异"),
        (
            "equivalent by the rule",
            "the rule `m.ci within (-2 pp, 2 pp)` holds",
            "规则 `m.ci within (-2 pp, 2 pp)` 成立",
        ),
        (
            "positive within the SESOI",
            "although it also lies inside the smallest effect",
            "同时也落在最小关注效应量之内",
        ),
        ("invalid", "cannot be judged as planned, because", "无法按计划判定,原因(原文)为“"),
        ("inconclusive", "the rule cannot be decided (", "规则无法判定,原因(原文)为“"),
    ],
)
def test_each_outcome_says_why(case: str, en: str, zh: str) -> None:
    changes, results, _ = CASES[case]
    _, verdict, found = said(changes, results)
    assert en in found.sentences.en
    assert zh in found.sentences.zh
    reason = verdict.hypotheses[0].reason
    if reason is not None:
        assert f"“{reason}”" in found.sentences.zh


def test_only_outcomes_without_support_say_that_equality_was_not_shown() -> None:
    for case, (changes, results, outcome) in CASES.items():
        _, _, found = said(changes, results)
        for text, phrase in ((found.sentences.en, "does not show"), (found.sentences.zh, "并不表明")):
            assert (phrase in text) == (outcome == "not_supported"), case


def powers(judged_plan: Plan) -> dict[str, RulePower]:
    facts = {name: each.facts() for name, each in manifests(judged_plan).items()}
    return {
        each.hypothesis.id: power_at_reference(judged_plan, facts, each) for each in settings(judged_plan)
    }


def test_a_supported_claim_of_low_power_comes_with_its_numbers() -> None:
    changes, results, _ = CASES["supported"]
    judged_plan, verdict = judged(changes, results)
    found = powers(judged_plan)
    at = found["H1"].reference
    assert at is not None
    assert at.power is not None
    assert at.power < 0.8
    (sentence,) = sentences(judged_plan, verdict, found)
    (note,) = sentence.notes
    assert note.code == "WINNERS_CURSE"
    delta = f"{100 * (verdict.hypotheses[0].delta or 0):+.2f}"
    for text in (note.says.en, note.says.zh):
        assert NUMBER.findall(text) == [f"{100 * at.truth:+.2f}", delta]
        assert re.search(rf"\b{100 * at.power:.0f} ?%", text)
        assert re.search(rf"\b{100 * (at.discordance or 0):g} ?%", text)
    assert isinstance(note.says, Words)


@pytest.mark.parametrize(
    "case", [each for each in CASES if each not in ("supported", "minimum effect", "scores")]
)
def test_other_outcomes_have_no_such_note(case: str) -> None:
    changes, results, _ = CASES[case]
    judged_plan, verdict = judged(changes, results)
    (sentence,) = sentences(judged_plan, verdict, powers(judged_plan))
    assert sentence.notes == ()


def test_enough_power_or_unknown_power_has_no_such_note() -> None:
    changes, results, _ = CASES["supported"]
    judged_plan, verdict = judged(changes, results)
    known = powers(judged_plan)["H1"]
    assert known.reference is not None
    enough = known.model_copy(update={"reference": known.reference.model_copy(update={"power": 0.8})})
    unknown = known.model_copy(update={"reference": known.reference.model_copy(update={"power": None})})
    for power in ({"H1": enough}, {"H1": unknown}, {}):
        assert sentences(judged_plan, verdict, power)[0].notes == ()
