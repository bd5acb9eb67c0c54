"""DEVIATIONS.md and the card as pages: everything a deviation holds is there, in both languages."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from service.domain.deviations.classification import Facts
from service.domain.deviations.consequences import consequences
from service.domain.deviations.deviation import Decision, Deviation, Filing
from service.domain.rules.settings import resolve
from service.domain.verdicts.outcomes import Rows
from service.reports.deviations_markdown import print_deviations
from tests import records as made
from tests.domain.sample import binary, manifests, outcomes, plan

AT = datetime(2027, 1, 4, 9, tzinfo=UTC)
SHA = "b1" * 32
FILING: dict[str, Any] = {
    "title": "Sample size | *500* to 400",
    "original": "n = 500.",
    "actual": "n = 400;\ntwo categories were truncated.",
    "reason": "# The API budget",
    "impact": "预算不足,主张更难成立。",
    "direction": "conservative",
    "outcomes_seen": False,
    "change": {
        "kind": "exclude_items",
        "population": "one",
        "item_ids": ["item 0"],
        "dropped_favour": "candidate",
    },
}


def deviation(number: int = 1, **changes: Any) -> Deviation:
    filing = Filing.model_validate_json(json.dumps(FILING | changes), strict=True)
    facts = Facts(
        state="collecting",
        results_received=3,
        results_expected=1000,
        judged=False,
        unblinded=False,
        outcomes_seen=filing.outcomes_seen,
    )
    return made.deviation(plan(), filing, facts, AT, preregistration_id="p1", number=number, plan_sha256=SHA)


DECISION = Decision(
    number=1,
    classification="reject",
    note="Chosen *too late*.",
    reviewer="grace",
    gentler=False,
    decided_at=AT,
)


@pytest.mark.parametrize(
    ("language", "words"),
    [
        (
            "en",
            (
                "# Deviations from",
                "## Deviation 1: ",
                "**Reason**: ",
                "`conservative` (as its author says)",
                "3/1000 results in",
                "no outcome could be read",
                "**Standing**: `reject`",
                "for a finding of no difference: `aggressive`",
            ),
        ),
        (
            "zh",
            (
                "# 对 EXPERIMENTS_PREREG.md 的偏离",
                "## 偏离 1：",
                "**原因**：",
                "保守（`conservative`）",
                "当时无法看到任何结果",
                "**现行处置**：拒绝（`reject`）",
            ),
        ),
    ],
)
def test_everything_a_deviation_holds_is_printed(language: Any, words: tuple[str, ...]) -> None:
    filed = deviation()
    text = print_deviations([filed], {1: (DECISION,)}, plan_sha256=SHA, language=language)
    for expected in words:
        assert expected in text, expected
    for written in (
        "Sample size | \\*500\\* to 400",
        "n = 400;\\\n    two categories",
        "预算不足",
        "Chosen \\*too late\\*.",
    ):
        assert written in text, written
    for fact in (
        SHA,
        filed.sha256(),
        "`ada`",
        "`grace`",
        AT.isoformat(),
        f"`{filed.rule.id}, {filed.rule.ruleset}`",
    ):
        assert fact in text, fact
    assert '"item_ids": ["item 0"]' in text
    assert "verdict" not in text.split("Standing")[0]


def test_no_deviation_says_so() -> None:
    assert "No deviation has been filed." in print_deviations([], {}, plan_sha256=SHA)
    assert "尚未登记任何偏离。" in print_deviations([], {}, plan_sha256=SHA, language="zh")


def test_after_the_verdict_the_outcomes_as_planned_and_as_run_stand_side_by_side() -> None:
    changed = plan({"populations.0.n": 60})
    baseline, candidate = binary(60, 30, 6, 0)
    left_out = [f"item {position}" for position in np.flatnonzero(candidate > baseline)]
    filed = deviation(change=FILING["change"] | {"item_ids": left_out})
    rows = Rows(resolve(changed), manifests(changed), outcomes(baseline, candidate))
    found = consequences(rows, {1: filed.filing.change}, {"H1": "supported"})
    assert found.as_run is not None
    (as_run,) = found.as_run.hypotheses
    assert as_run.outcome == "not_supported"
    text = print_deviations([filed], {}, plan_sha256=SHA, consequences=found)
    assert "| H1 | `supported` | `not_supported` |" in text
    (point,) = found.tipping_points
    if point.items is not None:
        assert f"- H1: {point.items} items in doubt could change the outcome" in text
    chinese = print_deviations([filed], {}, plan_sha256=SHA, consequences=found, language="zh")
    assert "| H1 | 得到支持（`supported`） | 未得到支持（`not_supported`） |" in chinese
