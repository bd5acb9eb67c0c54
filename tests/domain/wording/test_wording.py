"""The lint of an author's text: what it flags, what it passes over, and where the words stand."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.wording.phrases import PHRASES
from service.domain.wording.wording import Support, lint_wording


def codes(text: str, shown: Support | None = None) -> list[str]:
    return [each.code for each in (lint_wording(text, shown) if shown else lint_wording(text))]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (
            "The 90% paired-bootstrap CI for Δ(C4-C3) is [-1.20, +1.50] pp, falling within the pre-registered "
            "±2 pp SESOI; we therefore cannot reject equivalence at this resolution.",
            "CANNOT_REJECT_EQUIVALENCE",
        ),
        ("我们无法拒绝等价性。", "CANNOT_REJECT_EQUIVALENCE"),
        ("C4 and C3 are statistically equivalent (TOST p > 0.05).", "EQUIVALENCE_WITHOUT_TEST"),
        ("C4 and C3 are statistically equivalent (TOST p > 0.05).", "TOST_READ_BACKWARDS"),
        ("输出: n10=8 n01=8 p=1.000  → C4 vs C3 完全等价", "EQUIVALENCE_WITHOUT_TEST"),
        ("the two are equivalent", "EQUIVALENCE_WITHOUT_TEST"),
        ("若 1-α CI 完全落在 [-SESOI, +SESOI] 内 → 接受等价 H0。", "NULL_ACCEPTED"),
        ("We accept the null hypothesis.", "NULL_ACCEPTED"),
        ("p < 0.10 Marginally significant Consider additional validation", "MARGINAL"),
        ("The gain shows a trend towards significance (p = 0.07).", "MARGINAL"),
        ("结果边缘显著(p = 0.07)。", "MARGINAL"),
        ("p ≥ 0.10 Not significant Judge as no improvement effect", "NO_EFFECT"),
        ("There is no effect of caching.", "NO_EFFECT"),
        ("缓存没有效果。", "NO_EFFECT"),
        ("There was no significant difference between the arms.", "NO_DIFFERENCE"),
        ("两者完全没区别", "NO_DIFFERENCE"),
        ("两个系统没有显著差异。", "NO_DIFFERENCE"),
        ("There is no overlap in confidence intervals, confirming the improvement effect is certain.", "CERTAIN"),
        ("实验证明了新方法更好。", "CERTAIN"),
        ("We use McNemar's test with the Edwards continuity correction for accuracy.", "CONTINUITY_CORRECTION"),
        ("采用连续性校正的 McNemar 检验更准确。", "CONTINUITY_CORRECTION"),
        ("Both remain significant after correction.", "CORRECTED"),
        ("校正后仍显著。", "CORRECTED"),
        ("The one-sided p-value is 0.04.", "ONE_SIDED"),
        ("单侧检验 p = 0.04。", "ONE_SIDED"),
        ("By a one-sided test the gain is significant.", "ONE_SIDED"),
        ("We report corrected significance.", "CORRECTED"),
        ("p = 0.03, the probability that the difference is due to chance.", "P_IS_NOT_PROBABILITY_OF_CHANCE"),
    ],
)  # fmt: skip
def test_a_claim_beyond_its_statistics_is_flagged(text: str, code: str) -> None:
    assert code in codes(text)


@pytest.mark.parametrize(
    "text",
    [
        'report all p values uncorrected, do not claim "corrected significance".',
        "不要写 “the two are equivalent”——TOST 只能在 SESOI 限定下声明。",
        "🧠 关键:p > 0.05 不等于“等价”!它只是“没证据说不同”。要主动声明等价,必须做 TOST。",
        "但接受另一个检验:TOST(Two One-Sided Tests)。",
        "TOST equivalence test against ±2 pp SESOI",
        "This does not show that the arms are equal.",
        "p > .05 does not show that there is no difference.",
        "Under the null hypothesis there is no difference between the arms.",
        "Differences beyond ±2 pp are rejected at alpha = .05 (90 % CI -1.2 to +1.5 pp).",
        "We do not claim that the two are equivalent.",
        "An equivalence test with a margin of 2 pp was preregistered.",
        "The preregistered one-sided p-value is 0.04.",
        "one-sided empirical p-value",
        "The rule does not hold: p = 0.07 and the threshold is 0.05.",
        "Both p-values are significant after Holm's correction for two tests.",
        "H1a is not supported.",
        "单侧经验 p 值(one-sided empirical p-value)",
        "The training loss shows a downward trend.",
        "Each one-sided test has level alpha.",
        "如果两个系统等价,n10 和 n01 应该差不多。",
        "C3 improves paired binary accuracy by ≥ 2.0 pp over C1, with McNemar p < 0.05.",
    ],
)
def test_honest_sentences_have_no_finding(text: str) -> None:
    assert codes(text) == []


def test_the_better_sentences_pass_their_own_lint() -> None:
    for phrase in PHRASES:
        for better in (phrase.better, phrase.better_zh):
            assert codes(better) == [], phrase.code


EQUIVALENT = Support(equivalent=True)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("C4 and C3 are equivalent within ±2 pp.", EQUIVALENT),
        ("两者实质等价。", EQUIVALENT),
        ("Both remain significant after correction.", Support(corrected=True)),
        ("The one-sided p-value is 0.04.", Support(one_sided=True)),
    ],
)
def test_what_was_shown_is_no_finding(text: str, shown: Support) -> None:
    assert codes(text) != []
    assert codes(text, shown) == []


def test_cannot_reject_equivalence_is_wrong_even_beside_an_equivalence_verdict() -> None:
    assert codes("We cannot reject equivalence.", EQUIVALENT) == ["CANNOT_REJECT_EQUIVALENCE"]


RECORD = Support(
    primary=("accuracy",),
    secondary=("token_f1",),
    outcomes={"H1a": "not_supported", "H2": "supported"},
    sentences={"H1a": "H1a is not supported: …", "H2": "H2 is supported: …"},
)


def test_a_claim_on_a_secondary_endpoint_is_a_switch() -> None:
    (found,) = lint_wording("C4 outperforms C1 in token-F1.", RECORD)
    assert (found.code, found.phrase) == ("ENDPOINT_SWITCH", "token-F1")
    assert "accuracy" in found.why
    for honest in (
        "On the secondary endpoint token-F1, C4 outperforms C1.",
        "C4 outperforms C1 in accuracy and in token-F1.",
        "We also measured token-F1.",
    ):
        assert codes(honest, RECORD) == [], honest


def test_a_hypothesis_called_true_against_its_verdict_is_contradicted() -> None:
    (found,) = lint_wording("Thus H1a is supported.", RECORD)
    assert (found.code, found.phrase) == ("OUTCOME_CONTRADICTED", "H1a is supported")
    assert found.better == "H1a is not supported: …"
    assert codes("H2 is supported.", RECORD) == []
    assert codes("H1a is not supported.", RECORD) == []
    assert codes("假设 H1a 得到支持。", RECORD) == ["OUTCOME_CONTRADICTED"]


def test_a_finding_says_where_its_words_stand() -> None:
    text = "第一行。\n\nSecond: 😀 the arms are equivalent.\n"
    (found,) = lint_wording(text)
    assert text[found.start : found.end] == found.phrase == "are equivalent"
    assert (found.line, text[: found.start].count("\n") + 1) == (3, 3)


def test_the_verdicts_own_sentence_is_offered_where_there_is_one() -> None:
    shown = Support(
        outcomes={"H1": "not_supported"}, sentences={"H1": "H1 is not supported: the rule is false."}
    )
    (found,) = lint_wording("There is no effect.", shown)
    assert found.better == "H1 is not supported: the rule is false."


@given(
    st.text(max_size=200)
    | st.lists(
        st.sampled_from(
            [
                "are equivalent",
                "p = 0.07",
                "no effect",
                ". ",
                "\n",
                '"',
                "不",
                "等价",
                "marginally significant",
            ]
        ),
        max_size=20,
    ).map(" ".join)
)
def test_any_text_is_read_and_offsets_are_its_own(text: str) -> None:
    for found in lint_wording(text):
        assert text[found.start : found.end] == found.phrase
        assert found.line == text.count("\n", 0, found.start) + 1


@pytest.mark.parametrize(
    "text", ["are equivalent " * 14_000, '"' * 200_000, "improves " * 22_000, "no " * 66_000, "(" * 200_000]
)
def test_hostile_texts_take_little_time(text: str) -> None:
    before = time.process_time()
    lint_wording(text, RECORD)
    assert time.process_time() - before < 5


def test_every_code_is_described() -> None:
    page = (Path(__file__).parents[3] / "docs" / "wording.md").read_text("utf-8")
    described = re.findall(r"^\| `([A-Z][A-Z_]+)` \|", page, re.MULTILINE)
    assert set(described) == {each.code for each in PHRASES} | {"ENDPOINT_SWITCH", "OUTCOME_CONTRADICTED"}
