"""Every slice of a score by the rule of the whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from service.domain.score.items import Items
from service.domain.score.records import SliceScore, SliceScores
from service.domain.score.request import ScoreRequest
from service.errors import InvalidData
from service.stats.shared.methods.sliced import MOST_SLICES, adjust_slices


def slices_of(items: Items, request: ScoreRequest, weigh: Callable[[Items], Any]) -> SliceScores:
    """Smallest names first. A slice that falls short is called so after Holm's correction over the slices."""
    names = sorted({label for label in items.slices or () if label is not None})
    weighed, left_out = [], list(names[MOST_SLICES:])
    for name in names[:MOST_SLICES]:
        try:
            weighed.append((name, weigh(items.of_slice(name))))
        except InvalidData:  # a single cluster, which shows nothing of others
            left_out.append(name)
    p_values = [None if found.against is None else found.against.p_falls_short for _, found in weighed]
    adjusted = adjust_slices(p_values) if request.threshold is not None else p_values
    results = [
        _slice(name, found, p, request.alpha / 2) for (name, found), p in zip(weighed, adjusted, strict=True)
    ]
    outcome: Literal["meets", "falls_short", "cannot_tell"] | None = None
    if request.threshold is not None:
        every_meets = bool(results) and not left_out and all(result.outcome == "meets" for result in results)
        short = any(result.shown_short for result in results)
        outcome = "falls_short" if short else "meets" if every_meets else "cannot_tell"
    return SliceScores(outcome=outcome, results=tuple(results), left_out=tuple(left_out))


def _slice(name: str, evidence: Any, adjusted: float | None, tail: float) -> SliceScore:
    against = evidence.against
    return SliceScore(
        name=name,
        outcome="estimate" if against is None else against.outcome,
        mean=evidence.mean,
        ci=evidence.ci,
        n=evidence.n,
        n_clusters=None if evidence.clusters is None else evidence.clusters.n_clusters,
        p_falls_short=None if against is None else against.p_falls_short,
        p_adjusted=adjusted,
        shown_short=against is not None
        and against.outcome == "falls_short"
        and adjusted is not None
        and adjusted < tail,
    )
