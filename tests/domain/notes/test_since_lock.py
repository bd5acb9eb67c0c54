"""What happened since the lock, in one sentence: also that nothing did."""

from __future__ import annotations

from service.domain.notes.since_lock import COUNTED, since_lock


def test_that_nothing_happened_is_said() -> None:
    assert since_lock({}, 0).text("en") == (
        "Since the lock: the plan was not amended; no deviation was filed; no outcomes were opened in the "
        "service before the verdict; no results were struck."
    )


def test_everything_that_happened_is_counted() -> None:
    counts = dict(zip(COUNTED, range(1, 7), strict=True))
    assert since_lock(counts, 2).text("en") == (
        "Since the lock: the plan was amended 1 time; 2 arms were named; 3 deviations were filed; outcomes were opened "
        "4 times before the verdict; collecting was closed early; the record was withdrawn; 2 batches of results were "
        "struck."
    )
    chinese = since_lock(counts, 2).text("zh")
    assert chinese.startswith("锁定之后：")
    assert all(str(count) in chinese for count in (1, 2, 3, 4))
