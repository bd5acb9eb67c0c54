"""How a plan feeds a statistical test: its columns, clusters, margin and parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, JsonValue, create_model

from service.domain.plans.items.unit_order import look_units
from service.domain.plans.plan import GroupSequential, Plan, TestUse
from service.domain.plans.sections.endpoint import Endpoint
from service.domain.plans.sections.population import Population
from service.domain.plans.sections.suites import Suite
from service.domain.rules.labelled import Labels, labelled_columns, takes_labels
from service.stats.shared.data.score_range import ScoreRange
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.common import Margin, Request
from service.stats.shared.declaring.plan_use import InOrder, Layout
from service.stats.shared.declaring.registry import StatTest
from service.stats.shared.declaring.shows import Side

DATA_FIELDS = frozenset(
    {
        "baseline", "candidate", "clusters", "range", "values", "both_correct", "only_baseline",
        "only_candidate", "both_wrong",
    }
)  # fmt: skip
"""Request fields that carry outcomes; a plan's parameters are all the others."""


@cache
def parameters_model(name: str, version: int) -> type[BaseModel]:
    """Return the parameters a plan may give a test: its request without the data, every field with its rules."""
    test = registry.find(name, version)
    ordered = order_of(test)
    filled = DATA_FIELDS if ordered is None else DATA_FIELDS | ordered.fills
    filled = filled if test.plan is None else filled | test.plan.fills
    fields: dict[str, Any] = {
        field: (info.annotation, info)
        for field, info in test.request.model_fields.items()
        if field not in filled
    }
    if "margin" in fields:  # the SESOI stands in for it
        fields["margin"] = (fields["margin"][0], None)
    return create_model("Parameters", __base__=Request, **fields)


def read_parameters(use: TestUse) -> dict[str, Any]:
    """Return the parameters a plan gives, validated as JSON; raises pydantic's ValidationError."""
    parsed = parameters_model(use.test, use.version).model_validate_json(
        json.dumps(use.parameters), strict=True
    )
    return {name: getattr(parsed, name) for name in parsed.model_fields_set}


def parameter(use: TestUse, name: str) -> JsonValue:
    """Return a parameter as the test will see it: the plan's value or the test's default; None when it has none."""
    if name in use.parameters:
        return use.parameters[name]
    info = registry.find(use.test, use.version).request.model_fields.get(name)
    return None if info is None or info.is_required() else info.get_default(call_default_factory=False)


def order_of(test: StatTest[Any, Any]) -> InOrder | None:
    """Return how a sequential test reads along the plan's order; None for other tests."""
    return None if test.plan is None else test.plan.ordered


def is_ordered(use: TestUse) -> bool:
    """Return True for a sequential test."""
    return order_of(registry.find(use.test, use.version)) is not None


def takes_clusters(test: StatTest[Any, Any], population: Population) -> bool:
    """Tell whether the test is given the clusters of that population."""
    if test.plan is None or test.plan.clusters == "never":
        return False
    return test.plan.clusters == "required" or population.clusters is not None


def build_request(
    test: StatTest[Any, Any],
    use: TestUse,
    *,
    baseline: list[Any],
    candidate: list[Any],
    clusters: list[str] | None,
    margin: Margin | None,
    design: Mapping[str, Any] | None = None,
    one_arm: bool = False,
    labels: Labels | None = None,
) -> Request:
    """Return the request a test is asked with; parameters of the plan come on top. `one_arm`: of the candidate alone.

    `labels` are people's, of a test that takes them.

    Raises:
        InvalidData, ValidationError: the test refuses these data.
    """
    values: dict[str, Any] = {
        "baseline": shape_column(test, baseline),
        "candidate": shape_column(test, candidate),
    }
    if one_arm or of_one_arm(test):
        values = {"values": values["candidate"]}
    if takes_labels(test):
        arms = {"candidate": candidate} if one_arm else {"baseline": baseline, "candidate": candidate}
        values = labelled_columns(arms, clusters, labels)
    elif clusters is not None:
        values["clusters"] = clusters
    if margin is not None and "margin" in test.request.model_fields and _takes_margin(test, use, one_arm):
        values["margin"] = margin
    request: Request = test.request.model_validate({**values, **(design or {}), **read_parameters(use)})
    return request


def takes_runs(test: StatTest[Any, Any]) -> bool:
    """Return True for a test that is given every run of an item, whatever the endpoint makes of them."""
    return test.plan is not None and test.plan.takes == "runs"


def of_one_arm(test: StatTest[Any, Any]) -> bool:
    """Return True for a test that is given one arm, and no other to compare it with."""
    return test.plan is not None and test.plan.arms == 1


def of_these_items(test: StatTest[Any, Any]) -> bool:
    """Return True for a test that speaks of the very items it is given, whatever else it is asked."""
    return test.plan is not None and test.plan.of_fixed is not None


def takes_one_arm(test: StatTest[Any, Any]) -> bool:
    """Return True for a test that a claim about one arm may ask."""
    return test.plan is not None and test.plan.arms in (1, "either")


def of_tasks(test: StatTest[Any, Any]) -> bool:
    """Return True for a test that is given items of several tasks."""
    return test.plan is not None and test.plan.tasks


def suite_design(
    test: StatTest[Any, Any],
    suite: Suite,
    sizes: Mapping[str, int],
    labels: list[str],
    reference: Fraction | None,
) -> dict[str, Any]:
    """Return what a suite fills of a test of tasks. Its p-values are of no difference, or of one arm's reference."""
    if not of_tasks(test):
        return {}
    design: dict[str, Any] = {"tasks": labels, "weights": suite.shares(sizes), "estimand": suite.estimand}
    if suite.rescale is not None:
        design["rescale"] = suite.scales()
    return {**design, "threshold": 0.0 if reference is None else float(reference)}


def reads_runs(test: StatTest[Any, Any], endpoint: Endpoint) -> bool:
    """Return True for a test that is given every run of this endpoint."""
    if test.plan is not None and test.plan.takes == "either":
        return endpoint.replicates > 1 and endpoint.collapse in (None, "mean")
    return takes_runs(test)


def shape_column(test: StatTest[Any, Any], column: list[Any]) -> list[Any]:
    """Return an arm's column as the test takes it: a single value of an item is its only run."""
    if not takes_runs(test):
        return column
    return [value if isinstance(value, list) else [value] for value in column]


def runs_of(test: StatTest[Any, Any], values: NDArray[np.float64], endpoint: Endpoint) -> list[Any]:
    """Return every item's runs from shape (items, replicates), each a value, or a list of its judgements.

    Tests of one arm, and of these items, tell no judgement from another: a run has the mean of its own.
    """
    if endpoint.judgements is None:
        return list(values.tolist())
    runs = values.reshape(len(values), endpoint.runs, endpoint.judgements)
    means = of_one_arm(test) or of_these_items(test)
    return list((runs.mean(axis=2) if means else runs).tolist())


def _takes_margin(test: StatTest[Any, Any], use: TestUse, one_arm: bool) -> bool:
    ordered = order_of(test)
    if one_arm:
        return False
    return ordered is None or ordered.takes_margin(use.parameters)


def design_of(
    plan: Plan,
    test: StatTest[Any, Any],
    use: TestUse,
    endpoint: Endpoint,
    population: Population,
    largest: int | None,
    reference: Fraction | None,
) -> dict[str, Any]:
    """Return what the plan says of a sequential test: its looks, and the scale its bets need; of others their range.

    `largest` is the size of the population's largest cluster; `reference` what one arm is held against.
    """
    ordered = order_of(test)
    if ordered is None:
        return _range_of(test, use, endpoint) | fields_of_reference(test, endpoint, reference)
    looks, spending = None, "obrien_fleming"
    if isinstance(plan.stopping, GroupSequential) and plan.stopping.looks is not None:
        looks = look_units(population, plan.stopping.looks)
        spending = plan.stopping.spending or spending
    length = 1.0 if endpoint.kind == "binary" else None
    if endpoint.bounds is not None:
        length = endpoint.bounds.high - endpoint.bounds.low
    clusters = None if population.clusters is None else largest
    return ordered.design(use.parameters, Layout(looks, spending, length, clusters))


def fields_of_reference(
    test: StatTest[Any, Any], endpoint: Endpoint, reference: Fraction | None
) -> dict[str, Any]:
    """Return the fields of a test that a reference fills, which one arm is held against, by name."""
    if reference is None or test.plan is None or test.plan.arms == 2:
        return {}
    good: Side = -1 if endpoint.better == "lower" else 1
    filled = test.plan.of_reference(float(reference), good, endpoint.kind == "binary")
    return {**filled, **test.plan.of_runs} if endpoint.counts_runs else filled


def _range_of(test: StatTest[Any, Any], use: TestUse, endpoint: Endpoint) -> dict[str, Any]:
    """Return the least and greatest value of the endpoint, for a test that needs them."""
    if test.plan is None or not test.plan.takes_range(lambda name: parameter(use, name)):
        return {}
    if endpoint.kind == "binary":
        return {"range": ScoreRange(low=0.0, high=1.0)}
    bounds = endpoint.bounds
    return {} if bounds is None else {"range": ScoreRange(low=bounds.low, high=bounds.high)}


def margin_for(sesoi: Margin, endpoint: Endpoint, binary_values: bool) -> Margin:
    """Return the same margin in the unit that goes with the values: tests tell proportions from scores by looking.

    A mean of binary replicates is a score to a test, and a score that happens to be 0 or 1 throughout is
    a proportion; the number is the same on either scale.
    """
    if binary_values == (endpoint.kind == "binary"):
        return sesoi
    return Margin(value=float(sesoi.exact()), unit="proportion" if binary_values else "score")
