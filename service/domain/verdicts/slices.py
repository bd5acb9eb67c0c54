"""The slices that a plan asks about: whether each is shown not to lose the margin, and whether the arms change sides.

How a slice is weighed is told in `stats.shared.methods.slicing`; here are which slices, whose, and which way is a loss.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import compress
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from service.domain.decision.members import is_secondary
from service.domain.plans.plan import Plan
from service.domain.plans.sections.endpoint import Endpoint
from service.domain.plans.sections.hypothesis import Hypothesis
from service.domain.plans.sections.slices import Slices
from service.domain.rules.claims.claim import good_direction
from service.domain.rules.settings import Setting
from service.domain.verdicts.outcomes import Rows
from service.domain.verdicts.pairs import Paired, pair_up
from service.domain.verdicts.parts import Span
from service.domain.verdicts.worst_case import Way, extremes
from service.kernels.numeric.clusters import codes_of
from service.kernels.numeric.moments import paired_differences
from service.records import Record
from service.stats.shared.data.pairs import apply_floor
from service.stats.shared.declaring.columns import is_binary
from service.stats.shared.methods.slice_records import MOST_SLICES, Reversal, Standing
from service.stats.shared.methods.slicing import Evidence, Lean, lean, overall, reversal_of, standings, weigh
from service.words import say

Method = Literal["tango", "cr2_t"]


class SliceFound(Record):
    """One slice. A loss is a difference against the candidate, whichever way is better."""

    slice: str
    outcome: Standing = Field(
        description="`pass`: shown to lose less than the margin; `fail`: shown to lose more, by Holm over the slices."
    )
    n: int = Field(description="Items judged on.")
    n_clusters: int | None = Field(description="Clusters with items here; null without clusters.")
    delta: float | None = Field(description="Candidate minus baseline.")
    ci: Span | None = Field(
        description="Of this slice alone, at level 1 - 2 alpha; under `worst_case` its ends are of what is not ok "
        "taken either way."
    )
    p_value: float | None = Field(description="One-sided, of H0: it loses the margin or more.")
    p_holm: float | None = Field(description="The same by Holm, for a claim of this slice alone.")
    p_loss: float | None = Field(description="One-sided, of H0: it loses no more than the margin.")
    p_loss_holm: float | None = Field(description="The same by Holm: below alpha it is shown to lose more.")
    reason: str | None = Field(None, description="Why something here is null.")


class SlicesFound(Record):
    """What the plan asks of the slices, and what they show. No outcome rests on it."""

    by: Literal["stratum"]
    of: str | None = Field(description="What the strata are, as the plan says.")
    no_worse_than: float = Field(description="The margin, a proportion or score units.")
    alpha: float = Field(description="One-sided, of every slice.")
    level: float = Field(description="Of the intervals.")
    method: Method | None = Field(description="Of tests and intervals.")
    outcome: Standing = Field(
        description="`pass`: every slice passes, which needs no correction; `fail`: some slice is shown to lose more."
    )
    slices: tuple[SliceFound, ...] = Field(description="In the manifest's order.")
    reversal: Reversal
    reason: str | None = Field(None, description="Why there is nothing to tell.")


def section_of(plan: Plan, hypothesis: Hypothesis) -> Slices | None:
    """Return what the plan asks of the slices of a hypothesis; None where it asks nothing."""
    slices = plan.slices
    if slices is None or hypothesis.baseline is None or plan.suite(hypothesis.population) is not None:
        return None
    if slices.hypotheses is None:
        return None if is_secondary(plan, hypothesis) else slices
    return slices if hypothesis.id in slices.hypotheses else None


def by_slice(setting: Setting, paired: Paired, rows: Rows) -> SlicesFound | None:
    """Return what every slice shows of what the plan asks; None where it asks nothing of the hypothesis.

    Odd data end in reasons.
    """
    section = section_of(setting.plan, setting.hypothesis)
    if section is None:
        return None
    if setting.plan.missing != "worst_case":
        return _weigh_slices(section, paired, None)
    # What is not ok is taken against the candidate, and for it where a loss is to be shown.
    ways: tuple[Way, Way] = ("down", "up") if good_direction(setting.endpoint) > 0 else ("up", "down")
    against, favoured = (pair_up(setting, rows, way) for way in ways)
    return _weigh_slices(section, against, favoured)


def _weigh_slices(section: Slices, paired: Paired, favoured: Paired | None) -> SlicesFound:
    """Weigh every slice.

    `favoured`: the same items with what is not ok taken for the candidate, which no loss may rest on; None: all are ok.
    """
    margin, good = float(section.no_worse_than.exact()), good_direction(paired.endpoint)
    labels = paired.manifest.strata
    names = () if labels is None else tuple(dict.fromkeys(labels))
    reason = None
    if labels is None:
        reason = say("reasons.no_strata")
    elif len(names) > MOST_SLICES:
        reason = say("reasons.too_many_strata", count=len(names), most=MOST_SLICES)
    binary = paired.endpoint.collapsed_kind == "binary" and is_binary(paired.baseline, paired.candidate)
    clusters = None if paired.population.clusters is None else paired.manifest.clusters
    score = binary and clusters is None
    limit = _limit(paired.endpoint)
    judged_on = paired.kept.tolist()
    of_item = np.array(list(compress(labels or (), judged_on)), dtype=object)
    of_cluster = None if clusters is None else codes_of(list(compress(clusters, judged_on)))
    evidence, counts, leans = [], [], []
    for name in () if reason else names:
        inside = of_item == name
        # numbered anew: a number that only another slice has would be a cluster without items
        codes = codes_of(of_cluster[inside].tolist() if of_cluster is not None else range(int(inside.sum())))
        weighed, leaning = _weigh(
            _differences(paired, inside) * good, codes, margin, section.alpha, score, limit
        )
        if favoured is not None:
            best = _differences(favoured, inside) * good
            other, towards = _weigh(best, codes, margin, section.alpha, score, limit)
            weighed, leaning = _both(weighed, other), _lean(leaning, towards)
        evidence.append(weighed)
        leans.append(leaning)
        counts.append((int(inside.sum()), None if of_cluster is None else len(set(codes.tolist()))))
    spans = of_cluster is not None and not reason and _spans(of_cluster, of_item)
    places = standings(
        [weighed.p for weighed in evidence], [weighed.p_loss for weighed in evidence], section.alpha
    )
    slices = tuple(
        _slice(name, weighed, count, good, standing)
        for name, weighed, count, standing in zip(names, evidence, counts, places, strict=False)
    )
    return SlicesFound(
        by=section.by,
        of=paired.population.strata,
        no_worse_than=margin,
        alpha=section.alpha,
        level=round(1 - 2 * section.alpha, 12),
        method=None if reason else "tango" if score else "cr2_t",
        outcome=overall([slice_.outcome for slice_ in slices]),
        slices=slices,
        reversal=_turn_reversal(reversal_of(leans, section.alpha, spans=spans), good),
        reason=reason,
    )


def _differences(paired: Paired, inside: NDArray[np.bool_]) -> NDArray[np.float64]:
    return paired_differences(paired.baseline[inside], paired.candidate[inside])


def _weigh(
    difference: NDArray[np.float64],
    codes: NDArray[np.int64],
    margin: float,
    alpha: float,
    score: bool,
    limit: float | None,
) -> tuple[Evidence, Lean | None]:
    """Weigh one slice's differences (n,) against the margin, and tell which arm they lean to."""
    return (
        weigh(difference, codes, margin, alpha, by_score=score, limit=limit),
        lean(difference, codes, by_score=score, limit=limit),
    )


def _limit(endpoint: Endpoint) -> float | None:
    """Return the largest difference an item can have; None where the endpoint declares no bounds."""
    ends = extremes(endpoint)
    return None if ends is None else ends.high - ends.low


def _both(against: Evidence, best: Evidence) -> Evidence:
    """What is shown whichever way what is not ok is taken: no loss of the margin by the one, a loss by the other."""
    if best.p is None:
        return replace(best, better=against.better)
    return against if against.p is None else replace(against, high=best.high, p_loss=best.p_loss)


def _lean(against: Lean | None, best: Lean | None) -> Lean | None:
    return None if against is None or best is None else Lean(against.above, best.below)


def _turn_reversal(reversal: Reversal, good: int) -> Reversal:
    """With the candidate's values as they are, not as they are good."""
    if good > 0:
        return reversal
    return reversal.model_copy(update={"gains": reversal.losses, "losses": reversal.gains})


def _slice(
    name: str,
    evidence: Evidence,
    count: tuple[int, int | None],
    good: int,
    standing_p: tuple[Standing, float | None, float | None],
) -> SliceFound:
    """Make the record of one slice; `good`, -1 where lower outcomes are better, turns its numbers back."""
    standing, p_holm, p_loss_holm = standing_p
    low, high = (evidence.low, evidence.high) if good > 0 else (_negate(evidence.high), _negate(evidence.low))
    return SliceFound(
        slice=name,
        outcome=standing,
        n=count[0],
        n_clusters=count[1],
        delta=None if evidence.better is None else good * evidence.better,
        ci=None if evidence.p is None else Span(low=low, high=high),
        p_value=_floor_p(evidence.p),
        p_holm=_floor_p(p_holm),
        p_loss=_floor_p(evidence.p_loss),
        p_loss_holm=_floor_p(p_loss_holm),
        reason=evidence.reason,
    )


def _negate(end: float | None) -> float | None:
    return None if end is None else -end


def _floor_p(p: float | None) -> float | None:
    return None if p is None else apply_floor(min(max(p, 0.0), 1.0), "p_value", {})


def _spans(clusters: NDArray[np.int64], slices: NDArray[np.object_]) -> bool:
    """Tell whether a cluster has items in several slices."""
    return len(set(zip(clusters.tolist(), slices.tolist(), strict=True))) > len(set(clusters.tolist()))
