"""First lines of what data of a size can show, as a person would say it, and the second: what they would not show."""

from __future__ import annotations

from service.domain.resolution.records import AuditRequest, Compatible, Reach
from service.domain.resolution.sentences import amount_of, count_units, percent
from service.stats.shared.declaring.sentences import difference_of, p_text
from service.words import Value, message, speak


def of_pilot(reach: Reach, n: int, *, binary: bool) -> tuple[str, str]:
    """Return what items like a pilot's, or as many clusters, tell in 80 of 100 studies; and what they tell less often.

    Args:
        reach: of the unit that is independent.
        n: items, a count.
        binary: outcomes are right and wrong.
    """
    units: Value = count_units(reach.units, reach.unit)
    if reach.unit == "clusters":
        units = message("resolution.of_items", units=units, items=count_units(n, "items"))
    if reach.detectable_80 is None:
        return speak("resolution.headline_none", units=units), ""
    smallest = amount_of(reach.detectable_80, binary=binary)
    return speak("resolution.headline", units=units, amount=smallest), speak("resolution.open_smaller")


def of_published(
    request: AuditRequest, delta: float, few: Compatible, many: Compatible, share: float | None
) -> tuple[str, str]:
    """Tell whether a published pair is told apart by its accuracies alone; and what they leave open.

    Args:
        delta: candidate minus baseline, a proportion.
        few, many: the tables with the fewest and the most discordant items.
        share: of discordant items, up to which equality is rejected; None: no table rejects it.
    """
    every = share is not None and share * request.n >= many.n_discordant
    standing = "none" if share is None else "every" if every else "some"
    p_texts = (p_text(end.p_value, alpha=request.alpha) for end in (few, many))
    low, high = (p.removeprefix("p = ") for p in p_texts)
    p = low if low == high else message("resolution.p_range", low=low, high=high)
    line = speak(
        f"resolution.headline_{standing}_rejects",
        candidate=percent(request.candidate),
        baseline=percent(request.baseline),
        n=request.n,
        delta=difference_of(delta, binary=True),
        p=p,
    )
    if standing == "some" and share is not None:
        return line, speak("resolution.open_rejects_up_to", share=percent(share))
    return line, speak("resolution.open_none" if standing == "none" else "resolution.open_every")
