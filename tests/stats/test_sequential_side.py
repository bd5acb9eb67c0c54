"""Whom an e-process was won for."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from tests.stats.sequences import pairs, run
from tests.stats.shapes import columns


def turning(first, then, kind="coin"):
    """Outcomes in order: `first` items won by the candidate, or lost below 0, then as many the other way."""
    won, lost = ((0, 1), (1, 0)) if kind == "coin" else ((0.0, 0.9), (0.9, 0.0))
    rows = [won if first > 0 else lost] * abs(first) + [lost if first > 0 else won] * then
    return columns(rows)


@pytest.mark.parametrize("kind", ["coin", "betting"])
@pytest.mark.parametrize("sign", [1, -1])
def test_an_e_process_speaks_for_whom_it_was_won_for(kind, sign):
    """The sign of the last difference was taken: won by the baseline, it bore out a claim of the candidate's."""
    bound = {} if kind == "coin" else {"bound": 1}
    for then, total in ((10, sign), (150, -sign)):
        found = run(turning(25 * sign, then, kind), "e_process", order="arrival", **bound).analysis
        assert found.decision == "reject"
        assert found.delta * total > 0
        # 150 the other way win the bet the other way too, and then it speaks for neither
        assert found.side == (sign if then == 10 else 0)
    slightly = run(turning(25 * sign, 27, kind), "e_process", order="arrival", **bound).analysis
    assert slightly.delta * sign < 0
    assert (slightly.decision, slightly.side) == ("reject", sign)
    nothing = run(columns([(1, 1)] * 9), "e_process", order="arrival").analysis
    assert nothing.side == 0


@settings(max_examples=40)
@given(pairs, st.sampled_from(["two-sided", "greater", "less"]))
def test_the_side_of_an_e_process_by_definition(rows, alternative):
    found = run(columns(rows), "e_process", order="arrival", alternative=alternative, alpha=0.3).analysis
    best = {1: 0.0, -1: 0.0}
    b = c = 0
    for before, after in rows:
        b, c = b + (after > before), c + (before > after)
        # the Krichevsky-Trofimov mixture against a fair coin, by its integral
        e = float(special.beta(b + 0.5, c + 0.5) / math.pi * 2.0 ** (b + c))
        side = (b > c) - (b < c)
        if side:
            best[side] = max(best[side], math.log(e))
    crossed = [side for side, e in best.items() if e >= -math.log(0.3)]
    if len(crossed) == 2 or abs(best[1] - best[-1]) < 1e-12:
        assert found.side == 0
    else:
        assert found.side == (1 if best[1] > best[-1] else -1)
    assert run(columns(rows), "confidence_sequence", order="arrival").analysis.side is None
