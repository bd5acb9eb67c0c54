"""Pairs in the order in which they came, and what the sequential test says of them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tests.stats.oracle import ask
from tests.stats.shapes import columns
from tests.stats.soundness import sound

LOOKS = [25, 50, 75, 100]

pairs = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=100)


def random_pairs(n, lose=0.1, win=0.2, seed=0):
    draws = np.random.default_rng(seed).random(n)
    return columns([(1, 0) if x < lose else (0, 1) if x < lose + win else (1, 1) for x in draws])


def run(body, method, **options):
    if method == "group_sequential":
        options = {"looks": LOOKS, **options}
    return sound(ask("sequential", body, method=method, **options))
