"""Every slice of a comparison by the rule of the whole, and whether the arms change sides between slices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from service.domain.comparison.attrition import Attrition
from service.domain.comparison.claims import Claims, claims_of
from service.domain.comparison.pairing import Pairs
from service.domain.comparison.records import SliceResult, Slices
from service.domain.comparison.weighing import Evidence, Weighing, weigh
from service.kernels.numeric.clusters import codes_of
from service.kernels.numeric.moments import paired_differences
from service.stats.shared.methods.slice_records import MOST_SLICES, Standing, adjust_slices
from service.stats.shared.methods.slicing import lean, overall, reversal_of, standings
from service.stats.shared.methods.slicing import weigh as against_margin


def slices_of(pairs: Pairs, weighing: Weighing, missing: Attrition | None) -> Slices:
    """Judge slices by name: one passes by its interval, and fails by a test of a loss beyond the margin."""
    margin, alpha = weighing.margin, weighing.alpha
    every_name = sorted({slice_ for slice_ in pairs.slices or () if slice_ is not None})
    names = every_name[:MOST_SLICES]
    weighed_slices: list[tuple[str, Pairs, Evidence]] = []
    left_out = []
    for name in names:
        part = pairs.of_slice(name)
        weighed = weigh(part, weighing)
        if weighed.tests and part.n > 1:
            weighed_slices.append((name, part, weighed))
        else:
            left_out.append(name)
    adjusted = adjust_slices([weighed.tests[0].p_value for _, _, weighed in weighed_slices])
    claimed = [claims_of(weighed, margin) for _, _, weighed in weighed_slices]
    if missing is not None:
        claimed = [
            missing.of_slice(name).standing(claim)
            for (name, _, _), claim in zip(weighed_slices, claimed, strict=True)
        ]
    standing = _standings([(part, weighed) for _, part, weighed in weighed_slices], claimed, weighing)
    results = tuple(
        _slice(name, part, weighed, claims, p, alpha, stands)
        for (name, part, weighed), claims, p, stands in zip(
            weighed_slices, claimed, adjusted, standing, strict=True
        )
    )
    every = [known for known in standing if known is not None]
    every += ["cannot_tell" for _ in left_out]
    if len(every_name) > len(names):  # nothing is known of the others
        every.append("cannot_tell")
    outcome = None if margin is None else overall(every)
    clusters = pairs.clusters
    inside = {
        (cluster, name)
        for cluster, name in zip(clusters or (), pairs.slices or (), strict=clusters is not None)
        if name is not None
    }
    spans = len(inside) > len({cluster for cluster, _ in inside})
    leans = [
        lean(
            _difference(part),
            _codes(part),
            by_score=_by_score(part, weighed),
            limit=weighing.limit,
            unseen=weighing.unseen,
        )
        for _, part, weighed in weighed_slices
    ]
    return Slices(
        none_worse=None if outcome is None else outcome == "pass",
        outcome=outcome,
        results=results,
        left_out=tuple(left_out),
        reversal=reversal_of(leans, alpha, spans=spans),
    )


def _standings(
    slices: Sequence[tuple[Pairs, Evidence]], claimed: Sequence[Claims], weighing: Weighing
) -> list[Standing | None]:
    """Of every slice against the margin: shown by the interval that is printed; failing after Holm's correction.

    A loss that the printed interval does not show is not said.
    """
    margin, alpha = weighing.margin, weighing.alpha
    if margin is None:
        return [None] * len(slices)
    losses = []
    for (part, evidence), claims in zip(slices, claimed, strict=True):
        score = _by_score(part, evidence)
        difference, codes = _difference(part), _codes(part)
        tested = against_margin(
            difference, codes, margin, alpha / 2, by_score=score, limit=weighing.limit, unseen=weighing.unseen
        )
        withheld = claims_of(evidence, margin).worse and not claims.worse
        beyond = not withheld and evidence.ci.high is not None and evidence.ci.high < -margin - evidence.tie
        losses.append(tested.p_loss if beyond else None)
    no_loss = [0.0 if claims.no_worse else None for claims in claimed]
    return [standing[0] for standing in standings(no_loss, losses, alpha / 2)]


def _by_score(part: Pairs, evidence: Evidence) -> bool:
    """Tell whether slices are weighed by the score test: right or wrong, on independent items."""
    return evidence.bounded is None and part.clusters is None


def _difference(part: Pairs) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return paired_differences(part.baseline, part.candidate)


def _codes(part: Pairs) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return codes_of(list(range(part.n)) if part.clusters is None else part.clusters)


def _slice(
    name: str,
    part: Pairs,
    evidence: Evidence,
    claims: Claims,
    adjusted: float | None,
    alpha: float,
    standing: Standing | None,
) -> SliceResult:
    """One slice as the answer has it."""
    return SliceResult(
        name=name,
        outcome=claims.outcome,
        standing=standing,
        delta=float(_difference(part).mean()),
        ci=evidence.ci,
        n=part.n,
        n_clusters=evidence.n_clusters,
        p_value=evidence.tests[0].p_value,
        p_adjusted=adjusted,
        shown_worse=claims.worse and adjusted is not None and adjusted < alpha,
    )
