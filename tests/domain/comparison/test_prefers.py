"""Outcomes of which lower ones are better: the same answers turned round, in numbers as they were sent."""

from __future__ import annotations

import re

import numpy as np
import pytest

from forelock.questions.forms.gate_form import picture_of
from service.domain.comparison.compare import compare
from service.domain.comparison.request import ComparisonRequest
from service.errors import InvalidData
from tests.domain.comparison.worlds import ARMS, body
from tests.drawing import one_in

MARGIN = {"value": 0.2, "unit": "score"}


def answered(request):
    return compare(ComparisonRequest.model_validate(request))


def turned(request):
    """Outcomes x as -x, and right and wrong changed over."""
    values = [value for arm in ARMS for value in request[arm]["values"] if value is not None]
    about = 1.0 if set(values) <= {0.0, 1.0} else 0.0
    other = {**request, "prefers": "lower"}
    for arm in ARMS:
        other[arm] = {
            **request[arm],
            "values": [None if value is None else about - value for value in request[arm]["values"]],
        }
    if "range" in request:
        other["range"] = {"low": -request["range"]["high"], "high": -request["range"]["low"]}
    return other, about


def drawn(kind, shift, clusters):
    rng = np.random.default_rng(7)
    labels = [f"c{row // 4}" for row in range(48)] if clusters else None
    slices = ["a", "b"] * 24
    if kind == "binary":
        before = (rng.random(48) < 0.4).astype(float)
        after = np.where(rng.random(48) < abs(shift), 1.0 if shift > 0 else 0.0, before)
        return body(before, after, labels, slices, margin={"value": 10, "unit": "pp"})
    before = rng.normal(3, 1, 48).clip(0, 6)
    after = (before + rng.normal(shift, 0.2, 48)).clip(0, 6)
    return body(before, after, labels, slices, margin=MARGIN, range={"low": 0, "high": 6})


@pytest.mark.parametrize("clusters", [False, True])
@pytest.mark.parametrize("shift", [-0.7, 0.02, 0.7])
@pytest.mark.parametrize("kind", one_in(3, ["binary", "scores"]))
def test_lower_is_better_is_the_same_answer_turned_round(kind, shift, clusters):
    request = drawn(kind, shift, clusters)
    other, about = turned(request)
    higher, lower = answered(request), answered(other)
    assert (lower.outcome, lower.better, lower.no_worse, lower.worse) == (
        higher.outcome,
        higher.better,
        higher.no_worse,
        higher.worse,
    )
    assert lower.delta == pytest.approx(-higher.delta)
    assert (lower.ci.low, lower.ci.high) == pytest.approx((-higher.ci.high, -higher.ci.low), abs=1e-9)
    assert lower.baseline_mean == pytest.approx(about - higher.baseline_mean)
    for one, two in zip(lower.tests, higher.tests, strict=True):
        assert one.p_value == pytest.approx(two.p_value)
        assert (one.ci is None) == (two.ci is None)
    for one, two in zip(lower.slices.results, higher.slices.results, strict=True):
        assert (one.outcome, one.standing) == (two.outcome, two.standing)
        assert one.ci.low == pytest.approx(-two.ci.high, abs=1e-9)
    assert "(lower is better)" in lower.sentence
    sides = {"above": "below", "below": "above"}
    words = re.compile(r"[+-]?\d+(?:\.\d+)?(?: pp)?|, minus the margin|, the margin| \(lower is better\)")
    mirrored = re.sub("above|below", lambda side: sides[side[0]], higher.sentence)
    assert words.sub("", lower.sentence) == words.sub("", mirrored)


def test_numbers_are_those_that_were_sent():
    """Latencies: 0.3 s fewer are better, and were "worse"."""
    rng = np.random.default_rng(3)
    before = rng.uniform(2, 4, 400)
    after = before - 0.3 + rng.normal(0, 0.05, 400)
    request = body(before, after, margin=MARGIN, range={"low": 0, "high": 10})
    assert answered(request).outcome == "worse"
    answer = answered(request | {"prefers": "lower"})
    assert answer.outcome == "better"
    assert answer.delta == pytest.approx(-0.3, abs=0.02)
    assert answer.ci.high < 0
    assert (answer.scale.low, answer.scale.high) == (0, 10)
    assert "Scores lie between 0 and 10, as declared." in answer.rule
    assert "the interval lies below 0 (lower is better)" in answer.sentence
    drawing = picture_of(answer.model_dump(mode="json")).draw("ascii")
    assert drawing.splitlines()[1].split() == ["0", "+0.2"]


def test_a_failure_counts_as_the_worst_there_can_be():
    """Of errors (0 and 1) a result that is missing counted as 0: no error."""
    before, after = [0.0, 1.0] * 40, [0.0, 1.0] * 40
    after[:8] = [None] * 8
    errors = answered(body(before, after) | {"prefers": "lower", "missing": "fail"})
    assert (errors.n, errors.delta) == (80, pytest.approx(4 / 80))
    scores = body([2.0, 3.0] * 40, [2.0, 3.0] * 36 + [None] * 8)
    with pytest.raises(InvalidData, match="better than the worst score: scores reach 3"):
        answered(scores | {"prefers": "lower", "missing": "fail"})
    declared = scores | {"prefers": "lower", "missing": "fail", "range": {"low": 0, "high": 5}}
    answer = answered(declared)
    assert answer.delta == pytest.approx((5 - 2 + 5 - 3) * 4 / 80)
    (warning,) = [each for each in answer.warnings if each.code == "MISSING_RESULTS"]
    assert "count there as the worst there can be" in warning.message
    with pytest.raises(InvalidData, match="is 0 to 2, and baseline holds 3"):
        answered(scores | {"prefers": "lower", "range": {"low": 0, "high": 2}})
