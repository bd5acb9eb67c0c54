"""Lint of stopping rules: a plan that may be looked at early needs a locked order and tests made for it."""

from __future__ import annotations

from collections.abc import Iterator

from service.domain.plans.findings import Finding, error
from service.domain.plans.items.unit_order import look_units
from service.domain.plans.plan import GroupSequential, Plan
from service.domain.plans.sections.population import Population
from service.domain.rules.feeding import order_of
from service.domain.rules.settings import Setting, Use
from service.stats.shared.declaring import registry
from service.stats.shared.methods.looks import MOST_LOOKS
from service.words import say

LEAST_ITEMS, LEAST_CLUSTERS = 2, 15
"""Units at the first planned look. Under Pocock spending 5.2 of 100 plans err with 15 clusters there, 5.5 with 10
and 6.6 with 6: docs/stopping-rules.md."""


def stopping_findings(plan: Plan) -> Iterator[Finding]:
    """Yield findings of the stopping rule itself, and of the populations and policies it needs."""
    rule = plan.stopping
    if rule is None or rule.kind == "fixed_n":
        return
    looks = rule.looks if isinstance(rule, GroupSequential) else None
    if isinstance(rule, GroupSequential) and looks is None:
        yield error("STOPPING", "stopping.looks", say("findings.looks_missing"))
    elif looks is not None and looks > MOST_LOOKS:
        message = say("findings.looks_beyond_most", looks=looks, most=MOST_LOOKS)
        yield error("STOPPING", "stopping.looks", message)
    if plan.missing == "exclude_pair":
        yield error("STOPPING", "missing", say("findings.looks_exclude_pair"))
    for index, population in enumerate(plan.populations or ()):
        yield from _check_order(population, looks, f"populations[{index}]")


def _check_order(population: Population, looks: int | None, path: str) -> Iterator[Finding]:
    """Find out whether a population has a locked order, and enough units for its looks."""
    if population.order_seed is None:
        yield error("ORDER_SEED", f"{path}.order_seed", say("findings.order_seed"))
    least, what = (LEAST_ITEMS, "items") if population.clusters is None else (LEAST_CLUSTERS, "clusters")
    if looks is not None and looks <= MOST_LOOKS and look_units(population, looks)[0] < least:
        yield error(
            "STOPPING",
            "stopping.looks",
            say("findings.looks_too_many", looks=looks, population=population.id, least=least, what=what),
        )


def sequential_findings(plan: Plan, setting: Setting) -> Iterator[Finding]:
    """Yield findings of one hypothesis' tests, which must be those that the plan's stopping rule allows."""
    if plan.stopping is None:
        return
    kind = plan.stopping.kind
    path = f"{setting.path}.rule"
    for name, use in setting.uses.items():
        if kind == "fixed_n" and order_of(use.test) is not None:
            yield error("SEQUENTIAL_TEST", path, say("findings.sequential_test_one_look", name=name))
        elif kind != "fixed_n" and not _is_allowed(kind, use):
            yield error(
                "SEQUENTIAL_TEST",
                path,
                say("findings.fixed_test_looks", name=name, kind=kind, instead=_made_for(kind)),
            )
    if kind != "fixed_n" and setting.rule is not None and not setting.uses:
        yield error("SEQUENTIAL_TEST", path, say("findings.sequential_test_missing", kind=kind))
    if kind == "anytime_valid" and setting.uses and _needs_bounds(setting):
        yield error("BOUNDS", f"endpoints[{_index(plan, setting)}].bounds", say("findings.anytime_bounds"))


def _is_allowed(kind: str, use: Use) -> bool:
    ordered = order_of(use.test)
    return ordered is not None and use.use.parameters.get("method") in ordered.methods.get(kind, ())


def _made_for(kind: str) -> str:
    """Return the tests that go with a stopping rule, and their methods."""
    ordered_tests = {test.name: ordered for test in registry.latest().values() if (ordered := order_of(test))}
    return " or ".join(
        f"'{name}' with method {' or '.join(ordered.methods[kind])}"
        for name, ordered in ordered_tests.items()
        if kind in ordered.methods
    )


def _needs_bounds(setting: Setting) -> bool:
    endpoint = setting.endpoint
    return endpoint is not None and endpoint.kind == "continuous" and endpoint.bounds is None


def _index(plan: Plan, setting: Setting) -> int:
    return next(i for i, endpoint in enumerate(plan.endpoints or ()) if endpoint == setting.endpoint)
