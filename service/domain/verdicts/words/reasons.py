"""Reasons of a verdict, in any language: records keep them in English, and the template that wrote one reads it."""

from __future__ import annotations

from service.domain.verdicts.records import HypothesisVerdict
from service.words import Listed, Message, Stored, list_values, message


def reason_message(reason: str | None) -> Stored:
    """Return why something is undefined; of a reason that no template knows other languages say where it stands."""
    return Stored(str(reason), "reasons", "reasons.elsewhere")


def reason_of(verdict: HypothesisVerdict) -> Stored | Listed:
    """Why an outcome is not what the rule alone says; of a rule that cannot be decided, each unknown clause and why."""
    if verdict.outcome != "inconclusive" or verdict.rule_holds:
        return reason_message(verdict.reason)
    unknown = (
        message("verdicts.unknown_clause", clause=clause.text, reason=reason_message(clause.reason))
        for clause in verdict.clauses
        if clause.holds is None
    )
    return list_values(unknown, "lists.semicolon")


def undecided_clauses(verdict: HypothesisVerdict) -> Listed:
    """Return the clauses that are unknown, those of one reason together."""
    by_reason: dict[str | None, list[Message]] = {}
    for clause in verdict.clauses:
        if clause.holds is None:
            by_reason.setdefault(clause.reason, []).append(message("verdicts.code", text=clause.text))
    groups = (
        message(
            "headlines.undecided", clauses=list_values(codes, "lists.comma"), reason=reason_message(reason)
        )
        for reason, codes in by_reason.items()
    )
    return list_values(groups, "lists.semicolon")


def multiplicity_message(multiplicity: str) -> Stored:
    """Return what was done about several hypotheses, as a verdict stores it."""
    return Stored(multiplicity, "multiplicity", "multiplicity.elsewhere")
