"""A verdict's first two lines: who did what to whom, by how much, and what is not shown; never more than the rule."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.plans.plan import Plan
from service.domain.rules.settings import resolve
from service.domain.verdicts.records import HypothesisVerdict
from service.domain.verdicts.words.headline import Headline, headline
from service.words import LANGUAGES, text_of
from tests.domain.sample import VALUE, binary, outcomes, plan, verdict_of

NEVER = re.compile(r"no effect|confirm|prove[sn]?\b|significan|无差异|证明|证实|显著", re.IGNORECASE)
EQUIVALENCE = {
    "tests.1": {"id": "eq", "test": "equivalence", "version": 1, "parameters": {"method": "tango"}},
    "hypotheses.0.equivalence": "eq",
}
MISSING = np.array([np.nan, *np.ones(59)])
BY_RULE = {"hypotheses.0.claim": "equivalence", "hypotheses.0.rule": "m.ci within (-2 pp, 2 pp)"}
MINIMUM = {"hypotheses.0.claim": "minimum_effect", "hypotheses.0.rule": "m.ci.low > 2 pp"}
NO_WORSE = {"hypotheses.0.claim": "non_inferiority", "hypotheses.0.rule": "m.ci.low > -2 pp"}


def first_lines(plan: Plan, verdict: HypothesisVerdict) -> Headline:
    return headline(resolve(plan).require(verdict.id), verdict)


def lines(changes: dict[str, Any], results: Any) -> Headline:
    """Those of the sample's hypothesis."""
    verdict = verdict_of(changes, results)
    size = len(next(iter(results.cells.values())).values)
    return first_lines(plan({"populations.0.n": size, **changes}), verdict.hypotheses[0])


@pytest.mark.parametrize(
    ("changes", "results", "line", "rest"),
    [
        (
            {},
            binary(500, 300, 40, 10),
            "C2 beat C1: +6.00 pp (95% CI +3.37 to +8.94 pp), rule met",
            "Not shown: how large the gain is, within that interval.",
        ),
        (
            {},
            binary(500, 200, 30, 20),
            "C2 did not beat C1: +2.00 pp (95% CI -0.80 to +4.90 pp), rule not met",
            "Not shown: that they are equal.",
        ),
        (
            {},
            binary(500, 200, 10, 40),
            "C2 did not beat C1 but fell behind: -6.00 pp (95% CI -8.94 to -3.37 pp), rule not met",
            "Still possible at 95%: differences from -8.94 to -3.37 pp.",
        ),
        (
            {"hypotheses.0.rule": "delta >= 2.0 pp and m.ci excludes 0"},
            binary(5000, 3000, 40, 8),
            "C2 is ahead of C1, but not as the rule asks: +0.64 pp (95% CI +0.39 to +0.94 pp), rule not met",
            "Not met: `delta >= 2.0 pp`.",
        ),
        (
            EQUIVALENCE,
            binary(2000, 1500, 5, 5),
            "C2 did not beat C1 and is equivalent to it within 2.00 pp: 0.00 pp (90% CI -0.29 to +0.29 pp), "
            "planned equivalence test passed, rule not met",
            "Not shown: that there is no difference at all.",
        ),
        (
            BY_RULE,
            binary(2000, 1500, 5, 5),
            "C2 and C1 are equivalent within 2.00 pp: 0.00 pp (95% CI -0.36 to +0.36 pp), rule met",
            "Not shown: that there is no difference at all.",
        ),
        (
            BY_RULE,
            binary(500, 200, 30, 20),
            "C2 and C1 were not shown to be equivalent within 2.00 pp: +2.00 pp (95% CI -0.80 to +4.90 pp), "
            "rule not met",
            "Not shown: that they are equal.",
        ),
        (
            MINIMUM,
            binary(500, 200, 90, 10),
            "C2 beat C1 by more than 2.00 pp: +16.00 pp (95% CI +12.47 to +19.83 pp), rule met",
            "Not shown: how large the gain is, within that interval.",
        ),
        (
            NO_WORSE,
            binary(2000, 1500, 5, 5),
            "C2 is no worse than C1 (margin 2.00 pp): 0.00 pp (95% CI -0.36 to +0.36 pp), rule met",
            "Not shown: that C2 is better.",
        ),
        (
            NO_WORSE,
            binary(5000, 3000, 8, 40),
            "C2 is no worse than C1 (margin 2.00 pp): -0.64 pp (95% CI -0.94 to -0.39 pp), rule met",
            "Shown as well: a loss, smaller than the margin.",
        ),
        (
            {"missing": "fail"},
            (MISSING, np.zeros(60)),
            "No valid answer on whether C2 beat C1",
            "Not judged as planned: 1 results of arm 'C1' are not ok, and the plan's missing policy is `fail`.",
        ),
        (
            {},
            (np.full(5, np.nan), np.zeros(5)),
            "It is open whether C2 beat C1: rule undecided",
            "Not decided: `delta >= 2.0 pp`: no item is left to compare; `m.p_value < 0.05`, `m.ci excludes 0`: no "
            "item is left: every pair has a result that is not ok.",
        ),
    ],
)
def test_a_verdict_begins_as_a_person_would_say_it(
    changes: dict[str, Any], results: Any, line: str, rest: str
) -> None:
    first = lines(changes, outcomes(*results))
    assert first.line.text("en") == line
    assert text_of(first.open, "en") == rest


def test_chinese_says_the_same() -> None:
    first = lines({}, outcomes(*binary(500, 200, 30, 20)))
    assert (
        first.line.text("zh")
        == "未能表明 C2 优于 C1：+2.00 个百分点（95% 置信区间 -0.80 至 +4.90 个百分点），规则不成立"
    )
    assert text_of(first.open, "zh") == "未表明两组相同。"


def test_an_equivalence_that_a_correction_would_undo_says_that_it_is_uncorrected() -> None:
    second = {"hypotheses.1": {**VALUE["hypotheses"][0], "id": "H2"}, "multiplicity.family": ["H1", "H2"]}
    first = lines({**EQUIVALENCE, **second}, outcomes(*binary(1000, 400, 60, 60)))
    assert first.line.text("en").endswith(
        ", rule not met; the planned equivalence test within 2.00 pp passed, but would not if corrected"
    )
    assert first.line.text("zh").endswith(
        "规则不成立；计划中在 2.00 个百分点之内的等价性检验通过，但若校正则不能通过"
    )
    assert first.line.text("en").startswith("C2 did not beat C1: ")
    assert first.qualified == "uncorrected"
    assert first.decided == ""  # the line has said it
    assert first.figure is not None
    assert first.figure.level == 0.95  # of the rule, as the line's


def test_an_equivalence_that_the_wider_interval_does_not_bear_out_says_so() -> None:
    """The test reads 90 %, the rule 95 %: where the latter holds the margin, nobody is to find that out below."""
    first = lines(EQUIVALENCE, outcomes(*binary(1000, 400, 60, 60)))
    assert first.line.text("en").endswith(
        "0.00 pp (90% CI -1.82 to +1.82 pp), planned equivalence test passed narrowly, rule not met"
    )
    assert first.qualified == "narrowly"
    assert text_of(first.open, "en") == ("Not shown: that there is no difference at all.")
    assert "越出了界值" in text_of(first.decided, "zh")
    assert text_of(first.decided, "en") == (
        "The rule does not hold. What makes this equivalent is a test that the plan names beside it, `eq`: "
        "differences beyond ±2.00 pp are "
        "rejected at alpha = 0.05 (90% CI -1.82 to +1.82 pp). The interval that the rule reads, of 95%, is wider and "
        "did not decide: from -2.17 to +2.17 pp, beyond the margin."
    )
    assert first.figure is not None
    assert first.figure.level == pytest.approx(0.9)


def test_what_the_rule_decided_needs_no_word_of_another_test() -> None:
    first = lines(BY_RULE, outcomes(*binary(2000, 1500, 5, 5)))
    assert first.decided == ""
    assert first.qualified is None
    assert lines({}, outcomes(*binary(500, 200, 30, 20))).decided == ""


def test_a_margin_that_was_not_shown_is_not_said() -> None:
    """A test's own margin, wider than the SESOI with a reason, is the one that stands in the line."""
    wide = {
        "hypotheses.0.claim": "non_inferiority",
        "hypotheses.0.rule": "eq.noninferior is true",
        "tests.1": {
            "id": "eq",
            "test": "equivalence",
            "version": 1,
            "parameters": {"method": "tango", "margin": {"value": 0.05, "unit": "proportion"}},
            "margin_reason": "five points are lost between any two runs",
        },
    }
    first = lines(wide, outcomes(*binary(500, 300, 10, 18)))
    assert "2.00 pp)" not in first.line.text("en").partition(":")[0]
    assert "(margin 5.00 pp)" in first.line.text("en")


def test_endpoint_and_population_stand_where_hypotheses_differ_in_them() -> None:
    other = {
        "endpoints.1": {"id": "recall", "kind": "binary", "role": "secondary"},
        "hypotheses.1": {
            "id": "H2",
            "statement": "C2 is better in recall",
            "population": "one",
            "baseline": "C1",
            "candidate": "C2",
            "endpoint": "recall",
            "claim": "superiority",
            "rule": "m.p_value < 0.05 and delta > 0",
        },
    }
    results = outcomes(*binary(500, 300, 40, 10))
    verdict = verdict_of({}, results).hypotheses[0]
    both = first_lines(plan({"populations.0.n": 500, **other}), verdict)
    assert both.line.text("en").startswith("C2 beat C1 in accuracy: ")
    assert both.line.text("zh").startswith("就 accuracy 而言，C2 优于 C1：")


@given(st.integers(0, 60), st.integers(0, 60), st.sampled_from([{}, EQUIVALENCE, BY_RULE, MINIMUM, NO_WORSE]))
def test_no_headline_says_more_than_its_outcome(gained: int, lost: int, changes: dict[str, Any]) -> None:
    results = outcomes(*binary(200, 50, gained, lost))
    verdict = verdict_of(changes, results).hypotheses[0]
    first = first_lines(plan({"populations.0.n": 200, **changes}), verdict)
    line = first.line.text("en")
    claims = re.search(r"^C2 beat|is no worse|are equivalent|is equivalent", line)
    assert (verdict.outcome in ("supported", "equivalent")) == bool(claims), line
    assert ("rule met" in line) == bool(verdict.rule_holds)
    for language in LANGUAGES:
        assert not NEVER.search(first.line.text(language) + text_of(first.open, language))


@given(st.integers(0, 60), st.integers(0, 60), st.sampled_from([{}, EQUIVALENCE, BY_RULE, MINIMUM, NO_WORSE]))
def test_what_is_drawn_is_what_the_line_says(gained: int, lost: int, changes: dict[str, Any]) -> None:
    results = outcomes(*binary(200, 50, gained, lost))
    verdict = verdict_of(changes, results).hypotheses[0]
    first = first_lines(plan({"populations.0.n": 200, **changes}), verdict)
    line = first.line.text("en")
    assert (first.figure is not None) == ("% CI" in line)
    if first.figure is not None:
        numbers = [float(number) for number in re.findall(r"[+-]?\d+\.\d+", line.partition(": ")[2])]
        drawn = [first.figure.value, first.figure.low, first.figure.high]
        assert numbers == [pytest.approx(100 * number, abs=0.0051) for number in drawn if number is not None]
        assert (first.figure.against, first.figure.sesoi) == (0.0, 0.02)
