"""What may differ in a verdict that is judged again, and by how much: drawn numbers, and those of other releases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from service.offline.differences import Excuse, compare

B = 2000
NONE = Excuse()


def verdict(
    *, p: float = 0.03, low: float = 0.1, high: float = 0.5, seed: int | None = 7, **more: Any
) -> dict[str, Any]:
    """A verdict on one bootstrap, drawn where there is a seed."""
    analysis = {"p_value": p, "delta": 0.3, "n": 40, "ci": {"low": low, "high": high}, "bootstrap_se": 0.1}
    answer = {
        "test": "bootstrap",
        "version": 1,
        "analysis": analysis | more,
        "provenance": {"seed": seed, "n_resamples": None if seed is None else B},
    }
    clauses = [
        {"text": "b.p_value < 0.05", "observed": p, "unadjusted": None, "holds": p < 0.05},
        {"text": "b.ci.low > 0", "observed": low, "unadjusted": None, "holds": low > 0},
    ]
    said = {
        "id": "H1",
        "outcome": "supported",
        "analyses": {"b": answer},
        "clauses": clauses,
        "delta": 0.3,
        "n": 40,
    }
    return {"hypotheses": [said]}


def explained(recorded: dict[str, Any], here: dict[str, Any], excuse: Excuse = NONE) -> bool:
    found = compare(recorded, here, excuse)
    assert found
    return all(each.bound is not None for each in found)


def test_drawn_numbers_may_be_off_by_six_of_their_errors() -> None:
    error = (0.03 * 0.97 / B) ** 0.5
    assert explained(verdict(p=0.03 + 4 * error), verdict())
    assert not explained(verdict(p=0.03 + 7 * error), verdict())
    assert explained(verdict(low=0.13), verdict())
    assert not explained(verdict(low=0.16), verdict())
    assert not explained(verdict(p=0.03 + 4 * error), verdict(seed=None))
    assert not explained(verdict(delta=0.31), verdict())
    assert not explained(verdict(n=41), verdict())


def test_a_clause_that_came_out_otherwise_is_not_excused_by_chance() -> None:
    assert not explained(verdict(p=0.0501), verdict(p=0.0499))


def test_that_an_answer_was_drawn_is_known_from_what_is_computed_here() -> None:
    """The recorded verdict may call whatever it likes drawn, and from as few draws as it likes."""
    few = verdict(low=0.16)
    few["hypotheses"][0]["analyses"]["b"]["provenance"]["n_resamples"] = 1
    assert not explained(few, verdict())
    assert not explained(verdict(low=0.12), verdict(seed=None))


def test_real_redraws_stay_within_the_bound() -> None:
    """Percentile intervals and shares of B draws under other streams, of a mean of skewed scores."""
    scores = np.random.default_rng(5).exponential(size=40) - 0.55
    draws = [
        scores[np.random.default_rng(seed).integers(0, 40, size=(B, 40))].mean(axis=1) for seed in range(40)
    ]
    for level in (0.9, 0.95, 0.99):
        ends = [np.quantile(each, [(1 - level) / 2, (1 + level) / 2]) for each in draws]
        shares = [float(np.mean(each <= 0)) for each in draws]
        for (low, high), share in zip(ends[1:], shares[1:], strict=True):
            here = verdict(low=float(ends[0][0]), high=float(ends[0][1]), p=shares[0])
            recorded = verdict(low=float(low), high=float(high), p=share)
            for one, other in zip(
                recorded["hypotheses"][0]["clauses"], here["hypotheses"][0]["clauses"], strict=True
            ):
                one["holds"] = other["holds"]
            assert explained(recorded, here), (level, share, low, high)


@pytest.mark.parametrize(
    ("recorded", "allowed"),
    [
        (verdict(p=0.02, seed=None), True),
        (verdict(p=0.001, seed=None), False),
        (verdict(low=0.25, seed=None), True),
        (verdict(low=0.35, seed=None), False),
        (verdict(seed=None, bootstrap_se=None), True),
        (verdict(seed=None, bootstrap_se=9.5), True),
        (verdict(seed=None, n=39), False),
        (verdict(seed=None, delta=0.29), False),
        (verdict(seed=None, ci=None), False),
    ],
)
def test_numbers_of_another_release_have_bounds_of_their_own(recorded: dict[str, Any], allowed: bool) -> None:
    here = verdict(p=0.03, seed=None)
    assert explained(recorded, here, Excuse(release=True)) is allowed
    assert not explained(recorded, here, Excuse(libraries=True))
