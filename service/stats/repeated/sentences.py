"""What repeated runs of two arms show, as a sentence."""

from __future__ import annotations

from service.stats.repeated.repeats import ErrorParts, NextUnit
from service.stats.shared.declaring.common import Interval
from service.stats.shared.declaring.sentences import decision, difference_of, level_text
from service.words import Message, list_values, message, spoken


def say_difference(
    delta: float,
    ci: Interval,
    p: float | None,
    bounds: dict[str, str],
    error: ErrorParts,
    nearest: NextUnit,
    *,
    binary: bool,
    n: int,
    n_clusters: int | None,
    alpha: float,
) -> str:
    """Say how far the arms differ, and what its error comes from; `p` is of no difference."""
    where = message("units.counted_items", n=n)
    if n_clusters is not None:
        where = message("boards.in_clusters", items=where, n=n_clusters)
    ends = [difference_of(end, binary=binary) for end in (ci.low, ci.high) if end is not None]
    interval, level = message("runs.no_interval"), level_text(ci.level)
    if ends:
        interval = message("runs.interval", level=level, ends=list_values(ends, "runs.between_ends"))
    decided = message("runs.no_test")
    if p is not None:
        decided = decision(p, alpha, "runs.equal_means", bound=bounds.get("p_value"))
    difference = difference_of(delta, binary=binary)
    differs = message("runs.differs", delta=difference, interval=interval, where=where, decision=decided)
    return list_values([differs, _spend(error, nearest)], "lists.sentences").text(spoken())


def _spend(error: ErrorParts, nearest: NextUnit) -> Message:
    """Say where the variance of the difference comes from, and what lessens it most."""
    parts = {"items": error.item_by_arm, "runs": error.run, "judgements": error.judge}
    whole = sum(part or 0.0 for part in parts.values())
    if whole <= 0 or nearest.best is None:
        return message("runs.nothing_varied")
    shares = [
        message("runs.part", share=float(part / whole), what=message(f"runs.of_{name}"))
        for name, part in parts.items()
        if part is not None
    ]
    hidden: Message | str = "" if error.run is not None else message("runs.hidden")
    shares_text = list_values(shares, "lists.comma")
    return message(
        "runs.shares", shares=shares_text, hidden=hidden, buys=message(f"runs.buys_{nearest.best}")
    )
