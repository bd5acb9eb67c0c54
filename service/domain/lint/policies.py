"""Lint of what a plan does about results that are not ok, and about several hypotheses at once."""

from __future__ import annotations

from collections.abc import Iterator

from service.domain.decision.family import two_places, why_uncorrected
from service.domain.decision.members import members, needs_all, p_clauses
from service.domain.plans.findings import Finding, error, warning
from service.domain.plans.plan import Endpoint, Plan
from service.domain.rules.endpoints import on_endpoint, other_endpoints, parts_of
from service.domain.rules.settings import Setting, settings
from service.domain.verdicts.joint import flips, member_uses, side_of, sign_tests
from service.domain.verdicts.judge_noise import audit_of
from service.domain.verdicts.worst_case import extremes, favoured


def endpoint_findings(plan: Plan) -> Iterator[Finding]:
    """Bounds where they mean nothing, and labels by people that do not go with what they audit."""
    for index, endpoint in enumerate(plan.endpoints or ()):
        if endpoint.bounds is not None and endpoint.kind != "continuous":
            yield error(
                "BOUNDS",
                f"endpoints[{index}].bounds",
                f"'{endpoint.id}' is {endpoint.kind}, and bounds belong to a continuous endpoint: leave them out",
            )
        if endpoint.positive and endpoint.kind != "continuous":
            yield error(
                "BOUNDS",
                f"endpoints[{index}].positive",
                f"'{endpoint.id}' is {endpoint.kind}, and amounts above 0 belong to a continuous one: leave it out",
            )
        if endpoint.positive and endpoint.bounds is not None and endpoint.bounds.low < 0:
            yield error(
                "BOUNDS",
                f"endpoints[{index}].bounds.low",
                f"'{endpoint.id}' is positive, and its least value is below 0: declare 0 or more",
            )
        audit = audit_of(plan, endpoint)
        if audit is not None and not _fits(endpoint, audit):
            yield error(
                "AUDIT",
                f"endpoints[{(plan.endpoints or ()).index(audit)}]",
                f"'{audit.id}' holds people's labels for '{endpoint.id}': make it secondary, and both of them binary "
                "with one result per item",
            )


def _fits(endpoint: Endpoint, audit: Endpoint) -> bool:
    binary = all(each.kind == "binary" and each.replicates == 1 for each in (endpoint, audit))
    return binary and audit.role == "secondary"


def missing_findings(plan: Plan, setting: Setting) -> Iterator[Finding]:
    """Under `worst_case`: whether the plan tells which value is the worst for a hypothesis."""
    hypothesis, endpoint = setting.hypothesis, setting.endpoint
    if plan.missing != "worst_case" or endpoint is None or endpoint.kind == "counts":
        return
    if extremes(endpoint) is None:
        index = (plan.endpoints or ()).index(endpoint)
        yield error(
            "WORST_CASE",
            f"endpoints[{index}].bounds",
            f"under `worst_case` a missing result takes the worst value, and '{endpoint.id}' has none: declare "
            "its least and greatest value in `bounds`, or use another missing policy",
        )
    if setting.rule is not None and hypothesis.claim != "equivalence" and favoured(setting) is None:
        yield error(
            "WORST_CASE",
            f"{setting.path}.rule",
            "under `worst_case` the rule must say which arm it favours: add a clause on the difference, such as "
            "`delta > 0`, or ask a one-sided test",
        )


def other_missing_findings(plan: Plan, setting: Setting) -> Iterator[Finding]:
    """The same of the other endpoints that the rule speaks of."""
    others = other_endpoints(setting)
    if plan.missing != "worst_case" or not others:
        return
    if parts_of(setting) is None:
        yield error(
            "WORST_CASE",
            f"{setting.path}.rule",
            "under `worst_case` the rule must say of every endpoint which arm it favours: join what it asks of "
            "several endpoints by `and`",
        )
        return
    for name in others:
        there = on_endpoint(setting, name)
        yield from missing_findings(there.plan, there)


def multiplicity_findings(plan: Plan, setting: Setting) -> Iterator[Finding]:
    """Under a policy other than `none`: whether it has a p-value of the hypothesis to adjust."""
    policy = None if plan.multiplicity is None else plan.multiplicity.policy
    if policy in (None, "none") or setting.rule is None or setting.hypothesis.id not in members(plan):
        return
    path = f"{setting.path}.rule"
    uncorrected = why_uncorrected(policy, len(members(plan)) + len(two_places(plan)))
    if setting.hypothesis.equivalence is not None and uncorrected is not None:
        yield warning(
            "EQUIVALENCE_UNCORRECTED",
            f"{setting.path}.equivalence",
            f"`{setting.hypothesis.equivalence}` cannot decide an outcome: {uncorrected}. Take one of these, or leave "
            "`equivalence` out; as it is, what it finds stands beside the outcome as uncorrected",
        )
    if not p_clauses(setting.rule):
        yield error(
            "MULTIPLICITY",
            path,
            f"the policy '{policy}' adjusts p-values and this rule asks for none: add a clause such as "
            "`test.p_value < 0.05`, or leave the hypothesis out of the family",
        )
    elif not needs_all(setting.rule):
        yield error(
            "MULTIPLICITY",
            path,
            f"the policy '{policy}' adjusts one p-value per hypothesis, the largest that the rule needs: join "
            "the clauses on p-values by `and`, each with `<` or `<=`, outside `or` and `not`",
        )
    elif policy == "max_t" and (apart := _apart(plan, setting)) is not None:
        yield error("MULTIPLICITY", path, f"{apart}, or take the policy 'holm', which asks for none of this")


def _apart(plan: Plan, setting: Setting) -> str | None:
    """Why a member of the family cannot share the signs that `max_t` goes by, and the first way out."""
    if plan.stopping is not None and plan.stopping.kind != "fixed_n":
        return "`max_t` goes by all the differences together, and this plan looks before the end: stop at 'fixed_n'"
    if setting.hypothesis.claim == "equivalence":
        return "`max_t` adjusts claims of a difference, and equivalence is none: leave the hypothesis out of the family"
    for name, use in member_uses(setting):
        if use is not None and not flips(use, setting):
            units = "every cluster, and takes the clusters" if setting.clustered else "every item"
            return (
                f"`max_t` goes by mean differences under random signs, and `{name}.p_value` does not: ask a test "
                f"that gives a sign to {units} (by default these do: {', '.join(sign_tests())})"
            )
    first = next(setting for setting in settings(plan) if setting.hypothesis.id in members(plan))
    if setting.hypothesis.population != first.hypothesis.population:
        return (
            f"`max_t` needs the family on the same items, and {first.hypothesis.id} is on "
            f"'{first.hypothesis.population}': leave one of them out of the family"
        )
    sides = [
        {side_of(use) == "two-sided" for _, use in member_uses(each) if use is not None}
        for each in (first, setting)
    ]
    if sides[0] and sides[1] and len(sides[0] | sides[1]) > 1:
        return (
            "`max_t` weighs the members' differences against each other, and some tests here are two-sided and others "
            "one-sided: give all of them the same `alternative`"
        )
    return None


EQUALITY = ("equivalence", "non_inferiority")
"""Claims that errors which are alike in both arms bring nearer."""


def judge_findings(plan: Plan, setting: Setting) -> Iterator[Finding]:
    """A judge whose errors nobody measures, behind a statement that two arms are close."""
    hypothesis, endpoint = setting.hypothesis, setting.endpoint
    close = hypothesis.claim in EQUALITY or hypothesis.equivalence is not None
    if endpoint is None or endpoint.judge is None or not close:
        return
    audit = audit_of(plan, endpoint)
    if audit is None or not audit.measured_on(hypothesis.population):
        yield warning(
            "JUDGE_NOT_AUDITED",
            f"{setting.path}.endpoint",
            f"a model scores '{endpoint.id}' and nobody checks it here: its errors shrink the difference by "
            "sensitivity + specificity - 1, which can pass for equivalence. Add a secondary binary endpoint "
            f"'{endpoint.id}.audit' with people's labels on a random part of the items, or acknowledge it",
        )
