"""What can be done where a rule could not be decided: draw more, ask for less, or use a test that such data define."""

from __future__ import annotations

from service.domain.plans.items.suite_items import find_population
from service.domain.plans.plan import Plan
from service.domain.verdicts.records import HypothesisVerdict
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.certainty import DRAWN
from service.words import Message, message

KNOWN_AS = "known only as "


def open_step(plan: Plan, verdict: HypothesisVerdict) -> Message:
    """Return the step after a rule whose clauses are unknown."""
    why = {clause.reason or "" for clause in verdict.clauses if clause.holds is None}
    if why == {DRAWN}:
        return message("notes.drawn_too_near")
    if why and all(reason.startswith(KNOWN_AS) for reason in why):
        return message("notes.known_as_bound")
    test = defined_test(plan, verdict)
    return message("notes.nothing_defined") if test is None else message("notes.defined_test", test=test)


def defined_test(plan: Plan, verdict: HypothesisVerdict) -> Message | None:
    """Find a test of such a claim that is defined though nothing varies, or differences are few; None without one."""
    population, endpoint = find_population(plan, verdict.population), plan.endpoint(verdict.endpoint)
    if population is None or endpoint is None:
        return None
    clustered = population.clusters is not None
    in_order = plan.stopping is not None and plan.stopping.kind != "fixed_n"
    purpose = "difference" if verdict.claim == "superiority" else "equivalence"
    for name, test in registry.latest().items():
        use = test.plan
        if use is None or use.resort is None or use.purpose != purpose or (use.ordered is None) == in_order:
            continue
        if use.resort.serves(endpoint.collapsed_kind, clustered=clustered):
            method = use.resort.method
            if method is None:
                return message("notes.test", test=name)
            return message("notes.test_by_method", test=name, method=method)
    return None
