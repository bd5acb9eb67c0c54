"""What a pilot's items can resolve, and as many clusters."""

from __future__ import annotations

import numpy as np

from service.domain.resolution.headlines import of_pilot
from service.domain.resolution.reach import of_clusters, of_items, of_pairs
from service.domain.resolution.records import Reach, Resolution, ResolutionRequest
from service.domain.resolution.sentences import amount_of, count_units, sentence
from service.errors import InvalidData
from service.kernels.numeric.clusters import codes_of, intraclass_correlation
from service.stats.shared.declaring.columns import is_binary, require_size
from service.words import message, speak

LEAST = 5
"""Items of a pilot that a spread may rest on."""
DEFAULT_EFFECT = 0.02


def resolve(request: ResolutionRequest) -> Resolution:
    """Return the smallest differences told at 80 and 90 % power, and the power against those that are asked about.

    The pilot gives the spread and the correlation within clusters; its difference is not taken for the true one.

    Raises:
        InvalidData: fewer than five items with both results, one cluster, differences that do not vary, or values whose
            squares overflow.
    """
    before, after = (
        np.array([np.nan if value is None else value for value in column])
        for column in (request.baseline, request.candidate)
    )
    there = ~(np.isnan(before) | np.isnan(after))
    before, after = before[there], after[there]
    require_size(before, "baseline")
    require_size(after, "candidate")
    difference = after - before
    n, binary = len(difference), is_binary(before, after)
    if n < LEAST:
        raise InvalidData.field("baseline", f"has {n} items with both results", f"send at least {LEAST}")
    if not np.any(difference != difference[0]):
        raise InvalidData.field(
            "candidate", "differs from baseline by the same on every item", "send a pilot with spread"
        )
    sd = float(difference.std(ddof=1))
    discordance = float((difference != 0).mean()) if binary else None
    effects = request.effects or [DEFAULT_EFFECT if binary else float(f"{0.2 * sd:.2g}")]
    if discordance is None:
        reach = [of_items(n, sd, effects, request.alpha)]
    else:
        least = min(1.0, 2.0 ** (1 - min(int((difference != 0).sum()), 1000)))
        reach = [of_pairs(n, discordance, effects, request.alpha, least)]
    icc, g = None, None
    reasons = {} if binary else {"discordance": "the outcomes are scores"}
    if request.clusters is None:
        reasons |= dict.fromkeys(("n_clusters", "icc"), "no clusters were sent")
    else:
        codes = codes_of([label for label, kept in zip(request.clusters, there, strict=True) if kept])
        sizes = np.bincount(codes).astype(np.float64)
        g = len(sizes)
        if g < 2:
            raise InvalidData.field(
                "clusters", "hold a single cluster", "send two or more, or leave them out"
            )
        correlation = intraclass_correlation(difference, codes)
        icc = 0.0 if correlation is None else min(max(correlation, 0.0), 0.999)
        reach.append(of_clusters(sizes, sd, icc, effects, request.alpha))
    line, rest = of_pilot(reach[-1], n, binary=binary)
    return Resolution(
        headline=line,
        open=rest,
        sentence=sentence(reach, binary=binary),
        next=_next(reach[-1], binary=binary),
        n=n,
        n_clusters=g,
        binary=binary,
        discordance=discordance,
        sd=sd,
        icc=icc,
        reach=tuple(reach),
        reasons=reasons,
    )


def _next(reach: Reach, *, binary: bool) -> str:
    first = reach.power[0]
    effect = message("resolution.effect", amount=amount_of(first.effect, binary=binary))
    if first.needed is None:
        return speak("resolution.beyond_reach", effect=effect)
    if first.needed <= reach.units:
        return speak("resolution.size_enough", effect=effect)
    return speak("resolution.plan_more", units=count_units(first.needed, reach.unit), effect=effect)
