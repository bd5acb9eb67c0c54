"""Lint of the items that claims speak of: these very items, or items like these."""

from __future__ import annotations

from collections.abc import Iterator

from service.domain.plans.findings import Finding, error
from service.domain.plans.plan import Plan
from service.domain.rules.feeding import parameter
from service.domain.rules.settings import Setting
from service.words import say


def items_findings(plan: Plan) -> Iterator[Finding]:
    """Endpoints that are to speak of these items, and whose runs do not tell what these items would do."""
    for index, endpoint in enumerate(plan.endpoints or ()):
        if endpoint.estimand != "these_items":
            continue
        path = f"endpoints[{index}].estimand"
        if endpoint.runs < 2:
            yield error("ESTIMAND", path, say("findings.estimand_one_run", name=endpoint.id))
        elif not endpoint.counts_runs and _asks_means(plan, endpoint.id):
            yield error("ESTIMAND", path, say("findings.estimand_counts", name=endpoint.id))


def _asks_means(plan: Plan, endpoint_id: str) -> bool:
    """A claim about one arm's mean rests on it."""
    return any(
        hypothesis.endpoint == endpoint_id
        and hypothesis.claim == "at_least"
        and hypothesis.about in (None, "mean")
        for hypothesis in plan.hypotheses or ()
    )


def estimand_findings(setting: Setting) -> Iterator[Finding]:
    """Claims, and tests of their rules, that speak of other items than the endpoint says."""
    hypothesis, endpoint = setting.hypothesis, setting.endpoint
    if endpoint is None or endpoint.estimand is None:
        return
    about = hypothesis.about or "mean"
    if endpoint.estimand == "items_like_these":
        if about == "every_item":
            yield error("ESTIMAND", f"{setting.path}.about", say("findings.estimand_every_item"))
        return
    if hypothesis.claim != "at_least":
        yield error(
            "ESTIMAND",
            f"{setting.path}.endpoint",
            say("findings.estimand_two_arms", name=hypothesis.id, endpoint=endpoint.id),
        )
    elif about == "pass_hat_k":
        yield error("ESTIMAND", f"{setting.path}.about", say("findings.estimand_pass_hat_k"))
    elif about == "mean" and endpoint.counts_runs:
        for clause in setting.clauses:
            use = setting.use_of(clause)
            if use is None or use.test.plan is None:
                continue
            if not use.test.plan.of_runs:
                yield error(
                    "ESTIMAND",
                    f"{setting.path}.rule",
                    say("findings.estimand_test", test=use.use.id, endpoint=endpoint.id),
                )
            elif parameter(use.use, "method") != "clopper-pearson":
                yield error(
                    "ESTIMAND", f"{setting.path}.rule", say("findings.estimand_method", test=use.use.id)
                )
