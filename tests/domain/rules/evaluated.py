"""The truth of a rule from what its fields turned out to be: the definition, for tests to hold the judge against."""

from __future__ import annotations

from collections.abc import Mapping

from service.domain.rules.rule import Rule, clauses
from service.domain.rules.truth import Observed, Truth, combine, holds


def evaluate(rule: Rule, fields: Mapping[str, Observed]) -> Truth:
    """By the text of the fields (`mcnemar.p_value`); one that is not told is undefined."""
    return combine(rule, {clause: holds(clause, fields.get(str(clause.field))) for clause in clauses(rule)})
