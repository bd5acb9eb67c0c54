"""A published pair of accuracies without rows: what any fourfold table that gives them can show."""

from __future__ import annotations

import numpy as np

from service.domain.resolution.headlines import of_published
from service.domain.resolution.reach import of_clusters, of_pairs
from service.domain.resolution.records import Audit, AuditRequest, Compatible, Reach
from service.domain.resolution.resolve import DEFAULT_EFFECT
from service.domain.resolution.sentences import amount_of, count_units, percent
from service.kernels.planning.power import mcnemar_critical
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.sentences import difference_of, p_text
from service.words import Message, list_values, message, speak, spoken

ASSUMED_ICC = 0.05


def audit(request: AuditRequest) -> Audit:
    """Bound what all tables with these accuracies allow.

    They fix the difference of the discordant counts; their sum runs from that difference to as many items as the
    accuracies let differ.
    """
    n = request.n
    first, second = round(request.baseline * n), round(request.candidate * n)
    delta = (second - first) / n
    least, most = abs(second - first), min(first + second, 2 * n - first - second)
    icc = None if request.n_clusters is None else ASSUMED_ICC if request.icc is None else request.icc
    ends = [_compatible(request, second - first, m, icc) for m in (least, most)]
    limit = _significant_up_to(abs(second - first), least, most, request.alpha)
    share = None if limit is None else limit / n
    line, rest = of_published(request, delta, ends[0], ends[1], share)
    return Audit(
        headline=line,
        open=rest,
        sentence=_describe(request, delta, ends, share),
        next=speak(
            "resolution.ask_for_counts"
            if ends[0].p_value < request.alpha <= ends[1].p_value
            else "resolution.ask_what_is_shared"
            if request.n_clusters is None
            else "resolution.ask_for_clusters"
        ),
        n=n,
        delta=delta,
        correct=(first, second),
        alpha=request.alpha,
        least=ends[0],
        most=ends[1],
        significant_up_to=share,
        icc=icc,
    )


def _compatible(request: AuditRequest, gain: int, m: int, icc: float | None) -> Compatible:
    """Return the table with m discordant items."""
    n, b = request.n, (m + gain) // 2
    right = (round(request.baseline * n) + round(request.candidate * n) - m) // 2
    test = registry.serving("fourfold")
    counts = {"both_correct": right, "only_baseline": m - b, "only_candidate": b, "both_wrong": n - m - right}
    level = {"alpha": request.alpha, "level": 1 - request.alpha}
    analysis = test.answer(test.request.model_validate({**counts, **level})).analysis
    effects = request.effects or [DEFAULT_EFFECT]
    reach = [of_pairs(n, m / n, effects, request.alpha, min(1.0, 2.0 ** (1 - min(m, 1000))))]
    if request.n_clusters is not None:
        sizes = np.full(request.n_clusters, n / request.n_clusters)
        sd = max(m / n - (gain / n) ** 2, 0.0) ** 0.5
        reach.append(of_clusters(sizes, sd, icc or 0.0, effects, request.alpha))
    return Compatible(
        n_discordant=m,
        p_value=analysis.p_value,
        low=analysis.ci.low,
        high=analysis.ci.high,
        reach=tuple(reach),
    )


def _significant_up_to(gain: int, least: int, most: int, alpha: float) -> int | None:
    """Return the most discordant items with which McNemar still rejects: p grows with them at a fixed difference."""

    def rejects(m: int) -> bool:
        return (m - gain) // 2 <= mcnemar_critical(m, alpha, "exact")

    if gain == 0 or not rejects(least):
        return None
    low, high = least, most
    while low < high:
        middle = low + 2 * -(-(high - low) // 4)  # both counts are whole: m moves in steps of two
        low, high = (middle, high) if rejects(middle) else (low, middle - 2)
    return low


def _describe(request: AuditRequest, delta: float, ends: list[Compatible], share: float | None) -> str:
    """Describe what two published accuracies differ by, which overlaps reject, and what the items resolve."""
    few, many = ends
    p_few, p_many = (p_text(end.p_value, alpha=request.alpha) for end in ends)
    first = message(
        "resolution.differ",
        baseline=percent(request.baseline),
        candidate=percent(request.candidate),
        n=request.n,
        delta=difference_of(delta, binary=True),
        few=few.n_discordant,
        many=many.n_discordant,
        p_few=p_few,
        p_many=p_many.removeprefix("p = "),
    )
    rejects = message("resolution.none_rejects")
    if share is not None and share * request.n >= many.n_discordant:
        rejects = message("resolution.every_rejects")
    elif share is not None:
        rejects = message("resolution.rejects_up_to", share=percent(share))
    resolved = map(_describe_resolved, few.reach, many.reach)
    return list_values([first, rejects, *resolved], "lists.sentences").text(spoken())


def _describe_resolved(few: Reach, many: Reach) -> Message:
    """Power at the first difference asked about, at both ends."""
    low, high = sorted((few.power[0].power, many.power[0].power))
    return message(
        "resolution.power_range",
        units=count_units(few.units, few.unit),
        low=percent(low),
        high=percent(high),
        effect=amount_of(few.power[0].effect, binary=True),
    )
