"""The arm that came first: what its mean is at least, given that it was chosen on these items, and how far it leads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from service.kernels.numeric.clusters import codes_of
from service.kernels.suites.many_arms import SuiteArms
from service.records import Record
from service.stats.leaderboard.suites import LONE_TASK, bounds_of
from service.stats.shared.data.score_range import UNIT, lies_in_unit
from service.stats.shared.declaring.common import Interval
from service.stats.shared.methods.one_mean import OneMean
from service.stats.shared.methods.standings import Standings

ONE_CLUSTER = "its items lie in a single cluster"
NO_BOUND = "nothing varies, which is no certainty"


class Winner(Record):
    """The arm that stands first."""

    name: str = Field(description="As sent.")
    mean: float = Field(
        description="Mean over its own items, score units: too good, since the best was chosen by it."
    )
    bound: float | None = Field(
        description="What the mean is at least (with lower outcomes better: at most), whichever arm came first: its "
        "one-sided bound at alpha over the number of arms, score units. It has a level of its own beside the pairs'."
    )
    bound_method: str | None = Field(
        description="How it was made: as the score of one arm, scores within 0 and 1 taken to have this range, "
        "others what all arms' scores span."
    )
    runner_up: str = Field(description="The arm that stands second.")
    lead: float | None = Field(
        description="How much better it is than the second, score units; as in `pairs`."
    )
    ci: Interval = Field(description="Simultaneous interval of that lead over all pairs; as in `pairs`.")


def winner_of(
    raw: NDArray[np.float64],
    codes: NDArray[np.int64] | None,
    board: Standings,
    tasks: NDArray[np.int64] | None,
) -> Winner:
    """Return the leader's mean with bounds, from outcomes (n, k), NaN where missing, and items' clusters and tasks.

    Bonferroni over the arms: the chance that any arm's bound is beyond its mean is at most alpha, so that of the one
    which is chosen is.
    """
    first, pair = board.order[0], board.pairs[0]
    has = ~np.isnan(raw[:, first])
    values = raw[has, first]
    own = None if codes is None else codes_of(codes[has].tolist())
    known = raw[~np.isnan(raw)]
    scale = UNIT if lies_in_unit(known) else None
    bound: float | None = None
    method: str | None = None
    mean, side = float(values.mean()), 0 if board.sign > 0 else 1
    # Which arm is first depends on the data, so the bound has to hold for all arms at once: Bonferroni. A one-sided
    # bound of .5 or more would lie on the other side of the estimate.
    tail = min(board.alpha / len(board.order), 0.499)
    if isinstance(board.units, SuiteArms) and tasks is not None:
        mean = float(board.units.own_means[first]) * board.size * board.sign + 0.0
        of_suite = bounds_of(raw, first, tasks, codes, board.units.weights)
        why = LONE_TASK
        if of_suite is not None:
            bound, method = float(of_suite.ends(tail)[side]), of_suite.method
    elif own is not None and own.max() == 0:
        why = ONE_CLUSTER
    else:
        seen = float(known.min()), float(known.max())
        deciding, why = OneMean(values, own, scale, seen=seen).deciding, NO_BOUND
        if deciding is not None:
            bound, method = float(deciding[1].ends(tail)[side]), deciding[0]
    if bound is None:
        board.reasons.update({"winner.bound": why, "winner.bound_method": why})
    for part in ("ci.low", "ci.high"):
        if f"pairs.0.{part}" in board.reasons:
            board.reasons[f"winner.{part}"] = board.reasons[f"pairs.0.{part}"]
    if pair.difference is None:
        board.reasons["winner.lead"] = board.reasons["pairs.0.difference"]
    return Winner(
        name=board.names[first],
        mean=mean,
        bound=bound,
        bound_method=method,
        runner_up=pair.second,
        lead=pair.difference,
        ci=pair.ci,
    )
