"""A published pair of accuracies without rows: what any fourfold table that gives them can show."""

from __future__ import annotations

import numpy as np

from service.domain.resolution.reach import of_clusters, of_pairs
from service.domain.resolution.records import Audit, AuditRequest, Compatible, Reach
from service.domain.resolution.resolve import DEFAULT_EFFECT, percent
from service.kernels.planning.power import mcnemar_critical
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.sentences import amount, p_text

ASSUMED_ICC = 0.05


def audit(request: AuditRequest) -> Audit:
    """Bounds over all tables with these accuracies.

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
    return Audit(
        sentence=_sentence(request, delta, ends, share),
        next=(
            "Ask for the rows, or for the four counts: the accuracies alone leave this open."
            if ends[0].p_value < request.alpha <= ends[1].p_value
            else "Ask which items share a source: items of one conversation or document do not count singly."
            if request.n_clusters is None
            else "Ask for the rows with their clusters: forelock gate BASE CAND --cluster NAME weighs them."
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
    """The table with m discordant items."""
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
    """The most discordant items with which McNemar still rejects: p grows with them at a fixed difference."""

    def rejects(m: int) -> bool:
        return (m - gain) // 2 <= mcnemar_critical(m, alpha, "exact")

    if gain == 0 or not rejects(least):
        return None
    low, high = least, most
    while low < high:
        middle = low + 2 * -(-(high - low) // 4)  # both counts are whole: m moves in steps of two
        low, high = (middle, high) if rejects(middle) else (low, middle - 2)
    return low


def _sentence(request: AuditRequest, delta: float, ends: list[Compatible], share: float | None) -> str:
    few, many = ends
    p_few, p_many = (p_text(end.p_value, alpha=request.alpha) for end in ends)
    head = (
        f"{percent(request.baseline)} against {percent(request.candidate)} on the same {request.n} items differ by "
        f"{amount(delta, binary=True)}, with {few.n_discordant} to {many.n_discordant} discordant items: exact McNemar "
        f"{p_few} to {p_many.removeprefix('p = ')}."
    )
    if share is None:
        told = " No table with these accuracies rejects equality."
    elif share * request.n >= many.n_discordant:
        told = " Every table with these accuracies rejects equality, if the items are independent."
    else:
        told = f" Equality is rejected only if at most {percent(share)} of the items are discordant, and independent."
    pairs = zip(few.reach, many.reach, strict=True)
    return head + told + "".join(_resolved(first, second) for first, second in pairs)


def _resolved(few: Reach, many: Reach) -> str:
    """Power at the first difference asked about, at both ends."""
    low, high = sorted((few.power[0].power, many.power[0].power))
    effect = amount(few.power[0].effect, binary=True).lstrip("+")
    return f" {few.units} {few.unit} give {percent(low)} to {percent(high)} power at {effect}."
