"""Which items people label: a draw that anybody repeats from the locked plan, with SHA-256 alone.

Every position of the manifest gets the hash of the manifest's own hash, the plan's seed and the position; the items
with the least are drawn, in this order. Service and verifier share this module.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from heapq import nsmallest

NAME = "forelock-labels/1"
KEPT = 16
"""Draws of so many endpoints are kept: each batch of labels asks for one anew."""


@lru_cache(maxsize=KEPT)
def draw_items(items_sha256: str, seed: int, n_items: int, n: int) -> tuple[int, ...]:
    """The positions of `n` items of a manifest, from 0, in the order of the draw; all of them where it has fewer.

    Example:
        Two of four items: `draw_items("0" * 64, 7, 4, 2)`.
    """
    begun = hashlib.sha256(f"{NAME}\n{items_sha256}\n{seed}\n".encode())

    def place(position: int) -> bytes:
        # A copy of what is hashed already: a million positions take a second.
        hashed = begun.copy()
        hashed.update(str(position).encode())
        return hashed.digest()

    return tuple(nsmallest(n, range(n_items), key=place))


def order_labels(
    items_sha256: str, seed: int, n_items: int, n: int, arms: tuple[str, ...]
) -> list[tuple[int, str]]:
    """Return what people are asked to label, in the order in which they get it: position and arm.

    The order is drawn too: the arms come mixed, so that a place in the list tells nothing of them.
    """
    begun = hashlib.sha256(f"{NAME}/order\n{items_sha256}\n{seed}\n".encode())

    def place(label: tuple[int, str]) -> bytes:
        hashed = begun.copy()
        hashed.update(f"{label[0]}\n{label[1]}".encode())
        return hashed.digest()

    positions = draw_items(items_sha256, seed, n_items, n)
    return sorted(((position, arm) for position in positions for arm in arms), key=place)
