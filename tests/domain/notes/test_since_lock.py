"""What happened since the lock, in one sentence: also that nothing did."""

from __future__ import annotations

from datetime import timedelta

import pytest

from service.domain.notes.since_lock import COUNTED, since_lock
from service.words import text_of


def test_that_nothing_happened_is_said() -> None:
    assert since_lock({}, 0).sentence.text("en") == (
        "Since the lock: the plan was not amended; no deviation was filed; no outcomes were opened in the "
        "service before the verdict; no results were struck (declared void). Not shown: that the runs were made "
        "after the lock."
    )


def test_everything_that_happened_is_counted() -> None:
    counts = dict(zip(COUNTED, range(1, 7), strict=True))
    assert since_lock(counts, 2).sentence.text("en") == (
        "Since the lock: the plan was amended 1 time; 2 arms were named; 3 deviations were filed; outcomes were opened "
        "4 times before the verdict; collecting was closed early; the record was withdrawn; 2 batches of results were "
        "struck. Not shown: that the runs were made after the lock."
    )
    chinese = since_lock(counts, 2).sentence.text("zh")
    assert chinese.startswith("锁定之后：")
    assert all(str(count) in chinese for count in (1, 2, 3, 4))


@pytest.mark.parametrize(
    ("last", "delay"),
    [
        (timedelta(milliseconds=400), "less than a second"),
        (timedelta(seconds=1), "1 second"),
        (timedelta(minutes=59, seconds=59), "59 minutes"),
        (timedelta(hours=1), "1 hour"),
        (timedelta(days=3, hours=5), "3 days"),
    ],
)
def test_a_reader_sees_how_soon_after_the_lock_everything_was_there(last: timedelta, delay: str) -> None:
    soon = last < timedelta(hours=1)
    assert text_of(
        since_lock({}, 0, last).arrival, "en"
    ) == f"All results had arrived {delay} after the lock" + (
        ": any run that took longer than that began before it, and its results may have been known then. "
        "The lock does not show that the plan came first."
        if soon
        else ", which does not show that the runs were made after it."
    )
    assert text_of(since_lock({}, 0, last).arrival, "zh").startswith("全部结果")
    said = since_lock({}, 0, last).sentence.text("en")
    assert said.startswith(since_lock({}, 0).sentence.text("en"))
    assert said.endswith("all but the shortest runs began before it.") == soon


def test_of_what_was_closed_early_no_last_result_is_told() -> None:
    assert since_lock({"close": 1}, 0, timedelta(hours=1)).arrival == ""
