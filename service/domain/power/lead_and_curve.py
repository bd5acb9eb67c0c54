"""What is told of a rule's power at the true difference that stands first, and at others beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from service.domain.power.answers.records import LeadEffect, LeadPower, PowerAt, RulePower
from service.domain.power.worlds import Corner

SAME = 1e-12
"""True values this close are one."""


def about_lead(
    base: RulePower,
    lead: tuple[LeadEffect, float],
    at: Callable[[float, Corner], PowerAt],
    others: Iterable[float],
    *,
    stated: bool,
) -> RulePower:
    """Return the power at the rule's `lead`, over what is plausible unless it is `stated`, and its curve over `others`.

    `at` tells power at a true value and at a corner of what is plausible. Its method is None where power is not known
    at the lead, with the reason.
    """
    effect, truth = lead
    reference = at(truth, "reference")
    first = LeadPower(effect=effect, reference=reference)
    changes: dict[str, object] = {"reference": reference, "reason": reference.reason, "lead": first}
    if reference.power is None:
        return base.model_copy(update=changes)
    changes |= {"method": "exact" if reference.standard_error is None else "simulated", "stated": stated}
    if not stated:
        # The reference is one of what is plausible: where power does not rise with the spread, it may be an end itself.
        ends = sorted((at(truth, "low"), at(truth, "high"), reference), key=lambda row: row.power or 0.0)
        changes |= {"low": ends[0], "high": ends[-1]}
        first = first.model_copy(update={"low": ends[0], "high": ends[-1]})
    curve = tuple(
        row
        for other in others
        if abs(other - truth) > SAME and (row := at(other, "reference")).power is not None
    )
    return base.model_copy(update={**changes, "lead": first.model_copy(update={"curve": curve})})


def points(power: RulePower) -> tuple[PowerAt, ...]:
    """Return the lead and its curve, by their true values."""
    known = () if power.lead is None else (power.lead.reference, *power.lead.curve)
    return tuple(sorted(known, key=lambda at: at.truth))
