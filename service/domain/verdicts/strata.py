"""Effect by category: the strata of the locked manifest beside the pooled difference.

Both arms have the same items, so the pooled difference is the mean of the strata's weighted by their
items: it cannot have a sign that no stratum has. It can have one that few of them have.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import compress

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.domain.exact_sums import exact_sum
from service.domain.verdicts.pairs import Paired
from service.domain.verdicts.parts import Span, Strata, StratumEffect
from service.kernels.numeric.clusters import cluster_sums, codes_of, robust_errors
from service.kernels.numeric.moments import paired_differences
from service.kernels.numeric.t_distribution import t_quantile
from service.kernels.pairs import tango
from service.stats.shared.declaring.columns import is_binary
from service.words import say

LEVEL = 0.95
MOST = 200
"""Strata that are listed; with more of them they are no categories to read about."""


def by_stratum(paired: Paired) -> Strata | None:
    """Return the effect in every stratum; None when the manifest has no strata."""
    labels = paired.manifest.strata
    if labels is None:
        return None
    paired = _rescale(paired)
    names = tuple(dict.fromkeys(labels))
    binary = is_binary(paired.baseline, paired.candidate) and paired.endpoint.collapsed_kind == "binary"
    by_score = binary and paired.population.clusters is None
    stratum_of = np.array(list(compress(labels, paired.kept.tolist())), dtype=object)
    enough = len(names) <= MOST
    effects = tuple(_effect(paired, name, stratum_of == name, by_score) for name in names) if enough else ()
    deltas = [effect.delta for effect in effects if effect.delta is not None]
    mean = sum(deltas) / len(deltas) if deltas else None
    pooled = float(paired.delta or 0)
    return Strata(
        of=paired.population.strata,
        effects=effects,
        level=LEVEL,
        method="tango" if by_score else "cr2_t",
        opposed=tuple(effect.stratum for effect in effects if effect.opposed),
        mean_of_strata=mean,
        sign_depends_on_weights=mean is not None and mean * pooled < 0,
        reason=None if enough else say("reasons.too_many_to_list", count=len(names), most=MOST),
    )


def _rescale(paired: Paired) -> Paired:
    """On the scale of a suite, whose tasks may have one each; the reference of one arm is on it already."""
    tasks = paired.tasks
    if tasks is None or tasks.suite.rescale is None:
        return paired
    before = paired.baseline if paired.reference is not None else tasks.rescale(paired.baseline)
    return replace(paired, baseline=before, candidate=tasks.rescale(paired.candidate))


def _effect(paired: Paired, name: str, inside: NDArray[np.bool_], by_score: bool) -> StratumEffect:
    """Estimate the difference in the stratum of these pairs, with its interval or the reason why it has none."""
    before, after = paired.baseline[inside], paired.candidate[inside]
    clusters = None if paired.population.clusters is None else paired.manifest.clusters
    codes = np.arange(len(before))
    if clusters is not None:
        codes = codes_of(list(compress(compress(clusters, paired.kept.tolist()), inside.tolist())))
    delta = (exact_sum(after) - exact_sum(before)) / len(before) if len(before) else None
    ci, reason = (
        (None, say("reasons.no_item")) if delta is None else _interval(before, after, codes, by_score)
    )
    return StratumEffect(
        stratum=name,
        n=len(before),
        n_clusters=None if clusters is None else len(set(codes.tolist())),
        delta=None if delta is None else float(delta),
        ci=ci,
        reason=reason,
        opposed=delta is not None and delta * (paired.delta or Fraction(0)) < 0,
    )


def _interval(
    before: NDArray[np.float64], after: NDArray[np.float64], codes: NDArray[np.int64], by_score: bool
) -> tuple[Span | None, str | None]:
    """Return the interval of a stratum's difference, Tango's for right and wrong, else CR2's, or why there is none."""
    difference = paired_differences(before, after)
    if by_score:
        wins, losses = (int(np.count_nonzero(difference == sign)) for sign in (1, -1))
        z = float(special.ndtri(0.5 + LEVEL / 2))
        low, high = tango.interval(wins, losses, len(before), z)
        return Span(low=low, high=high), None
    groups = cluster_sums(difference, codes)
    if groups.n_clusters < 2:
        return None, "an interval needs two clusters" if len(before) > 1 else "an interval needs two items"
    error = robust_errors(groups)["cr2"]
    if error.se == 0:
        return None, "the differences do not vary, so their spread measures nothing"
    half = t_quantile(0.5 + LEVEL / 2, error.df) * error.se
    return Span(low=groups.item_weighted - half, high=groups.item_weighted + half), None
