"""One word for a verdict, for those who have room for one: badges, tags, messages."""

from __future__ import annotations

from service.domain.verdicts.records import Outcome, Verdict

WORST_FIRST: tuple[Outcome, ...] = ("invalid", "inconclusive", "not_supported", "equivalent", "supported")
"""Which outcome stands for several: as the exit status of `forelock verdict`."""


def outcome_of(verdict: Verdict) -> Outcome:
    """The first of `WORST_FIRST` that a hypothesis has."""
    outcomes = {hypothesis.outcome for hypothesis in verdict.hypotheses}
    return next(each for each in WORST_FIRST if each in outcomes)
