"""What is asked of rankings of arms: of a true order that is known, `GRADED` or all alike, and of how they draw."""

from __future__ import annotations

import numpy as np

from service.kernels.randomization import max_t
from tests.simulation.worlds import GRADED


def like_arms_apart(found):
    """Any pair of arms told apart that are equally good."""
    good = {f"arm {place}": each for place, each in enumerate(GRADED)}
    return any(pair.apart and good[pair.first] == good[pair.second] for pair in found.pairs)


def ranks_covered(found):
    """Every true rank in its interval; arms that are equally good have several."""
    good = {f"arm {place}": each for place, each in enumerate(GRADED)}
    return all(
        arm.rank_low <= 1 + sum(each > good[arm.name] for each in GRADED)
        and sum(each >= good[arm.name] for each in GRADED) <= arm.rank_high
        for arm in found.arms
    )


def says_too_much(found):
    """Anything said of arms that are all alike that is not so, anywhere on the page."""
    k = len(found.arms)
    closed = any((arm.rank_low, arm.rank_high) != (1, k) or not arm.may_be_best for arm in found.arms)
    ahead = any(arm.gap.low is not None and arm.gap.low > 0 for arm in found.arms)
    behind = any(arm.gap.high is not None and arm.gap.high < 0 for arm in found.arms)
    return bool(found.n_apart) or closed or ahead or behind or not differences_covered(found)


def differences_covered(found):
    """Every simultaneous interval holds 0, the truth of arms that are all alike."""
    return all(pair.ci.low is None or pair.ci.low <= 0 <= pair.ci.high for pair in found.pairs)


def parts_agree(units):
    """Signs of four blocks are the same when they are drawn in two parts."""
    parts = [max_t.flip_signs(units, 42, blocks) for blocks in (range(1), range(1, 4))]
    return np.array_equal(max_t.flip_signs(units, 42, range(4)), np.concatenate(parts))
