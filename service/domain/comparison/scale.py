"""Between what the scores of a comparison are taken to lie, and what that leaves open."""

from __future__ import annotations

import numpy as np

from service.domain.comparison.pairing import Pairs
from service.domain.comparison.records import ScaleTaken
from service.errors import InvalidData
from service.stats.shared.data.score_range import ScoreRange, lies_in_unit
from service.stats.shared.declaring.common import Margin
from service.words import Message, message


def scale_of(pairs: Pairs, declared: ScoreRange | None) -> ScaleTaken | None:
    """Declared; else 0 and 1 where every score lies between them; else what both arms' scores span.

    None where nothing tells how far scores can lie apart: all are alike, or none is paired.

    Raises:
        InvalidData: a score outside the declared range.
    """
    columns = {"baseline": pairs.baseline, "candidate": pairs.candidate}
    if declared is not None:
        declared.require(columns)
    if pairs.n and pairs.binary and (declared is None or (declared.low, declared.high) == (0, 1)):
        return ScaleTaken(low=0.0, high=1.0, source="binary")
    if declared is not None:
        return ScaleTaken(low=declared.low, high=declared.high, source="declared")
    if not pairs.n:
        return None
    if lies_in_unit(*columns.values()):
        return ScaleTaken(low=0.0, high=1.0, source="unit")
    low = min(float(values.min()) for values in columns.values())
    high = max(float(values.max()) for values in columns.values())
    return ScaleTaken(low=low, high=high, source="observed") if low < high else None


def scale_message(scale: ScaleTaken | None) -> Message | None:
    """Return what was taken; nothing is to be said of right and wrong."""
    if scale is None or scale.source == "binary":
        return None
    return message(f"comparison.scale_{scale.source}", low=f"{scale.low:.10g}", high=f"{scale.high:.10g}")


def in_points(pairs: Pairs, margin: Margin | None, *, rescaled: bool) -> bool:
    """Of outcomes 0 and 1, and of their means over runs where the margin is one of proportions; not rescaled."""
    if rescaled:
        return False
    if not pairs.n:
        return margin is not None and margin.unit != "score"
    if pairs.binary:
        return True
    values = np.concatenate([pairs.baseline, pairs.candidate])
    share = bool(np.all((values >= 0) & (values <= 1)))
    return share and pairs.averaged and margin is not None and margin.unit != "score"


def margin_of(margin: Margin | None, pairs: Pairs, *, points: bool) -> float | None:
    """As a proportion or in score units; None without one.

    Raises:
        InvalidData: its unit does not fit the outcomes, or it is nothing.
    """
    if margin is None:
        return None
    size = float(margin.exact() if not pairs.n else margin.for_endpoint(binary=points))
    if size == 0:  # a hundredth of the least number that there is
        raise InvalidData.field("margin", "is too small to be computed with", "send a larger one")
    return size
