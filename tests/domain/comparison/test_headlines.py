"""A comparison's first line and second, in both languages: outcome, arms, numbers, and what stays open."""

from __future__ import annotations

import re

import pytest

from service.domain.comparison.compare import compare
from service.domain.comparison.headlines import headline, what_is_open
from service.domain.comparison.records import Comparison
from service.domain.comparison.request import ComparisonRequest
from service.words import speaking
from tests.domain.comparison.worlds import body

BASE = compare(
    ComparisonRequest.model_validate(body([0.0, 1.0] * 20, [1.0] * 30 + [0.0, 1.0] * 5, None, None))
)
NAMES = ("base.csv", "cand.csv")


def answer(outcome: str, low: float | None, high: float | None, **changes: object) -> Comparison:
    """An answer of this outcome, with a difference within its interval."""
    ci = BASE.ci.model_copy(update={"low": low, "high": high})
    middle = None if low is None or high is None else (low + high) / 2
    facts = {"outcome": outcome, "ci": ci, "delta": BASE.delta if middle is None else middle, "reasons": {}}
    return BASE.model_copy(update={**facts, **changes})


@pytest.mark.parametrize(
    ("told", "line", "open_"),
    [
        (answer("better", 0.02, 0.1), "cand.csv beat base.csv: +6.00 pp (95% CI +2.00 to +10.00 pp)", ""),
        (
            answer("no_worse", -0.02, 0.04, margin=0.05),
            "cand.csv is no worse than base.csv within 5.00 pp: +1.00 pp (95% CI -2.00 to +4.00 pp)",
            "Not shown: that cand.csv is better.",
        ),
        (
            answer("no_worse", -0.03, -0.01, margin=0.05, worse=True),
            "cand.csv is no worse than base.csv within 5.00 pp: -2.00 pp (95% CI -3.00 to -1.00 pp)",
            "Shown as well: a loss, smaller than the margin.",
        ),
        (
            answer("no_worse", 0.01, 0.03, margin=0.05),
            "cand.csv is no worse than base.csv within 5.00 pp: +2.00 pp (95% CI +1.00 to +3.00 pp)",
            "Not shown: that cand.csv is better, though the interval excludes 0: the exact test does not reject "
            "equality.",
        ),
        (
            answer("worse", -0.08, -0.02, margin=0.05),
            "cand.csv is worse than base.csv: -5.00 pp (95% CI -8.00 to -2.00 pp)",
            "Not shown: that the loss is beyond the margin of 5.00 pp.",
        ),
        (
            answer("worse", -0.18, -0.12, margin=0.05, prefers="lower", points=False),
            "cand.csv is worse than base.csv (lower is better): +0.15 (95% CI +0.12 to +0.18)",
            "Shown as well: a loss beyond the margin of 0.05.",
        ),
        (
            answer("cannot_tell", -0.02, 0.04),
            "Cannot tell whether cand.csv is better or worse than base.csv: +1.00 pp (95% CI -2.00 to +4.00 pp)",
            "The interval holds 0: neither a gain nor a loss is ruled out.",
        ),
        (
            answer("cannot_tell", None, None, margin=0.05, delta=0.01),
            "Cannot tell whether cand.csv is no worse than base.csv within 5.00 pp: +1.00 pp, without an interval",
            "The data decide nothing.",
        ),
        (
            answer("cannot_tell", None, None, delta=None),
            "Cannot tell: no item has a result in both arms",
            "",
        ),
    ],
)
def test_the_first_line_says_who_and_how_much_and_the_second_what_is_open(
    told: Comparison, line: str, open_: str
) -> None:
    assert (headline(told, *NAMES), what_is_open(told, NAMES[1])) == (line, open_)
    with speaking("zh"):
        chinese = headline(told, *NAMES), what_is_open(told, NAMES[1])
    assert bool(chinese[1]) == bool(open_)
    assert not re.search(r"[A-Za-z]{3}", re.sub(r"(base|cand)\.csv", "", " ".join(chinese))), chinese
    numbers = re.compile(r"[+-]?\d[\d.]*")
    assert sorted(numbers.findall(line)) == sorted(numbers.findall(chinese[0]))


def test_a_slice_that_lost_is_named_in_the_second_line() -> None:
    rows = body([1.0] * 40 + [0.0] * 40, [0.0] * 40 + [1.0] * 40, None, None)
    for arm in ("baseline", "candidate"):
        rows[arm]["slices"] = ["a"] * 40 + ["b"] * 40  # type: ignore[index]
    told = compare(ComparisonRequest.model_validate(rows))
    assert told.headline.startswith("Cannot tell whether ")
    assert told.open.endswith("Shown to have lost: 'a'.")
