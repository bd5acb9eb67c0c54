"""How many steps a regular expression takes, counted and not timed, and the texts that make it take the most.

Python's engine backtracks. This one does the same on the same parsed pattern, in the same order, and counts; bounded
repeats are cut short, since what is bounded grows with no text. So two lengths of a text tell whether the steps grow
faster than it does, on any machine and under any load.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from re import _constants as ops  # type: ignore[attr-defined]  # the tree is nowhere else
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

Node = tuple[Any, Any]
Then = Callable[[int], bool]

MOST_STEPS = 400_000
"""More is given up: the pattern is exponential on so short a text."""
MOST_REPEATS = 4
"""A bounded repeat is taken for one of at most so many."""
CANDIDATES = "a0 xA.-_\n\"'`(/:=%,;&#*|>~\\[{}])<!?@+\t中的\x00"
_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)


class TooManySteps(Exception):
    """A text took more than `MOST_STEPS`."""


def parsed(pattern: str | bytes, flags: int) -> tuple[Sequence[Node], int]:
    """The tree of a pattern and its flags; one of bytes as if it were of Latin-1 letters."""
    text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
    tree = parser.parse(text, flags & ~re.UNICODE if isinstance(pattern, bytes) else flags & ~re.DEBUG)
    return tuple(tree), tree.state.flags


class Counter:
    """Matches one pattern against texts, and counts its steps."""

    def __init__(self, nodes: Sequence[Node], flags: int) -> None:
        self._nodes, self._flags = nodes, flags
        self._text, self._groups = "", dict[int, tuple[int, int]]()
        self.steps = 0

    def search(self, text: str) -> int:
        """Steps to find every match, as `finditer` and `sub` do."""
        at = 0
        self._begin(text)
        while at <= len(text):
            end = self._match(at)
            at = at + 1 if end is None or end == at else end
        return self.steps

    def match(self, text: str, *, full: bool = False) -> int:
        """Steps to match at the beginning, or from there to the end."""
        self._begin(text)
        self._match(0, full=full)
        return self.steps

    def _begin(self, text: str) -> None:
        self._text, self.steps = text, 0

    def _match(self, at: int, *, full: bool = False) -> int | None:
        ends: list[int] = []

        def end(position: int) -> bool:
            if full and position != len(self._text):
                return False
            ends.append(position)
            return True

        self._groups.clear()
        return ends[0] if self._run(self._nodes, 0, at, end) else None

    def _run(self, nodes: Sequence[Node], index: int, at: int, then: Then) -> bool:
        while True:
            if index == len(nodes):
                return then(at)
            self._step()
            op, value = nodes[index]
            if not _is_one(op):
                break
            if at >= len(self._text) or not accepts(op, value, self._text[at], self._flags):
                return False
            index, at = index + 1, at + 1

        def following(position: int) -> bool:
            return self._run(nodes, index + 1, position, then)

        if op in _REPEATS:
            return self._repeat(op, value, at, following)
        if op is ops.BRANCH:
            return any(self._run(tuple(way), 0, at, following) for way in value[1])
        if op is ops.SUBPATTERN:
            group, _, _, inner = value

            def close(position: int) -> bool:
                before = self._groups.get(group)
                self._groups[group] = at, position
                if following(position):
                    return True
                self._groups.pop(group) if before is None else self._groups.__setitem__(group, before)
                return False

            return self._run(tuple(inner), 0, at, following if group is None else close)
        if op is ops.ATOMIC_GROUP:
            end = self._once(tuple(value), at)
            return end is not None and following(end)
        if op in (ops.ASSERT, ops.ASSERT_NOT):
            return self._looks(value, at) is (op is ops.ASSERT) and following(at)
        if op is ops.GROUPREF:
            begin, end = self._groups.get(value, (0, 0))
            said = self._text[begin:end]
            return self._text.startswith(said, at) and following(at + len(said))
        assert op is ops.AT, op
        return self._stands(value, at) and following(at)

    def _repeat(self, op: Any, value: tuple[int, Any, Sequence[Node]], at: int, following: Then) -> bool:
        least, most, inner = value
        endless = most is ops.MAXREPEAT or most > 10 * MOST_REPEATS
        most = len(self._text) + 1 if most is ops.MAXREPEAT else min(most, max(MOST_REPEATS, 1))
        least = min(least, MOST_REPEATS) if endless else min(least, most)
        body = tuple(inner)
        if len(body) == 1 and _is_one(body[0][0]):
            return self._repeat_one(op, body[0], least, most, at, following)
        if op is ops.POSSESSIVE_REPEAT:
            count = 0
            while count < most and (end := self._once(body, at)) is not None and end != at:
                at, count = end, count + 1
            return count >= least and following(at)

        def more(count: int, position: int) -> bool:
            def again(end: int) -> bool:
                return end != position and more(count + 1, end)

            if op is ops.MIN_REPEAT:
                return (count >= least and following(position)) or (
                    count < most and self._run(body, 0, position, again)
                )
            return (count < most and self._run(body, 0, position, again)) or (
                count >= least and following(position)
            )

        return more(0, at) or (not body and following(at))

    def _repeat_one(self, op: Any, one: Node, least: int, most: int, at: int, following: Then) -> bool:
        end, last = at, min(len(self._text), at + most)
        if op is ops.MIN_REPEAT:
            while True:
                if end - at >= least and following(end):
                    return True
                if end >= last or not accepts(*one, self._text[end], self._flags):
                    return False
                end += 1
                self._step()
        while end < last and accepts(*one, self._text[end], self._flags):
            end += 1
            self._step()
        if op is ops.POSSESSIVE_REPEAT:
            return end - at >= least and following(end)
        for position in range(end, at + least - 1, -1):
            self._step()
            if following(position):
                return True
        return False

    def _once(self, nodes: Sequence[Node], at: int) -> int | None:
        ends: list[int] = []
        return ends[0] if self._run(nodes, 0, at, lambda end: ends.append(end) is None) else None

    def _looks(self, value: tuple[int, Sequence[Node]], at: int) -> bool:
        direction, inner = value
        if direction > 0:
            return self._once(tuple(inner), at) is not None
        width = inner.getwidth()[0]  # type: ignore[attr-defined]
        return at >= width and self._run(tuple(inner), 0, at - width, lambda end: end == at)

    def _stands(self, where: Any, at: int) -> bool:
        text = self._text
        lines = bool(self._flags & re.MULTILINE)
        if where in (ops.AT_BEGINNING, ops.AT_BEGINNING_STRING):
            return at == 0 or (lines and where is ops.AT_BEGINNING and text[at - 1] == "\n")
        if where in (ops.AT_END, ops.AT_END_STRING):
            last = at == len(text) or (where is ops.AT_END and at == len(text) - 1 and text[at] == "\n")
            return last or (lines and where is ops.AT_END and text[at] == "\n")
        is_word = [
            0 <= place < len(text) and (text[place].isalnum() or text[place] == "_") for place in (at - 1, at)
        ]
        return (is_word[0] != is_word[1]) is (where is ops.AT_BOUNDARY)

    def _step(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooManySteps


def _is_one(op: Any) -> bool:
    return op in (ops.LITERAL, ops.NOT_LITERAL, ops.ANY, ops.IN)


def accepts(op: Any, value: Any, char: str, flags: int) -> bool:
    """Whether a part of a pattern that takes one character takes this one."""
    return _accepts(op, tuple(value) if op is ops.IN else value, char, flags & (re.IGNORECASE | re.DOTALL))


@lru_cache(100_000)
def _accepts(op: Any, value: Any, char: str, flags: int) -> bool:
    if op is ops.ANY:
        return bool(flags & re.DOTALL) or char != "\n"
    ways = {ord(char)}
    if flags & re.IGNORECASE:
        ways |= {ord(other) for other in (char.lower(), char.upper()) if len(other) == 1}
    if op is ops.LITERAL:
        return value in ways
    if op is ops.NOT_LITERAL:
        return value not in ways
    negated = bool(value) and value[0][0] is ops.NEGATE
    is_in = any(
        (kind is ops.LITERAL and part in ways)
        or (kind is ops.RANGE and any(part[0] <= way <= part[1] for way in ways))
        or (kind is ops.CATEGORY and _is_of(part, char))
        for kind, part in value
    )
    return is_in is not negated


def _is_of(category: Any, char: str) -> bool:
    kinds: dict[Any, Callable[[], bool]] = {
        ops.CATEGORY_DIGIT: char.isdigit,
        ops.CATEGORY_SPACE: char.isspace,
        ops.CATEGORY_WORD: lambda: char.isalnum() or char == "_",
        ops.CATEGORY_NOT_DIGIT: lambda: not char.isdigit(),
        ops.CATEGORY_NOT_SPACE: lambda: not char.isspace(),
        ops.CATEGORY_NOT_WORD: lambda: not (char.isalnum() or char == "_"),
    }
    return kinds[category]()


def sample(nodes: Sequence[Node], flags: int) -> str:
    """A short text that the nodes take, as far as one follows from them alone."""
    return "".join(_sample_one(op, value, flags) for op, value in nodes)


def _sample_one(op: Any, value: Any, flags: int) -> str:
    if op is ops.LITERAL:
        return chr(value)
    if _is_one(op):
        own = (
            [
                chr(part if kind is ops.LITERAL else part[0])
                for kind, part in value
                if kind in (ops.LITERAL, ops.RANGE)
            ]
            if op is ops.IN
            else []
        )
        return next((char for char in [*CANDIDATES, *own] if accepts(op, value, char, flags)), "")
    if op in _REPEATS:
        return sample(value[2], flags) * max(1, min(value[0], 3))
    if op is ops.BRANCH:
        return sample(value[1][0], flags)
    if op is ops.SUBPATTERN:
        return sample(value[3], flags)
    if op is ops.ATOMIC_GROUP:
        return sample(value, flags)
    return ""


def sequences(nodes: Sequence[Node], before: str, flags: int) -> Iterator[tuple[str, Sequence[Node]]]:
    """Every sequence of nodes in the tree, and a text that leads to it."""
    yield before, nodes
    for index, (op, value) in enumerate(nodes):
        lead = before + sample(nodes[:index], flags)
        inner = (
            [value[2]] if op in _REPEATS
            else value[1] if op is ops.BRANCH
            else [value[3]] if op is ops.SUBPATTERN
            else [value] if op is ops.ATOMIC_GROUP
            else [value[1]] if op in (ops.ASSERT, ops.ASSERT_NOT)
            else []
        )  # fmt: skip
        for part in inner:
            yield from sequences(tuple(part), lead, flags)


def pumps(nodes: Sequence[Node], flags: int) -> set[tuple[str, str]]:
    """What to begin a text with and what to repeat: openings of the pattern, bodies of its repeats, its letters."""
    found: set[tuple[str, str]] = set()
    letters: list[str] = []
    for lead, part in sequences(nodes, "", flags):
        found |= {("", lead + sample(part[: index + 1], flags)) for index in range(len(part))}
        for index, (op, value) in enumerate(part):
            before = lead + sample(part[:index], flags)
            if op in _REPEATS:
                body = sample(value[2], flags)
                found |= {
                    (before, body),
                    ("", body),
                    (before, body + sample(part[index + 1 : index + 2], flags)),
                }
            if _is_one(op):
                letters.append(_sample_one(op, value, flags))
    known = list(dict.fromkeys(letters))[:10]
    found |= {("", one) for one in known} | {("", one + two) for one, two in pairwise(known)}
    return {(begin, body) for begin, body in found if body}
