"""Lint of what a plan does about results that are not ok: whether its policy can be carried out."""

from __future__ import annotations

from collections.abc import Iterator

from service.domain.findings import Finding, error
from service.domain.lint_settings import Setting
from service.domain.plan import Plan
from service.domain.worst_case import extremes, favoured


def endpoint_findings(plan: Plan) -> Iterator[Finding]:
    """Bounds where they mean nothing."""
    for index, endpoint in enumerate(plan.endpoints or ()):
        if endpoint.bounds is not None and endpoint.kind != "continuous":
            yield error(
                "BOUNDS",
                f"endpoints[{index}].bounds",
                f"'{endpoint.id}' is {endpoint.kind}, and bounds belong to a continuous endpoint: leave them out",
            )


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
    if setting.rule is not None and hypothesis.claim != "equivalence" and favoured(plan, hypothesis) is None:
        yield error(
            "WORST_CASE",
            f"{setting.path}.rule",
            "under `worst_case` the rule must say which arm it favours: add a clause on the difference, such as "
            "`delta > 0`, or ask a one-sided test",
        )
