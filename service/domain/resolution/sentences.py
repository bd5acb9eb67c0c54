"""What a resolution says: of each unit the smallest differences, and the power against those that are asked about."""

from __future__ import annotations

from service.domain.resolution.records import Reach
from service.stats.shared.declaring.sentences import difference_of
from service.words import Message, Value, list_values, message, spoken


def sentence(reach: list[Reach], *, binary: bool) -> str:
    """Say of each unit what it resolves."""
    return list_values((_describe_reach(one, binary=binary) for one in reach), "lists.sentences").text(
        spoken()
    )


def count_units(count: int, unit: str) -> Message:
    """Say so many items or clusters."""
    return message(f"units.counted_{unit}", n=count)


def amount_of(effect: float, *, binary: bool) -> Value:
    """Return a size with its unit and no sign."""
    return difference_of(effect, binary=binary, signed=False)


def _describe_reach(reach: Reach, *, binary: bool) -> Message:
    """Describe which differences a pilot's number of units detects, with which power, and its least p."""
    ends = [
        message("resolution.end", amount=amount_of(end, binary=binary), power=power)
        for end, power in ((reach.detectable_80, 80), (reach.detectable_90, 90))
        if end is not None
    ]
    against = (
        message(
            "resolution.against", power=percent(point.power), effect=amount_of(point.effect, binary=binary)
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
        units=count_units(reach.units, reach.unit),
        ends=list_values(ends, "resolution.or"),
        against=list_values(against),
        least=message(f"resolution.least_of_{given}", p=least),
    )


def percent(power: float) -> str:
    """Return a power as `15.8 %`; never 100 for less."""
    return f"{min(100 * power, 99.9) if power < 1 else 100.0:.1f}%"
