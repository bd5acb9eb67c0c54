"""What an answer claims, read from its words and fields, and whether the printed interval carries it."""

from __future__ import annotations

import re

from service.domain.comparison.compare import compare
from service.domain.comparison.records import Comparison
from service.domain.comparison.request import ComparisonRequest
from service.domain.wording.wording import Support, lint_wording

CLAIMS = {"better": "Better: ", "no_worse": "No worse: ", "worse": "Worse: ", "cannot_tell": "Cannot tell: "}
_PRINTED = re.compile(r"interval ([+-]?[\d.e+-]+)(?: pp)? to ([+-]?[\d.e+-]+)(?: pp)?;")


def compared(request: dict[str, object]) -> Comparison:
    """The answer to a request, once its claims are checked against its interval."""
    answer = compare(ComparisonRequest.model_validate(request))
    check(answer)
    return answer


def check(found: Comparison) -> None:
    """Fail where a word or a flag says more than the interval."""
    low = -float("inf") if found.ci.low is None else found.ci.low
    high = float("inf") if found.ci.high is None else found.ci.high
    margin = found.margin
    assert found.sentence.startswith(CLAIMS[found.outcome])
    assert "exploratory: no plan was locked" in found.status
    if found.better:
        assert low > 0
    if found.worse:
        assert high < 0
    if found.no_worse:
        assert margin is not None
        assert low > -margin
    assert {
        "better": found.better,
        "no_worse": bool(found.no_worse) and not found.better,
        "worse": found.worse and not found.no_worse,
        "cannot_tell": not (found.better or found.no_worse or found.worse),
    }[found.outcome]
    _check_words(found, low, high)


def _check_words(found: Comparison, low: float, high: float) -> None:
    words = found.sentence
    above, below = "lies above 0" in words or "is above 0" in words, "below 0" in words
    assert above == (low > 0)
    assert below == (high < 0)
    if "beyond the margin of" in words and "not told" not in words:
        assert high < -found.margin
    if "minus the margin" in words:
        assert low > -found.margin
    if "holds 0" in words:
        assert low <= 1e-9
        assert high >= -1e-9
    printed = _PRINTED.search(words)
    assert (printed is None) == (found.ci.low is None or found.ci.high is None)
    if printed:
        unit = 100 if found.points else 1
        for text, end in zip(printed.groups(), (low, high), strict=True):
            assert abs(float(text) - unit * end) <= max(0.006, 1e-3 * abs(unit * end))
    overstated = [
        each.code for each in lint_wording(f"{words} {found.next}", Support(no_worse=bool(found.no_worse)))
    ]
    assert not overstated, (words, overstated)
