"""Why the interval that a verdict reads cannot tell what the equivalence test beside it tells."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from service.domain.rules.truth import Ends
from service.domain.verdicts.parts import EquivalenceFallback, Span
from service.domain.verdicts.reading import IntervalRead, Reading
from service.domain.verdicts.words.fallbacks import fallback_messages
from service.words.messages import text_of

FALLBACK = EquivalenceFallback(
    test="tost", equivalent=True, counts=True, margin=0.02, alpha=0.05, ci=Span(low=-0.01, high=0.015), p_value=0.01
)  # fmt: skip
FACTS: Any = SimpleNamespace(
    fallback=FALLBACK, decided=True, uncorrected=0, size=1, apart=(0.0, 0.02), binary=True
)
LEVELS = (
    "Two one-sided tests at 0.05 read the 90% interval; that of paired.ci is at 95%, which is why it cannot tell "
    "by itself."
)
METHODS = "The interval paired.ci comes from another method, which is why it cannot tell by itself."


def sentences(read: IntervalRead | None, facts: Any = FACTS) -> list[str]:
    return [
        text_of(each, "en")
        for each in fallback_messages(None, SimpleNamespace(**{**vars(facts), "read": read}))
    ]  # type: ignore[arg-type]


def interval(reading: Reading, level: float | None) -> IntervalRead:
    return IntervalRead(reading, "paired.ci", Ends(-0.03, 0.03), None, level)


@pytest.mark.parametrize(("level", "sentence"), [(0.95, LEVELS), (0.9, METHODS), (0.9 + 1e-12, METHODS)])
def test_an_inconclusive_interval_is_explained_by_its_level_or_its_method(
    level: float, sentence: str
) -> None:
    first, *rest = sentences(interval("inconclusive", level))
    assert "90%" in first
    assert rest == [sentence]


@pytest.mark.parametrize(
    "read",
    [None, interval("inconclusive", None), interval("positive", 0.95), interval("equivalent", 0.95)],
)
def test_an_interval_that_tells_something_and_one_of_unknown_level_are_not_explained(
    read: IntervalRead | None,
) -> None:
    assert len(sentences(read)) == 1


@pytest.mark.parametrize("changes", [{"margin": None}, {"alpha": None}, {"equivalent": None}])
def test_a_test_without_an_answer_is_passed_over(changes: dict[str, None]) -> None:
    without = SimpleNamespace(**{**vars(FACTS), "fallback": FALLBACK.model_copy(update=changes)})
    assert sentences(interval("inconclusive", 0.95), without) == []
