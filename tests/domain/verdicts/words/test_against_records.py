"""A verdict's sentences read back in both languages, and every number and word compared with the record."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.domain.notes.notes import HypothesisSentences, sentences
from service.domain.plans.plan import Plan
from service.domain.verdicts.outcomes import Outcomes
from service.domain.verdicts.records import HypothesisVerdict
from service.domain.verdicts.words.numbers import points, probability, score
from tests.domain import sample
from tests.drawing import draws

PATIENT = settings(max_examples=draws(70), deadline=None, suppress_health_check=list(HealthCheck))
NUMBER = r"[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
COUNT = r"\d+"


@dataclass
class Said:
    """What a sentence says."""

    outcome: str = ""
    delta: float | None = None
    n: int | None = None
    left_out: int = 0
    filled: list[int] = field(default_factory=list)
    p_values: dict[str, dict[str, Any]] = field(default_factory=dict)
    interval: dict[str, Any] | None = None
    margin: dict[str, Any] | None = None
    fallback: dict[str, Any] | None = None
    unshown: float | None = None
    unequal: bool = False
    differ: bool = False


def one(pattern: str, text: str) -> re.Match[str] | None:
    """The only match, or none."""
    found = list(re.finditer(pattern, text))
    assert len(found) <= 1, (pattern, text)
    return found[0] if found else None


OUTCOMES = {
    "supported": ("is supported:", " 得到支持："),
    "not_supported": ("is not supported:", " 未得到支持："),
    "equivalent": ("is equivalent:", " 判为等价："),
    "inconclusive": ("is inconclusive:", " 无定论："),
    "invalid": ("is invalid:", " 判定无效："),
}
HEAD = (r" in accuracy on one is ", r" 的 accuracy 之差为 ")
UNIT = (" pp", " 个百分点")
PATTERNS: tuple[dict[str, str], ...] = (
    {
        "estimate": rf"in accuracy on one is ({NUMBER}) pp \(n = ({COUNT})(?:, ({COUNT}) pairs? left out)?"
        rf"(?:, ({COUNT}) of them filled in (against the claim|for the candidate|for the baseline)[^)]*)?\)",
        "p": rf"`([\w.]+)`(?:, with the ({COUNT}) filled in,)? is (below )?({NUMBER})"
        rf"(?:, adjusted by (\w+) over ({COUNT}) hypothes[ei]s \(({NUMBER}) unadjusted\))?"
        rf"(?:, uncorrected for the ({COUNT}) hypotheses of its family)?, (below|not below|at most|above) ({NUMBER})\.",
        "interval": rf"The ({NUMBER})% interval ([\w.]+)(?:, with the ({COUNT}) filled in,)? runs from ({NUMBER}) pp "
        rf"to ({NUMBER}) pp: it (lies above 0|lies below 0|holds 0 and lies within|cannot tell)"
        r"([^.]*(?:\.\d+[^.]*)*)\.",
        "rejected": rf"Differences beyond ±({NUMBER}) pp are rejected at alpha = ({NUMBER}): the ({NUMBER})% interval "
        rf"of (\w+) runs from ({NUMBER}) pp to ({NUMBER}) pp(?: with the ({COUNT}) filled in[^.]*)?\.",
        "fallback_p": rf"Its p-value is ({NUMBER}) adjusted by (\w+) over ({COUNT}) hypotheses "
        rf"\(({NUMBER}) unadjusted\)",
        "not_rejected": rf"(\w+) does not reject differences beyond ±({NUMBER}) pp at alpha = ({NUMBER})"
        rf"(?: with the ({COUNT}) filled in[^.]*)?\.",
        "uncovered": rf"(\w+) rejects differences beyond ±({NUMBER}) pp at alpha = ({NUMBER})[^.]*, but uncorrected",
        "away": rf"(\w+) alone rejects differences beyond ±({NUMBER}) pp at alpha = ({NUMBER}).* \(p = ({NUMBER})\), "
        rf"but not adjusted by (\w+) over ({COUNT}) hypotheses \(p = ({NUMBER})\)",
        "margin": rf"So differences beyond ±({NUMBER}) pp are rejected, by (.+?)\.(?: |$)",
        "unshown": rf"The rule asks the ({NUMBER}) pp of the statement of the observed difference only: it does not "
        r"test them\.",
        "unequal": r"This does not show that the arms are equal\.",
        "differ": r"They differ about 0 because",
    },
    {
        "estimate": rf"的 accuracy 之差为 ({NUMBER}) 个百分点（n = ({COUNT})(?:，剔除 ({COUNT}) 对)?"
        rf"(?:，其中 ({COUNT}) 个(按(?:对主张最不利|有利于候选组|有利于基线组)的取值填补)[^）]*)?）",
        "p": rf"`([\w.]+)`(?:（含填补的 ({COUNT}) 个）)? ?为 ?(小于 )?({NUMBER})"
        rf"(?:（经 (\w+) 对 ({COUNT}) 个假设校正；校正前为 ({NUMBER})）)?"
        rf"(?:（未就所在假设族的 ({COUNT}) 个假设作多重性校正）)?，(低于|不低于|不超过|高于) ({NUMBER})。",
        "interval": rf"([\w.]+) 的 ({NUMBER})% 区间(?:（含填补的 ({COUNT}) 个）)?为 ({NUMBER}) 个百分点至 "
        rf"({NUMBER}) 个百分点：(整体高于 0|整体低于 0|包含 0，且在|无法判定)([^。]*)。",
        "rejected": rf"在 alpha = ({NUMBER}) 下拒绝了超出 ±({NUMBER}) 个百分点的差异：(\w+) 的 ({NUMBER})% 区间为 "
        rf"({NUMBER}) 个百分点至 ({NUMBER}) 个百分点(?:（其中 ({COUNT}) 个[^）]*）)?。",
        "fallback_p": rf"其 p 值经 (\w+) 对 ({COUNT}) 个假设校正后为 ({NUMBER})（校正前为 ({NUMBER})）",
        "not_rejected": rf"(\w+) 在 alpha = ({NUMBER}) 下未拒绝超出 ±({NUMBER}) 个百分点的差异"
        rf"(?:（其中 ({COUNT}) 个[^）]*）)?。",
        "uncovered": rf"(\w+) 在 alpha = ({NUMBER}) 下拒绝了超出 ±({NUMBER}) 个百分点的差异[^。]*未就其他假设作",
        "away": rf"(\w+) 单独在 alpha = ({NUMBER}) 下拒绝超出 ±({NUMBER}) 个百分点的差异.*?（p = ({NUMBER})），"
        rf"但经 (\w+) 对 ({COUNT}) 个假设校正后不拒绝（p = ({NUMBER})）",
        "margin": rf"因此 (.+?) ?拒绝了超出 ±({NUMBER}) 个百分点的差异。",
        "unshown": rf"规则只要求观测到的差异达到陈述所称的 ({NUMBER}) 个百分点，并未对此作检验。",
        "unequal": r"这并不表明两组相同。",
        "differ": r"二者对 0 的判断不同，因为",
    },
)  # fmt: skip
DIRECTIONS = {
    "lies above 0": "positive",
    "lies below 0": "negative",
    "holds 0 and lies within": "equivalent",
    "cannot tell": "inconclusive",
    "整体高于 0": "positive",
    "整体低于 0": "negative",
    "包含 0，且在": "equivalent",
    "无法判定": "inconclusive",
}
HOLDS = {
    "below": ("<", True), "not below": ("<", False), "at most": ("<=", True), "above": ("<=", False),
    "低于": ("<", True), "不低于": ("<", False), "不超过": ("<=", True), "高于": ("<=", False),
}  # fmt: skip


def read(text: str, language: int) -> Said:
    """The sentence as data. Whatever it says beside these has no number."""
    patterns, said = PATTERNS[language], Said()
    (said.outcome,) = [name for name, words in OUTCOMES.items() if words[language] in text]
    rest = text
    if found := one(patterns["estimate"], text):
        said.delta, said.n, said.left_out = float(found[1]) / 100, int(found[2]), int(found[3] or 0)
        said.filled += [int(found[4])] if found[4] else []
        rest = rest.replace(found[0], "")
    for each in re.finditer(patterns["p"], text):
        said.p_values[each[1]] = {
            "bound": bool(each[3]), "p": float(each[4]), "policy": each[5], "size": each[6] and int(each[6]),
            "unadjusted": each[7] and float(each[7]), "family": each[8] and int(each[8]),
            "says": HOLDS[each[9]], "threshold": float(each[10]),
        }  # fmt: skip
        said.filled += [int(each[2])] if each[2] else []
        rest = rest.replace(each[0], "")
    if found := one(patterns["interval"], text):
        level, of = (found[1], found[2]) if language == 0 else (found[2], found[1])
        within = re.findall(rf"±({NUMBER})", found[7])
        said.interval = {
            "of": of, "level": float(level) / 100, "low": float(found[4]) / 100, "high": float(found[5]) / 100,
            "reading": DIRECTIONS[found[6]], "within": float(within[0]) / 100 if within else None,
        }  # fmt: skip
        said.filled += [int(found[3])] if found[3] else []
        rest = rest.replace(found[0], "")
    if found := one(patterns["rejected"], text):
        margin, alpha = (found[1], found[2]) if language == 0 else (found[2], found[1])
        level, test = (found[3], found[4]) if language == 0 else (found[4], found[3])
        said.fallback = {
            "case": "decided", "margin": float(margin) / 100, "alpha": float(alpha), "level": float(level) / 100,
            "test": test, "low": float(found[5]) / 100, "high": float(found[6]) / 100,
        }  # fmt: skip
        said.filled += [int(found[7])] if found[7] else []
        if more := one(patterns["fallback_p"], text):
            policy, size, adjusted = (
                (more[2], more[3], more[1]) if language == 0 else (more[1], more[2], more[3])
            )
            said.fallback |= {
                "policy": policy, "size": int(size), "adjusted": float(adjusted), "p": float(more[4]),
            }  # fmt: skip
    for case in ("not_rejected", "uncovered"):
        if found := one(patterns[case], text):
            margin, alpha = (found[2], found[3]) if language == 0 else (found[3], found[2])
            said.fallback = {
                "case": case,
                "test": found[1],
                "margin": float(margin) / 100,
                "alpha": float(alpha),
            }
            if case == "not_rejected" and found[4]:
                said.filled.append(int(found[4]))
    if found := one(patterns["away"], text):
        margin, alpha = (found[2], found[3]) if language == 0 else (found[3], found[2])
        said.fallback = {
            "case": "away", "test": found[1], "margin": float(margin) / 100, "alpha": float(alpha),
            "p": float(found[4]), "policy": found[5], "size": int(found[6]), "adjusted": float(found[7]),
        }  # fmt: skip
    if found := one(patterns["margin"], text):
        value, by = (found[1], found[2]) if language == 0 else (found[2], found[1])
        levels = re.findall(rf"({NUMBER})%", by)
        alphas = re.findall(rf"alpha = ({NUMBER})", by)
        said.margin = {"margin": float(value) / 100, "levels": levels, "alphas": alphas}
    if found := one(patterns["unshown"], text):
        said.unshown = float(found[1]) / 100
    said.unequal = one(patterns["unequal"], text) is not None
    said.differ = one(patterns["differ"], text) is not None
    assert re.search(r"`[\w.]+` (?:is|为) (?!one-sided)", rest) is None, rest  # every p-value was read
    assert ("interval" in rest or "区间" in rest) <= (
        said.fallback is not None or said.margin is not None or said.differ
    )
    return said


def near(printed: float, value: float, digits: float = 0.005) -> bool:
    """Printed to two decimals of a percentage point, or to more."""
    return abs(100 * printed - 100 * value) <= digits + 1e-9


def check(found: HypothesisVerdict, said: Said) -> None:
    """Compare what was said with the record."""
    assert said.outcome == found.outcome
    assert said.unequal == (found.outcome == "not_supported")
    sized = found.outcome == "supported" and found.claim in ("superiority", "minimum_effect")
    tested = any(each.text == "m.ci.low > 2 pp" and each.holds for each in found.clauses)
    assert said.unshown == (0.02 if sized and not tested else None)  # every statement names 2 pp
    if said.unshown is not None:
        assert (found.delta or 0) >= said.unshown - 1e-9
    if found.delta is None:
        assert said.delta is None
    else:
        assert said.delta is not None
        assert near(said.delta, found.delta)
        assert np.sign(said.delta) == np.sign(found.delta)
        assert (said.n, said.left_out) == (found.n, found.excluded.pairs)
    assert all(each == found.excluded.filled for each in said.filled)
    resting = (found.delta is not None) + len(said.p_values) + (said.interval is not None)
    if found.excluded.filled:
        assert len(said.filled) >= resting
        assert found.filled is not None
    else:
        assert not said.filled
    _check_p(found, said)
    _check_interval(found, said)
    _check_fallback(found, said)


def _check_p(found: HypothesisVerdict, said: Said) -> None:
    judged = {each.text.split(" ")[0]: each for each in found.clauses if "p_value" in each.text}
    assert set(said.p_values) == {name for name, each in judged.items() if each.holds is not None}
    for name, told in said.p_values.items():
        clause = judged[name]
        assert told["threshold"] == clause.threshold
        assert told["says"] == (clause.text.split(" ")[1], clause.holds)
        assert isinstance(clause.observed, float)
        assert told["p"] == pytest.approx(clause.observed, rel=0.06, abs=0.0006)
        above = told["p"] >= told["threshold"] if told["says"][0] == "<" else told["p"] > told["threshold"]
        assert above != clause.holds  # what is printed agrees with what is said of it
        assert (told["unadjusted"] is None) == (clause.unadjusted is None)
        if clause.unadjusted is not None:
            assert told["unadjusted"] == pytest.approx(clause.unadjusted, rel=0.06, abs=0.0006)
            assert found.family is not None
            assert (told["policy"], told["size"]) == (found.family.policy, found.family.size)
        uncorrected = found.family is not None and found.family.policy == "none" and found.family.size > 1
        assert (told["family"] is not None) == uncorrected


def _check_interval(found: HypothesisVerdict, said: Said) -> None:
    if found.reading_of is None:
        assert said.interval is None
        return
    assert said.interval is not None
    told = said.interval
    test, _, path = found.reading_of.partition(".")
    ci: Any = found.analyses[test]["analysis"]
    for name in path.split("."):
        ci = ci[name]
    assert (told["of"], told["reading"]) == (found.reading_of, found.reading)
    assert told["level"] == pytest.approx(ci["level"])
    assert near(told["low"], ci["low"])
    assert near(told["high"], ci["high"])
    assert {"positive": told["low"] > 0, "negative": told["high"] < 0}.get(
        told["reading"], told["low"] <= 0 <= told["high"]
    )
    if told["within"] is not None and told["reading"] != "inconclusive":
        assert -told["within"] < told["low"] <= told["high"] < told["within"]
    if told["within"] is not None and told["reading"] == "inconclusive":
        assert told["low"] <= -told["within"] or told["high"] >= told["within"]
    if found.excluded.filled and found.claim != "equivalence":
        assert told["within"] is None


def _check_fallback(found: HypothesisVerdict, said: Said) -> None:
    if found.outcome == "equivalent" and found.rule_holds:
        assert said.margin is not None
        assert said.margin["margin"] == pytest.approx(0.02)
        assert said.margin["levels"] or said.margin["alphas"]
        return
    assert said.margin is None
    beside, told = found.fallback, said.fallback
    if beside is None or found.rule_holds is not False or beside.equivalent is None:
        assert told is None
        return
    assert told is not None
    assert (told["test"], told["margin"], told["alpha"]) == (beside.test, beside.margin, beside.alpha)
    case = (
        "decided"
        if found.outcome == "equivalent"
        else "not_rejected"
        if not beside.equivalent
        else "away"
        if beside.counts
        else "uncovered"
    )
    assert told["case"] == case
    if case == "decided":
        assert beside.ci is not None
        assert told["level"] == pytest.approx(1 - 2 * told["alpha"])
        assert near(told["low"], beside.ci.low or 0.0)
        assert near(told["high"], beside.ci.high or 0.0)
        assert -told["margin"] < told["low"] <= told["high"] < told["margin"]
    if beside.adjusted is not None and beside.equivalent:
        assert told["adjusted"] == pytest.approx(beside.adjusted, rel=0.06, abs=0.0006)
        assert told["p"] == pytest.approx(beside.p_value, rel=0.06, abs=0.0006)
        assert (told["adjusted"] < told["alpha"]) == (case == "decided")
        assert found.family is not None
        assert (told["policy"], told["size"]) == (found.family.policy, found.family.size)


TANGO = {"id": "eq", "test": "equivalence", "version": 1, "parameters": {"method": "tango"}}
RULES = {
    "superiority": (
        "delta >= 2.0 pp and m.p_value < 0.05 and m.ci excludes 0",
        "delta > 0 and m.p_value <= 0.01",
        "delta > 0 and w.p_value < 0.025 and m.p_value < 0.05",
    ),
    "minimum_effect": ("m.ci.low > 2 pp and m.p_value < 0.05",),
    "non_inferiority": ("m.ci.low > -2 pp and w.p_value < 0.99",),
    "equivalence": (
        "m.ci within (-2 pp, 2 pp) and eq.p_value < 0.05",
        "eq.equivalent is true and eq.p_value < 0.05",
        "eq.p_value < 0.05",
        "m.ci.low > -2 pp and m.ci.high < 2 pp and eq.p_value <= 0.05",
    ),
}


@st.composite
def judged(draw: st.DrawFn) -> tuple[Plan, tuple[HypothesisVerdict, ...], tuple[HypothesisSentences, ...]]:
    """A plan of one to three hypotheses over arms beside C1, with results, and what is said of it."""
    # near the margin, where the equivalence test beside the rule has something to say
    close = draw(st.booleans())
    n = 2000 if close else draw(st.sampled_from([60, 400, 1500]))
    missing = draw(st.sampled_from(["exclude_pair", "worst_case", *(() if close else ("fail",))]))
    wins = [22, 26, 30, 36, 44, 50] if close else [each for each in (5, 6, 12, 20, 45, 90) if each <= n // 8]
    count = draw(st.integers(1, 3))
    cells = {("one", "C1", "accuracy"): sample.cell(np.arange(n) < n // 2)}
    hypotheses = []
    for each in range(count):
        claim = "superiority" if close else draw(st.sampled_from(sorted(RULES)))
        arm = f"C{each + 2}"
        hypotheses.append(
            sample.VALUE["hypotheses"][0]
            | {
                "id": f"H{each + 1}",
                "claim": claim,
                "candidate": arm,
                "rule": draw(st.sampled_from(RULES[claim])),
            }
            | ({"equivalence": "eq"} if close or draw(st.booleans()) else {})
        )
        ahead, behind = draw(st.sampled_from(wins)), 24 if close else draw(st.sampled_from(wins))
        values = (np.arange(n) < n // 2 + ahead).astype(float)
        values[:behind] = 0
        lost = draw(st.sampled_from([0, 0, 0, 1, 4]))
        values[n - lost :] = np.nan
        cells["one", arm, "accuracy"] = sample.cell(values)
    plan = sample.plan(
        {
            "populations.0.n": n,
            "missing": missing,
            "hypotheses": hypotheses,
            "tests.1": TANGO,
            "tests.2": {"id": "w", "test": "mcnemar", "version": 1, "parameters": {"alternative": "greater"}},
            "multiplicity": {
                "policy": draw(st.sampled_from(["none", "holm", "bonferroni", "bh", "fixed_sequence"])),
                "family": [each["id"] for each in hypotheses],
            },
        }
    )
    verdict = sample.judged(plan, sample.manifests(plan), Outcomes(cells))
    return plan, verdict.hypotheses, sentences(plan, verdict, {})


@PATIENT
@given(judged())
def test_every_sentence_says_what_its_record_holds(
    made: tuple[Plan, tuple[HypothesisVerdict, ...], tuple[HypothesisSentences, ...]],
) -> None:
    _, records, told = made
    for found, words in zip(records, told, strict=True):
        assert words.sentences.en == found.sentence
        both = [read(words.sentences.en, 0), read(words.sentences.zh, 1)]
        for said in both:
            check(found, said)
        assert both[0] == both[1]
        for text in (words.sentences.en, words.sentences.zh):
            assert not re.search(r"\+-|±[+-]|[+-]0(?:\.0+)?(?= pp| 个)", text), text
        assert words.next.en.startswith("Next: ")
        assert words.next.zh.startswith("下一步：")
        numbers = [re.findall(r"\d[\d,.]*\d|\d", text) for text in (words.next.en, words.next.zh)]
        assert sorted(numbers[0]) == sorted(numbers[1]), (words.next.en, words.next.zh)


@given(st.floats(-1, 1), st.lists(st.floats(-1, 1), max_size=3))
def test_a_printed_difference_never_crosses_what_it_is_compared_with(
    value: float, apart: list[float]
) -> None:
    for told, scale in ((points(value, 0.0, *apart), 100), (score(value, 0.0, *apart), 1)):
        for each in (0.0, *apart):
            if abs(value - each) > 1e-8:
                assert np.sign(float(told) - scale * each) == np.sign(value - each)


@given(st.floats(1e-12, 1), st.sampled_from([0.05, 0.01, 0.025, 0.1]))
def test_a_printed_p_value_never_crosses_its_threshold(p: float, threshold: float) -> None:
    if abs(p - threshold) > 1e-10:
        assert (float(probability(p, threshold)) < threshold) == (p < threshold)
