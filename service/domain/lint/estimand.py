"""Lint of the items that claims speak of: these very items, or items like these."""

from __future__ import annotations

from collections.abc import Iterator

from service.domain.plans.findings import Finding, error
from service.domain.plans.plan import Plan
from service.domain.plans.sections.endpoint import Endpoint
from service.domain.rules.feeding import of_these_items, parameter
from service.domain.rules.settings import Setting
from service.words import say


def items_findings(plan: Plan) -> Iterator[Finding]:
    """Yield errors of endpoints on these very items whose runs do not tell what these items would do."""
    for index, endpoint in enumerate(plan.endpoints or ()):
        if endpoint.estimand != "these_items":
            continue
        path = f"endpoints[{index}].estimand"
        if endpoint.runs < 2:
            yield error("ESTIMAND", path, say("findings.estimand_one_run", name=endpoint.id))
        elif endpoint.collapse not in (None, "mean") and _asks_means(plan, endpoint.id):
            yield error("ESTIMAND", path, say("findings.estimand_collapse", name=endpoint.id))


def _asks_means(plan: Plan, endpoint_id: str) -> bool:
    """Tell whether a claim about means rests on the endpoint."""
    return any(
        hypothesis.endpoint == endpoint_id and hypothesis.about in (None, "mean")
        for hypothesis in plan.hypotheses or ()
    )


def estimand_findings(setting: Setting) -> Iterator[Finding]:
    """Yield errors of a claim, or a test of its rule, that speaks of other items than the endpoint says."""
    hypothesis, endpoint = setting.hypothesis, setting.endpoint
    yield from _check_item_tests(setting)
    if endpoint is None or endpoint.estimand is None:
        return
    about = hypothesis.about or "mean"
    if endpoint.estimand == "items_like_these":
        if about == "every_item":
            yield error("ESTIMAND", f"{setting.path}.about", say("findings.estimand_every_item"))
        return
    if hypothesis.claim != "at_least":
        yield from _check_two_arms(setting, endpoint)
    elif about == "pass_hat_k":
        yield error("ESTIMAND", f"{setting.path}.about", say("findings.estimand_pass_hat_k"))
    elif about == "mean":
        yield from _check_one_mean(setting, endpoint)


def _check_item_tests(setting: Setting) -> Iterator[Finding]:
    """Yield errors of tests that speak of these items alone, on endpoints that do not say so."""
    for use in setting.uses.values():
        endpoint = setting.endpoint_of(use)
        if of_these_items(use.test) and endpoint is not None and endpoint.estimand != "these_items":
            message = say("findings.estimand_unsaid", test=use.use.id, endpoint=endpoint.id)
            yield error("ESTIMAND", f"{setting.path}.rule", message)


def _check_two_arms(setting: Setting, endpoint: Endpoint) -> Iterator[Finding]:
    """Yield errors of a hypothesis on two arms that speaks of these items, and asks what only a sample of items has."""
    hypothesis = setting.hypothesis
    if hypothesis.about not in (None, "mean"):
        yield error("ESTIMAND", f"{setting.path}.about", say("findings.estimand_about", name=hypothesis.id))
    if hypothesis.equivalence is not None:
        yield error(
            "ESTIMAND",
            f"{setting.path}.equivalence",
            say("findings.estimand_equivalence", test=hypothesis.equivalence, endpoint=endpoint.id),
        )
    for clause in setting.clauses:
        use = setting.use_of(clause)
        if use is not None and not use.beside and not of_these_items(use.test):
            message = say("findings.estimand_difference", test=use.use.id, endpoint=endpoint.id)
            yield error("ESTIMAND", f"{setting.path}.rule", message)


def _check_one_mean(setting: Setting, endpoint: Endpoint) -> Iterator[Finding]:
    """Yield errors of tests that do not take the error of one arm's mean on these items from its runs."""
    if endpoint.runs < 2 or endpoint.collapse not in (None, "mean"):
        return  # the endpoint is refused
    for clause in setting.clauses:
        use = setting.use_of(clause)
        if use is None or use.beside or use.test.plan is None or of_these_items(use.test):
            continue
        names = {"test": use.use.id, "endpoint": endpoint.id}
        if not endpoint.counts_runs:
            yield error("ESTIMAND", f"{setting.path}.rule", say("findings.estimand_difference", **names))
        elif not use.test.plan.of_runs:
            yield error("ESTIMAND", f"{setting.path}.rule", say("findings.estimand_test", **names))
        elif parameter(use.use, "method") != "clopper-pearson":
            yield error("ESTIMAND", f"{setting.path}.rule", say("findings.estimand_method", test=use.use.id))
