"""Pairs in the order in which they came, and what the sequential test says of them."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.stats.oracle import ask
from tests.stats.soundness import sound

LOOKS = [25, 50, 75, 100]

pairs = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=100)


def columns(rows):
    baseline, candidate = (list(column) for column in zip(*rows, strict=True))
    return {"baseline": baseline, "candidate": candidate}


def run(body, method, **options):
    if method == "group_sequential":
        options = {"looks": LOOKS, **options}
    return sound(ask("sequential", body, method=method, **options))
