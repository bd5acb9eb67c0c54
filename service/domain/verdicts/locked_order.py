"""The effect of a hypothesis in the locked order: what the cumulative plot of a verdict is drawn from."""

from __future__ import annotations

from collections import Counter
from itertools import compress
from typing import Any

import numpy as np

from service.domain.plans.items.unit_order import ranks
from service.domain.rules.feeding import margin_for
from service.domain.rules.settings import Setting
from service.domain.verdicts.outcomes import PlanViolatedError, Rows
from service.domain.verdicts.pairs import pair_up
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.columns import is_binary
from service.stats.shared.declaring.common import Request
from service.stats.shared.declaring.registry import StatTest
from service.stats.shared.methods.curves import Points

MOST_POINTS = 400
"""Points of a curve: more are closer together than the pixels of a picture."""


def curve_test() -> StatTest[Any, Any]:
    """Return the statistical test whose analysis is a curve over n, with its bands."""
    return next(
        test
        for test in registry.latest().values()
        if (field := test.analysis.model_fields.get("points")) is not None and field.annotation is Points
    )


def curve_request(setting: Setting, rows: Rows) -> Request | None:
    """Return what that test is asked for a hypothesis: its items in the plan's order; None where there are none.

    The order is the permutation of the population's `order_seed`, which was locked before the data; without a seed it
    is the manifest's, and the answer says that its origin is unknown.
    """
    try:
        paired = pair_up(setting, rows)
    except PlanViolatedError:
        return None
    if paired.n == 0:
        return None
    population, endpoint, manifest = paired.population, paired.endpoint, paired.manifest
    order = np.argsort(ranks(population, manifest)[paired.kept], kind="stable")
    values: dict[str, Any] = {
        "baseline": paired.baseline[order].tolist(),
        "candidate": paired.candidate[order].tolist(),
        "order": "unknown" if population.order_seed is None else "locked_seed",
        "planned_n": population.n if population.clusters is None else population.clusters.n,
        "max_points": MOST_POINTS,
    }
    if population.clusters is not None and manifest.clusters is not None:
        labels = list(compress(manifest.clusters, paired.kept.tolist()))
        values["clusters"] = [labels[item] for item in order.tolist()]
        values["size_cap"] = max(Counter(manifest.clusters).values())
    if endpoint.collapsed_kind != "binary" and endpoint.bounds is not None:
        values["bound"] = endpoint.bounds.high - endpoint.bounds.low
    if setting.sesoi is not None:
        values["margin"] = margin_for(setting.sesoi, endpoint, is_binary(paired.baseline, paired.candidate))
    request: Request = curve_test().request.model_validate(values)
    return request
