"""What a pilot's items can resolve, and as many clusters."""

from __future__ import annotations

import numpy as np

from service.domain.resolution.reach import of_clusters, of_items, of_pairs
from service.domain.resolution.records import Reach, Resolution, ResolutionRequest
from service.errors import InvalidData
from service.kernels.numeric.clusters import codes_of, intraclass_correlation
from service.stats.shared.declaring.columns import is_binary, require_size
from service.stats.shared.declaring.sentences import difference_of
from service.words import Message, Value, listed, message, speak, spoken

LEAST = 5
"""Items of a pilot that a spread may rest on."""
DEFAULT_EFFECT = 0.02


def resolve(request: ResolutionRequest) -> Resolution:
    """Smallest differences that are told at 80 and 90 % power, and the power against those that are asked about.

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
    return Resolution(
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


def sentence(reach: list[Reach], *, binary: bool) -> str:
    """Of each unit what it resolves."""
    return listed((_describe_reach(one, binary=binary) for one in reach), "lists.sentences").text(spoken())


def counted(count: int, unit: str) -> Message:
    """So many items or clusters."""
    return message(f"units.counted_{unit}", n=count)


def amount_of(effect: float, *, binary: bool) -> Value:
    """A size with its unit and no sign."""
    return difference_of(effect, binary=binary, signed=False)


def _describe_reach(reach: Reach, *, binary: bool) -> Message:
    ends = [
        message("resolution.end", amount=amount_of(end, binary=binary), power=power)
        for end, power in ((reach.detectable_80, 80), (reach.detectable_90, 90))
        if end is not None
    ]
    against = (
        message(
            "resolution.against",
            power=percent(point.power),
            effect=amount_of(point.effect, binary=binary),
        )
        for point in reach.power
    )
    # a larger difference makes more items discordant, and t gives smaller p-values than signs do
    given = "discordant" if binary and reach.unit == "items" else "signs"
    least: Value = f"{reach.least_p:.2g}"
    if reach.least_p < 1e-99:
        least = message("resolution.below_1e_99")
    return message(
        "resolution.tells" if ends else "resolution.tells_none",
        units=counted(reach.units, reach.unit),
        ends=listed(ends, "resolution.or"),
        against=listed(against),
        least=message(f"resolution.least_of_{given}", p=least),
    )


def percent(power: float) -> str:
    """A power as `15.8 %`; never 100 for less."""
    return f"{min(100 * power, 99.9) if power < 1 else 100.0:.1f}%"


def _next(reach: Reach, *, binary: bool) -> str:
    first = reach.power[0]
    effect = message("resolution.effect", amount=amount_of(first.effect, binary=binary))
    if first.needed is None:
        return speak("resolution.beyond_reach", effect=effect)
    if first.needed <= reach.units:
        return speak("resolution.size_enough", effect=effect)
    return speak("resolution.plan_more", units=counted(first.needed, reach.unit), effect=effect)
