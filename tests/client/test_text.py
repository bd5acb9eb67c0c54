from __future__ import annotations

import io

import pytest

from forelock.server_package import translator_of
from forelock.text import Bar, findings_text, judged_plan_text, mask, plain, verdict_text
from forelock.words import Say


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_fills_up():
    terminal = Terminal()
    bar = Bar("posting", 4, terminal)
    bar.advance(1)
    bar.advance(3)
    bar.close()
    first, last = terminal.getvalue().strip().split("\r")
    assert first == "posting [" + "#" * 7 + "." * 23 + "] 1/4"
    assert last == "posting [" + "#" * 30 + "] 4/4"


def test_a_bar_is_silent_without_a_terminal():
    stream = io.StringIO()
    bar = Bar("posting", 4, stream)
    bar.advance(4)
    bar.close()
    assert stream.getvalue() == ""


def test_a_bar_for_nothing_is_no_fault():
    bar = Bar("posting", 0, Terminal())
    bar.advance(0)
    bar.close()


def test_errors_come_before_warnings():
    findings = [
        {"code": "W", "severity": "warning", "path": "", "message": "w"},
        {"code": "E", "severity": "error", "path": "", "message": "e"},
    ]
    assert findings_text(findings).splitlines() == ["error   E: e", "warning W: w"]


def test_no_findings_are_said():
    assert findings_text([]) == "no findings"


def test_findings_are_chinese_where_the_server_package_has_their_words():
    message = "the primary endpoint 'hit' has no smallest effect size of interest: add one"
    findings = [{"code": "E", "severity": "error", "path": "sesoi.hit", "message": message}]
    listed = findings_text(findings, Say("zh"), translator_of("zh"))
    assert listed == "错误 E（sesoi.hit）：主端点“hit”没有最小关注效应量：请补上"
    assert findings_text([], Say("zh")) == "未发现问题"


def test_long_sentences_are_wrapped():
    hypothesis = {
        "id": "H",
        "outcome": "invalid",
        "sentence": "word " * 60,
        "clauses": [],
        "reason": "why " * 40,
    }
    lines = verdict_text({"hypotheses": [hypothesis]}).splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[1].startswith("  word")
    assert lines[2].startswith("    word")
    assert any(line.startswith("  because why") for line in lines)


def test_what_is_true_or_false_is_said_by_its_word():
    clauses = [
        {"text": "e.equivalent is true", "observed": seen, "threshold": True, "holds": seen}
        for seen in (True, False)
    ]
    hypothesis = {"id": "H", "outcome": "not_supported", "sentence": "", "clauses": clauses, "reason": None}
    text = verdict_text({"hypotheses": [hypothesis]})
    assert "e.equivalent is true  observed true" in text
    assert "e.equivalent is true  observed false" in text


def test_an_adjusted_p_stands_beside_the_tests_own():
    clause = {
        "text": "m.p < 0.05",
        "observed": 0.0386,
        "unadjusted": 0.0129,
        "threshold": 0.05,
        "holds": True,
    }
    hypothesis = {"id": "H", "outcome": "supported", "sentence": "", "clauses": [clause], "reason": None}
    assert "m.p < 0.05  observed 0.0386, 0.0129 unadjusted" in verdict_text({"hypotheses": [hypothesis]})


@pytest.mark.parametrize(("other", "told"), [(0.95, ", 90%"), ([], ""), ("0.95", ""), (None, "")])
def test_the_level_of_an_interval_is_told_beside_one_of_another_level_whatever_is_answered(other, told):
    answers = {
        name: {"analysis": {"ci": {"low": 0.1, "high": 0.2, "level": level}}}
        for name, level in {"a": 0.9, "b": other}.items()
    }
    clause = {"text": "a.ci excludes 0", "observed": {"low": 0.1, "high": 0.2}, "holds": True}
    hypothesis = {"id": "H1", "outcome": "supported", "clauses": [clause], "analyses": answers}
    assert f"observed [0.1, 0.2]{told}\n" in verdict_text({"hypotheses": [hypothesis]}) + "\n"


def test_what_stands_against_a_verdict_comes_first():
    marks = [
        {"code": "unblinded", "effect": "invalid", "says": "rows came late", "hypotheses": None},
        {"code": "later", "effect": "flag", "says": "the file moved", "hypotheses": ["H1", "H2"]},
    ]
    lines = verdict_text({"hypotheses": [], "marks": marks}).split("\n\n")
    assert lines == ["  INVALID: rows came late", "  MARKED: the file moved (H1, H2)"]


WORDS = {
    "hypothesis": "H",
    "headline": {"en": "B did not beat A: +1.00 pp, rule not met", "zh": ""},
    "open": {"en": "Not shown: that they are equal.", "zh": ""},
    "ship": {"en": "Safe to ship? This record does not say.", "zh": ""},
    "next": {"en": "Next: run more items.", "zh": ""},
}
HYPOTHESIS = {
    "id": "H",
    "outcome": "not_supported",
    "sentence": "H is not supported: the rule `m.p < 0.05` is false.",
    "rule": "m.p < 0.05",
    "n": 95,
    "n_planned": 100,
    "clauses": [{"text": "m.p < 0.05", "observed": 0.2, "threshold": 0.05, "holds": False}],
    "analyses": {"m": {"analysis": {"sentence": "p = 0.200, so equality is not rejected."}}},
}


def test_a_verdict_with_words_begins_with_its_headline_and_says_nothing_twice():
    told = verdict_text({"hypotheses": [HYPOTHESIS]}, {"hypotheses": [WORDS]}, explain=False)
    assert told.splitlines() == [
        "H: B did not beat A: +1.00 pp, rule not met",
        "  Not shown: that they are equal.",
        "  Safe to ship? This record does not say.",
        "  Next: run more items.",
        "    fails  m.p < 0.05  observed 0.2",
        "  judged on 95 of 100 planned items",
    ]


def test_explain_adds_the_whole_sentence_and_those_of_the_tests():
    told = verdict_text({"hypotheses": [HYPOTHESIS]}, {"hypotheses": [WORDS]}, explain=True)
    assert told.startswith("H: B did not beat A")
    assert "H is not supported: the rule" in told
    assert "m: p = 0.200" in told


def test_a_verdict_tells_its_plan_what_happened_since_the_lock_and_its_warnings():
    verdict = {"preregistration_id": "p1", "plan_sha256": "ab" * 32}
    often = {"en": "the rule often fails.", "zh": "规则常常不成立。"}
    warnings = [
        {"code": "LOW_POWER", "of": "H1", "meaning": often},
        {"code": "LOW_POWER", "of": "H2", "meaning": often},
        {"code": "LOW_POWER", "of": "H2", "meaning": often},
        {"code": "NO_SEED", "of": ""},
    ]
    words = {
        "version": 2,
        "locked_at": "2026-11-28T08:51:12Z",
        "since_lock": {"en": "Since the lock: nothing.", "zh": ""},
        "warnings": warnings,
    }
    assert judged_plan_text(verdict, words).splitlines() == [
        "Plan p1, version 2, locked 2026-11-28 08:51 UTC, SHA-256",
        f"  {'ab' * 32}",
        "Since the lock: nothing.",
        "Warning at the lock of H1, H2: the rule often fails. (LOW_POWER)",
        "Warning at the lock: NO_SEED",
    ]
    chinese = judged_plan_text(verdict, words, Say("zh")).splitlines()
    assert chinese[-2:] == ["锁定时的警告（H1、H2）：规则常常不成立。（LOW_POWER）", "锁定时的警告：NO_SEED"]
    assert judged_plan_text(verdict, {**words, "warnings": []}).splitlines()[-1] == "Since the lock: nothing."
    assert judged_plan_text(verdict, None) == judged_plan_text(verdict, {"hypotheses": []}) == ""


def test_what_no_xml_may_hold_is_no_part_of_a_line():
    assert plain("a\ufffeb\uffffc") == "a?b?c"
    assert mask("a\ufffeb\n") == "a?b\n"
