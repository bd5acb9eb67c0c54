"""What tests of properties share: how many examples, random orders, and equality of answers."""

from __future__ import annotations

import math

from hypothesis import settings
from hypothesis import strategies as st

from tests.drawing import draws

FEW = settings(deadline=None, max_examples=draws(40))
randoms = st.randoms(use_true_random=False)


def new_names(random):
    """Other names for clusters 0 .. 39, in another order."""
    return {k: f"cluster {place}" for k, place in enumerate(random.sample(range(40), 40))}


def assert_same(found, expected, path="", rel=1e-7, abs_=1e-8):
    """Equal field by field, numbers up to rounding."""
    if isinstance(expected, dict):
        assert set(found) == set(expected), path
        outward = (
            max(each["sequence"]["error"] for each in (found, expected)) if expected.get("sequence") else 0.0
        )
        for key, inner in expected.items():
            # ends of a sequence before the last are rounded outward, by as much as they say
            assert_same(
                found[key], inner, f"{path}.{key}", rel, max(abs_, outward if key == "points" else 0.0)
            )
    elif isinstance(expected, list):
        assert len(found) == len(expected), path
        for k, inner in enumerate(expected):
            assert_same(found[k], inner, f"{path}.{k}", rel, abs_)
    elif isinstance(expected, float) and isinstance(found, (int, float)):
        assert math.isclose(found, expected, rel_tol=rel, abs_tol=abs_), (path, found, expected)
    else:
        assert found == expected, path
