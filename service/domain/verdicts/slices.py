"""The slices that a plan asks about: whether each is shown not to lose the margin, and whether the arms change sides.

"No slice loses the margin" takes every slice and needs no correction (intersection-union: Berger 1982, Technometrics
24:295). That some slice does lose more is said after Holm's correction, and so is a claim of a single slice. Right or
wrong and independent: Tango's score test at the margin, with fewer than 10 discordant items an exact one beside it.
All else: CR2 t of the clusters' (or the items') differences; below 30 of them sign flips too, and the larger p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy import special

from service.domain.plans.plan import Hypothesis, Plan
from service.domain.plans.slices import MOST_SLICES, Slices
from service.domain.verdicts.members import is_secondary
from service.domain.verdicts.outcomes import Paired
from service.domain.verdicts.parts import Span
from service.domain.verdicts.worst_case import Way
from service.kernels.clusters import ClusterSums, cluster_sums, codes_of, robust_errors
from service.kernels.flip_interval import flip_interval, flip_tail
from service.kernels.multiplicity import holm
from service.kernels.paired_exact import SPARSE, exact_p_below
from service.kernels.reversal import LEAST, gail_simon
from service.kernels.two_one_sided import by_t, by_tango
from service.records import Record
from service.stats.shared.common import is_binary
from service.stats.shared.pairs import floored

Standing = Literal["pass", "fail", "cannot_tell"]
Method = Literal["tango", "cr2_t"]
Floats = NDArray[np.float64]

FEW = 30
"""Clusters, or scores, below which sign flips have a say."""
FLAT = "the differences do not vary, so their spread measures nothing"


class SliceFound(Record):
    """One slice. A loss is a difference against the candidate, whichever way is better."""

    slice: str
    outcome: Standing = Field(
        description="`pass`: shown to lose less than the margin; `fail`: shown to lose more, by Holm over the slices."
    )
    n: int = Field(description="Items judged on.")
    n_clusters: int | None = Field(description="Clusters with items here; null without clusters.")
    delta: float | None = Field(description="Candidate minus baseline.")
    ci: Span | None = Field(description="Of this slice alone, at level 1 - 2 alpha.")
    p_value: float | None = Field(description="One-sided, of H0: it loses the margin or more.")
    p_holm: float | None = Field(description="The same by Holm, for a claim of this slice alone.")
    p_loss: float | None = Field(description="One-sided, of H0: it loses no more than the margin.")
    p_loss_holm: float | None = Field(description="The same by Holm: below alpha it is shown to lose more.")
    reason: str | None = Field(None, description="Why something here is null.")


class Reversal(Record):
    """Whether the arms change sides between slices (Gail & Simon 1985, Biometrics 41:361)."""

    p_value: float | None = Field(description="Of H0: no slice has a true difference of another sign.")
    gains: float | None = Field(description="Sum of squared z of slices where the candidate is higher.")
    losses: float | None = Field(
        description="The same where it is lower; the smaller of both is the statistic."
    )
    slices: int = Field(description="How many were weighed.")
    shown: bool | None = Field(description="The p-value is below alpha; null: undefined.")
    reason: str | None = Field(None, description="Why it is undefined.")


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


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one slice shows of a loss of the margin; `better` is the difference in the good direction."""

    better: float | None
    low: float | None
    high: float | None
    p: float | None
    p_loss: float | None
    se: float | None
    reason: str | None = None


def asked_of(plan: Plan, hypothesis: Hypothesis) -> Slices | None:
    """What the plan asks of the slices of a hypothesis; None where it asks nothing."""
    slices = plan.slices
    if slices is None:
        return None
    if slices.hypotheses is None:
        return None if is_secondary(plan, hypothesis) else slices
    return slices if hypothesis.id in slices.hypotheses else None


def way_of(plan: Plan, hypothesis: Hypothesis) -> Way | None:
    """How `worst_case` takes what is not ok: against the candidate."""
    if plan.missing != "worst_case":
        return None
    return "down" if _good(plan, hypothesis) > 0 else "up"


def by_slice(plan: Plan, hypothesis: Hypothesis, paired: Paired) -> SlicesFound | None:
    """What every slice shows; None where the plan does not ask. Odd data end in reasons."""
    asked = asked_of(plan, hypothesis)
    if asked is None:
        return None
    margin, good = float(asked.no_worse_than.exact()), _good(plan, hypothesis)
    labels = paired.manifest.strata
    names = () if labels is None else tuple(dict.fromkeys(labels))
    reason = None
    if labels is None:
        reason = "the items have no strata"
    elif len(names) > MOST_SLICES:
        reason = f"{len(names)} strata are too many to tell apart: at most {MOST_SLICES}"
    binary = paired.endpoint.collapsed_kind == "binary" and is_binary(paired.baseline, paired.candidate)
    clusters = None if paired.population.clusters is None else paired.manifest.clusters
    score = binary and clusters is None
    kept = paired.kept.tolist()
    of_item = np.array(list(compress(labels or (), kept)), dtype=object)
    of_cluster = None if clusters is None else codes_of(list(compress(clusters, kept)))
    difference = (paired.candidate - paired.baseline) * good
    found, counts = [], []
    for name in () if reason else names:
        inside = of_item == name
        codes = np.arange(int(inside.sum())) if of_cluster is None else of_cluster[inside]
        found.append(weigh(difference[inside], codes, margin, asked.alpha, by_score=score))
        counts.append((int(inside.sum()), None if of_cluster is None else len(set(codes.tolist()))))
    spans = of_cluster is not None and not reason and _spans(of_cluster, of_item)
    told = standings([each.p for each in found], [each.p_loss for each in found], asked.alpha)
    slices = tuple(
        _slice(name, each, count, good, standing)
        for name, each, count, standing in zip(names, found, counts, told, strict=False)
    )
    return SlicesFound(
        by=asked.by,
        of=paired.population.strata,
        no_worse_than=margin,
        alpha=asked.alpha,
        level=round(1 - 2 * asked.alpha, 12),
        method=None if reason else "tango" if score else "cr2_t",
        outcome=overall([each.outcome for each in slices]),
        slices=slices,
        reversal=reversal_of(
            [(None if each.better is None else good * each.better, each.se) for each in found],
            asked.alpha,
            spans=spans,
        ),
        reason=reason,
    )


def weigh(
    difference: Floats, codes: NDArray[np.int64], margin: float, alpha: float, *, by_score: bool
) -> Evidence:
    """A slice's differences (n,) in the good direction, by cluster; `by_score` for -1, 0 and 1 of single items."""
    n = len(difference)
    if n == 0:
        return Evidence(None, None, None, None, None, None, "no item is left")
    if by_score:
        b, c = (int(np.count_nonzero(difference == sign)) for sign in (1, -1))
        found = by_tango(b, c, n, margin, alpha, exact=False)
        p, p_loss = found.p_lower, float(special.ndtr(found.lower))
        if b + c < SPARSE:
            p = max(p, exact_p_below(c, b, n, margin))
            # an item is lost at most so often under a loss of the margin
            p_loss = max(p_loss, float(special.bdtrc(c - 1, n, (1 + margin) / 2)) if c else 1.0)
        return Evidence((b - c) / n, found.low, found.high, p, p_loss, error_of(difference, codes))
    groups = cluster_sums(difference, codes)
    better, units = groups.item_weighted, groups.n_clusters
    if units < 2:
        why = "a single cluster says nothing of others" if n > 1 else "a single item shows no spread"
        return Evidence(better, None, None, None, None, None, why)
    error = robust_errors(groups)["cr2"]
    if error.se <= 1e-12 * float(np.abs(difference).max(initial=0.0)):
        return Evidence(better, None, None, None, None, None, FLAT)
    t = by_t(better, error.se, error.df, margin, alpha)
    low: float | None = t.low
    high: float | None = t.high
    p, p_loss = t.p_lower, 1 - t.p_lower
    if units < FEW:
        ends = flip_interval(groups.sums, groups.sizes, alpha)
        low = None if ends[0] is None else min(t.low, ends[0])
        high = None if ends[1] is None else max(t.high, ends[1])
        p = max(p, flip_tail(groups.sums, groups.sizes, -margin))
        p_loss = max(p_loss, flip_tail(-groups.sums, groups.sizes, margin))
    return Evidence(better, low, high, p, p_loss, error.se)


def standings(
    p: Sequence[float | None], p_loss: Sequence[float | None], alpha: float
) -> list[tuple[Standing, float | None, float | None]]:
    """Of every slice where it stands, and its two p-values by Holm; one without a p counts as 1."""
    shown, lost = _by_holm(p), _by_holm(p_loss)
    found: list[tuple[Standing, float | None, float | None]] = []
    for own, own_holm, loss in zip(p, shown, lost, strict=True):
        standing: Standing = "cannot_tell"
        if own is not None and own < alpha:
            standing = "pass"
        elif loss is not None and loss < alpha:
            standing = "fail"
        found.append((standing, own_holm, loss))
    return found


def overall(each: Sequence[Standing]) -> Standing:
    """Pass where every slice does, fail where one does."""
    if "fail" in each:
        return "fail"
    return "pass" if each and all(one == "pass" for one in each) else "cannot_tell"


def reversal_of(
    found: Sequence[tuple[float | None, float | None]], alpha: float, *, spans: bool = False
) -> Reversal:
    """Gail and Simon's test of (difference, standard error) by slice; `spans`: a cluster has items in several."""
    usable = [(delta, se) for delta, se in found if delta is not None and se]
    reason = None
    if len(found) < LEAST:
        reason = "a single slice has none to be compared with" if found else "there are no slices"
    elif spans:
        reason = "a cluster has items in several slices, whose differences are then not independent"
    elif len(usable) < len(found):
        lacking = len(found) - len(usable)
        reason = (
            f"{lacking} of {len(found)} slices have no standard error, since their differences do not vary"
        )
    if reason is not None:
        return Reversal(p_value=None, gains=None, losses=None, slices=len(found), shown=None, reason=reason)
    test = gail_simon(*zip(*usable, strict=True))
    return Reversal(
        p_value=floored(test.p, "p_value", {}),
        gains=test.above,
        losses=test.below,
        slices=len(found),
        shown=test.p < alpha,
    )


def error_of(difference: Floats, codes: NDArray[np.int64]) -> float | None:
    """CR2 standard error of the mean of differences (n,), of items the ordinary one; None where nothing varies."""
    return _error(cluster_sums(difference, codes)) if len(difference) > 1 else None


def _error(groups: ClusterSums) -> float | None:
    if groups.n_clusters < 2:
        return None
    se = robust_errors(groups)["cr2"].se
    return se if se > 1e-12 * float(np.abs(groups.sums).max(initial=0.0)) / groups.n else None


def _by_holm(p: Sequence[float | None]) -> list[float | None]:
    if not p:
        return []
    adjusted = holm(np.array([1.0 if each is None else each for each in p]))
    return [None if each is None else float(q) for each, q in zip(p, adjusted, strict=True)]


def _slice(
    name: str,
    found: Evidence,
    count: tuple[int, int | None],
    good: int,
    told: tuple[Standing, float | None, float | None],
) -> SliceFound:
    standing, p_holm, p_loss_holm = told
    low, high = (found.low, found.high) if good > 0 else (_turned(found.high), _turned(found.low))
    return SliceFound(
        slice=name,
        outcome=standing,
        n=count[0],
        n_clusters=count[1],
        delta=None if found.better is None else good * found.better,
        ci=None if found.p is None else Span(low=low, high=high),
        p_value=_shown(found.p),
        p_holm=_shown(p_holm),
        p_loss=_shown(found.p_loss),
        p_loss_holm=_shown(p_loss_holm),
        reason=found.reason,
    )


def _turned(end: float | None) -> float | None:
    return None if end is None else -end


def _shown(p: float | None) -> float | None:
    return None if p is None else floored(min(max(p, 0.0), 1.0), "p_value", {})


def _good(plan: Plan, hypothesis: Hypothesis) -> int:
    """1 where higher is better, -1 where lower is."""
    endpoint = plan.endpoint(hypothesis.endpoint)
    return -1 if endpoint is not None and endpoint.better == "lower" else 1


def _spans(clusters: NDArray[np.int64], slices: NDArray[np.object_]) -> bool:
    """True where a cluster has items in several slices."""
    return len(set(zip(clusters.tolist(), slices.tolist(), strict=True))) > len(set(clusters.tolist()))
