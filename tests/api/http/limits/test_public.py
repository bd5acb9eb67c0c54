"""What everybody may ask for is remembered, and looked up at a bounded rate."""

from __future__ import annotations

import pytest

from service.api.http.limits.public import BURST, PER_SECOND, PublicAnswers
from service.errors import TooFast


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_an_answer_is_looked_up_once_while_it_is_fresh():
    clock, made = Clock(), []
    answers = PublicAnswers(clock)
    ask = lambda: answers.get("a", lambda: made.append(1) or b"%d" % len(made), seconds=1.0)  # noqa: E731
    assert [ask(), ask()] == [b"1", b"1"]
    clock.now += 0.9
    assert ask() == b"1"
    clock.now += 0.1
    assert ask() == b"2"
    assert answers.get("b", lambda: b"other", seconds=1.0) == b"other"


def test_more_than_a_burst_is_refused_until_time_has_passed():
    clock = Clock()
    answers = PublicAnswers(clock)
    for number in range(int(BURST)):
        answers.get(number, lambda: b"", seconds=1.0)
    with pytest.raises(TooFast):
        answers.get("one more", lambda: b"", seconds=1.0)
    answers.get(3, lambda: b"", seconds=1.0)  # what is known costs nothing
    clock.now += 1 / PER_SECOND
    answers.get("one more", lambda: b"", seconds=1.0)
    with pytest.raises(TooFast):
        answers.get("and another", lambda: b"", seconds=1.0)


def test_what_fails_is_not_remembered():
    answers, tries = PublicAnswers(Clock()), []

    def fail():
        tries.append(1)
        raise ValueError

    for _ in range(2):
        with pytest.raises(ValueError):  # noqa: PT011
            answers.get("a", fail, seconds=9.0)
    assert len(tries) == 2
