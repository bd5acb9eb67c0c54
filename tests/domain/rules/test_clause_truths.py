"""Truths of clauses on many data sets against what the words of a clause mean, one data set at a time."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from service.domain.rules.grammar import parse
from service.domain.rules.truth import TIE, TRUTH_OF, Ends, clause_truths, holds

MEANINGS: dict[str, Any] = {
    "m.p_value < 0.05": lambda p: p < 0.05,
    "m.p_value <= 0.05": lambda p: p <= 0.05,
    "m.p_value > 0.05": lambda p: p > 0.05,
    "m.p_value >= 0.05": lambda p: p >= 0.05,
    "m.n == 3": lambda n: n == 3,
    "m.n != 3": lambda n: n != 3,
    "m.p_value within [0.01, 0.05]": lambda p: 0.01 <= p <= 0.05,
    "m.p_value within (0.01, 0.05)": lambda p: 0.01 < p < 0.05,
    "m.ok is true": bool,
    "m.ok is false": lambda truth: not truth,
}
NUMBERS = [0.0, 0.01, 0.03, 0.05, 0.06, 1.0, 3.0]
ENDS = [-1.0, -0.02, 0.0, 0.02, 1.0, math.inf, -math.inf]


@pytest.mark.parametrize("text", MEANINGS)
def test_numbers_mean_what_the_clause_says(text: str) -> None:
    numbers = [0.0, 1.0] if " is " in text else NUMBERS
    truths = clause_truths(parse(text), np.array([*numbers, math.nan]))  # type: ignore[arg-type]
    expected = [bool(MEANINGS[text](each)) for each in numbers]
    assert [TRUTH_OF[int(each)] for each in truths] == [*expected, None]


@pytest.mark.parametrize(
    "text", ["m.ci excludes 0.02", "m.ci within [-0.02, 0.02]", "m.ci within (-0.02, 1)"]
)
def test_intervals_mean_what_the_clause_says(text: str) -> None:
    pairs = [(low, high) for low in ENDS for high in ENDS if low <= high]
    low, high = np.array(pairs).T
    meaning = {
        "m.ci excludes 0.02": lambda a, b: a > 0.02 or b < 0.02,
        "m.ci within [-0.02, 0.02]": lambda a, b: a >= -0.02 and b <= 0.02,
        "m.ci within (-0.02, 1)": lambda a, b: a > -0.02 and b < 1,
    }[text]
    truths = clause_truths(parse(text), (low, high))  # type: ignore[arg-type]
    assert [TRUTH_OF[int(each)] for each in truths] == [meaning(*each) for each in pairs]


def test_ends_that_are_undefined_leave_open_what_hangs_on_them() -> None:
    clause = parse("m.ci excludes 0")
    assert holds(clause, Ends(None, -0.1)) is True  # type: ignore[arg-type]
    assert holds(clause, Ends(None, 0.1)) is None  # type: ignore[arg-type]


def test_differences_tie_as_floats_and_not_as_fractions() -> None:
    clause = parse("delta >= 2 pp")
    near = Fraction(2, 100) - Fraction(TIE) / 2
    assert holds(clause, float(near)) is True  # type: ignore[arg-type]
    assert holds(clause, near) is False  # type: ignore[arg-type]


def test_a_field_of_another_shape_is_unknown() -> None:
    two = np.array([0.1, 0.2])
    assert {TRUTH_OF[int(each)] for each in clause_truths(parse("m.p_value < 0.05"), (two, two))} == {None}  # type: ignore[arg-type]
    assert {TRUTH_OF[int(each)] for each in clause_truths(parse("m.ci excludes 0"), two)} == {None}  # type: ignore[arg-type]
    assert holds(parse("m.ok is true"), 1.0) is None  # type: ignore[arg-type]
