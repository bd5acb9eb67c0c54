"""Lint of what a plan does about results that are not ok, and about several hypotheses at once."""

from __future__ import annotations

from collections.abc import Iterator

from service.domain.decision.family import two_places, why_uncorrected
from service.domain.decision.members import P_FIELDS, asks_small_p, members, p_clauses
from service.domain.plans.findings import Finding, error, warning
from service.domain.plans.plan import Plan
from service.domain.plans.sections.endpoint import Endpoint
from service.domain.rules.rule import All, Rule, clauses
from service.domain.rules.settings import Setting, on_endpoint, other_endpoints, parts_of
from service.domain.verdicts.joint import flips, member_uses, side_of, sign_tests
from service.domain.verdicts.judge_noise import audit_of
from service.domain.verdicts.worst_case import extremes, favoured
from service.words import say


def endpoint_findings(plan: Plan) -> Iterator[Finding]:
    """Yield findings of bounds where they mean nothing, and of people's labels that do not go with what they audit."""
    for index, endpoint in enumerate(plan.endpoints or ()):
        if endpoint.bounds is not None and endpoint.kind != "continuous":
            yield error(
                "BOUNDS",
                f"endpoints[{index}].bounds",
                say("findings.bounds_not_continuous", endpoint=endpoint.id, kind=endpoint.kind),
            )
        if endpoint.positive and endpoint.kind != "continuous":
            yield error(
                "BOUNDS",
                f"endpoints[{index}].positive",
                say("findings.positive_not_continuous", endpoint=endpoint.id, kind=endpoint.kind),
            )
        if endpoint.positive and endpoint.bounds is not None and endpoint.bounds.low < 0:
            yield error(
                "BOUNDS",
                f"endpoints[{index}].bounds.low",
                say("findings.positive_below_0", endpoint=endpoint.id),
            )
        audit = audit_of(plan, endpoint)
        if audit is not None and not _can_audit(endpoint, audit):
            yield error(
                "AUDIT",
                f"endpoints[{(plan.endpoints or ()).index(audit)}]",
                say("findings.audit_not_binary", audit=audit.id, endpoint=endpoint.id),
            )


def _can_audit(endpoint: Endpoint, audit: Endpoint) -> bool:
    """Tell whether labels can correct a judge: one result per item on both sides, of kinds that go together."""
    single = all(one.replicates == 1 and one.kind != "counts" for one in (endpoint, audit))
    # A draw of the plan corrects scores as well; labels that somebody chose, right and wrong alone.
    alike = endpoint.kind == audit.kind and (endpoint.kind == "binary" or audit.labels is not None)
    return single and alike and audit.role == "secondary"


def missing_findings(plan: Plan, setting: Setting) -> Iterator[Finding]:
    """Yield errors where missing results count as the worst, and the plan does not tell which value that is."""
    hypothesis, endpoint = setting.hypothesis, setting.endpoint
    if plan.missing != "worst_case" or endpoint is None or endpoint.kind == "counts":
        return
    if extremes(endpoint) is None:
        index = (plan.endpoints or ()).index(endpoint)
        yield error(
            "WORST_CASE",
            f"endpoints[{index}].bounds",
            say("findings.worst_case_bounds", endpoint=endpoint.id),
        )
    if setting.rule is not None and hypothesis.claim != "equivalence" and favoured(setting) is None:
        yield error("WORST_CASE", f"{setting.path}.rule", say("findings.worst_case_arm"))


def other_missing_findings(plan: Plan, setting: Setting) -> Iterator[Finding]:
    """Yield findings on missing results of the other endpoints that a rule speaks of."""
    others = other_endpoints(setting)
    if plan.missing != "worst_case" or not others:
        return
    if parts_of(setting) is None:
        yield error("WORST_CASE", f"{setting.path}.rule", say("findings.worst_case_arm_each"))
        return
    for name in others:
        there = on_endpoint(setting, name)
        yield from missing_findings(there.plan, there)


def multiplicity_findings(plan: Plan, setting: Setting) -> Iterator[Finding]:
    """Yield findings of a multiplicity policy that has no p-value of the hypothesis to adjust."""
    policy = None if plan.multiplicity is None else plan.multiplicity.policy
    if policy in (None, "none") or setting.rule is None or setting.hypothesis.id not in members(plan):
        return
    path = f"{setting.path}.rule"
    uncorrected = why_uncorrected(policy, len(members(plan)) + len(two_places(plan)))
    if setting.hypothesis.equivalence is not None and uncorrected is not None:
        yield warning(
            "EQUIVALENCE_UNCORRECTED",
            f"{setting.path}.equivalence",
            say(
                "findings.equivalence_uncorrected",
                test=setting.hypothesis.equivalence,
                uncorrected=uncorrected,
            ),
        )
    if not p_clauses(setting):
        yield error("MULTIPLICITY", path, say("findings.policy_without_p", policy=policy))
    elif not _needs_all(setting.rule):
        yield error("MULTIPLICITY", path, say("findings.policy_one_p", policy=policy))
    elif policy == "max_t" and (apart := _explain_apart(plan, setting)) is not None:
        yield error("MULTIPLICITY", path, say("findings.policy_max_t", why=apart))


def _needs_all(rule: Rule) -> bool:
    """Tell whether a rule cannot hold unless every clause that mentions a p-value holds."""
    parts = rule.parts if isinstance(rule, All) else (rule,)
    mentioned = [clause for clause in clauses(rule) if clause.field.path[-1] in P_FIELDS]
    return all(clause in parts and asks_small_p(clause) for clause in mentioned)


def _explain_apart(plan: Plan, setting: Setting) -> str | None:
    """Say why a member of the family cannot share the signs that `max_t` goes by, and the first way out."""
    if plan.stopping is not None and plan.stopping.kind != "fixed_n":
        return say("findings.signs_before_end")
    if setting.hypothesis.claim == "equivalence":
        return say("findings.signs_of_equivalence")
    for name, use in member_uses(setting):
        if use is not None and not flips(use, setting):
            units = "clusters" if setting.clustered else "items"
            return say(f"findings.signs_of_{units}", test=name, tests=", ".join(sign_tests()))
    first = next(one for one in setting.within.settings if one.hypothesis.id in members(plan))
    if setting.hypothesis.population != first.hypothesis.population:
        return say(
            "findings.signs_of_same_items",
            hypothesis=first.hypothesis.id,
            population=first.hypothesis.population,
        )
    sides = [
        {side_of(use) == "two-sided" for _, use in member_uses(one) if use is not None}
        for one in (first, setting)
    ]
    if sides[0] and sides[1] and len(sides[0] | sides[1]) > 1:
        return say("findings.signs_of_sides")
    return None


EQUALITY = ("equivalence", "non_inferiority")
"""Claims that errors which are alike in both arms bring nearer."""


def judge_findings(plan: Plan, setting: Setting) -> Iterator[Finding]:
    """Yield a warning of a judge whose errors nobody measures, behind a claim that two arms are close."""
    hypothesis, endpoint = setting.hypothesis, setting.endpoint
    close = hypothesis.claim in EQUALITY or hypothesis.equivalence is not None
    if endpoint is None or endpoint.judge is None or not close:
        return
    audit = audit_of(plan, endpoint)
    if audit is None or not plan.measures(audit, hypothesis.population):
        yield warning(
            "JUDGE_NOT_AUDITED",
            f"{setting.path}.endpoint",
            say("findings.judge_not_audited", name=endpoint.id),
        )
