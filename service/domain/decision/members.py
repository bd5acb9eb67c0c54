"""Which hypotheses a family holds, which hold up the end of a collection, and which clauses ask for a small p-value."""

from __future__ import annotations

from service.domain.plans.plan import Plan
from service.domain.plans.sections.hypothesis import Hypothesis
from service.domain.rules.rule import Clause, Comparison
from service.domain.rules.settings import Setting


def members(plan: Plan) -> tuple[str, ...]:
    """The hypotheses of the family, in its order: those the plan lists, each once, else all on primary endpoints."""
    if plan.multiplicity is not None and plan.multiplicity.family:
        return tuple(dict.fromkeys(plan.multiplicity.family))
    return tuple(hypothesis.id for hypothesis in plan.hypotheses or () if not is_secondary(plan, hypothesis))


def is_secondary(plan: Plan, hypothesis: Hypothesis) -> bool:
    """True for a hypothesis on a secondary endpoint."""
    endpoint = plan.endpoint(hypothesis.endpoint)
    return endpoint is not None and endpoint.role == "secondary"


def holding_up(plan: Plan) -> tuple[str, ...]:
    """Return the hypotheses that have to end before a sequential plan does: those on primary endpoints, else all."""
    hypotheses = plan.hypotheses or ()
    return tuple(hypothesis.id for hypothesis in hypotheses if not is_secondary(plan, hypothesis)) or tuple(
        hypothesis.id for hypothesis in hypotheses
    )


P_FIELDS = ("p_value", "p_meets", "p_above", "p_below")
"""Fields that hold the p-value of what a claim says: of a difference, or of one arm against its reference."""


def asks_small_p(clause: Clause) -> bool:
    """True for a clause that a small p-value makes true."""
    return (
        isinstance(clause, Comparison)
        and clause.field.test is not None
        and clause.field.path[-1] in P_FIELDS
        and clause.operator in ("<", "<=")
    )


def p_clauses(setting: Setting) -> tuple[Clause, ...]:
    """Return the clauses of a hypothesis' rule that ask for a small p-value."""
    return tuple(clause for clause in setting.clauses if asks_small_p(clause))
