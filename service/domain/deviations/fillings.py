"""Fillings: the values that doubtful items take, with items that a rule cannot tell apart counted, not enumerated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Pair = tuple[int, int]
"""(baseline, candidate) of one item."""
PAIRS: tuple[Pair, ...] = ((0, 0), (0, 1), (1, 0), (1, 1))
"""The first two are those of one arm, whose baseline is always 0."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Doubtful items that the rule cannot tell apart."""

    positions: tuple[int, ...]
    """Of the items, in the order of the manifest."""
    start: Pair | None
    """None: outside the judgement, or filled in by what is about to be claimed."""
    targets: tuple[Pair, ...]
    """The pairs that such an item may take and that make a difference."""


def fillings(kinds: Sequence[Kind], size: int) -> Iterator[dict[int, Pair]]:
    """Yield fillings, position to pair, for every way to give `size` items other values.

    Items of a kind are counted rather than enumerated, and its first ones take the values: of `m` items and `t`
    targets there are C(k + t - 1, k) ways to change k of them, not C(m, k) t^k.
    """
    if not kinds:
        if size == 0:
            yield {}
        return
    first, *rest = kinds
    for taken in range(min(size, len(first.positions)) + 1):
        for counts in _split_count(taken, len(first.targets)):
            values = [pair for pair, count in zip(first.targets, counts, strict=True) for _ in range(count)]
            here = dict(zip(first.positions, values, strict=False))
            for others in fillings(rest, size - taken):
                yield here | others


def _split_count(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to write `total` as that many counts, in order."""
    if parts == 0:
        if total == 0:
            yield ()
        return
    for first in range(total, -1, -1):
        for rest in _split_count(total - first, parts - 1):
            yield first, *rest


def list_targets(possible: Sequence[Pair], start: Pair | None, ties_alike: bool) -> tuple[Pair, ...]:
    """List the pairs that are not where the item begins; of (0, 0) and (1, 1) one, where the rule sees differences."""
    if not ties_alike:
        return tuple(pair for pair in possible if pair != start)
    seen = set() if start is None else {start[1] - start[0]}
    targets = []
    for pair in possible:
        if pair[1] - pair[0] not in seen:
            seen.add(pair[1] - pair[0])
            targets.append(pair)
    return tuple(targets)
