"""What is kept of answers stays within its bound, and is told apart by every argument."""

from __future__ import annotations

from service.domain.recent import Recent, remember


def test_what_was_not_used_for_longest_goes() -> None:
    kept: Recent[str, int] = Recent(3)
    kept.add("a", 1, 1)
    kept.add("b", 2, 1)
    assert kept.get("a") == 1
    kept.add("c", 3, 2)
    assert [kept.get(each) for each in "abc"] == [1, None, 3]
    kept.add("d", 4, 100)
    assert [kept.get(each) for each in "acd"] == [None, None, 4]


def test_small_values_are_counted_too() -> None:
    kept: Recent[int, int] = Recent(1_000_000, 3)
    for number in range(5):
        kept.add(number, number, 1)
    kept.add(4, 40, 2)
    assert [kept.get(number) for number in range(5)] == [None, None, 2, 3, 40]


def test_an_answer_is_computed_once_for_equal_arguments() -> None:
    asked: list[tuple[str, str, bool]] = []

    @remember(2)
    def found(text: str, other: str = "", *, whole: bool = False) -> None:
        asked.append((text, other, whole))

    found("a", "b")
    found("a", "b")
    assert asked == [("a", "b", False)], "None is an answer too"
    found("ab", "")
    found("a", "b", whole=True)
    found("a", "b")
    assert len(asked) == 4, "only the last two are kept"
