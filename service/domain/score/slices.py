"""Every slice of a score by the rule of the whole, and by the worst case of what it lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from service.domain.score.items import Items
from service.domain.score.missing import Missing, missing_of
from service.domain.score.records import Outcome, SliceScore, SliceScores
from service.domain.score.request import ScoreRequest
from service.errors import InvalidData
from service.stats.shared.methods.slice_records import MOST_SLICES, adjust_slices


def slices_of(
    items: Items, kept: Items, request: ScoreRequest, weigh: Callable[[Items], Any]
) -> tuple[SliceScores, dict[str, str]]:
    """Score slices, smallest names first. One that falls short is called so after Holm's correction over the slices.

    A slice that lacks results of more than a twentieth of its own items stands by their worst case, as the whole does:
    what is missing may all lie in one slice, and be little of the whole.

    Args:
        items: all of them, those without a result too.
        kept: those that are scored.

    Returns:
        The slices, and by the path of an outcome why it does not stand.
    """
    names = sorted({label for label in items.slices or () if label is not None})
    scored = set(kept.slices or ())
    weighed: list[tuple[str, Any, Missing | None]] = []
    left_out = [*(name for name in names[:MOST_SLICES] if name not in scored), *names[MOST_SLICES:]]
    for name in names[:MOST_SLICES]:
        if name not in scored:
            continue
        try:
            evidence = weigh(kept.of_slice(name))
            weighed.append((name, evidence, missing_of(items.of_slice(name), request, weigh)))
        except InvalidData:  # a single cluster, which shows nothing of others
            left_out.append(name)
    p_values = [
        None if analysis.against is None else analysis.against.p_falls_short for _, analysis, _ in weighed
    ]
    adjusted = adjust_slices(p_values) if request.threshold is not None else p_values
    results = [
        _make_slice(name, analysis, missing, p, request.alpha / 2)
        for (name, analysis, missing), p in zip(weighed, adjusted, strict=True)
    ]
    reasons = {
        f"slices.results.{at}.outcome": missing.reason
        for at, ((_, analysis, missing), result) in enumerate(zip(weighed, results, strict=True))
        if missing is not None and analysis.against is not None and result.outcome != analysis.against.outcome
    }
    outcome: Literal["meets", "falls_short", "cannot_tell"] | None = None
    if request.threshold is not None:
        every_meets = bool(results) and not left_out and all(result.outcome == "meets" for result in results)
        short = any(result.shown_short for result in results)
        outcome = "falls_short" if short else "meets" if every_meets else "cannot_tell"
    return SliceScores(outcome=outcome, results=tuple(results), left_out=tuple(left_out)), reasons


def _make_slice(
    name: str, evidence: Any, missing: Missing | None, adjusted: float | None, tail: float
) -> SliceScore:
    """Make the answer of one slice: `adjusted` is its p over all slices, `tail` what that has to stay below."""
    against = evidence.against
    observed_outcome: Outcome = "estimate" if against is None else against.outcome
    outcome = observed_outcome if missing is None else missing.standing(observed_outcome)
    return SliceScore(
        name=name,
        outcome=outcome,
        mean=evidence.mean,
        ci=evidence.ci,
        n=evidence.n,
        n_clusters=None if evidence.clusters is None else evidence.clusters.n_clusters,
        p_falls_short=None if against is None else against.p_falls_short,
        p_adjusted=adjusted,
        shown_short=outcome == "falls_short" and adjusted is not None and adjusted < tail,
    )
