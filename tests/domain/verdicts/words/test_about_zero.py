"""Why an interval and a p-value differ about 0, in words."""

from __future__ import annotations

from typing import Any

from service.domain.notes.notes import HypothesisSentences, sentences
from tests.domain.sample import binary, outcomes, plan, verdict_of


def said(changes: dict[str, Any], results: Any) -> HypothesisSentences:
    """What a verdict by this rule says of its only hypothesis."""
    verdict = verdict_of(changes, results)
    size = len(next(iter(results.cells.values())).values)
    (words,) = sentences(plan({"populations.0.n": size, **changes}), verdict, {})
    return words


def test_an_interval_and_a_test_of_another_method_are_told_apart() -> None:
    """The README's first example: Tango's interval lies above 0, and the exact p is .070."""
    words = said({"hypotheses.0.rule": "delta > 0 and m.p_value < 0.05"}, outcomes(*binary(21, 1, 7, 1)))
    assert (
        "They differ about 0 because they come from different methods: the interval from tango, the p-value from exact."
        in words.sentences.en
    )
    assert "区间来自 tango，p 值来自 exact" in words.sentences.zh


def test_a_one_sided_p_of_the_other_direction_is_told_apart_from_the_interval() -> None:
    """The interval lies below 0 and p asks for more than 0: by one method, whose two-sided p is the interval's."""
    rule = {"tests.0.parameters": {"method": "exact", "alternative": "greater"}}
    words = said(
        {**rule, "hypotheses.0.rule": "delta > 0 and m.p_value < 0.05"}, outcomes(*binary(500, 200, 5, 60))
    )
    assert "`m.p_value` is one-sided and the 95% interval is two-sided" in words.sentences.en
