"""Random numbers in blocks, each with a generator of its own, and quick ways to spend them.

The numbers depend on the seed and on the block alone: not on how many blocks one worker takes, nor on
how large an array is at a time. Every method here is exactly uniform: what a power of two leaves over
is drawn again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 250
"""Replicates per generator; part of every version that draws, since it decides the numbers."""

BIT_GENERATOR = "PCG64"
"""What answers name as the source of their random numbers."""


COINS = 2**17
"""Coins held at a time, so that they fit the cache; a multiple of 8. Part of the version."""

SHORT, LONG = 2**16, 2**32
"""Values of a random word of 16 bits, and of 32."""

MOST_REDRAWN = 1 / 64
"""Share of 16-bit words that may be drawn again before 32-bit words are quicker."""


def generator(seed: int, block: int) -> np.random.Generator:
    """Return the block's own generator, the n-th child of the seed."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(block,))))


def block_count(n_replicates: int) -> int:
    """Blocks that hold this many replicates."""
    return -(-n_replicates // BLOCK)


def picks(rng: np.random.Generator, n: int, count: int) -> NDArray[np.intp]:
    """`count` independent numbers from 0 .. n - 1, each as likely, n below 2^31. A third of numpy's time."""
    if n == 1:
        return np.zeros(count, dtype=np.intp)
    # So many words stand for each number; those beyond the last whole share are drawn again, or some would be likelier.
    span = SHORT if n <= SHORT and SHORT % n <= MOST_REDRAWN * SHORT else LONG
    words = span // n
    word = _words(rng, count, span)
    picked = (word if words == 1 else word // word.dtype.type(words)).astype(np.intp)
    if span % n:
        over = word >= word.dtype.type(words * n)
        if over.any():
            again = np.flatnonzero(over)
            picked[again] = rng.integers(0, n, again.size)
    return picked


def octets(rng: np.random.Generator, count: int) -> NDArray[np.uint8]:
    """`count` bytes, eight fair coins each."""
    raw = np.asarray(rng.bit_generator.random_raw(-(-count // 8)))
    return raw.astype("<u8", copy=False).view(np.uint8)[:count]


def sum_chosen(rng: np.random.Generator, rows: NDArray[Any]) -> NDArray[np.float64]:
    """Return the sums of those `rows` (n, width) that fair coins choose, one coin a row and replicate: (BLOCK, width).

    Memory O(BLOCK x width + `COINS`).
    """
    totals = np.zeros((BLOCK, rows.shape[1]))
    for start, coins in coins_of(rng, len(rows)):
        some = rows[start : start + coins.shape[1]]
        totals += coins.astype(rows.dtype) @ some
    return totals


def coins_of(rng: np.random.Generator, count: int) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """`count` fair coins (0 or 1) for each of `BLOCK` replicates, so many at a time: the first, (BLOCK, some)."""
    at_once = COINS // BLOCK // 8 * 8
    for start in range(0, count, at_once):
        some = min(at_once, count - start)
        coins = octets(rng, BLOCK * -(-some // 8)).reshape(BLOCK, -1)
        yield start, np.unpackbits(coins, axis=1, count=some)


def _words(rng: np.random.Generator, count: int, span: int) -> NDArray[np.uint16] | NDArray[np.uint32]:
    if span == SHORT:
        return octets(rng, 2 * count).view("<u2")
    return octets(rng, 4 * count).view("<u4")
