"""Bodies of leaderboards, and what is asked of their answers, with gaps and without."""

from __future__ import annotations

import itertools

import numpy as np

NAME = "leaderboard"


def body(columns, **more):
    return {
        "arms": {f"arm {place}": [float(x) for x in column] for place, column in enumerate(columns)},
        **more,
    }


def adjusted(found):
    """Adjusted p by pair of names."""
    return {frozenset((pair.first, pair.second)): pair.p_value for pair in found.pairs}


def contradictions(found):
    """What two parts of one answer say against each other."""
    names = [arm.name for arm in found.arms]
    ahead = {(pair.first, pair.second) for pair in found.pairs if pair.apart}
    for pair in found.pairs:
        # an exact test may leave two arms open whose interval excludes 0
        exact = pair.ci.method == "tango" and not pair.apart
        if not exact and pair.apart != (pair.ci.low is not None and pair.ci.low > 0):
            yield f"{pair} is told apart by p or by its interval alone"
        if pair.apart != (pair.p_value is not None and pair.p_value < 1 - pair.ci.level - 1e-12):
            yield f"{pair}: p and alpha"
    for one, middle in ahead:
        yield from (
            f"{one} > {middle} > {last}"
            for first, last in ahead
            if first == middle and (one, last) not in ahead
        )
    for arm in found.arms:
        better = sum((other, arm.name) in ahead for other in names)
        worse = sum((arm.name, other) in ahead for other in names)
        if (arm.rank_low, arm.rank_high) != (1 + better, len(names) - worse):
            yield f"{arm}: ranks"
        if not arm.rank_low <= arm.rank <= arm.rank_high:
            yield f"{arm}: rank outside of its range"
        if arm.may_be_best != (arm.rank_low == 1) or arm.may_be_best != (arm.name in found.best_set):
            yield f"{arm}: best set and ranks"
        if arm.may_be_best == (arm.gap.high is not None and arm.gap.high < 0):
            yield f"{arm}: best set and gap"
        if (found.best_set == (arm.name,)) != (arm.gap.low is not None and arm.gap.low > 0):
            yield f"{arm}: the best alone, and gap"
        if found.best_set == (arm.name,) and arm.rank_high != 1:
            yield f"{arm}: the best, and another rank"
    for tied in found.tied_sets:
        yield from (f"{pair} tied and apart" for pair in itertools.permutations(tied, 2) if pair in ahead)


def closely_followed(groups):
    """Groups of three arms that follow each other closely, so that a group's arms can be told apart and no others."""
    rng = np.random.default_rng(4)
    arms = {}
    for group in range(groups):
        shared = rng.choice([-100.0, 100.0], 1000)
        shared -= shared.mean()
        for step in range(3):
            arms[f"{group}-{step}"] = (shared + 4 * step + rng.normal(size=1000)).tolist()
    return {"arms": arms, "n_resamples": 500}
