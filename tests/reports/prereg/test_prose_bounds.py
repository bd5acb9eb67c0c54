"""Of a sentence so much is looked at, however it is written."""

from __future__ import annotations

import pytest

from service.reports.prereg.passage import MAX_PROSE, Passage, fold


@pytest.mark.parametrize("letter", ["ﷺ", "㍘", "⑳", "㌀", "a"])  # one stands for up to eighteen
def test_a_folded_sentence_is_no_longer_than_is_looked_at(letter: str) -> None:
    assert len(fold(letter * 2 * MAX_PROSE)) <= MAX_PROSE


def test_what_folding_puts_beyond_that_is_said_to_be_left() -> None:
    said = Passage("⑳" * (MAX_PROSE // 2 + 1))
    said.mark(0, MAX_PROSE)
    assert said.list_left() == [f"what follows the first {MAX_PROSE} characters"]
    assert Passage("a" * MAX_PROSE).beyond is False
